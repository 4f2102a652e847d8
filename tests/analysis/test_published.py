"""Our statistics against published tables: what the books print, from the books' data."""

from __future__ import annotations

import numpy as np
import pytest

from contextrot.analysis.paired import holm, paired_mean, pseudo_means, sign_flip_p
from contextrot.analysis.planning import pairs_for
from contextrot.analysis.survival import cumulative_incidence, kaplan_meier, logrank, restricted_mean_interval
from contextrot.analysis.trend import trend_test

# Freireich et al. 1963, remission of leukaemia in weeks, as in Cox 1972 and Klein and Moeschberger 2003, table 1.1
SIX_MP = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
SIX_MP_EVENTS = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
# Darwin's maize, crossed less self-fertilised, eighths of an inch; Fisher 1935, §17 and §21
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def test_freireich_survival_and_medians():
    found = kaplan_meier(SIX_MP, SIX_MP_EVENTS)
    at = dict(zip(found.table["time"], found.table["survival"], strict=True))
    printed = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    assert {turn: round(at[turn], 3) for turn in printed} == printed
    assert found.median == 23
    assert kaplan_meier(PLACEBO, [1] * 21).median == 8


def test_freireich_restricted_means():
    """R: print(survfit(…), rmean=35): 23.29 with standard error 2.83; the placebo arm is fully observed, 182 / 21."""
    found = kaplan_meier(SIX_MP, SIX_MP_EVENTS, horizon=35)
    assert found.restricted_mean == pytest.approx(23.29, abs=0.005)
    assert found.restricted_mean_se == pytest.approx(2.83, abs=0.005)
    assert kaplan_meier(PLACEBO, [1] * 21, horizon=35).restricted_mean == pytest.approx(182 / 21)
    low, high = restricted_mean_interval(found)
    assert 0 < low < 23.29 < high < 35


def test_freireich_log_rank():
    """Chi-square 16.79 on 1 degree of freedom (Kleinbaum and Klein 2012, chapter 2; R's survdiff 16.8)."""
    test = logrank(SIX_MP, SIX_MP_EVENTS, PLACEBO, [1] * 21)
    assert test.statistic == pytest.approx(16.79, abs=0.005)
    assert test.p_value == pytest.approx(4.17e-5, rel=0.01)


def test_one_stratum_is_the_plain_test_and_a_stratum_with_one_side_adds_nothing():
    plain = logrank(SIX_MP, SIX_MP_EVENTS, PLACEBO, [1] * 21)
    one = logrank(SIX_MP, SIX_MP_EVENTS, PLACEBO, [1] * 21, strata_a=["s"] * 21, strata_b=["s"] * 21)
    alone = logrank(
        [*SIX_MP, 3], [*SIX_MP_EVENTS, 1], PLACEBO, [1] * 21, strata_a=["s"] * 21 + ["t"], strata_b=["s"] * 21
    )
    assert one.statistic == pytest.approx(plain.statistic)
    assert alone.statistic == pytest.approx(plain.statistic)


def test_strata_keep_a_long_and_a_short_scenario_apart():
    """Each scenario alike on both sides, but A has more sessions of the short one: only the plain test is misled."""
    short, long = [1, 2, 2, 3] * 5, [20, 22, 25, 30] * 5
    a, b = short * 3 + long, short + long * 3
    names_a, names_b = ["s"] * 60 + ["l"] * 20, ["s"] * 20 + ["l"] * 60
    assert logrank(a, [1] * 80, b, [1] * 80).p_value < 1e-4
    assert logrank(a, [1] * 80, b, [1] * 80, strata_a=names_a, strata_b=names_b).p_value > 0.9


def test_pseudo_observations_of_the_freireich_arm_average_to_its_restricted_mean():
    values = pseudo_means(SIX_MP, SIX_MP_EVENTS, 34)
    expected = kaplan_meier(SIX_MP, SIX_MP_EVENTS, horizon=34).restricted_mean
    assert values.mean() == pytest.approx(expected, rel=0.01)
    assert list(pseudo_means(PLACEBO, [1] * 21, 10)) == [min(week, 10) for week in PLACEBO]


def test_holm_as_r_documents_it():
    """R's p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm") and Holm's own order-keeping."""
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.01, 0.04, None, 0.03, 0.005])[:2] == pytest.approx([0.03, 0.06])
    assert holm([None, None]) == [None, None]


def test_fishers_maize():
    """Fisher 1935: 863 of the 32,768 ways lie at or beyond 314 on one side; Student's t is 2.148, p 4.97 %."""
    assert sign_flip_p(MAIZE) == pytest.approx(2 * 863 / 32768)
    assert sign_flip_p([-d for d in MAIZE], alternative="less") == pytest.approx(863 / 32768)
    found = paired_mean(MAIZE, scale=96)
    assert found.method == "t"
    assert found.estimate == pytest.approx(20.933, abs=5e-4)
    assert found.estimate / found.se == pytest.approx(2.148, abs=5e-4)
    assert found.low == pytest.approx(0.03, abs=0.005)  # just above 0, as the p-value just below 5 % says
    assert found.excludes_zero


@pytest.mark.parametrize(("effect", "pairs"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_sample_sizes_of_a_paired_t_test(effect, pairs):
    """Cohen's small, medium and large effect at 80 % power and 5 %, as G*Power gives them."""
    assert pairs_for(effect, 1.0) == pairs


def test_competing_ends_worked_by_hand():
    """Ten sessions: at 2 one of 10 fails; at 4 two of 9 overflow; at 6, after one is censored at 5, two of 6 fail."""
    turns = [2, 4, 4, 5, 6, 6, 8, 8, 8, 8]
    kinds = ["fail", "overflow", "overflow", None, "fail", "fail", None, None, None, None]
    table = cumulative_incidence(turns, kinds)
    last = table.iloc[-1]
    assert last["fail"] == pytest.approx(0.1 + 0.9 * (7 / 9) * (2 / 6))
    assert last["overflow"] == pytest.approx(0.9 * 2 / 9)
    ended = [int(kind is not None) for kind in kinds]
    assert 1 - last["fail"] - last["overflow"] == pytest.approx(kaplan_meier(turns, ended).table["survival"].iloc[-1])


def test_a_slope_worked_by_hand_and_what_the_fresh_session_adds():
    """Five sessions: all pass fresh, half of the verdicts at every later turn, the same at each."""
    who, turns, passed = [], [], []
    for k in range(8):
        for turn in (0, 10, 20, 30):
            who.append(k)
            turns.append(turn)
            passed.append(turn == 0 or k % 2 == 0)
    whole, after = trend_test(who, turns, passed), trend_test(who, turns, passed, after=0)
    assert whole.per_turn == pytest.approx(np.polyfit(turns, np.array(passed, float), 1)[0])
    assert whole.falls
    assert after.per_turn == pytest.approx(0, abs=1e-12)
    assert not after.falls
    assert (whole.sessions, whole.verdicts, after.verdicts) == (8, 32, 24)
