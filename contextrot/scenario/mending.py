"""Stand-ins for faulty parts of a scenario file, so that one reading tells every fault and no fault twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Where = tuple[Any, ...]

_TOP: dict[str, Any] = {"contextrot": 1, "id": "unnamed", "session": {"turns": 100_000}}
_PARTS: dict[str, dict[str, Any]] = {
    "constraints": {"text": "-"},
    "facts": {"text": "{value}", "values": ["-"]},
    "distractors": {"text": "{value}", "values": ["-"]},
    "tools": {"description": "-"},
    "probes": {"ask": "-", "at": 0},
}
_NAMES = {"constraints": "id", "facts": "id", "distractors": "id", "tools": "name", "probes": "id"}


def mend(data: dict[str, Any], where: Where) -> list[Where]:
    """Put a stand-in where a fault was found (or take the part out), in place.

    Returns the paths of what is no longer the user's own; findings that rest on them must not be told. A part that lost
    its name stands for any name: ``(section, "*")``.
    """
    if not where:
        data.clear()
        data.update(_TOP)
        return [()]
    section = where[0]
    if section == "session" and len(where) > 1 and isinstance(data.get("session"), dict):
        _put(data["session"], where[1], _TOP["session"])
        return [where[:2]]
    if section not in _PARTS or len(where) == 1:
        _put(data, section, _TOP)
        return [(section,)]
    index, name = where[1], _NAMES[section]
    stand_ins = {name: f"unnamed-{index}", **_PARTS[section]}
    part = data[section][index]
    if not isinstance(part, dict) or len(where) == 2:
        data[section][index] = stand_ins
        return [where[:2], (section, "*")]
    key = where[2]
    if key == "items" and len(where) > 3 and isinstance(part.get("items"), list):
        return [_mend_item(part["items"], where)]
    _put(part, key, stand_ins)
    if key == name:
        return [where[:2], (section, "*")]
    # A probe's keys stand for themselves; in the other parts one key gives meaning to the next.
    unknown = len(where) == 3 and key not in part
    return [where[:3] if section == "probes" or unknown else where[:2]]


def _mend_item(items: list[Any], where: Where) -> Where:
    """Put a stand-in into one of a probe's questions."""
    index = where[3]
    stand_ins = {"id": f"unnamed-{index}", "ask": "-"}
    if isinstance(items[index], dict) and len(where) > 4:
        _put(items[index], where[4], stand_ins)
        return where[:5]
    items[index] = stand_ins
    return where[:4]


def rests_on(path: Where, wrong: Iterable[Where]) -> bool:
    """True when a finding at `path` is about a part known to be wrong: one of the two lies on the way to the other."""
    return any(path[: len(where)] == where or where[: len(path)] == path for where in wrong)


def _put(data: dict[str, Any], key: Any, stand_ins: dict[str, Any]) -> None:
    if key in stand_ins:
        value = stand_ins[key]
        data[key] = dict(value) if isinstance(value, dict) else value
    else:
        data.pop(key, None)
