"""What a comparison measures over the pairs of a row, and what is missing for it; no verdict yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextrot.analysis.comparison import Limits
from contextrot.analysis.evidence import WINDOW_ENDS, SessionEvidence
from contextrot.analysis.matching import Matched, Pair
from contextrot.analysis.paired import EXACTLY, PairedMean, paired_mean, paired_rate, pseudo_means


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
    then stand side by side. Compliance is that of the checks which both sessions of a pair were asked: where the window
    ended one of them, the other would be held to later turns, which are harder.
    """
    options: dict[str, Any] = {
        "level": limits.level,
        "resamples": limits.resamples,
        "flips": limits.flips,
        "seed": limits.seed,
    }
    if metric == "restricted_mean":
        return _lengths(pairs, options)
    sides = []
    for side in (0, 1):
        count: list[tuple[int, int]] = [
            pair[side].called if metric == "tool_calls" else _passed(pair, side, pairs.without[pair[side].scenario])
            for pair in pairs.pairs
        ]
        sides.append(count)
    if metric == "tool_calls" and not any(called for side in sides for called, _ in side):
        return None  # nobody ever called a tool: there may be none
    both = [k for k in range(len(pairs.pairs)) if sides[0][k][1] and sides[1][k][1]]
    a, b = ([side[k] for k in both] for side in sides)
    rates = [sum(p for p, _ in side) / sum(n for _, n in side) if both else None for side in (a, b)]
    return Measured(metric, rates[0], rates[1], paired_rate(a, b, **options))


def _passed(pair: Pair, side: int, without: frozenset[str]) -> tuple[int, int]:
    other = pair[1 - side]
    return pair[side].passed(without, apart=other.missed(pair[side].asked(without), without))


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
    """A sentence why a row may not be judged: too many sessions or verdicts without a result. Empty when it may.

    What a full window left no room for is not among them: see `never_came_to`.
    """
    for name, sessions, planned in (
        ("baseline", pairs.baseline, pairs.planned[0]),
        ("candidate", pairs.candidate, pairs.planned[1]),
    ):
        bad, total = without_result(sessions, planned)
        if total and bad > limits.max_unfinished * total:
            return f"{bad} of {total} sessions of the {name} ended without a result"
        counts = [session.undecided(pairs.without[session.scenario]) for session in sessions]
        undecided, asked = sum(u for u, _ in counts), sum(n for _, n in counts)
        if undecided > limits.max_unfinished * asked:
            return f"{undecided} of {asked} verdicts of the {name} are undecided (errors, empty or truncated replies)"
    return ""


def never_came_to(pairs: Matched, limits: Limits, metric: str) -> str:
    """A sentence why a row may be no good news in a metric: its window was full before much of the baseline's checks.

    Empty when it may. An overflow is an event of the length, which it therefore never stands in the way of; a rate or a
    sum over the turns before it says nothing of those that the candidate never came to.
    """
    if metric == "restricted_mean":
        return ""
    unasked, asked = never_asked(pairs, of="candidate")
    if unasked <= limits.max_unfinished * asked:
        return ""
    full = sum(session.ended in WINDOW_ENDS for session in pairs.candidate)
    return (
        f"overflow: {unasked} of {asked} checks that the baseline was asked were never asked of the candidate, whose "
        f"window was full ({full} of {len(pairs.candidate)} sessions ended there)"
    )


def asked_of_both(pairs: Matched, limits: Limits) -> str:
    """What a reader has to know of a compliance where the baseline's window was full before much of the candidate's.

    A sentence, empty where it was not.
    """
    unasked, asked = never_asked(pairs, of="baseline")
    if unasked <= limits.max_unfinished * asked:
        return ""
    return (
        f"compliance is that of the {asked - unasked} checks both sides were asked: the baseline's window was full "
        f"before {unasked} more"
    )


def never_asked(pairs: Matched, *, of: str) -> tuple[int, int]:
    """(checks that one side was not asked because its window was full, of so many that the other side was asked).

    of: ``baseline`` or ``candidate``, the side that was not asked.
    """
    side = 1 if of == "candidate" else 0
    unasked = asked = 0
    for pair in pairs.pairs:
        without = pairs.without[pair[0].scenario]
        others = pair[1 - side].asked(without)
        unasked += len(pair[side].missed(others, without))
        asked += len(others)
    return unasked, asked
