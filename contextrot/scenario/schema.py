"""The scenario format (DESIGN §4) as frozen pydantic models: what a user writes, nothing derived.

YAML, `contextrot schema` and the Python API all follow from these classes (tools and filler are in `work.py`, probes in
`probes.py`, the axes of a grid in `grid.py`). What one object can say wrong is refused there; what needs two objects to
see (an unknown fact, a probe never reached) is in `consistency.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, StrictBool

from contextrot.checks import check_schema
from contextrot.checks.base import Check
from contextrot.scenario.fields import (
    CHECK_MARK,
    AtTurn,
    Checked,
    Every,
    HistoryArm,
    Id,
    LaterTurn,
    LaterTurns,
    Part,
    Place,
    Text,
    Texts,
)
from contextrot.scenario.grid import Grid, cell_ids
from contextrot.scenario.probes import Probe, ProbeItem
from contextrot.scenario.work import (
    CannedToolCall,
    Filler,
    FillerToolCall,
    GeneratedReturns,
    Item,
    ToolSpec,
)

__all__ = [
    "AtTurn",
    "CannedToolCall",
    "Constraint",
    "Distractor",
    "Every",
    "Fact",
    "Filler",
    "FillerToolCall",
    "GeneratedReturns",
    "Grid",
    "HistoryArm",
    "Item",
    "Probe",
    "ProbeItem",
    "Scenario",
    "SessionSpec",
    "ToolSpec",
    "json_schema",
]


#: what of a scenario says what it is about and opens the session, and is no part of the test
_ABOUT = ("title", "description", "source", "tags", "system")
#: what of its parts says how the model is told, and is no part of the test either
_TOLD = {
    "constraints": ("text", "place", "reply", "pinned", "tags"),
    "facts": ("pinned", "tags"),
    "tools": ("description",),
}
_CALLED = {"constraints": "rule", "facts": "fact", "tools": "tool"}
_PINNED = "Strategies that honour pins never evict the message it is stated in, with all else that stands there."


class Constraint(Part):
    """A standing rule that has to hold for the rest of the session."""

    id: Id = Field(description="Name of the rule in probes, tables and reports.")
    text: Text = Field(description="The rule as it reaches the model, byte for byte.")
    place: Place = Field(
        default="system",
        description="Where it is stated: `system` (the system prompt), `first_user` (turn 1) or `{turn: N}`.",
    )
    pinned: StrictBool = Field(default=False, description=_PINNED)
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


class Fact(Part):
    """Something stated once that must be recalled later; it may be superseded."""

    id: Id = Field(description="Name of the fact in checks, tables and reports.")
    text: Text = Field(description="The statement; `{value}` in it is replaced by a value, nothing else is touched.")
    values: tuple[Text, ...] = Field(
        min_length=1, description="Values to draw from by seed, without repetition inside a session."
    )
    at: LaterTurn = Field(default=1, description="The turn whose user message states it (1 = the first).")
    changes: tuple[LaterTurn, ...] = Field(default=(), description="Turns at which it is stated anew, another value.")
    pinned: StrictBool = Field(default=False, description=_PINNED)
    reply: Text | None = Field(
        default=None, description="Scripted acknowledgement (scripted and gold histories); may contain `{value}`."
    )
    tags: tuple[Id, ...] = Field(default=(), description="Tags of the turns that state it, for tag-based strategies.")

    @property
    def turns(self) -> tuple[int, ...]:
        """The turns at which it is stated, in order."""
        return (self.at, *self.changes)


class Distractor(Part):
    """A statement that looks like a fact but is never the one asked for: a near miss."""

    id: Id = Field(description="Name of the distractor.")
    text: Text = Field(description="The statement; `{value}` in it is replaced by a value, nothing else is touched.")
    values: tuple[Text, ...] = Field(
        min_length=1,
        description="Values to draw from by seed, without repetition inside a session; none may be taken for a fact's.",
    )
    at: LaterTurns = Field(
        default=1, description="The turn whose user message states it, or several: another value at each."
    )
    reply: Text | None = Field(
        default=None, description="Scripted acknowledgement (scripted and gold histories); may contain `{value}`."
    )
    tags: tuple[Id, ...] = Field(default=(), description="Tags of the turns that state it, for tag-based strategies.")

    @property
    def turns(self) -> tuple[int, ...]:
        """The turns at which it is stated, as written."""
        return (self.at,) if isinstance(self.at, int) else self.at


class SessionSpec(Part):
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


class Scenario(Part):
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
    distractors: tuple[Distractor, ...] = Field(
        default=(), description="Statements that look like a fact and are never asked for."
    )
    tools: tuple[ToolSpec, ...] = Field(default=(), description="Tools the model may call.")
    filler: Filler = Field(default=Filler(kind="notes"), description="The ordinary work in between.")
    session: SessionSpec = Field(description="Length and history of a session.")
    probes: tuple[Probe, ...] = Field(default=(), description="Questions that test what was stated.")
    grid: Grid | None = Field(
        default=None,
        description="Axes to cross: every combination of their values is a scenario of its own, whatever the file says "
        "elsewhere.",
    )

    _path: Path | None = PrivateAttr(default=None)
    _family: str | None = PrivateAttr(default=None)
    _transcript: tuple[Item, ...] = PrivateAttr(default=())

    @property
    def path(self) -> Path | None:
        """The file it was read from, as the user named it; None for a scenario built in Python."""
        return self._path

    @property
    def base_dir(self) -> Path:
        """The folder that relative paths in the scenario start from."""
        return self._path.parent if self._path else Path()

    @property
    def family(self) -> str:
        """What the ids of the cells of one grid begin with; of a scenario that is no cell its own id."""
        return self._family or self.id

    def cells(self) -> tuple[Scenario, ...]:
        """The combinations of the grid as scenarios of their own, the last axis changing fastest; itself without one.

        Raises `ValueError` where an axis does not fit the scenario, which `load_scenario` has found out before.
        """
        if self.grid is None:
            return (self,)
        family, names = cell_ids(self.id, self.grid)
        named = zip(names, self.grid.combinations(), strict=True)
        return tuple(self._cell(family, name, values) for name, values in named)

    def _cell(self, family: str, name: str, values: Mapping[str, Any]) -> Scenario:
        """The scenario under another id, with what each axis stands for written otherwise."""
        changes: dict[str, Any] = {"grid": None, "id": name}
        session = {axis: values[axis] for axis in ("turns", "history") if axis in values}
        if session:
            changes["session"] = self.session.changed(**session)
        names = {"filler": "kind", "tokens_per_turn": "tokens_per_turn"}
        filler = {key: values[axis] for axis, key in names.items() if axis in values}
        if filler:
            changes["filler"] = self.filler.changed(**filler)
        if "place" in values:
            place: Place = values["place"]
            changes["constraints"] = tuple(_placed(rule, place) for rule in self.constraints)
            turn = place.turn if isinstance(place, AtTurn) else 1
            changes["facts"] = tuple(fact.changed(at=turn) for fact in self.facts)
        if "mode" in values:
            changes["probes"] = tuple(probe.changed(mode=values["mode"]) for probe in self.probes)
        cell = self.changed(**changes)
        cell._path, cell._transcript, cell._family = self._path, self._transcript, family
        return cell

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The filler turns written by the user (items or transcript); empty when a generator writes them."""
        if self.filler.transcript is not None:
            return self._transcript
        return tuple(Item(user=item) if isinstance(item, str) else item for item in self.filler.items or ())

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (hex) of what the scenario says, the transcript included: comments and layout do not change it."""
        return hashlib.sha256(json.dumps(self._content(), sort_keys=True).encode()).hexdigest()

    @cached_property
    def test_hash(self) -> str:
        """SHA-256 (hex) of what is measured: probes, checks, facts, filler, session, tools.

        How the model is told what it has to do is left out: the system prompt, the wording and place of rules, what is
        pinned, descriptions of tools. With another such text the same test can be held against a recorded one.
        """
        content = self._content()
        for name in _ABOUT:
            content["scenario"].pop(name, None)
        for kind, names in _TOLD.items():
            for part in content["scenario"].get(kind, ()):
                for name in names:
                    part.pop(name, None)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @cached_property
    def text_hashes(self) -> dict[str, str]:
        """What `test_hash` leaves out, part by part (``system``, ``rule json-reply``): 12 hex digits of each."""
        dumped = self._content()["scenario"]
        texts = {name: dumped[name] for name in _ABOUT if name in dumped}
        for kind, names in _TOLD.items():
            for part in dumped.get(kind, ()):
                told = {name: part[name] for name in names if name in part}
                if told:
                    texts[f"{_CALLED[kind]} {part.get('id') or part.get('name')}"] = told
        return {
            name: hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]
            for name, told in texts.items()
        }

    def _content(self) -> dict[str, Any]:
        return {
            "scenario": self.model_dump(mode="json", by_alias=True, exclude_unset=True),
            "checks": [type(check).type_name for check in self._checks() if check is not None],
            "transcript": [item.model_dump(mode="json") for item in self._transcript],
        }

    def _checks(self) -> Iterator[Check | None]:
        yield from (rule.check for rule in self.constraints)
        yield from (probe.check for probe in self.probes)
        yield from (item.check for probe in self.probes for item in probe.items or ())

    def check_of(self, probe: Probe, item: ProbeItem | None = None) -> Check | None:
        """The check a probe is graded by: that of the item, its own, or that of the constraint it names."""
        if item is not None and item.check is not None:
            return item.check
        if probe.check is not None:
            return probe.check
        return next((rule.check for rule in self.constraints if rule.id == probe.constraint), None)


def _placed(rule: Constraint, place: Place) -> Constraint:
    """The rule stated elsewhere. A rule in the system prompt is never acknowledged, so it has no use for a `reply`."""
    return rule.changed(place=place, reply=None) if place == "system" and rule.reply else rule.changed(place=place)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario file, all check types included: what editors use."""
    schema = Scenario.model_json_schema(by_alias=True)
    checks = check_schema()
    schema["$defs"] |= checks.pop("$defs") | {"check": checks}
    schema = _as_written(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "contextrot scenario"}


def _as_written(schema: Any) -> Any:
    """The schema with the check types in place, and without null: in a file a key has a value or is not there."""
    if schema == CHECK_MARK:
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
