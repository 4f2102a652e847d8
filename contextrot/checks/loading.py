"""From a YAML mapping to a check, with every fault as a sentence; and what `contextrot list checks` shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from contextrot.checks.base import REGISTRY, Check
from contextrot.errors import ConfigError

#: stands for "any check" in the JSON Schema of a check that holds others, until `check_schema` writes the reference
CHECK_MARK = {"contextrot": "check"}
#: levels of checks inside checks at which reading is given up; what may be used is far less (`composite.MAX_DEPTH`)
_DEEPEST = 50


def load_check(raw: Any, *, base_dir: Path | None = None) -> Check:
    """The check written as `raw`, a mapping with a `type`. A `Check` comes back as it is.

    `base_dir` is where paths in it start from: the scenario file's folder, or this one.
    Raises `ConfigError` with one sentence per fault, one a line; its cause is pydantic's error where there is one, so
    that a loader can find the line of the faulty key.
    """
    if isinstance(raw, Check):
        return raw
    if _is_bottomless(raw):
        raise ConfigError(f"the check has checks inside checks more than {_DEEPEST} levels deep")
    if not isinstance(raw, Mapping):
        raise ConfigError(f"a check must be a mapping such as {{type: json}}, not {raw!r:.80}")
    name = raw.get("type")
    if name is None:
        raise ConfigError(f"the check has no `type`; known types: {', '.join(sorted(REGISTRY))}")
    cls = REGISTRY.get(name) if isinstance(name, str) else None
    if cls is None:
        raise ConfigError(f"unknown check type `{name}`{suggestion(str(name), list(REGISTRY))}")

    known = parameter_names(cls)
    faults = [f"check `{name}`: unknown key `{key}`{suggestion(str(key), known)}" for key in raw if key not in known]
    try:
        given = {key: value for key, value in raw.items() if key in known}
        check = cls.model_validate(given, context={"base_dir": base_dir})
    except ValidationError as error:
        faults += [f"check `{name}`: {sentence}" for found in error.errors() for sentence in _sentences(found)]
        raise ConfigError("\n".join(dict.fromkeys(faults))) from error
    if faults:
        raise ConfigError("\n".join(faults))
    return check


def _is_bottomless(raw: Any) -> bool:
    """True for checks inside checks so deep that reading them would end Python's stack."""
    level = [raw]
    for _ in range(_DEEPEST):
        inner = [part for check in level if isinstance(check, Mapping) for part in _parts(check)]
        level = list({id(part): part for part in inner}.values())
        if not level:
            return False
    return True


def _parts(check: Mapping[str, Any]) -> list[Any]:
    several = check.get("checks")
    return [*(several if isinstance(several, (list, tuple)) else ()), *([check["check"]] if "check" in check else ())]


def parameter_names(cls: type[Check]) -> list[str]:
    """The keys a user may write for this check, `type` first."""
    names = [field.alias or name for name, field in cls.model_fields.items()]
    return sorted(names, key=lambda name: name != "type")


def suggestion(word: str, known: list[str]) -> str:
    """``; did you mean `x`?`` for a near miss, otherwise the list of what is known."""
    near = get_close_matches(word.casefold(), known, n=1, cutoff=0.6)
    return f"; did you mean `{near[0]}`?" if near else f"; known: {', '.join(sorted(known))}"


def _sentences(found: ErrorDetails) -> Iterator[str]:
    where = ".".join(str(part) for part in found["loc"])
    kind, context, given = found["type"], found.get("ctx", {}), found["input"]
    if kind == "value_error":
        for line in str(context["error"]).splitlines():
            yield _placed(where, line)
    elif kind == "missing":
        yield f"`{where}` is missing"
    elif kind == "extra_forbidden":
        yield f"unknown key `{where}`"
    elif kind == "literal_error":
        yield f"`{where}` is {given!r:.60}, but must be {context['expected']}"
    elif kind in _WANTED:
        yield f"`{where}` must be {_WANTED[kind]}, not {given!r:.60}"
    else:
        yield f"`{where}`: {found['msg']}"


def _placed(where: str, line: str) -> str:
    """A fault with its place before it. One of a check inside begins with a dot and its number: places are joined."""
    if not where or not line.startswith("."):
        return f"`{where}` {line}" if where else line
    place, _, rest = line.partition(" ")
    inner = re.match(r"check `[^`]+`: `([^`]+)` ", rest)
    path = f"{where}{place.rstrip('.')}"
    return f"`{path}.{inner[1]}` {rest[inner.end() :]}" if inner else f"`{path}` {rest}"


_WANTED = {
    "string_type": "text (quote it)",
    "string_pattern_mismatch": "one word without blanks",
    "too_short": "a list with at least one entry",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "mapping_type": "a mapping",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a check. `default` is the value as written in YAML; None for a required or unset one."""

    name: str
    type: str
    required: bool
    default: Any
    description: str


@dataclass(frozen=True, slots=True)
class CheckInfo:
    """One row of `contextrot list checks`."""

    type: str
    summary: str
    parameters: tuple[Parameter, ...]


def describe() -> list[CheckInfo]:
    """Every registered check with its parameters, by name."""
    rows = []
    for name, cls in sorted(REGISTRY.items()):
        properties = cls.model_json_schema(by_alias=True)["properties"]
        parameters = tuple(
            _parameter(field, key, properties[field.alias or key])
            for key, field in cls.model_fields.items()
            if key != "type"
        )
        rows.append(CheckInfo(name, (cls.__doc__ or "").strip().split("\n\n")[0].replace("\n", " "), parameters))
    return rows


def _parameter(field: FieldInfo, key: str, schema: Mapping[str, Any]) -> Parameter:
    required = field.is_required()
    return Parameter(
        name=field.alias or key,
        type=_type_words(schema),
        required=required,
        default=None if required else schema.get("default"),
        description=field.description or "",
    )


def _type_words(schema: Mapping[str, Any]) -> str:
    """A JSON Schema type in a few words: ``text | list of text``."""
    if schema.items() >= CHECK_MARK.items():
        return "check"
    if "anyOf" in schema or "oneOf" in schema:
        words = [_type_words(part) for part in schema.get("anyOf", schema.get("oneOf", ()))]
        return " | ".join(dict.fromkeys(word for word in words if word != "nothing"))
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_type_words(schema['items'])}" if "items" in schema else "list"
    names = {
        "string": "text",
        "integer": "number",
        "number": "number",
        "object": "mapping",
        "boolean": "true | false",
        "null": "nothing",
    }
    return names.get(str(schema.get("type")), "mapping" if "$ref" in schema else "any value")
