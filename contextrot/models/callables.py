"""`python:module:factory`: the user's own agent. A fresh one per session, with its own memory.

An agent is anything with ``feed(text)`` that returns text, a dict or a `Reply`, as a plain or an async function. No
strategy is applied to it: what it remembers is its own affair, and that is what is measured.
"""

from __future__ import annotations

import asyncio
import copy
import importlib
import inspect
import os
import queue
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from contextrot.errors import ConfigError, ModelError, ModelTimeoutError
from contextrot.messages import Reply
from contextrot.models.base import ModelSpec, Price
from contextrot.models.failures import brief
from contextrot.models.openai_form import reply_of, usage_of


class AgentModel:
    """A model of the matrix that is the user's own agent. `new_session` gives one conversation with a fresh agent."""

    simulated = False
    parallel: int | None = None
    count_tokens: Callable[[str], int] | None = None

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.window = spec.window
        self.price: Price | None = spec.price
        self.factory = find_factory(spec.id)

    def __repr__(self) -> str:
        return f"AgentModel({self.spec.id!r})"

    def new_session(self) -> Agent:
        """A conversation with a fresh agent. The factory is called at the first `feed`, where its errors are raised."""
        return Agent(self.spec, _Worker(self.spec.label), factory=self.factory)

    async def close(self) -> None:
        """Nothing is held open: each session closes its own agent."""


class Agent:
    """One conversation with the user's agent.

    A plain agent is made and fed on one thread of its own (so that what it opens there, a database say, may be used
    there) and never blocks the other sessions; an async agent runs on the event loop. Feed one text at a time.
    """

    def __init__(
        self,
        spec: ModelSpec,
        worker: _Worker,
        *,
        factory: Callable[[], Any] | None = None,
        inner: Any = None,
        owns_worker: bool = True,
    ) -> None:
        self._spec = spec
        self._worker = worker
        self._factory = factory
        self._inner = inner
        self._owns_worker = owns_worker

    async def feed(self, text: str, timeout: float = 120.0) -> Reply:
        """The agent's reply to one user message. `timeout` is in seconds and covers its tool rounds too.

        Raises `ModelTimeoutError` or `ModelError`. Never ask again after an error: the agent may have taken the text
        in.
        """
        started = time.perf_counter()
        try:
            async with asyncio.timeout(timeout):
                inner = await self._agent()
                answer = await self._run(inner.feed, text, what="feed() of the agent")
        except TimeoutError as error:
            raise ModelTimeoutError(f"the agent {self._spec.label} gave no answer within {timeout:g} s") from error
        return replace(self._reply(answer), latency=time.perf_counter() - started)

    async def fork(self) -> Agent | None:
        """A copy that can be asked without the agent noticing: its own ``fork()``, or else a deep copy.

        None when neither works; then the question has to be asked in the session itself.
        """
        inner = await self._agent()
        try:
            if callable(getattr(inner, "fork", None)):
                branch = await self._run(inner.fork, what="fork() of the agent")
            else:
                branch = await self._run(copy.deepcopy, inner, what="copying the agent")
        except ModelError:
            return None
        if branch is None or branch is inner or not callable(getattr(branch, "feed", None)):
            return None
        return Agent(self._spec, self._worker, inner=branch, owns_worker=False)

    async def close(self) -> None:
        """Call the agent's own ``close()``, if it has one, and let its thread go. Errors of that are ignored."""
        closing = getattr(self._inner, "close", None)
        if self._owns_worker and callable(closing):
            with suppress(ModelError, TimeoutError):
                async with asyncio.timeout(10):
                    await self._run(closing, what="close() of the agent")
        if self._owns_worker:
            self._worker.stop()

    async def _agent(self) -> Any:
        if self._inner is None:
            assert self._factory is not None
            # A class whose agents feed asynchronously makes them on the loop they will run on.
            on_loop = inspect.isclass(self._factory) and _is_async(getattr(self._factory, "feed", None))
            self._inner = await self._run(self._factory, what="the factory", on_loop=on_loop)
            if not callable(getattr(self._inner, "feed", None)):
                kind = type(self._inner).__name__
                self._inner = None
                raise ModelError(f"{self._spec.id}: the factory gave a {kind}, which has no feed(text)")
        return self._inner

    async def _run(self, function: Callable[..., Any], *arguments: Any, what: str, on_loop: bool = False) -> Any:
        """Call something of the user's: async on the loop, plain on the agent's thread. Its errors become ours."""
        try:
            if on_loop or _is_async(function):
                answer = function(*arguments)
            else:
                answer = await self._worker.call(function, *arguments)
            return await answer if isinstance(answer, Awaitable) else answer
        except ModelError:
            raise
        except Exception as error:
            words = brief(f"{type(error).__name__}: {error}") if str(error) else type(error).__name__
            raise ModelError(f"{self._spec.id}: {what} raised {words}") from error

    def _reply(self, answer: Any) -> Reply:
        if isinstance(answer, Reply):
            return answer
        if answer is None or isinstance(answer, str):
            return Reply(content=answer, finish_reason="stop")
        if isinstance(answer, Mapping):
            if "choices" in answer:
                return reply_of(answer, where=self._spec.label, model=self._spec.label)
            model = answer.get("model")
            return replace(
                Reply.from_dict(answer), usage=usage_of(answer), model=model if isinstance(model, str) else None
            )
        raise ModelError(
            f"{self._spec.id}: feed() gave a {type(answer).__name__}; text, a dict with content or a Reply is wanted"
        )


def find_factory(model_id: str) -> Callable[[], Any]:
    """The callable named by ``python:module:factory``; the current directory can be imported from.

    Raises `ConfigError`.
    """
    module_name, colon, attribute = model_id.removeprefix("python:").partition(":")
    if not module_name or not colon or not attribute:
        raise ConfigError(f"{model_id!r} names no agent; write python:module:factory, for example python:my_agent:make")
    if module_name.endswith(".py") or "/" in module_name or os.sep in module_name:
        fitting = module_name.removesuffix(".py").replace(os.sep, ".").replace("/", ".").strip(".")
        raise ConfigError(f"{model_id}: name the module, not its file: python:{fitting}:{attribute}")
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise ConfigError(
                f"{model_id}: there is no module {error.name!r} here or among the installed packages"
            ) from error
        raise ConfigError(
            f"{model_id}: importing {module_name} needs {error.name!r}, which is not installed"
        ) from error
    except Exception as error:
        raise ConfigError(
            f"{model_id}: importing {module_name} raised {type(error).__name__}: {brief(str(error))}"
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = ", ".join(
                name for name in vars(found) if not name.startswith("_") and callable(getattr(found, name))
            )
            raise ConfigError(
                f"{model_id}: {module_name} has no {part!r}" + (f"; it has {brief(names)}" if names else "")
            )
        found = getattr(found, part)
    if not callable(found):
        raise ConfigError(
            f"{model_id}: {attribute} is a {type(found).__name__}, not a function or class that makes an agent"
        )
    factory: Callable[[], Any] = found
    return factory


def _is_async(function: Any) -> bool:
    """True for an async function or method, and for an object that is called asynchronously."""
    return inspect.iscoroutinefunction(function) or (
        not inspect.isclass(function) and inspect.iscoroutinefunction(type(function).__call__)
    )


class _Worker:
    """One thread that runs an agent's plain functions in turn. A daemon: a hanging agent must not hold up exit."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._busy = False

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run it on the thread. Raises `ModelError` while an earlier call that ran out of time is still going on."""
        if self._busy:
            raise ModelError(f"the agent {self._name} is still busy with an earlier message that ran out of time")
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"agent {self._name}", daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def settle(value: Any, error: BaseException | None) -> None:
            self._busy = False
            if not future.done():
                if error is None:
                    future.set_result(value)
                else:
                    future.set_exception(error)

        def job() -> None:
            value: Any = None
            error: BaseException | None = None
            try:
                value = function(*arguments)
            except StopIteration as stop:  # a future cannot carry it
                error = RuntimeError(f"StopIteration: {stop}")
            except BaseException as raised:
                error = raised if isinstance(raised, Exception) else RuntimeError(f"{type(raised).__name__}: {raised}")
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, value, error)

        self._busy = True
        self._jobs.put(job)
        return await future

    def stop(self) -> None:
        """Let the thread end once it is idle."""
        if self._thread is not None:
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
