"""Survival against published tables, hand-computed examples and simulated truth."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from contextrot.analysis.survival import (
    Survival,
    constant_hazard_test,
    cumulative_incidence,
    kaplan_meier,
    logrank,
    median_text,
    turn_grid,
)

# SysBench (arXiv 2408.10943), 500 sessions of 5 turns: model, sessions whose first failure came at turn 1..5, sessions
# that never failed, share without a failure after each turn, median, likelihood ratio against one constant hazard.
SYSBENCH = [
    ("GPT-4o", [86, 83, 75, 54, 44], 158, [0.828, 0.662, 0.512, 0.404, 0.316], 4, 4.53),
    ("Qwen2-72B", [114, 121, 73, 68, 51], 73, [0.772, 0.530, 0.384, 0.248, 0.146], 3, 23.06),
    ("Qwen2-7B", [261, 150, 57, 20, 8], 4, [0.478, 0.178, 0.064, 0.024, 0.008], 1, None),
]
CRITICAL = 9.49  # chi-square, 4 degrees of freedom, 5 %

# Freireich et al. 1963: weeks of remission under 6-MP (0 = censored) and under placebo, as in Klein and Moeschberger.
SIX_MP = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
RELAPSED = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]


def expand(first_failures: list[int], never: int) -> tuple[list[int], list[int]]:
    turns = range(1, len(first_failures) + 1)
    durations = [turn for turn, count in zip(turns, first_failures, strict=True) for _ in range(count)]
    return durations + [len(first_failures)] * never, [1] * len(durations) + [0] * never


def geometric_median(hazard: float) -> int:
    return math.ceil(math.log(0.5) / math.log(1 - hazard))


def covers(result: Survival, median: float) -> bool:
    return (result.low is None or result.low <= median) and (result.high is None or median <= result.high)


@pytest.mark.parametrize(("model", "failures", "never", "survival", "median", "ratio"), SYSBENCH)
def test_sysbench_is_reproduced(model, failures, never, survival, median, ratio):
    durations, events = expand(failures, never)
    result, test = kaplan_meier(durations, events), constant_hazard_test(durations, events)
    assert result.median == median
    assert [round(s, 3) for s in result.table["survival"]] == survival
    assert result.low <= median <= result.high
    assert test.df == 4
    if ratio is not None:
        assert test.statistic == pytest.approx(ratio, abs=0.005)
    assert (test.statistic > CRITICAL) == (test.p_value < 0.05) == (model != "GPT-4o")


def test_freireich_table_and_median():
    result = kaplan_meier(SIX_MP, RELAPSED)
    table = result.table.set_index("time")
    known = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    assert {t: round(table.survival[t], 3) for t in known} == known
    assert (result.median, result.n, result.events, result.horizon) == (23, 21, 9, 35)
    assert isinstance(result.median, int)
    assert table.at_risk[23] == 6
    assert (table.events[6], table.censored[6]) == (3, 1)
    # Greenwood at week 6: 0.0764 (Klein and Moeschberger, table 4.1); on the log(-log) scale 0.620 to 0.952
    assert (round(table.low[6], 3), round(table.high[6], 3)) == (0.620, 0.952)
    assert result.restricted_mean == pytest.approx(23.29, abs=0.005)  # R: print(survfit(...), rmean = "common")
    assert result.restricted_mean_se == pytest.approx(2.83, abs=0.005)
    assert result.high is None  # S never falls significantly below 1/2
    assert median_text(result) == f"23 turns (95 % ≥ {result.low})"


def test_freireich_log_rank():
    test = logrank(SIX_MP, RELAPSED, PLACEBO, [1] * len(PLACEBO))
    assert test.statistic == pytest.approx(16.79, abs=0.005)
    assert test.p_value == pytest.approx(4.2e-5, rel=0.02)


def test_interval_of_uncensored_sessions_is_the_mid_p_sign_test():
    # 20 distinct life lengths in continuous time: 1/2 is not rejected for 6 to 14 of 20 (mid-p 2.1 % at 5, 5.8 % at 6).
    lives = [t + 0.5 for t in range(1, 21)]
    result = kaplan_meier(lives, [1] * 20)
    kept = [k for k in range(21) if 0.025 <= binom.cdf(k, 20, 0.5) - binom.pmf(k, 20, 0.5) / 2 <= 0.975]
    assert (kept[0], kept[-1]) == (6, 14)
    assert (result.median, result.low, result.high) == (lives[9], lives[5], lives[14])


@pytest.mark.parametrize(
    ("hazard", "sessions", "turns"),
    [(0.02, 50, 40), (0.03, 20, 60), (0.05, 20, 40), (0.05, 30, 40), (0.05, 100, 40), (0.1, 50, 20), (0.2, 30, 20)],
)
def test_interval_covers_the_median_of_a_constant_hazard(hazard, sessions, turns):
    """95 % ± 2, plus what 2,000 runs leave open: 3 binomial standard errors are 1.5 points."""
    rng, median, runs = np.random.default_rng(20), geometric_median(hazard), 2000
    first = rng.geometric(hazard, size=(runs, sessions))
    share = np.mean([covers(kaplan_meier(np.minimum(f, turns), f <= turns), median) for f in first])
    noise = 3 * math.sqrt(0.95 * 0.05 / runs)
    assert 0.93 - noise <= share <= 0.97 + noise


def test_interval_covers_under_random_censoring():
    rng, median, runs = np.random.default_rng(21), geometric_median(0.05), 1000
    first, cut = rng.geometric(0.05, size=(runs, 40)), rng.integers(1, 41, size=(runs, 40))
    results = [kaplan_meier(np.minimum(f, c), f <= c) for f, c in zip(first, cut, strict=True)]
    assert 0.93 - 0.02 <= np.mean([covers(r, median) for r in results]) <= 0.97 + 0.02


def test_interval_without_upper_end_covers_a_median_beyond_the_horizon():
    first = np.random.default_rng(22).geometric(0.01, size=(200, 50))
    results = [kaplan_meier(np.minimum(f, 20), f <= 20) for f in first]
    assert all(r.median is None and r.high is None for r in results)
    assert np.mean([covers(r, geometric_median(0.01)) for r in results]) >= 0.97


def test_checks_at_some_turns_only_can_be_told():
    rng = np.random.default_rng(23)
    grid = np.array([5, 10, 20, 30, 40])
    first = rng.geometric(0.05, size=60)
    seen = np.append(grid, 99)[np.searchsorted(grid, first)]
    result = kaplan_meier(np.minimum(seen, 40), seen <= 40, times=grid)
    assert {result.median, result.low} <= set(grid.tolist())


def test_sure_things():
    at_once = kaplan_meier([10] * 30, [1] * 30)
    assert (at_once.median, at_once.low, at_once.high) == (10, 10, 10)
    assert at_once.table["survival"].tolist() == [0.0]
    fresh = kaplan_meier([0] * 8 + [5] * 2, [1] * 8 + [0] * 2)
    assert (fresh.median, fresh.low) == (0, 0)
    never = kaplan_meier([40] * 20, [0] * 20)
    assert (never.median, never.low, never.high) == (None, 40, None)
    assert (never.restricted_mean, never.restricted_mean_se) == (40, None)
    few = kaplan_meier([3, 9], [1, 1])
    assert (few.median, few.low, few.high) == (3, None, None)


def test_nothing_gives_none_and_no_exception():
    result = kaplan_meier([], [])
    assert (result.n, result.events, len(result.table)) == (0, 0, 0)
    assert {result.median, result.low, result.high, result.horizon, result.restricted_mean} == {None}
    assert constant_hazard_test([], []).p_value == 1
    assert logrank([], [], [3], [1]).method == "none"
    assert len(cumulative_incidence([], [])) == 0


@pytest.mark.parametrize(
    ("durations", "events", "word"),
    [([1, 2], [1], "2 durations"), ([-1], [1], ">= 0"), ([float("nan")], [0], ">= 0"), ([1], [2], "event is 1")],
)
def test_impossible_input_is_a_sentence(durations, events, word):
    with pytest.raises(ValueError, match=word):
        kaplan_meier(durations, events)


def test_text_of_a_median():
    def text(**known: object) -> str:
        fields = {"median": 23, "low": 17, "high": 31, "n": 20, "events": 9, "horizon": 40, "level": 0.95}
        fields |= {"restricted_mean": None, "restricted_mean_se": None, "table": pd.DataFrame()}
        return str(Survival(**{**fields, **known}))

    assert text() == "23 turns (95 % 17–31)"
    assert text(median=1, low=1, high=1) == "1 turn (95 % 1–1)"
    assert text(high=None) == "23 turns (95 % ≥ 17)"
    assert text(low=None, high=None) == "23 turns (too few sessions for an interval)"
    assert text(median=None, low=40, high=None) == "not reached (> 40)"
    assert text(median=None, low=33, high=None) == "not reached (> 40), 95 % ≥ 33"
    assert text(n=0, median=None, low=None, high=None) == "no sessions"


def test_restricted_mean_up_to_a_common_horizon():
    durations, events = [2, 4, 10, 10], [1, 1, 0, 0]
    assert kaplan_meier(durations, events).restricted_mean == pytest.approx((2 + 4 + 10 + 10) / 4)
    short = kaplan_meier(durations, events, horizon=5)
    assert (short.restricted_mean, short.horizon) == (pytest.approx((2 + 4 + 5 + 5) / 4), 5)
    assert kaplan_meier(durations, events, horizon=20).restricted_mean is None  # S is not known so far


def test_restricted_mean_has_the_spread_it_says():
    rng = np.random.default_rng(24)
    first = rng.geometric(0.05, size=(400, 50))
    results = [kaplan_meier(np.minimum(f, 40), f <= 40) for f in first]
    truth = sum(0.95**t for t in range(40))
    means = np.array([r.restricted_mean for r in results])
    assert means.mean() == pytest.approx(truth, abs=4 * means.std() / 20)
    assert np.mean([r.restricted_mean_se for r in results]) == pytest.approx(
        means.std(), rel=0.15
    )  # 4 % s.e. of a s.d.


def test_constant_hazard_test_rejects_rot_and_not_a_constant_error_rate():
    rng, runs = np.random.default_rng(25), 400
    rejected = {"constant": 0, "rot": 0}
    for _ in range(runs):
        constant = rng.geometric(0.1, size=60)
        risen = rng.random((60, 20)) < np.where(np.arange(1, 21) > 10, 0.3, 0.02)
        rot = np.where(risen.any(axis=1), risen.argmax(axis=1) + 1, 99)
        for name, first in (("constant", constant), ("rot", rot)):
            rejected[name] += constant_hazard_test(np.minimum(first, 20), first <= 20).p_value < 0.05
    assert rejected["constant"] / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert rejected["rot"] / runs >= 0.95


def test_hazard_is_asked_at_the_turns_that_were_checked():
    assert turn_grid([3, 4, 7]).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert turn_grid([5, 10, 20]).tolist() == [5, 10, 15, 20]
    assert turn_grid([0, 2]).tolist() == [0, 2]
    # half of those at risk fail at each of three checks: constant at the checks, whatever lies between them
    durations, events = [5] * 40 + [10] * 20 + [40] * 20, [1] * 60 + [1] * 10 + [0] * 10
    even = constant_hazard_test(durations, events, times=[5, 10, 40])
    assert even.statistic == pytest.approx(0, abs=1e-9)
    assert (even.df, even.p_value) == (2, pytest.approx(1))
    with pytest.raises(ValueError, match="turn 10"):
        constant_hazard_test(durations, events, times=[5, 40])
    # without turn 0: who failed there is not at risk later
    fresh = constant_hazard_test([0] * 30 + durations, [1] * 30 + events, times=[5, 10, 40])
    assert fresh == even
    assert constant_hazard_test([0] * 30 + durations, [1] * 30 + events, times=[0, 5, 10, 40]).p_value < 0.01


def test_cumulative_incidence_shares_out_what_survival_lost():
    kinds = ["fail", "overflow", None, "fail", "overflow", None]
    durations = [1, 2, 2, 4, 5, 6]
    table = cumulative_incidence(durations, kinds).set_index("time")
    assert list(table.columns) == ["fail", "overflow"]
    # by hand: 1/6 · then 5/6 · 1/5 · then S(2) = 2/3, three at risk
    assert table.fail.to_dict() == pytest.approx({1: 1 / 6, 2: 1 / 6, 4: 1 / 6 + 2 / 9, 5: 7 / 18, 6: 7 / 18})
    assert table.overflow.to_dict() == pytest.approx({1: 0, 2: 1 / 6, 4: 1 / 6, 5: 1 / 6 + 2 / 9, 6: 7 / 18})
    every = kaplan_meier(durations, [int(k is not None) for k in kinds]).table.set_index("time")
    assert (1 - table.sum(axis=1)).to_dict() == pytest.approx(every.survival.to_dict())


SESSIONS = st.lists(st.tuples(st.integers(0, 60), st.booleans()), min_size=1, max_size=60)
TIMES = st.lists(st.tuples(st.floats(0, 60, allow_nan=False), st.booleans()), min_size=1, max_size=40)


@settings(max_examples=300, deadline=None)
@given(st.one_of(SESSIONS, TIMES), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_survival_keeps_its_promises(sessions, level):
    durations, events = [d for d, _ in sessions], [int(e) for _, e in sessions]
    result = kaplan_meier(durations, events, level=level)
    table = result.table
    assert (table.survival.diff().dropna() <= 1e-12).all()
    assert ((table.low >= 0) & (table.low <= table.survival + 1e-12)).all()
    assert ((table.high <= 1) & (table.high >= table.survival - 1e-12)).all()
    assert table.events.sum() == result.events
    assert table.events.sum() + table.censored.sum() == result.n
    assert 0 <= result.restricted_mean <= result.horizon + 1e-9
    assert result.restricted_mean_se is None or result.restricted_mean_se >= 0
    if result.median is not None:
        assert result.low is None or result.low <= result.median
        assert result.high is None or result.median <= result.high
    else:
        assert result.high is None
    assert constant_hazard_test(durations, events, times=sorted(set(durations))).statistic >= 0
    assert isinstance(str(result), str)


@settings(max_examples=100, deadline=None)
@given(SESSIONS, st.randoms(use_true_random=False))
def test_order_of_sessions_does_not_matter(sessions, random):
    shuffled = list(sessions)
    random.shuffle(shuffled)
    one, other = (kaplan_meier([d for d, _ in s], [e for _, e in s]) for s in (sessions, shuffled))
    assert one == other
    assert one.table.equals(other.table)


def test_import_is_light():
    heavy = "{'pandas', 'scipy', 'statsmodels', 'numpy'}"
    code = f"import sys, contextrot.analysis.survival, contextrot.analysis.curves; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
