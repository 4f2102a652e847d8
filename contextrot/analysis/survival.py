"""Session length to first failure: Kaplan–Meier, its median with an interval, and the constant-hazard null (DESIGN §8).

The unit is the session. A duration is the turn of the first failure (event 1) or of the last check that passed
(event 0, censored); turn 0 is the fresh session. statsmodels and scipy do the arithmetic; this file says what the
discrete turns of a session mean for it. `benchmarks/coverage.py` measures what the intervals cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contextrot.analysis.median_interval import EXACTLY, median_interval

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Numbers = Sequence[float] | NDArray[Any] | pd.Series[Any]


@dataclass(frozen=True, slots=True)
class Survival:
    """How long sessions last until their first failure. Times are turns; None means not reached, or no bound known.

    `low`–`high` is the interval of the median, both ends included. `low` None: too few sessions for a lower bound;
    `high` None: the sessions end before an upper bound shows. `table` has one row per observed turn: time, at_risk,
    events, censored, survival (share of sessions without a failure after that turn) and its pointwise low and high.
    `restricted_mean` is the mean number of turns without failure up to `horizon`, with its standard error.
    """

    median: float | int | None
    low: float | int | None
    high: float | int | None
    n: int
    events: int
    horizon: float | int | None
    restricted_mean: float | None
    restricted_mean_se: float | None
    level: float
    table: pd.DataFrame = field(compare=False, repr=False)

    def __str__(self) -> str:
        return median_text(self)


@dataclass(frozen=True, slots=True)
class Test:
    """A hypothesis test. `method` says where the p-value is from: `chi2`, `simulated`, or `none` (nothing to test)."""

    __test__ = False  # not a test case, whatever pytest makes of the name

    statistic: float
    df: int
    p_value: float
    method: str = "chi2"


def median_text(survival: Survival) -> str:
    """The median as tables print it: ``23 turns (95 % 17–31)``, ``not reached (> 40)``, ``no sessions``."""
    s, percent = survival, f"{100 * survival.level:g} %"
    if s.n == 0:
        return "no sessions"
    if s.median is None:
        # Beyond the last turn that anything was decided at, nothing is known, however long the sessions were planned.
        checked = float(s.table["time"].iloc[-1]) if len(s.table) else float("inf")
        known = min(checked, float("inf") if s.horizon is None else s.horizon)
        bound = f", {percent} ≥ {s.low:g}" if s.low is not None and s.low < known else ""
        return f"not reached (> {known:g}){bound}"
    turns = f"{s.median:g} turn" + ("" if s.median == 1 else "s")
    if s.low is not None and s.high is not None:
        return f"{turns} ({percent} {s.low:g}–{s.high:g})"
    if s.low is not None:
        return f"{turns} ({percent} ≥ {s.low:g})"
    if s.high is not None:
        return f"{turns} ({percent} ≤ {s.high:g})"
    return f"{turns} (too few sessions for an interval)"


def kaplan_meier(
    durations: Numbers,
    events: Numbers,
    *,
    level: float = 0.95,
    times: Numbers | None = None,
    horizon: float | None = None,
) -> Survival:
    """Kaplan–Meier estimate of the turns to first failure, with the median's interval and the restricted mean.

    `durations` in turns (>= 0), `events` 1 = first failure seen, 0 = censored after that turn. Whole numbers come back
    as int. `times`: the turns at which a failure could have been seen, when checks were not made at every turn; they
    only sharpen the interval. `horizon` (turns) bounds the restricted mean, by default the longest duration; sides
    that are compared need the same one. No sessions give n = 0 and None everywhere.

    Median: the smallest turn t with S(t) <= 1/2 (Kaplan and Meier 1958; Brookmeyer and Crowley 1982).
    Its interval: `analysis/median_interval.py`. Table: log(-log S) intervals with Greenwood's variance (Kalbfleisch and
    Prentice 2002, §1.4), which end at 0 and 1; where S is 0 or 1, the exact one-sided binomial bound. Restricted mean
    and its variance: Klein and Moeschberger 2003, §4.5; no standard error where no failure was seen, as 0 would lie.

    Raises ValueError for lists of unequal length, negative or missing durations, and events other than 0 and 1.
    """
    import numpy as np
    from statsmodels.duration.survfunc import SurvfuncRight

    duration, event = _checked(durations, events)
    if not 0 < level < 1:
        raise ValueError(f"level is a share between 0 and 1, not {level}.")
    if horizon is not None and not horizon >= 0:
        raise ValueError(f"horizon is a number of turns >= 0, not {horizon}.")
    n = len(duration)
    if n == 0:
        return Survival(None, None, None, 0, 0, None, None, None, level, _table([], [], [], [], [], [], []))

    whole = bool(np.all(duration == np.round(duration)))
    time = np.unique(duration)
    risk, failed, ended = _counts(duration, event, time)
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = SurvfuncRight(duration, event)
        s, se = np.asarray(fit.surv_prob, dtype=float), np.asarray(fit.surv_prob_se, dtype=float)
    at, at_risk = np.asarray(fit.surv_times, dtype=float), np.asarray(fit.n_risk, dtype=float)
    # Sessions an uncensored sample would need for the same variance: binomial for S between 0 and 1, its limit at 0.
    before = np.concatenate(([1.0], s[:-1]))[: len(s)]
    inner = (s > 0) & np.isfinite(se) & (se > 0)
    size = np.divide(s * (1 - s), se**2, out=at_risk / before, where=inner)

    reached = np.flatnonzero(s <= 0.5 + EXACTLY)
    median = at[reached[0]] if len(reached) else None
    grid = turn_grid(duration, times) if whole or times is not None else None
    low, high = median_interval(at, s, size, time, risk, grid, level)

    step = np.searchsorted(at, time, side="right") - 1  # the event time each observed time stands on; -1 = before any
    survival = np.where(step >= 0, s[step], 1.0) if len(s) else np.ones(len(time))
    s_low, s_high = _pointwise(survival, step, se, size, risk, level)
    end = float(time[-1]) if horizon is None else float(horizon)
    mean, mean_se = _restricted_mean(time, survival, failed, risk, end)
    number = _whole if whole else _same
    table = _table(time.astype(int) if whole else time, risk, failed, ended - failed, survival, s_low, s_high)
    return Survival(
        median=number(median),
        low=number(low),
        high=number(high),
        n=n,
        events=int(event.sum()),
        horizon=number(end) if end == round(end) else end,
        restricted_mean=mean,
        restricted_mean_se=mean_se,
        level=level,
        table=table,
    )


def turn_grid(durations: Numbers, times: Numbers | None = None) -> Array:
    """The turns at which a failure could have been seen: `times`, or the coarsest even spacing that fits the durations.

    Durations 5, 10, 20 give 5, 10, 15, 20; 3, 4, 7 give 1 to 7; turn 0 belongs to it when a duration is 0. Whole turns.
    """
    import numpy as np

    if times is not None:
        return np.unique(np.asarray(times, dtype=float))
    whole = np.asarray(durations, dtype=float).astype(np.int64)
    step = int(np.gcd.reduce(whole)) or 1
    return np.arange(0 if (whole == 0).any() else step, whole.max() + 1, step, dtype=float)


def constant_hazard_test(
    durations: Numbers,
    events: Numbers,
    *,
    times: Numbers | None = None,
    seed: int = 0,
) -> Test:
    """Likelihood ratio of one constant hazard per check against a free hazard at each turn: is the failing uneven?

    Any constant error rate makes sessions fail sooner or later; only a hazard that changes with the turn speaks of
    rot. The likelihood is that of discrete-time survival, binomial in each turn's risk set (Cox 1972, §6; Singer and
    Willett 1993); df = turns with anyone at risk - 1.

    `times` are the turns that were checked (default `turn_grid`). Give it when checks are unevenly spaced: a turn
    without a check is not a turn without failure. Times that start later leave out the sessions that ended before, so
    ``times=range(1, T + 1)`` asks about the turns after turn 0. Where the chi-square law is poor (a turn with fewer
    than 5 failures expected) the p-value is simulated from 2,000 draws of the null in the same risk sets, with `seed`.
    Nothing to test (no failure, or one turn) is statistic 0, p 1, method ``none``.

    Raises ValueError as `kaplan_meier` does, and for a failure at a turn that is not in `times`.
    """
    import numpy as np
    from scipy.special import xlogy
    from scipy.stats import chi2

    duration, event = _checked(durations, events)
    if len(duration) == 0:
        return Test(0.0, 0, 1.0, "none")
    if times is None and np.any(duration != np.round(duration)):
        raise ValueError("A hazard per turn needs whole turns; give times= with the points in time that were checked.")
    grid = turn_grid(duration, times)
    risk, failed, _ = _counts(duration, event, grid)
    stray = duration[(event == 1) & ~np.isin(duration, grid) & (duration >= grid.min(initial=np.inf))]
    if len(stray):
        raise ValueError(f"A failure at turn {stray[0]:g}, which is not among the times that were checked.")
    risk, failed = risk[risk > 0], failed[risk > 0]

    def ratio(d: Array) -> Array:
        total, at_risk = d.sum(axis=-1), risk.sum()
        free = xlogy(d, d / risk) + xlogy(risk - d, 1 - d / risk)
        one = xlogy(total, total / at_risk) + xlogy(at_risk - total, 1 - total / at_risk)
        return np.asarray(2 * (free.sum(axis=-1) - one))

    if len(risk) < 2 or failed.sum() in (0, risk.sum()):
        return Test(0.0, max(0, len(risk) - 1), 1.0, "none")
    statistic, df, hazard = max(0.0, float(ratio(failed))), len(risk) - 1, failed.sum() / risk.sum()
    if min((risk * hazard).min(), (risk * (1 - hazard)).min()) >= 5:
        return Test(statistic, df, float(chi2.sf(statistic, df)))
    drawn = ratio(np.random.default_rng(seed).binomial(risk.astype(int), hazard, size=(2000, len(risk))).astype(float))
    return Test(statistic, df, float((1 + (drawn >= statistic - EXACTLY).sum()) / (1 + len(drawn))), "simulated")


def restricted_mean_interval(survival: Survival) -> tuple[float, float] | None:
    """Interval of the restricted mean (turns) at the level of the estimate; None where it has no standard error.

    Student's t with n - 1 degrees of freedom on the logit of the share of the horizon, so that it keeps within 0 and
    the horizon and may be uneven, as the estimate is (delta method; Karrison 1987 compares intervals of this mean).
    Greenwood's variance is multiplied by n/(n - 1). None with fewer than 2 failures, or where the mean is at an end.
    """
    from scipy.special import expit, logit
    from scipy.stats import t

    mean, se, horizon, n = survival.restricted_mean, survival.restricted_mean_se, survival.horizon, survival.n
    if mean is None or not se or not horizon or survival.events < 2 or not 0 < mean < horizon:
        return None
    share = mean / horizon
    half = float(t.ppf((1 + survival.level) / 2, n - 1)) * se * (n / (n - 1)) ** 0.5 / horizon / (share * (1 - share))
    return horizon * float(expit(logit(share) - half)), horizon * float(expit(logit(share) + half))


def logrank(
    durations_a: Numbers,
    events_a: Numbers,
    durations_b: Numbers,
    events_b: Numbers,
    *,
    strata_a: Sequence[str] | None = None,
    strata_b: Sequence[str] | None = None,
) -> Test:
    """Log-rank test of two groups of sessions (Mantel 1966), unpaired. An empty side or no failure: method ``none``.

    `strata_a`, `strata_b`: the scenario of each session. Sessions are then compared within a scenario and the
    scenarios put together (stratified log-rank; Klein and Moeschberger 2003, §7.5), as scenarios differ in length.
    """
    import numpy as np
    from scipy.stats import chi2
    from statsmodels.duration.survfunc import survdiff

    a, failed_a = _checked(durations_a, events_a)
    b, failed_b = _checked(durations_b, events_b)
    failed = np.concatenate((failed_a, failed_b))
    group = np.repeat([0, 1], [len(a), len(b)])
    strata = None if strata_a is None or strata_b is None else np.array([*strata_a, *strata_b], dtype=object)
    if strata is not None:
        if len(strata) != len(group):
            raise ValueError(f"{len(strata)} strata but {len(group)} sessions; each session needs one.")
        # A stratum with one side only compares nothing, and statsmodels cannot invert it.
        both = np.isin(strata, list(set(strata_a or ()) & set(strata_b or ())))
        a, b = a[both[: len(a)]], b[both[len(a) :]]
        failed, group, strata = failed[both], group[both], strata[both].astype(str)
    try:
        if len(a) == 0 or len(b) == 0 or not failed.any():
            return Test(0.0, 0, 1.0, "none")
        statistic = float(survdiff(np.concatenate((a, b)), failed, group, strata=strata)[0])
    except np.linalg.LinAlgError:  # no turn at which sessions of both sides were at risk
        return Test(0.0, 0, 1.0, "none")
    return Test(statistic, 1, float(chi2.sf(statistic, 1)))


def cumulative_incidence(durations: Numbers, kinds: Sequence[str | None]) -> pd.DataFrame:
    """Share of sessions ended by each kind of event up to each turn (Aalen and Johansen 1978), competing with the rest.

    `kinds`: how each session ended, e.g. ``fail``, ``overflow``, ``over_budget``; None = censored. Columns: time
    (turns), then one per kind, sorted by name. An overflow is no censored failure: it says how long the agent can go.
    """
    import numpy as np
    import pandas as pd
    from statsmodels.duration.survfunc import CumIncidenceRight

    names = sorted({kind for kind in kinds if kind is not None})
    duration, _ = _checked(durations, [int(kind is not None) for kind in kinds])
    status = np.array([0 if kind is None else 1 + names.index(kind) for kind in kinds], dtype=int)
    if len(duration) == 0:
        return pd.DataFrame({"time": []})
    with np.errstate(divide="ignore", invalid="ignore"):  # statsmodels' standard errors, which are not used
        fit = CumIncidenceRight(duration, status)
    whole = np.all(duration == np.round(duration))
    time = fit.times.astype(int) if whole else fit.times
    return pd.DataFrame({"time": time, **dict(zip(names, fit.cinc, strict=True))})


def _pointwise(
    s: Array, step: NDArray[np.intp], se: Array, size: Array, risk: Array, level: float
) -> tuple[Array, Array]:
    """log(-log) interval of S at each observed time; at 1 and 0 the exact bound of a binomial."""
    import numpy as np
    from scipy.special import ndtri

    low, high = np.zeros(len(s)), np.ones(len(s))
    all_well, none_left = s >= 1 - EXACTLY, s <= EXACTLY
    low[all_well] = ((1 - level) / 2) ** (1 / risk[all_well])
    if none_left.any():
        high[none_left] = 1 - ((1 - level) / 2) ** (1 / size[step[none_left]])
    inner = ~all_well & ~none_left
    error = se[step[inner]] if inner.any() else np.zeros(0)
    width = ndtri((1 + level) / 2) * error / (s[inner] * np.abs(np.log(s[inner])))
    low[inner], high[inner] = s[inner] ** np.exp(width), s[inner] ** np.exp(-width)
    return low, high


def _restricted_mean(
    time: Array, s: Array, failed: Array, risk: Array, horizon: float
) -> tuple[float | None, float | None]:
    """Area under S up to the horizon (turns), and its standard error. None where S is unknown before the horizon."""
    import numpy as np

    if horizon > time[-1] and s[-1] > EXACTLY:
        return None, None
    inside = time < horizon
    knots = np.concatenate((time[inside], [horizon]))
    after = np.diff(knots) * s[inside]  # area between a knot and the next
    mean = float(knots[0] + after.sum())
    beyond = np.cumsum(after[::-1])[::-1]
    d, n = failed[inside], risk[inside]
    if d.sum() == 0 or n[0] < 2:
        return mean, None
    left = n > d  # where nobody is left the area beyond is 0
    variance = float((beyond[left] ** 2 * d[left] / (n[left] * (n[left] - d[left]))).sum())
    return mean, variance**0.5


def _checked(durations: Any, events: Any) -> tuple[Array, NDArray[np.int64]]:
    import numpy as np

    duration, event = np.asarray(durations, dtype=float).ravel(), np.asarray(events, dtype=float).ravel()
    if len(duration) != len(event):
        raise ValueError(f"{len(duration)} durations but {len(event)} events; each session needs one of both.")
    if not np.all(np.isfinite(duration)) or np.any(duration < 0):
        raise ValueError("A duration is a number of turns >= 0; leave out sessions in which nothing was checked.")
    if not np.all((event == 0) | (event == 1)):
        raise ValueError("An event is 1 (first failure seen) or 0 (censored).")
    return duration, event.astype(np.int64)


def _counts(duration: Array, event: NDArray[np.int64], time: Array) -> tuple[Array, Array, Array]:
    """At each time: sessions still at risk, those that fail there, and all that end there."""
    import numpy as np

    order = np.sort(duration)
    risk = len(order) - np.searchsorted(order, time, side="left")
    ended = np.searchsorted(order, time, side="right") - np.searchsorted(order, time, side="left")
    fails = np.sort(duration[event == 1])
    failed = np.searchsorted(fails, time, side="right") - np.searchsorted(fails, time, side="left")
    return risk.astype(float), failed.astype(float), ended.astype(float)


def _table(time: Any, risk: Any, failed: Any, censored: Any, survival: Any, low: Any, high: Any) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    counts = {k: np.asarray(v, dtype=int) for k, v in (("at_risk", risk), ("events", failed), ("censored", censored))}
    return pd.DataFrame({"time": time, **counts, "survival": survival, "low": low, "high": high})


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _same(value: float | None) -> float | None:
    return None if value is None else float(value)
