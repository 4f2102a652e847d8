"""Distractors are said like facts, never asked for, never right, and named when a reply falls for one."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

import contextrot as cr
from contextrot.checks import FactState, grade, load_check
from contextrot.errors import ScenarioError
from contextrot.messages import Reply
from contextrot.scenario import Scenario, expand, json_schema
from contextrot.scenario.loader import parse_scenario

STAGING = {
    "id": "staging",
    "text": "The staging project's code is {value}.",
    "values": ["GREEN-11", "PINK-3"],
    "at": [6, 3],
    "reply": "Noted, staging {value}.",
}
BASE: dict[str, Any] = {
    "contextrot": 1,
    "id": "near",
    "facts": [
        {"id": "code", "text": "Our code is {value}.", "values": ["BLUE-42", "TEAL-7"], "at": 2, "changes": [5]},
    ],
    "distractors": [STAGING],
    "filler": {"kind": "tickets"},
    "session": {"turns": 9},
    "probes": [
        {"id": "code", "ask": "What is our code?", "at": [0, 2, 4, 9], "check": {"type": "recall", "fact": "code"}},
    ],
}


def scenario(**more: Any) -> Scenario:
    return parse_scenario(yaml.safe_dump(BASE | more, sort_keys=False), "near.yaml")


def distractor(**more: Any) -> list[dict[str, Any]]:
    return [STAGING | more]


def test_it_is_said_at_its_turns_with_a_value_of_its_own_each_time() -> None:
    script = expand(scenario(), seed=1, repeat=0)
    said = {turn.turn: turn for turn in script.turns if turn.origin == "distractor"}
    assert set(said) == {3, 6}
    texts = {f"The staging project's code is {value}." for value in ("GREEN-11", "PINK-3")}
    assert {turn.user for turn in said.values()} == texts
    assert all(not turn.states for turn in said.values())


def test_it_shares_a_turn_with_a_fact_and_stands_behind_it() -> None:
    turn = expand(scenario(distractors=distractor(at=2)), seed=1, repeat=0).turns[1]
    assert turn.origin == "fact"
    assert [subject.id for subject in turn.states] == ["code"]
    fact, other = turn.user.split("\n\n")
    assert fact.startswith("Our code is ")
    assert other.startswith("The staging project's code is ")


def test_its_canned_reply_names_its_value() -> None:
    script = expand(scenario(), seed=1, repeat=0, history="scripted")
    value = script.turns[2].user.removeprefix("The staging project's code is ").removesuffix(".")
    assert script.turns[2].reply == f"Noted, staging {value}."
    assert script.turns[3].reply != script.turns[2].reply


def test_values_are_drawn_by_seed_and_all_else_is_as_without_it() -> None:
    first, again, other = (expand(scenario(), seed=seed, repeat=0) for seed in (1, 1, 2))
    assert first == again
    assert len({tuple(expand(scenario(), seed=s, repeat=0).turns[2].user for _ in "x") for s in range(12)}) == 2
    without = expand(scenario(distractors=[]), seed=1, repeat=0)
    assert [turn.user for turn in without.turns if turn.origin == "fact"] == [
        turn.user for turn in first.turns if turn.origin == "fact"
    ]
    assert other.turns[1].user


def test_no_control_says_it_and_none_is_of_it() -> None:
    script = expand(scenario(), seed=1, repeat=0)
    assert {control.id for control in script.controls} == {"code"}
    assert not any("staging" in control.text for control in script.controls)


def test_a_probe_knows_the_near_values_said_so_far() -> None:
    script = expand(scenario(), seed=1, repeat=0)
    near = {ask.turn: ask.facts["code"].near for ask in script.fresh}
    near |= {ask.turn: ask.facts["code"].near for turn in script.turns for ask in turn.forks}
    assert [len(near[turn]) for turn in (0, 2, 4, 9)] == [0, 0, 1, 2]
    assert set(near[9]) == {"GREEN-11", "PINK-3"}


@pytest.mark.parametrize(
    ("reply", "outcome", "reason"),
    [
        ("Our code is GREEN-11.", "fail", "gives 'GREEN-11', which was said of something else, not 'BLUE-42'"),
        ("It is pink-3", "fail", "gives 'PINK-3'"),
        ("BLUE-42", "pass", ""),
        ("It is BLUE-42; GREEN-11 is the staging project's.", "pass", ""),
        ("Not BLUE-42: the code is GREEN-11.", "fail", "GREEN-11"),
        ("It was OLD-1, and staging has GREEN-11.", "fail", "superseded"),
        ("I do not know.", "fail", "does not know"),
        ("It is RUST-5.", "fail", "does not say"),
        ("It is not GREEN-11, that much I can tell.", "fail", "does not say"),
    ],
)
def test_recall_says_when_the_reply_fell_for_it(reply: str, outcome: str, reason: str) -> None:
    facts = {"code": FactState("BLUE-42", ("OLD-1",), ("GREEN-11", "PINK-3"))}
    verdict = grade(load_check({"type": "recall", "fact": "code"}), Reply(reply, finish_reason="stop"), facts)
    assert verdict.outcome == outcome
    assert reason in verdict.reason
    if "superseded" in reason or "does not" in reason:
        assert "something else" not in verdict.reason


def test_a_reply_can_be_checked_by_hand_against_near_values() -> None:
    facts = {"code": {"value": "BLUE-42", "superseded": "OLD-1", "near": ["GREEN-11"]}}
    verdict = cr.check({"type": "recall", "fact": "code"}, "It is GREEN-11.", facts=facts)
    assert verdict.reason == "the reply gives 'GREEN-11', which was said of something else, not 'BLUE-42'"


def test_without_distractors_a_reason_is_what_it_was() -> None:
    verdict = cr.check({"type": "recall", "fact": "code"}, "It is GREEN-11.", facts={"code": "BLUE-42"})
    assert verdict.reason == "the reply does not say 'BLUE-42'"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"values": ["blue-42", "PINK-3"]}, ["`blue-42`", "can be taken for the value `BLUE-42` of fact `code`"]),
        ({"values": ["PINK-3", "**TEAL-7**"]}, ["`**TEAL-7**`", "`TEAL-7`"]),
        ({"values": ["PINK-3", "the old BLUE-42"]}, ["the old BLUE-42", "`BLUE-42`"]),
        ({"values": ["PINK-3", "GREEN-11", "pink-3"]}, ["distractor `staging` has the value `pink-3` twice"]),
        ({"values": ["PINK-3"]}, ["stated 2 times", "has 1 value;"]),
        ({"values": ["PINK-3", "TEAL-7 rev B"]}, ["TEAL-7 rev B", "`TEAL-7`"]),
        ({"text": "Unlike BLUE-42, staging has {value}."}, ["has the value `BLUE-42` of fact `code` in it"]),
        ({"text": "Staging has a code."}, ["text of distractor `staging` has no {value}"]),
        ({"at": [3, 3]}, ["stated twice at one turn"]),
        ({"at": 99}, ["distractor `staging` is stated at turn 99, but session.turns is 9"]),
        ({"at": "3"}, ["`at`", "whole number"]),
        ({"id": "code"}, ["a second constraint, fact or distractor is called `code`"]),
        ({"tetx": "x"}, ["unknown key `tetx` in `distractors`", "did you mean `text`"]),
    ],
)
def test_what_cannot_be_meant_is_told_at_its_line(more: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(distractors=distractor(**more))
    for word in words:
        assert word in str(caught.value)
    assert len(caught.value.problems) == 1
    assert 12 <= int(caught.value.problems[0].split(":")[1]) <= 24


def test_a_value_that_a_literal_recall_would_take_is_told() -> None:
    probe = {"id": "pi", "ask": "The limit?", "at": 3, "check": {"type": "recall", "value": "1,200"}}
    with pytest.raises(ScenarioError, match="can be taken for what a recall check asks for"):
        scenario(probes=[*BASE["probes"], probe], distractors=distractor(values=["GREEN-11", "1200"]))


def test_an_inline_probe_on_its_turn_is_told() -> None:
    probe = BASE["probes"][0] | {"mode": "inline", "at": [3, 8]}
    with pytest.raises(ScenarioError, match="takes turn 3, but that turn already states distractor `staging`"):
        scenario(probes=[probe])


def test_a_check_cannot_ask_for_it() -> None:
    probe = BASE["probes"][0] | {"check": {"type": "recall", "fact": "staging"}}
    with pytest.raises(ScenarioError, match="`staging`, which does not exist; it is a distractor"):
        scenario(probes=[probe])


def test_the_schema_takes_one_turn_or_several() -> None:
    schema = Draft202012Validator(json_schema())
    assert schema.is_valid(BASE)
    assert schema.is_valid(BASE | {"distractors": distractor(at=3)})
    for more in ({"at": 0}, {"at": []}, {"values": []}, {"tetx": "x"}, {"at": "3"}):
        assert not schema.is_valid(BASE | {"distractors": distractor(**more)}), more
