"""The contract of a model: one chat call in, one `Reply` out. This room is the only one that knows providers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from contextrot.messages import Message, Reply, Tool


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens. `cached` is the price of a prompt token answered from the provider's cache."""

    prompt: float
    completion: float
    cached: float | None = None

    def cost(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """USD for one call."""
        cached = self.prompt if self.cached is None else self.cached
        fresh = max(0, prompt_tokens - cached_tokens)
        return (fresh * self.prompt + cached_tokens * cached + completion_tokens * self.completion) / 1_000_000


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as configured: what a user writes in `models:`, after defaults. `params` go to the provider unchanged."""

    id: str
    label: str
    window: int | None = None
    price: Price | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    base_url: str | None = None
    api_key_env: str | None = None
    engine: Mapping[str, Any] = field(default_factory=dict)
    roles: str | None = None


@dataclass(frozen=True, slots=True)
class ModelKind:
    """One way of naming a model or an embedding model, with what it is and an example: a row of `contextrot list`."""

    form: str
    summary: str
    example: str


#: what a simulated model must find in a prompt to be able to comply: a text, several, or nothing
Evidence = str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Truth:
    """What a simulated model is told about one call: for each rule or fact tested, the text to find in the prompt.

    `evidence[k]` is the rule's own text or the fact's current value, or several texts that are all needed; None
    when nothing stated earlier is needed.
    `reply(obeyed)` builds the answer that honours exactly the k whose flag is True; None when no such answer is known.
    `checks[k]` are the types of the checks that will look, those inside others too; empty when nobody says. What only
    the `question` says is no evidence.
    """

    evidence: tuple[Evidence, ...]
    reply: Callable[[tuple[bool, ...]], Reply | None]
    checks: tuple[frozenset[str], ...] = ()
    question: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One chat call. `session` names the conversation (a stable cache slot); `max_tokens` caps the reply.

    `seed` is derived from the run's seed, the session and the number of the call, so that no two calls share one.
    `hint` is read by simulated models only: real ones never see it.
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0
    session: str = ""
    timeout: float = 120.0
    hint: Truth | None = None


@runtime_checkable
class Model(Protocol):
    """A model of the matrix. `complete` raises a `ModelError` subclass and nothing else; it never retries."""

    spec: ModelSpec
    #: context window in tokens, or None when unknown (then the user has to set one)
    window: int | None
    #: what a token costs; None when not known (then the cost is unknown, never 0)
    price: Price | None
    #: True when every answer is computed by `models/simulated.py`; tables and plots then say SIMULATED
    simulated: bool
    #: how many calls may run at once at most, or None for no limit of the model's own
    parallel: int | None
    #: exact tokens of a text, where the model brings its own tokenizer
    count_tokens: Callable[[str], int] | None

    async def complete(self, call: Call) -> Reply:
        """Ask once."""
        ...

    async def close(self) -> None:
        """Let go of connections and weights."""
        ...
