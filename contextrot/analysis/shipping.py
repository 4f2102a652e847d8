"""What a group's curves say together: is it rot, and how long may a session be? (`figures.Shipping`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from contextrot.analysis.budget import Threshold, thresholds
from contextrot.analysis.curves import bin_end, effective_length, effective_length_note, occupancy_bins
from contextrot.analysis.figures import Reference, Shipping
from contextrot.analysis.trend import trend_test

if TYPE_CHECKING:
    import pandas as pd


def shipping(
    sessions: pd.DataFrame, verdicts: pd.DataFrame, replies: pd.DataFrame | None, ceiling: float | None
) -> Shipping:
    """Trends, thresholds, effective length and competing ends of one group in one scenario.

    `verdicts`: of its sessions; `replies`: rows with session, turn, called, None where there is no tool;
    `ceiling`: rate of the ceiling controls (0-1), None when none were asked.
    """
    rows = verdicts.loc[verdicts["outcome"].isin(["pass", "fail"])]
    who = rows["session"].astype(object).tolist()
    turn = rows["turn"].astype(float).tolist()
    ok = (rows["outcome"] == "pass").tolist()
    trends = {"all": trend_test(who, turn, ok), "after_fresh": trend_test(who, turn, ok, after=0)}
    if replies is not None:
        trends["tool_calls"] = trend_test(
            replies["session"].tolist(), replies["turn"].astype(float).tolist(), replies["called"].tolist()
        )
    curve = (rows["outcome"] == "pass").groupby(rows["turn"].astype(int)).mean()
    turns, rates = [float(value) for value in curve.index], [float(value) for value in curve]
    top = ceiling if ceiling is not None else (rates[0] if rates else None)
    return Shipping(
        trends=trends,
        thresholds=[*thresholds(who, turn, ok, ceiling, unit="turns"), *_by_occupancy(rows, ceiling)],
        effective_turns=effective_length(turns, rates, top),
        effective_note=effective_length_note(turns, rates, top, tolerance=0.05),
        incidence=_incidence(sessions),
    )


def ceiling_of(references: Sequence[Reference], scenario: str, model: str) -> float | None:
    """The rate of all ceiling controls of a scenario on a model; None when none was decided."""
    known = [r for r in references if (r.scenario, r.model) == (scenario, model) and r.ceiling is not None]
    n = sum(reference.ceiling_n for reference in known)
    return sum((r.ceiling or 0.0) * r.ceiling_n for r in known) / n if n else None


def _by_occupancy(rows: pd.DataFrame, ceiling: float | None) -> list[Threshold]:
    """Thresholds over the upper ends of tenths of the window."""
    known = rows.loc[rows["occupancy"].notna()]
    bins = occupancy_bins(known["occupancy"].astype(float).tolist())
    ends = [bin_end(bins.categories[int(code)]) for code in bins.codes]
    ok = (known["outcome"] == "pass").tolist()
    return thresholds(known["session"].astype(object).tolist(), ends, ok, ceiling, unit="occupancy")


def _incidence(sessions: pd.DataFrame) -> dict[str, float]:
    from contextrot.analysis.survival import cumulative_incidence

    known = sessions.loc[sessions["duration"].notna()]
    kinds = [str(kind) or None for kind in known["event"].astype(object)]
    table = cumulative_incidence(known["duration"].astype(float).tolist(), kinds)
    if not len(table):
        return {}
    return {str(name): round(float(table[name].iloc[-1]), 9) for name in table.columns if name != "time"}
