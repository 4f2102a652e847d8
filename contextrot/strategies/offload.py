"""Offloading: large payloads stand outside the window, with a digest and a handle in it, and a tool to read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import orjson
from pydantic import Field, field_validator

from contextrot.errors import BudgetError
from contextrot.log import Entry, Log
from contextrot.messages import Message, Tool, ToolCall
from contextrot.outcomes import Status
from contextrot.strategies.assemble import Made
from contextrot.strategies.base import Event, Request, Size, State, Strategy, View, register
from contextrot.strategies.load import AnyStrategy
from contextrot.strategies.overlay import Overlay, Payloads, Settled, uncovered
from contextrot.strategies.sizes import in_tokens
from contextrot.strategies.window import Fifo

READ_TOOL = Tool(
    "read_offloaded",
    "Read text kept outside of this conversation, marked [offload:HANDLE]. Large ones: in parts.",
    {
        "type": "object",
        "properties": {
            "handle": {"type": "string"},
            "offset": {"type": "integer", "description": "characters to skip"},
            "limit": {"type": "integer", "description": "most characters"},
            "query": {"type": "string", "description": "only lines with this"},
        },
        "required": ["handle"],
    },
)
#: Characters shown on each side of a match in a line that is longer than that.
_AROUND = 200


@register
class Offload(Strategy):
    """Large tool results leave the window once the model has seen them; a digest with a handle stays in their place.

    After "Offloading" in the fourth article: "store large payloads externally and put a reference plus a short digest
    in the window". The store is the log itself, which is durable, so a handle can be read for as long as the session
    lasts, whatever the strategy inside does with the digest. The read tool is offered from the first digest on, and
    its schema is paid from the budget. A tenth of the window is where agent harnesses offload (20,000 of 200,000
    tokens is a common setting); sizes are fixed at the first view, so that a digest never changes.

    The model sees every result whole first, as under all strategies. `unseen: true` gives that up: a result over the
    size is a digest from the start, so that a result larger than the window does not end the session; what the read
    tool returned is then shown whole wherever it fits.
    """

    type_name = "offload"
    summary = "wraps another: large payloads stored outside, digest + handle in the window, re-readable through a tool"

    inner: AnyStrategy = Field(default=Fifo(), description="the strategy that is wrapped")
    over: Size = Field(
        default=Size(fraction=0.1), description="messages larger than this are offloaded: tokens or fraction"
    )
    max_tokens: int = Field(default=80, ge=16, description="the most a digest may take, in tokens")
    user_messages: bool = Field(default=False, description="offload large messages of the user too, but the current")
    unseen: bool = Field(default=False, description="offload results before the model has seen them whole")

    @field_validator("over")
    @classmethod
    def _in_tokens(cls, size: Size) -> Size:
        if size.tokens is None and size.fraction is None:
            raise ValueError("say in tokens or as a fraction of the window how large a payload is")
        return size

    def wants_pins(self) -> bool:
        """As the inner strategy."""
        return self.inner.wants_pins()

    async def view(self, log: Log, state: State, request: Request) -> View:
        """The inner strategy's view of the log with digests. Raises what the inner strategy raises."""
        over = state.get("over") or in_tokens(self.over, request) or 1
        most = state.get("most") or max(1, int(self.max_tokens / request.scale))
        before = Settled.read(state)
        payloads = self._payloads(log, over, most, request)
        settled = payloads.settle(before)
        try:
            view = await self._inner_view(log, state, request, payloads, settled)
        except BudgetError:
            if not (self.unseen and settled.held):
                raise
            # What was read does not fit whole; its digest says how large it is, and a part can be read instead.
            payloads = self._payloads(log, over, most, request, also_read=True)
            everything = payloads.settle(before)
            if everything.count == settled.count:
                raise
            view = await self._inner_view(log, state, request, payloads, everything)
        events = view.events
        if settled.count > before.count:
            detail = {"messages": settled.count - before.count, "tokens_saved": settled.saved - before.saved}
            events = (Event("offload", detail), *events)
        kept: State = {"over": over, "most": most, **settled.write(), "inner": view.state}
        return replace(view, events=events, state=kept)

    async def _inner_view(self, log: Log, state: State, request: Request, payloads: Payloads, settled: Settled) -> View:
        tools = (READ_TOOL,) if settled.count else ()
        schema = request.count(Message("system", orjson.dumps(READ_TOOL.to_dict()).decode())) if tools else 0
        smaller = replace(request, budget=request.budget - schema)
        view = await self.inner.view(Overlay(log, payloads, settled.saved), state.get("inner", {}), smaller)
        others = tuple(tool for tool in view.tools if tool.name != READ_TOOL.name)
        return replace(uncovered(view, payloads, Status.OFFLOADED), tools=(*tools, *others) if tools else view.tools)

    def _payloads(self, log: Log, over: int, most: int, request: Request, *, also_read: bool = False) -> Payloads:
        def make(index: int, entry: Entry) -> Made:
            return _digest(log, index, entry, most, request)

        def unseen(index: int) -> bool:
            return self.unseen and (also_read or _tool_name(log, index) != READ_TOOL.name)

        return Payloads(log, over, make, users=self.user_messages, unseen=unseen)

    def answer(self, call: ToolCall, log: Log, state: State) -> str | None:
        """The text behind a handle, or the part asked for; a handle nobody gave out is answered with an error."""
        if call.name != READ_TOOL.name:
            return self.inner.answer(call, log, state.get("inner", {}))
        try:
            asked = orjson.loads(call.arguments)
        except orjson.JSONDecodeError:
            asked = None
        if not isinstance(asked, dict) or not isinstance(asked.get("handle"), str):
            return _error('the arguments must be a JSON object with a handle: {"handle": "m12"}')
        handle = asked["handle"].strip().removeprefix("[").removesuffix("]").removeprefix("offload:").strip()
        text = self._text(handle, log)
        if text is None:
            return _error(f"there is no text with the handle {handle}; use one that stands as [offload:HANDLE]")
        query = asked.get("query")
        if isinstance(query, str) and query:
            return "\n".join(_matches(text, query)) or _error(f"no line contains {query}")
        try:
            offset, limit = (None if asked.get(name) is None else int(asked[name]) for name in ("offset", "limit"))
        except (TypeError, ValueError):
            return _error("offset and limit must be whole numbers of characters")
        start = max(0, offset or 0)
        if start and start >= len(text):
            return _error(f"the text has {len(text):,} characters; offset {start:,} is behind its end")
        return text[start:] if limit is None else text[start : start + max(1, limit)]

    def _text(self, handle: str, log: Log) -> str | None:
        number = handle.removeprefix("m")
        if not (handle.startswith("m") and number.isascii() and number.isdigit() and int(number) < len(log)):
            return None
        message = log[int(number)].message
        return message.content if message.role in ("tool", "user") and isinstance(message.content, str) else None


def _digest(log: Log, index: int, entry: Entry, most: int, request: Request) -> Made:
    """The message that stands for a payload: handle, kind, size, and how it begins."""
    message = entry.message
    text = message.text
    of = "message of the user" if message.role == "user" else f"result of {_tool_name(log, index) or 'a tool'}"
    kind = "JSON" if (text.lstrip()[:1] + text.rstrip()[-1:]) in ("{}", "[]") else "text"
    size = f"{entry.tokens:,} tokens, {len(text):,} characters, {text.count(chr(10)) + 1:,} lines"
    header = f"[offload:m{index}] {of}, {kind}, {size}. It begins:"

    def made(shown: str) -> Made:
        digest = replace(message, content=f"{header}\n{shown} …" if shown else header.removesuffix(" It begins:"))
        return Made(digest, request.count(digest))

    # A token is seldom more than 8 characters, so what is tried first is too long rather than too short.
    bare, shown = made(""), text[: most * 8].strip()
    digest = made(shown)
    while shown and digest.tokens > most:
        fits = len(shown) * max(0, most - bare.tokens) // max(1, digest.tokens - bare.tokens)
        shown = shown[: min(fits, len(shown) - 1)].rstrip()
        digest = made(shown)
    return digest


def _tool_name(log: Log, index: int) -> str:
    """The tool whose result stands at `index`; "" when the call does not say, or it is no result."""
    message = log.messages[index]
    calls = log.messages[log.units[log.unit_of(index)].indices[0]].tool_calls
    return next((call.name for call in calls if call.id == message.tool_call_id), "")


def _matches(text: str, query: str) -> Iterator[str]:
    """The lines that contain the query, whatever its case; of a very long line what stands around the first match."""
    wanted = query.casefold()
    for line in text.splitlines():
        place = line.casefold().find(wanted)
        if place < 0:
            continue
        start, end = max(0, place - _AROUND), place + len(query) + _AROUND
        if len(line) <= 3 * _AROUND + len(query):
            yield line
        else:
            yield f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def _error(sentence: str) -> str:
    return orjson.dumps({"error": sentence}).decode()
