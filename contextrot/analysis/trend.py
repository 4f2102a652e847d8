"""Does compliance fall with the turn? A slope per turn whose error takes the session as the unit (DESIGN §8).

A constant error rate shortens every session and is no rot; a slope is. It is given with and without the fresh session:
with turn 0 it also holds the drop from "just told", without it only what goes on falling afterwards.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: with fewer sessions a robust variance knows nothing of the spread between them
FEWEST_SESSIONS = 5
#: a log-odds slope that moves more than this over the turns is separation, not an estimate
_SEPARATED = 30.0


@dataclass(frozen=True, slots=True)
class Trend:
    """Change of a rate per turn (share, 1 turn), with its interval and p-value; None where there is nothing to fit.

    odds_ratio, odds_p: of one turn, from the logit, None where it does not exist or was not asked for. method:
    ``ols`` (linear probability, cluster-robust), ``none`` (fewer than 5 sessions or 2 turns, or every verdict alike).
    """

    per_turn: float | None
    low: float | None
    high: float | None
    p_value: float | None
    sessions: int
    verdicts: int
    odds_ratio: float | None
    odds_p: float | None
    method: str

    @property
    def falls(self) -> bool:
        """True when the interval lies below 0."""
        return self.high is not None and self.high < 0


def trend_test(
    sessions: Sequence[Hashable],
    turns: Sequence[float],
    passed: Sequence[bool],
    *,
    after: float | None = None,
    level: float = 0.95,
    logit: bool = False,
) -> Trend:
    """Slope of a rate over the turns; one entry per decided verdict (or reply: did it call a tool?).

    `after`: leave out turns up to this one (0: the fresh session). The slope is that of a linear probability model in
    shares per turn, which exists on every curve, with a variance that takes sessions as clusters and Student's t with
    sessions - 1 degrees of freedom (Liang and Zeger 1986; Cameron and Miller 2015, §VI). `logit`: also the odds ratio,
    by GEE with an exchangeable correlation and Mancl and DeRouen's (2001) correction for few sessions.

    Raises ValueError for lists of unequal length.
    """
    import numpy as np

    if not len(sessions) == len(turns) == len(passed):
        raise ValueError(f"{len(sessions)} sessions, {len(turns)} turns, {len(passed)} outcomes; give one of each.")
    turn, ok = np.asarray(turns, dtype=float), np.asarray(passed, dtype=float)
    code = np.unique(np.asarray([str(name) for name in sessions], dtype=object).astype(str), return_inverse=True)[1]
    keep = np.ones(len(turn), dtype=bool) if after is None else turn > after
    turn, ok, code = turn[keep], ok[keep], code[keep]
    clusters = len(np.unique(code))
    if clusters < FEWEST_SESSIONS or len(np.unique(turn)) < 2 or len(np.unique(ok)) < 2:
        return Trend(None, None, None, None, clusters, len(turn), None, None, "none")
    return _fit(code, turn, ok, clusters, level, logit=logit)


def _fit(
    code: NDArray[np.int_], turn: NDArray[Any], ok: NDArray[Any], clusters: int, level: float, *, logit: bool
) -> Trend:
    import numpy as np
    from statsmodels.regression.linear_model import OLS

    # Centred, so that the fit is well conditioned; the slope is the same.
    design = np.column_stack((np.ones(len(turn)), turn - turn.mean()))
    found = OLS(ok, design).fit(cov_type="cluster", cov_kwds={"groups": code}, use_t=True)
    low, high = found.conf_int(1 - level)[1]
    ratio, p = _odds(code, design, ok) if logit else (None, None)
    return Trend(
        per_turn=float(found.params[1]),
        low=float(low),
        high=float(high),
        p_value=float(found.pvalues[1]),
        sessions=clusters,
        verdicts=len(turn),
        odds_ratio=ratio,
        odds_p=p,
        method="ols",
    )


def _odds(code: NDArray[np.int_], design: NDArray[Any], ok: NDArray[Any]) -> tuple[float | None, float | None]:
    """Odds ratio of a turn and its p-value; None where the logit has no finite estimate (separation)."""
    import warnings

    import numpy as np
    from statsmodels.genmod.cov_struct import Exchangeable
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    order = np.argsort(code, kind="stable")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model = GEE(ok[order], design[order], groups=code[order], family=Binomial(), cov_struct=Exchangeable())
            fit = model.fit(cov_type="bias_reduced")
        slope, p = float(fit.params[1]), float(fit.pvalues[1])
    except (np.linalg.LinAlgError, ValueError, FloatingPointError):
        return None, None
    if not np.isfinite(slope) or not np.isfinite(p) or abs(slope) * np.ptp(design[:, 1]) > _SEPARATED:
        return None, None
    return float(np.exp(slope)), p
