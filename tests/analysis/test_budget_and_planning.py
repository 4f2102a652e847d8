"""Trends, recommended thresholds and sample sizes, against truths that are set."""

from __future__ import annotations

import numpy as np
import pytest

from contextrot.analysis.budget import thresholds
from contextrot.analysis.paired import paired_restricted_mean
from contextrot.analysis.planning import detectable_drop, sessions_to_detect
from contextrot.analysis.survival import kaplan_meier
from contextrot.analysis.trend import trend_test

TURNS = [0, 5, 10, 15, 20, 25, 30]


def curve(rates, sessions=30, seed=0):
    """One verdict of each session at each place: sessions, places, passed."""
    passed = np.random.default_rng(seed).random((sessions, len(rates))) < np.array(rates)
    who = np.repeat([f"s{k}" for k in range(sessions)], len(rates))
    return who.tolist(), TURNS[: len(rates)] * sessions, passed.ravel().tolist()


def test_a_falling_rate_is_a_trend_and_a_constant_one_is_none():
    falls = trend_test(*curve([1, 0.95, 0.9, 0.8, 0.6, 0.5, 0.3]), logit=True)
    assert falls.falls
    assert falls.per_turn == pytest.approx(-0.7 / 30, abs=0.01)
    assert falls.odds_ratio < 1
    assert falls.odds_p < 0.001
    level = trend_test(*curve([0.8] * 7), logit=True)
    assert not level.falls
    assert level.low < 0 < level.high
    assert level.p_value > 0.05


def test_a_trend_needs_sessions_turns_and_both_outcomes():
    assert trend_test(*curve([1.0, 0.5, 0.2], sessions=4)).method == "none"
    assert trend_test(*curve([0.5])).method == "none"
    assert trend_test(*curve([1.0, 1.0])).per_turn is None
    assert trend_test(*curve([1.0, 0.0]), logit=True).odds_ratio is None  # separated: no finite odds
    with pytest.raises(ValueError, match="1 sessions, 2 turns"):
        trend_test(["a"], [1, 2], [True, False])


def test_false_alarms_of_the_trend_when_sessions_differ():
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(300):
        each = rng.beta(3, 1.5, 20)
        passed = rng.random((20, 6)) < each[:, None]
        found = trend_test(np.repeat(np.arange(20), 6).tolist(), list(range(6)) * 20, passed.ravel().tolist())
        alarms += found.p_value <= 0.05
    assert alarms <= 0.09 * 300


def test_thresholds_are_where_the_curve_leaves_the_ceiling():
    rates = [1, 1, 1, 0.9, 0.4, 0.2, 0.1]
    who = [k for k in range(60) for _ in rates]
    passed = [k < round(60 * rate) for k in range(60) for rate in rates]
    warn, rotate = thresholds(who, TURNS * 60, passed, 1.0, unit="turns")
    assert (warn.level, rotate.level) == ("WARN", "ROTATE")
    assert warn.value == 10
    assert rotate.value == 15
    assert rotate.low <= rotate.value <= rotate.high
    assert not rotate.holds
    assert rotate.note == ""


def test_a_curve_that_holds_gives_at_least_and_one_that_never_does_gives_none():
    warn, rotate = thresholds(*curve([1.0] * 5), 1.0, unit="turns")
    assert (warn.value, warn.holds, rotate.high) == (20, True, 20)
    _, never = thresholds(*curve([0.3, 0.2, 0.1]), 1.0, unit="turns")
    assert (never.value, never.holds) == (None, False)
    assert thresholds(*curve([1.0, 0.5], sessions=3), 1.0, unit="turns")[0].note.startswith("3 sessions")
    assert "nothing passes" in thresholds(*curve([0.0, 0.0]), None, unit="turns")[0].note


def test_a_curve_that_rises_claims_no_knee():
    _, rotate = thresholds(*curve([1, 0.2, 0.9, 1.0], sessions=40), 1.0, unit="turns")
    assert rotate.note.startswith("not monotone")


def test_the_interval_of_a_threshold_holds_the_truth():
    rates = [1.0, 1.0, 0.95, 0.9, 0.7, 0.5, 0.2]  # 0.85 is left after turn 15
    held = 0
    for seed in range(60):
        _, rotate = thresholds(*curve(rates, sessions=40, seed=seed), 1.0, unit="turns", resamples=200)
        held += (rotate.low is None or rotate.low <= 15) and rotate.high is not None and rotate.high >= 15
    assert held >= 54


def test_more_is_needed_for_a_smaller_drop_and_the_plan_keeps_its_word():
    plans = [sessions_to_detect(drop, turns=40, median=18).pairs for drop in (0.5, 0.3, 0.2, 0.1)]
    assert plans == sorted(plans)
    plan = sessions_to_detect(0.5, turns=40, median=18)
    assert "drop of 50 % in restricted mean session length (from 20.8 to 10.4 turns" in plan.sentence("rmst: -10%")
    assert plan.known == "assumed"
    rng, found = np.random.default_rng(4), 0
    hazard = 1 - 0.5 ** (1 / 18)
    shorter = next(h for h in np.arange(hazard, 1, 0.0005)
                   if sum((1 - h) ** k for k in range(40)) <= plan.restricted_mean * 0.5)  # fmt: skip
    for _ in range(200):
        sides = [np.minimum(rng.geometric(h, plan.pairs), 40) for h in (hazard, shorter)]
        pairs = [(side.astype(float).tolist(), (side < 40).astype(int).tolist()) for side in sides]
        found += paired_restricted_mean(*pairs, 40, resamples=499).p_value <= 0.05
    assert 0.70 * 200 <= found <= 0.92 * 200


def test_a_plan_from_a_run_takes_its_spread():
    durations, events = [10, 20, 40, 40, 30, 15, 40, 25], [1, 1, 0, 0, 1, 1, 0, 1]
    plan = sessions_to_detect(0.2, turns=40, durations=durations, events=events)
    assert plan.known == "run"
    assert plan.restricted_mean == pytest.approx(kaplan_meier(durations, events, horizon=40).restricted_mean)
    assert sessions_to_detect(0.2, turns=40, durations=[40] * 9, events=[0] * 9).pairs >= 6
    alike = sessions_to_detect(0.2, turns=40, durations=durations, events=events, correlation=0.8)
    assert alike.pairs < plan.pairs


def test_the_drop_that_can_be_seen_is_the_plan_turned_round():
    for drop in (0.2, 0.4):
        pairs = sessions_to_detect(drop, turns=40, median=18).pairs
        assert detectable_drop(pairs, turns=40, median=18) == pytest.approx(drop, abs=0.01)
    assert detectable_drop(2, turns=40, median=18) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"drop": 10, "turns": 40, "median": 5}, "write 0.1 for 10 %"),
        ({"drop": 0.1, "turns": 0, "median": 5}, "above 0"),
        ({"drop": 0.1, "turns": 40}, "Give the median"),
        ({"drop": 0.1, "turns": 40, "median": 0.2}, "at least 1 turn"),
        ({"drop": 0.1, "turns": 40, "median": 5, "correlation": 1}, "below 1"),
        ({"drop": 0.1, "turns": 40, "durations": [9, 9], "events": [0, 1]}, "watched up to turn 40"),
        ({"drop": 0.1, "turns": 40, "durations": [0, 0], "events": [1, 1]}, "fail at once"),
        ({"drop": 0.1, "turns": 40, "median": 5, "tests": 0}, "1 drop at least"),
    ],
)
def test_plans_that_cannot_be(values, said):
    with pytest.raises(ValueError, match=said):
        sessions_to_detect(**values)
