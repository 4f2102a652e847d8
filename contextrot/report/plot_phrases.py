"""Parts of the sentences a picture says: lists of lines, and that sessions ended as their window was full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from contextrot.analysis.series import Curve, SurvivalCurve
from contextrot.report import words
from contextrot.report.plot_panels import MANY, Line, spread

C = TypeVar("C", Curve, SurvivalCurve)
#: up to this many lines are named in a title
NAMED = 3


def listed(lines: Sequence[Line[C]], of: int) -> str:
    """``a``, ``a and b``; of many ``7 of 12``; ``all 12``."""
    if len(lines) == of and of > 1:
        return "both" if of == 2 else f"all {of}"
    if len(lines) > NAMED or of >= MANY:
        return f"{len(lines)} of {of}"
    return joined([name(line) for line in lines])


def joined(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def name(line: Line[C]) -> str:
    """A line's name in a title."""
    return words.one_line(line.name, 40)


def upper(text: str) -> str:
    """A sentence starts with a capital, unless with a name."""
    return text[0].upper() + text[1:] if text.startswith(("all ", "both ")) else text


def window_full(curves: Sequence[Curve]) -> str:
    """``window full at turn 11 in 8 of 8``, of one curve or several; empty where no session broke off."""
    counts = [sum(curve.broke_off.values()) for curve in curves]
    if not any(counts):
        return ""
    turns = [int(turn) for curve in curves for turn in curve.broke_off_turns]
    known = all(curve.broke_off_turns for curve, n in zip(curves, counts, strict=True) if n)
    at = f" at turn {spread(turns)}" if known else ""
    sessions = {curve.sessions for curve in curves}
    of = f"of {sessions.pop()}" if len(sessions) == 1 else "sessions"
    return f"{_what({kind for curve in curves for kind in curve.broke_off})}{at} in {spread(counts)} {of}"


def ended_by_window(curves: Sequence[SurvivalCurve]) -> str:
    """``window full in 7 of 8``: sessions that ended so before any check had failed; empty where none did."""
    events = [{kind: n for kind, n in curve.events.items() if n and kind != "fail"} for curve in curves]
    counts = [sum(found.values()) for found in events]
    if not any(counts):
        return ""
    sessions = {curve.n for curve in curves}
    of = f"of {sessions.pop()}" if len(sessions) == 1 else "sessions"
    return f"{_what({kind for found in events for kind in found})} in {spread(counts)} {of}"


def _what(kinds: set[str]) -> str:
    if kinds == {"overflow"}:
        return "window full"
    return "over budget" if kinds == {"over_budget"} else "window or budget full"
