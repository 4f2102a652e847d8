"""Floors and ceilings: what the sessions of one run must reach, and what they may spend (`analysis/gates.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from contextrot.analysis.comparison import Limits
from contextrot.analysis.evidence import Evidence, SessionEvidence, names
from contextrot.analysis.gate_verdicts import (
    GateOutcome,
    GateVerdict,
    in_scope,
    nothing,
    scope_of,
    span_text,
    value_text,
)
from contextrot.analysis.measures import without_result
from contextrot.analysis.paired import EXACTLY
from contextrot.errors import NothingMatchedError
from contextrot.gate_grammar import Gate

#: with fewer sessions a floor has no verdict
FEWEST_SESSIONS = 5
#: value, low, high, sessions, and what stands in the way of a verdict
Estimate = tuple[float | None, float | None, float | None, int, str]


def floor(gate: Gate, run: Evidence, limits: Limits) -> list[GateVerdict]:
    """A floor held against every group in its scope. Raises `NothingMatchedError` for what is nowhere in the run."""
    found = []
    groups = in_scope(gate, run)
    if gate.turn is not None:
        known_turn(gate, [session for sessions in groups.values() for session in sessions])
    acting = {session.scenario for session in run.sessions if session.called[0]}
    for key, sessions in groups.items():
        without = run.floors.get((key[0], key[1]), frozenset())
        if gate.metric == "tool_calls" and key[0] not in acting:
            continue  # a scenario in which nobody ever called a tool may have none
        if gate.turn is not None and not _asks_at(sessions, gate.turn, without):
            continue
        found.append(_held(gate, key, sessions, without, run, limits))
    if not found:
        what = "no tool was ever called" if gate.metric == "tool_calls" else "every check at this turn passes its floor"
        return [nothing(gate.text, dict(gate.scope), what, limit=gate.limit)]
    return found


def _held(
    gate: Gate,
    key: tuple[str, str, str],
    sessions: Sequence[SessionEvidence],
    without: frozenset[str],
    run: Evidence,
    limits: Limits,
) -> GateVerdict:
    value, low, high, n, problem = _estimate(gate, sessions, without, limits)
    outcome, reason, code = GateOutcome.NO_VERDICT, problem, 3
    shown = f"{value_text(value, gate)} ({span_text(low, high, gate)})"
    unusable = unusable_because(sessions, run, limits)
    needs_more = gate.metric != "tool_calls" and all(name in without for s in sessions for name in s.checks)
    if unusable:
        reason = unusable
    elif needs_more and any(session.checks for session in sessions):
        reason = f"every check here passes without its rule being stated ({names(without)}), so none proves anything"
    elif n < FEWEST_SESSIONS:
        reason = problem or f"{n} sessions are too few; at least {FEWEST_SESSIONS} are needed"
    elif problem:
        pass
    elif value is not None and value >= gate.limit * (1 - EXACTLY):
        if gate.proven and (low is None or low < gate.limit * (1 - EXACTLY)):
            reason = f"{shown} meets it, but the interval does not rule out less"
        else:
            outcome, reason, code = GateOutcome.PASSED, shown, 0
    elif high is not None and high < gate.limit * (1 - EXACTLY):
        outcome, code = GateOutcome.FAILED, 1
        reason = f"{shown} lies below {value_text(gate.limit, gate)}"
    else:
        reason = (
            f"{shown} is below {value_text(gate.limit, gate)}, but the interval includes it: more sessions would tell"
        )
    finite = None if value == float("inf") else value
    return GateVerdict(gate.text, scope_of(key), outcome, reason, finite, gate.limit, low, high, n, gate.unit, code)


def _estimate(gate: Gate, sessions: Sequence[SessionEvidence], without: frozenset[str], limits: Limits) -> Estimate:
    """Value, low, high, sessions and what stands in the way of a verdict. A median that was not reached is infinite."""
    if gate.metric in ("median", "rmst"):
        return _length(gate, sessions, without, limits)
    from contextrot.analysis.curves import session_interval

    counts = [s.called if gate.metric == "tool_calls" else s.passed(without, gate.turn) for s in sessions]
    known = [(float(p), float(n)) for p, n in counts if n]
    if not known:
        return None, None, None, 0, f"nothing was decided: {_ends(sessions)}"
    if len(known) < (1 - limits.max_unfinished) * len(sessions):
        where = f" at turn {gate.turn}" if gate.turn is not None else ""
        return None, None, None, len(known), (
            f"only {len(known)} of {len(sessions)} sessions were decided{where} ({_ends(sessions)}); a rate over those "
            "that came so far would flatter"
        )  # fmt: skip
    if gate.metric == "compliance":
        found = [s.undecided(without) for s in sessions]
        undecided, asked = sum(u for u, _ in found), sum(n for _, n in found)
        if undecided > limits.max_unfinished * asked:
            return None, None, None, len(known), f"{undecided} of {asked} verdicts are undecided"
        unasked = sum(len(s.no_room(without)) for s in sessions)
        if gate.turn is None and unasked > limits.max_unfinished * (asked + unasked):
            return None, None, None, len(known), (
                f"overflow: {unasked} of {asked + unasked} checks were never asked, because the window was full "
                f"({_ends(sessions)}); a rate over those before it would flatter"
            )  # fmt: skip
    import numpy as np

    passed, decided = (np.array([pair[at] for pair in known]) for at in (0, 1))
    low, high, method = session_interval(passed, decided, limits.level, limits.resamples, limits.seed)
    value = float(passed.sum() / decided.sum())
    return (value, None, None, len(known), "") if method == "none" else (value, low, high, len(known), "")


def _length(gate: Gate, sessions: Sequence[SessionEvidence], without: frozenset[str], limits: Limits) -> Estimate:
    from contextrot.analysis.survival import kaplan_meier, restricted_mean_interval

    known = [found for session in sessions if (found := session.lasted(without)) is not None]
    if not known:
        return None, None, None, 0, f"no check was decided: {_ends(sessions)}"
    if len(known) < (1 - limits.max_unfinished) * len(sessions):
        return None, None, None, len(known), f"nothing was decided in {len(sessions) - len(known)} of {len(sessions)}"
    turns = [found[0] for found in known]
    fit = kaplan_meier(turns, [found[1] for found in known], level=limits.level)
    watched, n = max(turns), len(known)
    if gate.limit > watched and all(not found[1] for found in known):
        return None, None, None, n, f"sessions were only watched up to turn {watched}; let them run longer"
    if gate.metric == "median":
        if fit.median is not None:
            return float(fit.median), fit.low, fit.high, n, ""
        if gate.limit > watched:
            return None, None, None, n, f"half of the sessions still held at turn {watched}, where watching ended"
        return float("inf"), fit.low, fit.high, n, ""
    span = restricted_mean_interval(fit)
    low, high = span if span is not None else (None, None)
    if span is None and fit.events == 0:
        low, high = None, float(watched)
    if fit.restricted_mean is None:
        return None, None, None, n, "the restricted mean is not known"
    return fit.restricted_mean, low, high, n, ""


def _asks_at(sessions: Sequence[SessionEvidence], turn: int, without: frozenset[str]) -> bool:
    return any(at == turn for s in sessions for name, v in s.checks.items() if name not in without for at, _ in v)


def known_turn(gate: Gate, sessions: Sequence[SessionEvidence]) -> None:
    """Raises `NothingMatchedError` where nothing is checked at the turn of a gate."""
    turns = {at for session in sessions for verdicts in session.checks.values() for at, _ in verdicts}
    planned = max((session.turns or 0 for session in sessions), default=0)
    if gate.turn not in turns:
        shown = ", ".join(map(str, sorted(turns)[:20])) or "none"
        raise NothingMatchedError(
            f"gate {gate.text!r}: nothing is checked at turn {gate.turn} "
            f"(sessions have {planned} turns; checked: {shown})"
        )


def _ends(sessions: Sequence[SessionEvidence]) -> str:
    return ", ".join(f"{name} {n}" for name, n in Counter(session.ended for session in sessions).most_common())


def ceiling(gate: Gate, run: Evidence, limits: Limits) -> list[GateVerdict]:
    """A ceiling held against the run, or per session against every group in its scope."""
    groups = in_scope(gate, run)
    if not gate.per_session:
        sessions = [session for found in groups.values() for session in found]
        total = total_of(gate.metric, sessions) if gate.scope else run.spent.get(gate.metric)
        return [_counted(gate, dict(gate.scope), total, len(sessions), "")]
    found = []
    for key, sessions in groups.items():
        total = total_of(gate.metric, sessions)
        mean = None if total is None else total / len(sessions)
        found.append(_counted(gate, scope_of(key), mean, len(sessions), unusable_because(sessions, run, limits)))
    return found


def _counted(gate: Gate, scope: dict[str, str], value: float | None, n: int, unusable: str) -> GateVerdict:
    outcome, code = GateOutcome.NO_VERDICT, 3
    if value is None:
        reason = f"{gate.metric} are not known for every session"
        if gate.metric == "cost":
            reason = "the price of a model is not known; give it under models: in contextrot.yaml"
    elif value > gate.limit * (1 + EXACTLY):
        outcome, code = GateOutcome.FAILED, 1
        reason = f"{value_text(value, gate)} is over {value_text(gate.limit, gate)}"
    elif unusable:
        reason = f"{unusable}; a session that broke off is cheap"
    else:
        outcome, code, reason = GateOutcome.PASSED, 0, value_text(value, gate)
    return GateVerdict(gate.text, scope, outcome, reason, value, gate.limit, None, None, n, gate.unit, code)


def total_of(metric: str, sessions: Sequence[SessionEvidence]) -> float | None:
    """The sum of tokens, cost or calls; None as soon as one session does not know its own."""
    values = [getattr(session, metric) for session in sessions]
    return None if not values or any(value is None for value in values) else float(sum(values))


def unusable_because(sessions: Sequence[SessionEvidence], run: Evidence, limits: Limits) -> str:
    """Why a group has no verdict: too many of its sessions ended without a result. Empty when it may have one."""
    bad, total = without_result(sessions, run.repeats)
    if bad > limits.max_unfinished * total:
        return f"{bad} of {total} sessions ended without a result (errors, limits, interrupted)"
    return ""
