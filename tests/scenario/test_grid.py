"""`grid:` gives one full scenario for every combination, under a name that says which; what cannot be meant is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from contextrot.errors import ScenarioError
from contextrot.scenario import Scenario, expand, json_schema, load_scenario
from contextrot.scenario.loader import parse_scenario

BASE: dict[str, Any] = {
    "contextrot": 1,
    "id": "incident",
    "system": "You are on call.",
    "constraints": [
        {
            "id": "aye",
            "text": "Begin every reply with AYE.",
            "place": "first_user",
            "reply": "AYE, noted.",
            "gold": "AYE. Done.",
            "check": {"type": "starts_with", "text": "AYE"},
        }
    ],
    "facts": [{"id": "code", "text": "The code is {value}.", "values": ["BLUE-42", "TEAL-7"], "at": 2}],
    "filler": {"kind": "tickets", "tokens_per_turn": 60},
    "session": {"turns": 10},
    "probes": [
        {"id": "code", "ask": "What is the code?", "at": [6, 10, 20], "check": {"type": "recall", "fact": "code"}}
    ],
}


def scenario(grid: dict[str, Any], **more: Any) -> Scenario:
    return parse_scenario(yaml.safe_dump(BASE | {"grid": grid} | more, sort_keys=False), "incident.yaml")


def faults(grid: Any, **more: Any) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        scenario(grid, **more)
    return caught.value.problems


def test_every_combination_is_a_scenario_with_a_name_that_says_which() -> None:
    grid = scenario({"turns": [10, 20], "tokens_per_turn": [50, 200], "place": ["system", {"turn": 5}]})
    cells = grid.cells()
    assert [cell.id for cell in cells] == [
        "incident.turns-10.tokens-50.system",
        "incident.turns-10.tokens-50.at-5",
        "incident.turns-10.tokens-200.system",
        "incident.turns-10.tokens-200.at-5",
        "incident.turns-20.tokens-50.system",
        "incident.turns-20.tokens-50.at-5",
        "incident.turns-20.tokens-200.system",
        "incident.turns-20.tokens-200.at-5",
    ]
    for cell in cells:
        assert cell.family == "incident"
        assert cell.grid is None
        assert cell.path == Path("incident.yaml")
        assert Scenario.model_validate(cell.model_dump(by_alias=True, exclude_unset=True)).content_hash
    assert len({cell.content_hash for cell in cells}) == 8


def test_each_axis_changes_what_it_names_and_nothing_else() -> None:
    by_name = {
        cell.id.removeprefix("incident."): cell
        for cell in scenario(
            {
                "turns": [10, 20],
                "tokens_per_turn": [60, 90],
                "place": ["first_user", {"turn": 4}],
                "filler": ["tickets", "notes"],
                "history": ["live", "gold"],
                "mode": ["fork", "inline"],
            }
        ).cells()
    }
    assert len(by_name) == 64
    plain = by_name["turns-10.tokens-60.first_user.tickets.live.fork"]
    other = by_name["turns-20.tokens-90.at-4.notes.gold.inline"]
    assert (plain.session.turns, other.session.turns) == (10, 20)
    assert (plain.session.history, other.session.history) == ("live", "gold")
    assert (plain.filler.kind, plain.filler.tokens_per_turn) == ("tickets", 60)
    assert (other.filler.kind, other.filler.tokens_per_turn) == ("notes", 90)
    assert (plain.constraints[0].turn, other.constraints[0].turn) == (1, 4)
    assert (plain.facts[0].at, other.facts[0].at) == (1, 4)
    assert (plain.probes[0].mode, other.probes[0].mode) == ("fork", "inline")
    assert plain.system == other.system
    assert plain.probes[0].check == other.probes[0].check


def test_a_place_in_the_system_prompt_states_the_rule_there_and_facts_at_turn_one() -> None:
    system, first = scenario({"place": ["system", "first_user"], "turns": [20]}).cells()
    script = expand(system, seed=0, repeat=0)
    assert script.system is not None
    assert script.system.endswith("Begin every reply with AYE.")
    assert script.turns[0].user.startswith("The code is ")
    assert system.constraints[0].reply is None  # nobody acknowledges a system prompt
    assert expand(first, seed=0, repeat=0).turns[0].user.startswith("Begin every reply with AYE.")


def test_cells_say_the_same_words_but_for_what_their_axes_change() -> None:
    short, long = (expand(cell, seed=3, repeat=1) for cell in scenario({"turns": [10, 20]}).cells())
    assert [turn.user for turn in short.turns] == [turn.user for turn in long.turns[:10]]
    assert len(long.turns) == 20


def test_probes_beyond_the_end_of_a_shorter_cell_are_left_out_of_it() -> None:
    short, long = (expand(cell, seed=0, repeat=0) for cell in scenario({"turns": [10, 20]}).cells())
    assert [turn.turn for turn in short.turns if turn.forks] == [6, 10]
    assert [turn.turn for turn in long.turns if turn.forks] == [6, 10, 20]


def test_the_end_may_fall_on_another_mark_in_one_cell() -> None:
    probes = [BASE["probes"][0] | {"at": [10, "end"]}]
    short, long = scenario({"turns": [10, 20]}, probes=probes).cells()
    assert short.probes[0].turns(10) == (10,)
    assert long.probes[0].turns(20) == (10, 20)


def test_a_scenario_without_a_grid_is_its_only_cell_and_keeps_its_hash() -> None:
    raw = BASE | {"session": {"turns": 20}}
    plain = Scenario.model_validate(raw)
    assert plain.cells() == (plain,)
    assert plain.family == plain.id
    cell = scenario({"turns": [20]}).cells()[0]
    assert cell.id == "incident.turns-20"
    assert cell.changed(id="incident").content_hash == plain.content_hash


def test_a_grid_is_not_expanded_as_if_it_were_one_session() -> None:
    with pytest.raises(ScenarioError, match=r"has a grid: expand the scenarios that its cells\(\) gives"):
        expand(scenario({"turns": [20]}), seed=0, repeat=0)


@settings(deadline=None)
@given(
    name=st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z"),
    turns=st.lists(st.integers(1, 100_000), min_size=1, max_size=3, unique=True),
    tokens=st.lists(st.integers(30, 50_000), min_size=1, max_size=2, unique=True),
)
def test_names_of_cells_are_ids_and_differ_however_long_the_scenarios_is(
    name: str, turns: list[int], tokens: list[int]
) -> None:
    grid = {
        "turns": turns,
        "tokens_per_turn": tokens,
        "place": ["system", "first_user", {"turn": 100_000}],
        "filler": ["small_talk", "tickets"],
        "history": ["scripted", "gold"],
        "mode": ["fork", "inline"],
    }
    made = Scenario.model_validate(BASE | {"id": name, "grid": grid})
    cells = made.cells()
    names = [cell.id for cell in cells]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", one) for one in names)
    assert all(one.startswith(cell.family + ".") for one, cell in zip(names, cells, strict=True))
    assert [cell.id for cell in made.cells()] == names


def test_two_long_names_that_begin_alike_stay_apart() -> None:
    axes = {"turns": [100_000], "place": ["first_user"], "history": ["scripted"], "mode": ["inline"]}
    one, other = (
        Scenario.model_validate(BASE | {"id": "a" * 60 + tail, "grid": axes}).cells()[0].id for tail in ("-x", "-y")
    )
    assert one != other


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"tuns": [10]}, ["unknown key `tuns`", "grid", "did you mean `turns`"]),
        ({"turns": []}, ["`turns`", "at least 1"]),
        ({"turns": 20}, ["`turns`", "list"]),
        ({"turns": [20, 20]}, ["turns-20 twice"]),
        ({"turns": ["20"]}, ["whole number"]),
        ({"turns": [0]}, ["at least 1"]),
        ({"tokens_per_turn": [5]}, ["at least 30"]),
        ({"place": ["sytem"]}, ["`system`", "did you mean"]),
        ({"place": [{"turn": 5, "trun": 5}]}, ["unknown key `trun`", "did you mean `turn`"]),
        ({"place": [{"turn": 5}, {"turn": 5}]}, ["at-5 twice"]),
        ({"filler": ["tikets"]}, ["tikets", "did you mean `tickets`"]),
        ({"history": ["lvie"]}, ["did you mean `live`"]),
        ({"mode": ["froked"]}, ["`fork`"]),
        ({}, ["has no axis"]),
        ({"turns": list(range(10, 40)), "tokens_per_turn": list(range(50, 70))}, ["600 combinations"]),
    ],
)
def test_an_axis_that_cannot_be_is_told_at_its_line(grid: dict[str, Any], words: list[str]) -> None:
    told = faults(grid, session={"turns": 20})
    for word in words:
        assert word in "\n".join(told)
    assert len(told) == 1
    written = yaml.safe_dump(BASE | {"grid": grid, "session": {"turns": 20}}, sort_keys=False).splitlines()
    assert int(told[0].split(":")[1]) >= next(n for n, line in enumerate(written, 1) if line.startswith("grid:"))


@pytest.mark.parametrize(
    ("grid", "more", "words"),
    [
        ({"tokens_per_turn": [50, 90]}, {"filler": {"items": ["a", "b"]}}, ["`tokens_per_turn`", "items"]),
        ({"filler": ["notes"]}, {"filler": {"items": ["a", "b"]}}, ["`filler`", "items"]),
        ({"place": ["system"]}, {"constraints": [], "facts": [], "probes": [
            {"id": "p", "ask": "JSON?", "at": 2, "check": {"type": "json"}}]}, ["no constraint or fact to place"]),
        ({"mode": ["inline"]}, {"probes": []}, ["there is no probe"]),
    ],
)  # fmt: skip
def test_an_axis_without_anything_to_cross_is_told(
    grid: dict[str, Any], more: dict[str, Any], words: list[str]
) -> None:
    told = faults(grid, **({"session": {"turns": 20}} | more))
    for word in words:
        assert word in told[0]
    assert len(told) == 1


def test_a_cell_that_contradicts_itself_is_named_with_the_grids_line_and_the_cause() -> None:
    text = """\
contextrot: 1
id: incident
facts: [{id: code, text: "The code is {value}.", values: [BLUE-42]}]
session: {turns: 10}
probes:
  - id: code
    ask: What is the code?
    check: {type: recall, fact: code}
    at: [6, 20]
grid:
  turns: [5, 20]
"""
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "incident.yaml")
    assert caught.value.problems == [
        "incident.yaml:10: in the cell `incident.turns-5`: probe `code` is first asked at turn 6, but session.turns is "
        "5: it is never reached (line 9)"
    ]


def test_a_rule_that_a_cell_places_after_its_probe_is_told() -> None:
    probe = {"id": "aye", "ask": "Ready?", "at": [3, 10], "constraint": "aye"}
    told = faults({"place": ["system", {"turn": 5}]}, probes=[probe])
    assert len(told) == 1
    assert (
        "in the cell `incident.at-5`: probe `aye` asks at turn 3 for constraint `aye`, first stated at turn 5"
        in told[0]
    )


def test_an_inline_probe_that_falls_on_a_statement_in_one_arm_is_told() -> None:
    probe = BASE["probes"][0] | {"at": [2, 10]}
    told = faults({"mode": ["fork", "inline"]}, probes=[probe])
    assert len(told) == 1
    assert "in the cell `incident.inline`: the inline probe `code` takes turn 2" in told[0]


def test_many_cells_with_one_fault_are_one_sentence() -> None:
    told = faults({"turns": [5, 20], "tokens_per_turn": [30, 40, 50, 60, 70]})
    assert len(told) == 1
    assert "`incident.turns-5.tokens-50` and 2 more: probe `code`" in told[0]


def test_what_every_cell_has_wrong_is_told_once_where_it_stands() -> None:
    told = faults({"turns": [20], "tokens_per_turn": [50, 60]}, facts=[BASE["facts"][0] | {"changes": [1]}])
    assert len(told) == 1
    assert "cell" not in told[0]
    assert "changes of fact `code` must come after turn 2" in told[0]


def test_a_turn_beyond_every_cell_is_a_slip_of_the_pen() -> None:
    told = faults({"turns": [10, 15]})
    assert len(told) == 1
    assert "probe `code` is asked at turn 20, but the longest session of the grid has 15" in told[0]


def test_a_gold_arm_without_gold_replies_is_told() -> None:
    rule = {key: value for key, value in BASE["constraints"][0].items() if key not in ("gold", "reply")}
    told = faults({"history": ["scripted", "gold"]}, constraints=[rule], session={"turns": 20})
    assert "in the cell `incident.gold`" in told[0]
    assert "add `gold: <a reply>`" in told[0]


def test_the_schema_takes_a_grid_and_refuses_its_typos() -> None:
    schema = Draft202012Validator(json_schema())
    good = {"turns": [10, 20], "place": ["system", {"turn": 5}], "history": ["live"], "mode": ["inline"]}
    assert schema.is_valid(BASE | {"grid": good})
    for bad in ({"tuns": [10]}, {"turns": 10}, {"turns": []}, {"filler": ["tikets"]}, {"mode": ["froked"]}):
        assert not schema.is_valid(BASE | {"grid": bad}), bad


def test_tasks_go_on_by_filler_turns_in_every_cell() -> None:
    filler = BASE["filler"] | {"task_turns": 3}
    for cell in scenario({"turns": [10, 20], "tokens_per_turn": [40, 60]}, filler=filler).cells():
        turns = expand(cell, seed=0, repeat=0).turns
        tasks = [turn.task for turn in turns if turn.origin == "filler"]
        assert tasks == [f"task-{k // 3 + 1}" for k in range(len(tasks))]


def test_a_transcript_fills_the_cells_too(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": f"turn {n}"} for n in range(30)]
    (tmp_path / "talk.json").write_text(json.dumps(messages), encoding="utf-8")
    path = tmp_path / "incident.yaml"
    raw = BASE | {"filler": {"transcript": "talk.json"}, "grid": {"turns": [10, 20]}}
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    cells = load_scenario(path).cells()
    assert [expand(cell, seed=0, repeat=0).turns[2].user for cell in cells] == ["turn 0", "turn 0"]


FACTS_ALONE = {"constraints": [], "session": {"turns": 20}}


@pytest.mark.parametrize(
    ("places", "more", "words"),
    [
        (["first_user", {"turn": 1}], {"session": {"turns": 20}}, ["`first_user` and `{turn: 1}`", "same"]),
        (["system", "first_user"], FACTS_ALONE, ["`system` and `first_user`", "never in the system prompt"]),
        (["system", {"turn": 4}, {"turn": 1}], FACTS_ALONE, ["`system` and `{turn: 1}`"]),
    ],
)
def test_two_places_that_are_one_message_are_told(places: list[Any], more: dict[str, Any], words: list[str]) -> None:
    told = faults({"place": places}, **more)
    assert all(word in told[0] for word in words)
    assert len(told) == 1


def test_places_that_differ_for_a_rule_are_kept() -> None:
    assert len(scenario({"place": ["system", "first_user", {"turn": 4}]}, session={"turns": 20}).cells()) == 3
    assert len(scenario({"place": ["first_user", {"turn": 4}]}, **FACTS_ALONE).cells()) == 2
