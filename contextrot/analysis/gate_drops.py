"""Drops: what may be lost against a baseline, pair by pair (`analysis/gates.py`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from contextrot.analysis.comparison import Limits
from contextrot.analysis.evidence import Evidence
from contextrot.analysis.gate_limits import total_of
from contextrot.analysis.gate_verdicts import GateOutcome, GateVerdict, change_text, fits, in_scope, nothing
from contextrot.analysis.matching import Matched, Matching
from contextrot.analysis.measures import (
    Measured,
    asked_of_both,
    measure,
    never_came_to,
    pairs_needed,
    too_much_missing,
)
from contextrot.analysis.paired import EXACTLY, PairedMean, flips_for, holm
from contextrot.errors import BaselineError
from contextrot.gate_grammar import CEILINGS, Gate

#: where no drop is confirmed, one so many times the allowed one has to lie outside the interval
BLIND = 5.0
_METRIC = {"rmst": "restricted_mean", "compliance": "compliance", "tool_calls": "tool_calls"}


def drops(gates: Sequence[Gate], matching: Matching, run: Evidence, limits: Limits) -> list[GateVerdict]:
    """All drops together: Holm's correction needs every p-value first. A gate asks for drops alone: one-sided tests."""
    asked: list[tuple[Gate, Matched]] = []
    verdicts: list[GateVerdict] = []
    for gate in gates:
        in_scope(gate, run)
        rows = [row for row in matching.rows if fits(gate, (row.scenario or "", row.model, row.strategy))]
        together = [
            row for row in matching.pooled
            if "scenario" not in gate.scope and fits(gate, ("", row.model, row.strategy))
        ]  # fmt: skip
        verdicts += [nothing(gate.text, {}, sentence, code=4, limit=gate.limit) for sentence in matching.incompatible]
        if not rows and not matching.incompatible:
            raise BaselineError(f"gate {gate.text!r}: what it is held against is not in the baseline")
        if gate.metric in CEILINGS:
            verdicts += [_grown(gate, row, limits) for row in (*rows, *together)]
        else:
            asked += [(gate, row) for row in (*rows, *together)]
    tests = _tested(asked, limits)
    for gate in gates:
        mine = [_key(gate, row) for found, row in asked if found is gate]
        if gate.metric == "tool_calls" and mine and not any(key in tests for key in mine):
            verdicts.append(nothing(gate.text, dict(gate.scope), "no tool was ever called", limit=gate.limit))
    verdicts += [_dropped(gate, row, test, limits) for gate, row in asked if (test := tests.get(_key(gate, row)))]
    return verdicts


@dataclass(frozen=True, slots=True)
class _Test:
    """One drop that is tested: `p` after Holm's correction, None with too few pairs; `held`: tests that share alpha."""

    measured: Measured
    p: float | None
    held: int


def _key(gate: Gate, row: Matched) -> tuple[str, int]:
    return gate.metric, id(row)


def _tested(asked: Sequence[tuple[Gate, Matched]], limits: Limits) -> dict[tuple[str, int], _Test]:
    """What was measured, once: gates of two limits, or one written twice, ask the same question of a row."""
    wanted = {_key(gate, row): (gate, row) for gate, row in asked}
    limits = replace(limits, flips=max(limits.flips, flips_for(len(wanted), limits.alpha)))
    found = {key: measure(_METRIC[gate.metric], row, limits) for key, (gate, row) in wanted.items()}
    known = {key: measured for key, measured in found.items() if measured is not None}
    raw = [one.mean.p_lower if one.mean.pairs >= limits.min_pairs else None for one in known.values()]
    held = sum(p is not None for p in raw)
    adjusted = holm(raw, limits.alpha)
    return {key: _Test(one, p, held) for (key, one), p in zip(known.items(), adjusted, strict=True)}


def _dropped(gate: Gate, row: Matched, test: _Test, limits: Limits) -> GateVerdict:
    mean = test.measured.mean
    margin = gate.limit * (test.measured.baseline or 0.0) if gate.unit == "%" else gate.limit
    outcome, code = GateOutcome.NO_VERDICT, 3
    missing = too_much_missing(row, limits)
    all_out = all(name in row.without[s.scenario] for s in row.candidate for name in s.checks)
    if missing:
        reason = missing
    elif gate.metric != "tool_calls" and all_out and any(s.checks for s in row.candidate):
        reason = "every check here passes without its rule being stated, so none proves anything"
    elif mean.pairs < limits.min_pairs or mean.low is None or mean.high is None or mean.estimate is None:
        reason = f"insufficient data: {mean.pairs} pairs; at least {limits.min_pairs} are needed"
    elif not margin > 0:
        reason = "the baseline fails at once already; there is nothing left to lose"
        if mean.estimate > 0 and mean.low > 0:
            outcome, code, reason = GateOutcome.PASSED, 0, "the baseline failed at once; this does not"
    else:
        outcome, code, reason = _weighed(gate, test, mean.estimate, mean.low, mean.high, margin, limits)
        full = never_came_to(row, limits, _METRIC[gate.metric])
        if full and outcome is not GateOutcome.FAILED:
            outcome, code, reason = GateOutcome.NO_VERDICT, 3, full
        elif gate.metric == "compliance" and (note := asked_of_both(row, limits)):
            reason += f"; {note}"
    return GateVerdict(
        gate.text, _row_scope(row), outcome, reason, mean.estimate, -margin, mean.low, mean.high, mean.pairs,
        "turns" if gate.metric == "rmst" else "share", code,
    )  # fmt: skip


def _weighed(
    gate: Gate, test: _Test, estimate: float, low: float, high: float, margin: float, limits: Limits
) -> tuple[GateOutcome, int, str]:
    """A drop with enough pairs: confirmed, ruled out, likely, not seen, or not to be seen with so few."""
    mean, p = test.measured.mean, test.p
    span = f"{100 * limits.level:g} % {change_text(low, gate)} to {change_text(high, gate)}"
    shown = f"{change_text(estimate, gate)} ({span}, {mean.pairs} pairs)"
    large = estimate <= -margin * (1 - EXACTLY)
    if large and high < 0 and p is not None and p <= limits.alpha:
        return GateOutcome.FAILED, 1, f"regression confirmed: {shown}"
    if low >= -margin:
        return GateOutcome.PASSED, 0, f"no drop of {change_text(margin, gate, sign=False)}: {shown}"
    if gate.proven:
        return GateOutcome.NO_VERDICT, 3, f"{shown} does not rule the drop out{_more(mean, margin)}"
    if large and high < 0:
        several = f" among {test.held} drops held at once (p {p:.2g})" if p is not None and test.held > 1 else ""
        return GateOutcome.NO_VERDICT, 3, f"a drop is likely but not confirmed{several}: {shown}{_more(mean, margin)}"
    if test.held * 0.5**mean.pairs > limits.alpha:
        needed = math.ceil(math.log2(test.held / limits.alpha))
        why = f"{mean.pairs} pairs cannot confirm a drop among {test.held} held at once; at least {needed} can"
        return GateOutcome.NO_VERDICT, 3, f"insufficient data: {shown}; {why}"
    if low < -BLIND * margin:
        least = change_text(BLIND * margin, gate, sign=False)
        why = f"{shown} does not rule out even a drop of {least}{_more(mean, BLIND * margin)}"
        return GateOutcome.NO_VERDICT, 3, f"insufficient data: {why}"
    return GateOutcome.PASSED, 0, f"no regression is confirmed: {shown}{_more(mean, margin)}"


def _more(mean: PairedMean, margin: float) -> str:
    needed = pairs_needed(mean, margin)
    return "" if needed is None or needed <= mean.pairs else f"; about {needed} pairs would tell"


def _grown(gate: Gate, row: Matched, limits: Limits) -> GateVerdict:
    """Tokens, cost or calls per session against the baseline's, over the pairs, as they were counted."""
    sums = [total_of(gate.metric, [pair[side] for pair in row.pairs]) for side in (0, 1)]
    scope, n = _row_scope(row), len(row.pairs)
    missing = too_much_missing(row, limits) or never_came_to(row, limits, gate.metric)
    outcome, code, growth = GateOutcome.NO_VERDICT, 3, None
    if sums[0] is None or sums[1] is None or not sums[0]:
        reason = f"{gate.metric} per session are not known on both sides"
    else:
        growth = sums[1] / sums[0] - 1
        shown = f"{sums[0] / n:,.6g} to {sums[1] / n:,.6g} per session ({100 * growth:+.1f} %)"
        if growth > gate.limit * (1 + EXACTLY):
            outcome, code, reason = GateOutcome.FAILED, 1, f"grew from {shown}"
        elif missing:
            reason = f"{missing}; a session that broke off is cheap"
        else:
            outcome, code, reason = GateOutcome.PASSED, 0, f"from {shown}"
    return GateVerdict(gate.text, scope, outcome, reason, growth, gate.limit, None, None, n, "share", code)


def _row_scope(row: Matched) -> dict[str, str]:
    scope = {"model": row.model, "strategy": row.strategy}
    return scope if row.scenario is None else {"scenario": row.scenario, **scope}
