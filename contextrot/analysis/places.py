"""Where on the axis of a curve each verdict stands: its turn, occupancy, or tokens, and the rate at each place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from contextrot.analysis.rates import Point
from contextrot.analysis.trend import Trend, trend_test

if TYPE_CHECKING:
    import pandas as pd

    from contextrot.analysis.tables import Run

#: a curve over tokens has as many bins as turns were asked at, but no more and no fewer than these
MOST_BINS, FEWEST_BINS = 12, 5


def placed(run: Run, x: str) -> pd.DataFrame:
    """The verdicts that test sessions, with where on `x` each stands (`place`) and whether that is an estimate.

    Tokens of the prompt are those of the call that was graded: the provider's usage, else what we counted before it.
    """
    import pandas as pd

    from contextrot.analysis.tables import SESSION_KINDS

    asked = run.verdicts.loc[run.verdicts["kind"].isin(SESSION_KINDS)]
    names = ["session", "scenario", "model", "strategy", "kind", "id", "outcome"]
    rows = asked[names].astype(object).reset_index(drop=True)
    subject = asked["subject"].astype(object).reset_index(drop=True)
    rows["on"] = subject.where(subject.notna(), rows["id"])
    rows["turn"] = asked["turn"].astype(int).to_numpy()
    sent = run.turns[["session", "call", "prompt_tokens", "prompt_estimate", "occupancy_source"]].astype(
        {"session": object}
    )
    asked_by = rows[["session"]].assign(call=asked["call"].to_numpy(dtype=float, na_value=float("nan")))
    call = asked_by.merge(sent.astype({"call": float}), on=["session", "call"], how="left")
    usage, counted = (pd.to_numeric(call[name]).astype(float) for name in ("prompt_tokens", "prompt_estimate"))
    if x == "tokens":
        return rows.assign(place=usage.where(usage.notna(), counted), estimate=usage.isna() & counted.notna())
    if x == "occupancy":
        place = asked["occupancy"].astype(float).to_numpy()
        return rows.assign(place=place, estimate=(call["occupancy_source"] == "estimate").to_numpy())
    column = asked["since_tokens" if x == "since" else "turn"]
    # The distance to the statement is counted by us whatever the provider says.
    return rows.assign(place=column.to_numpy(dtype=float, na_value=float("nan")), estimate=x == "since")


def trend(rows: pd.DataFrame) -> Trend:
    """Slope of the rate over the turns."""
    decided = rows.loc[rows["outcome"].isin(["pass", "fail"])]
    passed = (decided["outcome"] == "pass").tolist()
    return trend_test(decided["session"].tolist(), decided["turn"].astype(float).tolist(), passed)


def points(rows: pd.DataFrame, x: str) -> list[Point]:
    """The rate at each place; over tokens the rows have their `bin`, and empty bins at both ends are left out."""
    from contextrot.analysis.curves import bin_label, bin_place, compliance, occupancy_bins

    if x == "turn":
        table = compliance(rows[["session", "outcome", "turn"]], "turn")
        return [Point.of(row, float(row["turn"]), str(row["turn"])) for row in table.to_dict("records")]
    if x == "occupancy":
        rows = rows.assign(bin=occupancy_bins(rows["place"].tolist()))
    table = compliance(rows[["session", "outcome", "bin"]], "bin")
    label = bin_label if x == "occupancy" else _token_label
    points = [Point.of(row, bin_place(row["bin"]), label(row["bin"])) for row in table.to_dict("records")]
    used = [place for place, point in enumerate(points) if point.n + point.undecided]
    return points if x == "occupancy" or not used else points[used[0] : used[-1] + 1]


def token_bins(places: Sequence[float], width: int) -> pd.Categorical:
    """Sort places into bins of `width` tokens from 0, closed on the right."""
    from contextrot.analysis.curves import occupancy_bins

    last = int(-(-max(places, default=1.0) // width)) or 1
    return occupancy_bins(places, [float(width * place) for place in range(last + 1)])


def round_width(rows: pd.DataFrame) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, … tokens of which few enough reach the last place."""
    most = float(rows["place"].max())
    asked = int(rows.groupby("scenario")["turn"].nunique().max()) if len(rows) else 0
    bins, power = min(MOST_BINS, max(FEWEST_BINS, asked)), 1
    while True:
        for step in (power, 2 * power, 5 * power):
            if not step * bins < most:
                return step
        power *= 10


def _token_label(interval: pd.Interval[float]) -> str:
    return f"{interval.left:,.0f}–{interval.right:,.0f}"
