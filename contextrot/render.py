"""`contextrot.render`: what a strategy would send now, for a history of plain OpenAI-style dicts."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from threading import Thread
from typing import Any, Literal, TypeVar

import orjson

from contextrot.errors import ConfigError, MalformedHistoryError, ModelError
from contextrot.log import Log, repair
from contextrot.messages import Message, Reply, Tool
from contextrot.models.roles import OPENING, normalise
from contextrot.outcomes import Status
from contextrot.strategies import Event, Request, Strategy, View, load_strategy
from contextrot.tokens import TokenCounter

T = TypeVar("T")
Summarizer = Callable[[list[dict[str, Any]]], Any]


@dataclass(frozen=True, slots=True)
class RenderedView:
    """What would be sent.

    messages: OpenAI-style dicts. manifest: what became of each message handed in, in order (`verbatim`, `masked`,
    `summarised`, `dropped`, …). tokens: an estimate of all messages, tool schemas apart. events: what the strategy did
    besides. aux_calls: calls of the summariser.
    """

    messages: tuple[dict[str, Any], ...]
    manifest: tuple[str, ...]
    tokens: int
    events: tuple[Event, ...] = ()
    aux_calls: int = 0


def render(
    strategy: str | Mapping[str, Any] | Strategy,
    messages: Sequence[Mapping[str, Any]],
    *,
    window: int,
    tools: Sequence[Tool | Mapping[str, Any]] | None = None,
    summarizer: Summarizer | None = None,
    pins: Sequence[int] = (),
    on_malformed: Literal["error", "repair"] = "error",
    roles: str | None = None,
) -> RenderedView:
    """The view of `messages` under a strategy. The messages handed in are never changed.

    window: tokens that messages and tool schemas may take together. pins: indexes of messages that stay in view.
    summarizer: sync or async, from a list of message dicts to a text or a reply dict. on_malformed: what to do with
    tool calls and results that do not pair. roles: None or ``strict_alternation``.

    Raises `ConfigError` (`MalformedHistoryError` for the messages) and `BudgetError`. May be called inside a running
    event loop, which it then blocks for as long as the summariser takes.
    """
    chosen = load_strategy(strategy)
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise ConfigError(f"window is {window!r}; it must be a whole number of tokens, at least 1")
    if on_malformed not in ("error", "repair"):
        raise ConfigError(f"on_malformed is {on_malformed!r}; it must be error or repair")
    parsed = [_parse(index, raw) for index, raw in enumerate(messages)]
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
    spare = window - _tool_tokens(tools or (), counter)
    if roles is not None:
        normalise((), roles)  # refuses unknown rules before the summariser is called
        spare -= counter.message(Message("user", OPENING))
    auxiliary = _Helper(summarizer) if summarizer is not None else None
    request = Request(spare, window, turn, counter.message, auxiliary)
    view = _run(chosen.view(log, {}, request), alone=_is_async(summarizer))
    sent = normalise(view.messages, roles)
    originals = {
        id(message): messages[kept[source]]
        for message, source in zip(view.messages, view.sources, strict=True)
        if source is not None
    }
    dicts = tuple(deepcopy(dict(originals[id(m)])) if id(m) in originals else m.to_dict() for m in sent)
    tokens = view.tokens if roles is None else sum(map(counter.message, sent))
    return RenderedView(dicts, _manifest(view, kept, len(parsed)), tokens, view.events, view.aux_calls)


def _manifest(view: View, kept: Sequence[int], length: int) -> tuple[str, ...]:
    """Statuses by input message; what repair left out is dropped."""
    statuses = [Status.DROPPED.value] * length
    for index, status in zip(kept, view.manifest, strict=True):
        statuses[index] = status.value
    return tuple(statuses)


def _parse(index: int, raw: Any) -> Message:
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


def _tool_tokens(tools: Sequence[Tool | Mapping[str, Any]], counter: TokenCounter) -> int:
    schemas = (tool.to_dict() if isinstance(tool, Tool) else dict(tool) for tool in tools)
    return sum(counter.text(orjson.dumps(schema).decode()) for schema in schemas)


class _Helper:
    """A user's summariser as the auxiliary model of a request."""

    def __init__(self, summarizer: Summarizer) -> None:
        self._summarizer = summarizer
        self._async = _is_async(summarizer)

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        try:
            answer = self._summarizer([message.to_dict() for message in messages])
            if inspect.isawaitable(answer):
                answer = await answer if self._async else _apart(_await(answer))
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"the summarizer raised {type(error).__name__}: {error}") from error
        if isinstance(answer, Reply):
            return answer
        if answer is None or isinstance(answer, str | Mapping):
            return Reply.from_dict(answer or "")
        raise ModelError(f"the summarizer returned {type(answer).__name__}; it must return a text or a reply dict")


def _is_async(function: Callable[..., Any] | None) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def _await(answer: Awaitable[Any]) -> Any:
    return await answer


def _run(view: Coroutine[Any, Any, View], *, alone: bool) -> View:
    """Run a view to its end. Without an async summariser it never waits, so no event loop is needed."""
    if alone:
        return _apart(view)
    try:
        view.send(None)
    except StopIteration as done:
        result: View = done.value
        return result
    view.close()
    raise ConfigError("this strategy waits for something other than its summarizer; render cannot run it")


def _apart(work: Coroutine[Any, Any, T]) -> T:
    """Run in an event loop of its own: in this thread if none is running here, else in another."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:
            failure.append(error)

    thread = Thread(target=target, name="contextrot-render", daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
