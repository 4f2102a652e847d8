"""Histories, helper models and a turn-by-turn session for the tests of strategies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from hypothesis import strategies as st

from contextrot.errors import BudgetError, ModelError
from contextrot.log import Log
from contextrot.messages import Message, Reply, ToolCall, assistant, system, tool_result, user
from contextrot.models.embedders import create_embedder
from contextrot.strategies import Request, Strategy, View
from contextrot.strategies.base import Embedder
from contextrot.tokens import TokenCounter

COUNTER = TokenCounter()


@dataclass(frozen=True)
class Said:
    """One message of a history, and whether the model is asked right after it.

    supersedes: with it the oldest pin or statement before it holds no longer.
    """

    message: Message
    asks: bool
    pinned: bool = False
    standing: bool = False
    tags: frozenset[str] = frozenset()
    task: str = ""
    supersedes: bool = False


@st.composite
def histories(draw: st.DrawFn, max_turns: int = 7) -> list[Said]:
    """Well-paired histories: system messages, pins, some superseded later, parallel calls, results that come late, long
    and short texts.

    Every text opens with a tag of its own (``tag7z``), so that it can be found wherever it went.
    """
    said: list[Said] = []
    calls = 0

    def text() -> str:
        return f"tag{len(said)}z " + "word " * draw(st.sampled_from((0, 1, 3, 10, 40, 120)))

    def pin() -> bool:
        return draw(st.integers(0, 9)) == 0

    def tags() -> frozenset[str]:
        return frozenset(draw(st.sampled_from(("", "a", "b", "ab"))))

    def assistant_text() -> None:
        said.append(Said(assistant(text()), False, pin()))

    if draw(st.booleans()):
        said.append(Said(system(text()), False))
    for _ in range(draw(st.integers(1, max_turns))):
        if draw(st.integers(0, 9)) == 0:
            said.append(Said(system(text()), False))
        over = draw(st.integers(0, 4)) == 0
        said.append(Said(user(text()), True, pin(), standing=draw(st.booleans()), tags=tags(), supersedes=over))
        for _ in range(draw(st.integers(0, 3))):
            ids = [f"c{calls + k}" for k in range(draw(st.integers(1, 3)))]
            calls += len(ids)
            spoken = draw(st.sampled_from((None, "let me look")))
            said.append(Said(assistant(spoken, [ToolCall(i, "look", '{"q": 1}') for i in ids]), False))
            late = draw(st.integers(0, 4)) == 0
            for number, call_id in enumerate(ids):
                if late and number == len(ids) - 1:
                    assistant_text()
                said.append(Said(tool_result(call_id, text()), number == len(ids) - 1, pin(), tags=tags()))
        if draw(st.integers(0, 5)) > 0:
            assistant_text()
    return said


@st.composite
def tasked_histories(draw: st.DrawFn, max_turns: int = 9) -> list[Said]:
    """Histories whose turns belong to tasks, some of them to none."""
    said, task = [], ""
    for one in draw(histories(max_turns)):
        if one.message.role == "user" and draw(st.booleans()):
            task = draw(st.sampled_from(("", "a", "b", "c")))
        said.append(replace(one, task=task))
    return said


#: What a good helper answers where JSON is asked for, by purpose; ``{}`` is its note.
FORMS = {
    "compaction": '{"decisions": [], "current_state": {"n": "{}"}, "open_questions": [], "next_step": ""}',
    "memory": '{"core": "{}", "operations": [{"op": "create", "key": "{}", "value": "v"}]}',
    "state": '{"task_status": "blocked", "collected_info": {"n": "{}"}, "decisions_made": [], "open_questions": []}',
}


@dataclass
class Helper:
    """A summariser whose answer depends on nothing but what it is asked, and a record of the asks.

    mood: good · empty · huge · tool_call · cut · refusal · error · flaky (good or empty, by the prompt).
    """

    mood: str = "good"
    asks: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        prompt = "\n".join(message.text for message in messages)
        self.asks.append(prompt)
        mood = self.mood
        digest = blake2b(prompt.encode(), digest_size=4).hexdigest()
        if mood == "flaky":
            mood = "good" if int(digest, 16) % 2 else "empty"
        if mood == "error":
            raise ModelError("the helper is down")
        if mood == "tool_call":
            return Reply(tool_calls=(ToolCall("s", "x"),), finish_reason="tool_calls")
        if mood == "cut":
            return Reply("so far", finish_reason="length")
        if mood == "refusal":
            return Reply("I'm sorry, but I can't help with that.", finish_reason="stop")
        if mood == "good":
            self.taken.append(prompt)
        note = FORMS.get(purpose, "{}").replace("{}", f"n{digest[:3]}")
        text = {"empty": "  ", "huge": prompt * 3, "good": note}[mood]
        return Reply(text, finish_reason="stop")


@dataclass
class Step:
    """One view of a session: how long the log was, what came out, what the helper was asked for it."""

    length: int
    view: View | None
    error: BudgetError | None
    asks: int
    request: Request


class Session:
    """A log that grows, one strategy, and its state carried as JSON from view to view."""

    def __init__(self, strategy: Strategy, *, window: int = 400, helper: Helper | None = None, log: Log | None = None):
        self.strategy = strategy
        self.window = window
        self.helper = helper or Helper()
        self.log = log if log is not None else Log(COUNTER.message)
        self.state: dict[str, Any] = {}
        self.turn = 0
        self.violation: int | None = None
        self.embedder: Embedder = create_embedder()

    def superseded_by(self, said: Said) -> int | None:
        """The message that holds no longer with this one."""
        held = (k for k, entry in enumerate(self.log) if entry.pinned or entry.standing)
        return next(held, None) if said.supersedes else None

    def add(self, said: Said) -> None:
        oldest = self.superseded_by(said)
        self.turn += said.message.role == "user"
        standing = (f"hold {said.message.text[:8]}",) if said.standing else ()
        self.log.append(
            said.message, turn=self.turn, pinned=said.pinned, standing=standing, tags=said.tags, task=said.task
        )
        if oldest is not None:
            for text in (*self.log[oldest].standing, ""):
                self.log.supersede(oldest, text)

    def request(self) -> Request:
        return Request(
            self.window,
            self.window,
            self.turn,
            COUNTER.message,
            self.helper,
            last_violation=self.violation,
            embedder=self.embedder,
        )

    def view(self) -> Step:
        before, request = len(self.helper.asks), self.request()
        try:
            view = asyncio.run(self.strategy.view(self.log, self.state, request))
        except BudgetError as error:
            return Step(len(self.log), None, error, len(self.helper.asks) - before, request)
        self.state = json.loads(json.dumps(view.state))
        return Step(len(self.log), view, None, len(self.helper.asks) - before, request)

    def run(self, history: Sequence[Said]) -> list[Step]:
        steps = []
        for said in history:
            self.add(said)
            if said.asks:
                steps.append(self.view())
        return steps


def innermost(strategy: Strategy, state: dict[str, Any]) -> tuple[Strategy, dict[str, Any]]:
    """The strategy inside all wrappers, with its part of the state."""
    while hasattr(strategy, "inner"):
        strategy, state = strategy.inner, state.get("inner", {})
    return strategy, state
