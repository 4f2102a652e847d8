"""How many sessions it takes until a gate catches a drop of the session length, before any money is spent.

What is planned for is the gate of `analysis/gate_drops.py`, whole: it fails where the test against a drop rejects after
Holm's correction, the interval excludes 0, **and** the estimate reaches the gate's limit. A true drop that equals the
limit is therefore caught about half of the time, however many sessions there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: the longest search; a drop that would need more sessions is not one to look for with sessions
MOST_PAIRS = 100_000
#: level of the interval that has to exclude 0
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long sessions of one scenario last today: restricted mean up to `turns`, and its spread between sessions.

    All in turns. known: where they are from, ``run``, or ``assumed``: a constant hazard with a median.
    """

    mean: float
    sd: float
    turns: float
    known: str


@dataclass(frozen=True, slots=True)
class Planned:
    """Pairs of sessions with which a true `drop` (share of the restricted mean) makes a gate fail with `power`.

    pairs: sessions on each side; None where no number does (`caught_at_all`), `MOST_PAIRS` stands for so many or more.
    limit: of the gate, as a share of the restricted mean; 0 asks for any drop. tests: drops the run is held to, over
    which alpha is kept. turns: up to which lengths are taken, None where scenarios differ in it. restricted_mean, sd:
    of one session under today's agent (turns); sd_difference: of a pair. known: ``run`` or ``assumed``.
    """

    pairs: int | None
    drop: float
    limit: float
    tests: int
    turns: float | None
    restricted_mean: float
    sd: float
    sd_difference: float
    power: float
    alpha: float
    known: str

    @property
    def caught_at_all(self) -> bool:
        """Whether more sessions make it surer that the drop is caught: where it is larger than the limit."""
        return self.drop > self.limit

    def sentence(self, gate: str) -> str:
        """The plan in words; `gate` is how the gate is written."""
        upto = f", up to turn {self.turns:g}" if self.turns is not None else ""
        what = (
            f"a true drop of {_percent(self.drop)} in restricted mean session length (from "
            f"{self.restricted_mean:.1f} to {self.restricted_mean * (1 - self.drop):.1f} turns{upto})"
        )
        if not self.caught_at_all and self.drop < self.limit * (1 - 1e-9):
            return (
                f"{what} is smaller than the gate {gate!r} asks for: it passes, the surer the more sessions there are"
            )
        if not self.caught_at_all:
            return (
                f"{what} makes the gate {gate!r} fail about half of the time, however many sessions there are, because "
                "what is measured has to reach the limit too"
            )
        return f"{what} makes the gate {gate!r} fail {self.how_often}"

    @property
    def how_often(self) -> str:
        """How often it is caught, with how many sessions and at which price, in words."""
        if self.pairs is None:
            return "about half of the time at most"
        most = f"{MOST_PAIRS:,} or more" if self.pairs >= MOST_PAIRS else f"{self.pairs:,}"
        over = "" if self.tests == 1 else f" over the {self.tests} drops that the run is held to"
        return (
            f"{100 * self.power:g} times of 100 with {most} sessions a side (repeats x scenarios), at "
            f"{_percent(self.alpha)} false alarms{over}"
        )


def sessions_to_detect(
    drop: float,
    *,
    turns: float,
    median: float | None = None,
    durations: Sequence[float] | None = None,
    events: Sequence[int] | None = None,
    limit: float = 0.0,
    tests: int = 1,
    correlation: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Planned:
    """Pairs of sessions with which a gate sees the restricted mean up to `turns` fall by the share `drop` (0-1).

    Today's agent is known from a run (`durations` in turns, `events` 1 = failed or out of window), or assumed to fail
    at one constant rate with that `median` (turns). limit: the gate's, a share: 0.1 for `rmst: -10%`, 0 for any drop
    that is confirmed. Else as `plan_drop`. Raises ValueError for values that cannot be.
    """
    if durations is not None and events is not None and len(durations):
        today = observed(durations, events, turns)
    elif median is not None:
        today = assumed(median, turns)
    else:
        raise ValueError("Give the median session length, or the durations and events of a run.")
    return plan_drop(drop, [today], limit=limit, tests=tests, correlation=correlation, power=power, alpha=alpha)


def plan_drop(
    drop: float,
    lengths: Sequence[Lengths],
    *,
    limit: float = 0.0,
    in_turns: bool = False,
    tests: int = 1,
    correlation: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Planned:
    """Pairs with which the gate catches a true drop by the share `drop` in every scenario, one of `lengths` each.

    limit: the gate's, a share of the restricted mean, or turns (`in_turns`). tests: drops that the run is held to; each
    is taken to be tested at alpha / tests (Bonferroni), which Holm's correction never falls short of. correlation: of
    the two sessions of a pair, 0 where the script makes no difference (cautious). The changed agent is taken to fail at
    the constant rate that gives the lower mean.

    One-sided paired t-test (noncentral t) and the estimate's own limit, which are put together as jointly normal; the
    variances are those of restricted life lengths (Royston and Parmar 2013, §3). Raises ValueError for values that
    cannot be.
    """
    if not 0 < drop < 1:
        raise ValueError(f"A drop is a share between 0 and 1, not {drop}; write 0.1 for 10 %.")
    if not -1 <= correlation < 1:
        raise ValueError(f"A correlation is at least -1 and below 1, not {correlation}.")
    if limit < 0 or tests < 1:
        raise ValueError(f"A limit is no less than 0 and a run is held to 1 drop at least, not {limit} and {tests}.")
    today = _together(lengths)
    if not today.mean > 0:
        raise ValueError("Sessions fail at once already; there is no length that could drop.")
    share = limit / today.mean if in_turns else limit
    spreads = _spreads(drop, lengths, 0.0 if in_turns else share, correlation)
    horizons = {one.turns for one in lengths}
    pairs = None
    if drop > share:
        found = _Contrast(drop * today.mean, (drop - share) * today.mean, *spreads)
        pairs = _fewest(found, tests, power, alpha)
    return Planned(
        pairs, drop, share, tests, horizons.pop() if len(horizons) == 1 else None, today.mean, today.sd, spreads[0],
        power, alpha, today.known,
    )  # fmt: skip


def detectable_drop(
    pairs: int,
    *,
    turns: float,
    median: float | None = None,
    durations: Sequence[float] | None = None,
    events: Sequence[int] | None = None,
    limit: float = 0.0,
    tests: int = 1,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float | None:
    """The smallest true drop (share) that the gate catches with so many pairs; None: not even 99 %."""
    low, high = 0.0, 0.99

    def enough(drop: float) -> bool:
        plan = sessions_to_detect(
            drop, turns=turns, median=median, durations=durations, events=events, limit=limit, tests=tests,
            power=power, alpha=alpha,
        )  # fmt: skip
        return plan.pairs is not None and plan.pairs <= pairs

    if not enough(high):
        return None
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return round(high, 3)


def pairs_for(difference: float, sd: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Pairs with which a paired t-test sees a mean `difference` of pairs that spread by `sd` (two-sided).

    At least those with which a test can reject at all (`paired.FEWEST_PAIRS`).
    """
    from scipy.special import ndtri
    from statsmodels.stats.power import TTestPower

    from contextrot.analysis.paired import FEWEST_PAIRS

    if difference <= 0:
        raise ValueError("A difference to be seen is above 0.")
    if sd <= 0:
        return FEWEST_PAIRS
    test, effect = TTestPower(), difference / sd
    # The normal law needs a few pairs less than Student's: begin there.
    pairs = max(FEWEST_PAIRS, int(((ndtri(1 - alpha / 2) + ndtri(power)) / effect) ** 2))
    while pairs < MOST_PAIRS and test.power(effect, pairs, alpha) < power:
        pairs += 1
    return min(pairs, MOST_PAIRS)


def assumed(median: float, turns: float) -> Lengths:
    """Sessions that fail at one constant rate with that median (turns). Raises ValueError for values that cannot be."""
    if not turns > 0:
        raise ValueError(f"turns is the length of a session, above 0, not {turns}.")
    if not median >= 1:
        raise ValueError(f"A median is at least 1 turn, not {median}.")
    return Lengths(*_moments(1 - 0.5 ** (1 / median), turns), turns, "assumed")


def observed(durations: Sequence[float], events: Sequence[int], turns: float) -> Lengths:
    """Lengths of sessions of a run up to `turns` (durations in turns, events 1 = failed or out of window).

    Raises ValueError where none of them was watched so long.
    """
    from contextrot.analysis.survival import kaplan_meier

    if not turns > 0:
        raise ValueError(f"turns is the length of a session, above 0, not {turns}.")
    found = kaplan_meier(durations, events, horizon=turns)
    if found.restricted_mean is None:
        raise ValueError(f"No session of the run was watched up to turn {turns:g}.")
    if found.events:
        return Lengths(found.restricted_mean, (found.restricted_mean_se or 0.0) * found.n**0.5, turns, "run")
    # Nobody failed: the rate is at most what so many sessions could hide, one failure in as many.
    return Lengths(*_moments(1 / max(1.0, float(sum(durations))), turns), turns, "run")


@dataclass(frozen=True, slots=True)
class _Contrast:
    """What a gate looks at, in turns: how far the mean falls, and how far beyond the gate's limit; spreads of a pair.

    correlation: of the two, over pairs.
    """

    drop: float
    beyond: float
    sd_drop: float
    sd_beyond: float
    correlation: float

    def power(self, pairs: int, tail: float) -> float:
        """Chance that the t-test rejects at `tail` (one-sided) and the estimate lies beyond the limit."""
        from scipy.special import ndtr, ndtri
        from scipy.stats import nct, t

        df, root = pairs - 1, pairs**0.5
        critical, shift = float(t.ppf(1 - tail, df)), self.drop * root / self.sd_drop
        seen = float(nct.sf(critical, df, shift))
        seen = seen if seen == seen else float(ndtr(shift - critical))  # far out scipy gives up
        reached = float(ndtr(self.beyond * root / self.sd_beyond))
        if self.correlation > 1 - 1e-9 or min(seen, reached) <= 0:
            return min(seen, reached)
        return _both(float(ndtri(seen)), float(ndtri(reached)), self.correlation)


def _both(a: float, b: float, correlation: float) -> float:
    """P(X <= a, Y <= b) of two standard normals that are correlated."""
    from math import exp, pi, sqrt

    from scipy.integrate import quad
    from scipy.special import ndtr

    a, b = min(a, 9.0), min(b, 9.0)
    rest = sqrt(1 - correlation**2)
    density = 1 / sqrt(2 * pi)
    return float(quad(lambda x: density * exp(-x * x / 2) * ndtr((b - correlation * x) / rest), -9.0, a)[0])


def _fewest(found: _Contrast, tests: int, power: float, alpha: float) -> int:
    from math import ceil, log2

    from contextrot.analysis.paired import FEWEST_PAIRS

    tail = min(alpha / tests, (1 - LEVEL) / 2)
    # Of 2^n ways to swap the sides of n pairs one is the most extreme: with fewer pairs nothing can be confirmed.
    low = max(FEWEST_PAIRS, ceil(log2(tests / alpha)))
    if found.sd_drop <= 0 or found.sd_beyond <= 0 or found.power(low, tail) >= power:
        return low
    high = 2 * low
    while high < MOST_PAIRS and found.power(high, tail) < power:
        low, high = high, 2 * high
    if high >= MOST_PAIRS and found.power(MOST_PAIRS, tail) < power:
        return MOST_PAIRS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found.power(middle, tail) >= power else (middle, high)
    return high


def _together(lengths: Sequence[Lengths]) -> Lengths:
    """Mean of one session of any scenario, and the spread within scenarios."""
    n = len(lengths)
    if not n:
        raise ValueError("There is no session whose length could drop.")
    mean, variance = sum(one.mean for one in lengths) / n, sum(one.sd**2 for one in lengths) / n
    return Lengths(mean, variance**0.5, max(one.turns for one in lengths), lengths[0].known)


def _spreads(drop: float, lengths: Sequence[Lengths], share: float, correlation: float) -> tuple[float, float, float]:
    """Of a pair, in turns: spread of the drop, of what lies beyond a limit of that share, and their correlation.

    The drop is today less changed, beyond the limit lies (1 - share) today less changed. Scenarios whose lengths differ
    lose different numbers of turns by one share, which the test cannot tell from spread.
    """
    n, kept = len(lengths), 1 - share
    average = sum(one.mean for one in lengths) / n
    drops = beyonds = joint = 0.0
    for one in lengths:
        sd = _moments(_hazard_for(one.mean * (1 - drop), one.turns), one.turns)[1]
        shared, off = correlation * one.sd * sd, one.mean - average
        drops += one.sd**2 + sd**2 - 2 * shared + (drop * off) ** 2
        beyonds += (kept * one.sd) ** 2 + sd**2 - 2 * kept * shared + ((drop - share) * off) ** 2
        joint += kept * one.sd**2 + sd**2 - (1 + kept) * shared + drop * (drop - share) * off**2
    drops, beyonds, joint = max(drops / n, 0.0), max(beyonds / n, 0.0), joint / n
    together = joint / (drops * beyonds) ** 0.5 if drops and beyonds else 1.0
    return drops**0.5, beyonds**0.5, min(1.0, together)


def _moments(hazard: float, turns: float) -> tuple[float, float]:
    """Mean and standard deviation of min(T, turns), T the turn of a first failure at a constant hazard per turn."""
    import numpy as np

    at = np.arange(int(turns))
    alive = (1 - hazard) ** at  # P(T > k), k = 0 .. turns - 1
    mean = float(alive.sum())
    second = float(((2 * at + 1) * alive).sum())
    return mean, max(second - mean**2, 0.0) ** 0.5


def _hazard_for(mean: float, turns: float) -> float:
    """The constant hazard at which sessions last `mean` turns on average, up to `turns`."""
    from scipy.optimize import brentq

    if mean >= int(turns):
        return 0.0
    if mean <= 1:
        return 1.0
    return float(brentq(lambda hazard: _moments(hazard, turns)[0] - mean, 0.0, 1.0))


def _percent(share: float) -> str:
    return f"{100 * share:.10g} %"
