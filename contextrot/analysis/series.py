"""What the curves of a run are made of: survival and compliance as series of points, for plots, pages and `--json`.

A series is named by scenario × model × strategy; `scenario` None is the pool of several. What the summary of a run
holds already is only put into this form (`analysis/figures.py`); compliance by tokens or constraint is counted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from contextrot.analysis.figures import Control, Group, Summary
from contextrot.analysis.rates import Point

if TYPE_CHECKING:
    import pandas as pd

    from contextrot.analysis.tables import Run

X = Literal["turn", "occupancy", "tokens", "since"]
Per = Literal["kind", "constraint"]
#: what a curve can be drawn against, in words
X_NAMES: dict[str, str] = {
    "turn": "turn",
    "occupancy": "occupancy of the window",
    "tokens": "tokens of the prompt",
    "since": "tokens since the rule was stated",
}
PER = ("kind", "constraint")
#: a curve over tokens has at most so many bins
MOST_BINS = 12


@dataclass(frozen=True, slots=True)
class SurvivalStep:
    """One observed turn of a survival curve: `at_risk` sessions before it, and what became of those that ended there.

    survival: share still well after the turn, with its pointwise interval low-high. failures: first failed checks;
    overflows: sessions that ran out of window (or budget of the prompt); censored: last checked here, all passed.
    failed, overflowed: share of sessions ended by each up to here (Aalen-Johansen); with `survival` they add up to 1.
    """

    turn: float
    survival: float
    low: float | None
    high: float | None
    at_risk: int
    failures: int
    overflows: int
    censored: int
    failed: float
    overflowed: float


@dataclass(frozen=True, slots=True)
class SurvivalCurve:
    """Sessions still well after each turn (Kaplan-Meier); the curve starts at 1 before the first step.

    n: sessions in the estimate. median, low, high: turns, None when not reached or no bound is known; text: the same
    in words. horizon: the last turn that could be checked. events: how many ended by each kind of event.
    mixed_horizons: sessions of different length are pooled here.
    """

    scenario: str | None
    model: str
    strategy: str
    simulated: bool
    virtual_window: bool
    windows: list[int]
    sessions: int
    turns_planned: int | None
    n: int
    median: float | None
    low: float | None
    high: float | None
    text: str
    horizon: float | None
    mixed_horizons: bool
    events: dict[str, int]
    censored: int
    steps: list[SurvivalStep] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Curve:
    """Compliance along `x` (see `X_NAMES`): a rate at each point with a session-level 95 % interval.

    kind: `probe` or `passive`. check: the kind again, or what was checked (constraint, fact, or probe tied to neither).
    n: decided checks. Points without a decided check are gaps, never interpolated. ceiling, floor: rates of the control
    questions, None when none was decided. estimated: where the provider gave no usage, places on `x` are estimates.
    """

    scenario: str | None
    model: str
    strategy: str
    kind: str
    check: str
    x: str
    simulated: bool
    virtual_window: bool
    windows: list[int]
    sessions: int
    n: int
    ceiling: float | None
    ceiling_n: int
    floor: float | None
    floor_n: int
    estimated: bool
    points: list[Point] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def survival_curves(run: Run) -> list[SurvivalCurve]:
    """A curve per scenario × model × strategy, then, where there are several scenarios, one pooled over them each.

    Groups in which nothing was checked and nothing broke off have none.
    """
    return [_survival_curve(group) for group in _groups(run.summary) if group.length.n]


def compliance_curves(run: Run, x: X = "turn", per: Per = "kind", *, width: int | None = None) -> list[Curve]:
    """A curve per scenario × model × strategy and kind of check, or each thing checked (`per="constraint"`).

    Kinds are also pooled over scenarios where there are several; a constraint belongs to its scenario. `width`: tokens
    of a bin, by default `bin_width` of the run; give it where runs are to be drawn on one axis. Curves in which nothing
    was decided are left out. Raises ValueError for an `x` or `per` that does not exist.
    """
    if x not in X_NAMES or per not in PER:
        raise ValueError(f"x is one of {', '.join(X_NAMES)} and per one of {', '.join(PER)}, not {x!r} and {per!r}.")
    counted_here = per == "constraint" or x in ("tokens", "since")
    curves = _counted(run, x, per, width) if counted_here else _summarised(run.summary, x)
    return [curve for curve in curves if curve.n]


def bin_width(run: Run, x: X = "tokens") -> int | None:
    """Tokens of a bin for `x` of a run: 1, 2 or 5 times a power of ten, at most `MOST_BINS` bins; None: no tokens."""
    places = _placed(run, x)["place"].dropna()
    return None if not len(places) else _round_width(float(places.max()))


def _groups(summary: Summary) -> list[Group]:
    several = len({group.scenario for group in summary.groups}) > 1
    return [*summary.groups, *(summary.pooled if several else ())]


def _survival_curve(group: Group) -> SurvivalCurve:
    length = group.length
    return SurvivalCurve(
        scenario=group.scenario,
        model=group.model,
        strategy=group.strategy,
        simulated=group.simulated,
        virtual_window=group.virtual_window,
        windows=group.windows,
        sessions=group.sessions,
        turns_planned=group.turns_planned,
        n=length.n,
        median=length.median,
        low=length.low,
        high=length.high,
        text=length.text,
        horizon=length.horizon,
        mixed_horizons=length.mixed_horizons,
        events=length.events,
        censored=length.censored,
        steps=_steps(group),
    )


def _steps(group: Group) -> list[SurvivalStep]:
    """The survival table with its events told apart, and how much of the fall each kind of event makes."""
    from contextrot.analysis.survival import cumulative_incidence

    length, steps = group.length, []
    ends = {"failed": length.first_fail_turns, "overflowed": length.broke_off_turns, None: length.kept_turns}
    each = [(int(turn), kind) for kind, turns in ends.items() for turn, n in turns.items() for _ in range(n)]
    table = cumulative_incidence([turn for turn, _ in each], [kind for _, kind in each])
    incidence = {float(row["time"]): row for row in table.to_dict("records")}
    share: dict[Any, float] = {}
    for row in length.steps:
        share = incidence.get(
            row["time"], share
        )  # the incidence has a row where something happened, and stands between
        turn = str(int(row["time"]))
        steps.append(
            SurvivalStep(
                turn=row["time"],
                survival=row["survival"],
                low=_known(row["low"]),
                high=_known(row["high"]),
                at_risk=int(row["at_risk"]),
                failures=length.first_fail_turns.get(turn, 0),
                overflows=length.broke_off_turns.get(turn, 0),
                censored=int(row["censored"]),
                failed=float(share.get("failed", 0.0)),
                overflowed=float(share.get("overflowed", 0.0)),
            )
        )
    return steps


def _summarised(summary: Summary, x: X) -> list[Curve]:
    """Curves per kind against turn or occupancy: the summary has them."""
    found = []
    for group in _groups(summary):
        points = group.by_turn if x == "turn" else group.by_occupancy
        for kind, line in points.items():
            controls = [c for c in summary.controls if _same(c, group) and c.kind == kind]
            estimated = x == "occupancy" and group.occupancy_estimated
            found.append(_curve(group, kind, kind, x, controls, estimated, line))
    return found


def _counted(run: Run, x: X, per: Per, width: int | None) -> list[Curve]:
    """Curves counted from the verdicts, on bins that are the same for all of them."""
    rows, by = _placed(run, x), ["kind"] if per == "kind" else ["kind", "on"]
    if x in ("tokens", "since"):
        known = rows["place"].notna()
        rows = rows.loc[known].assign(bin=_token_bins(rows.loc[known, "place"].tolist(), width))
    found = []
    for group in _groups(run.summary) if per == "kind" else run.summary.groups:
        mine = (rows["model"] == group.model) & (rows["strategy"] == group.strategy)
        if group.scenario is not None:
            mine &= rows["scenario"] == group.scenario
        for key, part in rows.loc[mine].groupby(by, observed=True, sort=True):
            kind, check, ids = str(key[0]), str(key[-1]), set(part["id"])
            controls = [c for c in run.summary.controls if _same(c, group) and c.kind == kind and c.id in ids]
            found.append(_curve(group, kind, check, x, controls, bool(part["estimate"].any()), _points(part, x)))
    return found


def _placed(run: Run, x: X) -> pd.DataFrame:
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


def _points(rows: pd.DataFrame, x: X) -> list[Point]:
    from contextrot.analysis.curves import bin_label, compliance, occupancy_bins

    if x == "turn":
        table = compliance(rows[["session", "outcome", "turn"]], "turn")
        return [Point.of(row, float(row["turn"]), str(row["turn"])) for row in table.to_dict("records")]
    if x == "occupancy":
        rows = rows.assign(bin=occupancy_bins(rows["place"].tolist()))
    table = compliance(rows[["session", "outcome", "bin"]], "bin")
    label = bin_label if x == "occupancy" else _token_label
    points = [Point.of(row, float(row["bin"].mid), label(row["bin"])) for row in table.to_dict("records")]
    used = [place for place, point in enumerate(points) if point.n + point.undecided]
    return points if x == "occupancy" or not used else points[used[0] : used[-1] + 1]


def _token_bins(places: Sequence[float], width: int | None) -> pd.Categorical:
    from contextrot.analysis.curves import occupancy_bins

    most = max(places, default=0.0)
    step = width or _round_width(most)
    return occupancy_bins(places, [float(step * place) for place in range(int(-(-max(most, 1.0) // step)) + 1)])


def _round_width(most: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, … tokens of which at most `MOST_BINS` reach `most`."""
    power = 1
    while True:
        for step in (power, 2 * power, 5 * power):
            if step * MOST_BINS >= most:
                return step
        power *= 10


def _token_label(interval: pd.Interval[float]) -> str:
    return f"{interval.left:,.0f}–{interval.right:,.0f}"


def _curve(
    group: Group, kind: str, check: str, x: str, controls: Sequence[Control], estimated: bool, points: list[Point]
) -> Curve:
    ceiling, ceiling_n = _mean([(c.ceiling, c.ceiling_n) for c in controls])
    floor, floor_n = _mean([(c.floor, c.floor_n) for c in controls])
    return Curve(
        scenario=group.scenario,
        model=group.model,
        strategy=group.strategy,
        kind=kind,
        check=check,
        x=x,
        simulated=group.simulated,
        virtual_window=group.virtual_window,
        windows=group.windows,
        sessions=group.sessions,
        n=sum(point.n for point in points),
        ceiling=ceiling,
        ceiling_n=ceiling_n,
        floor=floor,
        floor_n=floor_n,
        estimated=estimated,
        points=points,
    )


def _same(control: Control, group: Group) -> bool:
    """Was the control asked of this group's model, in its scenario (in any, for a pool)?"""
    return control.model == group.model and group.scenario in (None, control.scenario)


def _mean(rates: Sequence[tuple[float | None, int]]) -> tuple[float | None, int]:
    known = [(rate, n) for rate, n in rates if rate is not None]
    n = sum(count for _, count in known)
    return (sum(rate * count for rate, count in known) / n if n else None), n


def _known(value: float) -> float | None:
    return None if value != value else value
