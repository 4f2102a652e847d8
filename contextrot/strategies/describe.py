"""Strategies in words: what `contextrot list strategies --params` prints, and the labels of tables and file names."""

from __future__ import annotations

from hashlib import blake2b
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from contextrot.strategies.base import REGISTRY, Size, Strategy
from contextrot.strategies.sizes import words


def describe() -> list[dict[str, Any]]:
    """Every registered strategy by name, as ``{name, aliases, summary, parameters}``.

    A parameter is ``{name, type, required, default, description}``; `type` and `default` are texts as they would stand
    in YAML; the default of a required parameter is None.
    """
    classes = sorted(set(REGISTRY.values()), key=lambda cls: cls.type_name)
    return [
        {
            "name": cls.type_name,
            "aliases": list(cls.aliases),
            "summary": cls.summary,
            "parameters": [_parameter(name, field) for name, field in cls.model_fields.items() if name != "type"],
        }
        for cls in classes
    ]


def strategy_label(strategy: Strategy) -> str:
    """Type and what differs from the defaults: ``fifo(keep=4 turns)``. Stable; long texts appear as a digest."""
    changed = [
        f"{field.alias or name}={_short(getattr(strategy, name))}"
        for name, field in type(strategy).model_fields.items()
        if name != "type"
        and (field.is_required() or getattr(strategy, name) != field.get_default(call_default_factory=True))
    ]
    return f"{strategy.type_name}({', '.join(changed)})" if changed else strategy.type_name


def _short(value: Any) -> str:
    if isinstance(value, Strategy):
        return strategy_label(value)
    if isinstance(value, Size):
        return words(value)
    written = _written(value)
    if isinstance(value, str | dict) and len(written) > 24:
        return blake2b(written.encode(), digest_size=4).hexdigest()
    return written


def _parameter(name: str, field: FieldInfo) -> dict[str, Any]:
    required = field.is_required()
    return {
        "name": field.alias or name,
        "type": _type(field.annotation),
        "required": required,
        "default": None if required else _written(field.get_default(call_default_factory=True)),
        "description": field.description or "",
    }


def _type(annotation: Any) -> str:
    """A type in the words of YAML."""
    origin = get_origin(annotation)
    if origin is Literal:
        return " | ".join(str(choice) for choice in get_args(annotation))
    if origin in (Union, UnionType):
        return " | ".join(_type(option) for option in get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Strategy):
        return "strategy"
    if origin is dict:
        return "mapping"
    if origin in (list, tuple):
        return f"list of {_type(get_args(annotation)[0])}"
    names = {Size: "size", str: "text", int: "whole number", float: "number", bool: "true | false", NoneType: "none"}
    return names.get(annotation, str(annotation))


def _written(value: Any) -> str:
    """A value as it stands in YAML, or near it."""
    if value is None:
        return "none"
    if isinstance(value, Strategy):
        return strategy_label(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, Size):
        return next(f"{{{unit}: {amount:g}}}" for unit, amount in value if amount is not None)
    return str(value)
