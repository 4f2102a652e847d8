"""`Memory` sends what the bench sends, forgets nothing on disk, and says what is wrong with what it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from histories import Helper, Said, Session, histories
from hypothesis import given, settings
from test_strategy_invariants import CONFIGS, WINDOWS

import contextrot as cr
from contextrot.callbacks import CallableAuxiliary
from contextrot.errors import BudgetError, ConfigError, MalformedHistoryError, ModelError
from contextrot.memory import Memory
from contextrot.messages import Message, Reply, Tool, ToolCall
from contextrot.render import render
from contextrot.strategies import Event, Request, State, Strategy, View, load_strategy
from contextrot.strategies.window import Fifo

ROLLING = {"type": "rolling_summary", "trigger": {"tokens": 100}, "keep": {"turns": 1}}


def notes(messages: list[dict[str, Any]]) -> str:
    """A summary that tells which conversation it is of."""
    return "notes " + blake2b(json.dumps(messages).encode(), digest_size=4).hexdigest()


class Noting(Helper):
    """The same summariser, as the sessions of the other tests take it."""

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        self.asks.append(purpose)
        return await CallableAuxiliary(notes).ask(messages, max_tokens=max_tokens, purpose=purpose)


def tell(memory: Memory, said: Said) -> None:
    standing = (f"hold {said.message.text[:8]}",) if said.standing else ()
    memory.add(said.message.to_dict(), pinned=said.pinned, standing=standing, tags=said.tags, task=said.task)


@pytest.mark.parametrize("name", CONFIGS)
@given(history=histories(), window=WINDOWS)
@settings(max_examples=12, deadline=None)
def test_it_sends_what_a_session_of_the_bench_sends(
    name: str, history: list[Said], window: int, tmp_path_factory: Any
) -> None:
    session = Session(load_strategy(CONFIGS[name]), window=window, helper=Noting())
    memory = Memory(CONFIGS[name], window, summarizer=notes)
    for said in history:
        oldest = session.superseded_by(said)
        session.add(said)
        tell(memory, said)
        if oldest is not None:
            memory.supersede(oldest)
        if not said.asks:
            continue
        step = session.view()
        if step.view is None:
            with pytest.raises(BudgetError) as error:
                memory.messages()
            assert str(error.value) == str(step.error)
            continue
        expected = [message.to_dict() for message in step.view.messages]
        assert memory.messages() == expected
        assert memory.manifest == tuple(status.value for status in step.view.manifest)
        assert memory.events == step.view.events
        path = tmp_path_factory.getbasetemp() / "memory.json"
        memory.save(path)
        memory = Memory.load(path, summarizer=notes)
        assert memory.messages() == expected
        assert memory.manifest == tuple(status.value for status in step.view.manifest)


def talk(memory: Memory, turns: int = 4, words: int = 40) -> Memory:
    memory.add("system", "rules")
    for turn in range(turns):
        memory.add("user", f"ask-{turn} " + "word " * words)
        memory.add("assistant", "word " * words)
    memory.add("user", "now")
    return memory


def test_it_sends_what_render_renders() -> None:
    given = [{"role": "developer", "content": "rules"}, {"role": "user", "content": "keep me", "name": "ann"}]
    given += [{"role": role, "content": "word " * 50} for _ in range(3) for role in ("assistant", "user")]
    view = render("fifo", given, window=200, pins=[1])
    memory = Memory("fifo", 200)
    for index, message in enumerate(given):
        memory.add(message, pinned=index == 1)
    assert memory.messages() == list(view.messages)
    assert memory.manifest == view.manifest
    assert memory.tokens == view.tokens
    assert view.manifest.count("dropped") > 0
    assert memory.messages()[0]["role"] == "developer"


def test_until_something_is_added_the_view_is_the_same_and_no_helper_is_asked_again() -> None:
    asked: list[Any] = []
    memory = talk(Memory(ROLLING, 900, summarizer=lambda messages: asked.append(messages) or "notes"))
    first = memory.messages()
    assert memory.messages() == first
    assert asyncio.run(memory.amessages()) == first
    assert len(asked) == 1
    assert [event.name for event in memory.events] == ["compaction"]
    memory.add("assistant", "done")
    memory.messages()
    assert len(asked) == 1


def test_nobody_can_change_what_is_remembered() -> None:
    part = {"type": "text", "text": "hello"}
    memory = Memory("full", 400)
    memory.add("user", [part])
    memory.add({"role": "user", "content": "later", "extra": {"a": [1]}})
    sent = memory.messages()
    part["text"] = sent[0]["content"][0]["text"] = "changed"
    sent[1]["extra"]["a"].append(2)
    assert memory.messages() == [
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        {"role": "user", "content": "later", "extra": {"a": [1]}},
    ]


def test_a_query_is_asked_on_a_branch() -> None:
    memory = Memory("fifo", 400)
    memory.add("user", "For later: our project code is BLUE-42.")
    memory.add("assistant", "Noted.")
    before = memory.messages()
    asked = memory.messages("What is our project code?")
    assert asked == [*before, {"role": "user", "content": "What is our project code?"}]
    assert len(memory) == 2
    assert memory.messages() == before


def test_a_query_leaves_the_state_alone() -> None:
    memory = talk(Memory(ROLLING, 900, summarizer=notes))
    memory.messages("and now?")
    alone = talk(Memory(ROLLING, 900, summarizer=notes))
    assert memory.messages() == alone.messages()


def test_a_pin_stays_and_begins_no_turn() -> None:
    memory = Memory({"type": "fifo", "keep": {"turns": 1}}, 4000)
    rule = memory.pin("Always round to 2 decimals.")
    for turn in range(5):
        memory.add("user", f"ask {turn}")
        memory.add("assistant", "done")
    memory.add("user", "now")
    assert [message["content"] for message in memory.messages()] == ["Always round to 2 decimals.", "now"]
    memory.unpin(rule)
    assert [message["content"] for message in memory.messages()] == ["now"]


def test_what_is_superseded_is_not_repeated() -> None:
    memory = Memory({"type": "re_anchor", "every_n_turns": 1, "inner": "fifo"}, 4000)
    old = memory.pin("Round to 2 decimals.")
    both = memory.add("user", "Be brief, and sign with Ann.", standing=["Be brief.", "Sign with Ann."])
    memory.supersede(old)
    memory.supersede(both, "Sign with Ann.")
    memory.pin("Round to 3 decimals.")
    memory.add("user", "go on")
    reminder = memory.messages()[-2]["content"]
    assert reminder.splitlines()[1:] == ["Be brief.", "Round to 3 decimals."]
    with pytest.raises(ConfigError, match=r"message 1 does not state 'Sign with Ann.'; it states \['Be brief.'\]"):
        memory.supersede(both, "Sign with Ann.")
    with pytest.raises(ConfigError, match="there is no message 9"):
        memory.supersede(9)


def test_a_violation_brings_the_reminder_forward() -> None:
    memory = Memory({"type": "re_anchor", "every_n_turns": 10, "inner": "fifo"}, 4000)
    memory.pin("Answer in JSON.")
    memory.add("user", "hello")
    assert len(memory.messages()) == 2
    memory.note_violation()
    assert len(memory.messages()) == 3


def test_the_providers_count_moves_the_budget() -> None:
    memory = talk(Memory("fifo", 400), turns=8)
    before = len(memory.messages())
    estimate = memory.tokens
    assert memory.observe(None) is None
    assert memory.observe(estimate * 2) == pytest.approx(1.0)
    assert memory.tokens == estimate * 2
    assert memory.occupancy == pytest.approx(estimate * 2 / 400)
    assert len(memory.messages()) == before  # the same view until something is added
    memory.add("user", "next")
    assert len(memory.messages()) < before
    assert memory.tokens <= 400


def test_reply_and_tools_have_their_room() -> None:
    tool = Tool("look", "word " * 60, {"type": "object"})
    plain, reserved, tooled = (
        Memory("fifo", 400),
        Memory("fifo", 400, max_tokens=100),
        Memory("fifo", 400, tools=[tool]),
    )
    views = [len(talk(memory, 8).messages()) for memory in (plain, reserved, tooled)]
    assert views[1] < views[0]
    assert views[2] < views[0]
    assert reserved.tokens <= 300
    assert tooled.tools == [tool.to_dict()]


def test_the_users_own_tokenizer_counts() -> None:
    memory = Memory("fifo", 4000, counter=len)
    memory.add("user", "x" * 100)
    memory.messages()
    assert memory.tokens == 104


def test_role_rules_are_kept_within_the_window() -> None:
    memory = talk(Memory({"type": "fifo", "keep": {"messages": 2}}, 80, roles="strict_alternation"))
    assert [message["role"] for message in memory.messages()] == ["system", "user", "assistant", "user"]
    assert memory.tokens <= 80


class Librarian(Fifo):
    """A strategy with a tool of its own."""

    type_name = "librarian"

    async def view(self, log: Any, state: State, request: Request) -> View:
        """All of it, and a tool."""
        view = await super().view(log, state, request)
        tool = Tool("read", "Read a message again.", {"type": "object"})
        return View(view.messages, view.sources, view.manifest, view.tokens, (), 0, {"seen": len(log)}, (tool,))

    def answer(self, call: ToolCall, log: Any, state: State) -> str | None:
        """The message with that number."""
        return log[json.loads(call.arguments)["n"]].message.text + f" of {state['seen']}"


def test_a_strategys_own_tool_is_offered_and_answered(tmp_path: Path) -> None:
    mine = {"type": "function", "function": {"name": "look", "parameters": {}}}
    memory = Memory(Librarian(), 400, tools=[mine])
    memory.add("user", "the code is BLUE-42")
    assert memory.tools == [mine]
    memory.messages()
    assert [tool["function"]["name"] for tool in memory.tools] == ["look", "read"]
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"n": 0}'}}
    memory.add({"role": "assistant", "content": None, "tool_calls": [call]})
    result = memory.answer(call)
    assert result == "the code is BLUE-42 of 1"
    memory.add({"role": "tool", "tool_call_id": "c1", "content": result})
    assert memory.messages()[-1]["content"] == result
    assert memory.answer({"id": "c2", "function": {"name": "look", "arguments": "{}"}}) is None


def test_an_async_summarizer_and_embedder_work_from_both_sides() -> None:
    async def slow(messages: list[dict[str, Any]]) -> str:
        await asyncio.sleep(0)
        return "notes"

    sync = talk(Memory(ROLLING, 900, summarizer=slow)).messages()
    memory = talk(Memory(ROLLING, 900, summarizer=slow))
    assert asyncio.run(memory.amessages()) == sync

    async def inside() -> Any:
        return talk(Memory(ROLLING, 900, summarizer=slow)).messages()

    assert asyncio.run(inside()) == sync


def test_a_summary_without_a_model_is_made_of_the_conversations_own_sentences() -> None:
    memory = Memory(ROLLING, 900, summarizer="extractive")
    memory.add("user", "We decided to ship BLUE-42 on Friday. " + "The printer hums. " * 60)
    memory.add("assistant", "Noted.")
    memory.add("user", "now")
    assert "BLUE-42" in memory.messages()[0]["content"]
    assert memory.manifest == ("summarised", "summarised", "verbatim")
    with pytest.raises(ConfigError, match="summarizer is 'gpt-4o-mini'"):
        Memory(ROLLING, 900, summarizer="gpt-4o-mini")  # type: ignore[arg-type]


def test_a_schema_of_ones_own_survives_the_file(tmp_path: Path) -> None:
    strategy = {"type": "state_extraction", "schema": {"type": "object", "properties": {"code": {"type": "string"}}}}
    memory = Memory(strategy, 900, summarizer="extractive")
    memory.add("user", "The code is BLUE-42.")
    memory.save(tmp_path / "m.json")
    assert Memory.load(tmp_path / "m.json", summarizer="extractive").strategy == memory.strategy


class Embedding(Fifo):
    """Uses the embedder, so that what it gets can be looked at."""

    type_name = "embedding"

    async def view(self, log: Any, state: State, request: Request) -> View:
        """The newest, with all vectors as the state."""
        assert request.embedder is not None
        vectors = await request.embedder.embed([entry.message.text for entry in log])
        view = await super().view(log, state, request)
        events = (Event("vectors", {"vectors": [list(vector) for vector in vectors]}),)
        return View(view.messages, view.sources, view.manifest, view.tokens, events)


def test_texts_are_embedded_once_and_vectors_have_unit_length() -> None:
    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[3.0, 4.0] for _ in texts]

    memory = Memory(Embedding(), 400, embedder=embed)
    for text in ("a", "b", "a"):
        memory.add("user", text)
        memory.messages()
    assert asked == ["a", "b"]
    assert memory.events[0].detail["vectors"] == [pytest.approx([0.6, 0.8], abs=1e-3)] * 3


@pytest.mark.parametrize("answer", [lambda texts: [], lambda texts: 7, lambda texts: [["x"]], lambda texts: [[]]])
def test_an_embedder_that_gives_no_vectors_is_a_model_error(answer: Any) -> None:
    memory = Memory(Embedding(), 400, embedder=answer)
    memory.add("user", "a")
    with pytest.raises(ModelError, match="the embedder"):
        memory.messages()


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def test_a_conversation_that_went_on_without_a_result_waits_for_it() -> None:
    memory = Memory("fifo", 400)
    memory.add("user", "go")
    memory.add({"role": "assistant", "content": None, "tool_calls": [CALL]})
    assert len(memory.messages()) == 2
    memory.add("user", "hello?")
    with pytest.raises(MalformedHistoryError, match=r"message 1 calls tools \('a' \(f\)\)"):
        memory.messages()
    memory.add({"role": "tool", "tool_call_id": "a", "content": "r"})
    assert len(memory.messages()) == 4


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (({"role": "tool", "tool_call_id": "zz", "content": "r"},), "message 2 is a tool result for 'zz'"),
        (({"role": "assistant", "content": None, "tool_calls": [CALL]},), "still waits for its result"),
        (({"role": "bot", "content": "x"},), "message 2: a message has the role 'bot'"),
        (("user",), "message 2 has no content"),
        ((7,), "message 2 is int"),
    ],
)
def test_malformed_messages_are_named_and_leave_nothing_behind(said: tuple[Any, ...], sentence: str) -> None:
    memory = Memory("fifo", 400)
    memory.add("user", "go")
    memory.add({"role": "assistant", "content": None, "tool_calls": [CALL]})
    with pytest.raises(MalformedHistoryError, match=sentence):
        memory.add(*said)
    assert len(memory) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"window": 0}, "window is 0"),
        ({"max_tokens": 400}, "max_tokens is 400"),
        ({"max_tokens": True}, "max_tokens is True"),
        ({"roles": "gemini"}, "unknown role rules"),
        ({"strategy": "fifi"}, "did you mean 'fifo'"),
    ],
)
def test_wrong_settings_are_sentences(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Memory(**{"strategy": "fifo", "window": 400, **options})


def test_everything_comes_back_from_disk(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "look", "description": "d", "parameters": {}}}
    memory = talk(Memory(ROLLING, 900, summarizer=notes, tools=[tool], max_tokens=50))
    memory.add({"role": "developer", "content": "more rules"})
    memory.pin("Round to 2 decimals.")
    memory.add("user", "go", tags=["math"], task="sums")
    view = memory.messages()
    memory.observe(500)
    memory.note_violation()
    memory.save(tmp_path / "m.json")
    other = Memory.load(tmp_path / "m.json", summarizer=notes)
    assert (other.tools, other.window, other.max_tokens) == (memory.tools, 900, 50)
    assert other.messages() == memory.messages() == view
    for each in (memory, other):
        each.add("assistant", "word " * 200)
        each.add("user", "on")
    assert other.messages() == memory.messages() != view
    assert other.manifest == memory.manifest
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not JSON"),
        (b"[]", "no memory saved in format 1"),
        (b'{"contextrot_memory": 2}', "no memory saved in format 1"),
        (b'{"contextrot_memory": 1}', "is damaged"),
    ],
)
def test_a_file_that_is_no_memory_is_a_sentence(data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(data)
    with pytest.raises(ConfigError, match=said):
        Memory.load(tmp_path / "m.json")
    with pytest.raises(ConfigError, match="cannot read"):
        Memory.load(tmp_path / "none.json")


def test_it_is_reached_from_the_package() -> None:
    assert cr.memory.Memory is Memory
    assert issubclass(type(Memory("full", 100).strategy), Strategy)
