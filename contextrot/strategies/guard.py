"""The budget guard: hard token shares for what a prompt is made of, kept before the model or the provider cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pydantic import Field, field_validator

from contextrot.errors import BudgetError
from contextrot.log import Entry, Log
from contextrot.messages import Message, ToolCall
from contextrot.outcomes import Status
from contextrot.strategies.assemble import Made, Must, must_keep
from contextrot.strategies.base import Event, Request, Size, State, Strategy, View, register
from contextrot.strategies.load import AnyStrategy
from contextrot.strategies.overlay import Overlay, Payloads, Settled, restatus, uncovered
from contextrot.strategies.sizes import in_tokens, words
from contextrot.strategies.window import Fifo


@register
class BudgetGuard(Strategy):
    """Gives each part of the prompt a share it cannot pass, whatever the strategy inside would send.

    After the comment under the first article: "set a hard token limit for each component (system, history, RAG, tool
    output) and reject or trim proactively instead of letting the model cut". It names no numbers; the defaults leave
    the largest share to the conversation, and each is an upper limit, so that they may add up to more than the window.

    System messages over their share are an error before the call. A tool result over the share of all of them is cut
    in the middle; together they are brought under it from the oldest on. Of history and of what was retrieved the
    oldest is left out. What must stay in view is never cut, but it counts: a result the model has not seen yet and
    pins take their room first.
    """

    type_name = "budget_guard"
    summary = "wraps another: hard token shares for system, history, retrieved, tool output"

    inner: AnyStrategy = Field(default=Fifo(), description="the strategy that is wrapped")
    system: Size = Field(default=Size(fraction=0.3), description="most that system messages may take; more is an error")
    history: Size = Field(
        default=Size(fraction=0.5), description="most that messages, calls, summaries and pins may take together"
    )
    retrieved: Size = Field(default=Size(fraction=0.2), description="most that retrieved messages may take together")
    tool_output: Size = Field(default=Size(fraction=0.3), description="most that tool results may take together")

    @field_validator("system", "history", "retrieved", "tool_output")
    @classmethod
    def _in_tokens(cls, size: Size) -> Size:
        if size.tokens is None and size.fraction is None:
            raise ValueError("give a share in tokens or as a fraction of the window")
        return size

    def wants_pins(self) -> bool:
        """As the inner strategy."""
        return self.inner.wants_pins()

    async def view(self, log: Log, state: State, request: Request) -> View:
        """The inner strategy's view, brought under the shares. Raises `BudgetError`, also for the system messages."""
        limits = {name: in_tokens(getattr(self, name), request) or 1 for name in _COMPONENTS}
        self._refuse_system(log, limits["system"])
        cut = state.get("cut") or limits["tool_output"]
        before = Settled.read(state)
        payloads = Payloads(log, cut, lambda index, entry: _cut(entry, cut, request))
        settled = payloads.settle(before)
        overlay = Overlay(log, payloads, settled.saved)
        must = must_keep(overlay, request)
        inner_state: State = state.get("inner", {})
        room = min(request.budget, _room(limits, must))
        try:
            view = await self.inner.view(overlay, inner_state, replace(request, budget=room))
        except BudgetError:  # it takes no less than all there is (`full`), so that only the trimming below helps
            view = await self.inner.view(overlay, inner_state, request)
        events = list(view.events)
        if settled.count > before.count:
            detail = {"component": "tool_output", "cut": settled.count - before.count}
            events.append(Event("budget_guard", {**detail, "tokens": settled.saved - before.saved}))
        trim = _Trim(uncovered(view, payloads, Status.MASKED), log, request)
        events += trim.tool_output(limits["tool_output"])
        events += trim.oldest("retrieved", limits["retrieved"])
        events += trim.oldest("history", limits["history"])
        kept: State = {"cut": cut, **settled.write(), "inner": view.state}
        return replace(trim.view(), events=tuple(events), state=kept)

    def answer(self, call: ToolCall, log: Log, state: State) -> str | None:
        """As the inner strategy, from the whole log: what was offloaded is read uncut."""
        return self.inner.answer(call, log, state.get("inner", {}))

    def _refuse_system(self, log: Log, limit: int) -> None:
        units = log.units
        tokens = sum(units[number].tokens for number in log.always if units[number].kind == "system")
        if tokens > limit:
            raise BudgetError(
                f"system messages take {tokens:,} tokens, more than their share of {words(self.system)}: "
                "shorten them, or raise system",
                {"system": tokens, "share": limit},
            )


_COMPONENTS = ("system", "history", "retrieved", "tool_output")


def _room(limits: dict[str, int], must: Must) -> int:
    """What a prompt under all shares can take at most; never less than what must stay."""
    results = must.components["unseen tool results"]
    said = must.tokens - must.components["system"] - results
    return (
        must.components["system"]
        + max(limits["history"], said)
        + limits["retrieved"]
        + max(limits["tool_output"], results)
    )


def _cut(entry: Entry, most: int, request: Request) -> Made:
    """The result with its middle left out, in at most `most` tokens where that leaves room for the marker."""
    message = entry.message
    text = message.text

    def made(kept: int) -> Made:
        share = kept / len(text)
        marker = f"[… about {round(entry.tokens * (1 - share)):,} of {entry.tokens:,} tokens cut here …]"
        head, tail = text[: kept - kept // 2], text[len(text) - kept // 2 :]
        short = replace(message, content="\n".join(part for part in (head, marker, tail) if part))
        return Made(short, request.count(short))

    kept = len(text) * most // max(1, entry.tokens)
    while kept and made(kept).tokens > most:
        kept = kept * 9 // 10
    return made(kept)


@dataclass
class _Group:
    """Messages of the view that go together: positions, and whether they must stay."""

    positions: list[int] = field(default_factory=list)
    stays: bool = False


class _Trim:
    """A view being brought under its shares; message by message, with the manifest kept true."""

    def __init__(self, view: View, log: Log, request: Request) -> None:
        self._view = view
        self._log = log
        self._request = request
        self._messages: list[Message | None] = list(view.messages)
        self._sources = list(view.sources)
        self._tokens = [
            request.count(message) if source is None else log[source].tokens
            for message, source in zip(view.messages, view.sources, strict=True)
        ]
        self._changes: dict[int, Status] = {}
        self._retrieved = _indexes(view, Status.RETRIEVED)
        self._call_of: dict[str, int] = {}
        self._groups = self._grouped()

    def _grouped(self) -> list[_Group]:
        """The view's units, in order of their first message."""
        groups: list[_Group] = []
        of_call: dict[str, _Group] = {}
        waiting = set(self._log.unanswered())
        for position, (message, source) in enumerate(zip(self._view.messages, self._sources, strict=True)):
            if message.role == "tool":
                group = of_call[message.tool_call_id or ""]
            else:
                groups.append(group := _Group())
                # What a strategy wrote stands for messages that are in view nowhere else.
                group.stays = source is None or message.role == "system" or source == self._log.current_user
                for call in message.tool_calls:
                    of_call[call.id] = group
                    self._call_of[call.id] = position
                    group.stays = group.stays or call.id in waiting
            group.positions.append(position)
            group.stays = group.stays or self._must_stay(source)
        return groups

    def _must_stay(self, source: int | None) -> bool:
        """True for pins and for results the model has not seen yet."""
        if source is None:
            return False
        spoken = -1 if self._log.last_assistant is None else self._log.last_assistant
        entry = self._log[source]
        return entry.pinned or (entry.message.role == "tool" and source > spoken)

    def component(self, position: int) -> str:
        """Which share the message at this position of the view takes from."""
        message, source = self._view.messages[position], self._view.sources[position]
        if message.role == "tool":
            return "tool_output"
        if source in self._retrieved:
            return "retrieved"
        return "system" if message.role == "system" and source is not None else "history"

    def _total(self, component: str) -> int:
        return sum(
            tokens for position, tokens in enumerate(self._tokens) if tokens and self.component(position) == component
        )

    def tool_output(self, limit: int) -> Iterator[Event]:
        """Results, newest first, until the share is used up; older ones become a marker, or go with their round."""
        left, held = limit, {}
        for group in self._groups:
            for position in group.positions:
                if self.component(position) != "tool_output":
                    continue
                if self._must_stay(self._sources[position]):
                    left -= self._tokens[position]
                elif group.stays:  # it cannot go, so that at least its marker takes room before all others
                    held[position] = min(self._tokens[position], self._marker(position).tokens)
                    left -= held[position]
        cut, before, full = 0, sum(self._tokens), False
        for group in reversed(self._groups):
            for position in reversed(group.positions):
                if self.component(position) != "tool_output" or self._must_stay(self._sources[position]):
                    continue
                left += held.get(position, 0)
                full = full or self._tokens[position] > left
                if full:
                    cut += 1
                    marker = self._marker(position)
                    if min(marker.tokens, self._tokens[position]) > left and not group.stays:
                        self._drop(group)
                        break
                    if marker.tokens < self._tokens[position]:
                        self._replace(position, marker)
                left -= self._tokens[position]
        if cut:
            yield Event("budget_guard", {"component": "tool_output", "cut": cut, "tokens": before - sum(self._tokens)})

    def oldest(self, component: str, limit: int) -> Iterator[Event]:
        """Leave out the oldest units of this component until what is left is under the limit."""
        over, cut, before = self._total(component) - limit, 0, sum(self._tokens)
        for group in self._groups:
            if over <= 0:
                break
            if group.stays or not group.positions or self.component(group.positions[0]) != component:
                continue
            over -= sum(self._tokens[p] for p in group.positions if self.component(p) == component)
            cut += 1
            self._drop(group)
        if cut:
            yield Event("budget_guard", {"component": component, "cut": cut, "tokens": before - sum(self._tokens)})

    def _marker(self, position: int) -> Made:
        message = self._view.messages[position]
        short = replace(message, content=f"[tool output cut: {self._tokens[position]:,} tokens]")
        return Made(short, self._request.count(short))

    def _replace(self, position: int, made: Made) -> None:
        index = self._index(position)
        if index is not None:
            self._messages[position], self._tokens[position], self._sources[position] = made.message, made.tokens, None
            self._changes[index] = Status.MASKED

    def _drop(self, group: _Group) -> None:
        for position in group.positions:
            index = self._index(position)
            if index is not None:
                self._changes[index] = Status.DROPPED
            self._messages[position], self._tokens[position] = None, 0
        group.positions = []

    def _index(self, position: int) -> int | None:
        """The log index of a message of the view, also of one that another stands in for."""
        source = self._view.sources[position]
        if source is not None:
            return source
        name = self._view.messages[position].tool_call_id
        call = self._view.sources[self._call_of[name]] if name in self._call_of else None
        if call is None:
            return None
        indices = self._log.units[self._log.unit_of(call)].indices
        return next((k for k in indices if self._log.messages[k].tool_call_id == name), None)

    def view(self) -> View:
        """What is left."""
        kept = [(m, s) for m, s in zip(self._messages, self._sources, strict=True) if m is not None]
        return replace(
            self._view,
            messages=tuple(message for message, _ in kept),
            sources=tuple(source for _, source in kept),
            manifest=restatus(self._view.manifest, self._changes) if self._changes else self._view.manifest,
            tokens=sum(self._tokens),
        )


def _indexes(view: View, status: Status) -> frozenset[int]:
    return frozenset(
        index for found, start, end in view.manifest.runs if found is status for index in range(start, end)
    )
