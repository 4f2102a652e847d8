"""Probes as a user writes them: a question, or several in rotation, at set turns."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, StrictBool, model_validator

from contextrot.scenario.fields import Checked, Every, Id, Part, Schedule, Text


class ProbeItem(Part):
    """One of the questions that a probe asks in rotation."""

    id: Id = Field(description="Name of the item in tables and reports.")
    ask: Text | None = Field(default=None, description="The question, byte for byte; none: the probe's own `ask`.")
    check: Checked | None = Field(
        default=None, description="Whether the reply passes; none: the probe's check, or that of its `constraint`."
    )


class Probe(Part):
    """A question, or one of several in rotation, at set turns that tests one constraint or fact."""

    # the schema says what `_something_to_ask` says
    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["ask"]}, {"required": ["items"]}]})

    id: Id = Field(description="Name of the probe in tables and reports.")
    ask: Text | None = Field(
        default=None, description="The question as it reaches the model, byte for byte; may be left to `items`."
    )
    items: tuple[ProbeItem, ...] | None = Field(
        default=None,
        min_length=1,
        description="Questions that take turns: at its k-th turn the probe asks item (k + repeat) mod n, so that over "
        "n repeats each item is asked once at each turn (a Latin square).",
    )
    at: Schedule = Field(
        description="A turn, a list of turns, `{every: N, from: N}`, or `end`. Turn 0 is a fresh session in which the "
        "statement comes right before the question."
    )
    mode: Literal["fork", "inline"] = Field(
        default="fork",
        description="`fork`: asked on a branch that is thrown away; `inline`: the user message of its turn.",
    )
    check: Checked | None = Field(default=None, description="Whether the reply passes; may be left to `constraint`.")
    constraint: Id | None = Field(
        default=None, description="The rule it tests; without a `check` of its own the rule's check is used."
    )
    facts: tuple[Id, ...] = Field(
        default=(), description="Facts the answer rests on, besides those its check names: they tell lost from ignored."
    )
    controls: StrictBool = Field(
        default=True,
        description="Whether it is also asked in a fresh session (ceiling and floor); false where that makes no sense.",
    )

    @model_validator(mode="after")
    def _something_to_ask(self) -> Probe:
        items = self.items or ()
        if self.ask is None and not items:
            raise ValueError("has a probe without an `ask`; give it one, or `items` to ask in turn")
        if items and self.ask is not None and all(item.ask for item in items):
            raise ValueError("has a probe whose `ask` no item uses; remove it, or leave out the `ask` of an item")
        if items and self.check is not None and all(item.check for item in items):
            raise ValueError("has a probe whose `check` no item uses; remove it, or leave out the `check` of an item")
        return self

    def turns(self, last: int) -> tuple[int, ...]:
        """The turns it is asked at in a session of `last` turns, ascending, those never reached left out."""
        if isinstance(self.at, Every):
            return tuple(range(self.at.from_, last + 1, self.at.every))
        marks = self.at if isinstance(self.at, tuple) else (self.at,)
        return tuple(sorted({turn for turn in (last if mark == "end" else mark for mark in marks) if turn <= last}))
