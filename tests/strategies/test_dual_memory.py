"""Dual memory: the operations on the bank, where entries come from, and both caps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from histories import COUNTER, Helper, Said, Session
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrot.messages import Message, Reply, ToolCall, assistant, system, tool_result, user
from contextrot.strategies import View, load_strategy
from contextrot.strategies.dual_memory import HEADER

CONFIG = {"type": "dual_memory", "trigger": {"tokens": 400}, "keep": {"turns": 1}}


class Answers(Helper):
    """Answers with the given texts in turn, the last one for ever."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.texts = list(texts)

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        self.asks.append("\n".join(message.text for message in messages))
        return Reply(self.texts.pop(0) if len(self.texts) > 1 else self.texts[0], finish_reason="stop")


def memory(core: str, *operations: tuple[str, ...]) -> str:
    keys = ("op", "key", "value")
    return json.dumps({"core": core, "operations": [dict(zip(keys, one, strict=False)) for one in operations]})


def chat(turns: int, words: int = 60) -> list[Said]:
    said = [
        Said(system("rules"), False),
        Said(user("Our project code is BLUE-42."), True),
        Said(assistant(None, [ToolCall("c", "look")]), False),
        Said(tool_result("c", "port: 8080"), True),
        Said(assistant("Noted."), False),
    ]
    for turn in range(turns):
        said.append(Said(user(f"ask-{turn} " + "word " * words), True))
        said.append(Said(assistant(f"answer-{turn} " + "word " * words), False))
    return said[:-1]


def views(*answers: str, turns: int = 9, **options: Any) -> tuple[Session, list[View]]:
    """The views right after each compaction."""
    run = Session(load_strategy(CONFIG | options), window=2000, helper=Answers(*answers))
    steps = run.run(chat(turns))
    compacted = [s.view for s in steps if s.view and any(event.name == "compaction" for event in s.view.events)]
    return run, compacted


def text(view: View) -> str:
    [message] = [m for m, source in zip(view.messages, view.sources, strict=True) if source is None]
    assert message.role == "user"
    return message.text


def test_core_and_bank_with_origins() -> None:
    _, [view, *_] = views(
        memory(
            "A migration is\nunder way.",
            ("create", "project code", "BLUE-42"),
            ("create", "port", "8080"),
            ("create", "mood", "calm and patient"),
        )
    )
    assert text(view) == (
        f"{HEADER}\n"
        "A migration is under way.\n"
        "Memory bank:\n"
        "- project code: BLUE-42 (turn 1, the user)\n"
        "- port: 8080 (turn 1, a tool)\n"
        "- mood: calm and patient (turns 1-4)"
    )


def test_update_marks_what_it_superseded_and_delete_takes_away() -> None:
    run, [_, view, *_] = views(
        memory("one", ("create", "code", "BLUE-42"), ("create", "port", "8080"), ("create", "note", "x")),
        memory("two", ("update", "code", "TEAL-7"), ("delete", "note"), ("update", "port", "8080")),
    )
    assert text(view).splitlines()[1] == "two"
    assert "- code: TEAL-7 (turns 5-7; superseded: BLUE-42)" in text(view)
    assert "- port: 8080 (turn 1, a tool)" in text(view)
    assert "note" not in text(view)
    assert '"bank": {"code": "BLUE-42", "port": "8080", "note": "x"}' in run.helper.asks[1]


def test_an_operation_on_the_wrong_case_does_what_it_can_only_mean() -> None:
    _, [view, *_] = views(
        memory("one", ("update", "a", "1"), ("delete", "b"), ("create", "a", "2"), ("create", "c", ""))
    )
    lines = text(view).splitlines()[3:]
    assert [line.split(" (")[0] for line in lines] == ["- a: 2"]
    assert "superseded: 1" in lines[0]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("notes", "not one JSON value"),
        (memory(""), "core"),
        (memory("x", ("drop", "a")), "'drop' is not one of"),
        (memory("word " * 60), "the core was over its cap (6"),
    ],
)
def test_an_answer_that_is_no_memory_is_refused(answer: str, reason: str) -> None:
    run, [view, *_] = views(answer, memory("good"), max_tokens=50)
    assert text(view) == f"{HEADER}\ngood"
    assert reason in run.helper.asks[1]


def test_the_bank_lets_go_of_superseded_values_and_then_of_what_was_not_touched_longest() -> None:
    first = [("create", f"key{k}", f"value number {k}") for k in range(3)]
    _, [_, second, third, *_] = views(
        memory("a", *first),
        memory("b", ("update", "key0", "another value")),
        memory("c", ("create", "key9", "value number nine " * 3)),
        memory("c"),
        turns=14,
        bank_max_tokens=38,
    )
    assert "superseded" not in text(second)
    assert [line.split(":")[0] for line in text(second).splitlines()[3:]] == ["- key1", "- key2", "- key0"]
    assert [line.split(":")[0] for line in text(third).splitlines()[3:]] == ["- key0", "- key9"]


def test_the_size_asked_for_is_the_ratio_of_what_is_condensed() -> None:
    asked = {}
    for ratio in (0.18, 0.3):
        run, _ = views(memory("good"), ratio=ratio)
        asked[ratio] = int(run.helper.asks[0].split("At most ")[1].split(" words")[0])
    condensed = sum(entry.tokens for entry in run.log if 1 <= entry.turn <= 4)
    assert asked == {0.18: int(int(0.18 * condensed) * 0.6), 0.3: int(int(0.3 * condensed) * 0.6)}


keys = st.sampled_from("abcdef")
operations = st.lists(st.tuples(st.sampled_from(("create", "update", "delete")), keys, st.text("xyz ", max_size=40)))


@given(
    answers=st.lists(operations, min_size=1, max_size=4),
    core=st.integers(1, 40),
    caps=st.tuples(*[st.integers(16, 80)] * 2),
)
@settings(max_examples=60, deadline=None)
def test_both_caps_hold_and_the_last_operation_stands(
    answers: list[list[tuple[str, str, str]]], core: int, caps: tuple[int, int]
) -> None:
    texts = [memory("core " * core, *one) for one in answers]
    run, compacted = views(*texts, max_tokens=caps[0], bank_max_tokens=caps[1], turns=12)
    header = COUNTER.message(user(HEADER))
    for view in compacted:
        head, *bank = text(view).split("\nMemory bank:\n")
        assert COUNTER.message(user(head)) - header <= caps[0]
        assert COUNTER.message(user(text(view))) - header <= sum(caps)
        held = dict(line[2:].split(" (")[0].split(": ", 1) for line in "".join(bank).splitlines())
        assert len(held) == len("".join(bank).splitlines())
    if compacted and len(compacted) == len(run.helper.asks):
        last = texts[min(len(compacted), len(texts)) - 1]
        latest = {o["key"]: " ".join(o["value"].split()) for o in json.loads(last)["operations"] if o["value"].split()}
        gone = {o["key"] for o in json.loads(last)["operations"] if o["op"] == "delete"}
        assert all(latest[key] == held[key] for key in held.keys() & latest.keys() - gone)


def test_what_the_bank_lets_go_is_an_event() -> None:
    first = memory("core", *(("create", f"key{k}", f"value{k} " + "long " * 4) for k in range(6)))
    second = memory("core", ("update", "key5", "other " * 4), *(("create", f"new{k}", "more " * 6) for k in range(6)))
    run, compacted = views(first, second, turns=14, bank_max_tokens=120)
    told = [event for view in compacted[:2] for event in view.events if event.name == "memory_evicted"]
    bank = set(json.loads(run.state["text"])["bank"])
    assert told
    gone = {key for event in told for key in event.detail["keys"]}
    assert gone
    assert (gone | bank) >= {f"key{k}" for k in range(5)}
    assert not gone & {"key5", "new5"}  # the last ones touched
    for event in told:
        assert set(event.detail) == {"keys", "former_values_of"}


def test_a_former_value_that_had_to_go_is_named_with_its_key() -> None:
    first = memory("core", ("create", "code", "BLUE-42 " * 8), ("create", "port", "8080 " * 8))
    second = memory("core", ("update", "code", "TEAL-7 " * 8))
    _, compacted = views(first, second, turns=14, bank_max_tokens=64)
    [event] = [event for event in compacted[1].events if event.name == "memory_evicted"]
    assert event.detail == {"keys": [], "former_values_of": ["code"]}
    assert "superseded" not in text(compacted[1])


def test_a_bank_under_its_cap_tells_of_nothing() -> None:
    _, compacted = views(memory("core", ("create", "a", "b"), ("delete", "a")), turns=9)
    assert not any(event.name == "memory_evicted" for view in compacted for event in view.events)


def test_a_rejected_memory_lets_nothing_go() -> None:
    over = memory("core " * 900, *(("create", f"key{k}", "long " * 60) for k in range(20)))
    run, _ = views(over, turns=6)
    steps = run.run([Said(assistant("so"), False), Said(user("now"), True)])
    assert all(event.name != "memory_evicted" for step in steps if step.view for event in step.view.events)
