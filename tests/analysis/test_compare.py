"""Comparisons: pairs, tiers, and what is not compared."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_evidence import evidence, group, session

from contextrot.analysis.compare import compare
from contextrot.analysis.comparison import Limits, Tier, overall
from contextrot.errors import BaselineError, ConfigError

STEADY = [None, 38, 30, None, 36, None, 34, 40, None, None] * 3
WORSE = [10, 12, 8, 20, 6, None, 14, 10, 18, 16] * 3


def test_a_regression_an_improvement_and_neither():
    before, after = evidence(group(STEADY), "a"), evidence(group(WORSE), "b")
    down, up, same = compare(before, after), compare(after, before), compare(before, before)
    assert (down.tier, down.exit_code) == (Tier.REGRESSION, 1)
    assert (up.tier, up.exit_code) == (Tier.IMPROVEMENT, 0)
    assert (same.tier, same.exit_code) == (Tier.STABLE, 0)
    (row,) = down.rows
    effect = row.effect("restricted_mean")
    assert effect.difference == pytest.approx(effect.candidate - effect.baseline)
    assert effect.low < effect.difference < effect.high < 0
    assert effect.p_adjusted >= effect.p_value
    assert row.logrank_p < 0.001
    assert (row.baseline.label, row.candidate.label, row.pairs, row.horizon) == ("a", "b", 30, 40)


def test_holm_counts_every_row():
    rows = [group(STEADY, strategy=name) for name in "abcd"]
    changed = [group(WORSE if name == "a" else STEADY, strategy=name) for name in "abcd"]
    flat = [[s for part in side for s in part] for side in (rows, changed)]
    found = compare(evidence(flat[0]), evidence(flat[1]))
    assert [row.tier for row in found.rows] == [Tier.REGRESSION, Tier.STABLE, Tier.STABLE, Tier.STABLE]
    effect = found.rows[0].effect("restricted_mean")
    assert effect.p_adjusted == pytest.approx(8 * effect.p_value)
    assert found.exit_code == 1


def test_an_effect_below_the_margin_is_no_regression():
    slightly = [None if turn is None else turn - 2 for turn in STEADY]
    found = compare(evidence(group(STEADY)), evidence(group(slightly)))
    assert found.rows[0].effect("restricted_mean").tier is Tier.STABLE
    strict = compare(evidence(group(STEADY)), evidence(group(slightly)), limits=Limits(margin_length=0.01))
    assert strict.rows[0].effect("restricted_mean").tier is Tier.REGRESSION


def test_five_pairs_are_insufficient_data_and_a_wide_interval_is_inconclusive():
    few = compare(evidence(group([None] * 5)), evidence(group([4] * 5)))
    assert (few.tier, few.exit_code) == (Tier.INSUFFICIENT_DATA, 3)
    wide = compare(evidence(group([10, 30, None, 4, 20, 36, 8, 2])), evidence(group([4, None, 20, 10, 36, 2, 30, 8])))
    assert (wide.tier, wide.exit_code) == (Tier.INCONCLUSIVE, 0)
    assert wide.rows[0].effects[0].needed > 8


def test_sessions_without_a_result_are_counted_and_never_good_news():
    broken = [
        replace(s, ended="error", last_turn=4, checks={"code": ((0, "p"), (2, "p"), (4, "p"))}) if s.repeat < 9 else s
        for s in group([None] * 30)
    ]
    found = compare(evidence(group(STEADY)), evidence(broken))
    assert (found.tier, found.exit_code) == (Tier.INSUFFICIENT_DATA, 3)
    assert "9 of 30 sessions of the candidate" in found.rows[0].reason
    assert found.rows[0].candidate.unfinished == 9
    few = [s if s.repeat < 2 or not s.cut_short else session(None, s.repeat) for s in broken]
    found = compare(evidence(group(STEADY)), evidence(few))
    assert found.rows[0].candidate.unfinished == 2
    assert found.rows[0].effect("restricted_mean").pairs == 30  # censored, not thrown away
    assert found.rows[0].effect("restricted_mean").tier is not Tier.INSUFFICIENT_DATA


def test_one_early_error_does_not_shorten_the_horizon():
    fails = [20, 24, 30, 22, 26, 28, 18, 16]
    broken = [replace(s, ended="error", last_turn=2, checks={"code": ((0, "p"), (2, "p"))}) if s.repeat == 0 else s
              for s in group(fails)]  # fmt: skip
    found = compare(evidence(group(fails)), evidence(broken))
    assert found.rows[0].horizon == 30


def test_scenarios_are_compared_apart_and_together():
    both = [group(STEADY) + group(STEADY, scenario="other"), group(WORSE) + group(WORSE, scenario="other")]
    found = compare(evidence(both[0]), evidence(both[1]))
    assert [row.scenario for row in found.rows] == ["tickets", "other"]
    (pooled,) = found.pooled
    assert (pooled.scenario, pooled.pairs, pooled.tier) == (None, 60, Tier.REGRESSION)


def test_strategies_of_one_run_are_held_against_the_reference_and_never_fail():
    run = evidence(
        group(STEADY, strategy="full") + group(WORSE, strategy="fifo") + group(STEADY, strategy="idle", fired=False)
    )
    found = compare(run)
    assert (found.kind, found.baseline, found.exit_code) == ("strategies", "full", 0)
    assert {row.strategy: row.tier for row in found.rows} == {
        "fifo": Tier.REGRESSION,
        "idle": Tier.INSUFFICIENT_DATA,
    }
    idle = found.rows[1]
    assert not idle.ranked
    assert "never fired" in idle.reason
    assert compare(run, reference="fifo").rows[0].tier is Tier.IMPROVEMENT
    with pytest.raises(ConfigError, match="has no strategy 'nope'"):
        compare(run, reference="nope")
    with pytest.raises(ConfigError, match="one model only"):
        compare(run, by="model")


def test_models_of_one_run():
    run = evidence(group(STEADY, model="a", window=4000) + group(WORSE, model="b", window=8000))
    found = compare(run, by="model")
    assert (found.kind, found.baseline, found.rows[0].model, found.rows[0].tier) == (
        "models",
        "a",
        "b",
        Tier.REGRESSION,
    )


def test_a_model_that_takes_the_place_of_another_is_compared_with_it():
    found = compare(evidence(group(STEADY, model="old")), evidence(group(WORSE, model="new")))
    assert found.tier is Tier.REGRESSION
    assert "model old is compared with new" in found.notes[0]


def test_what_cannot_be_paired_is_said_or_refused():
    before = evidence(group(STEADY), "before")
    for change in ({"seed": 1}, {"turns": 20}, {"window": 900}, {"history": "live"}):
        with pytest.raises(BaselineError, match=rf"another (number of )?{next(iter(change))} \("):
            compare(before, evidence(group(STEADY, **change)))
    with pytest.raises(BaselineError, match="nothing in common"):
        compare(before, evidence(group(STEADY, scenario="other")))
    with pytest.raises(BaselineError, match="holds no sessions"):
        compare(evidence([]), before)
    part = compare(before, evidence(group(STEADY) + group(STEADY, scenario="other")))
    assert any("other" in note and "not compared" in note for note in part.notes)


def test_one_tier_for_several():
    assert overall([Tier.STABLE, Tier.REGRESSION, Tier.IMPROVEMENT]) is Tier.REGRESSION
    assert overall([Tier.STABLE, Tier.INSUFFICIENT_DATA]) is Tier.INCONCLUSIVE
    assert overall([]) is Tier.INSUFFICIENT_DATA
