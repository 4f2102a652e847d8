"""One session: ``log → strategy.view(log, state, request) → model → checks → append``, turn by turn.

Turns are serial; a fork probe is asked on a branch of log and state that is thrown away. A session shares nothing with
others, and given the same replies it yields the same records: that is what makes resume a replay.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import orjson

from contextrot.bench.caller import Answer, Caller
from contextrot.bench.embedding import RecordedEmbedder
from contextrot.bench.grading import in_view, verdict_record
from contextrot.bench.hints import Hints
from contextrot.bench.judging import SessionPanel, judged
from contextrot.bench.store import Record
from contextrot.checks.base import Check
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
from contextrot.scenario.script import Ask, ScriptTurn, Subject
from contextrot.strategies.base import Request, State, Strategy, View
from contextrot.strategies.monitor import BudgetMonitor, Level, level_event


class _Auxiliary:
    """Lets a strategy ask the helper model; every such call is a record of this session."""

    def __init__(self, caller: Caller, turn: int, line: Line) -> None:
        self.caller, self.turn, self.line = caller, turn, line

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        self.line.helped += 1
        answer = await self.caller.ask(
            messages,
            turn=self.turn,
            branch=self.line.branch,
            purpose="auxiliary",
            round_=self.line.helped,
            max_tokens=max_tokens,
        )
        return answer.reply


class Line:
    """A line of conversation: the main one, or the branch a fork probe is asked on. Log, strategy state, last view."""

    def __init__(self, log: Log, branch: str | None = None) -> None:
        self.log, self.branch = log, branch
        self.state: State = {}
        self.sent: View | None = None
        self.tools_used: Counter[str] = Counter()
        #: what the turn under way belongs to
        self.task = ""
        #: tokens of the log when the model was asked: what it answers is no distance between statement and question
        self.asked_at = 0
        #: asks of the helper model in the turn under way, over all its tool rounds: no two of them share a seed
        self.helped = 0

    def fork(self, branch: str) -> Line:
        """A branch that can be thrown away without a trace."""
        line = Line(self.log.fork(), branch)
        line.state, line.sent, line.tools_used = copy.deepcopy(self.state), self.sent, self.tools_used.copy()
        line.task = self.task
        return line


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
        for ask in self._unasked():
            verdict = Verdict(Outcome.NOT_RUN, f"the session ended at turn {self.turn} ({ended.value})")
            record = verdict_record(
                verdict,
                kind="probe",
                id_=ask.id,
                check=ask.check,
                turn=ask.turn,
                branch=None,
                subject=ask.subject,
                item=ask.item,
            )
            self.caller.file.emit(record)
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
        await self._view(main)
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
        tested = ask.subject.id if ask is not None and ask.subject is not None else None
        passive = [p for p in self.script.passive if p.subject.id in self.stated_at and p.subject.id != tested]
        hint = self.hints.of(ask, passive) if self.plan.simulated else None
        line.asked_at = line.log.tokens
        question, panel = line.log.messages[-1].text, SessionPanel(self.caller, self.turn, line.branch)
        try:
            replies, answer, view = await self._converse(line, purpose, hint)
        except (BudgetError, ModelError) as error:
            if ask is not None:
                verdict = Verdict(Outcome(getattr(error, "outcome", "overflow")), str(error))
                self._write_verdict(line, ask.id, "probe", ask.check, verdict, ask.subject, item=ask.item)
            raise
        if ask is not None:
            verdict = await judged(replies, ask.check, ask.facts, question=question, panel=panel)
            self._write_verdict(line, ask.id, "probe", ask.check, verdict, ask.subject, answer, view, ask.item)
        for rule in passive:
            verdict = await judged(replies, rule.check, {}, question=question, panel=panel)
            self._write_verdict(line, rule.subject.id, "passive", rule.check, verdict, rule.subject, answer, view)

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
        auxiliary = _Auxiliary(self.caller, self.turn, line)
        scale = self.caller.drift(line.branch).scale
        request = Request(
            budget=self.caller.budget(line.branch),
            window=int(self.plan.settings.window / scale),
            turn=self.turn,
            count=self.caller.counter.message,
            auxiliary=auxiliary,
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
        id_: str,
        kind: str,
        check: Check,
        verdict: Verdict,
        subject: Subject | None,
        answer: Answer | None = None,
        view: View | None = None,
        item: str = "",
    ) -> None:
        visible = in_view(view, subject) if view is not None else None
        stated_at = self.stated_at.get(subject.id, line.asked_at) if subject else None
        if verdict.outcome is Outcome.FAIL and line.branch is None:
            self.last_violation = self.turn
        if kind == "probe":
            self.asked.add((id_, self.turn))
        self.caller.file.emit(
            verdict_record(
                verdict,
                kind=kind,
                id_=id_,
                check=check,
                turn=self.turn,
                branch=line.branch,
                subject=subject,
                call=answer.n if answer else None,
                visible=visible,
                since_tokens=None if stated_at is None else line.asked_at - stated_at,
                item=item,
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


def prefix_reuse(previous: View | None, view: View) -> float | None:
    """Share of the view that repeats the beginning of the previous one: the predictor of cache hits. In messages."""
    if previous is None or not view.messages:
        return None
    shared = len(previous.messages)
    # The usual case, the same view with more behind it, is told by one comparison of the same objects.
    if view.messages[:shared] == previous.messages:
        return shared / len(view.messages)
    shared = 0
    for old, new in zip(previous.messages, view.messages, strict=False):
        if old is not new and old.digest != new.digest:
            break
        shared += 1
    return shared / len(view.messages)
