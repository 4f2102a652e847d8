"""Rates with their counts and intervals: the small figures of which `analysis/figures.py` is made. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rate:
    """Compliance: passes among `n` decided verdicts of `sessions` sessions, with a session-level 95 % interval.

    `undecided` verdicts (truncated, empty, error, …) are counted beside it. rate, low, high: None when unknown.
    """

    rate: float | None
    n: int
    passes: int
    fails: int
    undecided: int
    sessions: int
    low: float | None
    high: float | None

    @staticmethod
    def fields(row: Mapping[Any, Any]) -> dict[str, Any]:
        """The fields of a rate from a row of `curves.compliance`."""
        shares = {name: None if row[name] != row[name] else float(row[name]) for name in ("rate", "low", "high")}
        return shares | {name: int(row[name]) for name in ("n", "passes", "fails", "undecided", "sessions")}


@dataclass(frozen=True, slots=True)
class Point(Rate):
    """A rate at one place of a curve: `x` is the turn, or the middle of an occupancy bin (share); `label` says it."""

    x: float
    label: str

    @classmethod
    def of(cls, row: Mapping[Any, Any], x: float, label: str) -> Point:
        """A point from a row of `curves.compliance`."""
        return cls(**cls.fields(row), x=x, label=label)


@dataclass(frozen=True, slots=True)
class CheckRate(Rate):
    """Compliance after turn 0 of one probe or passive check."""

    kind: str
    id: str
    subject: str | None


@dataclass(frozen=True, slots=True)
class ItemRate(Rate):
    """Compliance after turn 0 of one rotated item of a probe: how hard the item is, whatever the turn."""

    id: str
    item: str


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `n` in `sessions` sessions, with a session-level 95 % interval; None where it is not known."""

    share: float | None
    count: int
    n: int
    sessions: int
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Third(Share):
    """Share of replies with a tool call in one third of the planned turns: `first`, `middle`, `last`."""

    label: str
    first_turn: int | None
    last_turn: int | None
