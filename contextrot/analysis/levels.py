"""The budget monitor in the figures: when sessions came to WARN and ROTATE, and what still held at each level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextrot.analysis.curves import compliance_rows
from contextrot.analysis.figures import Reached
from contextrot.analysis.rates import Point
from contextrot.strategies.monitor import BudgetMonitor

if TYPE_CHECKING:
    import pandas as pd

#: the levels the session loop records (`bench/session.py` uses the monitor as it is)
MONITOR = BudgetMonitor()
THRESHOLDS = {"WARN": MONITOR.warn, "ROTATE": MONITOR.rotate}
LEVELS = ("OK", *THRESHOLDS)


def levels_reached(sessions: pd.DataFrame) -> list[Reached]:
    """For each level: how many of the sessions reached it, and the median turn at which those first did.

    From the `budget_level` events; a session that ran out of window was past every level at that turn. Sessions of a
    model without a window, or whose occupancy is not known, count as sessions that did not.
    """
    found = []
    for level, threshold in THRESHOLDS.items():
        turns = sessions[f"{level.lower()}_turn"].dropna()
        median = float(turns.median()) if len(turns) else None
        found.append(Reached(level, threshold, len(turns), len(sessions), median))
    return found


def by_level(verdicts: pd.DataFrame) -> list[Point]:
    """Compliance by the level of the prompt that was answered; levels at which nothing was asked are left out.

    `x` is the number of the level, 0 for OK.
    """
    import pandas as pd

    known = verdicts.loc[verdicts["occupancy"].notna(), ["session", "outcome", "occupancy"]]
    spoken: list[str] = [MONITOR.level(share) for share in known["occupancy"].astype(float)]
    named = pd.Categorical(spoken, categories=list(LEVELS), ordered=True)
    return [
        Point.of(row, float(LEVELS.index(row["level"])), str(row["level"]))
        for row in compliance_rows(known.assign(level=named), "level")
        if row["n"] + row["undecided"]
    ]
