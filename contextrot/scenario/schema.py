"""The scenario format (DESIGN §4) as frozen pydantic models: what a user writes, nothing derived.

YAML, `contextrot schema` and the Python API all follow from these classes. What one object can say wrong is refused
here; what needs two objects to see (an unknown fact, a probe never reached) is in `consistency.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    SerializeAsAny,
    StrictBool,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from contextrot.checks import check_schema, load_check
from contextrot.checks.base import Check
from contextrot.errors import ConfigError
from contextrot.scenario import filler as _filler
from contextrot.scenario.problems import did_you_mean

HistoryArm = Literal["live", "scripted", "gold"]

Text = Annotated[str, Field(pattern=r"\S")]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Turn = Annotated[int, Field(strict=True, ge=0, le=100_000)]
LaterTurn = Annotated[int, Field(strict=True, ge=1, le=100_000)]


def _read_check(raw: Any) -> Check:
    try:
        return raw if isinstance(raw, Check) else load_check(raw)
    except ConfigError as error:
        raise PydanticCustomError("check", "{sentence}", {"sentence": str(error)}) from error


#: stands for the schema of a check until `json_schema` puts the registered types in its place
_CHECK_MARK = {"contextrot": "check"}
Checked = Annotated[SerializeAsAny[Check], BeforeValidator(_read_check), WithJsonSchema(_CHECK_MARK)]


def _shape(value: Any) -> str:
    """Which form of a field that has several was written; the tag picks the one whose faults are reported."""
    if isinstance(value, (Mapping, BaseModel)):
        return "<map>"
    if isinstance(value, (list, tuple)):
        return "<list>"
    return "<text>" if isinstance(value, str) else "<number>"


def _text_or_map(value: Any) -> str:
    return "<map>" if _shape(value) == "<map>" else "<text>"


def _text_or_list(value: Any) -> str:
    return "<list>" if _shape(value) == "<list>" else "<text>"


def _turn_or_word(value: Any) -> str:
    return "<text>" if isinstance(value, str) else "<number>"


def _schedule(value: Any) -> str:
    shape = _shape(value)
    return shape if shape in ("<map>", "<list>") else "<one>"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)


class AtTurn(_Part):
    """A place in the session: the user message of one turn."""

    turn: LaterTurn = Field(description="The turn whose user message states the rule (1 = the first).")


class Every(_Part):
    """A probe asked at regular turns."""

    every: LaterTurn = Field(description="Ask every so many turns.")
    from_: Turn = Field(default=0, alias="from", description="The first turn to ask at; 0 is the fresh session.")


Texts = Annotated[
    Annotated[Text, Tag("<text>")] | Annotated[tuple[Text, ...], Field(min_length=1), Tag("<list>")],
    Discriminator(_text_or_list),
]
TurnOrEnd = Annotated[
    Annotated[Turn, Tag("<number>")] | Annotated[Literal["end"], Tag("<text>")], Discriminator(_turn_or_word)
]
Schedule = Annotated[
    Annotated[TurnOrEnd, Tag("<one>")]
    | Annotated[tuple[TurnOrEnd, ...], Field(min_length=1), Tag("<list>")]
    | Annotated[Every, Tag("<map>")],
    Discriminator(_schedule),
]
Place = Annotated[
    Annotated[Literal["system", "first_user"], Tag("<text>")] | Annotated[AtTurn, Tag("<map>")],
    Discriminator(_text_or_map),
]


class Constraint(_Part):
    """A standing rule that has to hold for the rest of the session."""

    id: Id = Field(description="Name of the rule in probes, tables and reports.")
    text: Text = Field(description="The rule as it reaches the model, byte for byte.")
    place: Place = Field(
        default="system",
        description="Where it is stated: `system` (the system prompt), `first_user` (turn 1) or `{turn: N}`.",
    )
    pinned: StrictBool = Field(default=False, description="Strategies that honour pins never evict the statement.")
    check: Checked | None = Field(
        default=None, description="Whether a reply keeps the rule; applied to every live reply, and usable by probes."
    )
    reply: Text | None = Field(
        default=None, description="Scripted acknowledgement of a rule stated in a turn (scripted and gold histories)."
    )
    gold: Texts | None = Field(
        default=None,
        description="A reply that keeps the rule, or several used in turn: what gold histories say on filler turns.",
    )
    tags: tuple[Id, ...] = Field(default=(), description="Tags of the turn that states it, for tag-based strategies.")

    @property
    def turn(self) -> int:
        """The turn whose message states the rule; 0 is the system prompt."""
        return self.place.turn if isinstance(self.place, AtTurn) else int(self.place == "first_user")

    @property
    def golds(self) -> tuple[str, ...]:
        """The gold replies as a tuple."""
        return (self.gold,) if isinstance(self.gold, str) else self.gold or ()


class Fact(_Part):
    """Something stated once that must be recalled later; it may be superseded."""

    id: Id = Field(description="Name of the fact in checks, tables and reports.")
    text: Text = Field(description="The statement; `{value}` in it is replaced by a value, nothing else is touched.")
    values: tuple[Text, ...] = Field(
        min_length=1, description="Values to draw from by seed, without repetition inside a session."
    )
    at: LaterTurn = Field(default=1, description="The turn whose user message states it (1 = the first).")
    changes: tuple[LaterTurn, ...] = Field(default=(), description="Turns at which it is stated anew, another value.")
    pinned: StrictBool = Field(default=False, description="Strategies that honour pins never evict the statement.")
    reply: Text | None = Field(
        default=None, description="Scripted acknowledgement (scripted and gold histories); may contain `{value}`."
    )
    tags: tuple[Id, ...] = Field(default=(), description="Tags of the turns that state it, for tag-based strategies.")

    @property
    def turns(self) -> tuple[int, ...]:
        """The turns at which it is stated, in order."""
        return (self.at, *self.changes)


def _any_schema() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


class ToolSpec(_Part):
    """A tool offered to the model, answered by the bench with canned results."""

    name: ToolName = Field(description="Name of the function: letters, digits, _ and -.")
    description: Text = Field(description="What the model is told about it.")
    parameters: dict[str, Any] = Field(default_factory=_any_schema, description="JSON Schema of the arguments.")
    returns: tuple[str, ...] = Field(
        default=(), description='Canned results, one per call, used in turn; `{"status": "ok"}` if there are none.'
    )


class CannedToolCall(_Part):
    """A tool round written in advance, for scripted and gold histories."""

    name: ToolName = Field(description="A tool of this scenario.")
    arguments: Annotated[
        Annotated[dict[str, Any], Tag("<map>")] | Annotated[str, Tag("<text>")], Discriminator(_text_or_map)
    ] = Field(default_factory=dict, description="The arguments, a map or JSON text.")
    result: str = Field(description="What the tool answered.")


class Item(_Part):
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
    Discriminator(_text_or_map),
]


class Filler(_Part):
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
        default="sequential", description="Items in order, or shuffled by seed; both start again when they run out."
    )
    task_turns: LaterTurn | None = Field(
        default=None,
        description="A new task (`task-1`, `task-2`, …) every so many filler turns; what is said in between belongs "
        "to the task under way. None: no tasks but those of the items.",
    )

    @field_validator("kind")
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
        if self.kind is not None and self.order != "sequential":
            raise ValueError("has an `order`, which is for items and transcripts; a generator never repeats itself")
        if self.task_turns is not None and any(isinstance(item, Item) and item.task for item in self.items or ()):
            raise ValueError("has `task_turns` and items with a `task` of their own; use one of the two")
        return self


class SessionSpec(_Part):
    """How long a session is, who writes its assistant turns, and how much room it has."""

    turns: LaterTurn = Field(description="User turns of one session.")
    history: HistoryArm = Field(
        default="live", description="`live`: the model's own replies; `scripted`: canned; `gold`: canned and compliant."
    )
    max_tool_rounds: Annotated[int, Field(strict=True, ge=1, le=100)] = Field(
        default=8, description="Tool rounds allowed inside one turn before the session goes on."
    )
    window: Annotated[int, Field(strict=True, ge=64)] | None = Field(
        default=None,
        description="A virtual window in tokens, so that a session gets full early; never larger than the model's.",
    )
    max_tokens: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="Longest reply in tokens, where the user does not say otherwise."
    )


class Probe(_Part):
    """A question at set turns that tests one constraint or fact."""

    id: Id = Field(description="Name of the probe in tables and reports.")
    ask: Text = Field(description="The question as it reaches the model, byte for byte.")
    at: Schedule = Field(
        description="A turn, a list of turns, `{every: N, from: N}`, or `end`. Turn 0 is the fresh session."
    )
    mode: Literal["fork", "inline"] = Field(
        default="fork",
        description="`fork`: asked on a branch that is thrown away; `inline`: the user message of its turn.",
    )
    check: Checked | None = Field(default=None, description="Whether the reply passes; may be left to `constraint`.")
    constraint: Id | None = Field(
        default=None, description="The rule it tests; without a `check` of its own the rule's check is used."
    )

    def turns(self, last: int) -> tuple[int, ...]:
        """The turns it is asked at in a session of `last` turns, ascending, those never reached left out."""
        if isinstance(self.at, Every):
            return tuple(range(self.at.from_, last + 1, self.at.every))
        marks = self.at if isinstance(self.at, tuple) else (self.at,)
        return tuple(sorted({turn for turn in (last if mark == "end" else mark for mark in marks) if turn <= last}))


class Scenario(_Part):
    """A scenario file: constraints, facts, tools, filler, probes and the length of a session."""

    contextrot: Literal[1] = Field(description="Version of the scenario format.")
    id: Id = Field(description="Name of the scenario: letters, digits, `-`, `_` and `.`.")
    title: Text | None = Field(default=None, description="One line for lists and reports.")
    description: Text | None = Field(default=None, description="What the scenario shows, for people.")
    source: Text | None = Field(default=None, description="Where it comes from: a paper, an incident, a link.")
    tags: tuple[Id, ...] = Field(default=(), description="Words to find it by.")
    system: Text | None = Field(default=None, description="The system prompt; rules placed there follow it.")
    constraints: tuple[Constraint, ...] = Field(default=(), description="Standing rules.")
    facts: tuple[Fact, ...] = Field(default=(), description="Things stated once and asked for later.")
    tools: tuple[ToolSpec, ...] = Field(default=(), description="Tools the model may call.")
    filler: Filler = Field(default=Filler(kind="notes"), description="The ordinary work in between.")
    session: SessionSpec = Field(description="Length and history of a session.")
    probes: tuple[Probe, ...] = Field(default=(), description="Questions that test what was stated.")

    _path: Path | None = PrivateAttr(default=None)
    _transcript: tuple[Item, ...] = PrivateAttr(default=())

    @property
    def path(self) -> Path | None:
        """The file it was read from, as the user named it; None for a scenario built in Python."""
        return self._path

    @property
    def base_dir(self) -> Path:
        """The folder that relative paths in the scenario start from."""
        return self._path.parent if self._path else Path()

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The filler turns written by the user (items or transcript); empty when a generator writes them."""
        if self.filler.transcript is not None:
            return self._transcript
        return tuple(Item(user=item) if isinstance(item, str) else item for item in self.filler.items or ())

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (hex) of what the scenario says, the transcript included: comments and layout do not change it."""
        content = {
            "scenario": self.model_dump(mode="json", by_alias=True, exclude_unset=True),
            "checks": [type(check).type_name for check in self._checks() if check is not None],
            "transcript": [item.model_dump(mode="json") for item in self._transcript],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _checks(self) -> Iterator[Check | None]:
        yield from (rule.check for rule in self.constraints)
        yield from (probe.check for probe in self.probes)

    def check_of(self, probe: Probe) -> Check | None:
        """The check a probe is graded by: its own, or that of the constraint it names."""
        if probe.check is not None:
            return probe.check
        return next((rule.check for rule in self.constraints if rule.id == probe.constraint), None)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario file, all check types included: what editors use."""
    schema = Scenario.model_json_schema(by_alias=True)
    checks = check_schema()
    schema["$defs"] |= checks.pop("$defs") | {"check": checks}
    schema = _as_written(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "contextrot scenario"}


def _as_written(schema: Any) -> Any:
    """The schema with the check types in place, and without null: in a file a key has a value or is not there."""
    if schema == _CHECK_MARK:
        return {"$ref": "#/$defs/check"}
    if isinstance(schema, list):
        return [_as_written(value) for value in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: _as_written(value) for key, value in schema.items() if not (key == "default" and value is None)}
    choices = parts.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        choices = [choice for choice in choices if choice != {"type": "null"}]
        del parts["anyOf"]
        parts = choices[0] | parts if len(choices) == 1 else parts | {"anyOf": choices}
    return parts
