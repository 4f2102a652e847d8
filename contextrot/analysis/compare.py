"""Did it get worse? Two runs, or the strategies or models of one, pair by pair, and put into a tier (DESIGN §8).

A pair is two sessions of one scenario, seed and repeat. A regression is confirmed when the interval of the difference
excludes 0, the p-value holds after Holm's correction over all that was compared, and the effect passes the margin.
Too little to tell is said as such, and never taken for good news.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from contextrot.analysis.evidence import Evidence, SessionEvidence, evidence_of
from contextrot.analysis.matching import Matched, match_runs, match_within
from contextrot.analysis.paired import (
    EXACTLY,
    FEWEST_PAIRS,
    PairedMean,
    holm,
    paired_mean,
    paired_rate,
    pseudo_means,
)
from contextrot.errors import ConfigError

if TYPE_CHECKING:
    from contextrot.analysis.tables import Run

#: what a difference is taken of, with what it is called
METRICS = {
    "restricted_mean": "restricted mean session length",
    "compliance": "compliance after turn 0",
    "tool_calls": "tool-call rate",
}


class Tier(StrEnum):
    """What a comparison came to."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    STABLE = "stable"
    INCONCLUSIVE = "inconclusive"
    INSUFFICIENT_DATA = "insufficient_data"


@dataclass(frozen=True, slots=True)
class Limits:
    """When a difference is one. Shares are 0-1.

    margins: the smallest effect that matters: of the restricted mean as a share of the baseline's, of rates in points.
    alpha: false alarms allowed over the whole comparison. min_pairs: fewer are `insufficient_data`. max_unfinished:
    share of sessions (or of verdicts) on a side that may be without a result. level: of the intervals.
    """

    margin_length: float = 0.10
    margin_compliance: float = 0.05
    margin_tool_calls: float = 0.10
    alpha: float = 0.05
    level: float = 0.95
    min_pairs: int = FEWEST_PAIRS
    max_unfinished: float = 0.2
    resamples: int = 1999
    seed: int = 0

    def margin(self, metric: str, baseline: float | None) -> float:
        """The margin of a metric in its own unit: turns, or a share."""
        if metric == "restricted_mean":
            return self.margin_length * (baseline or 0.0)
        return self.margin_compliance if metric == "compliance" else self.margin_tool_calls


@dataclass(frozen=True, slots=True)
class Effect:
    """The difference in one metric, candidate minus baseline, in turns (restricted mean) or as a share (rates).

    p_adjusted: Holm over all effects of the comparison. needed: pairs with which a difference of the margin would be
    seen four times of five, None where no spread is known. reason: a sentence why the tier is what it is.
    """

    metric: str
    unit: str
    baseline: float | None
    candidate: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    pairs: int
    margin: float
    method: str
    tier: Tier
    needed: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Side:
    """What one side of a row brought: sessions, those without a result, and its median length in words."""

    label: str
    sessions: int
    unfinished: int
    ended: dict[str, int]
    median: str
    fired: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: a strategy on a model in a scenario; `scenario` None: pooled over scenarios, pairs as they are.

    logrank_p: two-sided, unpaired, stratified by scenario; None where there is nothing to test. ranked: False for a
    strategy that never fired, which sent what `full` sends. note: what a reader has to know beside the figures.
    """

    scenario: str | None
    model: str
    strategy: str
    baseline: Side
    candidate: Side
    pairs: int
    horizon: float | None
    effects: list[Effect]
    logrank_p: float | None
    tier: Tier
    ranked: bool
    reason: str
    note: str = ""

    def effect(self, metric: str) -> Effect | None:
        """The effect in a metric, None where it was not measured."""
        return next((effect for effect in self.effects if effect.metric == metric), None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows, worst news first in `tier`. kind: what is compared, `runs`, `strategies` or `models`.

    notes: what was left out or is not the same on both sides, a sentence each. exit_code: 1 for a confirmed regression
    between runs, 3 when nothing could be told, else 0; the strategies of one run are ranked and never fail.
    """

    kind: str
    baseline: str
    candidate: str
    simulated: bool
    rows: list[Row]
    pooled: list[Row]
    limits: Limits
    tier: Tier
    exit_code: int
    verdict: str
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: what `--json` prints."""
        return asdict(self)


def compare(
    baseline: Run | Evidence,
    candidate: Run | Evidence | None = None,
    *,
    by: str = "strategy",
    reference: str | None = None,
    limits: Limits | None = None,
    accept_changed: bool = False,
) -> Comparison:
    """Compare two runs, or, without a `candidate`, the strategies (or models) of one against a `reference` among them.

    `by`: ``strategy`` or ``model``. `reference`: by default `full`, else the first that was run. `accept_changed`:
    compare also where the scenario file is another one, with a note. Raises `BaselineError` when the runs have nothing
    in common that may be compared, `ConfigError` for a reference that is not in the run or a single strategy.
    """
    limits = limits or Limits()
    first = _evidence(baseline)
    if candidate is None:
        kind, second = {"strategy": "strategies", "model": "models"}.get(by, ""), first
        if not kind:
            raise ConfigError(f"compare by strategy or by model, not by {by!r}")
        matched = match_within(first, by, reference)
        names = (matched.reference, first.source)
    else:
        kind, second = "runs", _evidence(candidate)
        matched = match_runs(first, second, accept_changed=accept_changed)
        names = (first.source, second.source)
    within = candidate is None
    rows = [_row(pairs, limits, within=within) for pairs in matched.rows]
    pooled = [_row(pairs, limits, within=within) for pairs in matched.pooled]
    rows, pooled = _corrected(rows, pooled, limits)
    tier = _tier_of(rows, pooled)
    code = _exit_code(rows, tier, ranking=within)
    return Comparison(
        kind=kind,
        baseline=names[0],
        candidate=names[1],
        simulated=first.simulated or second.simulated,
        rows=rows,
        pooled=pooled,
        limits=limits,
        tier=tier,
        exit_code=code,
        verdict=_verdict(kind, tier, rows, pooled),
        notes=list(matched.notes),
    )


def overall(tiers: Sequence[Tier]) -> Tier:
    """One tier for several: a regression anywhere is one, an improvement needs that nothing else got worse."""
    for found in (Tier.REGRESSION, Tier.IMPROVEMENT):
        if found in tiers:
            return found
    known = [tier for tier in tiers if tier is not Tier.INSUFFICIENT_DATA]
    if not known:
        return Tier.INSUFFICIENT_DATA
    return Tier.STABLE if all(tier is Tier.STABLE for tier in tiers) else Tier.INCONCLUSIVE


def _tier_of(rows: Sequence[Row], pooled: Sequence[Row]) -> Tier:
    """The news of any row counts; without news the scenarios put together say how sure that is."""
    every = overall([row.tier for row in (*rows, *pooled)])
    return every if every in (Tier.REGRESSION, Tier.IMPROVEMENT) else overall([row.tier for row in pooled or rows])


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric over the pairs of a row, before it is judged."""

    metric: str
    baseline: float | None
    candidate: float | None
    mean: PairedMean

    @property
    def unit(self) -> str:
        """``turns`` or ``share``."""
        return "turns" if self.metric == "restricted_mean" else "share"


def measure(metric: str, pairs: Matched, limits: Limits) -> Measured | None:
    """The paired difference of a metric over the pairs of a row; None where there is nothing of the kind.

    Restricted means are taken within each scenario up to a horizon that both sides reached; pairs of several scenarios
    then stand side by side.
    """
    options: dict[str, Any] = {"level": limits.level, "resamples": limits.resamples, "seed": limits.seed}
    if metric == "restricted_mean":
        return _lengths(pairs, options)
    sides = []
    for side in (0, 1):
        count: list[tuple[int, int]] = [
            pair[side].called if metric == "tool_calls" else pair[side].passed(pairs.without[pair[side].scenario])
            for pair in pairs.pairs
        ]
        sides.append(count)
    if metric == "tool_calls" and not any(called for side in sides for called, _ in side):
        return None  # nobody ever called a tool: there may be none
    both = [k for k in range(len(pairs.pairs)) if sides[0][k][1] and sides[1][k][1]]
    a, b = ([side[k] for k in both] for side in sides)
    rates = [sum(p for p, _ in side) / sum(n for _, n in side) if both else None for side in (a, b)]
    return Measured(metric, rates[0], rates[1], paired_rate(a, b, **options))


def reached(pairs: Matched, scenario: str) -> float | None:
    """The horizon of a scenario (turns): the deepest turn at which anything was decided and both sides are known."""
    without = pairs.without[scenario]
    deepest, known = 0.0, float("inf")
    for side in (0, 1):
        mine = [pair[side].lasted(without) for pair in pairs.pairs if pair[side].scenario == scenario]
        lasted = sorted((found[0], not found[1]) for found in mine if found is not None)
        if not lasted:
            return None
        deepest = max(deepest, lasted[-1][0])
        # Also without the session that was watched longest, as pseudo-observations leave each of them out once.
        for rest in (lasted, lasted[:-1]):
            if rest and rest[-1][1]:
                known = min(known, rest[-1][0])
    return float(min(deepest, known))


def judge(measured: Measured, margin: float, p_adjusted: float | None, limits: Limits) -> tuple[Tier, str]:
    """The tier of a difference and the sentence that says why."""
    mean, name = measured.mean, METRICS[measured.metric]
    if mean.pairs < limits.min_pairs or mean.low is None or mean.high is None or mean.estimate is None:
        return Tier.INSUFFICIENT_DATA, f"{_pairs(mean.pairs)}; at least {limits.min_pairs} are needed"
    sure = mean.excludes_zero and p_adjusted is not None and p_adjusted <= limits.alpha
    large = abs(mean.estimate) >= margin * (1 - EXACTLY)
    if sure and large:
        return (Tier.REGRESSION, f"{name} fell") if mean.estimate < 0 else (Tier.IMPROVEMENT, f"{name} rose")
    if -margin <= mean.low and mean.high <= margin:
        return Tier.STABLE, "any difference is smaller than the margin"
    if sure:
        return Tier.INCONCLUSIVE, "there is a difference, but it may be smaller than the margin"
    if mean.method == "alike" and abs(mean.estimate) <= EXACTLY:
        return Tier.INCONCLUSIVE, f"no pair differed, but {_pairs(mean.pairs)} could miss a difference of the margin"
    return Tier.INCONCLUSIVE, f"{_pairs(mean.pairs)} cannot tell a difference of the margin from none"


def pairs_needed(mean: PairedMean, margin: float, *, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """Pairs with which a difference of `margin` would be seen with `power`, at the spread that was found."""
    from contextrot.analysis.planning import pairs_for

    if not mean.se or margin <= 0:
        return None
    return pairs_for(margin, mean.se * mean.pairs**0.5, power=power, alpha=alpha)


def without_result(sessions: Sequence[SessionEvidence], planned: int | None = None) -> tuple[int, int]:
    """(sessions that ended without one, or were planned and are missing; all that were planned)."""
    total = max(len(sessions), planned or 0)
    return sum(session.cut_short for session in sessions) + total - len(sessions), total


def too_much_missing(pairs: Matched, limits: Limits) -> str:
    """A sentence why a row may not be judged: too many sessions or verdicts without a result. Empty when it may."""
    for name, sessions, planned in (
        ("baseline", pairs.baseline, pairs.planned[0]),
        ("candidate", pairs.candidate, pairs.planned[1]),
    ):
        bad, total = without_result(sessions, planned)
        if total and bad > limits.max_unfinished * total:
            return f"{bad} of {total} sessions of the {name} ended without a result"
        counts = [session.undecided(pairs.without[session.scenario]) for session in sessions]
        undecided, verdicts = sum(u for u, _ in counts), sum(n for _, n in counts)
        if verdicts and undecided > limits.max_unfinished * verdicts:
            return (
                f"{undecided} of {verdicts} verdicts of the {name} are undecided (errors, empty or truncated replies)"
            )
    return ""


def _evidence(run: Run | Evidence) -> Evidence:
    return run if isinstance(run, Evidence) else evidence_of(run)


def _lengths(pairs: Matched, options: Mapping[str, Any]) -> Measured:
    import numpy as np

    differences, sums, scale = [], np.zeros(2), 0.0
    for scenario in dict.fromkeys(pair[0].scenario for pair in pairs.pairs):
        horizon, without = reached(pairs, scenario), pairs.without[scenario]
        mine = [pair for pair in pairs.pairs if pair[0].scenario == scenario]
        lasted = [(pair[0].lasted(without), pair[1].lasted(without)) for pair in mine]
        known = [(a, b) for a, b in lasted if a is not None and b is not None]
        if horizon is None or not known:
            continue
        means = [
            pseudo_means([pair[side][0] for pair in known], [pair[side][1] for pair in known], horizon)
            for side in (0, 1)
        ]
        differences.append(means[1] - means[0])
        sums += [float(side.sum()) for side in means]
        scale = max(scale, horizon)
    joined = np.concatenate(differences) if differences else np.zeros(0)
    n = len(joined)
    found = paired_mean(joined, scale=max(scale, EXACTLY), **options)
    return Measured("restricted_mean", float(sums[0]) / n if n else None, float(sums[1]) / n if n else None, found)


def _row(pairs: Matched, limits: Limits, *, within: bool) -> Row:
    missing = too_much_missing(pairs, limits)
    measured = [found for metric in METRICS if (found := measure(metric, pairs, limits)) is not None]
    effects = []
    for found in measured:
        margin, mean = limits.margin(found.metric, found.baseline), found.mean
        effects.append(
            Effect(
                metric=found.metric,
                unit=found.unit,
                baseline=found.baseline,
                candidate=found.candidate,
                difference=mean.estimate,
                low=mean.low,
                high=mean.high,
                p_value=mean.p_value,
                p_adjusted=None,
                pairs=mean.pairs,
                margin=margin,
                method=mean.method,
                tier=Tier.INSUFFICIENT_DATA,
                needed=pairs_needed(mean, margin),
                reason="",
            )
        )
    horizons = [reached(pairs, name) for name in {pair[0].scenario for pair in pairs.pairs}]
    known = [horizon for horizon in horizons if horizon is not None]
    fired = any(session.fired for session in pairs.candidate)
    silent = within and not fired and pairs.strategy != "full"
    return Row(
        scenario=pairs.scenario,
        model=pairs.model,
        strategy=pairs.strategy,
        baseline=_side(pairs.labels[0], pairs.baseline, pairs, pairs.planned[0]),
        candidate=_side(pairs.labels[1], pairs.candidate, pairs, pairs.planned[1]),
        pairs=len(pairs.pairs),
        horizon=known[0] if len(set(known)) == 1 else None,
        effects=effects,
        logrank_p=_logrank(pairs),
        tier=Tier.INSUFFICIENT_DATA,
        ranked=not silent,
        reason=missing or (f"{pairs.strategy} never fired: it sent what `full` sends" if silent else ""),
        note=pairs.note,
    )


def _corrected(rows: list[Row], pooled: list[Row], limits: Limits) -> tuple[list[Row], list[Row]]:
    """Holm over all effects of all rows, then the tiers. Rows that may not be judged keep `insufficient_data`."""
    judged = [row for row in (*rows, *pooled) if not row.reason]
    enough = [e for row in judged for e in row.effects if e.pairs >= limits.min_pairs]
    adjusted = dict(zip(map(id, enough), holm([e.p_value for e in enough], limits.alpha), strict=True))

    def done(row: Row) -> Row:
        if row.reason:
            return row
        effects = []
        for effect in row.effects:
            p = adjusted.get(id(effect))
            mean = PairedMean(
                effect.difference, effect.low, effect.high, effect.p_value, None, effect.pairs, effect.method
            )
            found = Measured(effect.metric, effect.baseline, effect.candidate, mean)
            tier, reason = judge(found, effect.margin, p, limits)
            effects.append(replace(effect, p_adjusted=p, tier=tier, reason=reason))
        tier = overall([effect.tier for effect in effects])
        why = next((effect.reason for effect in effects if effect.tier is tier), "nothing was measured")
        return replace(row, effects=effects, tier=tier, reason=why)

    return [done(row) for row in rows], [done(row) for row in pooled]


def _side(label: str, sessions: Sequence[SessionEvidence], pairs: Matched, planned: int | None) -> Side:
    from collections import Counter

    from contextrot.analysis.survival import kaplan_meier, median_text

    known = [found for s in sessions if (found := s.lasted(pairs.without[s.scenario])) is not None]
    survival = kaplan_meier([found[0] for found in known], [found[1] for found in known])
    return Side(
        label=label,
        sessions=len(sessions),
        unfinished=without_result(sessions, planned)[0],
        ended=dict(Counter(session.ended for session in sessions)),
        median=median_text(survival),
        fired=any(session.fired for session in sessions),
    )


def _logrank(pairs: Matched) -> float | None:
    from contextrot.analysis.survival import logrank

    sides: list[Any] = []
    for side in (0, 1):
        known = [(pair[side], pair[side].lasted(pairs.without[pair[side].scenario])) for pair in pairs.pairs]
        sides.append([(s.scenario, found[0], found[1]) for s, found in known if found is not None])
    a, b = sides
    test = logrank(
        [x[1] for x in a], [x[2] for x in a], [x[1] for x in b], [x[2] for x in b],
        strata_a=[x[0] for x in a], strata_b=[x[0] for x in b],
    )  # fmt: skip
    return None if test.method == "none" else test.p_value


def _exit_code(rows: Sequence[Row], tier: Tier, *, ranking: bool) -> int:
    if tier is Tier.INSUFFICIENT_DATA:
        return 3
    if ranking:
        return 0
    if tier is Tier.REGRESSION:
        return 1
    # Where a part could not be told, the rest must not stand for the whole.
    return 3 if any(row.tier is Tier.INSUFFICIENT_DATA for row in rows) else 0


def _verdict(kind: str, tier: Tier, rows: Sequence[Row], pooled: Sequence[Row]) -> str:
    worst = [row for row in (*pooled, *rows) if row.tier is tier]
    count = f"{len([row for row in rows if row.tier is tier])} of {len(rows)} comparisons"
    first = worst[0] if worst else None
    where = (
        ""
        if first is None
        else f"{first.strategy} on {first.model}" + (f" in {first.scenario}" if first.scenario else "")
    )
    said = {
        Tier.REGRESSION: f"regression confirmed: {where}" if kind == "runs" else f"shorter sessions confirmed: {where}",
        Tier.IMPROVEMENT: f"improvement: {where}",
        Tier.STABLE: "stable: every difference is smaller than its margin",
        Tier.INCONCLUSIVE: "inconclusive: no regression is confirmed, and none can be ruled out",
        Tier.INSUFFICIENT_DATA: "insufficient data: " + (first.reason if first else "nothing was paired"),
    }[tier]
    return f"{said} ({count})"


def _pairs(n: int) -> str:
    return f"{n} pair" + ("" if n == 1 else "s")
