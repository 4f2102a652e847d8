"""Drops: what may be lost against a baseline, pair by pair (`analysis/gates.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from contextrot.analysis.comparison import Limits
from contextrot.analysis.evidence import Evidence
from contextrot.analysis.gate_limits import total_of
from contextrot.analysis.gate_verdicts import GateOutcome, GateVerdict, change_text, fits, in_scope, nothing
from contextrot.analysis.matching import Matched, Matching
from contextrot.analysis.measures import Measured, measure, pairs_needed, too_much_missing
from contextrot.analysis.paired import EXACTLY, PairedMean, holm
from contextrot.errors import BaselineError
from contextrot.gate_grammar import CEILINGS, Gate

#: a drop so many times the allowed one must have had a chance of four in five to be seen
BLIND = 5.0
#: standard errors from a difference to where it is seen four times of five at 5 %, two-sided
SEEN = 2.8
_METRIC = {"rmst": "restricted_mean", "compliance": "compliance", "tool_calls": "tool_calls"}


def drops(gates: Sequence[Gate], matching: Matching, run: Evidence, limits: Limits) -> list[GateVerdict]:
    """All drops together: Holm's correction needs every p-value first. A gate asks for drops alone: one-sided tests."""
    asked: list[tuple[Gate, Matched, Measured]] = []
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
        for row in (*rows, *together):
            if gate.metric in CEILINGS:
                verdicts.append(_grown(gate, row, limits))
                continue
            found = measure(_METRIC[gate.metric], row, limits)
            if found is not None:
                asked.append((gate, row, found))
        if gate.metric == "tool_calls" and rows and not any(mine is gate for mine, _, _ in asked):
            verdicts.append(nothing(gate.text, dict(gate.scope), "no tool was ever called", limit=gate.limit))
    tested = [found.mean.p_lower if found.mean.pairs >= limits.min_pairs else None for _, _, found in asked]
    adjusted = holm(tested, limits.alpha)
    verdicts += [
        _dropped(gate, row, found.mean, found.baseline, p, limits)
        for (gate, row, found), p in zip(asked, adjusted, strict=True)
    ]
    return verdicts


def _dropped(
    gate: Gate, row: Matched, mean: PairedMean, base: float | None, p: float | None, limits: Limits
) -> GateVerdict:
    margin = gate.limit * (base or 0.0) if gate.unit == "%" else gate.limit
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
        outcome, code, reason = _weighed(gate, mean, mean.estimate, mean.low, mean.high, margin, p, limits)
    return GateVerdict(
        gate.text, _row_scope(row), outcome, reason, mean.estimate, -margin, mean.low, mean.high, mean.pairs,
        "turns" if gate.metric == "rmst" else "share", code,
    )  # fmt: skip


def _weighed(
    gate: Gate, mean: PairedMean, estimate: float, low: float, high: float, margin: float, p: float | None,
    limits: Limits,
) -> tuple[GateOutcome, int, str]:  # fmt: skip
    """A drop with enough pairs: confirmed, ruled out, not seen, or not to be seen with so few."""
    span = f"{100 * limits.level:g} % {change_text(low, gate)} to {change_text(high, gate)}"
    shown = f"{change_text(estimate, gate)} ({span}, {mean.pairs} pairs)"
    sure = high < 0 and p is not None and p <= limits.alpha
    if sure and estimate <= -margin * (1 - EXACTLY):
        return GateOutcome.FAILED, 1, f"regression confirmed: {shown}"
    if low >= -margin:
        return GateOutcome.PASSED, 0, f"no drop of {change_text(margin, gate, sign=False)}: {shown}"
    if gate.proven:
        return GateOutcome.NO_VERDICT, 3, f"{shown} does not rule the drop out{_more(mean, margin)}"
    se = mean.se or (estimate - low) / 1.96
    if SEEN * se > BLIND * margin:
        return GateOutcome.NO_VERDICT, 3, (
            f"insufficient data: {shown}; a drop of {change_text(SEEN * se, gate, sign=False)} could stay unseen"
            f"{_more(mean, BLIND * margin)}"
        )  # fmt: skip
    return GateOutcome.PASSED, 0, f"no regression is confirmed: {shown}{_more(mean, margin)}"


def _more(mean: PairedMean, margin: float) -> str:
    needed = pairs_needed(mean, margin)
    return "" if needed is None or needed <= mean.pairs else f"; about {needed} pairs would tell"


def _grown(gate: Gate, row: Matched, limits: Limits) -> GateVerdict:
    """Tokens, cost or calls per session against the baseline's, over the pairs, as they were counted."""
    sums = [total_of(gate.metric, [pair[side] for pair in row.pairs]) for side in (0, 1)]
    scope, n = _row_scope(row), len(row.pairs)
    missing = too_much_missing(row, limits)
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
