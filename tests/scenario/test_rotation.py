"""A probe with several questions asks each once at each of its turns over as many repeats: a Latin square."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from contextrot.errors import ScenarioError
from contextrot.scenario import Scenario, expand, json_schema
from contextrot.scenario.loader import parse_scenario
from contextrot.scenario.script import Ask, Script

FACTS = [
    {"id": "code", "text": "The code is {value}.", "values": ["BLUE-42", "TEAL-7"]},
    {"id": "room", "text": "The room is {value}.", "values": ["B-12", "C-40"]},
    {"id": "lead", "text": "The lead is {value}.", "values": ["Ines", "Omar"]},
]
ITEMS = [
    {"id": name, "ask": f"What is the {name}?", "check": {"type": "recall", "fact": name}}
    for name in ("code", "room", "lead")
]
JSON = {"type": "json"}
ITEM = {"id": "a", "ask": "x", "check": JSON}
BASE: dict[str, Any] = {
    "contextrot": 1,
    "id": "rotation",
    "facts": FACTS,
    "session": {"turns": 20},
    "probes": [{"id": "facts", "items": ITEMS, "at": [0, 5, 20]}],
}


def scenario(**more: Any) -> Scenario:
    return parse_scenario(yaml.safe_dump(BASE | more, sort_keys=False), "rotation.yaml")


def asked(script: Script) -> list[Ask]:
    return [*script.fresh, *(ask for turn in script.turns for ask in (*turn.forks, *filter(None, [turn.inline])))]


def test_over_three_repeats_each_item_is_asked_once_at_each_turn() -> None:
    rows = [[(ask.turn, ask.item) for ask in asked(expand(scenario(), seed=7, repeat=r))] for r in range(3)]
    assert rows == [
        [(0, "code"), (5, "room"), (20, "lead")],
        [(0, "room"), (5, "lead"), (20, "code")],
        [(0, "lead"), (5, "code"), (20, "room")],
    ]


@given(items=st.integers(1, 6), turns=st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True))
def test_whatever_the_numbers_every_turn_sees_every_item_equally_often(items: int, turns: list[int]) -> None:
    rows = [{"id": f"i{n}", "ask": f"Number {n}?", "check": {"type": "keyword", "any": [f"{n}"]}} for n in range(items)]
    probes = [{"id": "p", "items": rows, "at": turns}]
    made = Scenario.model_validate(BASE | {"session": {"turns": 30}, "probes": probes})
    seen = Counter((ask.turn, ask.item) for r in range(items) for ask in asked(expand(made, seed=0, repeat=r)))
    assert set(seen.values()) == {1}
    assert len(seen) == items * len(turns)


def test_an_item_is_asked_in_its_own_words_and_graded_by_its_own_check() -> None:
    for ask in asked(expand(scenario(), seed=7, repeat=1)):
        assert ask.id == "facts"
        assert ask.text.endswith(f"What is the {ask.item}?")
        assert ask.check.fact_ids() == (ask.item,)
        assert ask.subject is not None
        assert ask.subject.id == ask.item
        assert set(ask.facts) == {ask.item}


def test_every_item_has_its_ceiling_and_its_floor_in_every_repeat() -> None:
    for repeat in range(2):
        script = expand(scenario(), seed=7, repeat=repeat)
        controls = {(control.item, control.kind): control for control in script.controls}
        assert set(controls) == {(name, kind) for name in ("code", "room", "lead") for kind in ("ceiling", "floor")}
        for (item, kind), control in controls.items():
            assert control.id == "facts"
            assert control.branch == f"{kind}:facts/{item}"
            assert control.evidence is not None
            assert (control.evidence in control.text) == (kind == "ceiling")


def test_what_an_item_leaves_out_is_the_probes_or_the_rules() -> None:
    rule = {"id": "aye", "text": "Begin every reply with AYE.", "check": {"type": "starts_with", "text": "AYE"}}
    probes = [
        {
            "id": "one",
            "items": [{"id": "a", "ask": "Ready?"}, {"id": "b", "ask": "Steady?"}],
            "at": 3,
            "constraint": "aye",
        },
        {
            "id": "two",
            "ask": "What is the code?",
            "check": {"type": "recall", "fact": "code"},
            "items": [
                {"id": "plain"},
                {"id": "lead", "ask": "Who leads?", "check": {"type": "recall", "fact": "lead"}},
            ],
            "at": [2, 4],
        },
    ]
    made = scenario(constraints=[rule], probes=probes)
    found = {(ask.id, ask.item): ask for r in (0, 1) for ask in asked(expand(made, seed=1, repeat=r))}
    assert found["one", "a"].check == made.constraints[0].check
    assert found["one", "b"].text == "Steady?"
    assert found["two", "plain"].text == "What is the code?"
    assert found["two", "plain"].check.fact_ids() == ("code",)
    assert found["two", "lead"].check.fact_ids() == ("lead",)


def test_inline_items_rotate_as_well() -> None:
    made = scenario(probes=[BASE["probes"][0] | {"mode": "inline", "at": [4, 8, 12]}])
    users = [[expand(made, seed=0, repeat=r).turns[t - 1].user for t in (4, 8, 12)] for r in range(3)]
    assert all(sorted(column) == sorted(item["ask"] for item in ITEMS) for column in zip(*users, strict=True))


def test_a_probe_with_one_question_has_no_item() -> None:
    made = scenario(probes=[{"id": "p", "ask": "Code?", "at": 3, "check": {"type": "recall", "fact": "code"}}])
    assert [ask.item for ask in asked(expand(made, seed=0, repeat=1))] == [""]


@pytest.mark.parametrize(
    ("probe", "words", "problems"),
    [
        ({"items": []}, ["`items`", "at least 1"], 1),
        ({"items": [{"id": "a", "aks": "x", "check": JSON}], "ask": "y"}, ["unknown key `aks`", "mean `ask`"], 1),
        ({"items": [ITEM | {"check": {"type": "jsn"}}]}, ["jsn", "did you mean", "json"], 1),
        ({"items": [ITEM | {"check": {"type": "recall", "fact": "cod"}}]}, ["`cod`", "did you mean `code`"], 1),
        ({"items": [{"id": "a", "ask": "x"}]}, ["item `a` of probe `p` has no check"], 1),
        ({"items": [{"id": "a", "check": JSON}]}, ["item `a` of probe `p` has no `ask`"], 1),
        ({"items": [ITEM, ITEM]}, ["second item of probe `p` is called `a`"], 1),
        ({"ask": "y", "items": [ITEM]}, ["`ask` no item uses"], 1),
        ({"check": JSON, "items": [ITEM]}, ["`check` no item uses"], 1),
        ({"check": JSON}, ["`ask`", "`items`"], 1),
        ({"items": [ITEM, ITEM | {"id": "b", "check": {"type": "x"}}], "at": 99}, ["turn 99", "`x`"], 2),
    ],
)
def test_what_cannot_be_asked_is_told(probe: dict[str, Any], words: list[str], problems: int) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(probes=[{"id": "p", "at": 3} | probe])
    for word in words:
        assert word in str(caught.value)
    assert len(caught.value.problems) == problems, caught.value.problems


def test_an_item_asked_before_its_fact_is_told_for_rotation_brings_it_to_every_turn() -> None:
    facts = [FACTS[0], FACTS[1], FACTS[2] | {"at": 8}]
    with pytest.raises(ScenarioError, match="asks at turn 5 for fact `lead`, first stated at turn 8"):
        scenario(facts=facts)


def test_an_ambiguous_scalar_in_an_items_check_is_told() -> None:
    text = yaml.safe_dump(BASE, sort_keys=False).replace("fact: room", "fact: no")
    with pytest.raises(ScenarioError, match="quote it"):
        parse_scenario(text, "rotation.yaml")


def test_the_schema_wants_a_question_or_several() -> None:
    schema = Draft202012Validator(json_schema())
    assert schema.is_valid(BASE)
    assert not schema.is_valid(BASE | {"probes": [{"id": "p", "at": 1, "check": {"type": "json"}}]})
    assert not schema.is_valid(BASE | {"probes": [{"id": "p", "at": 1, "items": []}]})
    assert not schema.is_valid(BASE | {"probes": [{"id": "p", "at": 1, "items": [{"ask": "x"}]}]})


def test_the_checks_of_items_are_part_of_the_hash() -> None:
    swapped = [ITEMS[1] | {"check": ITEMS[0]["check"]}, ITEMS[0], ITEMS[2]]
    assert scenario().content_hash != scenario(probes=[BASE["probes"][0] | {"items": swapped}]).content_hash
