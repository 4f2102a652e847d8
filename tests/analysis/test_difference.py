"""The difference of two rates, sessions as units: exact values, coverage of the interval, and where none is given."""

from __future__ import annotations

import numpy as np
import pytest

from contextrot.analysis.difference import rate_difference


def test_rates_are_pooled_and_the_difference_is_second_minus_first():
    found = rate_difference(
        [(3, 3), (1, 3), (0, 0), (2, 2), (1, 1), (1, 1)], [(0, 1), (1, 4), (2, 2), (0, 1), (0, 1), (0, 0)]
    )
    assert (found.first, found.first_n, found.second, found.second_n) == (0.8, 10, pytest.approx(1 / 3), 9)
    assert found.difference == pytest.approx(1 / 3 - 0.8)
    assert found.units == 6


@pytest.mark.parametrize(
    ("first", "second", "method"),
    [
        ([(1, 1)] * 4, [(0, 1)] * 4, "none"),
        ([(1, 1)] * 5, [(0, 1)] * 5, "newcombe"),
        ([(1, 1), (0, 1)] * 5, [(0, 1)] * 10, "t"),
        ([(1, 1), (0, 1)] * 10, [(0, 1)] * 20, "bootstrap"),
    ],
)
def test_the_method_follows_the_number_of_units(first, second, method):
    found = rate_difference(first, second)
    assert found.method == method
    assert (found.low is None) == (method == "none")
    if method != "none":
        assert -1 <= found.low <= found.difference <= found.high <= 1


def test_units_that_have_only_one_side_do_not_count_as_evidence():
    assert rate_difference([(1, 1)] * 10, [(0, 1)] * 3 + [(0, 0)] * 7).method == "none"


def test_no_trials_on_a_side_is_no_difference():
    found = rate_difference([(1, 1)] * 6, [(0, 0)] * 6)
    assert (found.first, found.second, found.difference, found.method) == (1.0, None, None, "none")
    assert not found.falls
    assert not found.rises
    assert rate_difference([], []).difference is None


def test_sides_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="2 units on one side, 1 on the other"):
        rate_difference([(1, 1), (1, 1)], [(1, 1)])


def test_swapping_the_sides_turns_the_interval_round():
    rng = np.random.default_rng(3)
    sides = [[(int(rng.binomial(5, p)), 5) for _ in range(12)] for p in (0.8, 0.5)]
    there, back = rate_difference(*sides), rate_difference(*sides[::-1])
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


@pytest.mark.parametrize(("units", "same", "least"), [(8, 0.7, 0.90), (30, 0.7, 0.90), (8, 0.9, 0.88)])
def test_the_interval_holds_the_true_difference_about_as_often_as_it_says(units, same, least):
    """Sessions differ among themselves; early and late have the same rate within each."""
    rng = np.random.default_rng(5)
    held = alarms = 0
    for _ in range(400):
        rates = np.clip(rng.normal(same, 0.1, units), 0, 1)
        first, second = ([(int(n), 4) for n in rng.binomial(4, rates)] for _ in range(2))
        found = rate_difference(first, second, resamples=300)
        held += found.low <= 0 <= found.high
        alarms += found.falls
    assert held / 400 >= least
    assert alarms / 400 <= 0.06  # one side of a 95 % interval


def test_a_real_fall_is_found():
    rng = np.random.default_rng(6)
    found = sum(
        rate_difference(
            [(int(n), 4) for n in rng.binomial(4, 0.95, 10)], [(int(n), 4) for n in rng.binomial(4, 0.4, 10)]
        ).falls
        for _ in range(50)
    )
    assert found >= 48
