"""Context strategies: what to send of a session's log. One file per family, found by itself."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from contextrot.strategies.base import REGISTRY, Event, Manifest, Request, Size, State, Strategy, View, register
from contextrot.strategies.describe import describe, strategy_label
from contextrot.strategies.load import AnyStrategy, load_strategy, strategies_schema

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "REGISTRY",
    "AnyStrategy",
    "Event",
    "Manifest",
    "Request",
    "Size",
    "State",
    "Strategy",
    "View",
    "describe",
    "load_strategy",
    "register",
    "strategies_schema",
    "strategy_label",
]
