"""Tasks in a scenario: which turn belongs to which, by the items' own mark or by counting filler turns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from contextrot.scenario import Scenario, expand, json_schema

BASE: dict[str, Any] = {
    "contextrot": 1,
    "id": "base",
    "facts": [{"id": "code", "text": "Our code is {value}.", "values": ["BLUE-42", "TEAL-7"], "at": 1, "changes": [5]}],
    "session": {"turns": 9},
    "probes": [
        {"id": "forked", "ask": "Code?", "at": [3, "end"], "check": {"type": "recall", "fact": "code"}},
        {"id": "inline", "ask": "Code?", "at": 7, "mode": "inline", "check": {"type": "recall", "fact": "code"}},
    ],
}


def tasks(filler: dict[str, Any], **more: Any) -> list[str]:
    scenario = Scenario.model_validate(BASE | {"filler": filler} | more)
    return [turn.task for turn in expand(scenario, seed=1, repeat=0).turns]


def test_a_generator_marks_every_so_many_filler_turns() -> None:
    #        fact, 3 filler turns,   fact again, filler,   probe,    2 filler turns
    assert tasks({"kind": "tickets", "task_turns": 2}) == [
        "", "task-1", "task-1", "task-2", "task-2", "task-2", "task-2", "task-3", "task-3",
    ]  # fmt: skip


def test_items_name_their_own_and_one_without_is_the_sessions() -> None:
    items = [{"user": "one", "task": "invoice"}, {"user": "two", "task": "invoice"}, "three"]
    assert tasks({"items": items}) == ["", "invoice", "invoice", "", "", "invoice", "invoice", "invoice", ""]


def test_without_marks_there_are_none() -> None:
    assert set(tasks({"kind": "tickets"})) == {""}


@given(every=st.integers(1, 6), turns=st.integers(1, 30))
def test_tasks_are_numbered_in_order_and_none_is_longer(every: int, turns: int) -> None:
    scenario = Scenario.model_validate(
        BASE | {"filler": {"items": ["a", "b"], "task_turns": every}, "session": {"turns": max(9, turns)}}
    )
    script = expand(scenario, seed=1, repeat=0)
    names = [turn.task for turn in script.turns if turn.origin == "filler"]
    assert names == [f"task-{k // every + 1}" for k in range(len(names))]


def test_tasks_say_no_other_words() -> None:
    with_tasks, without = (
        expand(Scenario.model_validate(BASE | {"filler": {"kind": "tickets", **more}}), seed=3, repeat=1)
        for more in ({"task_turns": 2}, {})
    )
    assert [turn.user for turn in with_tasks.turns] == [turn.user for turn in without.turns]


@pytest.mark.parametrize(
    "filler",
    [
        {"kind": "tickets", "task_turns": 0},
        {"kind": "tickets", "task_turns": "two"},
        {"items": [{"user": "one", "task": "a b"}]},
    ],
)
def test_refused_by_model_and_schema(filler: dict[str, Any]) -> None:
    raw = BASE | {"filler": filler}
    with pytest.raises(ValidationError):
        Scenario.model_validate(raw)
    assert not Draft202012Validator(json_schema()).is_valid(raw)


def test_counted_and_named_tasks_do_not_go_together() -> None:
    with pytest.raises(ValidationError, match="use one of the two"):
        Scenario.model_validate(BASE | {"filler": {"items": [{"user": "one", "task": "a"}], "task_turns": 2}})


def test_the_schema_takes_both_forms() -> None:
    schema = Draft202012Validator(json_schema())
    assert schema.is_valid(BASE | {"filler": {"kind": "tickets", "task_turns": 4}})
    assert schema.is_valid(BASE | {"filler": {"items": [{"user": "one", "task": "invoice"}]}})
