"""One recorded call: answered from the record while a run is resumed, by the model otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from contextrot.bench.gate import Gate
from contextrot.bench.plan import Plan, seed_of
from contextrot.bench.store import Record, SessionFile
from contextrot.checks.grading import FILTERED, TRUNCATED, is_shown
from contextrot.errors import ContextOverflowError, ModelError, ModelTimeoutError
from contextrot.messages import NOT_COUNTED, Message, Reply, Tool, ToolCall, Usage
from contextrot.models.base import Call, Price, Truth
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
    """How a call ended, from the reply alone and in the words of the checks: `ok`, `truncated`, `filtered`, `empty`."""
    finish = (reply.finish_reason or "").lower()
    if finish in TRUNCATED:
        return "truncated"
    if finish in FILTERED:
        return "filtered"
    return "ok" if reply.tool_calls or reply.refusal or is_shown(reply.text) else "empty"


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
    stored: Record = {
        "ranges": ranges, "made": made, "manifest": manifest, "tokens": view.tokens, "hash": view_hash,
    }  # fmt: skip
    if view.tools:
        stored["tools"] = [tool.name for tool in view.tools]
    return stored


class Caller:
    """Makes the calls of one session and writes their records. Holds what it learns of the model's counting.

    `auxiliary` is the gate of the model that works for the strategy, where that is another than the session's own;
    `judges` are those of the models that judge replies, by the name a check gives.
    """

    def __init__(
        self,
        plan: Plan,
        gate: Gate,
        file: SessionFile,
        counter: TokenCounter,
        listener: Listener,
        auxiliary: Gate | None = None,
        judges: Mapping[str | None, Gate] | None = None,
    ) -> None:
        self.plan = plan
        self.gate = gate
        self.auxiliary = auxiliary or gate
        self.judges = judges or {}
        self.file = file
        self.counter = counter
        self.listener = listener
        self._drift, self._drift_of_branches = Drift(), Drift()
        self.calls = 0
        self._hashed: tuple[tuple[Message, ...], blake2b] = (), blake2b()
        self.script = plan.script
        self._tool_tokens = counter.tools(self.script.tools)

    def drift(self, branch: str | None) -> Drift:
        """What is known of the model's counting. The main line does not learn from branches: they leave no trace.

        A branch knows what either has taught last; under a scripted history nothing but probes is ever asked.
        """
        return self._drift if branch is None else self._drift_of_branches

    def budget(self, branch: str | None) -> int:
        """Tokens a view's messages may take now, in the counter's unit: window less reply, less tool schemas."""
        window, max_tokens = self.plan.settings.window, self.plan.settings.max_tokens
        room = window - room_for_reply(self.plan.model.engine, window, max_tokens)
        return int(room / self.drift(branch).scale) - self._tool_tokens

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
        gate: Gate | None = None,
        temperature: float | None = None,
    ) -> Answer:
        """Ask once and record it. Raises the `ModelError` that ended the call, after recording it as well.

        Raises `LimitError` when a cap of the run leaves no room for the call: then it was not made and is not recorded.
        """
        plan, settings = self.plan, self.plan.settings
        judges = purpose == "judge"
        helps = judges or purpose == "auxiliary"
        gate = gate or (self.auxiliary if helps else self.gate)
        tools = () if helps else self._tools(view)
        number, self.calls = self.calls, self.calls + 1
        view_hash = self._view_hash(tuple(messages))
        estimated = self._estimated(messages, view, tools)
        drift = self.drift(branch)
        prompt_estimate = round(estimated * drift.scale)
        known = self.file.recorded_call(view_hash, purpose)
        if known is not None:
            (reply, error), attempts = _revive(known), known["attempts"]
        else:
            call = Call(
                messages=normalise(messages, gate.model.spec.roles),
                tools=tools,
                max_tokens=max_tokens or settings.max_tokens,
                temperature=settings.temperature if temperature is None else temperature,
                seed=seed_of(plan.seed, plan.scenario, plan.repeat, turn, branch, purpose, round_),
                session=plan.key,
                timeout=settings.timeout,
                hint=hint,
            )
            reply, error, attempts = await self._ask_model(gate, call, f"{turn}_{round_}", prompt_estimate)
        usage = reply.usage if reply is not None else NOT_COUNTED
        window = settings.window if gate is self.gate else gate.model.window or settings.window
        # A judge looks at the session from outside: its prompts fill no window of the session's.
        occupancy = None if judges else (usage.prompt_tokens or prompt_estimate) / window
        if helps:
            drift = Drift(drift.scale)  # a helper's prompt is of another kind
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
            "occupancy_source": None if judges else "usage" if usage.prompt_tokens else "estimate",
            "token_drift": drift.learn(usage.prompt_tokens, estimated),
            "asked": gate.model.spec.label,
            "attempts": attempts,
            **answer_fields(reply, error, usage),
        }
        if drift is self._drift:
            self._drift_of_branches.scale = drift.scale
        self.file.emit(record)
        self.listener.on_call(usage, asked=known is None)
        if error is not None:
            raise error
        assert reply is not None
        return Answer(reply, number, occupancy)

    def _estimated(self, messages: Sequence[Message], view: View | None, tools: Sequence[Tool]) -> int:
        """Tokens of a prompt with its tools' schemas, in the counter's unit."""
        tokens = view.tokens if view is not None else sum(map(self.counter.message, messages))
        return tokens + (self._tool_tokens if tools is self.script.tools else self.counter.tools(tools))

    def _view_hash(self, messages: tuple[Message, ...]) -> str:
        """Identifies a prompt. Most begin with the whole of the one before: then only what is new has to be read."""
        known, state = self._hashed
        if known and messages[: len(known)] == known:
            state = state.copy()
        else:
            known, state = (), blake2b(digest_size=12)
        for message in messages[len(known) :]:
            state.update(message.digest)
        self._hashed = messages, state
        return state.hexdigest()

    def _tools(self, view: View | None) -> tuple[Tool, ...]:
        """The tools a call goes out with: the strategy's own, and those of the scenario that go by another name."""
        if view is None or not view.tools:
            return self.script.tools
        own = {tool.name for tool in view.tools}
        return (*(tool for tool in self.script.tools if tool.name not in own), *view.tools)

    async def _ask_model(
        self, gate: Gate, call: Call, place: str, prompt_tokens: int
    ) -> tuple[Reply | None, ModelError | None, int]:
        try:
            result = await gate.complete(call, prompt_tokens)
        except ModelError as error:
            return None, type(error)(self.file.redact.text(str(error))), getattr(error, "attempts", 1)
        reply = result.reply
        usage = priced(reply.usage, gate.model.price)
        if usage is not reply.usage:
            reply = replace(reply, usage=usage)
        # What the model repeats of a secret is replaced before it enters the log: the record and a replay then agree.
        if reply.content is not None and (content := self.file.redact.text(reply.content)) != reply.content:
            reply = replace(reply, content=content)
        if reply.tool_calls:
            taken = {known.id for message in call.messages for known in message.tool_calls}
            reply = replace(reply, tool_calls=_named(self._redacted(reply.tool_calls), place, taken))
        return reply, None, result.attempts

    def _redacted(self, calls: Sequence[ToolCall]) -> Iterator[ToolCall]:
        return (replace(call, arguments=self.file.redact.text(call.arguments)) for call in calls)


def _named(calls: Iterable[ToolCall], place: str, taken: set[str]) -> tuple[ToolCall, ...]:
    """Tool calls with ids that are there and differ, also from those `taken` in the prompt.

    Some engines leave ids empty, give all the same one, or begin anew at every reply. What is made up instead follows
    from the call's `place` in the session, never from how many probes were asked before it.
    """
    named = []
    for position, call in enumerate(calls):
        name, tried = call.id, 0
        while not name or name in taken:
            name = f"call_{place}_{position}" + (f"_{tried}" if tried else "")
            tried += 1
        taken.add(name)
        named.append(replace(call, id=name))
    return tuple(named)


def priced(usage: Usage, price: Price | None) -> Usage:
    """The usage with its cost in USD, where the provider stated none and tokens and price are known."""
    if usage.cost is not None or price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return usage
    return usage._replace(cost=price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens or 0))


def answer_fields(reply: Reply | None, error: ModelError | None, usage: Usage) -> Record:
    """What a `call` record says of the answer, or of the error that came instead; `usage` with its cost."""
    said = reply or Reply()
    stored = {
        "content": said.content,
        "tool_calls": [call.to_dict() for call in said.tool_calls],
        "finish_reason": said.finish_reason,
        "reasoning": said.reasoning,
        "refusal": said.refusal,
    }
    return {
        "reply": None if reply is None else stored,
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cached_tokens": usage.cached_tokens,
            "cost": usage.cost,
        },
        "model": None if reply is None else reply.model,
        "latency": None if reply is None else reply.latency,
        "outcome": outcome_of(said) if error is None else error.outcome,
        "error": None if error is None else str(error),
    }


_ERRORS: dict[str, type[ModelError]] = {"overflow": ContextOverflowError, "timeout": ModelTimeoutError}


def _revive(record: Record) -> tuple[Reply | None, ModelError | None]:
    """The reply of a recorded call, or the error it ended with (of those a session may go on from)."""
    if record["reply"] is None:
        kind = _ERRORS.get(record["outcome"], ModelError)
        return None, kind(record["error"] or "")
    reply = Reply.from_dict(record["reply"])
    return replace(reply, usage=Usage(**record["usage"]), model=record["model"], latency=record["latency"]), None
