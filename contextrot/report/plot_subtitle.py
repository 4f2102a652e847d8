"""The line under the title of a picture: what was measured, on what, when, and whether it was simulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from contextrot.analysis.figures import Group
from contextrot.analysis.series import Curve, SurvivalCurve
from contextrot.report import words
from contextrot.report.plot_panels import Source

C = TypeVar("C", Curve, SurvivalCurve)


def measured(sources: Sequence[Source[Curve]] | Sequence[Source[SurvivalCurve]]) -> str:
    """The line for a choice of series; it names several runs, and the strategy where no line does."""
    runs = list(dict.fromkeys(source.run for source in sources))
    cells = {(s.run, s.curve.scenario, s.curve.model, s.curve.strategy): s.curve.sessions for s in sources}
    said = how([s.curve for s in sources], sum(cells.values()), sorted({s.date for s in sources}))
    strategies = {source.curve.strategy for source in sources}
    if len(strategies) == 1 and len(sources) > 1:  # no line is named after it
        said = f"{words.one_line(strategies.pop(), 60)} · {said}"
    return said if len(runs) == 1 else f"{len(runs)} runs: {words.one_line(', '.join(runs), 80)} · {said}"


def how(of: Sequence[Group | Curve | SurvivalCurve], sessions: int, dates: Sequence[str]) -> str:
    """Model, window, sessions, date, and whether it was simulated, on one line."""
    models = list(dict.fromkeys(one.model for one in of))
    windows = sorted({window for one in of for window in one.windows})
    sizes = " / ".join(f"{window:,}" for window in windows) or "unknown"
    parts = [words.one_line(", ".join(models), 80)]
    parts.append(f"window {sizes} tokens" + (" (virtual)" if any(one.virtual_window for one in of) else ""))
    parts.append(words.counted(sessions, "session"))
    known = [date for date in dates if date]
    if known:
        parts.append(" to ".join(dict.fromkeys((known[0], known[-1]))))
    if any(one.simulated for one in of):
        parts.append("SIMULATED")
    return " · ".join(parts)
