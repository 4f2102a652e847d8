"""`render` takes what people have: dicts, a callable, pins by index; and says what is wrong with them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import contextrot as cr
from contextrot.errors import BudgetError, ConfigError, MalformedHistoryError
from contextrot.messages import Reply, Tool
from contextrot.render import render

ROLLING = {"type": "rolling_summary", "trigger": {"tokens": 100}, "keep": {"turns": 1}}


def history(turns: int = 4) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "rules"}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"ask-{turn} " + "word " * 40, "name": "ann"})
        messages.append({"role": "assistant", "content": "word " * 40})
    return [*messages, {"role": "user", "content": [{"type": "text", "text": "now"}]}]


def test_verbatim_messages_come_out_as_they_went_in() -> None:
    given = [{"role": "developer", "content": "rules"}, *history()[1:]]
    given[-2] = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"q": 1}}}]}
    given.insert(-1, {"role": "tool", "tool_call_id": "a", "content": "r"})
    view = render("full", given, window=4000)
    assert list(view.messages) == given
    assert view.manifest == ("verbatim",) * len(given)
    view.messages[-1]["content"][0]["text"] = "changed"
    assert given[-1]["content"][0]["text"] == "now"


def test_sync_async_and_awaitable_summarizers_inside_and_outside_a_loop() -> None:
    async def asynchronous(messages: list[dict[str, Any]]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"content": "notes", "finish_reason": "stop"}

    class Client:
        async def __call__(self, messages: list[dict[str, Any]]) -> str:
            return "notes"

    def nested(messages: list[dict[str, Any]]) -> str:
        return asyncio.run(asynchronous(messages))["content"]  # works only where no loop runs

    outside = (lambda messages: "notes", asynchronous, lambda messages: asynchronous(messages), Client(), nested)
    views = [render(ROLLING, history(), window=900, summarizer=helper) for helper in outside]

    async def within() -> list[Any]:
        return [render(ROLLING, history(), window=900, summarizer=helper) for helper in outside[:-1]]

    views += asyncio.run(within())
    assert all(view == views[0] for view in views)
    assert views[0].messages[1]["content"].endswith("\nnotes")
    assert views[0].manifest == ("verbatim", *["summarised"] * 8, "verbatim")
    assert views[0].aux_calls == 1


def test_a_summarizer_that_raises_or_returns_something_else_is_a_failed_call() -> None:
    def raises(messages: list[dict[str, Any]]) -> str:
        raise OSError("no network")

    for helper, said in ((raises, "OSError: no network"), (lambda m: 7, "returned int"), (lambda m: None, "empty")):
        view = render(ROLLING, history(), window=900, summarizer=helper)
        assert view.manifest == ("verbatim",) * 10
        assert all(said in event.detail["reason"] for event in view.events)


def test_a_reply_object_will_do() -> None:
    view = render(ROLLING, history(), window=900, summarizer=lambda messages: Reply("notes"))
    assert view.aux_calls == 1


def test_tools_take_their_share_of_the_window() -> None:
    tool = Tool("look", "word " * 100, {"type": "object"})
    plain, with_tool = render("fifo", history(), window=250), render("fifo", history(), window=250, tools=[tool])
    assert len(with_tool.messages) < len(plain.messages)
    assert render("fifo", history(), window=250, tools=[tool.to_dict()]) == with_tool


def test_turns_are_numbered_by_user_messages() -> None:
    view = render({"type": "fifo", "keep": {"turns": 2}}, history(), window=4000)
    assert view.manifest == ("verbatim", *["dropped"] * 6, *["verbatim"] * 3)


def test_role_rules_keep_within_the_window_and_count_what_is_sent() -> None:
    view = render({"type": "fifo", "keep": {"messages": 2}}, history(), window=80, roles="strict_alternation")
    assert [message["role"] for message in view.messages] == ["system", "user", "assistant", "user"]
    assert view.tokens <= 80


def test_what_repair_leaves_out_is_in_the_manifest() -> None:
    given = [{"role": "tool", "tool_call_id": "zz", "content": "r"}, {"role": "user", "content": "now"}]
    view = render("full", given, window=400, on_malformed="repair", pins=[0])
    assert view.manifest == ("dropped", "verbatim")
    with pytest.raises(MalformedHistoryError, match="message 0 is a tool result for 'zz'"):
        render("full", given, window=400)


CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}
USER = {"role": "user", "content": "hello"}


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([USER, CALL, USER], "message 1 calls tools"),
        ([USER, CALL, {"role": "tool", "content": "r"}], "message 2 is a tool result for None"),
        ([{"role": "bot", "content": "x"}], "message 0: a message has the role 'bot'"),
        (["hello"], "message 0 is str"),
        ([{"role": "user", "content": 7}], "message 0 has a content"),
        ([{"role": "assistant", "content": "", "tool_calls": ["a"]}], "message 0 has tool_calls"),
    ],
)
def test_malformed_histories_are_named(messages: list[Any], said: str) -> None:
    with pytest.raises(MalformedHistoryError, match=said):
        render("fifo", messages, window=400)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"window": 0}, "window is 0"),
        ({"window": "8k"}, "window is '8k'"),
        ({"pins": [4]}, "pins names message 4"),
        ({"pins": [-1]}, "pins names message -1"),
        ({"on_malformed": "skip"}, "on_malformed is 'skip'"),
        ({"roles": "gemini"}, "unknown role rules 'gemini'"),
    ],
)
def test_wrong_options_are_sentences(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        render("fifo", [USER], **({"window": 400} | options))


def test_the_budget_error_has_a_table() -> None:
    with pytest.raises(BudgetError) as error:
        render("fifo", history(), window=10, pins=[1])
    assert set(error.value.components) >= {"system", "pins", "current user message", "budget"}
    assert error.value.components["total"] > error.value.components["budget"] == 10


def test_an_empty_history_is_an_empty_view() -> None:
    for strategy in ("full", "fifo", "pinned", "observation_masking", "rolling_summary"):
        view = render(strategy, [], window=100, summarizer=lambda messages: "notes")
        assert (view.messages, view.manifest, view.tokens) == ((), (), 0)


def test_the_name_is_the_function_whatever_was_imported_first() -> None:
    assert cr.render is render
