"""The ordinary work of a session as a user writes it: the tools, and the filler turns with their canned rounds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from contextrot.scenario import filler as _filler
from contextrot.scenario import tool_output
from contextrot.scenario.fields import Id, LaterTurn, Part, Text, ToolName, list_or_map, text_or_map
from contextrot.scenario.problems import did_you_mean

#: Tokens of a generated tool result when the scenario does not say: what fills a screen or two.
DEFAULT_RESULT_TOKENS = 400


def _any_schema() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


class GeneratedReturns(Part):
    """Results written by a generator: long ones, other ones at every call, the same for the same seed."""

    kind: Annotated[Text, Field(json_schema_extra={"enum": list(tool_output.kinds())})] = Field(
        description=f"A generator by name: {', '.join(tool_output.kinds())}."
    )
    tokens: Annotated[int, Field(strict=True, ge=tool_output.MIN_TOKENS, le=50_000)] = Field(
        default=DEFAULT_RESULT_TOKENS, description="Estimated tokens of each result (± 10 %)."
    )

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, kind: str) -> str:
        if kind not in tool_output.kinds():
            raise ValueError(f"is `{kind}`, which no generator is called{did_you_mean(kind, tool_output.kinds())}")
        return kind


class ToolSpec(Part):
    """A tool offered to the model, answered by the bench with canned or generated results."""

    name: ToolName = Field(description="Name of the function: letters, digits, _ and -.")
    description: Text = Field(description="What the model is told about it.")
    parameters: dict[str, Any] = Field(default_factory=_any_schema, description="JSON Schema of the arguments.")
    returns: Annotated[
        Annotated[tuple[str, ...], Tag("<list>")] | Annotated[GeneratedReturns, Tag("<map>")],
        Discriminator(list_or_map),
    ] = Field(
        default=(),
        description="Canned results, one per call, used in turn, or `{kind, tokens}` for generated ones; "
        '`{"status": "ok"}` if there are none.',
    )


Arguments = Annotated[
    Annotated[dict[str, Any], Tag("<map>")] | Annotated[str, Tag("<text>")], Discriminator(text_or_map)
]


class CannedToolCall(Part):
    """A tool round written in advance, for scripted and gold histories."""

    name: ToolName = Field(description="A tool of this scenario.")
    arguments: Arguments = Field(default_factory=dict, description="The arguments, a map or JSON text.")
    result: str = Field(description="What the tool answered.")


class FillerToolCall(Part):
    """A tool round at regular filler turns, answered by the tool's own `returns`. For scripted and gold histories."""

    name: ToolName = Field(description="A tool of this scenario.")
    every: LaterTurn = Field(default=1, description="On every so many filler turns: 3 is the 3rd, the 6th, …")
    arguments: Arguments = Field(default_factory=dict, description="The arguments, a map or JSON text.")


FillerToolCalls = Annotated[
    Annotated[FillerToolCall, Tag("<map>")] | Annotated[tuple[FillerToolCall, ...], Field(min_length=1), Tag("<list>")],
    Discriminator(list_or_map),
]


class Item(Part):
    """One filler turn of the user's own."""

    user: Text = Field(description="What the user says.")
    assistant: Text | None = Field(default=None, description="The canned reply of a scripted history.")
    gold: Text | None = Field(default=None, description="The canned reply of a gold history; it keeps every rule.")
    tool_calls: tuple[CannedToolCall, ...] = Field(
        default=(), description="Tool rounds before the canned reply, in scripted and gold histories."
    )
    tags: tuple[Id, ...] = Field(default=(), description="Tags of the turn, for tag-based strategies.")
    task: Id | None = Field(
        default=None,
        description="The task the turn belongs to, for strategies that keep tasks apart; none: the session as a whole.",
    )


ItemOrText = Annotated[
    Annotated[Text, Tag("<text>")] | Annotated[Item, Tag("<map>")],
    Discriminator(text_or_map),
]


class Filler(Part):
    """The turns in between: ordinary work that grows the session. Exactly one of kind, items and transcript."""

    kind: Annotated[Text, Field(json_schema_extra={"enum": list(_filler.kinds())})] | None = Field(
        default=None, description=f"A generator by name: {', '.join(_filler.kinds())}."
    )
    tokens_per_turn: Annotated[int, Field(strict=True, ge=_filler.MIN_TOKENS, le=50_000)] = Field(
        default=_filler.DEFAULT_TOKENS, description="Estimated tokens of each generated user message (± 10 %)."
    )
    items: tuple[ItemOrText, ...] | None = Field(
        default=None, min_length=1, description="Turns of your own: texts, or maps with the canned assistant side."
    )
    transcript: Text | None = Field(
        default=None,
        description="A JSON or JSONL file of OpenAI-style messages, relative to the scenario file, beside or below it.",
    )
    order: Literal["sequential", "shuffled"] = Field(
        default="sequential",
        description="Items in order, or shuffled by seed; both start again when they run out, unless `then` goes on.",
    )
    then: Annotated[Text, Field(json_schema_extra={"enum": list(_filler.kinds())})] | None = Field(
        default=None, description="A generator by name that goes on when items or transcript have run out."
    )
    task_turns: LaterTurn | None = Field(
        default=None,
        description="A new task (`task-1`, `task-2`, …) every so many filler turns; what is said in between belongs "
        "to the task under way. None: no tasks but those of the items.",
    )
    tool_calls: FillerToolCalls | None = Field(
        default=None,
        description="Tool rounds at regular filler turns, in scripted and gold histories, one or a list. In a live "
        "history the model calls the tools itself.",
    )

    @property
    def calls(self) -> tuple[FillerToolCall, ...]:
        """The tool rounds at regular turns as a tuple."""
        return (self.tool_calls,) if isinstance(self.tool_calls, FillerToolCall) else self.tool_calls or ()

    @field_validator("kind", "then")
    @classmethod
    def _known_kind(cls, kind: str | None) -> str | None:
        if kind is not None and kind not in _filler.kinds():
            raise ValueError(f"is `{kind}`, which no generator is called{did_you_mean(kind, _filler.kinds())}")
        return kind

    @model_validator(mode="after")
    def _one_source(self) -> Filler:
        given = [name for name in ("kind", "items", "transcript") if getattr(self, name) is not None]
        if len(given) != 1:
            found = f"has {' and '.join(given)}" if given else "has none of them"
            raise ValueError(f"needs exactly one of kind, items and transcript, but {found}")
        if self.kind is not None and self.then is not None:
            raise ValueError("has a `then`, which goes on after items or a transcript; a generator never runs out")
        if self.kind is not None and self.order != "sequential":
            raise ValueError("has an `order`, which is for items and transcripts; a generator never repeats itself")
        if self.task_turns is not None and any(isinstance(item, Item) and item.task for item in self.items or ()):
            raise ValueError("has `task_turns` and items with a `task` of their own; use one of the two")
        return self
