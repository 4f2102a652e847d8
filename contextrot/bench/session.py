"""One session: ``log → strategy.view(log, state, request) → model → checks → append``, turn by turn.

Turns are serial; a fork probe is asked on a branch of log and state that is thrown away. A session shares nothing with
others, and given the same replies it yields the same records: that is what makes resume a replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import orjson

from contextrot.bench.caller import Answer, Caller
from contextrot.bench.embedding import RecordedEmbedder
from contextrot.bench.grading import in_view, verdict_record
from contextrot.bench.hints import Hints
from contextrot.bench.judging import SessionPanel, judged
from contextrot.bench.line import Helper, Line, prefix_reuse
from contextrot.bench.store import Record
from contextrot.errors import (
    BudgetError,
    ContextOverflowError,
    ContextrotError,
    LimitError,
    ModelError,
    WindowOverflowError,
)
from contextrot.log import Log
from contextrot.messages import Message, Reply, ToolCall, assistant, system, tool_result, user
from contextrot.models.base import Truth
from contextrot.outcomes import Ended, Outcome, Verdict
from contextrot.scenario.script import Ask, Passive, ScriptTurn, Subject
from contextrot.strategies.base import Request, Strategy, View
from contextrot.strategies.monitor import BudgetMonitor, Level, level_event


class Session:
    """The state of one running session. `run` is the loop; the rest are its steps, in the order they happen."""

    def __init__(
        self, caller: Caller, strategy: Strategy, hints: Hints, embedder: RecordedEmbedder | None = None
    ) -> None:
        self.plan, self.script, self.caller = caller.plan, caller.plan.script, caller
        self.strategy, self.hints, self.embedder = strategy, hints, embedder
        self.monitor = BudgetMonitor()
        self.level: Level = "OK"
        self.main = Line(Log(caller.counter.message))
        #: tokens of the log right after each rule or fact was (last) stated, and where in the log it stands
        self.stated_at: dict[str, int] = {}
        self.stands_at: dict[str, tuple[int, str]] = {}
        self.asked: set[tuple[str, int]] = set()
        self.last_violation: int | None = None
        self.turn = 0

    async def run(self) -> Ended:
        """Replay the script to its end, or to where window, budget or model end it. Writes every record but `head`."""
        ended, detail = Ended.COMPLETED, ""
        try:
            await self._replay()
        except (WindowOverflowError, ContextOverflowError) as error:
            ended, detail = Ended.OVERFLOW, str(error)
        except BudgetError as error:
            ended, detail = Ended.OVER_BUDGET, str(error)
        except LimitError as error:
            ended, detail = Ended.LIMIT, str(error)
        except ModelError as error:
            ended, detail = Ended.ERROR, str(error)
        except ContextrotError:
            raise
        except Exception as error:  # a strategy's or check's own fault is data about that session, not the run's end
            ended, detail = Ended.ERROR, f"fault inside contextrot: {type(error).__name__}: {error}"
        if ended is Ended.LIMIT and self.caller.file.mending:
            return ended  # the file as it was holds more than what the cap left room for
        for ask in self._unasked():
            verdict = Verdict(Outcome.NOT_RUN, f"the session ended at turn {self.turn} ({ended.value})")
            self.caller.file.emit(verdict_record(verdict, ask, turn=ask.turn, branch=None))
        self.caller.file.emit({"t": "end", "ended": ended.value, "turn": self.turn, "detail": detail})
        return ended

    def _unasked(self) -> Iterator[Ask]:
        """Probes the session never came to: they are counted, so that no denominator loses them unseen."""
        planned = [*self.script.fresh]
        for turn in self.script.turns:
            planned += [ask for ask in (turn.inline, *turn.forks) if ask is not None]
        return (ask for ask in planned if (ask.id, ask.turn) not in self.asked)

    async def _replay(self) -> None:
        """The script from the fresh session to its last turn."""
        if self.script.system is not None:
            self._append(self.main, system(self.script.system), "system", self.script.system_states)
        for ask in self.script.fresh:
            await self._probe(ask)
        for turn in self.script.turns:
            self.turn = turn.turn
            await self._turn(turn)
            for ask in turn.forks:
                await self._probe(ask)

    async def _turn(self, turn: ScriptTurn) -> None:
        """One user message and all that answers it."""
        main = self.main
        main.task, main.helped = turn.task, 0
        self._append(main, user(turn.user), turn.origin, turn.states, tags=turn.tags)
        live = self.script.history == "live" or turn.inline is not None
        if live:
            await self._answer_and_grade(main, turn.inline, "turn")
            return
        # Nobody is asked, but the strategy works on as it would: what it compacts now is what later probes will see.
        view = await self._view(main)
        self._event(main, "unsent_view", {"tokens": view.tokens, "prefix_reuse": prefix_reuse(main.sent, view)})
        main.sent = view
        for number, canned in enumerate(turn.calls):
            call = ToolCall(f"t{turn.turn}_{number}", canned.name, canned.arguments)
            self._append(main, assistant(None, [call]), "reply")
            self._append(main, tool_result(call.id, canned.result), "tool")
        self._append(main, assistant(turn.reply or ""), "reply")

    async def _probe(self, ask: Ask) -> None:
        """Ask on a branch. A prompt that no longer fits is this probe's outcome, not the session's end."""
        line = self.main.fork(f"{ask.id}@{ask.turn}")
        self._append(line, user(ask.text), "probe")
        with suppress(BudgetError, ContextOverflowError):
            await self._answer_and_grade(line, ask, "probe")

    async def _answer_and_grade(self, line: Line, ask: Ask | None, purpose: str) -> None:
        """Let the model answer, with its tool rounds, then grade: the probe first, then every standing rule."""
        under_test = ask.subject_id if ask is not None else None
        passive = [rule for rule in self.script.passive if rule.id in self.stated_at and rule.id != under_test]
        hint = self.hints.of(ask, passive) if self.plan.simulated else None
        line.asked_at = line.log.tokens
        question, panel = line.log.messages[-1].text, SessionPanel(self.caller, self.turn, line.branch)
        try:
            replies, answer, view = await self._converse(line, purpose, hint)
        except (BudgetError, ModelError) as error:
            if ask is not None:
                verdict = Verdict(Outcome(getattr(error, "outcome", "overflow")), str(error))
                self._write_verdict(line, ask, verdict)
            raise
        tested: list[Ask | Passive] = [*([ask] if ask is not None else []), *passive]
        for one in tested:
            verdict = await judged(replies, one.check, one.facts, question=question, panel=panel)
            self._write_verdict(line, one, verdict, answer, view, replies)

    async def _converse(self, line: Line, purpose: str, hint: Truth | None) -> tuple[list[Reply], Answer, View]:
        """Ask until the model answers without a tool call; results come from the scenario, one for each call id.

        The view returned is the first one: what the model knew when it decided what to do.
        """
        replies: list[Reply] = []
        first: View | None = None
        while True:
            view = await self._view(line)
            previous, line.sent = line.sent, view
            answer = await self.caller.ask(
                view.messages,
                turn=self.turn,
                branch=line.branch,
                purpose=purpose,
                round_=len(replies),
                view=view,
                reuse=prefix_reuse(previous, view),
                hint=hint,
            )
            self._watch(line, answer.occupancy)
            first = first or view
            replies.append(answer.reply)
            self._append(line, answer.reply.to_message(), "reply", call=answer.n)
            if not answer.reply.tool_calls:
                return replies, answer, first
            self._answer_tools(line, answer.reply)
            if len(replies) > self.script.max_tool_rounds:
                self._event(line, "tool_rounds_limit", {"rounds": len(replies)})
                return replies, answer, first

    def _answer_tools(self, line: Line, reply: Reply) -> None:
        for call in reply.tool_calls:
            own = self.strategy.answer(call, line.log, line.state)
            tool = next((tool for tool in self.script.tools if tool.name == call.name), None)
            if own is not None:
                text = own
            elif tool is None:
                text = orjson.dumps({"error": f"there is no tool named {call.name}"}).decode()
            else:
                used = line.tools_used[call.name]
                line.tools_used[call.name] += 1
                text = tool.returns[used % len(tool.returns)] if tool.returns else '{"status": "ok"}'
            self._append(line, tool_result(call.id, text), "tool")

    async def _view(self, line: Line) -> View:
        """What the strategy would send now. Its events are recorded, its new state is the line's."""
        scale = self.caller.drift(line.branch).scale
        request = Request(
            budget=self.caller.budget(line.branch),
            window=int(self.plan.settings.window / scale),
            turn=self.turn,
            count=self.caller.counter.message,
            auxiliary=Helper(self.caller, self.turn, line),
            scale=scale,
            last_violation=self.last_violation,
            embedder=self.embedder,
        )
        if self.embedder is not None:
            self.embedder.turn, self.embedder.branch = self.turn, line.branch
        view = await self.strategy.view(line.log, line.state, request)
        for event in view.events:
            self._event(line, event.name, event.detail)
        line.state = view.state
        return view

    def _append(
        self,
        line: Line,
        message: Message,
        origin: str,
        states: Sequence[Subject] = (),
        *,
        call: int | None = None,
        tags: frozenset[str] = frozenset(),
    ) -> None:
        """Add a message to the log and its record to the file, and note what it states."""
        pinned = self.strategy.wants_pins() and any(subject.pinned for subject in states)
        standing = tuple(subject.statement for subject in states if subject.pinned or subject.kind == "constraint")
        index = line.log.append(
            message, turn=self.turn, pinned=pinned, standing=standing, origin=origin, tags=tags, task=line.task
        )
        for subject in states:
            if subject.id in self.stands_at:
                line.log.supersede(*self.stands_at[subject.id], by=subject.statement)
            self.stands_at[subject.id] = (index, subject.statement)
            self.stated_at[subject.id] = line.log.tokens
        record: Record = {
            "t": "msg",
            "i": index,
            "turn": self.turn,
            "branch": line.branch,
            "origin": origin,
            "pinned": pinned,
        }
        if line.task and message.role == "user":
            record["task"] = line.task
        if call is None:
            record["message"] = orjson.Fragment(message.wire)
        else:
            record["call"] = call
        self.caller.file.emit(record)

    def _write_verdict(
        self,
        line: Line,
        tested: Ask | Passive,
        verdict: Verdict,
        answer: Answer | None = None,
        view: View | None = None,
        replies: Sequence[Reply] = (),
    ) -> None:
        """Record a verdict with what tells its cause: whether the evidence was in view, and how far back it stood."""
        subject = tested.subject
        stated_at = self.stated_at.get(subject.id, line.asked_at) if subject else None
        if verdict.outcome is Outcome.FAIL and line.branch is None:
            self.last_violation = self.turn
        if isinstance(tested, Ask):
            self.asked.add((tested.id, self.turn))
        self.caller.file.emit(
            verdict_record(
                verdict,
                tested,
                turn=self.turn,
                branch=line.branch,
                call=answer.n if answer else None,
                visible=in_view(view, subject, tested.bare) if view is not None else None,
                since_tokens=None if stated_at is None else line.asked_at - stated_at,
                replies=replies,
            )
        )

    def _watch(self, line: Line, occupancy: float | None) -> None:
        """Record when the window has become as full as the next level says, or no longer is.

        Branches of a live session leave no trace; under a written history they alone are ever asked.
        """
        if occupancy is None or (line.branch is not None and self.script.history == "live"):
            return
        before, self.level = self.level, self.monitor.level(occupancy)
        event = level_event(before, self.level, occupancy)
        if event is not None:
            self._event(line, event.name, event.detail)

    def _event(self, line: Line, name: str, detail: Mapping[str, object]) -> None:
        self.caller.file.emit(
            {"t": "event", "turn": self.turn, "branch": line.branch, "name": name, "detail": dict(detail)}
        )
