"""What the curves of a run are made of: survival and compliance as series of points, for plots, pages and `--json`.

A series is named by scenario × model × strategy; `scenario` None is the pool of several. What the summary of a run
holds already is only put into this form (`analysis/figures.py`); compliance by tokens or constraint is counted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from contextrot.analysis.curves import rate
from contextrot.analysis.figures import Control, Group, Length, Summary
from contextrot.analysis.paired import FEWEST_PAIRS
from contextrot.analysis.places import placed, points, round_width, token_bins, trend
from contextrot.analysis.rates import Point
from contextrot.analysis.trend import Trend
from contextrot.outcomes import Ended

if TYPE_CHECKING:
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
#: what is counted in tokens, and so in bins with round borders
TOKENS = ("tokens", "since")
PER = ("kind", "constraint")
#: ends of sessions that ran out of window, or of the budget of a prompt
BROKE_OFF = (str(Ended.OVERFLOW), str(Ended.OVER_BUDGET))
#: standard errors of a 95 % interval
Z95 = 1.959964


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
    in words. horizon: the last turn that could be checked. restricted_mean: turns without failure up to there, on
    average; mean_low, mean_high: its 95 % interval, None of fewer than 6 sessions. events: how many ended by each kind
    of event. mixed_horizons: sessions of different length are pooled here. asked: turns at which probes were asked;
    without probes, at which standing rules were checked.
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
    restricted_mean: float | None
    mean_low: float | None
    mean_high: float | None
    mixed_horizons: bool
    events: dict[str, int]
    censored: int
    asked: list[float] = field(repr=False)
    steps: list[SurvivalStep] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Curve:
    """Compliance along `x` (see `X_NAMES`): a rate at each point with a session-level 95 % interval.

    kind: `probe` or `passive`. check: the kind again, or what was checked (constraint, fact, or probe tied to neither).
    n: decided checks; rate: share of them passed, all points together. Points without a decided check are gaps, never
    interpolated. ceiling, floor: rates of the control questions, None when none was decided. estimated: where the
    provider gave no usage, places on `x` are estimates. trend: slope over the turns, None over anything else and where
    nobody has fitted it (both kinds of check of a group share one). group_trend: slope over the turns of all checks of
    the group, whatever the curve is of and against, as the report states it; None of a pool. broke_off: sessions of the
    group that ran out of window (``overflow``) or budget (``over_budget``), where the curve loses them;
    broke_off_turns: ``{turn: sessions}``, of all of them or, where that is not known of each, of none.
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
    rate: float | None
    ceiling: float | None
    ceiling_n: int
    floor: float | None
    floor_n: int
    estimated: bool
    trend: Trend | None
    group_trend: Trend | None
    broke_off: dict[str, int]
    broke_off_turns: dict[str, int]
    points: list[Point] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def survival_curves(run: Run) -> list[SurvivalCurve]:
    """A curve per scenario × model × strategy, then, where there are several scenarios, one pooled over them each.

    Groups in which nothing was checked and nothing broke off have none.
    """
    return survival_of(run.summary)


def compliance_curves(run: Run, x: X = "turn", per: Per = "kind", *, width: int | None = None) -> list[Curve]:
    """A curve per scenario × model × strategy and kind of check, or each thing checked (`per="constraint"`).

    Kinds are also pooled over scenarios where there are several; a constraint belongs to its scenario. `width`: tokens
    of a bin, by default `bin_width` of the run; give it where runs are to be drawn on one axis. Curves in which nothing
    was decided are left out. Raises ValueError for an `x` or `per` that does not exist.
    """
    if x not in X_NAMES or per not in PER:
        raise ValueError(f"x is one of {', '.join(X_NAMES)} and per one of {', '.join(PER)}, not {x!r} and {per!r}.")
    if per == "kind" and x in ("turn", "occupancy"):
        found = _summarised(run.summary, x, run)
    else:
        found = _counted(run, x, per, width)
    return [curve for curve in found if curve.n]


def survival_of(summary: Summary) -> list[SurvivalCurve]:
    """`survival_curves` of a run that is summarised already."""
    return [_survival_curve(group) for group in _groups(summary) if group.length.n]


def compliance_of(summary: Summary, x: Literal["turn", "occupancy"] = "turn") -> list[Curve]:
    """`compliance_curves` per kind against turn or occupancy, of a run that is summarised already."""
    return [curve for curve in _summarised(summary, x) if curve.n]


def bin_width(run: Run, x: X = "tokens") -> int | None:
    """Tokens of a bin for `x` of a run: 1, 2 or 5 times a power of ten; None where no tokens are known.

    There are no more bins than turns that were asked at, so that most of them have something in them.
    """
    if x not in TOKENS:
        return None
    rows = placed(run, x)
    return None if rows["place"].isna().all() else round_width(rows)


def _groups(summary: Summary) -> list[Group]:
    several = len({group.scenario for group in summary.groups}) > 1
    return [*summary.groups, *(summary.pooled if several else ())]


def _survival_curve(group: Group) -> SurvivalCurve:
    length = group.length
    mean_low, mean_high = _mean_interval(length)
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
        restricted_mean=length.restricted_mean,
        mean_low=mean_low,
        mean_high=mean_high,
        mixed_horizons=length.mixed_horizons,
        events=length.events,
        censored=length.censored,
        asked=sorted({point.x for point in group.by_turn.get("probe") or group.by_turn.get("passive") or ()}),
        steps=_steps(group),
    )


def _mean_interval(length: Length) -> tuple[float | None, float | None]:
    """95 % interval of the restricted mean, by the normal approximation.

    Of fewer sessions than a paired test needs it would claim what no comparison of the same sessions could.
    """
    mean, error = length.restricted_mean, length.restricted_mean_se
    if error is None and not any(length.events.values()):
        error = 0.0  # all lasted as long as could be seen
    if mean is None or error is None or length.n < FEWEST_PAIRS:
        return None, None
    return mean - Z95 * error, mean + Z95 * error


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


def _summarised(summary: Summary, x: Literal["turn", "occupancy"], run: Run | None = None) -> list[Curve]:
    """Curves per kind against turn or occupancy: the summary has them, but not when sessions broke off."""
    found = []
    for group in _groups(summary):
        lines = group.by_turn if x == "turn" else group.by_occupancy
        alone = x == "turn" and len(lines) == 1 and group.shipping is not None
        slope = group.shipping.trends["all"] if alone and group.shipping is not None else None
        turns = _broke_off_turns(group, run)
        for kind, line in lines.items():
            controls = [c for c in summary.controls if _same(c, group) and c.kind == kind]
            estimated = x == "occupancy" and group.occupancy_estimated
            found.append(_curve(group, kind, kind, x, controls, estimated, slope, turns, line))
    return found


def _counted(run: Run, x: X, per: Per, width: int | None) -> list[Curve]:
    """Curves counted from the verdicts, on bins that are the same for all of them."""
    rows, by = placed(run, x), ["kind"] if per == "kind" else ["kind", "on"]
    if x in TOKENS:
        known = rows["place"].notna()
        rows = rows.loc[known].assign(bin=token_bins(rows.loc[known, "place"].tolist(), width or round_width(rows)))
    found = []
    for group in _groups(run.summary) if per == "kind" else run.summary.groups:
        mine = (rows["model"] == group.model) & (rows["strategy"] == group.strategy)
        if group.scenario is not None:
            mine &= rows["scenario"] == group.scenario
        turns = _broke_off_turns(group, run)
        parts = sorted(rows.loc[mine].groupby(by, observed=True, sort=True), key=lambda part: _rank(part[0]))
        for key, part in parts:
            kind, check, ids = str(key[0]), str(key[-1]), set(part["id"])
            controls = [c for c in run.summary.controls if _same(c, group) and c.kind == kind and c.id in ids]
            estimated, slope = bool(part["estimate"].any()), trend(part) if x == "turn" else None
            found.append(_curve(group, kind, check, x, controls, estimated, slope, turns, points(part, x)))
    return found


def _rank(key: Any) -> int:
    """Probes before standing rules, as everywhere."""
    from contextrot.analysis.tables import SESSION_KINDS

    return SESSION_KINDS.index(key[0])


def _curve(
    group: Group,
    kind: str,
    check: str,
    x: str,
    controls: Sequence[Control],
    estimated: bool,
    trend: Trend | None,
    turns: dict[str, int],
    points: list[Point],
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
        rate=rate(sum(point.passes for point in points), sum(point.n for point in points)),
        ceiling=ceiling,
        ceiling_n=ceiling_n,
        floor=floor,
        floor_n=floor_n,
        estimated=estimated,
        trend=trend,
        group_trend=group.shipping.trends["all"] if group.shipping is not None else None,
        broke_off=_broke_off(group),
        broke_off_turns=turns,
        points=points,
    )


def _broke_off(group: Group) -> dict[str, int]:
    return {kind: group.ended[kind] for kind in BROKE_OFF if group.ended.get(kind)}


def _broke_off_turns(group: Group, run: Run | None) -> dict[str, int]:
    """`Curve.broke_off_turns`; the summary knows the turn only of sessions that had not failed before."""
    total = sum(_broke_off(group).values())
    if not total:
        return {}
    if run is None:
        known = group.length.broke_off_turns
        return known if sum(known.values()) == total else {}
    rows = run.sessions
    mine = ~rows["control"].astype(bool) & (rows["model"] == group.model) & (rows["strategy"] == group.strategy)
    if group.scenario is not None:
        mine &= rows["scenario"] == group.scenario
    turns = rows.loc[mine & rows["ended"].isin(BROKE_OFF), "last_turn"].dropna().astype(int)
    counts = {str(turn): int(n) for turn, n in turns.value_counts().sort_index().items()}
    return counts if sum(counts.values()) == total else {}


def _same(control: Control, group: Group) -> bool:
    """Was the control asked of this group's model, in its scenario (in any, for a pool)?"""
    return control.model == group.model and group.scenario in (None, control.scenario)


def _mean(rates: Sequence[tuple[float | None, int]]) -> tuple[float | None, int]:
    known = [(rate, n) for rate, n in rates if rate is not None]
    n = sum(count for _, count in known)
    return (sum(rate * count for rate, count in known) / n if n else None), n


def _known(value: float) -> float | None:
    return None if value != value else value
