"""A turn costs 1 + `retries` asks of the helper model at most: in a tool loop, on a branch, and in `render`."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest
from histories import COUNTER, FORMS, Helper, Said, Session
from test_strategy_invariants import MOODS, most_asks

from contextrot import render
from contextrot.errors import BudgetError, ContextOverflowError
from contextrot.log import Log
from contextrot.messages import Message, Reply, ToolCall, assistant, system, tool_result, user
from contextrot.strategies import load_strategy

#: Every way in which a strategy asks a helper model.
ASKING: dict[str, dict[str, Any]] = {
    "rolling": {"type": "rolling_summary", "trigger": {"tokens": 300}, "keep": {"turns": 1}, "max_tokens": 40},
    "rolling-messages": {"type": "rolling_summary", "trigger": {"messages": 3}, "keep": {"messages": 2}},
    "rolling-anew": {"type": "rolling_summary", "incremental": False, "trigger": {"tokens": 300}, "keep": {"turns": 1}},
    "rolling-once": {"type": "rolling_summary", "trigger": {"messages": 3}, "keep": {"messages": 2}, "retries": 0},
    "structured": {"type": "structured_compaction", "trigger": {"tokens": 300}, "keep": {"messages": 2}},
    "dual": {"type": "dual_memory", "trigger": {"tokens": 300}, "keep": {"messages": 2}},
    "state": {"type": "state_extraction", "keep": {"messages": 2}, "max_tokens": 80},
    "reset": {"type": "reset_per_task", "handoff": "summary", "max_tokens": 40},
    "episodic": {"type": "episodic_ttl", "ttl_turns": 2, "episode_turns": 1, "compress": True, "max_tokens": 40},
    "episodic-tasks": {
        "type": "episodic_ttl", "ttl_turns": 1, "episodes": "tasks", "compress": True, "max_tokens": 40,
    },
}  # fmt: skip
ASKING |= {
    f"{wrapper}-{name}": {"type": wrapper, "inner": ASKING[name], **more}
    for name in ("rolling-messages", "state")
    for wrapper, more in (
        ("re_anchor", {"every_n_turns": 1}),
        ("offload", {"over": {"tokens": 60}}),
        ("budget_guard", {"system": {"fraction": 1.0}}),
    )
}
asking = pytest.mark.parametrize("name", ASKING)


class Down(Helper):
    """A helper whose window is smaller than what it is asked."""

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        self.asks.append("")
        raise ContextOverflowError("the prompt is too long")


def tool_loops(turns: int, rounds: int, words: int) -> Iterator[Said]:
    """Turns of many tool rounds; every third belongs to another task."""
    yield Said(system("rules"), False)
    for turn in range(turns):
        task = f"task{turn // 3}"
        yield Said(
            user(
                f"ask-{turn} " + "word " * words,
            ),
            True,
            standing=turn == 0,
            task=task,
        )
        for k in range(rounds):
            call = ToolCall(f"c{turn}-{k}", "look")
            yield Said(assistant(None, [call]), False, task=task)
            yield Said(tool_result(call.id, f"result-{turn}-{k} " + "word " * words), True, task=task)
        yield Said(assistant(f"answer-{turn} " + "word " * words), False, task=task)


@asking
@pytest.mark.parametrize("mood", [*MOODS, "down"])
@pytest.mark.parametrize("window", [700, 1500])
def test_a_tool_loop_asks_no_more_than_a_turn_may(name: str, mood: str, window: int) -> None:
    strategy = load_strategy(ASKING[name])
    run = Session(strategy, window=window, helper=Down() if mood == "down" else Helper(mood))
    asks: Counter[int] = Counter()
    for step in run.run(list(tool_loops(8, 5, 50))):
        assert step.view is not None
        assert step.view.aux_calls == step.asks
        asks[step.request.turn] += step.asks
    assert 0 < max(asks.values()) <= most_asks(strategy)


@asking
def test_a_helper_that_is_fine_again_is_asked_in_the_next_turn(name: str) -> None:
    run = Session(load_strategy(ASKING[name]), window=700, helper=Helper("empty"))
    history = list(tool_loops(8, 5, 50))
    for said in history:
        run.run([said])
        if run.helper.asks:
            break
    run.helper.mood = "good"
    run.run(history[history.index(said) + 1 :])
    assert run.helper.taken


@asking
def test_a_branch_has_the_asks_its_turn_has_left_and_takes_none_from_the_session(name: str) -> None:
    run = Session(load_strategy(ASKING[name]), window=700, helper=Helper("empty"))
    used: Counter[int] = Counter()
    for said in tool_loops(8, 5, 50):
        for step in run.run([said]):
            used[run.turn] += step.asks
            before = deepcopy(run.state)
            branch = Session(run.strategy, window=700, helper=Helper("empty"), log=run.log.fork())
            branch.turn, branch.state = run.turn, deepcopy(run.state)
            branch.add(Said(user("probe"), True))
            branch.turn = run.turn  # as in a bench: a probe belongs to the turn after which it is asked
            assert branch.view().asks <= most_asks(run.strategy) - used[run.turn]
            assert run.state == before


def dicts(history: Sequence[Said]) -> list[dict[str, Any]]:
    return [said.message.to_dict() for said in history]


@asking
@pytest.mark.parametrize("mood", MOODS)
@pytest.mark.parametrize("window", [500, 900, 4000])
def test_render_asks_no_more_than_a_turn_may(name: str, mood: str, window: int) -> None:
    strategy = load_strategy(ASKING[name])
    helper, asked = Helper(mood), []

    def summarizer(messages: list[dict[str, Any]]) -> Any:
        asked.append(messages)
        prompt = messages[0]["content"]
        purpose = next((p for p, word in PURPOSES.items() if word in prompt), "summary")
        parsed = [Message.from_dict(message) for message in messages]
        reply = asyncio.run(helper.ask(parsed, max_tokens=0, purpose=purpose))
        return {
            "content": reply.text,
            "finish_reason": reply.finish_reason,
            "tool_calls": [call.to_dict() for call in reply.tool_calls],
        }

    history = [*tool_loops(12, 3, 60), Said(user("now"), True)]
    try:
        view = render(strategy, dicts(history), window=window, summarizer=summarizer)
    except BudgetError:
        assert not asked
        return
    assert len(asked) == view.aux_calls <= most_asks(strategy)
    assert view.tokens <= window
    if view.aux_calls and not helper.taken:  # nobody condensed anything: what is not there verbatim is said to be gone
        assert "summarised" not in view.manifest or name.startswith("structured")


#: A word of each prompt that asks for JSON.
PURPOSES = {"compaction": "open_questions", "memory": "operations", "state": "task_status"}


def test_what_render_had_no_ask_left_for_stays_verbatim_as_far_as_there_is_room() -> None:
    history = [Said(user(f"ask-{k} " + "word " * 100), True) for k in range(30)]
    raw = {"type": "rolling_summary", "keep": {"turns": 1}, "max_tokens": 40}
    view = render(raw, dicts(history), window=800, summarizer=lambda messages: "they asked")
    statuses = "".join(status[0] for status in view.manifest)
    covered, gone, shown = (statuses.count(letter) for letter in "sdv")
    assert statuses == "s" * covered + "d" * gone + "v" * shown
    assert covered > 3
    assert gone > 0
    assert view.tokens + COUNTER.message(history[0].message) > 800  # no further message had room
    names = [event.name for event in view.events]
    assert names == ["compaction", "summary_unfinished", "fallback"]
    assert view.aux_calls == 3


@asking
def test_a_state_of_before_this_rule_is_read(name: str) -> None:
    run = Session(load_strategy(ASKING[name]), window=700)
    history = list(tool_loops(8, 5, 50))
    run.run(history[:60])
    older = json.loads(json.dumps(run.state), object_hook=without_asks)
    log = Log(COUNTER.message)
    again = Session(run.strategy, window=700, log=log)
    for said in history[:60]:
        again.add(said)
    again.state = older
    assert all(step.view is not None for step in again.run(history[60:]))


def without_asks(state: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in state.items() if key not in ("turn", "asks")}


def test_the_forms_a_helper_is_asked_for_are_known_here() -> None:
    assert set(PURPOSES) == set(FORMS)
