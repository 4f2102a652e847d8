"""contextrot: how long an LLM agent keeps honouring what it was told, why it stops, and which strategy helps.

The public Python API (DESIGN §10). Names are loaded when they are first used: importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextrot import memory as memory
    from contextrot.analysis.tables import Run as Run
    from contextrot.analysis.tables import load_run as load_run
    from contextrot.api import bench as bench
    from contextrot.checks import check as check
    from contextrot.errors import ContextrotError as ContextrotError
    from contextrot.render import render as render
    from contextrot.scenario import Scenario as Scenario
    from contextrot.scenario import load_scenario as load_scenario

_HOME = {
    "Run": "contextrot.analysis.tables",
    "load_run": "contextrot.analysis.tables",
    "bench": "contextrot.api",
    "check": "contextrot.checks",
    "ContextrotError": "contextrot.errors",
    "render": "contextrot.render",
    "Scenario": "contextrot.scenario",
    "load_scenario": "contextrot.scenario",
}
#: Modules that are part of the API themselves.
_MODULES = frozenset({"memory"})
__all__ = sorted({*_HOME, *_MODULES})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"contextrot.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'contextrot' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})


class _Package(ModuleType):
    """Importing a room binds it here by its name; `bench` and `render` stay the functions of the API all the same."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
