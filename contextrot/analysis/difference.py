"""The difference of two rates when the session is the unit: late against early in a session, one arm against another.

Each unit (a session, or a pair of sessions of one repeat) brings passes and trials to either side. The difference is
that of the pooled rates; the interval comes from the units, because the trials of one session are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextrot.analysis.curves import FEW_SESSIONS, wilson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: with fewer units than this no interval of a difference is given
FEWEST = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """Second rate minus first (shares, -1 to 1) with its interval; `units` is what the interval counts.

    first, second: the pooled rates with their trials; None where a side has none, and then there is no difference.
    method: ``bootstrap`` of units (Davison and Hinkley 1997, §3.8) from 20 units on; ``t`` below, on the linearised
    ratio estimator (Cochran 1977, §6.4), as too few units make a bootstrap too narrow; ``newcombe`` where all units are
    alike and show no spread (Newcombe 1998, method 10, each unit counted once); ``none`` below 5 units or without a
    difference.
    """

    first: float | None
    first_n: int
    second: float | None
    second_n: int
    difference: float | None
    low: float | None
    high: float | None
    units: int
    method: str

    @property
    def falls(self) -> bool:
        """True when the interval lies below 0."""
        return self.high is not None and self.high < 0

    @property
    def rises(self) -> bool:
        """True when the interval lies above 0."""
        return self.low is not None and self.low > 0


def rate_difference(
    first: Sequence[tuple[float, float]],
    second: Sequence[tuple[float, float]],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Difference:
    """The difference of two pooled rates. Entry k of both sides is (passes, trials) of unit k; trials may be 0.

    Raises ValueError when the sides do not hold the same units.
    """
    import numpy as np

    if len(first) != len(second):
        raise ValueError(f"{len(first)} units on one side, {len(second)} on the other; give each unit on both.")
    data = np.column_stack((np.array(first, float).reshape(-1, 2), np.array(second, float).reshape(-1, 2)))
    data = data[(data[:, 1] > 0) | (data[:, 3] > 0)]
    sums, units = data.sum(axis=0), len(data)
    rates = [sums[k] / sums[k + 1] if sums[k + 1] else None for k in (0, 2)]
    counts = int(sums[1]), int(sums[3])
    a, b = (None if rate is None else float(rate) for rate in rates)
    if a is None or b is None:
        return Difference(a, counts[0], b, counts[1], None, None, None, units, "none")
    sides = min(int((data[:, 1] > 0).sum()), int((data[:, 3] > 0).sum()))
    if sides < FEWEST:
        return Difference(a, counts[0], b, counts[1], b - a, None, None, units, "none")
    low, high, method = _interval(data, a, b, sides, level, resamples, seed)
    return Difference(a, counts[0], b, counts[1], b - a, low, high, units, method)


def _interval(
    data: Array, a: float, b: float, sides: int, level: float, resamples: int, seed: int
) -> tuple[float, float, str]:
    import numpy as np
    from scipy.stats import t

    units = len(data)
    # what one unit adds to either pooled rate, around it
    pull = (data[:, 2] - b * data[:, 3]) / data[:, 3].mean() - (data[:, 0] - a * data[:, 1]) / data[:, 1].mean()
    if np.allclose(pull, 0):
        return *_newcombe(a, b, sides, level), "newcombe"
    if sides < FEW_SESSIONS:
        half = float(t.ppf((1 + level) / 2, units - 1) * np.sqrt((pull**2).sum() / (units * (units - 1))))
        return max(-1.0, b - a - half), min(1.0, b - a + half), "t"
    kinds, count = np.unique(data, axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(units, count / units, size=resamples) @ kinds
    drawn = drawn[(drawn[:, 1] > 0) & (drawn[:, 3] > 0)]
    shift = drawn[:, 2] / drawn[:, 3] - drawn[:, 0] / drawn[:, 1]
    low, high = np.quantile(shift, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high), "bootstrap"


def _newcombe(a: float, b: float, n: int, level: float) -> tuple[float, float]:
    """Score interval of b - a, each rate as if it came of one trial a unit."""
    around_a, around_b = wilson(a * n, n, level), wilson(b * n, n, level)
    assert around_a is not None
    assert around_b is not None
    (a_low, a_high), (b_low, b_high) = around_a, around_b
    low = b - a - ((b - b_low) ** 2 + (a_high - a) ** 2) ** 0.5
    high = b - a + ((b_high - b) ** 2 + (a - a_low) ** 2) ** 0.5
    return low, high
