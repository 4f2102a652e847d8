"""From what a user writes (a name, or a mapping with `type`) to a strategy, every fault named; and the JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, get_args

import yaml
from pydantic import BaseModel, BeforeValidator, SerializeAsAny, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from contextrot.errors import ConfigError
from contextrot.strategies.base import REGISTRY, Size, Strategy
from contextrot.yaml_source import split_labels

# Stands for "any strategy" in a class's own schema until `strategies_schema` puts the reference in its place.
_NESTED = "contextrot: any strategy"


def load_strategy(raw: str | Mapping[str, Any] | Strategy) -> Strategy:
    """The strategy a user wrote: a name with all defaults, or ``{type: fifo, keep: {messages: 6}}``.

    Raises `ConfigError` that lists every fault.
    """
    if isinstance(raw, Strategy):
        return raw
    if isinstance(raw, str) and raw not in REGISTRY and raw.endswith(")") and raw.partition("(")[0] in REGISTRY:
        return _labelled(raw)
    faults = list(_type_faults(raw))
    if faults:
        raise ConfigError(faults[0])
    values = {"type": raw} if isinstance(raw, str) else dict(raw)
    cls = REGISTRY[values["type"]]
    try:
        return cls.model_validate(values)
    except ValidationError as error:
        faults = [sentence for detail in error.errors() for sentence in _sentences(detail, cls)]
    raise ConfigError("\n".join(f"strategy {values['type']}: {fault}" for fault in faults))


def _labelled(label: str) -> Strategy:
    """The strategy behind a label as tables show it: ``fifo(keep=4 turns)``.

    Raises `ConfigError` for one that does not say all of it (long texts appear in labels as a digest).
    """
    from contextrot.strategies.describe import strategy_label

    name, _, inside = label[:-1].partition("(")
    values: dict[str, Any] = {"type": name}
    for part in split_labels(inside):
        key, _, text = part.partition("=")
        values[key] = _from_label(text)
    why = "does not say all of it"
    try:
        strategy = load_strategy(values)
    except ConfigError as error:
        why = f"cannot be read back ({error})"
    else:
        if strategy_label(strategy) == label:
            return strategy
    raise ConfigError(
        f"{label!r} is how tables show a strategy, and {why}; write it as a mapping, '{{type: {name}, …}}' "
        "(`contextrot list strategies --params` has the keys)"
    )


def _from_label(text: str) -> Any:
    """The value that a label shows as `text`: sizes in words, the rest as in YAML."""
    size = re.fullmatch(r"(\d+) (turns|messages|tokens)", text)
    if size:
        return {size[2]: int(size[1])}
    share = re.fullmatch(r"([\d.e-]+) of the window", text)
    if share:
        return {"fraction": float(share[1])}
    if text.endswith(")") and text.partition("(")[0] in REGISTRY:
        return _labelled(text)
    try:
        return None if text == "none" else yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """`` (did you mean 'fifo'?)``, or nothing when no known word is close."""
    close = get_close_matches(str(word), sorted(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _nested(raw: Any) -> Strategy:
    try:
        return load_strategy(raw)
    except ConfigError as error:
        raise PydanticCustomError("strategy", "{faults}", {"faults": str(error)}) from None


#: A field that takes any strategy, for those that wrap another.
AnyStrategy = Annotated[SerializeAsAny[Strategy], BeforeValidator(_nested), WithJsonSchema({"title": _NESTED})]


def _type_faults(raw: Any) -> Iterator[str]:
    names = ", ".join(sorted(cls.type_name for cls in set(REGISTRY.values())))
    if not isinstance(raw, str | Mapping):
        yield f"a strategy is a name or a mapping with a type, not {raw!r}; known types: {names}"
    elif isinstance(raw, Mapping) and "type" not in raw:
        near = get_close_matches("type", map(str, raw), n=1)
        wrote = f" (you wrote {near[0]!r})" if near else ""
        yield f"a strategy needs the key 'type'{wrote}; known types: {names}"
    else:
        name = raw if isinstance(raw, str) else raw["type"]
        if not isinstance(name, str) or name not in REGISTRY:
            yield f"unknown strategy {name!r}{did_you_mean(name, REGISTRY)}; known types: {names}"


def _sentences(detail: ErrorDetails, cls: type[BaseModel]) -> Iterator[str]:
    """One fault of pydantic's as sentences in our words."""
    place = [str(part) for part in detail["loc"]]
    where = ".".join(place)
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        known = _fields(cls, place[:-1])
        yield f"unknown key {where!r}{did_you_mean(place[-1], known)}; known keys: {', '.join(known)}"
    elif detail["type"] == "strategy":
        yield from (f"{where}: {line}" for line in message.splitlines())
    elif detail["type"] == "model_type":
        yield f"{where}: an amount is a mapping such as {{turns: 4}}, not {detail['input']!r}"
    elif detail["type"] == "missing":
        yield f"{where} is missing"
    elif place and isinstance(detail["input"], str | int | float | None):
        yield f"{where}: {message[0].lower()}{message[1:]}, not {detail['input']!r}"
    else:
        yield f"{where}: {message}" if where else message


def _fields(cls: type[BaseModel], place: list[str]) -> list[str]:
    """Names of the keys that are known at `place`."""
    for part in place:
        annotation = {field.alias or name: field for name, field in cls.model_fields.items()}[part].annotation
        options = (annotation, *get_args(annotation))
        cls = next((option for option in options if isinstance(option, type) and issubclass(option, BaseModel)), Size)
    return [field.alias or name for name, field in cls.model_fields.items()]


def strategies_schema() -> dict[str, Any]:
    """JSON Schema of what `load_strategy` takes, self-contained: ``$defs`` holds one entry a strategy."""
    classes = sorted(set(REGISTRY.values()), key=lambda cls: cls.type_name)
    definitions: dict[str, Any] = {}
    for cls in classes:
        schema = cls.model_json_schema()
        definitions.update(schema.pop("$defs", {}))
        schema["description"] = cls.summary
        schema["properties"]["type"] = {"enum": [cls.type_name, *cls.aliases]}
        schema["required"] = ["type", *(name for name in schema.get("required", ()) if name != "type")]
        definitions[cls.__name__] = _with_references(schema)
    names = {"enum": sorted(name for name, cls in REGISTRY.items() if not _required(cls))}
    definitions["Strategy"] = {"anyOf": [names, *({"$ref": f"#/$defs/{cls.__name__}"} for cls in classes)]}
    return {"$ref": "#/$defs/Strategy", "$defs": definitions}


def _required(cls: type[Strategy]) -> bool:
    """True for a strategy that cannot be written as a bare name."""
    return any(field.is_required() for field in cls.model_fields.values())


def _with_references(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_references(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("title") == _NESTED:
        kept = {key: value for key, value in schema.items() if key != "title"}
        return {**kept, "$ref": "#/$defs/Strategy"}
    return {key: _with_references(value) for key, value in schema.items()}
