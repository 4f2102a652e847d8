"""Small values that fit: an instance of a JSON Schema, a text that a regular expression matches.

For simulated replies only. Both cover what scenarios commonly use and are verified by whoever asks (`examples.py`
grades what it built), so a keyword that is not understood gives no wrong answer, only none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

#: Text for the formats that JSON Schema names.
_FORMATS = {
    "date": "2024-03-05",
    "date-time": "2024-03-05T10:00:00Z",
    "time": "10:00:00Z",
    "duration": "PT1H",
    "email": "ada@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "uri-reference": "/here",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "regex": "a",
    "json-pointer": "/a",
}
#: Deepest nesting built; a schema that refers to itself ends here.
_DEEPEST = 12


class Instance:
    """Builds one value for a schema. `text` goes into the first string free to hold it; `placed` says if it did."""

    def __init__(self, schema: Mapping[str, Any], text: str = "", *, every: bool = False) -> None:
        self._root = schema
        self._text = text
        self._every = every
        self.placed = not text
        self.value = self._build(schema, 0)
        if not self.placed and isinstance(self.value, dict) and schema.get("additionalProperties") is not False:
            self.value["note"] = text
            self.placed = True

    def _build(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return self._free() if not isinstance(schema, Mapping) and depth <= _DEEPEST else None
        schema = self._resolved(schema)
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        for key in ("enum", "examples"):
            if schema.get(key):
                return schema[key][0]
        for key in ("oneOf", "anyOf"):
            if schema.get(key):
                rest = {name: value for name, value in schema.items() if name != key}
                return self._build(_merged(rest, schema[key][0]), depth + 1)
        kind = schema.get("type") or _implied(schema)
        if isinstance(kind, Sequence) and not isinstance(kind, str):
            kind = next((name for name in kind if name != "null"), "null")
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind in ("number", "integer"):
            return _number(schema, whole=kind == "integer")
        if kind == "boolean":
            return True
        if kind == "null":
            return None
        return self._string(schema)

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema with local references followed and `allOf` merged."""
        for _ in range(_DEEPEST):
            reference = schema.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#"):
                break
            target: Any = self._root
            for part in filter(None, reference[1:].split("/")):
                target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = _merged(rest, target)
        for part in schema.get("allOf") or ():
            schema = _merged({key: value for key, value in schema.items() if key != "allOf"}, self._resolved(part))
        return schema

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        names = list(properties) if self._every else [name for name in properties if name in schema.get("required", ())]
        names += [name for name in schema.get("required", ()) if name not in names]
        extra = schema.get("additionalProperties")
        wanted = int(schema.get("minProperties") or 0)
        names += [name for name in properties if name not in names][: max(0, wanted - len(names))]
        names += [f"key{number}" for number in range(max(0, wanted - len(names)))]
        return {name: self._build(properties.get(name, extra if extra else {}), depth + 1) for name in names}

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        first = list(schema.get("prefixItems") or ())
        size = max(int(schema.get("minItems") or 0), len(first) if self._every else 0, 1 if "contains" in schema else 0)
        rest = schema.get("contains", schema.get("items", {}))
        made = [self._build(first[index] if index < len(first) else rest, depth + 1) for index in range(size)]
        if schema.get("uniqueItems"):
            made = [_told_apart(value, index, made[:index]) for index, value in enumerate(made)]
        return made

    def _string(self, schema: Mapping[str, Any]) -> str:
        if "pattern" in schema:
            return matching(str(schema["pattern"])) or ""
        if "format" in schema:
            return _FORMATS.get(str(schema["format"]), "text")
        low, high = int(schema.get("minLength") or 0), int(schema.get("maxLength") or 10_000)
        if not self.placed and len(self._text) <= high:
            self.placed = True
            return self._text + "." * max(0, low - len(self._text))
        return ("ok" + "." * max(0, low - 2))[:high]

    def _free(self) -> str:
        return self._string({})


def _merged(schema: Mapping[str, Any], other: Any) -> Mapping[str, Any]:
    """Both schemas at once, as far as a value is built for them: the other's keywords win, lists and maps add up."""
    if not isinstance(other, Mapping):
        return schema
    both: dict[str, Any] = {**schema, **other}
    for key in ("properties", "required"):
        if key in schema and key in other:
            both[key] = {**schema[key], **other[key]} if key == "properties" else [*schema[key], *other[key]]
    return both


def _implied(schema: Mapping[str, Any]) -> str:
    """The type a schema without `type` speaks about."""
    signs = {
        "object": ("properties", "required", "additionalProperties", "minProperties"),
        "array": ("items", "minItems", "prefixItems", "contains"),
        "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
    return next((kind for kind, keys in signs.items() if any(key in schema for key in keys)), "string")


def _number(schema: Mapping[str, Any], *, whole: bool) -> int | float:
    """The first fitting number at or above the minimum, else at or below the maximum, else 1."""
    step = schema.get("multipleOf") or (1 if whole or "exclusiveMinimum" not in schema else 0.5)
    if "minimum" in schema:
        low = schema["minimum"]
    elif "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + step
    elif "maximum" in schema:
        low = min(step, schema["maximum"])
    elif "exclusiveMaximum" in schema:
        low = min(step, schema["exclusiveMaximum"] - step)
    else:
        low = step
    ratio = low / step
    value = low if ratio == int(ratio) else (int(ratio) + (ratio > 0)) * step
    return int(value) if value == int(value) else value


def _told_apart(value: Any, index: int, before: list[Any]) -> Any:
    if value not in before:
        return value
    return value + index if isinstance(value, (int, float)) and not isinstance(value, bool) else f"{value}{index}"


def matching(pattern: str) -> str | None:
    """A short text that the regular expression matches, or None where simple means do not find one.

    Walks the pattern as Python parsed it; look-arounds and anchors are skipped, the result has to be verified.
    """
    try:
        from re import _parser as parser  # type: ignore[attr-defined]  # the only parser of patterns Python ships

        text = _written(parser.parse(pattern), {})
    except (ImportError, re.error, KeyError, ValueError, RecursionError, OverflowError):
        return None
    return text


def _written(nodes: Any, groups: dict[int, str]) -> str:
    out = []
    for operation, argument in nodes:
        name = str(operation)
        if name == "LITERAL":
            out.append(chr(argument))
        elif name == "NOT_LITERAL":
            out.append("a" if argument != ord("a") else "b")
        elif name == "ANY":
            out.append("a")
        elif name == "IN":
            out.append(_one_of(argument))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            low, _, inner = argument
            if low > 500:
                raise ValueError("too long")
            out.append("".join(_written(inner, groups) for _ in range(low)))
        elif name == "SUBPATTERN":
            text = _written(argument[3], groups)
            if argument[0] is not None:
                groups[argument[0]] = text
            out.append(text)
        elif name == "ATOMIC_GROUP":
            out.append(_written(argument, groups))
        elif name == "BRANCH":
            out.append(_written(argument[1][0], groups))
        elif name == "GROUPREF":
            out.append(groups[argument])
        elif name not in ("AT", "ASSERT", "ASSERT_NOT"):
            raise ValueError(name)
    return "".join(out)


_CATEGORIES = {
    "CATEGORY_DIGIT": "7",
    "CATEGORY_NOT_DIGIT": "a",
    "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_SPACE": "a",
    "CATEGORY_WORD": "a",
    "CATEGORY_NOT_WORD": " ",
}


def _one_of(items: Any) -> str:
    """A sign a character class takes; for a negated class the first common one it does not exclude."""
    names = [str(operation) for operation, _ in items]
    if names[0] == "NEGATE":
        return next(sign for sign in "a7 -.A_\n~" if not any(_takes(item, sign) for item in items[1:]))
    operation, argument = items[0]
    if str(operation) == "LITERAL":
        return chr(argument)
    if str(operation) == "RANGE":
        return chr(argument[0])
    return _CATEGORIES[str(argument)]


def _takes(item: Any, sign: str) -> bool:
    operation, argument = item
    if str(operation) == "LITERAL":
        return chr(argument) == sign
    if str(operation) == "RANGE":
        return bool(argument[0] <= ord(sign) <= argument[1])
    tests = {"DIGIT": sign.isdigit(), "SPACE": sign.isspace(), "WORD": sign.isalnum() or sign == "_"}
    name = str(argument).removeprefix("CATEGORY_")
    return not tests[name[4:]] if name.startswith("NOT_") else tests[name]
