"""The contract of a context strategy, and the registry by `type`.

A strategy is configuration a user writes (pydantic, unknown keys refused) with one method, `view`: from the log, its
own JSON state and the request, what to send for this call. It never mutates the log, holds no state of its own, and
gives the same view for the same inputs. To add one: a file in this folder with a subclass decorated by `@register`;
YAML, JSON Schema, CLI and docs follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from contextrot.log import Log
from contextrot.messages import Message, Reply, Tool, ToolCall
from contextrot.outcomes import Status

State = dict[str, Any]


class Size(BaseModel):
    """An amount of conversation: exactly one of tokens, messages, turns or fraction (of the window)."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, json_schema_extra={"minProperties": 1, "maxProperties": 1}
    )

    tokens: Annotated[int, Field(ge=1)] | None = None
    messages: Annotated[int, Field(ge=1)] | None = None
    turns: Annotated[int, Field(ge=1)] | None = None
    fraction: Annotated[float, Field(gt=0, le=1)] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Size:
        if len(self.model_fields_set & {"tokens", "messages", "turns", "fraction"}) != 1:
            raise ValueError("give exactly one of tokens, messages, turns or fraction")
        return self


class Manifest:
    """What became of every log message, as runs ``(status, start, end)``: as long as the changes, not the log."""

    __slots__ = ("runs",)

    def __init__(self, runs: Sequence[tuple[Status, int, int]]) -> None:
        self.runs = tuple(runs)

    def __len__(self) -> int:
        return self.runs[-1][2] if self.runs else 0

    def __iter__(self) -> Iterator[Status]:
        for status, start, end in self.runs:
            for _ in range(start, end):
                yield status

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Manifest) and self.runs == other.runs

    def __hash__(self) -> int:
        return hash(self.runs)

    def counts(self) -> dict[str, int]:
        """Messages per status."""
        totals: dict[str, int] = {}
        for status, start, end in self.runs:
            totals[status.value] = totals.get(status.value, 0) + end - start
        return totals


@dataclass(frozen=True, slots=True)
class Event:
    """Something a strategy did that a reader of the record should see (`compaction`, `summary_rejected`, …)."""

    name: str
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """What a strategy sends for one call.

    `sources[k]` is the log index of `messages[k]`, or None for a message the strategy made. `tokens` is the estimate of
    all messages (without tool schemas). `state` is the strategy's new state, a JSON value. `tools` are offered to the
    model by the strategy itself, beside the scenario's; it counts their schemas in its own budget and answers their
    calls in `Strategy.answer`.
    """

    messages: tuple[Message, ...]
    sources: tuple[int | None, ...]
    manifest: Manifest
    tokens: int
    events: tuple[Event, ...] = ()
    aux_calls: int = 0
    state: State = field(default_factory=dict)
    tools: tuple[Tool, ...] = ()


class Auxiliary(Protocol):
    """A helper model for summaries and extraction. Whoever provides it counts and records the calls.

    Raises `ModelError` when the helper model fails.
    """

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        """The helper's answer; it is offered no tools. `purpose` (`summary`, …) is for the record."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors of one length. Whoever provides it embeds each text once a session and counts the calls.

    Raises `ModelError` when the embedding model fails.
    """

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector of unit length a text, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """The circumstances of one call. All token figures are in the counter's unit (`Entry.tokens`).

    budget: tokens the view's messages may take (window less tool schemas less reserved output).
    window: the whole window, to which `fraction` sizes refer.
    scale: provider tokens per estimated token; a user's `{tokens: n}` is divided by it.
    last_violation: the last turn at which a check failed, if any.
    embedder: for strategies that retrieve by similarity.
    """

    budget: int
    window: int
    turn: int
    count: Callable[[Message], int]
    auxiliary: Auxiliary | None = None
    scale: float = 1.0
    last_violation: int | None = None
    embedder: Embedder | None = None


class Strategy(BaseModel):
    """Base of all strategies. Subclasses set `type_name`, declare parameters as fields, and implement `view`.

    `type` is the word users write; an alias is read as the name it stands for, so that both are one strategy.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    type_name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    #: True when a scenario's `pinned: true` statements become pins under this strategy
    honours_pins: ClassVar[bool] = False
    #: one line for `contextrot list strategies`
    summary: ClassVar[str] = ""

    type: str = ""

    @model_validator(mode="before")
    @classmethod
    def _canonical_type(cls, raw: Any) -> Any:
        if not isinstance(raw, Mapping):
            return raw
        name = raw.get("type", cls.type_name)
        if name not in (cls.type_name, *cls.aliases):
            raise ValueError(f"type is {name!r}, but this is {cls.type_name}")
        return {**raw, "type": cls.type_name}

    def wants_pins(self) -> bool:
        """Whether a scenario's `pinned: true` becomes a pin; a wrapper answers for the strategy it wraps."""
        return self.honours_pins

    async def view(self, log: Log, state: State, request: Request) -> View:
        """The view for the next call. Raises `BudgetError` when what must stay in view does not fit."""
        raise NotImplementedError

    def answer(self, call: ToolCall, log: Log, state: State) -> str | None:
        """The result of a call of one of this strategy's own tools (`View.tools`); None for any other tool."""
        return None


REGISTRY: dict[str, type[Strategy]] = {}
S = TypeVar("S", bound=type[Strategy])


def register(strategy: S) -> S:
    """Class decorator: make a strategy known under its `type_name` and aliases."""
    for name in (strategy.type_name, *strategy.aliases):
        REGISTRY[name] = strategy
    return strategy
