"""The user's own functions as the helpers a strategy may ask, and running a strategy from code that is not async.

`render` and `Memory` take a summariser and an embedder as plain callables, sync or async, and are called from scripts,
notebooks and web servers alike. What that takes is here, once.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from threading import Thread
from typing import Any, Literal, TypeVar

from contextrot.errors import ConfigError, ModelError
from contextrot.messages import Message, Reply
from contextrot.models.embedders import Embedded, SessionEmbedder, create_embedder
from contextrot.models.extractive import NAME, extract
from contextrot.strategies.base import Embedder

T = TypeVar("T")
#: From a list of message dicts to a text or a reply dict, or to an awaitable of one; or `extractive`, without a model.
Summarizer = Callable[[list[dict[str, Any]]], Any] | Literal["extractive"]
#: From texts to one vector each (lists, or a 2-D array), or to an awaitable of that; or a model by name, or ready made.
Embedding = Callable[[list[str]], Any] | str | SessionEmbedder


class CallableAuxiliary:
    """A user's summariser as the auxiliary model of a request."""

    def __init__(self, summarizer: Callable[[list[dict[str, Any]]], Any]) -> None:
        self._summarizer = summarizer
        self.is_async = _is_async(summarizer)

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        """Ask the user's function. Whatever it raises is a `ModelError`."""
        asked = [message.to_dict() for message in messages]
        answer = await _called(self._summarizer, asked, self.is_async, "summarizer")
        if isinstance(answer, Reply):
            return answer
        if answer is None or isinstance(answer, str | Mapping):
            return Reply.from_dict(answer or "")
        raise ModelError(f"the summarizer returned {type(answer).__name__}; it must return a text or a reply dict")


class ExtractiveAuxiliary:
    """Sentences of the transcript itself, for those who want no model."""

    is_async = False

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        """An extract of the prompt."""
        return Reply(extract(messages, max_tokens), finish_reason="stop", model=NAME)


class _CallableBackend:
    """A user's embedding function as an embedding model; what it costs is not known."""

    price: float | None = None

    def __init__(self, function: Callable[[list[str]], Any]) -> None:
        self._function = function
        self.is_async = _is_async(function)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Ask the user's function. Whatever it raises, and whatever is not one vector a text, is a `ModelError`."""
        import numpy as np

        vectors = await _called(self._function, list(texts), self.is_async, "embedder")
        try:
            rows = np.array([np.asarray(vector, np.float32) for vector in vectors], np.float32)
            if rows.ndim != 2 or not rows.shape[1]:
                raise ValueError(f"it returned an array of the shape {rows.shape}")
        except (TypeError, ValueError) as error:
            raise ModelError(f"the embedder must return one vector a text, all of one length ({error})") from error
        return Embedded(rows, None)


@dataclass(frozen=True, slots=True)
class Helpers:
    """The helpers of a request. `waits`: whether they need an event loop."""

    auxiliary: CallableAuxiliary | ExtractiveAuxiliary | None
    embedder: Embedder
    waits: bool


def helpers(summarizer: Summarizer | None, embedder: Embedding | None) -> Helpers:
    """The helpers a user gave; without an embedder the embedded default, which is loaded when it is first asked.

    Raises `ConfigError` for a name that cannot work.
    """
    auxiliary: CallableAuxiliary | ExtractiveAuxiliary | None = None
    if summarizer == NAME:
        auxiliary = ExtractiveAuxiliary()
    elif callable(summarizer):
        auxiliary = CallableAuxiliary(summarizer)
    elif summarizer is not None:
        raise ConfigError(
            f"summarizer is {summarizer!r}; give a function from messages to a text, or {NAME!r}, which needs no model"
        )
    meaning: Embedder
    if embedder is None or isinstance(embedder, str):
        meaning = create_embedder(embedder or "wordllama")
        waits = meaning.name != "wordllama"
    elif isinstance(embedder, SessionEmbedder):
        meaning, waits = embedder, embedder.name != "wordllama"
    else:
        backend = _CallableBackend(embedder)
        meaning, waits = SessionEmbedder("the embedder", backend), backend.is_async
    return Helpers(auxiliary, meaning, waits or (auxiliary is not None and auxiliary.is_async))


async def _called(function: Callable[[Any], Any], argument: Any, is_async: bool, name: str) -> Any:
    """What the function returns, awaited where it returned an awaitable."""
    try:
        answer = function(argument)
        if inspect.isawaitable(answer):
            answer = await answer if is_async else apart(_awaited(answer))
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"the {name} raised {type(error).__name__}: {error}") from error
    return answer


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer


def run(work: Coroutine[Any, Any, T], *, waits: bool) -> T:
    """Run a strategy's view to its end. With helpers that do not wait it never waits, so no event loop is needed."""
    if waits:
        return apart(work)
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise ConfigError("this strategy waits for something other than the helpers it was given; use the async form")


def apart(work: Coroutine[Any, Any, T]) -> T:
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
