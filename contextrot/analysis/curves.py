"""Compliance against turn or occupancy with session-level intervals, and the effective length (DESIGN §8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from contextrot.outcomes import Outcome

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Length = TypeVar("Length", int, float)

#: Scores this close to a threshold (as a share of it) have reached it: they come out of divisions.
TOLERANCE = 1e-9
#: Occupancies above this share a bin that is open above: no window is so full, and what a server says of its usage or
#: stands in a damaged record may be any number.
OPEN_FROM = 1.5
#: With fewer sessions than this a bootstrap of sessions has too few distinct resamples to be believed.
FEW_SESSIONS = 20


def rate(passes: float, n: float) -> float | None:
    """Share of passes among n decided verdicts (0–1); None when nothing was decided, which is not a rate of 0."""
    return passes / n if n else None


def wilson(passes: float, n: float, level: float = 0.95) -> tuple[float, float] | None:
    """Score interval of a binomial rate (Wilson 1927), for n independent trials; None when n is 0."""
    from statsmodels.stats.proportion import proportion_confint

    if not n:
        return None
    low, high = proportion_confint(passes, n, alpha=1 - level, method="wilson")
    return float(low), float(high)


def effective_length(
    lengths: Sequence[Length], scores: Sequence[float | None], ceiling: float | None, share: float = 0.85
) -> Length | None:
    """The longest tested length up to which every score is at least ``share * ceiling``; None if the first falls short.

    `lengths` in any one unit (tokens, turns), in any order; `scores` and `ceiling` in one unit (share or percent). A
    length whose score is None or NaN was not tested. None also when nothing was tested, or the ceiling is unknown or 0:
    a model that cannot do the task when fresh has no effective length. Source: NoLiMa (arXiv 2502.05167) with
    share 0.85 of the short-context score; RULER (arXiv 2404.06654) with a fixed threshold, ``share=1``.

    Read it together with `effective_length_note`, which says what the number may not be taken for.
    """
    if ceiling is None or not ceiling > 0:  # NaN as well
        return None
    longest = None
    for length, score in _tested(lengths, scores):
        if score < share * ceiling * (1 - TOLERANCE):
            break
        longest = length
    return longest


def effective_length_note(
    lengths: Sequence[Length],
    scores: Sequence[float | None],
    ceiling: float | None,
    share: float = 0.85,
    *,
    tolerance: float = 0.0,
) -> str | None:
    """A sentence on what the effective length cannot claim, or None where the curve falls through the threshold once.

    It speaks when the curve is not monotone (no knee and no line may then be drawn through it), when even the longest
    tested length holds, when none does, and when there is nothing to compare. `tolerance` is passed to `rises`.
    """
    points = _tested(lengths, scores)
    if not points:
        return "No length was tested."
    if ceiling is None or not ceiling > 0:
        return "The ceiling is unknown or 0, so no length can be measured against it."
    up = rises(lengths, scores, tolerance=tolerance)
    if up:
        low, high = max(up, key=lambda step: step[3] - step[2])[:2]
        before, after = dict(points)[low], dict(points)[high]
        return f"Not monotone: the score rises from {before:.3g} at {low} to {after:.3g} at {high}; no knee is claimed."
    longest = effective_length(lengths, scores, ceiling, share)
    if longest is None:
        return f"Already the shortest tested length, {points[0][0]}, is below {share:g} of the ceiling."
    if longest == points[-1][0]:
        return f"Every tested length holds; the effective length is at least {longest}."
    return None


def is_monotone(lengths: Sequence[Length], scores: Sequence[float | None], *, tolerance: float = 0.0) -> bool:
    """True when no score exceeds that of a shorter length by more than `tolerance` (in the unit of the scores)."""
    return not rises(lengths, scores, tolerance=tolerance)


def rises(
    lengths: Sequence[Length], scores: Sequence[float | None], *, tolerance: float = 0.0
) -> list[tuple[Length, Length, float, float]]:
    """Where a curve goes up again: (shorter, longer, its score, the longer's score), against the lowest score before.

    `tolerance`, in the unit of the scores, is what counts as noise, e.g. one standard error; by default nothing does.
    """
    points, found = _tested(lengths, scores), []
    for i, (length, score) in enumerate(points[1:], 1):
        low, least = min(points[:i], key=lambda point: point[1])
        if score - least > tolerance + TOLERANCE * max(abs(score), abs(least)):
            found.append((low, length, least, score))
    return found


def occupancy_bins(
    values: Sequence[float | None] | pd.Series[float], edges: Sequence[float] | None = None, *, width: float = 0.1
) -> pd.Categorical:
    """Sort occupancies (prompt tokens ÷ window, 0–1 and beyond) into bins: intervals closed on the right, in order.

    `edges` ascending, or bins of `width` from 0 to at least 1; what is above 1.5 shares one more, without an end. A
    full window (1.0) is in the bin that ends at 1, and 0 in the first. Every bin is a category, so that a table grouped
    by them shows an empty one as a gap. An unknown occupancy, or one outside `edges`, gets no bin (NaN).
    """
    import numpy as np
    import pandas as pd

    value = pd.to_numeric(pd.Series(list(values), dtype=object), errors="coerce").to_numpy(dtype=float)
    if edges is None:
        if not width > 0:
            raise ValueError(f"The width of a bin is a share above 0, not {width}.")
        top = max(1.0, float(np.nanmax(value, initial=0.0, where=np.isfinite(value))))
        last = int(np.ceil(min(top, OPEN_FROM) / width - TOLERANCE))
        edges = [round(i * width, 10) for i in range(last + 1)]
        if top > edges[-1] + TOLERANCE:
            edges.append(np.inf)
    cuts = np.asarray(edges, dtype=float)
    if len(cuts) < 2 or np.any(np.diff(cuts) <= 0):
        raise ValueError("Edges of bins are at least two ascending numbers.")
    code = np.searchsorted(cuts, value - TOLERANCE, side="left") - 1
    code[np.abs(value - cuts[0]) <= TOLERANCE] = 0
    code[~np.isfinite(value) | (code < 0) | (code >= len(cuts) - 1)] = -1
    return pd.Categorical.from_codes(code, categories=pd.IntervalIndex.from_breaks(cuts), ordered=True)


def bin_label(interval: pd.Interval[float]) -> str:
    """A bin of `occupancy_bins` as tables print it: ``10–20 %``; ``> 150 %`` for one without an end."""
    if interval.right == float("inf"):
        return f"> {100 * interval.left:g} %"
    return f"{100 * interval.left:g}–{100 * interval.right:g} %"


def bin_place(interval: pd.Interval[float], width: float = 0.1) -> float:
    """Where on an axis a bin stands: its middle; one without an end as if it were of this width."""
    return float(interval.left) + width / 2 if interval.right == float("inf") else float(interval.mid)


def bin_end(interval: pd.Interval[float], width: float = 0.1) -> float:
    """Up to where a bin goes; one without an end as if it were of this width."""
    return float(interval.left) + width if interval.right == float("inf") else float(interval.right)


def compliance(
    frame: pd.DataFrame, by: str, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Compliance per value of column `by` (turn, occupancy bin) with intervals that take the session as the unit.

    `frame`: one row per verdict with columns session, outcome and `by`; rows without a `by` are left out. Returns one
    row per bin, in order: `by`, rate (0–1), n (decided verdicts), sessions (with a decided verdict here), passes,
    fails, undecided (every other outcome), low, high, interval. A bin of an ordered category in which nothing was
    decided keeps its row, with NaN for rate and bounds: a gap, never interpolated.

    `interval` names the method. Verdicts of one session are not independent, so the variance between sessions says how
    many independent verdicts theirs are worth (design effect; Kish 1965), and that number, with Student's quantile,
    goes into Wilson's interval (Korn and Graubard 1998; Dean and Pagano 2015 compare such intervals). ``bootstrap``:
    the variance is that of `resamples` draws of whole sessions with replacement (Davison and Hinkley 1997, §3.8; Field
    and Welsh 2007). ``wilson``: fewer than 20 sessions, where it is the linearised one (Cochran 1977, §6.4); or all
    sessions with the same rate, where none can be seen and each session counts once. ``none``: one session has no
    interval.
    """
    import pandas as pd

    columns = [by, "rate", "n", "sessions", "passes", "fails", "undecided", "low", "high", "interval"]
    return pd.DataFrame(compliance_rows(frame, by, level=level, resamples=resamples, seed=seed), columns=columns)


def compliance_rows(
    frame: pd.DataFrame, by: str, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> list[dict[str, Any]]:
    """The rows of `compliance` without the table around them: a run has thousands of them (`analysis/summary.py`)."""
    import numpy as np

    missing = [name for name in ("session", "outcome", by) if name not in frame.columns]
    if missing:
        raise ValueError(f"The verdicts have no column {', '.join(missing)}.")
    outcome = frame["outcome"].astype(str).to_numpy()
    values, place = _coded(frame[by])
    names, who = _coded(frame["session"])
    passes, fails = outcome == str(Outcome.PASS), outcome == str(Outcome.FAIL)
    # What each session brought to each bin. Whole arrays at once: a table has many bins, and a run many tables.
    known = (place >= 0) & (who >= 0)
    cells, at = np.unique(place[known] * len(names) + who[known], return_inverse=True)
    passed = np.bincount(at, passes[known], len(cells)).astype(np.float64)
    decided = passed + np.bincount(at, fails[known], len(cells)).astype(np.float64)
    ends = np.searchsorted(cells, np.arange(len(values) + 1) * len(names))
    counts = [np.bincount(place[kind & (place >= 0)], minlength=len(values)) for kind in (passes, fails, place >= 0)]
    rows: list[dict[str, Any]] = []
    for number, value in enumerate(values):
        mine = slice(ends[number], ends[number + 1])
        some = decided[mine] > 0
        low, high, method = session_interval(passed[mine][some], decided[mine][some], level, resamples, seed)
        n = int(decided[mine].sum())
        rows.append(
            {
                by: value,
                "rate": passed[mine].sum() / n if n else np.nan,
                "n": n,
                "sessions": int(some.sum()),
                "passes": int(counts[0][number]),
                "fails": int(counts[1][number]),
                "undecided": int(counts[2][number]) - n,
                "low": low,
                "high": high,
                "interval": method,
            }
        )
    return rows


def _coded(column: pd.Series[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """The values of a column in order, and of each row the number of its value; -1: it has none.

    Those of a category are all its categories, also where a row has none of them.
    """
    import numpy as np
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return list(column.cat.categories), np.asarray(column.cat.codes, dtype=np.intp)
    codes, values = pd.factorize(column, sort=True)
    return list(values), np.asarray(codes, dtype=np.intp)


def session_interval(
    passed: Array, decided: Array, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> tuple[float, float, str]:
    """Interval of passed.sum() / decided.sum() with sessions (the entries, all decided > 0) as units.

    Returns low, high and the method as `compliance` names it; NaN for both bounds with ``none``.
    """
    import numpy as np

    sessions = len(decided)
    if sessions < 2:
        return np.nan, np.nan, "none"
    overall = passed.sum() / decided.sum()
    if np.allclose(passed, overall * decided):
        return *_wilson(overall, sessions, level), "wilson"
    if sessions < FEW_SESSIONS:
        off = passed - overall * decided
        variance = float((off**2).sum()) * sessions / (sessions - 1) / decided.sum() ** 2
        return *_clustered(overall, variance, decided, level), "wilson"
    # Drawing sessions with replacement is drawing how often each kind comes; sessions with equal counts are one kind.
    # The generator is new for each bin, so that an interval does not hang on which other bins there are.
    kinds, count = np.unique(np.column_stack((passed, decided)), axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(sessions, count / sessions, size=resamples) @ kinds
    variance = float(np.var(drawn[:, 0] / drawn[:, 1])) * sessions / (sessions - 1)
    return *_clustered(overall, variance, decided, level), "bootstrap"


def _clustered(overall: float, variance: float, decided: Array, level: float) -> tuple[float, float]:
    """Wilson's interval with as many independent verdicts as have this variance; never more than there are.

    Student's quantile in place of the normal one makes that number smaller: the variance is itself from few sessions.
    """
    from scipy.stats import norm, t

    worth = float(decided.sum())
    if variance > 0:
        worth = min(overall * (1 - overall) / variance, worth)
    tail = (1 + level) / 2
    return _wilson(overall, worth * float(norm.ppf(tail) / t.ppf(tail, len(decided) - 1)) ** 2, level)


def _wilson(overall: float, n: float, level: float) -> tuple[float, float]:
    bounds = wilson(overall * n, n, level)
    assert bounds is not None
    return bounds


def _tested(lengths: Sequence[Length], scores: Sequence[float | None]) -> list[tuple[Length, float]]:
    """(length, score) in order of length, without those that were not tested."""
    if len(lengths) != len(scores):
        raise ValueError(f"{len(lengths)} lengths but {len(scores)} scores; each length needs one score.")
    points = [(length, float(s)) for length, s in zip(lengths, scores, strict=True) if s is not None and s == s]
    return sorted(points, key=lambda point: point[0])
