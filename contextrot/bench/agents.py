"""A session with the user's own agent: it keeps its own memory, so no strategy is applied and no view is known.

A fork probe is asked on a copy of the agent. An agent that cannot be copied is asked in line, and the record says so.
Such a session cannot be replayed (its memory is its own), so an unfinished one starts anew on resume.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from contextrot.bench.budget import Meter
from contextrot.bench.caller import Caller, Listener, answer_fields, priced
from contextrot.bench.grading import verdict_record
from contextrot.bench.judging import SessionPanel, judged
from contextrot.bench.plan import Plan
from contextrot.bench.store import Record, SessionFile
from contextrot.checks import grade
from contextrot.errors import ContextrotError, LimitError, ModelError, ModelTimeoutError
from contextrot.messages import NOT_COUNTED, Reply, user
from contextrot.models.callables import Agent, AgentModel
from contextrot.outcomes import Ended, Outcome, Verdict
from contextrot.scenario.script import Ask, Control, Tested


class AgentSession:
    """Feeds the script's user messages to one agent and grades what comes back; `judges` asks judges, if any.

    `meter` keeps the caps of the run. A message to the agent counts as one call, however many it makes to answer it.
    """

    def __init__(
        self,
        plan: Plan,
        model: AgentModel,
        file: SessionFile,
        listener: Listener,
        judges: Caller | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.plan, self.script, self.model, self.file, self.listener = plan, plan.script, model, file, listener
        self.judges, self.meter = judges, meter
        self.turn = self.calls = self.messages = 0
        self.stated: set[str] = set()

    async def run(self) -> Ended:
        """Replay the script against a fresh agent. Writes every record but `head`."""
        return await self._to_its_end(self._replay())

    async def controls(self) -> Ended:
        """The control questions, each to a fresh agent."""
        return await self._to_its_end(self._ask_controls())

    async def _to_its_end(self, work: Coroutine[None, None, None]) -> Ended:
        ended, detail = Ended.COMPLETED, ""
        try:
            await work
        except LimitError as error:
            ended, detail = Ended.LIMIT, str(error)
        except ModelError as error:
            ended = Ended.OVERFLOW if error.outcome == "overflow" else Ended.ERROR
            detail = str(error)
        except ContextrotError:
            raise
        except Exception as error:  # a reply that cannot be read or written is data about that session
            ended, detail = Ended.ERROR, f"fault over a reply of the agent: {type(error).__name__}: {error}"
        self.file.emit({"t": "end", "ended": ended.value, "turn": self.turn, "detail": detail})
        return ended

    async def _replay(self) -> None:
        opening = self.script.system
        self.stated |= {subject.id for subject in self.script.system_states}
        for ask in self.script.fresh:
            async with _closing(self.model.new_session()) as fresh:
                await self._feed(fresh, _joined(opening, ask.text), ask, f"{ask.id}@0")
        async with _closing(self.model.new_session()) as agent:
            await self._turns(agent, opening)

    async def _turns(self, agent: Agent, opening: str | None) -> None:
        for turn in self.script.turns:
            self.turn = turn.turn
            self.stated |= {subject.id for subject in turn.states}
            # An agent has no system message of ours: what the scenario's says opens the first user message.
            text = _joined(opening, turn.user) if turn.turn == 1 else turn.user
            await self._feed(agent, text, turn.inline, None, turn.origin)
            for ask in turn.forks:
                branch = await self._fork(agent, ask)
                if branch is None:
                    self.file.emit(
                        {
                            "t": "event",
                            "turn": self.turn,
                            "branch": None,
                            "name": "asked_inline",
                            "detail": {"probe": ask.id},
                        }
                    )
                await self._feed(branch or agent, ask.text, ask, f"{ask.id}@{ask.turn}" if branch else None)

    async def _fork(self, agent: Agent, ask: Ask) -> Agent | None:
        """A copy to ask this probe, or None. A copy that takes too long ends the session: the agent is still at it."""
        seconds = self.plan.settings.timeout
        try:
            async with asyncio.timeout(seconds):
                return await agent.fork()
        except TimeoutError:
            error = ModelTimeoutError(f"the agent {self.plan.model.label} gave no copy of itself within {seconds:g} s")
            self._unanswered(ask, f"{ask.id}@{ask.turn}", error)
            raise error from None

    async def _ask_controls(self) -> None:
        for control in self.script.controls:
            await self._control(control)

    async def _control(self, control: Control) -> None:
        branch = control.branch
        try:
            async with _closing(self.model.new_session()) as agent:
                reply, number = await self._ask(agent, _joined(control.system, control.text), branch, "control")
        except ModelError as error:
            self._verdict(control, Verdict(Outcome(error.outcome), str(error)), branch)
            raise
        await self._grade(control, reply, control.text, branch, number)

    async def _feed(self, agent: Agent, text: str, ask: Ask | None, branch: str | None, origin: str = "probe") -> None:
        try:
            reply, number = await self._ask(agent, text, branch, "probe" if ask else "turn", origin)
        except ModelError as error:
            if ask is not None:
                self._unanswered(ask, branch, error)
            raise
        if ask is not None:
            await self._grade(ask, reply, text, branch, number)
        under_test = ask.subject_id if ask is not None else None
        for passive in self.script.passive:
            if passive.id in self.stated and passive.id != under_test:
                await self._grade(passive, reply, text, branch, number)

    async def _grade(self, tested: Tested, reply: Reply, question: str, branch: str | None, call: int) -> None:
        """Write the check's verdict; what a judge is asked on the way is numbered with the agent's own calls."""
        if self.judges is None:
            verdict = grade(tested.check, reply, tested.facts)
        else:
            self.judges.calls = self.calls
            panel = SessionPanel(self.judges, self.turn, branch)
            verdict = await judged([reply], tested.check, tested.facts, question=question, panel=panel)
            self.calls = self.judges.calls
        self._verdict(tested, verdict, branch, call, [reply])

    def _unanswered(self, ask: Ask, branch: str | None, error: ModelError) -> None:
        self._verdict(ask, Verdict(Outcome(error.outcome), str(error)), branch)

    async def _ask(
        self, agent: Agent, text: str, branch: str | None, purpose: str, origin: str = "probe"
    ) -> tuple[Reply, int]:
        number, self.calls = self.calls, self.calls + 1
        self._message(branch, origin, {"message": user(text).to_dict()})
        reply: Reply | None = None
        error: ModelError | None = None
        try:
            reply = await self._fed(agent, text)
        except ModelError as failed:
            error = failed
        except (TypeError, ValueError) as failed:
            error = ModelError(f"{self.plan.model.id}: feed() gave what is no reply ({failed})")
        usage = NOT_COUNTED if reply is None else priced(reply.usage, self.model.price)
        window = self.plan.settings.window
        occupancy = usage.prompt_tokens / window if usage.prompt_tokens and window else None
        record: Record = {
            "t": "call",
            "n": number,
            "turn": self.turn,
            "branch": branch,
            "purpose": purpose,
            "view": None,
            "prompt_estimate": None,
            "prefix_reuse": None,
            "occupancy": occupancy,
            "occupancy_source": "usage" if occupancy is not None else None,
            "token_drift": None,
            "attempts": 1,
            **answer_fields(reply, error, usage),
        }
        if error is not None:
            record["error"] = self.file.redact.text(str(error))
        self.file.emit(record)
        self.listener.on_call(usage, asked=True)
        if error is not None:
            raise error
        assert reply is not None
        self._message(branch, "reply", {"call": number})
        return reply, number

    async def _fed(self, agent: Agent, text: str) -> Reply:
        """The agent's reply, within the caps of the run."""
        if self.meter is None or not self.meter.budget.capped:
            return await agent.feed(text, self.plan.settings.timeout)
        return await self.meter.feed(lambda: agent.feed(text, self.plan.settings.timeout))

    def _message(self, branch: str | None, origin: str, body: dict[str, Any]) -> None:
        index, self.messages = self.messages, self.messages + 1
        head = {"t": "msg", "i": index, "turn": self.turn, "branch": branch, "origin": origin, "pinned": False}
        self.file.emit(head | body)

    def _verdict(
        self,
        tested: Tested,
        verdict: Verdict,
        branch: str | None,
        call: int | None = None,
        replies: Sequence[Reply] = (),
    ) -> None:
        record = verdict_record(verdict, tested, turn=self.turn, branch=branch, call=call, replies=replies)
        # Nothing is known of what the agent's model was sent, so nothing is claimed about why.
        self.file.emit(record | {"cause": None})


@asynccontextmanager
async def _closing(agent: Agent) -> AsyncIterator[Agent]:
    """Close the agent whatever happens to its session."""
    try:
        yield agent
    finally:
        await agent.close()


def _joined(*parts: str | None) -> str:
    return "\n\n".join(part for part in parts if part)
