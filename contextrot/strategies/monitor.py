"""The budget monitor: how full a window is, in three words, so that something is done before it is full.

Thresholds after "Context Rot: Keep LLM Agents Sharp Past 256K Tokens" ("Production Token Budget Management"): from
60 % on prepare a compaction, from 80 % on rotate, "so that there is still enough headroom for one or two more turns".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from contextrot.errors import ConfigError
from contextrot.strategies.base import Event

Level = Literal["OK", "WARN", "ROTATE"]


@dataclass(frozen=True, slots=True)
class BudgetMonitor:
    """Levels of occupancy. `warn` and `rotate` are shares of the window from which on the level holds."""

    warn: float = 0.60
    rotate: float = 0.80

    def __post_init__(self) -> None:
        if not 0 < self.warn < self.rotate <= 1:
            raise ConfigError(
                f"the budget monitor warns at {self.warn:g} and rotates at {self.rotate:g}; "
                "both are shares of the window, warn below rotate"
            )

    def check(self, tokens: int, window: int) -> Level:
        """The level of a prompt of so many tokens."""
        return self.level(_share(tokens, window))

    def level(self, occupancy: float) -> Level:
        """The level of an occupancy, as a share of the window."""
        if occupancy >= self.rotate:
            return "ROTATE"
        return "WARN" if occupancy >= self.warn else "OK"

    def report(self, tokens: int, window: int) -> str:
        """``WARN: 130,000/200,000 (65.0%)``.

        The article's own example calls 100,000 of 200,000 a WARN; by its thresholds, and here, 50 % is OK.
        """
        return f"{self.check(tokens, window)}: {tokens:,}/{window:,} ({_share(tokens, window):.1%})"


def level_event(previous: Level | None, now: Level, occupancy: float) -> Event | None:
    """What the record says when the level has changed; None when it has not. A session begins at OK."""
    before = previous or "OK"
    if now == before:
        return None
    return Event("budget_level", {"from": before, "to": now, "occupancy": round(occupancy, 4)})


def _share(tokens: int, window: int) -> float:
    if window < 1:
        raise ConfigError(f"the window is {window} tokens; it must be at least 1")
    return tokens / window
