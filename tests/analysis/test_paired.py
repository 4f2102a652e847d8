"""Paired differences: what the interval and the p-value say, and when nothing is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test

from contextrot.analysis.paired import (
    paired_mean,
    paired_rate,
    paired_restricted_mean,
    pseudo_means,
    sign_flip_p,
)


def test_too_few_pairs_have_no_interval():
    assert paired_mean([]).method == "none"
    one = paired_mean([3.0])
    assert (one.estimate, one.low, one.high, one.p_value, one.method) == (3.0, None, None, None, "none")


def test_pairs_that_are_all_alike_are_not_certainty():
    same = paired_mean([0.0] * 20, scale=40)
    assert same.method == "alike"
    assert (same.low, same.high) == pytest.approx((-20 * (1 - 0.05**0.05), 20 * (1 - 0.05**0.05)))
    assert same.p_value == 1
    shorter = paired_mean([-5.0] * 20, scale=40)
    assert -6 < shorter.low < -5 < shorter.high < -4
    assert shorter.excludes_zero
    assert paired_mean([0.0] * 100, scale=40).high < same.high


def test_five_pairs_cannot_reject_and_six_can():
    assert paired_mean([-5.0] * 5, scale=40).p_value == pytest.approx(2 / 32)
    assert paired_mean([-5.0] * 6, scale=40).p_value == pytest.approx(2 / 64)


@pytest.mark.parametrize("n", [4, 9, 13])
def test_the_p_value_is_that_of_scipys_permutation_test(n):
    d = np.random.default_rng(n).normal(0.5, 1, n)
    theirs = permutation_test(
        (d,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", vectorized=True, n_resamples=2**n
    )
    assert sign_flip_p(d) == pytest.approx(theirs.pvalue)
    below = permutation_test(
        (d,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", vectorized=True, n_resamples=2**n,
        alternative="less",
    )  # fmt: skip
    assert sign_flip_p(d, alternative="less") == pytest.approx(below.pvalue)


def test_few_odd_pairs_get_students_interval_and_many_the_bootstrap():
    assert paired_mean([0.0] * 117 + [-8.0] * 3, scale=40).method == "t"
    assert paired_mean(np.arange(120.0) - 10, scale=120).method == "bootstrap"


@given(st.lists(st.integers(-40, 40).map(float), min_size=2, max_size=40))
def test_swapping_the_sides_turns_everything_round(differences):
    there, back = paired_mean(differences, scale=40), paired_mean([-d for d in differences], scale=40)
    assert there.low <= there.estimate <= there.high or there.method == "bootstrap"
    assert there.estimate == pytest.approx(-back.estimate)
    assert there.p_value == pytest.approx(back.p_value)
    if there.method != "bootstrap":
        assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_a_session_cut_short_neither_counts_as_failed_nor_as_whole():
    cut = pseudo_means([3.0, 10.0, 10.0, 5.0], [0, 0, 0, 1], 10)
    assert 3 < cut[0] < 10
    with pytest.raises(ValueError, match="watched up to turn 20"):
        pseudo_means([3.0, 10.0, 10.0], [0, 0, 1], 20)


def test_restricted_means_and_rates_are_those_of_the_pairs():
    found = paired_restricted_mean(([10.0] * 6, [1] * 6), ([4, 4, 6, 6, 8, 8], [1] * 6), 8)
    assert found.estimate == pytest.approx(6 - 8)
    rates = paired_rate([(4, 4)] * 3 + [(2, 4)] * 3 + [(1, 1)], [(2, 4)] * 6 + [(0, 0)])
    assert rates.estimate == pytest.approx(0.5 - 0.75)
    assert rates.pairs == 6  # a pair with one side only is no evidence
    for function in (paired_rate, lambda a, b: paired_restricted_mean((a, a), (b, b), 5)):
        with pytest.raises(ValueError, match="1 "):
            function([(1, 1)], [(1, 1), (1, 1)])
    with pytest.raises(ValueError, match="finite"):
        paired_mean([1.0, float("nan")])


@pytest.mark.parametrize("n", [8, 100])
def test_false_alarms_and_coverage_when_nothing_changed(n):
    rng = np.random.default_rng(1)
    held = alarms = 0
    for _ in range(400):
        sides = np.minimum(rng.geometric(0.05, size=(2, n)), 40).astype(float)
        found = paired_mean(sides[1] - sides[0], scale=40, resamples=499)
        held += found.low <= 0 <= found.high
        alarms += found.p_value <= 0.05
    assert held >= 0.92 * 400
    assert alarms <= 0.075 * 400
