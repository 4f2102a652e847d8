"""What the parts of a scenario are made of: names, texts, turns, places, schedules and checks as pydantic types.

A field that has several forms (a text or a list, a turn or a map) is told apart by its shape alone, so that only the
faults of the form that was written are reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SerializeAsAny,
    Tag,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from contextrot.checks import load_check
from contextrot.checks.base import Check
from contextrot.checks.loading import CHECK_MARK as CHECK_MARK  # `json_schema` puts the check types in its place
from contextrot.errors import ConfigError

HistoryArm = Literal["live", "scripted", "gold"]

Text = Annotated[str, Field(pattern=r"\S")]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Turn = Annotated[int, Field(strict=True, ge=0, le=100_000)]
LaterTurn = Annotated[int, Field(strict=True, ge=1, le=100_000)]


def _read_check(raw: Any, info: ValidationInfo) -> Check:
    try:
        return load_check(raw, base_dir=(info.context or {}).get("base_dir"))
    except ConfigError as error:
        raise PydanticCustomError("check", "{sentence}", {"sentence": str(error)}) from error


Checked = Annotated[SerializeAsAny[Check], BeforeValidator(_read_check), WithJsonSchema(CHECK_MARK)]


def _shape(value: Any) -> str:
    """Which form of a field that has several was written; the tag picks the one whose faults are reported."""
    if isinstance(value, (Mapping, BaseModel)):
        return "<map>"
    if isinstance(value, (list, tuple)):
        return "<list>"
    return "<text>" if isinstance(value, str) else "<number>"


def text_or_map(value: Any) -> str:
    """The tag of a field that is a map or one plain value."""
    return "<map>" if _shape(value) == "<map>" else "<text>"


def text_or_list(value: Any) -> str:
    """The tag of a field that is a list or one text."""
    return "<list>" if _shape(value) == "<list>" else "<text>"


def list_or_map(value: Any) -> str:
    """The tag of a field that is a map or a list."""
    return "<map>" if _shape(value) == "<map>" else "<list>"


def list_or_number(value: Any) -> str:
    """The tag of a field that is a list or one number."""
    return "<list>" if _shape(value) == "<list>" else "<number>"


def _turn_or_word(value: Any) -> str:
    return "<text>" if isinstance(value, str) else "<number>"


def _schedule(value: Any) -> str:
    shape = _shape(value)
    return shape if shape in ("<map>", "<list>") else "<one>"


class Part(BaseModel):
    """Base of everything in a scenario file: frozen, and a key it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    def changed(self, **changes: Any) -> Self:
        """This part with some keys written otherwise, None: left out. Validated like a file; raises `ValueError`."""
        written = {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}
        return type(self).model_validate(
            {name: value for name, value in (written | changes).items() if value is not None}
        )


class AtTurn(Part):
    """A place in the session: the user message of one turn."""

    turn: LaterTurn = Field(description="The turn whose user message states the rule (1 = the first).")


class Every(Part):
    """A probe asked at regular turns."""

    every: LaterTurn = Field(description="Ask every so many turns.")
    from_: Turn = Field(default=0, alias="from", description="The first turn to ask at; 0 is the fresh session.")


Texts = Annotated[
    Annotated[Text, Tag("<text>")] | Annotated[tuple[Text, ...], Field(min_length=1), Tag("<list>")],
    Discriminator(text_or_list),
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
LaterTurns = Annotated[
    Annotated[LaterTurn, Tag("<number>")] | Annotated[tuple[LaterTurn, ...], Field(min_length=1), Tag("<list>")],
    Discriminator(list_or_number),
]
Place = Annotated[
    Annotated[Literal["system", "first_user"], Tag("<text>")] | Annotated[AtTurn, Tag("<map>")],
    Discriminator(text_or_map),
]
