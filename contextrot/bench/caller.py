"""One recorded call: answered from the record while a run is resumed, by the model otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from contextrot.bench.gate import Gate
from contextrot.bench.plan import Plan, seed_of
from contextrot.bench.store import Record, SessionFile
from contextrot.errors import ContextOverflowError, ModelError
from contextrot.messages import NOT_COUNTED, Message, Reply, ToolCall, Usage
from contextrot.models.base import Call, Truth
from contextrot.models.engine import room_for_reply
from contextrot.models.roles import normalise
from contextrot.outcomes import Status
from contextrot.strategies.base import View
from contextrot.tokens import Drift, TokenCounter


class Listener(Protocol):
    """Hears of calls as they end, to show progress. `asked` is False for a call answered from the record."""

    def on_call(self, usage: Usage, *, asked: bool) -> None:
        """One more call is answered."""


class Answer(NamedTuple):
    """A reply with what the record says of the call: its number, and the tokens and occupancy of its prompt."""

    reply: Reply
    n: int
    occupancy: float | None


def outcome_of(reply: Reply) -> str:
    """How a call ended, from the reply alone: `ok`, `truncated`, `filtered` or `empty`."""
    if reply.finish_reason in ("length", "max_tokens"):
        return "truncated"
    if reply.finish_reason == "content_filter":
        return "filtered"
    return "ok" if reply.text.strip() or reply.tool_calls or reply.refusal else "empty"


def _stored_view(view: View, view_hash: str) -> Record:
    """A view as ranges into the log plus the messages the strategy made (docs/run-directory.md)."""
    runs = view.manifest.runs
    ranges = [[start, end] for status, start, end in runs if status is Status.VERBATIM]
    made: list[list[Any]] = []
    if sum(end - start for start, end in ranges) != len(view.messages):
        ranges = []
        for position, source in enumerate(view.sources):
            if source is None:
                made.append([position, view.messages[position].to_dict()])
            elif ranges and ranges[-1][1] == source:
                ranges[-1][1] = source + 1
            else:
                ranges.append([source, source + 1])
    manifest = [[status.value, start, end] for status, start, end in runs]
    return {"ranges": ranges, "made": made, "manifest": manifest, "tokens": view.tokens, "hash": view_hash}


class Caller:
    """Makes the calls of one session and writes their records. Holds what it learns of the model's counting."""

    def __init__(self, plan: Plan, gate: Gate, file: SessionFile, counter: TokenCounter, listener: Listener) -> None:
        self.plan = plan
        self.gate = gate
        self.file = file
        self.counter = counter
        self.listener = listener
        self.drift = Drift()
        self.calls = 0
        self.script = plan.script
        self._tool_tokens = counter.tools(self.script.tools)

    def budget(self) -> int:
        """Tokens a view's messages may take now, in the counter's unit: window less reply, less tool schemas."""
        window, max_tokens = self.plan.settings.window, self.plan.settings.max_tokens
        room = window - room_for_reply(self.plan.model.engine, window, max_tokens)
        return int(room / self.drift.scale) - self._tool_tokens

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        turn: int,
        branch: str | None,
        purpose: str,
        round_: int = 0,
        view: View | None = None,
        reuse: float | None = None,
        hint: Truth | None = None,
        max_tokens: int | None = None,
    ) -> Answer:
        """Ask once and record it. Raises the `ModelError` that ended the call, after recording it as well."""
        plan, settings = self.plan, self.plan.settings
        with_tools = purpose != "auxiliary"
        number, self.calls = self.calls, self.calls + 1
        view_hash = blake2b(b"".join([message.digest for message in messages]), digest_size=12).hexdigest()
        tokens = view.tokens if view is not None else sum(map(self.counter.message, messages))
        estimated = tokens + (self._tool_tokens if with_tools else 0)
        prompt_estimate = round(estimated * self.drift.scale)
        known = self.file.recorded_call(view_hash)
        if known is not None:
            reply, error = _revive(known)
            attempts = known["attempts"]
        else:
            call = Call(
                messages=normalise(messages, plan.model.roles),
                tools=self.script.tools if with_tools else (),
                max_tokens=max_tokens or settings.max_tokens,
                temperature=settings.temperature,
                seed=seed_of(plan.seed, plan.scenario, plan.repeat, turn, branch, purpose, round_),
                session=plan.key,
                timeout=settings.timeout,
                hint=hint,
            )
            reply, error, attempts = await self._ask_model(call, number)
        usage = reply.usage if reply is not None else NOT_COUNTED
        occupancy = (usage.prompt_tokens or prompt_estimate) / settings.window
        # A branch is thrown away, and what it teaches about counting with it: the main line must not depend on probes.
        drift = Drift(self.drift.scale) if branch or not with_tools else self.drift
        record: Record = {
            "t": "call",
            "n": number,
            "turn": turn,
            "branch": branch,
            "purpose": purpose,
            "view": _stored_view(view, view_hash)
            if view is not None
            else {"messages": [message.to_dict() for message in messages], "hash": view_hash},
            "prompt_estimate": prompt_estimate,
            "prefix_reuse": reuse,
            "occupancy": occupancy,
            "occupancy_source": "usage" if usage.prompt_tokens else "estimate",
            "token_drift": drift.learn(usage.prompt_tokens, estimated),
            "reply": None if reply is None else stored_reply(reply),
            "usage": {
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "cached_tokens": usage.cached_tokens,
                "cost": usage.cost,
            },
            "model": reply.model if reply is not None else None,
            "latency": reply.latency if reply is not None else None,
            "attempts": attempts,
            "outcome": error.outcome if error is not None else outcome_of(reply or Reply()),
            "error": None if error is None else str(error),
        }
        self.file.emit(record)
        self.listener.on_call(usage, asked=known is None)
        if error is not None:
            raise error
        assert reply is not None
        return Answer(reply, number, occupancy)

    async def _ask_model(self, call: Call, number: int) -> tuple[Reply | None, ModelError | None, int]:
        try:
            result = await self.gate.complete(call)
        except ModelError as error:
            return None, type(error)(self.file.redact.text(str(error))), getattr(error, "attempts", 1)
        reply = result.reply
        price, usage = self.gate.model.price, reply.usage
        if usage.cost is None and price and usage.prompt_tokens is not None and usage.completion_tokens is not None:
            cost = price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens or 0)
            reply = replace(reply, usage=usage._replace(cost=cost))
        # What the model repeats of a secret is replaced before it enters the log: the record and a replay then agree.
        if reply.content is not None and (content := self.file.redact.text(reply.content)) != reply.content:
            reply = replace(reply, content=content)
        if reply.tool_calls:
            reply = replace(reply, tool_calls=_named(reply.tool_calls, number))
        return reply, None, result.attempts


def _named(calls: Sequence[ToolCall], number: int) -> tuple[ToolCall, ...]:
    """Tool calls with ids that are there and differ: some engines leave them empty or give all the same one."""
    seen: set[str] = set()
    named = []
    for position, call in enumerate(calls):
        name = call.id if call.id and call.id not in seen else f"call_{number}_{position}"
        seen.add(name)
        named.append(replace(call, id=name))
    return tuple(named)


def stored_reply(reply: Reply) -> Record:
    """A reply as the record keeps it; usage and latency stand beside it."""
    return {
        "content": reply.content,
        "tool_calls": [call.to_dict() for call in reply.tool_calls],
        "finish_reason": reply.finish_reason,
        "reasoning": reply.reasoning,
        "refusal": reply.refusal,
    }


def _revive(record: Record) -> tuple[Reply | None, ModelError | None]:
    """The reply of a recorded call, or the error it ended with (of those a session may go on from)."""
    if record["reply"] is None:
        return None, ContextOverflowError(record["error"] or "")
    reply = Reply.from_dict(record["reply"])
    return replace(reply, usage=Usage(**record["usage"]), model=record["model"], latency=record["latency"]), None
