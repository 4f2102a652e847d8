"""Offloading: digest and handle in the window, the payload readable for ever, byte for byte."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from histories import COUNTER, Helper, Said, Session, tasked_histories
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextrot.errors import BudgetError, ConfigError
from contextrot.log import Log
from contextrot.messages import ToolCall, assistant, system, tool_result, user
from contextrot.outcomes import Status
from contextrot.strategies import Request, Strategy, View, load_strategy
from contextrot.strategies.offload import READ_TOOL

HANDLE = re.compile(r"\[offload:([^\]]+)\]")
OFFLOAD: dict[str, Any] = {"type": "offload", "over": {"tokens": 50}, "max_tokens": 60}
LINES = "\n".join(f"line {k}: value {k * 7}" for k in range(100))


def call(name: str = "look", id_: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id_, name, json.dumps(arguments))


def log_with(payload: str, *, seen: bool = True) -> Log:
    log = Log(COUNTER.message)
    log.append(system("rules"), turn=0)
    log.append(user("look it up"), turn=1)
    log.append(assistant(None, [call()]), turn=1)
    log.append(tool_result("c1", payload), turn=1)
    if seen:
        log.append(assistant("it says 42"), turn=1)
        log.append(user("and now?"), turn=2)
    return log


def view_of(raw: Any, log: Log, budget: int = 4000, state: dict[str, Any] | None = None) -> View:
    request = Request(budget, budget, 2, COUNTER.message, Helper())
    return asyncio.run(load_strategy(raw).view(log, state or {}, request))


def read(strategy: Strategy, log: Log, view: View, **arguments: Any) -> str:
    text = strategy.answer(call(READ_TOOL.name, **arguments), log, json.loads(json.dumps(view.state)))
    assert text is not None
    return text


def test_a_seen_payload_becomes_a_digest_and_reads_back_equal() -> None:
    log = log_with(LINES)
    view = view_of(OFFLOAD, log)
    assert list(view.manifest)[3] is Status.OFFLOADED
    digest = view.messages[3]
    header, *begins = digest.text.splitlines()
    assert header == (
        f"[offload:m3] result of look, text, {log[3].tokens} tokens, {len(LINES):,} characters, 100 lines. It begins:"
    )
    assert begins[:2] == ["line 0: value 0", "line 1: value 7"]
    assert digest.tool_call_id == "c1"
    assert COUNTER.message(digest) <= 60
    assert view.tools == (READ_TOOL,)
    assert [event.name for event in view.events] == ["offload"]
    strategy = load_strategy(OFFLOAD)
    assert read(strategy, log, view, handle="m3") == LINES
    assert read(strategy, log, view, handle="[offload:m3]") == LINES


def test_parts_and_queries() -> None:
    log = log_with(LINES)
    view, strategy = view_of(OFFLOAD, log), load_strategy(OFFLOAD)
    assert read(strategy, log, view, handle="m3", offset=5, limit=10) == LINES[5:15]
    assert read(strategy, log, view, handle="m3", offset="5") == LINES[5:]
    assert read(strategy, log, view, handle="m3", query="VALUE 69") == "line 99: value 693"
    long = "x" * 2000 + "needle" + "y" * 2000
    found = read(strategy, log_with(long), view_of(OFFLOAD, log_with(long)), handle="m3", query="needle")
    assert found == "…" + "x" * 200 + "needle" + "y" * 200 + "…"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"handle": "m99"}', "there is no text with the handle m99"),
        ('{"handle": "secret"}', "there is no text with the handle secret"),
        ('{"handle": "m-1"}', "no text with the handle"),
        ('{"handle": "m²"}', "no text with the handle"),
        ('{"handle": "m0"}', "no text with the handle m0"),  # the system message
        ("{", "must be a JSON object with a handle"),
        ('["m3"]', "must be a JSON object with a handle"),
        ('{"handle": 3}', "must be a JSON object with a handle"),
        ('{"handle": "m3", "offset": "ten"}', "whole numbers of characters"),
        ('{"handle": "m3", "offset": 99999}', "behind its end"),
        ('{"handle": "m3", "query": "nowhere"}', "no line contains nowhere"),
    ],
)
def test_what_cannot_be_read_is_answered_with_an_error(arguments: str, said: str) -> None:
    answer = load_strategy(OFFLOAD).answer(ToolCall("r", READ_TOOL.name, arguments), log_with(LINES), {})
    assert answer is not None
    assert said in json.loads(answer)["error"]


def test_other_tools_are_not_its_own() -> None:
    assert load_strategy(OFFLOAD).answer(call("look"), log_with(LINES), {}) is None


def test_nothing_large_nothing_done() -> None:
    log = log_with("short")
    view = view_of(OFFLOAD, log)
    assert set(view.manifest) == {Status.VERBATIM}
    assert view.tools == ()
    assert view.events == ()


def test_a_result_is_seen_whole_before_it_goes() -> None:
    log = log_with(LINES, seen=False)
    assert set(view_of(OFFLOAD, log).manifest) == {Status.VERBATIM}
    with pytest.raises(BudgetError):
        view_of(OFFLOAD, log, budget=300)


def test_unseen_lets_a_result_in_that_no_window_holds() -> None:
    log = log_with(LINES, seen=False)
    raw = OFFLOAD | {"unseen": True}
    view = view_of(raw, log, budget=300)
    assert list(view.manifest)[3] is Status.OFFLOADED
    # what was read stays whole while the model has not seen it, and is a digest where it does not fit
    log.append(assistant(None, [call(READ_TOOL.name, "r1", handle="m3")]), turn=1)
    log.append(tool_result("r1", LINES), turn=1)
    assert list(view_of(raw, log, 4000, view.state).manifest)[5] is Status.VERBATIM
    small = view_of(raw, log, 400, view.state)
    assert list(small.manifest)[5] is Status.OFFLOADED
    assert f"[offload:m5] result of {READ_TOOL.name}" in small.messages[-1].text


def test_the_tool_schema_is_paid_from_the_budget() -> None:
    log = log_with(LINES)
    view = view_of(OFFLOAD, log)
    schema = COUNTER.tools([READ_TOOL])
    with pytest.raises(BudgetError):
        view_of(OFFLOAD, log, budget=schema + 10)
    assert view_of(OFFLOAD, log, budget=view.tokens + schema + 4).tokens == view.tokens
    assert view_of(OFFLOAD, log, budget=view.tokens + schema - 1).tokens < view.tokens


def test_user_messages_and_pins() -> None:
    log = Log(COUNTER.message)
    for number, pinned in enumerate((False, True)):
        log.append(user(f"{number} " + "word " * 80), turn=number, pinned=pinned)
        log.append(assistant("ok"), turn=number)
    log.append(user("now " + "word " * 80), turn=3)
    assert set(view_of(OFFLOAD, log).manifest) == {Status.VERBATIM}
    view = view_of(OFFLOAD | {"user_messages": True}, log)
    assert [status.value for status in view.manifest] == ["offloaded", *["verbatim"] * 4]
    assert "message of the user" in view.messages[0].text


def test_the_default_is_a_tenth_of_the_window_and_stays_what_it_was() -> None:
    log = log_with("word " * 90)
    view = view_of("offload", log, 1000)
    assert list(view.manifest)[3] is Status.VERBATIM
    assert list(view_of("offload", log, 800).manifest)[3] is Status.OFFLOADED
    assert list(view_of("offload", log, 800, view.state).manifest)[3] is Status.VERBATIM


def test_digests_stay_the_same_bytes() -> None:
    run = Session(load_strategy(OFFLOAD), window=4000)
    digests: dict[int, set[str]] = {}
    for number in range(12):
        id_ = f"c{number}"
        run.run([Said(user("go"), True), Said(assistant(None, [call(id_=id_)]), False)])
        run.run([Said(tool_result(id_, LINES[number:]), True), Said(assistant("ok"), False)])
        run.add(Said(user("next"), True))
        view = run.view().view
        assert view is not None
        for message in view.messages:
            for handle in HANDLE.findall(message.text):
                digests.setdefault(int(handle[1:]), set()).add(message.text)
    assert len(digests) == 12
    assert all(len(texts) == 1 for texts in digests.values())


def test_the_state_of_full_inside_counts_the_digests() -> None:
    log = log_with(LINES)
    view = view_of(OFFLOAD | {"inner": "full"}, log, budget=350)
    assert log.tokens > 350
    assert view.tokens == sum(COUNTER.message(message) for message in view.messages) < 350


INNERS: list[Any] = [
    "full",
    "fifo",
    {"type": "observation_masking", "keep_last": 2},
    {"type": "rolling_summary", "trigger": {"tokens": 200}, "keep": {"turns": 1}, "max_tokens": 30},
    {"type": "budget_guard", "tool_output": {"tokens": 60}},
    {"type": "offload", "over": {"tokens": 20}, "max_tokens": 20},
    {"type": "re_anchor", "inner": "fifo", "every_n_turns": 1},
]


@pytest.mark.parametrize("inner", INNERS, ids=str)
@pytest.mark.parametrize("outer", ["none", "guard", "re_anchor"])
@given(history=tasked_histories(), window=st.sampled_from((400, 900, 4000)))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_handle_in_any_view_reads_back_equal_for_ever(
    inner: Any, outer: str, history: list[Said], window: int
) -> None:
    raw: Any = {**OFFLOAD, "max_tokens": 40, "inner": inner}
    if outer == "guard":
        raw = {"type": "budget_guard", "system": {"fraction": 1.0}, "tool_output": {"tokens": 70}, "inner": raw}
    elif outer == "re_anchor":
        raw = {"type": "re_anchor", "every_n_turns": 1, "inner": raw}
    run = Session(load_strategy(raw), window=window)
    given_out: set[str] = set()
    for said in history:
        run.add(said)
        if not said.asks:
            continue
        view = run.view().view
        if view is None:
            continue
        found = {h for message in view.messages for h in HANDLE.findall(message.text)}
        assert not found or READ_TOOL in view.tools
        assert [tool.name for tool in view.tools].count(READ_TOOL.name) <= 1
        given_out |= found
        for handle in given_out:
            assert read(run.strategy, run.log, view, handle=handle) == run.log[int(handle[1:])].message.text


def test_handles_survive_a_structured_compaction() -> None:
    raw = OFFLOAD | {"inner": {"type": "structured_compaction", "trigger": {"tokens": 400}, "keep": {"turns": 1}}}
    run = Session(load_strategy(raw), window=1500)
    run.run([Said(user("look"), True), Said(assistant(None, [call()]), False), Said(tool_result("c1", LINES), True)])
    for _ in range(8):
        run.run([Said(assistant("word " * 40), False), Said(user("word " * 40), True)])
    view = run.view().view
    assert view is not None
    assert list(view.manifest)[2] is Status.SUMMARISED
    assert any("[offload:m2]" in message.text for message in view.messages)
    assert read(run.strategy, run.log, view, handle="m2") == LINES


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="how large a payload is"):
        load_strategy({"type": "offload", "over": {"turns": 2}})
    with pytest.raises(ConfigError, match="max_tokens"):
        load_strategy({"type": "offload", "max_tokens": 3})


def test_pins_are_the_inner_strategys_wish() -> None:
    assert not load_strategy("offload").wants_pins()
    assert load_strategy({"type": "offload", "inner": "pinned"}).wants_pins()
