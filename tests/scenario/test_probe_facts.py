"""`facts` and `controls` of a probe: what an answer rests on where the check does not say it."""

from __future__ import annotations

import pytest

import contextrot as cr
from contextrot.errors import ScenarioError
from contextrot.scenario import expand
from contextrot.scenario.loader import parse_scenario

TEXT = """\
contextrot: 1
id: rests-on
facts:
  - {id: dog, text: "My dog is {value}.", values: [a terrier], at: 2}
  - {id: cat, text: "My cat is {value}.", values: [a tabby], at: 4}
filler: {kind: notes, tokens_per_turn: 40}
session: {turns: 6}
probes:
  - {id: pets, ask: How many pets have I got?, at: [4, 6], check: {type: recall, value: two}, facts: [dog, cat]}
  - {id: alone, ask: And how old are they?, at: 6, check: {type: abstain}, controls: false}
"""


def test_the_facts_a_probe_names_are_what_it_tests_and_what_its_ceiling_says() -> None:
    script = expand(parse_scenario(TEXT), seed=0, repeat=0)
    asked = [ask for turn in script.turns for ask in turn.forks if ask.id == "pets"]
    assert [ask.subject.id for ask in asked if ask.subject] == ["dog", "dog"]
    said = {control.kind: control.text for control in script.controls}
    assert said == {
        "ceiling": "My dog is a terrier.\n\nMy cat is a tabby.\n\nHow many pets have I got?",
        "floor": "My cat is a tabby.\n\nHow many pets have I got?",
    }
    assert {control.id for control in script.controls} == {"pets"}


def test_a_failure_is_lost_when_the_first_of_them_left_the_prompt_and_ignored_while_it_stands_there(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "rests-on.yaml"
    path.write_text(TEXT.replace("turns: 6", "turns: 30").replace("[4, 6]", "[4, 30]"), encoding="utf-8")
    run = cr.bench(path, models="sim/hazard?hazard=1", strategies="fifo", repeats=1, window=700, out=tmp_path / "run")
    asked = run.verdicts[(run.verdicts["kind"] == "probe") & (run.verdicts["id"] == "pets")]
    in_view = dict(zip(asked["turn"], asked["in_view"], strict=True))
    assert in_view == {4: True, 30: False}


def test_a_fact_that_does_not_exist_or_comes_later_is_a_fault_with_its_line() -> None:
    with pytest.raises(ScenarioError) as error:
        parse_scenario(TEXT.replace("facts: [dog, cat]", "facts: [dog, cta]").replace("at: [4, 6]", "at: [1, 6]"))
    assert error.value.problems == [
        "scenario.yaml:9: probe `pets` names the fact `cta`, which does not exist; did you mean `cat`?",
        "scenario.yaml:9: probe `pets` asks at turn 1 for fact `dog`, first stated at turn 2",
    ]
