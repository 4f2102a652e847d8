"""The session budget to ship: at which occupancy and at which turn to warn and to start a new session (DESIGN §8).

The curve of compliance is made to fall only (isotonic regression), and the threshold is the last place at which it
still holds a share of the ceiling. Its interval comes from drawing whole sessions again. Where the measured curve rises
by more than noise, that is said: a threshold read off such a curve is a rule of thumb and no knee.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextrot.analysis.curves import rises

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: share of the ceiling that must still hold at a level of the budget monitor
SHARES = {"WARN": 0.95, "ROTATE": 0.85}
#: with fewer sessions no interval is given, and with fewer than this nothing is recommended
FEWEST_SESSIONS = 5
RESAMPLES = 400
_NEARLY = 1e-9


@dataclass(frozen=True, slots=True)
class Threshold:
    """Where to `WARN` or `ROTATE`: up to `value` (turns, or occupancy) compliance holds `share` of the ceiling.

    low, high: its interval; None is "before the first tested place" for `low`. value None: the first tested place is
    too much already, or nothing can be said. holds: every tested place holds, so the value is at least that.
    """

    level: str
    unit: str
    share: float
    ceiling: float | None
    value: float | None
    low: float | None
    high: float | None
    holds: bool
    sessions: int
    note: str


def thresholds(
    sessions: Sequence[Hashable],
    places: Sequence[float],
    passed: Sequence[bool],
    ceiling: float | None,
    *,
    unit: str,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Threshold]:
    """Recommended thresholds, one for each of `SHARES`; one entry per decided verdict.

    `places`: turns, or occupancies (give the upper ends of bins; a place is one point of the curve). `ceiling`: the
    rate of the control with the rule right before the question, 0-1; None: the rate at the first place stands in.
    Isotonic regression: Barlow et al. 1972 (scipy's `isotonic_regression`), weighted by verdicts. Interval: percentile
    bootstrap of sessions (Davison and Hinkley 1997, §3.8). Raises ValueError for lists of unequal length.
    """
    import numpy as np

    if not len(sessions) == len(places) == len(passed):
        raise ValueError(f"{len(sessions)} sessions, {len(places)} places, {len(passed)} outcomes; give one of each.")
    at, where = np.unique(np.asarray(places, dtype=float), return_inverse=True)
    names, who = np.unique(np.array([str(name) for name in sessions], dtype=object).astype(str), return_inverse=True)
    n = len(names)
    if n < FEWEST_SESSIONS or len(at) < 2:
        why = f"{n} sessions and {len(at)} places are too few"
        return [Threshold(k, unit, s, ceiling, None, None, None, False, n, why) for k, s in SHARES.items()]
    good, tried = np.zeros((n, len(at))), np.zeros((n, len(at)))
    np.add.at(tried, (who, where), 1.0)
    np.add.at(good, (who, where), np.asarray(passed, dtype=float))
    top = ceiling if ceiling is not None else float(good[:, 0].sum() / tried[:, 0].sum())
    if not top > 0:
        why = "nothing passes even when fresh"
        return [Threshold(k, unit, s, top, None, None, None, False, n, why) for k, s in SHARES.items()]
    draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
    whole = _falling(good.sum(axis=0), tried.sum(axis=0))
    drawn = [_falling(*pair) for pair in zip(draws @ good, draws @ tried, strict=True)]
    note = _note(at, good.sum(axis=0), tried.sum(axis=0))
    return [_threshold(name, unit, share, top, at, whole, drawn, level, n, note) for name, share in SHARES.items()]


def _threshold(
    name: str, unit: str, share: float, ceiling: float, at: Array, whole: Array, drawn: Sequence[Array], level: float,
    sessions: int, note: str,
) -> Threshold:  # fmt: skip
    import numpy as np

    def last(curve: Array) -> int:
        """Index of the last place that holds, -1 for none: the curve falls only."""
        return int((curve >= share * ceiling * (1 - _NEARLY)).sum()) - 1

    found = last(whole)
    tail = (1 - level) / 2
    low, high = np.quantile([last(curve) for curve in drawn], [tail, 1 - tail], method="nearest")
    ends = [None if index < 0 else float(at[int(index)]) for index in (found, low, high)]
    return Threshold(name, unit, share, ceiling, ends[0], ends[1], ends[2], found == len(at) - 1, sessions, note)


def _falling(good: Array, tried: Array) -> Array:
    """The best curve that never rises; a place nothing was drawn at stands as the one before it."""
    import numpy as np
    from scipy.optimize import isotonic_regression

    known = tried > 0
    fit = isotonic_regression(good[known] / tried[known], weights=tried[known], increasing=False).x
    out = np.ones(len(tried))
    out[known] = fit
    for index in np.flatnonzero(~known):
        out[index] = out[index - 1] if index else fit[0]
    return out


def _note(at: Array, good: Array, tried: Array) -> str:
    """A sentence when the curve rises by more than two standard errors of the difference; empty when it does not."""
    rate = [float(g / t) if t else None for g, t in zip(good, tried, strict=True)]
    for short, long, least, later in rises(list(map(float, at)), rate):
        n = [float(tried[list(at).index(place)]) for place in (short, long)]
        error = (least * (1 - least) / n[0] + later * (1 - later) / n[1]) ** 0.5
        if later - least > max(2 * error, _NEARLY):
            rise = f"from {least:.2f} at {short:g} to {later:.2f} at {long:g}"
            return f"not monotone: the rate rises {rise}; no knee is claimed"
    return ""
