"""The interval of a median session length: a test of the median turned round (DESIGN §8).

`analysis/survival.py` is where it is used; `benchmarks/coverage.py` measures what it covers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: Kaplan–Meier values this close to one half are one half: they come out of a product of floats.
EXACTLY = 1e-9


def median_interval(
    at: Array, s: Array, size: Array, time: Array, risk: Array, grid: Array | None, level: float
) -> tuple[float | None, float | None]:
    """The turns that a test does not reject as the median; both ends included, None where no bound is known.

    `at`, `s`, `size`: event times, S after each, and the sessions an uncensored sample would need for its variance;
    `time`, `risk`: observed times and the sessions at risk there; `grid`: turns at which a failure could be seen.

    Turn t is the median of a discrete life length when S(t) <= 1/2 < S(t-1). It is rejected when S(t) is significantly
    above 1/2 or S(t-1) significantly below (Brookmeyer and Crowley 1982, test inversion), each side by the mid-p
    binomial test of 1/2 with the effective number of sessions S(1-S)/Greenwood's variance: the sign test where nobody
    is censored before (Fay, Brittain and Proschan 2013 discuss mid-p for survival). Both statements cannot be close to
    false at once when S falls far within one turn, so the tails are those of Imbens and Manski 2004 for a parameter
    known up to an interval: c solves Phi(c + drop/sd) - Phi(-c) = level, between the two-sided and the one-sided
    point. The drop is the mean fall of S a turn across the plain interval; in continuous time it is 0.
    """
    import numpy as np
    from scipy.optimize import brentq
    from scipy.special import ndtr, ndtri

    tail = (1 - level) / 2
    above = _upper_mid_p(s * size, size)  # small where S is significantly above 1/2, near 1 where below

    def bounds(tail: float) -> tuple[float | None, float | None]:
        under = np.flatnonzero(above > 1 - tail)
        high = float(at[under[0]]) if len(under) else None
        open_ = np.flatnonzero(above >= tail)
        if len(open_):
            # The first failure bounds from below only if that many sessions without one before it say something.
            early = float(risk[np.searchsorted(time, at[0])])
            known = open_[0] > 0 or _upper_mid_p(np.array([early]), np.array([early]))[0] < tail
            return (float(at[open_[0]]) if known else None), high
        # Every failure time is too early for the median: it lies beyond the last turn that enough sessions reached.
        last, n = (s[-1], size[-1]) if len(s) else (1.0, risk[0])
        left = np.minimum(risk / last, n)
        sure = time[_upper_mid_p(last * left, left) < tail]
        return (float(sure[-1]) if len(sure) else None), high

    low, high = bounds(tail)
    if grid is None or len(s) == 0:
        return low, high
    start = grid[0] if low is None else low
    end = max(start, time[-1] if high is None else high)
    turns = max(1, int(((grid >= start) & (grid <= end)).sum()))
    s_start = s[at < start][-1] if (at < start).any() else 1.0
    s_end = s[at <= end][-1] if (at <= end).any() else 1.0
    middle = min(int(np.searchsorted(-s, -0.5)), len(s) - 1)
    drop = (s_start - s_end) / turns * 2 * np.sqrt(size[middle])
    c = brentq(lambda x: ndtr(x + drop) - ndtr(-x) - level, ndtri(level) - EXACTLY, ndtri(1 - tail) + EXACTLY)
    return bounds(float(ndtr(-c)))


def _upper_mid_p(y: Array, n: Array) -> Array:
    """P(Y > y) + P(Y = y) / 2 for Y ~ Binomial(n, 1/2), through the beta function so that n need not be whole."""
    import numpy as np
    from scipy.special import betainc

    more = np.where(n - y > EXACTLY, betainc(y + 1, np.maximum(n - y, EXACTLY), 0.5), 0.0)
    least = np.where(y > EXACTLY, betainc(np.maximum(y, EXACTLY), n - y + 1, 0.5), 1.0)
    return np.asarray((more + least) / 2)
