"""A user's own function, found by name: `module:function`, or `checks.py:function` for a file beside the scenario.

Naming one runs its module's code, also when a scenario is only validated: nothing less proves that it is there.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from contextrot.errors import ConfigError

#: file → (digest of its source, module): a file is run once, and again when it has changed
_RUN: dict[Path, tuple[str, ModuleType]] = {}


class Found(NamedTuple):
    """A function, the digest of the file it is written in (empty where there is none), and whether it takes facts."""

    function: Callable[..., Any]
    digest: str
    takes_facts: bool


def find_function(name: str, base_dir: Path | None) -> Found:
    """The function called `name`. Paths start from `base_dir`, modules may lie in the current directory.

    Raises `ConfigError` when it is not there, cannot be imported, or cannot be called with a reply.
    """
    where, colon, attribute = name.rpartition(":")
    if not colon or not where or not attribute:
        raise ConfigError("names no function; write module:function, or checks.py:function for a file beside this one")
    module = _file(where, base_dir or Path()) if where.endswith(".py") else _module(where)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = [key for key, value in vars(found).items() if inspect.isfunction(value) and not key.startswith("_")]
            raise ConfigError(f"names {attribute!r}, which {where} does not have" + _listed(names))
        found = getattr(found, part)
    source = getattr(module, "__file__", None)
    digest = _digest(Path(source).read_bytes()) if source and Path(source).is_file() else ""
    return Found(found, digest, _takes_facts(found, attribute))


def _file(where: str, base_dir: Path) -> ModuleType:
    base = base_dir.resolve()
    path = (base / where).resolve()
    if not path.is_relative_to(base):
        raise ConfigError(f"names {where}, which is outside the scenario's folder; put it beside the file")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"names {where}, which cannot be read: {error.strerror}; it is sought in {base}") from None
    digest = _digest(source)
    known = _RUN.get(path)
    if known is not None and known[0] == digest:
        return known[1]
    name = f"contextrot_user_{_digest(str(path).encode())}_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ConfigError(f"names {where}, which cannot be run: {_said(error)}") from error
    finally:
        sys.path.remove(str(path.parent))
    _RUN[path] = digest, module
    return module


def _module(where: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        with redirect_stdout(sys.stderr):
            return importlib.import_module(where)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"names the module {where}, which cannot be imported: {_said(error)}") from error


def _takes_facts(function: Any, attribute: str) -> bool:
    if not callable(function):
        raise ConfigError(f"names {attribute!r}, which is a {type(function).__name__}, not a function")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(f"names {attribute!r}, which is async; a check answers at once: make it a plain function")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions do not say what they take
        return False
    for arguments, facts in (((None, None), True), ((None,), False)):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return facts
    raise ConfigError(
        f"names {attribute!r}, which takes {signature}; a check is called with a reply, or a reply and facts"
    )


def _digest(source: bytes) -> str:
    return hashlib.blake2b(source, digest_size=6).hexdigest()


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error) or 'no message'}"[:300]


def _listed(names: list[str]) -> str:
    return f"; it has {', '.join(names[:8])}" if names else ""
