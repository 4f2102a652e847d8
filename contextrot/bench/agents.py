"""A session with the user's own agent: it keeps its own memory, so no strategy is applied and no view is known.

A fork probe is asked on a copy of the agent. An agent that cannot be copied is asked in line, and the record says so.
Such a session cannot be replayed (its memory is its own), so an unfinished one starts anew on resume.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from contextrot.bench.budget import Meter
from contextrot.bench.caller import Caller, Listener, outcome_of, priced, stored_reply
from contextrot.bench.grading import verdict_record
from contextrot.bench.judging import SessionPanel, judged
from contextrot.bench.plan import Plan
from contextrot.bench.store import Record, SessionFile
from contextrot.checks import grade
from contextrot.checks.base import Check, FactState
from contextrot.errors import ContextrotError, LimitError, ModelError, ModelTimeoutError
from contextrot.messages import Reply, user
from contextrot.models.callables import Agent, AgentModel
from contextrot.outcomes import Ended, Outcome, Verdict
from contextrot.scenario.script import Ask, Control, Subject


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

        def record(verdict: Verdict, call: int | None) -> None:
            subject, item = control.subject_id, control.item
            self._verdict(control.id, control.kind, control.check, verdict, branch, call, subject_id=subject, item=item)

        try:
            async with _closing(self.model.new_session()) as agent:
                reply, number = await self._ask(agent, _joined(control.system, control.text), branch, "control")
        except ModelError as error:
            record(Verdict(Outcome(error.outcome), str(error)), None)
            raise
        record(await self._judged(reply, control.check, control.facts, control.text, branch), number)

    async def _feed(self, agent: Agent, text: str, ask: Ask | None, branch: str | None, origin: str = "probe") -> None:
        try:
            reply, number = await self._ask(agent, text, branch, "probe" if ask else "turn", origin)
        except ModelError as error:
            if ask is not None:
                self._unanswered(ask, branch, error)
            raise
        tested = ask.subject.id if ask is not None and ask.subject is not None else None
        if ask is not None:
            verdict = await self._judged(reply, ask.check, ask.facts, text, branch)
            self._verdict(ask.id, "probe", ask.check, verdict, branch, number, ask.subject, item=ask.item)
        facts: Mapping[str, FactState] = {}
        for passive in self.script.passive:
            if passive.subject.id in self.stated and passive.subject.id != tested:
                verdict = await self._judged(reply, passive.check, facts, text, branch)
                self._verdict(passive.subject.id, "passive", passive.check, verdict, branch, number, passive.subject)

    async def _judged(
        self, reply: Reply, check: Check, facts: Mapping[str, FactState], question: str, branch: str | None
    ) -> Verdict:
        """The check's verdict; what a judge is asked on the way is numbered with the agent's own calls."""
        if self.judges is None:
            return grade(check, reply, facts)
        self.judges.calls = self.calls
        panel = SessionPanel(self.judges, self.turn, branch)
        verdict = await judged([reply], check, facts, question=question, panel=panel)
        self.calls = self.judges.calls
        return verdict

    def _unanswered(self, ask: Ask, branch: str | None, error: ModelError) -> None:
        verdict = Verdict(Outcome(error.outcome), str(error))
        self._verdict(ask.id, "probe", ask.check, verdict, branch, None, ask.subject, item=ask.item)

    async def _ask(
        self, agent: Agent, text: str, branch: str | None, purpose: str, origin: str = "probe"
    ) -> tuple[Reply, int]:
        number, self.calls = self.calls, self.calls + 1
        self._message(branch, origin, {"message": user(text).to_dict()})
        reply, error = Reply(), None
        try:
            reply = await self._fed(agent, text)
        except ModelError as failed:
            error = failed
        except (TypeError, ValueError) as failed:
            error = ModelError(f"{self.plan.model.id}: feed() gave what is no reply ({failed})")
        usage = priced(reply.usage, self.model.price)
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
            "reply": None if error else stored_reply(reply),
            "usage": {
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "cached_tokens": usage.cached_tokens,
                "cost": usage.cost,
            },
            "model": reply.model,
            "latency": None if error else reply.latency,
            "attempts": 1,
            "outcome": error.outcome if error else outcome_of(reply),
            "error": self.file.redact.text(str(error)) if error else None,
        }
        self.file.emit(record)
        self.listener.on_call(usage, asked=True)
        if error:
            raise error
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
        id_: str,
        kind: str,
        check: Check,
        verdict: Verdict,
        branch: str | None,
        call: int | None,
        subject: Subject | None = None,
        subject_id: str | None = None,
        item: str = "",
    ) -> None:
        record = verdict_record(
            verdict,
            kind=kind,
            id_=id_,
            check=check,
            turn=self.turn,
            branch=branch,
            subject=subject,
            subject_id=subject_id,
            call=call,
            item=item,
        )
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
