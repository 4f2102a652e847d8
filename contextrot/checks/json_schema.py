"""JSON Schema (draft 2020-12) for checks: what could make a schema silently pass is refused when it is loaded.

Unknown keywords, formats nobody checks, references that lead nowhere or out of the file, schemas that are not schemas.
Nothing is ever fetched. `jsonschema` is imported on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

import regex

from contextrot.checks.json_formats import FORMATS
from contextrot.checks.loading import suggestion

#: seconds one `pattern` may take on one string
PATTERN_SECONDS = 1.0
#: references that lead to a reference this often go in a circle
_MAX_HOPS = 100
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ONE = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then",
        "unevaluatedItems", "unevaluatedProperties", "contentSchema")  # fmt: skip
_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAP = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
#: known to the metaschema, but without effect in this draft
_WITHOUT_EFFECT = {
    "dependencies": "use `dependentRequired` or `dependentSchemas`",
    "$recursiveRef": "use `$dynamicRef`",
    "$recursiveAnchor": "use `$dynamicAnchor`",
}


class SchemaFault(ValueError):
    """Why a schema is refused: one sentence a line."""


def compile_schema(schema: Mapping[str, Any]) -> Any:
    """A validator for values of `strict_json.parse`. Raises `SchemaFault` naming every fault and where it stands."""
    faults = list(_not_json(schema, "$"))
    if not faults:
        faults = list(_metaschema_faults(schema)) + list(_keyword_faults(schema))
    if not faults:
        faults = list(_reference_faults(schema))
    if faults:
        raise SchemaFault("\n".join(f"the schema {fault}" for fault in dict.fromkeys(faults)))
    cls, formats = _dialect()
    validator = cls(_exact(schema), registry=_published(), format_checker=formats)
    simple: tuple[Any, ...] = (None, "", 0, [], {})
    try:
        for value in simple:
            validator.is_valid(value)
    except RecursionError:
        raise SchemaFault(
            "the schema refers to itself without end, so that no value can be checked against it"
        ) from None
    return validator


def first_fault(validator: Any, value: Any) -> str | None:
    """Why the value does not fit, beginning with where it stands ("`items[0].id` …"), or None when it fits.

    Raises `TimeoutError` when a `pattern` takes too long on it.
    """
    from jsonschema.exceptions import best_match

    try:
        error = best_match(islice(validator.iter_errors(value), 50))
    except RecursionError:
        return "the value is nested too deeply to be checked"
    if error is None:
        return None
    place = error.json_path.removeprefix("$").removeprefix(".")
    message = error.message if len(error.message) <= 160 else f"{error.message[:70]} … {error.message[-80:]}"
    return f"`{place}`: {message}" if place else message


def _not_json(value: Any, at: str) -> Iterator[str]:
    """Values YAML makes that JSON does not have: dates, keys that are not text, NaN."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                yield f"has the key {key!r} at {at}, which is not text; quote it"
            yield from _not_json(inner, f"{at}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from _not_json(inner, f"{at}[{index}]")
    elif isinstance(value, float) and not float("-inf") < value < float("inf"):
        yield f"has {value} at {at}, which JSON does not have"
    elif value is not None and not isinstance(value, (str, bool, int, float)):
        yield f"has {value!s:.40} at {at}, which is no JSON value; quote it if it is text"


def _metaschema_faults(schema: Mapping[str, Any]) -> Iterator[str]:
    from jsonschema import Draft202012Validator

    meta = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    for error in islice(meta.iter_errors(schema), 20):
        yield f"is no valid JSON Schema at {error.json_path}: {error.message[:160]}"


def _keyword_faults(schema: Mapping[str, Any]) -> Iterator[str]:
    known = sorted(_vocabulary())
    for at, part, _ in _subschemas(schema):
        for key, value in part.items():
            if key in _WITHOUT_EFFECT:
                yield f"has `{key}` at {at}, which has no effect in draft 2020-12; {_WITHOUT_EFFECT[key]}"
            elif key not in known and not key.startswith("x-"):
                yield f"has the unknown keyword `{key}` at {at}{suggestion(key, known)}"
            elif key == "$schema" and str(value).rstrip("#") != _DIALECT:
                yield f"asks for {value} at {at}; checks read draft 2020-12 ({_DIALECT})"
            elif key == "format" and isinstance(value, str) and value not in FORMATS:
                yield f"has the format `{value}` at {at}, which is not checked here{suggestion(value, sorted(FORMATS))}"
            elif key in ("pattern", "patternProperties"):
                for pattern in [value] if isinstance(value, str) else list(value):
                    yield from _pattern_fault(pattern, at)


def _pattern_fault(pattern: Any, at: str) -> Iterator[str]:
    try:
        regex.compile(str(pattern))
    except regex.error as error:
        yield f"has the pattern {pattern!r} at {at}, which is no regular expression: {error}"


def _reference_faults(schema: Mapping[str, Any]) -> Iterator[str]:
    """References that do not lead to a schema within this one (or to the published metaschemas)."""
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    registry = _published().with_resource("", DRAFT202012.create_resource(schema))
    resolvers = {"$": registry.resolver_with_root(DRAFT202012.create_resource(schema))}
    for at, part, above in _subschemas(schema):
        resolver = resolvers[at] = resolvers[above].in_subresource(DRAFT202012.create_resource(part))
        for key in ("$ref", "$dynamicRef"):
            reference = part.get(key)
            if reference is None:
                continue
            try:
                target = resolver.lookup(reference)
                hops = 0
                while isinstance(target.contents, Mapping) and "$ref" in target.contents and hops <= _MAX_HOPS:
                    target, hops = target.resolver.lookup(target.contents["$ref"]), hops + 1
            except (Unresolvable, ValueError):
                yield f"has the {key} `{reference}` at {at}, which leads nowhere in this schema; nothing is fetched"
                continue
            if hops > _MAX_HOPS:
                yield f"has the {key} `{reference}` at {at}, which leads back to itself"
            elif not isinstance(target.contents, (Mapping, bool)):
                yield f"has the {key} `{reference}` at {at}, which does not lead to a schema"


def _subschemas(schema: Any, at: str = "$", above: str = "$") -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """The schema and all schemas within it: place, schema, place of the one around it; outer ones come first.

    Boolean schemas have nothing to look at.
    """
    if not isinstance(schema, Mapping):
        return
    yield at, schema, above
    for key in _ONE:
        yield from _subschemas(schema.get(key), f"{at}.{key}", at)
    for key in _LIST:
        parts = schema.get(key)
        for index, part in enumerate(parts if isinstance(parts, (list, tuple)) else ()):
            yield from _subschemas(part, f"{at}.{key}[{index}]", at)
    for key in _MAP:
        parts = schema.get(key)
        for name, part in parts.items() if isinstance(parts, Mapping) else ():
            yield from _subschemas(part, f"{at}.{key}.{name}", at)


def _published() -> Any:
    """The metaschemas as they come with `jsonschema`: a registry that has no way to fetch anything else."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    return REGISTRY


@lru_cache(maxsize=1)
def _vocabulary() -> frozenset[str]:
    """Every keyword the draft's metaschemas define."""
    published = _published()
    meta = published[_DIALECT].contents
    parts: list[Any] = [
        meta,
        *(published[f"{_DIALECT.removesuffix('schema')}{ref['$ref']}"].contents for ref in meta["allOf"]),
    ]
    return frozenset(key for part in parts for key in part["properties"])


def _exact(value: Any) -> Any:
    """The schema with fractions as decimals, so that 4.02 is a multiple of 0.01."""
    if isinstance(value, Mapping):
        return {key: _exact(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_exact(inner) for inner in value]
    return Decimal(repr(value)) if isinstance(value, float) else value


@lru_cache(maxsize=1)
def _dialect() -> tuple[Any, Any]:
    """The draft's validator class with exact numbers, linear `uniqueItems`, bounded `pattern`; and its formats."""
    from jsonschema import Draft202012Validator, FormatChecker, ValidationError
    from jsonschema.validators import extend

    def multiple_of(validator: Any, step: Any, value: Any, _: Any) -> Iterator[ValidationError]:
        if validator.is_type(value, "number") and (Fraction(value) / Fraction(step)).denominator != 1:
            yield ValidationError(f"{value} is not a multiple of {step}")

    def unique_items(validator: Any, wanted: Any, value: Any, _: Any) -> Iterator[ValidationError]:
        if wanted and validator.is_type(value, "array") and not _all_differ(value):
            yield ValidationError("the array has elements that are equal")

    def pattern(validator: Any, wanted: str, value: Any, _: Any) -> Iterator[ValidationError]:
        if validator.is_type(value, "string") and not regex.search(wanted, value, timeout=PATTERN_SECONDS):
            yield ValidationError(f"{value!r:.80} does not match {wanted!r}")

    def is_integer(_: Any, value: Any) -> bool:
        if isinstance(value, Decimal):
            return value == value.to_integral_value()
        return isinstance(value, int) and not isinstance(value, bool)

    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer)
    keywords = {"multipleOf": multiple_of, "uniqueItems": unique_items, "pattern": pattern}
    formats = FormatChecker(formats=())
    for name, accepts in FORMATS.items():
        formats.checks(name)(lambda value, accepts=accepts: not isinstance(value, str) or accepts(value))
    # jsonschema leaves `extend` without types.
    return extend(Draft202012Validator, keywords, type_checker=types), formats  # type: ignore[no-untyped-call]


def _all_differ(values: Iterable[Any]) -> bool:
    seen = set()
    for value in values:
        key = canonical(value)
        if key in seen:
            return False
        seen.add(key)
    return True


def canonical(value: Any) -> Any:
    """A hashable form that is equal exactly for values equal as JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, Mapping):
        return ("object", frozenset((key, canonical(inner)) for key, inner in value.items()))
    if isinstance(value, (list, tuple)):
        return ("array", tuple(canonical(inner) for inner in value))
    if isinstance(value, bool) or value is None:
        return ("constant", str(value))
    if isinstance(value, float):
        return Decimal(repr(value))
    return value
