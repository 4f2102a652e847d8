"""What a run's files may hold where they are sound: a value of another type, or an impossible one, is damage.

Files are damaged by hands, disks and other programs. A damaged session is data that is missing, said and left out like
one that could not be read; a damaged run.json leaves nothing to read. Columns are checked whole, when a session has
been read: a million calls must not cost a check of each field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from contextrot.errors import StoreError

#: integers beyond are not held exactly by the columns of a table
MOST = 2**53
#: numbers that may be below 0: distances and drifts, and what a user chose
_SIGNED = frozenset({"seed", "token_drift", "since_turns", "since_tokens"})
_SAID = {
    "c": "text", "s": "text", "b": "true or false", "i": "a whole number", "f": "a number",
    "list": "a list", "dict": "an object",
}  # fmt: skip
_NONE = type(None)
#: the types of a column in which nothing is known
_NOTHING = {_NONE}
_TYPES: dict[str, frozenset[type]] = {
    "c": frozenset({str, _NONE}), "s": frozenset({str, _NONE}), "b": frozenset({bool, _NONE}),
    "i": frozenset({int, _NONE}), "f": frozenset({int, float, _NONE}),
}  # fmt: skip
#: fields that tell where in a record something else than a table's value is wrong, with their kinds
_FIELDS = {
    "key": "c", "turn": "i", "n": "i", "i": "i", "call": "i", "branch": "c", "purpose": "c", "model": "c",
    "ended": "c", "name": "c", "task": "c", "usage": "dict", "view": "dict", "reply": "dict", "message": "dict",
    "detail": "dict",
}  # fmt: skip
_SHOWN = 60


class DamageError(ValueError):
    """A value of a session file cannot be what was recorded; the message says which, `row` where in its column."""

    def __init__(self, message: str, row: int = 0) -> None:
        super().__init__(message)
        self.row = row


def check_columns(columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]], needed: frozenset[str]) -> None:
    """Raise `DamageError` for the first value that its column cannot hold.

    columns: name → kind (`analysis/columns.py`), as many as a row has values. needed: those that may not be missing.
    """
    if not rows:
        return
    for (name, kind), values in zip(columns.items(), zip(*rows, strict=True), strict=True):
        found = set(map(type, values))
        sound = found <= _TYPES[kind] and (name not in needed or _NONE not in found)
        if sound and kind in "if" and found != _NOTHING:
            numbers = values if _NONE not in found else [value for value in values if value is not None]
            sound = max(numbers) <= MOST and (name in _SIGNED or min(numbers) >= 0)
        if sound:
            continue
        for row, value in enumerate(values):
            if (wrong := _wrong(name, kind, value, name in needed)) is not None:
                raise DamageError(wrong, row)


def fault_of(record: Any) -> str:
    """What is wrong with a record that could not be read, as part of a sentence."""
    if not isinstance(record, dict):
        return f"a record should be an object, not {_shown(record)}"
    detail = "c" if record.get("t") == "end" else "dict"
    for name, kind in (_FIELDS | {"detail": detail}).items():
        if name in record and (wrong := _wrong(name, kind, record[name], False)) is not None:
            return wrong
    return f"a part of its record of type {_shown(record.get('t'))} has another shape than contextrot writes"


def _wrong(name: str, kind: str, value: Any, needed: bool) -> str | None:
    """What is wrong with a value, None where nothing is. A whole number may be written as 4.0."""
    signed = name in _SIGNED
    if value is None:
        sound = not needed
    elif kind in ("list", "dict"):
        sound = isinstance(value, list if kind == "list" else dict)
    elif kind == "i":
        whole = type(value) is int or (type(value) is float and value.is_integer())
        sound = whole and value <= MOST and (signed or value >= 0)
    elif kind == "f":
        sound = type(value) in (int, float) and value <= MOST and (signed or value >= 0)
    else:
        sound = type(value) is (bool if kind == "b" else str)
    return None if sound else f"{name} should be {_said(kind, value, signed)}, not {_shown(value)}"


def _said(kind: str, value: Any, signed: bool) -> str:
    number = type(value) in (int, float) and kind in "if"
    if number and value > MOST:
        return f"{_SAID[kind]} up to {MOST:,}"
    return f"{_SAID[kind]} from 0 on" if number and value < 0 and not signed else _SAID[kind]


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = {"None": "null", "True": "true", "False": "false"}.get(repr(value), repr(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def check_manifest(config: Mapping[str, Any], where: Path) -> None:
    """Raise `StoreError` when a run.json holds a value of another type than it should. A missing field is no damage."""
    for place, value, kind in chain(_parts(config), _entries(config)):
        if value is None and not place.endswith("]"):
            continue
        if (wrong := _wrong(place, kind, value, True)) is not None:
            raise StoreError(f"{where} is damaged: {wrong}; take it from a copy of the run")


_KINDS = {
    "status": "c", "started": "c", "finished": "c", "command": "c", "git_commit": "c", "identity_hash": "c",
    "config": "dict", "versions": "dict", "limit": "dict", "rescored": "dict", "spent": "dict",
    "scenarios": "list", "models": "list", "strategies": "list", "simulated": "b",
}  # fmt: skip
_INNER = {
    "limit": {"cap": "c", "value": "f", "completed": "i", "cut": "i", "not_started": "i"},
    "rescored": {"from": "c", "at": "c", "version": "c", "graded": "i", "changed": "i"},
}
_NAMES = {"scenarios": "id", "models": "label"}


def _parts(config: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    for name, kind in _KINDS.items():
        yield name, config.get(name), kind
        for inner, of in _INNER.get(name, {}).items():
            yield f"{name}.{inner}", (config.get(name) or {}).get(inner), of


def _entries(config: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """The entries of its lists, once these are known to be lists."""
    for name in ("scenarios", "models", "strategies"):
        for number, entry in enumerate(config.get(name) or ()):
            place = f"{name}[{number}]"
            yield place, entry, "dict" if name in _NAMES else "c"
            if name in _NAMES:
                yield f"{place}[{_NAMES[name]}]", entry.get(_NAMES[name]), "c"
