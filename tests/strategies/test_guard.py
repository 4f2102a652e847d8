"""The budget guard: no component passes its share, whatever is inside; what must stay is never cut."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from histories import COUNTER, Helper, Said, Session, tasked_histories
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextrot.errors import BudgetError, ConfigError
from contextrot.log import Log
from contextrot.messages import ToolCall, assistant, system, tool_result, user
from contextrot.outcomes import Status
from contextrot.strategies import Request, View, load_strategy

WIDE = {"system": {"fraction": 1.0}, "history": {"fraction": 1.0}, "tool_output": {"fraction": 1.0}}


def guard(**more: Any) -> dict[str, Any]:
    return {"type": "budget_guard", **WIDE, "retrieved": {"fraction": 1.0}, **more}


def round_(log: Log, name: str, text: str) -> None:
    log.append(assistant(None, [ToolCall(name, "look")]), turn=1)
    log.append(tool_result(name, text), turn=1)


def log_of(*payloads: str) -> Log:
    log = Log(COUNTER.message)
    log.append(system("word " * 20), turn=0)
    log.append(user("look"), turn=1)
    for number, payload in enumerate(payloads):
        round_(log, f"c{number}", payload)
    log.append(assistant("done"), turn=1)
    log.append(user("now"), turn=2)
    return log


def view_of(raw: Any, log: Log, budget: int = 4000) -> View:
    request = Request(budget, budget, 2, COUNTER.message, Helper())
    return asyncio.run(load_strategy(raw).view(log, {}, request))


def test_under_all_shares_nothing_is_done() -> None:
    log = log_of("word " * 100)
    view = view_of("budget_guard", log)
    assert set(view.manifest) == {Status.VERBATIM}
    assert view.events == ()


def test_a_long_output_is_cut_in_the_middle() -> None:
    text = " ".join(f"w{k}" for k in range(200))
    log = log_of(text)
    view = view_of(guard(tool_output={"tokens": 80}), log)
    cut = view.messages[3]
    assert list(view.manifest)[3] is Status.MASKED
    assert COUNTER.message(cut) <= 80
    head, marker, tail = cut.text.split("\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert abs(len(head) - len(tail)) <= 1
    assert marker.startswith("[… about ")
    assert f" of {log[3].tokens} tokens cut here" in marker
    assert [event.detail["component"] for event in view.events] == ["tool_output"]


def test_outputs_together_are_brought_under_the_share_from_the_oldest_on() -> None:
    log = log_of("word " * 40, "word " * 40, "word " * 40)
    view = view_of(guard(tool_output={"tokens": 110}), log)
    assert [status.value for status in view.manifest] == [
        "verbatim", "verbatim", "verbatim", "masked", *["verbatim"] * 6
    ]  # fmt: skip
    assert view.messages[3].text == "[tool output cut: 44 tokens]"
    view = view_of(guard(tool_output={"tokens": 90}), log)  # the marker itself has no room, so the round goes
    assert [status.value for status in view.manifest][2:4] == ["dropped", "dropped"]


def test_an_output_the_model_has_not_seen_is_never_cut() -> None:
    log = Log(COUNTER.message)
    log.append(user("look"), turn=1)
    round_(log, "c", "word " * 300)
    view = view_of(guard(tool_output={"tokens": 20}), log)
    assert set(view.manifest) == {Status.VERBATIM}


def test_history_goes_oldest_first() -> None:
    log = Log(COUNTER.message)
    for number in range(5):
        log.append(user("word " * 20), turn=number, pinned=number == 0)
        log.append(assistant("word " * 20), turn=number)
    log.append(user("now"), turn=5)
    view = view_of(guard(inner="full", history={"tokens": 100}), log)
    values = [status.value for status in view.manifest]
    assert values == ["verbatim", *["dropped"] * 7, "verbatim", "verbatim", "verbatim"]
    assert [event.detail["component"] for event in view.events] == ["history"]
    assert view.tokens <= 100


def test_system_over_its_share_is_an_error() -> None:
    with pytest.raises(BudgetError, match=r"system messages take 24 tokens, more than their share of 20 tokens"):
        view_of(guard(system={"tokens": 20}), log_of())


def test_a_compaction_inside_happens_at_the_shares() -> None:
    inner = {"type": "rolling_summary", "trigger": {"fraction": 0.8}, "keep": {"turns": 1}, "max_tokens": 30}
    log = Log(COUNTER.message)
    for number in range(8):
        log.append(user("word " * 30), turn=number)
        log.append(assistant("word " * 30), turn=number)
    log.append(user("now"), turn=8)
    raw = {"type": "budget_guard", "inner": inner, "history": {"tokens": 300}, "tool_output": {"tokens": 1}}
    view = view_of(raw | {"retrieved": {"tokens": 1}}, log, 2000)
    assert "compaction" in [event.name for event in view.events]
    assert not any(event.name == "budget_guard" for event in view.events)
    assert Status.DROPPED not in set(view.manifest)


def test_retrieved_beyond_its_share_is_left_out() -> None:
    log = Log(COUNTER.message)
    for number in range(12):
        log.append(user(f"the invoice number {number} is overdue " * 3), turn=number)
        log.append(assistant("noted"), turn=number)
    log.append(user("which invoice is overdue?"), turn=12)
    run = Session(load_strategy(guard(inner={"type": "retrieval", "top_k": 6, "recent": {"turns": 1}})), log=log)
    run.window = 4000
    free = run.view().view
    run = Session(
        load_strategy(guard(inner={"type": "retrieval", "top_k": 6, "recent": {"turns": 1}}, retrieved={"tokens": 60})),
        log=log,
    )
    run.window = 4000
    held = run.view().view
    assert free is not None
    assert held is not None
    taken = [
        sum(log[i].tokens for i, status in enumerate(view.manifest) if status is Status.RETRIEVED)
        for view in (free, held)
    ]
    assert taken[0] > 60 >= taken[1] > 0


SHARES = {"history": {"tokens": 90}, "tool_output": {"tokens": 60}, "retrieved": {"tokens": 50}}
INNERS: list[Any] = [
    "full",
    "fifo",
    "pinned",
    "isolate",
    {"type": "observation_masking", "keep_last": 1},
    {"type": "rolling_summary", "trigger": {"tokens": 150}, "keep": {"turns": 1}, "max_tokens": 30},
    {"type": "offload", "over": {"tokens": 40}, "max_tokens": 30},
    {"type": "retrieval", "top_k": 3, "recent": {"turns": 1}},
]


@pytest.mark.parametrize("inner", INNERS, ids=str)
@given(history=tasked_histories(), window=st.sampled_from((150, 400, 900, 4000)))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_component_passes_its_share_but_for_what_must_stay(inner: Any, history: list[Said], window: int) -> None:
    run = Session(load_strategy(guard(inner=inner, **SHARES)), window=window)
    for said in history:
        run.add(said)
        if not said.asks:
            continue
        view = run.view().view
        if view is None:
            continue
        log, statuses = run.log, list(view.manifest)
        spoken = -1 if log.last_assistant is None else log.last_assistant
        fixed = {*log.always, *log.open_units}
        fixed |= {log.unit_of(k) for k in range(spoken + 1, len(log)) if log.messages[k].role == "tool"}
        fixed |= {log.unit_of(log.current_user or 0)}
        unit_of_call = {
            call.id: number
            for number, unit in enumerate(log.units)
            for call in log.messages[unit.indices[0]].tool_calls
        }
        cuttable = {"tool_output": 0, "retrieved": 0, "history": 0}
        total = dict(cuttable)
        for position, message in enumerate(view.messages):
            source = view.sources[position]
            if message.role == "system":
                continue
            name = "tool_output" if message.role == "tool" else "history"
            if name == "history" and source is not None and statuses[source] is Status.RETRIEVED:
                name = "retrieved"
            total[name] += COUNTER.message(message)
            unit = unit_of_call.get(message.tool_call_id or "", None if source is None else log.unit_of(source))
            if unit is not None and unit not in fixed:
                cuttable[name] += COUNTER.message(message)
        for name, share in SHARES.items():
            assert total[name] <= share["tokens"] or cuttable[name] == 0


def test_shares_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="give a share in tokens or as a fraction"):
        load_strategy({"type": "budget_guard", "history": {"turns": 3}})


def test_pins_are_the_inner_strategys_wish() -> None:
    assert not load_strategy("budget_guard").wants_pins()
    assert load_strategy({"type": "budget_guard", "inner": "pinned"}).wants_pins()
