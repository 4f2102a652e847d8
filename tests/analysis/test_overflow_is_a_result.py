"""A full window ends a session and is a result: what it means for lengths, rates and sums, in gates and comparisons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from simulated_evidence import PROBED, evidence, group, session

import contextrot as cr
from contextrot.analysis.baseline import load_baseline, write_baseline
from contextrot.analysis.compare import compare
from contextrot.analysis.comparison import Tier
from contextrot.analysis.evidence import evidence_of
from contextrot.analysis.gates import GateOutcome, evaluate
from contextrot.analysis.tables import load_run


def overflows(at: int, n: int = 10, **fields):
    """Sessions that pass everything until their window is full at a turn."""
    checks = {"code": tuple((turn, "p" if turn < at else "w") for turn in PROBED)}
    return [session(None, k, ended="overflow", last_turn=at, checks=checks, **fields) for k in range(n)]


def outcomes(result):
    return {verdict.gate: verdict.outcome for verdict in result.verdicts}


def test_nothing_changed_passes_although_every_session_overflows():
    result = evaluate(evidence(overflows(20)), ["rmst: -10%", "compliance: -5pp"], evidence(overflows(20)))
    assert result.exit_code == 0
    assert set(outcomes(result).values()) == {GateOutcome.PASSED}


def test_an_earlier_overflow_is_a_regression_of_the_length_and_no_pass_of_the_compliance():
    before = evidence(group([None] * 10))
    result = evaluate(evidence(overflows(12)), ["rmst: -10%", "compliance: -5pp"], before)
    assert result.exit_code == 1
    assert outcomes(result) == {"rmst: -10%": GateOutcome.FAILED, "compliance: -5pp": GateOutcome.NO_VERDICT}
    (compliance,) = [verdict for verdict in result.verdicts if verdict.gate.startswith("compliance")]
    asked = 10 * len(PROBED)
    assert compliance.reason.startswith(f"overflow: {10 * sum(t >= 12 for t in PROBED)} of {asked} checks")
    assert "10 of 10 sessions ended there" in compliance.reason
    assert evaluate(evidence(overflows(12)), ["compliance: -5pp"], before).exit_code == 3
    assert evaluate(evidence(overflows(12, tokens=300)), ["tokens per session: +20%"], before).exit_code == 3


def test_few_checks_that_were_not_asked_leave_a_verdict():
    """Of 21 checks the last 4 are not asked in a session that overflows at turn 34: less than a fifth."""
    before = evidence(group([None] * 10))
    result = evaluate(evidence(overflows(34)), ["compliance: -5pp"], before)
    assert outcomes(result) == {"compliance: -5pp": GateOutcome.PASSED}


def test_mending_an_overflow_passes_and_says_what_was_compared():
    result = evaluate(evidence(group([None] * 10)), ["rmst: -10%", "compliance: -5pp"], evidence(overflows(12)))
    assert result.exit_code == 0
    (compliance,) = [verdict for verdict in result.verdicts if verdict.gate.startswith("compliance")]
    assert "checks both sides were asked" in compliance.reason


def test_compliance_is_that_of_what_both_sides_were_asked():
    """The baseline passes up to its overflow at turn 20; the candidate as well, and fails later, where it is alone."""
    result = evaluate(evidence(group([22] * 10)), ["compliance: -5pp"], evidence(overflows(20)))
    assert outcomes(result) == {"compliance: -5pp": GateOutcome.PASSED}
    worse = evaluate(evidence(group([4] * 10)), ["compliance: -5pp"], evidence(overflows(20)))
    assert outcomes(worse) == {"compliance: -5pp": GateOutcome.FAILED}


def test_a_confirmed_drop_of_compliance_before_the_overflow_fails():
    failing = [
        replace(s, checks={"code": tuple((t, "w" if t >= 12 else "f" if t >= 4 else "p") for t in PROBED)})
        for s in overflows(12)
    ]
    assert evaluate(evidence(failing), ["compliance: -5pp"], evidence(group([None] * 10))).exit_code == 1


def test_errors_are_still_undecided():
    cloudy = [
        replace(s, checks={"code": tuple((turn, "p" if turn < 12 else "u") for turn in PROBED)})
        for s in group([None] * 10)
    ]
    (verdict,) = evaluate(evidence(cloudy), ["rmst: -10%"], evidence(group([None] * 10))).verdicts
    assert verdict.outcome is GateOutcome.NO_VERDICT
    assert "undecided (errors, empty or truncated replies)" in verdict.reason


def test_a_floor_of_compliance_is_not_passed_by_sessions_that_ended_early():
    early = evaluate(evidence(overflows(12)), ["compliance >= 0.9"])
    assert early.exit_code == 3
    assert early.verdicts[0].reason.startswith("overflow: ")
    assert evaluate(evidence(overflows(38)), ["compliance >= 0.9"]).exit_code == 0


def test_the_strategies_of_one_run_are_compared_although_the_reference_overflows():
    run = evidence(overflows(12, strategy="full") + group([None] * 10, strategy="pinned"))
    found = compare(run)
    assert (found.tier, found.exit_code) == (Tier.IMPROVEMENT, 0)
    assert "checks both sides were asked" in found.rows[0].note
    back = compare(run, reference="pinned")
    assert back.tier is Tier.REGRESSION
    assert back.rows[0].effect("compliance").tier is Tier.INSUFFICIENT_DATA
    assert "overflow" in back.rows[0].effect("compliance").reason


def test_the_baseline_file_keeps_what_had_no_room(tmp_path: Path):
    """Also of a question that found no room in a session that went on; and files of before are read alike."""
    long = session(None, 10, checks={"code": tuple((t, "w" if t == 8 else "p") for t in PROBED)})
    run = evidence([*overflows(12), long])
    write_baseline(run, tmp_path / "b.json")
    assert load_baseline(tmp_path / "b.json").sessions == run.sessions
    text = (tmp_path / "b.json").read_text("utf-8")
    assert "12u" in text
    assert "12w" not in text  # what older versions cannot read
    (tmp_path / "b.json").write_text(text.replace(',"no_room":{"code":"8"}', ""), encoding="utf-8")
    assert load_baseline(tmp_path / "b.json").sessions[:10] == run.sessions[:10]


LIVE = """\
contextrot: 1
id: rule
constraints:
  - {id: upper, text: Answer in upper case., check: {type: case, is: upper}}
filler: {kind: notes, tokens_per_turn: 60}
session: {turns: 16, history: live, window: 600, max_tokens: 64}
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A standing rule alone, checked at every turn of a live session whose window gets full."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "rule.yaml").write_text(LIVE, encoding="utf-8")
    cr.bench(
        folder / "rule.yaml", models=["sim/perfect"], strategies=["full", "fifo"], repeats=6, controls=False,
        out=folder / "run",
    )  # fmt: skip
    return folder / "run"


def test_turns_a_rule_was_never_checked_at_are_not_asked(live: Path):
    found = evidence_of(load_run(live)).groups()
    full, fifo = ([s for key, sessions in found.items() if key[2].startswith(name) for s in sessions]
                  for name in ("full", "fifo"))  # fmt: skip
    assert {s.ended for s in full} == {"overflow"}
    for one in full:
        turns = [turn for turn, letter in one.checks["upper"] if letter == "w"]
        assert turns == list(range(one.last_turn, 17))
    assert not any(s.no_room() for s in fifo)
    assert full[0].undecided()[0] == 0
