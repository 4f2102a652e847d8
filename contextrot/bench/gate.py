"""The one retry layer. Every call to a model goes through its gate; nothing below retries.

A gate lets so many calls through at once, asks again what is worth asking again, and treats a rate limit as news for
all sessions of the model: all pause, and fewer go through afterwards (additive increase, multiplicative decrease, as
TCP does). Retry libraries repeat one call on its own and know nothing of the others; that is why this is not one.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypedDict, TypeVar, Unpack

from contextrot.bench.budget import Meter
from contextrot.errors import ModelError, RateLimitError
from contextrot.messages import Reply
from contextrot.models.base import Call, Model

#: Seconds of the first wait and the longest single one; waits between are drawn from 0 to the exponential bound
#: ("full jitter": Brooker, "Exponential Backoff And Jitter", AWS 2015).
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
#: Longest wish of a server that is granted, in seconds. A quota that resets tomorrow is told to the user instead.
LONGEST_RETRY_AFTER = 120.0
#: Successes in a row after which one more call may run at once.
GROW_AFTER = 10
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GateResult:
    """A reply, how often the model was asked for it, and the seconds spent waiting between."""

    reply: Reply
    attempts: int = 1
    waited: float = 0.0


class _Settings(TypedDict, total=False):
    max_attempts: int
    patience: float
    seed: int
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    on_wait: Callable[[float, str], None] | None


class Throttle:
    """Concurrency, retries and rate limits of one service, whatever is asked of it. Use it on one event loop.

    concurrency: calls at once at most. max_attempts: how often one call is made at most.
    patience: seconds one call may spend waiting between attempts, in total.
    on_wait: told before each wait how long it is (seconds) and why (a sentence).
    """

    def __init__(
        self,
        *,
        concurrency: int = 8,
        max_attempts: int = 6,
        patience: float = 600.0,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_wait: Callable[[float, str], None] | None = None,
    ) -> None:
        self.ceiling = max(1, concurrency)
        self.limit = self.ceiling
        self.in_flight = 0
        self._max_attempts = max(1, max_attempts)
        self._patience = patience
        self._random = random.Random(seed)
        self._clock = clock
        self._sleep = sleep
        self._on_wait = on_wait
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = float("-inf")
        self._cut_at = float("-inf")
        self._successes = 0

    async def through(self, attempt: Callable[[], Awaitable[T]]) -> tuple[T, int, float]:
        """What `attempt` brings, made as often as it takes and makes sense; the attempts; the seconds waited between.

        Raises the last `ModelError` when it is not worth another attempt; its `attempts` says how often was asked.
        """
        attempts, waited = 0, 0.0
        while True:
            started = await self._enter()
            try:
                attempts += 1
                value = await attempt()
            except ModelError as error:
                failed = error
            else:
                self._succeeded()
                return value, attempts, waited
            finally:
                self._leave()
            failed.attempts = attempts
            if not failed.retryable:
                raise failed
            seconds = self._next_wait(failed, attempts, waited)
            if isinstance(failed, RateLimitError):
                self._slow_down(started, seconds)
            if self._on_wait is not None:
                self._on_wait(seconds, str(failed))
            await self._sleep(seconds)
            waited += seconds

    def _next_wait(self, error: ModelError, attempts: int, waited: float) -> float:
        """Seconds until the next attempt; raises the error, with a word on what was tried, when there is to be none."""
        bound = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempts - 1))
        seconds = self._random.uniform(0, bound)
        wish = error.retry_after if isinstance(error, RateLimitError) else None
        if wish is not None:
            if wish > LONGEST_RETRY_AFTER:
                raise _gave_up(
                    error, attempts, f"it asks to wait {wish:,.0f} s, longer than the {LONGEST_RETRY_AFTER:g} s granted"
                )
            # Never before the server's moment; a little after it, so that the paused sessions do not all start at once.
            seconds = wish + min(seconds, 1.0)
        if attempts >= self._max_attempts:
            raise _gave_up(error, attempts, f"gave up after {attempts} attempts, {waited:.0f} s of waiting")
        if waited + seconds > self._patience:
            raise _gave_up(error, attempts, f"gave up after {waited:.0f} s of waiting ({attempts} attempts)")
        return seconds

    async def _enter(self) -> float:
        """Wait for a free place and for the end of a pause; returns the moment the call starts."""
        while True:
            if self.in_flight < self.limit and not self._waiting:
                self.in_flight += 1
            else:
                await self._queue()
            pause = self._paused_until - self._clock()
            if pause <= 0:
                return self._clock()
            # The place is given back while pausing: another session may be closer to the end of it.
            self._leave()
            await self._sleep(pause)

    async def _queue(self) -> None:
        """Wait in line until `_leave` hands a place over (it then counts as taken already)."""
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(ticket)
        try:
            await ticket
        except asyncio.CancelledError:
            if ticket.done() and not ticket.cancelled():
                self._leave()
            else:
                with suppress(ValueError):
                    self._waiting.remove(ticket)
            raise

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < self.limit:
            ticket = self._waiting.popleft()
            if not ticket.done():
                self.in_flight += 1
                ticket.set_result(None)

    def _succeeded(self) -> None:
        self._successes += 1
        if self._successes >= GROW_AFTER and self.limit < self.ceiling:
            self._successes = 0
            self.limit += 1
            self._admit()

    def _slow_down(self, started: float, seconds: float) -> None:
        """Halve the concurrency and pause everyone. Calls that were under way at the last cut do not cut again."""
        now = self._clock()
        self._successes = 0
        if started >= self._cut_at:
            self._cut_at = now
            self.limit = max(1, self.limit // 2)
        self._paused_until = max(self._paused_until, now + seconds)


class Gate(Throttle):
    """The throttle of one model. The model's own `parallel` lowers `concurrency`.

    timeout: seconds per attempt, instead of the call's own. meter: keeps the caps of the run, an attempt at a time. The
    rest as for `Throttle`.
    """

    def __init__(
        self,
        model: Model,
        *,
        concurrency: int = 8,
        timeout: float | None = None,
        meter: Meter | None = None,
        **settings: Unpack[_Settings],
    ) -> None:
        super().__init__(concurrency=min(concurrency, model.parallel or concurrency), **settings)
        self.model = model
        self._timeout = timeout
        self._meter = meter

    async def complete(self, call: Call, prompt_tokens: int = 0) -> GateResult:
        """The model's reply, asked for as often as it takes; `prompt_tokens` is what the prompt is estimated at.

        Raises as `through` does, and `LimitError` when a cap of the run leaves no room for an attempt.
        """
        asked = call if self._timeout is None else replace(call, timeout=self._timeout)
        meter = self._meter
        if meter is None:
            return GateResult(*await self.through(lambda: self.model.complete(asked)))
        return GateResult(
            *await self.through(lambda: meter.chat(asked, prompt_tokens, lambda: self.model.complete(asked)))
        )


def _gave_up(error: ModelError, attempts: int, why: str) -> ModelError:
    """The same error with what was tried; the class stays, so that the outcome does."""
    last = type(error)(f"{error} ({why})")
    last.attempts = attempts
    last.__cause__ = error
    return last
