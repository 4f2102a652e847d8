"""The caps of a whole run (`max_cost`, `max_total_tokens`, `max_calls`), kept before each call, not found broken after.

Every attempt reserves what it may take at most (its estimated prompt and the longest reply) and gives back what it did
not take. Where only the reservations of calls under way stand against it, a call waits for them; where it does not fit
any more, its session ends as `limit`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from contextrot.config import CAPS, BenchConfig
from contextrot.errors import ConfigError, LimitError, ModelError, ModelTimeoutError
from contextrot.messages import Reply, Usage
from contextrot.models.base import Call, Price
from contextrot.tokens import estimate

#: How much longer than estimated a prompt may be before the model has said how it counts (`tokens.estimate` is up to
#: 50 % off on JSON). Afterwards the largest ratio seen of the model stands for it.
UNKNOWN_RATIO = 1.5
#: Money is added up in floats: a sum that should be equal to the cap may lie this much (USD) above it.
_ROUNDING = 1e-9
T = TypeVar("T")


class Spent(NamedTuple):
    """Calls (every attempt is one), tokens of prompts and replies together, and USD."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def plus(self, other: Spent, sign: int = 1) -> Spent:
        """The sum, or with `sign` -1 the difference."""
        return Spent(self.calls + sign * other.calls, self.tokens + sign * other.tokens, self.cost + sign * other.cost)

    def most(self, other: Spent) -> Spent:
        """The larger of each."""
        return Spent(max(self.calls, other.calls), max(self.tokens, other.tokens), max(self.cost, other.cost))


class Budget:
    """What the run may spend, has spent, and has promised to calls under way. Use it on one event loop."""

    def __init__(self, config: BenchConfig, spent: Spent = Spent()) -> None:  # noqa: B008 (a value, never changed)
        self.caps: dict[str, float] = {name: value for name in CAPS if (value := getattr(config, name)) is not None}
        self.spent = spent
        #: the cap that ended a session first; empty while none has
        self.reached = ""
        #: which model does not say what it takes, so that tokens and money can no longer be counted
        self.blind = ""
        self._promised = Spent()
        self._waiting: list[asyncio.Future[None]] = []

    def to_dict(self) -> dict[str, Any]:
        """What is spent, as `run.json` keeps it. No cost without a cap on it: some price might not be known."""
        spent = {"calls": self.spent.calls, "tokens": self.spent.tokens}
        return spent | ({"cost": round(self.spent.cost, 9)} if "max_cost" in self.caps else {})

    @property
    def capped(self) -> bool:
        """Whether there is anything to keep."""
        return bool(self.caps)

    async def take(
        self, expected: Callable[[], Spent], attempt: Callable[[], Awaitable[T]], used: Callable[[T], Spent]
    ) -> T:
        """What `attempt` brings, within the caps. `used`: what it took, told by its result.

        `expected`: what it may take at most, as far as is known by now: a call that waited may expect less than before.

        An attempt without an answer counts as a call and nothing else, one that timed out as all it might have taken:
        the provider may have worked on it to its end. Raises `LimitError`, before the attempt.
        """
        most = await self._promise(expected)
        taken = most
        try:
            value = await attempt()
            taken = used(value)
            return value
        except ModelTimeoutError:
            raise
        except ModelError:
            taken = Spent(most.calls)
            raise
        finally:
            self._promised = self._promised.plus(most, -1)
            self.spent = self.spent.plus(taken)
            self._wake()

    async def _promise(self, expected: Callable[[], Spent]) -> Spent:
        while True:
            most = expected()
            if self.blind and self.caps.keys() & {"max_total_tokens", "max_cost"}:
                self._end("max_total_tokens" if "max_total_tokens" in self.caps else "max_cost", self._blind_sentence())
            over = self._over(self.spent.plus(most))
            if over:
                self._end(over, self._sentence(over, most))
            if not self._over(self.spent.plus(self._promised).plus(most)):
                self._promised = self._promised.plus(most)
                return most
            ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(ticket)
            await ticket

    def _over(self, total: Spent) -> str:
        """The first cap that this would pass; empty when it keeps all."""
        values = dict(zip(CAPS, total, strict=True))
        return next((name for name, cap in self.caps.items() if values[name] > cap + _ROUNDING), "")

    def _end(self, name: str, sentence: str) -> None:
        self.reached = self.reached or name
        raise LimitError(sentence)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for ticket in waiting:
            if not ticket.done():
                ticket.set_result(None)

    def _sentence(self, name: str, most: Spent) -> str:
        if name == "max_calls":
            return f"the run's cap of {self.caps[name]:,.0f} calls is reached (--max-calls)"
        if name == "max_total_tokens":
            return (
                f"the run's cap of {self.caps[name]:,.0f} tokens (--max-total-tokens) leaves no room for the next "
                f"call: {self.spent.tokens:,} are used, and it may take {most.tokens:,}"
            )
        return (
            f"the run's cap of ${self.caps[name]:,.6g} (--max-cost) leaves no room for the next call: "
            f"${self.spent.cost:,.6f} are spent, and it may cost ${most.cost:,.6f}"
        )

    def _blind_sentence(self) -> str:
        return (
            f"{self.blind} does not say how many tokens it takes, so that a cap on tokens or cost cannot be kept; let "
            "it return `usage`, or cap the run with --max-calls"
        )


class Meter:
    """The budget as one model spends it: knows its price, and how its count of tokens compares with the estimate.

    price: USD per million tokens; it may be None only where no cost is capped. params: what the user sends along, which
    may allow longer replies than the call.
    """

    def __init__(
        self, budget: Budget, label: str, price: Price | None, params: Mapping[str, Any] | None = None
    ) -> None:
        self.budget, self._label, self._price = budget, label, price
        longest = [(params or {}).get(name) for name in ("max_tokens", "max_completion_tokens")]
        self._longest = max((value for value in longest if isinstance(value, int)), default=0)
        self._ratio: float | None = None

    async def chat(self, call: Call, prompt_tokens: int, attempt: Callable[[], Awaitable[Reply]]) -> Reply:
        """One attempt at a chat call whose prompt is estimated at so many tokens. Raises `LimitError`."""
        if not self.budget.capped:
            return await attempt()
        completion = max(call.max_tokens, self._longest)

        def took(usage: Usage) -> Spent:
            ratio = UNKNOWN_RATIO if self._ratio is None else max(1.0, self._ratio)
            return self._spent(usage, math.ceil(prompt_tokens * ratio), completion)

        def used(reply: Reply) -> Spent:
            usage = reply.usage
            if usage.prompt_tokens and prompt_tokens:
                self._ratio = max(self._ratio or 0.0, usage.prompt_tokens / prompt_tokens)
            return took(usage)

        return await self.budget.take(lambda: took(Usage()), attempt, used)

    async def feed(self, attempt: Callable[[], Awaitable[Reply]]) -> Reply:
        """One message to an agent: what it takes is known afterwards only. Raises `LimitError`."""

        def used(reply: Reply) -> Spent:
            if reply.usage.prompt_tokens is None and reply.usage.completion_tokens is None:
                self.budget.blind = self._label
            return self._spent(reply.usage, 0, 0)

        return await self.budget.take(lambda: Spent(1), attempt, used)

    async def embed(
        self, texts: list[str], attempt: Callable[[], Awaitable[T]], tokens: Callable[[T], int | None]
    ) -> T:
        """One call of an embedding model; `tokens` reads from its answer what it took. Raises `LimitError`."""
        most = math.ceil(sum(map(estimate, texts)) * UNKNOWN_RATIO)

        def used(answer: T) -> Spent:
            known = tokens(answer)
            return self._spent(Usage(most if known is None else known, 0), 0, 0)

        return await self.budget.take(lambda: self._spent(Usage(most, 0), 0, 0), attempt, used)

    def _spent(self, usage: Usage, prompt: int, completion: int) -> Spent:
        """What a call took; where the model did not say, what it may have taken."""
        prompt = prompt if usage.prompt_tokens is None else usage.prompt_tokens
        completion = completion if usage.completion_tokens is None else usage.completion_tokens
        cost = usage.cost
        if cost is None:
            cost = self._price.cost(prompt, completion, usage.cached_tokens or 0) if self._price else 0.0
        return Spent(1, prompt + completion, cost)


def refuse_unpriced(config: BenchConfig, prices: Mapping[str, Price | None]) -> None:
    """Raise `ConfigError` when the cost is capped and a model has no known price. `prices` are by label."""
    unknown = sorted(label for label, price in prices.items() if price is None)
    if config.max_cost is None or not unknown:
        return
    raise ConfigError(
        f"max_cost: the price of {', '.join(unknown)} is not known, so that a cap on the cost cannot be kept; state it "
        f"(`{{id: {unknown[0]}, price: {{prompt: 0.15, completion: 0.6}}}}`, USD per million tokens), or cap the run "
        "with --max-total-tokens or --max-calls"
    )


def recorded(sessions: Path, prices: Mapping[str, Price | None]) -> Spent:
    """What the session files of a run say was spent. `prices` are by the models' labels."""
    total = Spent()
    for path in sorted(sessions.glob("*.jsonl")):
        model = ""
        for record in _records(path):
            if record["t"] == "head":
                model = str(record.get("model") or "")
            elif record["t"] == "embed":
                total = total.plus(Spent(record["attempts"], record["tokens"] or 0, record["cost"] or 0.0))
            else:
                total = total.plus(_of_call(record, prices.get(record.get("asked") or model)))
    return total


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            if line.startswith((b'{"t":"call"', b'{"t":"embed"', b'{"t":"head"')) and line.endswith(b"\n"):
                try:
                    yield orjson.loads(line)
                except orjson.JSONDecodeError:
                    return


def _of_call(record: Mapping[str, Any], price: Price | None) -> Spent:
    attempts = int(record["attempts"] or 1)
    if record["reply"] is None:
        return Spent(attempts)
    usage = Usage(**record["usage"])
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    if prompt is None:
        prompt = record["prompt_estimate"] or 0
    if completion is None:
        completion = estimate(record["reply"]["content"] or "")
    cost = usage.cost
    if cost is None:
        cost = price.cost(prompt, completion, usage.cached_tokens or 0) if price else 0.0
    return Spent(attempts, prompt + completion, cost)
