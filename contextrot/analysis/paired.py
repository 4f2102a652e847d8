"""Paired differences: the same scenario, seed and repeat on both sides, so that what a script does to both cancels out.

The unit is a pair of sessions. Each pair brings one number, and the question is the mean of those numbers: its
interval, and whether "nothing changed" explains it. `benchmarks/calibration.py` measures what the intervals hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: With fewer pairs no test at 5 % can reject: of 2^5 ways to swap the sides of five pairs two are as extreme.
FEWEST_PAIRS = 6
#: From so many pairs on the interval is a bootstrap's; below, Student's, which holds its level better there.
BOOTSTRAP_FROM = 100
#: ... if so many pairs differ from the commonest difference: of a few odd ones a bootstrap draws too few kinds.
ODD_PAIRS = 10
#: Differences this small come out of sums of floats.
EXACTLY = 1e-9
#: signs drawn at once
BLOCK = 1 << 21


@dataclass(frozen=True, slots=True)
class PairedMean:
    """Mean of paired differences (second side minus first) with its interval; None where nothing can be said.

    method: ``bootstrap`` (studentised, over pairs), ``t`` (Student's, below 100 pairs or with fewer than
    10 off the commonest difference), ``alike`` (all pairs showed one
    and the same difference), ``none`` (fewer than 2 pairs). `p_value` is that of "the sides may be swapped in every
    pair". se: standard error, 0 where all pairs are alike.
    """

    estimate: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_lower: float | None
    se: float | None
    pairs: int
    method: str

    @property
    def excludes_zero(self) -> bool:
        """True when the interval lies on one side of 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def paired_mean(
    differences: Sequence[float] | Array,
    *,
    scale: float = 1.0,
    level: float = 0.95,
    resamples: int = 2000,
    flips: int = 1999,
    seed: int = 0,
) -> PairedMean:
    """Mean of the differences, one per pair, in their own unit; `scale` is the largest difference possible.

    Interval: Student's t below 100 pairs, then the studentised bootstrap of pairs (Efron and Tibshirani 1993, §12.5;
    Davison and Hinkley 1997, §5.2.1). Pairs that are all alike show no spread, which is not certainty: a share of
    1 - (1 - level)^(1/n) of pairs could be otherwise and stay unseen (Louis 1981; "rule of three", Hanley and
    Lippman-Hand 1983). Where no pair differed, an unseen one is reckoned with half the `scale`: what a failure in the
    middle of a session costs. Where all pairs differed alike, it is reckoned as a pair without a difference.

    p-value: exact or sampled sign flips of the pairs (Fisher 1935, §21), which holds its level at any number of pairs
    when nothing changed; against a difference either way, and against a drop alone. Raises ValueError for differences
    that are not finite.
    """
    import numpy as np
    from scipy.stats import t

    d = np.asarray(differences, dtype=float).ravel()
    if not np.all(np.isfinite(d)):
        raise ValueError("A paired difference is a finite number; leave out pairs of which a side is unknown.")
    n = len(d)
    if n == 0:
        return PairedMean(None, None, None, None, None, None, 0, "none")
    mean = float(d.mean())
    if n < 2:
        return PairedMean(mean, None, None, None, None, None, n, "none")
    p, lower_p = _sign_flip(d, flips, seed)
    if np.ptp(d) <= EXACTLY * max(1.0, scale):
        unseen = 1 - (1 - level) ** (1 / n)
        half = unseen * (scale / 2 if abs(mean) <= EXACTLY * scale else abs(mean))
        return PairedMean(mean, max(-scale, mean - half), min(scale, mean + half), p, lower_p, 0.0, n, "alike")
    se = float(d.std(ddof=1) / np.sqrt(n))
    tail = (1 - level) / 2
    odd = n - int(np.unique(d, return_counts=True)[1].max())
    if n < BOOTSTRAP_FROM or odd < ODD_PAIRS:
        half = float(t.ppf(1 - tail, n - 1)) * se
        low, high, method = mean - half, mean + half, "t"
    else:
        students = _students(d, resamples, seed)
        below, above = np.quantile(students, [tail, 1 - tail])
        low, high, method = mean - float(above) * se, mean - float(below) * se, "bootstrap"
    return PairedMean(mean, max(-scale, low), min(scale, high), p, lower_p, se, n, method)


def sign_flip_p(
    differences: Sequence[float] | Array, *, alternative: str = "two-sided", flips: int = 1999, seed: int = 0
) -> float:
    """p-value of "either side of a pair could be the other" (Fisher 1935, §21); `alternative` ``less``: against a drop.

    All sign flips where there are at most 2^15, else a sample of them, the observed one counted in (Phipson and Smyth
    2010). scipy's `permutation_test(…, permutation_type="samples")` gives the same and takes ten times as long.
    Raises ValueError for another alternative.
    """
    if alternative not in ("two-sided", "less"):
        raise ValueError(f"The alternative is 'two-sided' or 'less', not {alternative!r}.")
    return _sign_flip(differences, flips, seed)[alternative == "less"]


def flips_for(tests: int, alpha: float) -> int:
    """Sign flips to draw where `tests` p-values share `alpha`: the least possible p-value has to survive Holm's factor.

    Half of `alpha` is left for it; never fewer than 1,999.
    """
    return max(1999, math.ceil(2 * tests / alpha))


def _sign_flip(differences: Sequence[float] | Array, flips: int, seed: int) -> tuple[float, float]:
    """p-values against a difference either way and against a drop, from the same flips."""
    import numpy as np

    d = np.asarray(differences, dtype=float)
    d = d[np.abs(d) > EXACTLY]  # a pair without a difference is the same either way
    n, found = len(d), float(d.sum())
    if n < 2:
        return 1.0, 1.0
    near = EXACTLY * float(np.abs(d).sum())
    if n <= 15:
        sums = (1 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)) @ d
        return float((np.abs(sums) >= abs(found) - near).mean()), float((sums <= found + near).mean())
    rng, either, lower, drawn = np.random.default_rng(seed), 1, 1, 0
    while drawn < flips:  # in blocks, so that many flips of many pairs stay small in memory
        block = min(flips - drawn, max(1, BLOCK // n))
        sums = (1 - 2.0 * rng.integers(0, 2, size=(block, n), dtype=np.int8)) @ d
        either += int((np.abs(sums) >= abs(found) - near).sum())
        lower += int((sums <= found + near).sum())
        drawn += block
    return either / (1 + flips), lower / (1 + flips)


def pseudo_means(durations: Sequence[float] | Array, events: Sequence[int] | Array, horizon: float) -> Array:
    """Each session's contribution to the restricted mean up to `horizon` (turns), also where it was censored before.

    Jackknife pseudo-observations (Andersen, Hansen and Klein 2004): n times the mean of all less (n - 1) times that
    without the session. Without censoring before the horizon this is min(duration, horizon). Raises ValueError where
    the survival curve ends before the horizon.
    """
    import numpy as np

    from contextrot.analysis.survival import kaplan_meier

    duration, event = np.asarray(durations, dtype=float), np.asarray(events, dtype=int)
    cut = (event == 0) & (duration < horizon)
    if not cut.any():
        return np.asarray(np.minimum(duration, horizon))
    n = len(duration)

    def mean(keep: NDArray[np.bool_]) -> float:
        found = kaplan_meier(duration[keep], event[keep], horizon=horizon).restricted_mean
        if found is None:
            raise ValueError(f"No session was watched up to turn {horizon:g}; choose a horizon that was reached.")
        return found

    everyone = np.ones(n, dtype=bool)
    whole = mean(everyone)
    out = np.empty(n)
    known: dict[tuple[float, int], float] = {}  # sessions that ended alike contribute alike
    for k in range(n):
        kind = (float(duration[k]), int(event[k]))
        if kind not in known:
            keep = everyone.copy()
            keep[k] = False
            known[kind] = n * whole - (n - 1) * mean(keep)
        out[k] = known[kind]
    return out


def paired_restricted_mean(
    first: tuple[Sequence[float], Sequence[int]],
    second: tuple[Sequence[float], Sequence[int]],
    horizon: float,
    **options: Any,
) -> PairedMean:
    """Difference in restricted mean session length up to `horizon` (turns), second minus first.

    A side is (durations, events), entry k of both sides the sessions of pair k. Restricted mean as the measure of a
    difference: Royston and Parmar 2013; through pseudo-observations: Andersen, Hansen and Klein 2004. `options` as for
    `paired_mean`. Raises ValueError for sides of unequal length, and as `pseudo_means` does.
    """
    if len(first[0]) != len(second[0]):
        raise ValueError(
            f"{len(first[0])} sessions on one side, {len(second[0])} on the other; give each pair on both."
        )
    if not len(first[0]):
        return paired_mean([])
    differences = pseudo_means(*second, horizon) - pseudo_means(*first, horizon)
    return paired_mean(differences, scale=max(horizon, EXACTLY), **options)


def paired_rate(
    first: Sequence[tuple[float, float]], second: Sequence[tuple[float, float]], **options: Any
) -> PairedMean:
    """Difference of two pooled rates (shares, second minus first); entry k is (passes, trials) of pair k on that side.

    A pair in which one side has no trial says nothing about a difference and is left out. The rate of a side is pooled,
    and each pair enters by its linearised contribution to the difference of ratios (Cochran 1977, §6.4), so that the
    pair and not the verdict is the unit. Raises ValueError for sides of unequal length.
    """
    import numpy as np

    if len(first) != len(second):
        raise ValueError(f"{len(first)} pairs on one side, {len(second)} on the other; give each pair on both.")
    data = np.column_stack((np.array(first, float).reshape(-1, 2), np.array(second, float).reshape(-1, 2)))
    data = data[(data[:, 1] > 0) & (data[:, 3] > 0)]
    if not len(data):
        return paired_mean([])
    passed_a, tried_a, passed_b, tried_b = data.T
    a, b = passed_a.sum() / tried_a.sum(), passed_b.sum() / tried_b.sum()
    pull = (passed_b - b * tried_b) / tried_b.mean() - (passed_a - a * tried_a) / tried_a.mean()
    return paired_mean(b - a + pull, scale=1.0, **options)


def holm(p_values: Sequence[float | None], alpha: float = 0.05) -> list[float | None]:
    """p-values adjusted for being several (Holm 1979); None (no test was made) stays None and does not count."""
    from statsmodels.stats.multitest import multipletests

    tested = [p for p in p_values if p is not None]
    if not tested:
        return [None] * len(p_values)
    adjusted = iter(multipletests(tested, alpha=alpha, method="holm")[1])
    return [None if p is None else float(next(adjusted)) for p in p_values]


def _students(d: Array, resamples: int, seed: int) -> Array:
    """(mean* - mean) / se* over bootstrap draws of the pairs; a draw without spread has no student and is drawn out."""
    import numpy as np

    n = len(d)
    drawn = d[np.random.default_rng(seed).integers(0, n, size=(resamples, n))]
    mean, variance = drawn.mean(axis=1), drawn.var(axis=1, ddof=1)
    spread = variance > EXACTLY * d.var()
    if not spread.any():
        return np.zeros(1)
    return np.asarray((mean[spread] - d.mean()) / np.sqrt(variance[spread] / n))
