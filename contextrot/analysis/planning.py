"""How many sessions it takes to see a drop, and what drop a number of sessions can show. Before any money is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: the longest search; a drop that would need more sessions is not one to look for with sessions
MOST_PAIRS = 100_000


@dataclass(frozen=True, slots=True)
class Planned:
    """Sessions needed on each side (pairs) to see a relative `drop` of the restricted mean with `power` at `alpha`.

    restricted_mean, sd: of one session under today's agent (turns, up to `turns`); sd_difference: of a pair. `known`
    says where they are from: `run`, or `assumed` constant hazard. reached: the power those pairs have.
    """

    pairs: int
    drop: float
    turns: float
    restricted_mean: float
    sd: float
    sd_difference: float
    power: float
    alpha: float
    known: str

    @property
    def sentence(self) -> str:
        """The plan in words."""
        return (
            f"{self.pairs} sessions a side (repeats x scenarios) show a drop of {100 * self.drop:g} % from "
            f"{self.restricted_mean:.1f} turns {100 * self.power:g} times of 100 at {100 * self.alpha:g} % false alarms"
        )


def sessions_to_detect(
    drop: float,
    *,
    turns: float,
    median: float | None = None,
    durations: Sequence[float] | None = None,
    events: Sequence[int] | None = None,
    correlation: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Planned:
    """Pairs of sessions needed to see the restricted mean up to `turns` fall by the share `drop` (0-1, exclusive).

    Today's agent is known from a run (`durations` in turns, `events` 1 = failed), or assumed to fail at one constant
    rate with that `median` (turns). The changed agent is taken to fail at the constant rate that gives the lower
    restricted mean. `correlation`: of the two sessions of a pair, 0 where the script makes no difference (cautious).

    Paired t-test on the difference (statsmodels' `TTestPower`, noncentral t), with the variances of restricted life
    lengths (Royston and Parmar 2013, §3). Raises ValueError for values that cannot be.
    """
    if not 0 < drop < 1:
        raise ValueError(f"A drop is a share between 0 and 1, not {drop}; write 0.1 for 10 %.")
    if not turns > 0:
        raise ValueError(f"turns is the length of a session, above 0, not {turns}.")
    if not -1 <= correlation < 1:
        raise ValueError(f"A correlation is at least -1 and below 1, not {correlation}.")
    mean, sd, known = _today(turns, median, durations, events)
    if not mean > 0:
        raise ValueError("Sessions fail at once already; there is no length that could drop.")
    changed = _moments(_hazard_for(mean * (1 - drop), turns), turns)[1]
    spread = max(sd**2 + changed**2 - 2 * correlation * sd * changed, 0.0) ** 0.5
    pairs = pairs_for(mean * drop, spread, power=power, alpha=alpha)
    return Planned(pairs, drop, turns, mean, sd, spread, power, alpha, known)


def detectable_drop(
    pairs: int,
    *,
    turns: float,
    median: float | None = None,
    durations: Sequence[float] | None = None,
    events: Sequence[int] | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float | None:
    """The smallest relative drop of the restricted mean that so many pairs show with `power`; None: not even 99 %."""
    low, high = 0.0, 0.99

    def enough(drop: float) -> bool:
        plan = sessions_to_detect(
            drop, turns=turns, median=median, durations=durations, events=events, power=power, alpha=alpha
        )
        return plan.pairs <= pairs

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


def _today(
    turns: float, median: float | None, durations: Sequence[float] | None, events: Sequence[int] | None
) -> tuple[float, float, str]:
    """Restricted mean, its standard deviation between sessions, and where they are from."""
    if durations is not None and events is not None and len(durations):
        from contextrot.analysis.survival import kaplan_meier

        found = kaplan_meier(durations, events, horizon=turns)
        if found.restricted_mean is not None and found.events:
            return found.restricted_mean, (found.restricted_mean_se or 0.0) * found.n**0.5, "run"
        if found.restricted_mean is None:
            raise ValueError(f"No session of the run was watched up to turn {turns:g}.")
        # Nobody failed: the rate is at most what so many sessions could hide, one failure in as many.
        hazard = 1 / max(1.0, float(sum(durations)))
        return (*_moments(hazard, turns), "run")
    if median is None:
        raise ValueError("Give the median session length, or the durations and events of a run.")
    if not median >= 1:
        raise ValueError(f"A median is at least 1 turn, not {median}.")
    return (*_moments(1 - 0.5 ** (1 / median), turns), "assumed")


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
