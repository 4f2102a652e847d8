"""Compliance curves against simulated truth, and the effective length against published tables."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from contextrot.analysis.curves import (
    bin_label,
    compliance,
    effective_length,
    effective_length_note,
    is_monotone,
    occupancy_bins,
    rate,
    rises,
    wilson,
)
from contextrot.outcomes import Outcome

# NoLiMa (arXiv 2502.05167): share 0.85 of the best short-context score. model, base, scores, effective length
NOLIMA_LENGTHS = [1000, 2000, 4000, 8000, 16000, 32000]
NOLIMA = [
    ("GPT-4o", 99.3, [98.1, 98.0, 95.7, 89.2, 81.6, 69.7], 8000),
    ("Llama-3.3-70B", 97.3, [94.2, 87.4, 81.5, 72.1, 59.5, 42.7], 2000),
    ("GPT-4o-mini", 84.9, [67.7, 58.2, 44.1, 32.6, 20.6, 13.7], None),
]
# RULER (arXiv 2404.06654): fixed threshold 85.6
RULER_LENGTHS = [4000, 8000, 16000, 32000, 64000, 128000]
RULER = [
    ("GPT-4-1106", [96.6, 96.3, 95.2, 93.2, 87.0, 81.2], 64000),
    ("Mistral-7B", [93.6, 91.2, 87.2, 75.4, 49.0, 13.8], 16000),
]
# Chroma, "Context Rot", GPT-4.1, low-similarity needle: correct of 11 at each length. Not monotone.
CHROMA_LENGTHS = [500, 1000, 5000, 10000, 50000, 100000, 500000, 900000]
CHROMA = [k / 11 for k in (11, 11, 11, 2, 1, 4, 4, 5)]


@pytest.mark.parametrize(("model", "base", "scores", "effective"), NOLIMA)
def test_nolima_is_reproduced(model, base, scores, effective):
    assert effective_length(NOLIMA_LENGTHS, scores, base, 0.85) == effective


@pytest.mark.parametrize(("model", "scores", "effective"), RULER)
def test_ruler_is_reproduced(model, scores, effective):
    assert effective_length(RULER_LENGTHS, scores, 85.6, 1.0) == effective
    assert effective_length_note(RULER_LENGTHS, scores, 85.6, 1.0) is None


def test_a_curve_that_is_not_monotone_claims_no_knee():
    note = effective_length_note(CHROMA_LENGTHS, CHROMA, 1.0)
    assert note == "Not monotone: the score rises from 0.0909 at 50000 to 0.455 at 900000; no knee is claimed."
    assert not is_monotone(CHROMA_LENGTHS, CHROMA)
    assert is_monotone(NOLIMA_LENGTHS, NOLIMA[0][2])
    assert effective_length(CHROMA_LENGTHS, CHROMA, 1.0) == 5000


def test_noise_can_be_allowed_for():
    lengths, scores = [1, 2, 3], [0.90, 0.92, 0.5]
    assert rises(lengths, scores) == [(1, 2, 0.90, 0.92)]
    assert is_monotone(lengths, scores, tolerance=0.03)
    assert effective_length_note(lengths, scores, 1.0, tolerance=0.03) is None


def test_exactly_at_the_threshold_counts():
    assert effective_length([1000, 64000], [0.9, 0.1 + 0.2], 0.3, 1.0) == 64000
    assert effective_length([1000, 64000], [0.9, 0.85 * 0.7 * 1.1], 0.77, 0.85) == 64000
    assert effective_length([1000, 64000], [0.9, 0.2999], 0.3, 1.0) == 1000


def test_edges_of_the_effective_length():
    assert effective_length([], [], 1.0) is None
    assert effective_length([4, 2, 1], [0.1, 0.9, 0.9], 1.0) == 2  # any order
    assert effective_length([1, 2, 3], [0.9, 0.1, 0.9], 1.0) == 1  # recovering later does not count
    assert effective_length([1, 2, 4], [0.9, None, 0.9], 1.0) == 4  # 2 was not tested
    for unknown in (None, 0.0, math.nan):
        assert effective_length([1, 2], [0.0, 0.0], unknown) is None
        assert "ceiling" in effective_length_note([1, 2], [0.0, 0.0], unknown)
    assert "at least 2" in effective_length_note([1, 2], [1.0, 0.9], 1.0)
    assert "Already the shortest" in effective_length_note([1, 2], [0.5, 0.4], 1.0)
    assert "No length" in effective_length_note([1], [None], 1.0)
    with pytest.raises(ValueError, match="2 lengths but 1"):
        effective_length([1, 2], [0.5], 1.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.1, 1), st.floats(0.1, 1))
def test_every_score_up_to_the_effective_length_reaches_the_threshold(scores, ceiling, share):
    lengths = list(range(1, len(scores) + 1))
    longest = effective_length(lengths, scores, ceiling, share) or 0
    assert all(score >= share * ceiling * (1 - 1e-6) for score in scores[:longest])
    assert longest == len(scores) or scores[longest] < share * ceiling


def test_rate_of_nothing_is_not_zero():
    assert rate(3, 4) == 0.75
    assert rate(0, 0) is None
    assert wilson(0, 0) is None
    # Newcombe 1998, table I: 81 of 263 and 0 of 20
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def verdicts(passed: np.ndarray, turn: int = 1) -> pd.DataFrame:
    """One row per session, one column per verdict of it, True = pass."""
    sessions, each = passed.shape
    outcome = np.where(passed.ravel(), "pass", "fail")
    return pd.DataFrame(
        {"session": np.repeat([f"s{i}" for i in range(sessions)], each), "turn": turn, "outcome": outcome}
    )


def test_counts_of_a_compliance_table():
    frame = pd.DataFrame(
        [
            ("a", 0, Outcome.PASS),
            ("a", 0, Outcome.PASS),
            ("b", 0, Outcome.FAIL),
            ("c", 0, Outcome.TRUNCATED),
            ("a", 5, Outcome.FAIL),
            ("b", 10, Outcome.ERROR),
        ],
        columns=["session", "turn", "outcome"],
    )
    table = compliance(frame, "turn").set_index("turn")
    first = table.loc[0]
    assert (first.passes, first.fails, first.n, first.sessions, first.undecided) == (2, 1, 3, 2, 1)
    assert first.rate == pytest.approx(2 / 3)
    assert first.interval == "wilson"
    assert first.low < first.rate < first.high
    assert table.loc[5].interval == "none"  # one session is no interval
    assert math.isnan(table.loc[5].low)
    assert table.loc[5].rate == 0
    assert math.isnan(table.loc[10].rate)  # nothing decided is no rate
    assert (table.loc[10].n, table.loc[10].undecided) == (0, 1)


def test_sessions_that_all_agree_still_have_an_interval():
    row = compliance(verdicts(np.ones((30, 4), dtype=bool)), "turn").iloc[0]
    assert (row.rate, row.interval, row.sessions, row.n) == (1, "wilson", 30, 120)
    assert (row.low, row.high) == pytest.approx(wilson(30, 30))  # 30 sessions, not 120 verdicts


def test_same_seed_same_interval_whatever_other_bins_there_are():
    rng = np.random.default_rng(3)
    one, two = (verdicts(rng.random((40, 3)) < 0.7, turn) for turn in (1, 2))
    alone, both = compliance(two, "turn"), compliance(pd.concat([one, two]), "turn")
    assert alone.iloc[0].interval == "bootstrap"
    assert alone.iloc[0].to_dict() == both.iloc[1].to_dict()
    lows = {compliance(two, "turn", resamples=50, seed=seed).iloc[0].low for seed in range(8)}
    assert len(lows) > 1


def test_session_interval_covers_where_a_verdict_interval_would_not():
    """Sessions differ (beta-distributed rates, correlation 0.5 within), 40 sessions of 8 verdicts, 300 runs."""
    rng, truth, runs = np.random.default_rng(5), 0.7, 300
    ours = naive = 0
    for _ in range(runs):
        rates = rng.beta(truth, 1 - truth, size=40)  # a + b = 1: correlation 1 / (a + b + 1) = 0.5
        frame = verdicts(rng.random((40, 8)) < rates[:, None])
        row = compliance(frame, "turn", resamples=400).iloc[0]
        low, high = proportion_confint(row.passes, row.n, method="wilson")
        ours += row.low <= truth <= row.high
        naive += low <= truth <= high
    noise = 3 * math.sqrt(0.95 * 0.05 / runs)
    assert ours / runs >= 0.93 - noise
    assert naive / runs < 0.75


@pytest.mark.parametrize("sessions", [2, 5, 12])
def test_few_sessions_are_not_trusted_with_a_bootstrap(sessions):
    rng = np.random.default_rng(7)
    hits = []
    for _ in range(200):
        rates = rng.beta(0.7, 0.3, size=sessions)
        row = compliance(verdicts(rng.random((sessions, 4)) < rates[:, None]), "turn").iloc[0]
        assert row.interval == "wilson"
        hits.append(row.low <= 0.7 <= row.high)
    assert np.mean(hits) >= 0.9


def test_nothing_at_all():
    table = compliance(pd.DataFrame({"session": [], "turn": [], "outcome": []}), "turn")
    assert len(table) == 0
    assert "rate" in table.columns
    with pytest.raises(ValueError, match="no column outcome"):
        compliance(pd.DataFrame({"session": [], "turn": []}), "turn")


def test_an_empty_occupancy_bin_stays_a_gap():
    frame = verdicts(np.ones((3, 2), dtype=bool))
    frame["occupancy"] = occupancy_bins([0.05, 0.95, 0.08, 0.91, 0.1, 1.0])
    table = compliance(frame, "occupancy")
    assert [bin_label(b) for b in table["occupancy"]][:2] == ["0–10 %", "10–20 %"]
    assert table["n"].tolist() == [3, 0, 0, 0, 0, 0, 0, 0, 0, 3]
    assert table["rate"].isna().tolist() == [False] + [True] * 8 + [False]


def test_occupancy_bins_at_their_edges():
    bins = occupancy_bins([0.0, 0.1, 0.1 + 0.2, 0.31, 1.0, 1.04, None, math.nan])
    assert [None if pd.isna(b) else bin_label(b) for b in bins] == [
        "0–10 %",
        "0–10 %",
        "20–30 %",
        "30–40 %",
        "90–100 %",
        "100–110 %",
        None,
        None,
    ]
    own = occupancy_bins([0.2, 0.6, 0.9, 1.2], edges=[0, 0.6, 0.8, 1])
    assert own.codes.tolist() == [0, 0, 2, -1]
    assert occupancy_bins([]).categories.size == 10
    with pytest.raises(ValueError, match="ascending"):
        occupancy_bins([0.1], edges=[0.5, 0.1])
    with pytest.raises(ValueError, match="above 0"):
        occupancy_bins([0.1], width=0)
