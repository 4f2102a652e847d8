"""`contextrot.render`: what a strategy would send now, for a history of plain OpenAI-style dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from contextrot.callbacks import Embedding, Summarizer, helpers, run
from contextrot.errors import ConfigError, MalformedHistoryError
from contextrot.log import Log, repair
from contextrot.messages import Message, Tool
from contextrot.models.roles import OPENING, normalise
from contextrot.outcomes import Status
from contextrot.strategies import Event, Request, Strategy, View, load_strategy
from contextrot.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class RenderedView:
    """What would be sent.

    messages: OpenAI-style dicts. manifest: what became of each message handed in, in order (`verbatim`, `masked`,
    `summarised`, `dropped`, …). tokens: an estimate of all messages, tool schemas apart. events: what the strategy did
    besides. aux_calls: calls of the summariser. tools: schemas of tools that the strategy itself offers the model.
    """

    messages: tuple[dict[str, Any], ...]
    manifest: tuple[str, ...]
    tokens: int
    events: tuple[Event, ...] = ()
    aux_calls: int = 0
    tools: tuple[dict[str, Any], ...] = ()


def render(
    strategy: str | Mapping[str, Any] | Strategy,
    messages: Sequence[Mapping[str, Any]],
    *,
    window: int,
    tools: Sequence[Tool | Mapping[str, Any]] | None = None,
    summarizer: Summarizer | None = None,
    embedder: Embedding | None = None,
    pins: Sequence[int] = (),
    on_malformed: Literal["error", "repair"] = "error",
    roles: str | None = None,
) -> RenderedView:
    """The view of `messages` under a strategy. The messages handed in are never changed.

    window: tokens that messages and tool schemas may take together. pins: indexes of messages that stay in view.
    summarizer: sync or async, from a list of message dicts to a text or a reply dict. on_malformed: what to do with
    tool calls and results that do not pair. embedder: sync or async, from texts to vectors, for strategies that
    retrieve; none: wordllama, in this process. roles: None or ``strict_alternation``.

    A summariser is asked as in one turn of a session: 1 + `retries` times at most. What is not covered by then stays
    verbatim as far as there is room, and an event (`summary_unfinished`, `fallback`) says so.

    Raises `ConfigError` (`MalformedHistoryError` for the messages) and `BudgetError`. May be called inside a running
    event loop, which it then blocks for as long as the summariser takes.
    """
    chosen = load_strategy(strategy)
    check_window(window)
    if on_malformed not in ("error", "repair"):
        raise ConfigError(f"on_malformed is {on_malformed!r}; it must be error or repair")
    parsed = [parse_message(index, raw) for index, raw in enumerate(messages)]
    pinned = _pins(pins, len(parsed))
    kept = repair(messages)
    if on_malformed == "error" and len(kept) < len(parsed):
        raise MalformedHistoryError(_fault(messages, kept))
    counter = TokenCounter()
    log = Log(counter.message)
    turn = 0
    for index in kept:
        turn += parsed[index].role == "user"
        log.append(parsed[index], turn=turn, pinned=index in pinned)
    spare = window - tool_tokens(tools or (), counter)
    if roles is not None:
        normalise((), roles)  # refuses unknown rules before the summariser is called
        spare -= counter.message(Message("user", OPENING))
    own = helpers(summarizer, embedder)
    request = Request(spare, window, turn, counter.message, own.auxiliary, embedder=own.embedder)
    view = run(chosen.view(log, {}, request), waits=own.waits)
    sent = normalise(view.messages, roles)
    originals = {
        id(message): messages[kept[source]]
        for message, source in zip(view.messages, view.sources, strict=True)
        if source is not None
    }
    dicts = tuple(deepcopy(dict(originals[id(m)])) if id(m) in originals else m.to_dict() for m in sent)
    tokens = view.tokens if roles is None else sum(map(counter.message, sent))
    offered = tuple(tool.to_dict() for tool in view.tools)
    return RenderedView(dicts, _manifest(view, kept, len(parsed)), tokens, view.events, view.aux_calls, offered)


def _manifest(view: View, kept: Sequence[int], length: int) -> tuple[str, ...]:
    """Statuses by input message; what repair left out is dropped."""
    statuses = [Status.DROPPED.value] * length
    for index, status in zip(kept, view.manifest, strict=True):
        statuses[index] = status.value
    return tuple(statuses)


def check_window(window: int) -> int:
    """The window itself, or `ConfigError`."""
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise ConfigError(f"window is {window!r}; it must be a whole number of tokens, at least 1")
    return window


def parse_message(index: int, raw: Any) -> Message:
    """The message of a user's dict; `index` is for the sentence of the `MalformedHistoryError`."""
    if not isinstance(raw, Mapping):
        raise MalformedHistoryError(f"message {index} is {type(raw).__name__}, not a dict with role and content")
    content, calls = raw.get("content"), raw.get("tool_calls")
    if content is not None and not isinstance(content, str | list | tuple):
        raise MalformedHistoryError(f"message {index} has a content that is neither text nor a list of parts")
    if calls is not None and not (isinstance(calls, list | tuple) and all(isinstance(call, Mapping) for call in calls)):
        raise MalformedHistoryError(f"message {index} has tool_calls that are not a list of dicts")
    try:
        return Message.from_dict(raw)
    except ValueError as error:
        raise MalformedHistoryError(f"message {index}: {error}") from None


def _pins(pins: Sequence[int], length: int) -> frozenset[int]:
    for pin in pins:
        if isinstance(pin, bool) or not isinstance(pin, int) or not 0 <= pin < length:
            raise ConfigError(f"pins names message {pin!r}, but the messages are numbered 0 to {length - 1}")
    return frozenset(pins)


def _fault(messages: Sequence[Mapping[str, Any]], kept: Sequence[int]) -> str:
    """The sentence for the first message that repair would leave out."""
    index = next(index for index in range(len(messages)) if index not in set(kept))
    raw = messages[index]
    if raw.get("role") == "tool":
        why = f"is a tool result for {raw.get('tool_call_id')!r}, but no open tool call has that id"
    else:
        ids = ", ".join(repr(call.get("id")) for call in raw.get("tool_calls") or ())
        why = f"calls tools ({ids}), and not every call gets a result although the conversation goes on"
    return f"message {index} {why}; mend the history, or pass on_malformed='repair' to leave such messages out"


def tool_tokens(tools: Sequence[Tool | Mapping[str, Any]], counter: TokenCounter) -> int:
    """Tokens of the tool schemas that go out with a call."""
    schemas = (tool.to_dict() if isinstance(tool, Tool) else dict(tool) for tool in tools)
    return sum(counter.text(orjson.dumps(schema).decode()) for schema in schemas)
