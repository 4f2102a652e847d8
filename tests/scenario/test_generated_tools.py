"""Tools whose results are generated, and tool rounds that the filler of a written history makes at regular turns."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from contextrot.errors import ScenarioError
from contextrot.scenario import Scenario, expand, json_schema
from contextrot.scenario.loader import parse_scenario
from contextrot.scenario.tool_output import kinds
from contextrot.tokens import estimate

LOGS = {"name": "query_logs", "description": "Read the logs.", "returns": {"kind": "logs", "tokens": 800}}
CALLS = {"name": "query_logs", "every": 3, "arguments": {"service": "api"}}
BASE: dict[str, Any] = {
    "contextrot": 1,
    "id": "tools",
    "facts": [{"id": "code", "text": "The code is {value}.", "values": ["BLUE-42", "TEAL-7"]}],
    "tools": [LOGS],
    "filler": {"kind": "tickets", "tool_calls": CALLS},
    "session": {"turns": 31, "history": "scripted"},
    "probes": [{"id": "code", "ask": "Code?", "at": "end", "check": {"type": "recall", "fact": "code"}}],
}


def scenario(**more: Any) -> Scenario:
    return parse_scenario(yaml.safe_dump(BASE | more, sort_keys=False), "tools.yaml")


def filler(**more: Any) -> dict[str, Any]:
    return {"kind": "tickets", "tool_calls": CALLS | more}


@pytest.mark.parametrize("kind", kinds())
def test_a_tool_has_eight_results_of_the_size_asked_for(kind: str) -> None:
    tools = [LOGS | {"returns": {"kind": kind, "tokens": 300}}]
    (tool,) = expand(scenario(tools=tools), seed=1, repeat=0, history="live").tools
    assert len(set(tool.returns)) == 8
    assert all(270 <= estimate(text) <= 330 for text in tool.returns)
    if kind == "json":
        assert all(json.loads(text) for text in tool.returns)


def test_results_follow_from_seed_and_repeat() -> None:
    first, again, other, later = (
        expand(scenario(), seed=seed, repeat=repeat).tools[0].returns
        for seed, repeat in ((1, 0), (1, 0), (2, 0), (1, 1))
    )
    assert first == again
    assert len({first, other, later}) == 3


def test_two_tools_of_one_kind_print_different_things() -> None:
    one, two = expand(scenario(tools=[LOGS, LOGS | {"name": "other_logs"}]), seed=1, repeat=0, history="live").tools
    assert not set(one.returns) & set(two.returns)


def test_a_written_history_calls_on_every_third_filler_turn() -> None:
    script = expand(scenario(), seed=1, repeat=0)
    fillers = [turn for turn in script.turns if turn.origin == "filler"]
    assert [n for n, turn in enumerate(fillers, 1) if turn.calls] == list(range(3, 31, 3))
    calls = [call for turn in fillers for call in turn.calls]
    assert {(call.name, call.arguments) for call in calls} == {("query_logs", '{"service":"api"}')}
    assert len({call.result for call in calls}) == len(calls) == 10
    assert all(720 <= estimate(call.result) <= 880 for call in calls)


def test_the_models_own_calls_go_on_where_the_canned_ones_stopped() -> None:
    script = expand(scenario(), seed=1, repeat=0)
    canned = [call.result for turn in script.turns for call in turn.calls]
    live = expand(scenario(), seed=1, repeat=0, history="live").tools[0].returns
    assert canned[:8] == list(live)
    assert not set(script.tools[0].returns) & set(canned)


def test_a_live_history_has_no_canned_round() -> None:
    script = expand(scenario(), seed=1, repeat=0, history="live")
    assert not any(turn.calls for turn in script.turns)
    assert [turn.user for turn in script.turns] == [turn.user for turn in expand(scenario(), seed=1, repeat=0).turns]


def test_a_gold_history_has_the_rounds_and_its_replies_are_graded_with_them() -> None:
    rule = {
        "id": "looks",
        "text": "Look at the logs before you answer.",
        "check": {"type": "tool_call", "name": "query_logs"},
        "place": {"turn": 2},
    }
    facts = [BASE["facts"][0] | {"at": 1}]
    gold = {"turns": 4, "history": "gold"}
    with pytest.raises(ScenarioError, match="keeps constraint `looks`"):
        scenario(constraints=[rule], facts=facts, session=gold, filler=filler(every=2))
    plain = [LOGS | {"returns": ["up", "down"]}]
    made = scenario(tools=plain, filler=filler(every=1), session={"turns": 4, "history": "gold"})
    assert [call.result for turn in expand(made, seed=0, repeat=0).turns for call in turn.calls] == ["up", "down", "up"]


def test_several_calls_keep_their_own_pace_and_items_keep_their_own_rounds() -> None:
    tools = [LOGS | {"returns": ["log"]}, {"name": "pages", "description": "Page someone."}]
    own = {"user": "look", "tool_calls": [{"name": "pages", "result": "paged"}]}
    source = {"items": [own, "two"], "tool_calls": [CALLS | {"every": 2}, {"name": "pages"}]}
    turns = expand(scenario(tools=tools, filler=source), seed=1, repeat=0).turns[1:5]
    assert [[(call.name, call.result) for call in turn.calls] for turn in turns] == [
        [("pages", "paged"), ("pages", '{"status": "ok"}')],
        [("query_logs", "log"), ("pages", '{"status": "ok"}')],
    ] * 2


def test_texts_are_returned_as_before() -> None:
    made = scenario(tools=[LOGS | {"returns": ["one", "two"]}], filler={"kind": "tickets"})
    assert expand(made, seed=0, repeat=0).tools[0].returns == ("one", "two")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"tools": [LOGS | {"returns": {"kind": "lgos"}}]}, ["lgos", "did you mean `logs`"]),
        ({"tools": [LOGS | {"returns": {"kind": "logs", "tokns": 90}}]}, ["unknown key `tokns`", "mean `tokens`"]),
        ({"tools": [LOGS | {"returns": {"tokens": 90}}]}, ["`kind` is missing in `returns`"]),
        ({"tools": [LOGS | {"returns": {"kind": "logs", "tokens": 3}}]}, ["`tokens` is `3`", "at least"]),
        ({"filler": filler(name="query_lgos")}, ["`query_lgos`", "did you mean `query_logs`"]),
        ({"filler": {"kind": "tickets", "tool_calls": [CALLS, CALLS | {"name": "x"}]}}, ["calls the tool `x`"]),
        ({"filler": filler(evry=3)}, ["unknown key `evry`", "did you mean `every`"]),
        ({"filler": filler(every=0)}, ["`every` is `0`", "at least 1"]),
        ({"filler": filler(every=40)}, ["on every 40th filler turn, but session.turns is 31: it never does"]),
        ({"filler": filler(arguments=3)}, ["`arguments`"]),
        ({"filler": {"kind": "tickets", "tool_calls": []}}, ["`tool_calls`", "at least 1"]),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_once_at_its_line(more: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(**more)
    for word in words:
        assert word in str(caught.value)
    assert len(caught.value.problems) == 1, caught.value.problems
    lines = yaml.safe_dump(BASE | more, sort_keys=False).splitlines()
    first = next(n for n, line in enumerate(lines, 1) if line.startswith(next(iter(more))))
    assert int(caught.value.problems[0].split(":")[1]) >= first


def test_an_ambiguous_scalar_in_the_arguments_is_told() -> None:
    text = yaml.safe_dump(BASE, sort_keys=False).replace("service: api", "service: no")
    with pytest.raises(ScenarioError, match="quote it"):
        parse_scenario(text, "tools.yaml")


def test_the_schema_takes_all_forms() -> None:
    schema = Draft202012Validator(json_schema())
    assert schema.is_valid(BASE)
    assert schema.is_valid(BASE | {"filler": {"kind": "tickets", "tool_calls": [CALLS, CALLS]}})
    assert schema.is_valid(BASE | {"tools": [LOGS | {"returns": ["a"]}]})
    for returns in ({"kind": "lgos"}, {"tokens": 100}, [1], "text"):
        assert not schema.is_valid(BASE | {"tools": [LOGS | {"returns": returns}]}), returns
    assert not schema.is_valid(BASE | {"filler": filler(evry=1)})
