"""Tool rounds: one result for every call id, results in turn, and an end to a model that never stops calling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from fault_server import FaultServer, ok, serving
from recorded import ask, calling, of, replies, session, verdicts, write

SCENARIO = """\
contextrot: 1
id: tools
tools:
  - {name: book, description: Book a slot., returns: ['{"slot": 1}', '{"slot": 2}']}
  - {name: look, description: Look it up.}
filler: {items: [first work, second work]}
session: {turns: 2, max_tool_rounds: 3}
probes: [{id: call, ask: Book a slot., at: 2, mode: inline, check: {type: tool_call, name: book}}]
"""


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with serving() as started:
        yield started


def exchanged(body: dict[str, Any]) -> tuple[list[str], list[tuple[str, str]]]:
    """Ids of the calls in a request, and (id, content) of the results."""
    ids = [call["id"] for message in body["messages"] for call in message.get("tool_calls", ())]
    return ids, [(m["tool_call_id"], m["content"]) for m in body["messages"] if m["role"] == "tool"]


def test_results_come_in_turn_one_for_each_call_and_a_tool_that_is_not_there_is_an_error(
    server: FaultServer, tmp_path: Path
) -> None:
    server.plays(
        ok(**calling(("a", "book", "{}"), ("b", "book", "{}"), ("c", 'no "such"', "{}"), ("d", "look", "{}"))),
        ok(**calling(("e", "book", '{"broken'))),
        ok("done"),
    )
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO))
    ids, results = exchanged(server.seen[2])
    assert ids == ["a", "b", "c", "d", "e"]
    assert [id_ for id_, _ in results] == ids
    said = [content for _, content in results]
    assert said[:2] == ['{"slot": 1}', '{"slot": 2}']
    assert orjson.loads(said[2]) == {"error": 'there is no tool named no "such"'}
    assert said[3:] == ['{"status": "ok"}', '{"slot": 1}']
    # The tools were offered at every call.
    offered = [[tool["function"]["name"] for tool in body["tools"]] for body in server.seen]
    assert offered == [["book", "look"]] * len(server.seen)


@pytest.mark.parametrize(
    ("first", "second"),
    [(("", ""), ("", "")), (("same", "same"), ("same", "same")), (("call_1_0_1", ""), ("call_1_0_0", "call_1_1_0"))],
    ids=["missing", "duplicate", "taken"],
)
def test_ids_that_are_missing_or_come_twice_are_made_unique(
    first: tuple[str, str], second: tuple[str, str], server: FaultServer, tmp_path: Path
) -> None:
    """Within a reply and over the session: a provider refuses a prompt in which an id stands twice."""
    server.plays(
        ok(**calling(*((id_, "book", "{}") for id_ in first))),
        ok(**calling(*((id_, "book", "{}") for id_ in second))),
        ok("done"),
    )
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO))
    ids, results = exchanged(server.seen[-1])
    assert len(ids) == len(set(ids)) == 4
    assert all(ids)
    assert [id_ for id_, _ in results] == ids
    wanted = [id_ for id_ in (*first, *second) if id_]
    assert set(wanted) <= set(ids)


def test_a_model_that_never_stops_calling_is_stopped_and_the_session_goes_on(
    server: FaultServer, tmp_path: Path
) -> None:
    server.plays(*[ok(**calling((f"{n}", "look", "{}"))) for n in range(4)], ok("done"))
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO))
    records = session(tmp_path / "run")
    assert [r["turn"] for r in of(records, "call")] == [1, 1, 1, 1, 2]
    (event,) = of(records, "event", name="tool_rounds_limit")
    assert (event["turn"], event["detail"]) == (1, {"rounds": 4})
    ids, results = exchanged(server.seen[-1])
    assert [id_ for id_, _ in results] == ids == ["0", "1", "2", "3"]
    assert records[-1]["ended"] == "completed"


def test_a_call_of_the_first_round_counts_whatever_is_said_last(server: FaultServer, tmp_path: Path) -> None:
    server.plays(ok("fine"), ok(**calling(("x", "book", "{}"))), ok("It is booked."))
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO))
    assert verdicts(tmp_path / "run") == [("call", 2, "pass")]


def test_a_tool_that_is_only_spoken_of_does_not_count(server: FaultServer, tmp_path: Path) -> None:
    server.plays(ok("It is booked."))
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO))
    assert verdicts(tmp_path / "run") == [("call", 2, "fail")]
    (verdict,) = of(session(tmp_path / "run"), "verdict")
    # The tools go out with every call, so there was nothing to lose.
    assert (verdict["in_view"], verdict["cause"]) == (None, "ignored")


def test_no_two_asks_of_the_helper_in_one_turn_share_a_seed(server: FaultServer, tmp_path: Path) -> None:
    asked: list[int] = []

    def speak(body: dict[str, Any]) -> Any:
        if "tools" not in body:
            return "They looked at slots."
        asked.append(0)
        return calling((f"id{len(asked)}", "book", "{}")) if len(asked) <= 3 else "done"

    server.plays(replies(speak))
    scenario = SCENARIO.replace('{"slot": 1}', "free " * 300).replace('{"slot": 2}', "taken " * 300)
    strategy = {"type": "rolling_summary", "trigger": {"messages": 2}, "keep": {"messages": 1}, "retries": 9}
    ask(server, tmp_path / "run", write(tmp_path, scenario), strategies=[strategy])
    helped = of(session(tmp_path / "run"), "call", purpose="auxiliary")
    seeds = [body["seed"] for body in server.seen if "tools" not in body]
    assert [call["turn"] for call in helped].count(1) > 1
    assert len(seeds) == len(helped) == len(set(seeds))
