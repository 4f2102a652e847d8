"""Did it get worse? Two runs, or the strategies or models of one, pair by pair, and put into a tier (DESIGN §8).

A pair is two sessions of one scenario, seed and repeat. A regression is confirmed when the interval of the difference
excludes 0, the p-value holds after Holm's correction over all that was compared, and the effect passes the margin.
Too little to tell is said as such, and never taken for good news.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from contextrot.analysis.choice import choose, per_session
from contextrot.analysis.comparison import METRICS, Comparison, Effect, Limits, Row, Side, Tier, overall
from contextrot.analysis.evidence import Evidence, SessionEvidence, evidence_of
from contextrot.analysis.matching import Matched, match_runs, match_within
from contextrot.analysis.measures import (
    Measured,
    asked_of_both,
    measure,
    never_came_to,
    pairs_needed,
    reached,
    too_much_missing,
    without_result,
)
from contextrot.analysis.paired import EXACTLY, flips_for, holm
from contextrot.errors import ConfigError

if TYPE_CHECKING:
    from contextrot.analysis.tables import Run

#: so many rows are named in the verdict at most
MOST_NAMED = 4


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
    tests = len(METRICS) * (len(matched.rows) + len(matched.pooled))
    limits = replace(limits, flips=max(limits.flips, flips_for(tests, limits.alpha)))
    judged = _judged([_case(pairs, limits, within=within) for pairs in (*matched.rows, *matched.pooled)], limits)
    rows, pooled = judged[: len(matched.rows)], judged[len(matched.rows) :]
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
        choices=choose(first, by, limits) if within else [],
    )


def _tier_of(rows: Sequence[Row], pooled: Sequence[Row]) -> Tier:
    """The news of any row counts; without news the scenarios put together say how sure that is."""
    every = overall([row.tier for row in (*rows, *pooled)])
    return every if every in (Tier.REGRESSION, Tier.IMPROVEMENT) else overall([row.tier for row in pooled or rows])


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


def _evidence(run: Run | Evidence) -> Evidence:
    return run if isinstance(run, Evidence) else evidence_of(run)


@dataclass(frozen=True, slots=True)
class _Case:
    """A row before it is judged: what was measured, and a sentence why it may not be judged (empty: it may)."""

    pairs: Matched
    measured: list[Measured]
    reason: str
    silent: bool

    def enough(self, limits: Limits) -> list[Measured]:
        """What takes part in the correction for many comparisons."""
        return [] if self.reason else [found for found in self.measured if found.mean.pairs >= limits.min_pairs]


def _case(pairs: Matched, limits: Limits, *, within: bool) -> _Case:
    measured = [found for metric in METRICS if (found := measure(metric, pairs, limits)) is not None]
    silent = within and pairs.strategy != "full" and not any(session.fired for session in pairs.candidate)
    never = f"{pairs.strategy} never fired: it sent what `full` sends" if silent else ""
    return _Case(pairs, measured, too_much_missing(pairs, limits) or never, silent)


def _judged(cases: Sequence[_Case], limits: Limits) -> list[Row]:
    """Holm over all that was measured in all rows, then the tiers. What may not be judged is `insufficient_data`."""
    p_values = [found.mean.p_value for case in cases for found in case.enough(limits)]
    adjusted = iter(holm(p_values, limits.alpha))
    return [_row(case, {found.metric: next(adjusted) for found in case.enough(limits)}, limits) for case in cases]


def _row(case: _Case, adjusted: Mapping[str, float | None], limits: Limits) -> Row:
    pairs = case.pairs
    effects = [_effect(found, adjusted.get(found.metric), case, limits) for found in case.measured]
    tier = Tier.INSUFFICIENT_DATA if case.reason else overall([effect.tier for effect in effects])
    why = case.reason or next((effect.reason for effect in effects if effect.tier is tier), "nothing was measured")
    horizons = {reached(pairs, name) for name in {pair[0].scenario for pair in pairs.pairs}} - {None}
    return Row(
        scenario=pairs.scenario,
        model=pairs.model,
        strategy=pairs.strategy,
        baseline=_side(pairs.labels[0], pairs.baseline, pairs, pairs.planned[0]),
        candidate=_side(pairs.labels[1], pairs.candidate, pairs, pairs.planned[1]),
        pairs=len(pairs.pairs),
        horizon=next(iter(horizons)) if len(horizons) == 1 else None,
        effects=effects,
        logrank_p=_logrank(pairs),
        tier=tier,
        ranked=not case.silent,
        reason=why,
        note="; ".join(filter(None, (pairs.note, asked_of_both(pairs, limits)))),
    )


def _effect(found: Measured, p_adjusted: float | None, case: _Case, limits: Limits) -> Effect:
    mean, margin = found.mean, limits.margin(found.metric, found.baseline)
    tier, reason = Tier.INSUFFICIENT_DATA, ""
    if not case.reason:
        tier, reason = judge(found, margin, p_adjusted, limits)
        full = never_came_to(case.pairs, limits, found.metric)
        if full and tier is not Tier.REGRESSION:
            tier, reason = Tier.INSUFFICIENT_DATA, full
    return Effect(
        metric=found.metric,
        unit=found.unit,
        baseline=found.baseline,
        candidate=found.candidate,
        difference=mean.estimate,
        low=mean.low,
        high=mean.high,
        p_value=mean.p_value,
        p_adjusted=p_adjusted,
        pairs=mean.pairs,
        margin=margin,
        method=mean.method,
        tier=tier,
        needed=pairs_needed(mean, margin),
        reason=reason,
    )


def _side(label: str, sessions: Sequence[SessionEvidence], pairs: Matched, planned: int | None) -> Side:
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
        tokens=per_session("tokens", sessions),
        cost=per_session("cost", sessions),
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
    alone = len([row for row in rows if row.tier is tier])
    count = f"{alone} of {len(rows)} comparisons"
    if not alone and any(row.tier is tier for row in pooled):
        count = f"over all scenarios together; none of {len(rows)} comparisons alone"
    first = worst[0] if worst else None
    # What holds over all scenarios together is not named again for each of them.
    together = {(row.model, row.strategy) for row in pooled if row.tier is tier}
    named = [_place(row) for row in worst if row.scenario is None or (row.model, row.strategy) not in together]
    where = "; ".join(named[:MOST_NAMED]) + (f"; and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else "")
    said = {
        Tier.REGRESSION: f"regression confirmed: {where}" if kind == "runs" else f"shorter sessions confirmed: {where}",
        Tier.IMPROVEMENT: f"improvement: {where}",
        Tier.STABLE: "stable: every difference is smaller than its margin",
        Tier.INCONCLUSIVE: "inconclusive: no regression is confirmed, and none can be ruled out",
        Tier.INSUFFICIENT_DATA: "insufficient data: " + (first.reason if first else "nothing was paired"),
    }[tier]
    return f"{said} ({count})"


def _place(row: Row) -> str:
    return f"{row.strategy} on {row.model}" + (f" in {row.scenario}" if row.scenario else "")


def _pairs(n: int) -> str:
    return f"{n} pair" + ("" if n == 1 else "s")
