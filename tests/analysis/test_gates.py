"""Gates in both directions: what must fail fails, what must pass passes, and what cannot be told is neither."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_evidence import TURNS, evidence, floors, group, session

from contextrot.analysis.gates import GateOutcome, evaluate
from contextrot.errors import BaselineError, ConfigError, NothingMatchedError

STEADY = [None, 38, 30, None, 36, None, 34, 40, None, None] * 3
WORSE = [10, 12, 8, 20, 6, None, 14, 10, 18, 16] * 3


def only(result):
    (verdict,) = result.verdicts
    return verdict


def said(result):
    return only(result).outcome, result.exit_code


@pytest.mark.parametrize(
    ("gate", "fails", "outcome", "code"),
    [
        ("median >= 20 turns", STEADY, GateOutcome.PASSED, 0),
        ("median >= 20 turns", WORSE, GateOutcome.FAILED, 1),
        ("median >= 13 turns", WORSE, GateOutcome.NO_VERDICT, 3),  # 12 (95 % 10-16): more sessions would tell
        ("rmst >= 30 turns", STEADY, GateOutcome.PASSED, 0),
        ("rmst >= 30 turns", WORSE, GateOutcome.FAILED, 1),
        ("compliance at turn 20 >= 0.9", STEADY, GateOutcome.PASSED, 0),
        ("compliance at turn 20 >= 0.9", WORSE, GateOutcome.FAILED, 1),
        ("tokens per session <= 2000", STEADY, GateOutcome.PASSED, 0),
        ("tokens per session <= 900", STEADY, GateOutcome.FAILED, 1),
        ("cost <= 1", STEADY, GateOutcome.PASSED, 0),
        ("cost <= 0.2", STEADY, GateOutcome.FAILED, 1),
        ("calls <= 300", STEADY, GateOutcome.PASSED, 0),
    ],
)
def test_floors_and_ceilings(gate, fails, outcome, code):
    assert said(evaluate(evidence(group(fails)), [gate])) == (outcome, code)


def test_a_pass_has_to_be_proven_where_that_is_asked():
    run = evidence(group(STEADY))
    value = only(evaluate(run, ["rmst >= 30"])).value
    edge = f"rmst >= {value - 0.1:.1f}"
    assert said(evaluate(run, [edge]))[0] is GateOutcome.PASSED
    assert said(evaluate(run, [f"{edge} proven"])) == (GateOutcome.NO_VERDICT, 3)
    assert said(evaluate(run, ["rmst >= 25 proven"]))[0] is GateOutcome.PASSED


@pytest.mark.parametrize("gate", ["median >= 1", "compliance >= 0.01", "rmst >= 1"])
def test_few_sessions_have_no_verdict(gate):
    assert said(evaluate(evidence(group([None] * 4)), [gate])) == (GateOutcome.NO_VERDICT, 3)


def test_a_limit_beyond_what_was_watched_is_no_verdict():
    assert "only watched up to turn 40" in only(evaluate(evidence(group([None] * 9)), ["median >= 60"])).reason


def test_an_empty_run_is_no_verdict():
    result = evaluate(evidence([]), ["median >= 1"])
    assert result.exit_code == 3
    assert "no sessions" in only(result).reason


def test_an_interrupted_run_is_never_a_pass():
    run = replace(evidence(group(STEADY)), status="interrupted")
    result = evaluate(run, ["median >= 1"])
    assert result.exit_code == 3
    assert "interrupted" in result.verdicts[0].reason


@pytest.mark.parametrize("gate", ["median >= 5", "compliance >= 0.5", "tokens per session <= 9999", "rmst >= 5"])
def test_errors_never_make_a_gate_pass(gate):
    """Twelve sessions hold to the end, eight broke off by an error right after a check that passed."""
    broken = [
        replace(s, ended="error", last_turn=2, checks={"code": ((0, "p"), (2, "p"))}, tokens=10)
        for s in group([None] * 8)
    ]
    whole = [replace(s, repeat=8 + s.repeat) for s in group([None] * 12)]
    assert said(evaluate(evidence(whole + broken), [gate])) == (GateOutcome.NO_VERDICT, 3)
    missing = evidence(whole, repeats=20)
    assert said(evaluate(missing, [gate])) == (GateOutcome.NO_VERDICT, 3)


def test_undecided_replies_never_make_a_gate_pass():
    cloudy = [
        replace(s, checks={"code": tuple((turn, "u" if turn % 4 == 0 else "p") for turn in range(0, 41, 2))})
        for s in group([None] * 20)
    ]
    assert said(evaluate(evidence(cloudy), ["compliance >= 0.5"])) == (GateOutcome.NO_VERDICT, 3)


def test_a_rate_over_the_few_that_came_so_far_is_no_pass():
    """Sixteen sessions overflow at turn 12; the four that reach turn 40 pass."""
    short = [
        replace(s, ended="overflow", last_turn=12, checks={"code": tuple((t, "p") for t in range(0, 13, 2))})
        for s in group([None] * 16)
    ]
    run = evidence(short + [replace(s, repeat=16 + s.repeat) for s in group([None] * 4)])
    verdict = only(evaluate(run, ["compliance at turn 40 >= 0.9"]))
    assert verdict.outcome is GateOutcome.NO_VERDICT
    assert "overflow 16" in verdict.reason
    assert said(evaluate(run, ["median >= 30"])) == (GateOutcome.FAILED, 1)  # an overflow ends the session


def test_an_unknown_price_is_no_pass():
    run = evidence(group(STEADY, cost=None), spent={"cost": None})
    verdict = only(evaluate(run, ["cost <= 100"]))
    assert verdict.outcome is GateOutcome.NO_VERDICT
    assert "price" in verdict.reason


def test_what_passes_without_its_rule_decides_nothing():
    checks = {"code": tuple((t, "p") for t in range(0, 41, 2)), "tone": tuple((t, "f") for t in range(0, 41, 2))}
    sessions = [replace(s, checks=checks) for s in group([None] * 20)]
    assert said(evaluate(evidence(sessions), ["median >= 20"])) == (GateOutcome.FAILED, 1)
    assert said(evaluate(evidence(sessions, floors=floors("tone")), ["median >= 20"])) == (GateOutcome.PASSED, 0)
    none_left = evaluate(evidence(sessions, floors=floors("tone", "code")), ["median >= 20"])
    assert said(none_left) == (GateOutcome.NO_VERDICT, 3)
    assert "without its rule" in only(none_left).reason


def test_scopes_choose_what_is_held():
    run = evidence(group(STEADY) + group(WORSE, strategy="fifo(keep=6 turns)"))
    assert evaluate(run, ["median >= 20"]).exit_code == 1
    assert said(evaluate(run, ["median >= 20 [strategy=pinned]"])) == (GateOutcome.PASSED, 0)
    assert said(evaluate(run, ["median >= 20 [strategy=fifo]"])) == (GateOutcome.FAILED, 1)
    with pytest.raises(NothingMatchedError, match="strategy: fifo"):
        evaluate(run, ["median >= 20 [strategy=pined]"])
    with pytest.raises(NothingMatchedError, match="checked: 0, 2"):
        evaluate(run, ["compliance at turn 7 >= 0.9"])


def test_no_gate_and_no_baseline_are_errors():
    run = evidence(group(STEADY))
    with pytest.raises(ConfigError, match="no gate is given"):
        evaluate(run)
    with pytest.raises(BaselineError, match="--baseline"):
        evaluate(run, ["rmst: -10%"])


def test_a_drop_is_found_and_no_change_is_no_drop():
    before = evidence(group(STEADY), "baseline")
    for gates in ([], ["rmst: -10%"], ["compliance: -5pp"]):
        assert evaluate(evidence(group(WORSE)), gates, before).exit_code == 1
        assert evaluate(evidence(group(STEADY)), gates, before).exit_code == 0
        assert evaluate(before, gates, evidence(group(WORSE))).exit_code == 0  # better is no failure
    verdict = only(evaluate(evidence(group(WORSE)), ["rmst: -10%"], before))
    assert "regression confirmed" in verdict.reason
    assert verdict.value < verdict.limit < 0


def test_a_drop_within_the_margin_passes():
    slightly = [None if turn is None else turn - 2 for turn in STEADY]
    result = evaluate(evidence(group(slightly)), ["rmst: -10%"], evidence(group(STEADY)))
    assert said(result) == (GateOutcome.PASSED, 0)
    assert only(result).high < 0  # there is a difference, and it is small


def test_five_pairs_are_too_few_and_say_so():
    result = evaluate(evidence(group([6] * 5)), ["rmst: -10%"], evidence(group([None] * 5)))
    assert said(result) == (GateOutcome.NO_VERDICT, 3)
    assert "insufficient data: 5 pairs" in only(result).reason


def test_a_gate_that_could_not_see_a_drop_by_half_has_no_verdict():
    rng = np.random.default_rng(3)
    sides = [group([int(t) if t <= TURNS else None for t in rng.geometric(0.05, 10)]) for _ in range(2)]
    verdict = only(evaluate(evidence(sides[0]), ["rmst: -10%"], evidence(sides[1])))
    assert verdict.outcome is GateOutcome.NO_VERDICT
    assert "pairs would tell" in verdict.reason


def test_a_tool_call_drop():
    before = evidence([session(None, k, called=(9, 10)) for k in range(12)])
    after = evidence([session(None, k, called=(5 + k % 2, 10)) for k in range(12)])
    assert said(evaluate(after, ["tool_calls: -15pp"], before)) == (GateOutcome.FAILED, 1)
    assert said(evaluate(before, ["tool_calls: -15pp"], before))[1] == 0
    silent = evidence([session(None, k, called=(0, 10)) for k in range(12)])
    assert said(evaluate(silent, ["tool_calls: -15pp"], before)) == (GateOutcome.FAILED, 1)
    assert said(evaluate(silent, ["tool_calls: -15pp"], silent)) == (GateOutcome.NO_VERDICT, 3)
    assert said(evaluate(before, ["tool_calls >= 0.8"])) == (GateOutcome.PASSED, 0)


def test_growth_of_tokens():
    before, after = evidence(group(STEADY)), evidence(group(STEADY, tokens=1300))
    assert said(evaluate(after, ["tokens per session: +20%"], before)) == (GateOutcome.FAILED, 1)
    assert said(evaluate(after, ["tokens per session: +40%"], before)) == (GateOutcome.PASSED, 0)


def test_an_incompatible_baseline_is_exit_4():
    before = evidence(group(STEADY))
    for change in ({"seed": 1}, {"turns": 20}, {"window": 900}, {"history": "live"}):
        with pytest.raises(BaselineError, match=next(iter(change))):
            evaluate(evidence(group(STEADY, **change)), [], before)
    changed = evidence(group(STEADY), hashes={"tickets": "h2"})
    with pytest.raises(BaselineError, match="the scenario changed"):
        evaluate(changed, [], before)
    assert evaluate(changed, [], before, accept_changed=True).exit_code == 0


def test_one_incompatible_scenario_of_two_is_never_a_pass():
    both = group(STEADY) + group(STEADY, scenario="other")
    result = evaluate(evidence(both, hashes={"tickets": "h1", "other": "h2"}), ["rmst: -10%"], evidence(both))
    assert result.exit_code == 4
    assert GateOutcome.PASSED in {verdict.outcome for verdict in result.verdicts}


def test_a_collapse_is_never_a_pass_however_few_pairs_saw_it():
    """Six pairs confirm two drops; shared among four, their smallest p-value (4/64) confirms none and is no pass."""

    def run(fails, names):
        return evidence([s for name in names for s in group(fails, strategy=name)])

    fell, stayed = [4, 6, 8, 10, 12, 14], [None] * 6
    assert evaluate(run(fell, "a"), [], run(stayed, "a")).exit_code == 1
    result = evaluate(run(fell, "ab"), [], run(stayed, "ab"))
    assert result.exit_code == 3
    assert "a drop is likely but not confirmed among 4 drops held at once (p 0.062)" in result.verdicts[0].reason
    assert evaluate(run([*fell[:5], None], "a"), ["rmst: -10%"], run(stayed, "a")).exit_code == 1


def test_pairs_that_could_confirm_nothing_are_no_pass():
    sides = [[s for name in "abcd" for s in group([20] * 6, strategy=name)] for _ in range(2)]
    verdict = evaluate(evidence(sides[0]), [], evidence(sides[1])).verdicts[0]
    assert verdict.outcome is GateOutcome.NO_VERDICT
    assert "6 pairs cannot confirm a drop among 8 held at once; at least 8 can" in verdict.reason


def test_a_gate_written_twice_is_one_question():
    before, now = evidence(group([None] * 10)), evidence(group([20] * 6 + [None] * 4))
    assert evaluate(now, ["rmst: -10%"], before).exit_code == 1
    assert evaluate(now, ["rmst: -10%"] * 3 + ["rmst: -12%"], before).exit_code == 1


def test_a_collapse_is_confirmed_among_more_than_a_hundred_drops():
    def run(fails):
        names = [f"s{k}" for k in range(60)]
        return evidence([s for name in names for s in group(fails, strategy=name)])

    result = evaluate(run([4 + 2 * (k % 3) for k in range(20)]), [], run([None] * 20))
    assert [verdict.outcome for verdict in result.verdicts] == [GateOutcome.FAILED] * 120


def test_the_worst_news_gives_the_code_and_stands_first():
    run = evidence(group(WORSE))
    result = evaluate(run, ["cost <= 1", "median >= 13", "median >= 30"])
    assert [v.outcome.value for v in result.verdicts] == ["failed", "no_verdict", "passed"]
    assert result.exit_code == 1
    assert result.sentence == "a gate failed: 1 failed, 1 without a verdict, 1 passed"


def test_false_alarms_stay_below_alpha_over_several_strategies():
    """Three strategies, two gates, nothing changed: a failed gate in at most 5 % of the runs."""
    rng = np.random.default_rng(11)

    def run():
        drawn = [
            group([int(t) if t <= TURNS else None for t in rng.geometric(0.04, 25)], strategy=name) for name in "abc"
        ]
        return evidence([s for sessions in drawn for s in sessions])

    codes = [evaluate(run(), [], run()).exit_code for _ in range(60)]
    assert codes.count(1) <= 6


def test_checks_are_paired_by_their_ids():
    """The same scenario by its hash, and other ids in a baseline that was edited by hand."""
    verdicts = group([None])[0].checks["code"]
    both = {"code": verdicts, "tone": tuple((turn, "f") for turn, _ in verdicts)}

    def run(checks, source="run"):
        return evidence([replace(s, checks=checks) for s in group([None] * 12)], source)

    with pytest.raises(BaselineError, match=r"no check is on both sides \(secret, now code\)"):
        evaluate(run({"code": verdicts}), [], run({"secret": verdicts}, "base"))
    # What only one side was asked decides nothing, whichever side it is, and is named.
    for now, before, of in ((both, {"code": verdicts}, "run"), ({"code": verdicts}, both, "base")):
        result = evaluate(run(now), ["rmst: -10%", "compliance: -5pp"], run(before, "base"))
        assert result.exit_code == 0
        assert result.notes == [f"pinned on agent in tickets: what tone said is only in {of}: not compared"]
    alike = evaluate(run(both), ["rmst: -10%"], run(both, "base"))
    assert (alike.exit_code, alike.notes) == (3, [])  # tone fails at once, on both sides: nothing is left to lose


def test_a_check_that_no_session_came_to_is_no_other_check():
    """Every session overflowed at once, before its rule was ever looked at: that is the drop, and no other scenario."""
    full = [replace(s, ended="overflow", last_turn=1, checks={}) for s in group([None] * 12)]
    assert evaluate(evidence(full), ["rmst: -10%"], evidence(group([None] * 12))).exit_code == 1


CELLS = [("tickets", "agent", name) for name in ("pinned", "fifo")]


def test_what_was_to_be_measured_and_was_not_is_no_pass():
    """The baseline has two strategies; of the run's two, one left no session behind."""
    before = evidence(group(STEADY) + group(STEADY, strategy="fifo"))
    short = evidence(group(STEADY), cells=CELLS)
    for gates in ([], ["rmst: -10%"], ["median >= 20"], ["tokens per session <= 2000"]):
        result = evaluate(short, gates, before)
        assert result.exit_code == 3
        assert {v.where for v in result.verdicts if v.outcome is GateOutcome.NO_VERDICT} == {"fifo on agent in tickets"}
    assert evaluate(evidence(before.sessions, cells=CELLS), [], before).exit_code == 0
    # A gate that leaves it out on purpose is held to the rest.
    assert said(evaluate(short, ["rmst: -10% [strategy=pinned]"], before)) == (GateOutcome.PASSED, 0)


def test_what_the_configuration_leaves_out_is_a_note():
    before = evidence(group(STEADY) + group(STEADY, strategy="fifo") + group(STEADY, strategy="full"), "base")
    result = evaluate(evidence(group(STEADY), cells=CELLS[:1]), ["rmst: -10%"], before)
    assert said(result) == (GateOutcome.PASSED, 0)
    assert result.notes == [f"{name} on agent in tickets is only in base: not compared" for name in ("fifo", "full")]
