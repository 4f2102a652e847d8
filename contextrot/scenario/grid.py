"""`grid:` of a scenario: one file, crossed over the things that are otherwise confounded (turns, tokens, place, …).

Every combination, a *cell*, is a scenario of its own with an id of its own, so that it is a row of its own everywhere
after this file. Cells of one grid draw the same values and filler texts: only what the axes name differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, model_validator

from contextrot.scenario import filler as _filler
from contextrot.scenario.fields import AtTurn, HistoryArm, LaterTurn, Part, Place, Text
from contextrot.scenario.problems import did_you_mean

#: Combinations above which a grid is refused: each is a scenario to run with every strategy and repeat.
MAX_CELLS = 400
#: Characters an id may have.
MAX_ID = 64

Mode = Literal["fork", "inline"]
P = TypeVar("P", bound=Part)
Axis = Annotated[tuple[P, ...], Field(min_length=1)]
_FillerKind = Annotated[Text, Field(json_schema_extra={"enum": list(_filler.kinds())})]


class Grid(Part):
    """Axes of a scenario; every combination of their values is a scenario of its own."""

    turns: Annotated[tuple[LaterTurn, ...], Field(min_length=1)] | None = Field(
        default=None, description="Values of `session.turns`. Probes and changes beyond a cell's end are left out."
    )
    tokens_per_turn: (
        Annotated[tuple[Annotated[int, Field(strict=True, ge=_filler.MIN_TOKENS, le=50_000)], ...], Field(min_length=1)]
        | None
    ) = Field(default=None, description="Values of `filler.tokens_per_turn`; needs a filler `kind`.")
    place: Annotated[tuple[Place, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="Places of every constraint: `system`, `first_user` or `{turn: N}`. Facts are first stated at turn "
        "N, at turn 1 for the other two.",
    )
    filler: Annotated[tuple[_FillerKind, ...], Field(min_length=1)] | None = Field(
        default=None, description="Values of `filler.kind`."
    )
    history: Annotated[tuple[HistoryArm, ...], Field(min_length=1)] | None = Field(
        default=None, description="Values of `session.history`."
    )
    mode: Annotated[tuple[Mode, ...], Field(min_length=1)] | None = Field(
        default=None, description="Values of the `mode` of every probe."
    )

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """The axes that were given with their values, in the order of the ids' suffixes."""
        axes = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: values for name, values in axes.items() if values is not None}

    @model_validator(mode="after")
    def _crosses_something(self) -> Grid:
        axes = self.axes
        if not axes:
            raise ValueError(f"has no axis; give it at least one of {', '.join(type(self).model_fields)}")
        for name, values in axes.items():
            twice = next((value for place, value in enumerate(values) if value in values[:place]), None)
            if twice is not None:
                raise ValueError(f"has {_label(name, twice)} twice in `{name}`; the values of an axis must differ")
        unknown = next((kind for kind in self.filler or () if kind not in _filler.kinds()), None)
        if unknown is not None:
            hint = did_you_mean(unknown, _filler.kinds())
            raise ValueError(f"has the filler `{unknown}`, which no generator is called{hint}")
        size = prod(map(len, axes.values()))
        if size > MAX_CELLS:
            raise ValueError(f"has {size:,} combinations, at most {MAX_CELLS} are run; leave out values or axes")
        return self

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Every combination of the axes' values, the last axis changing fastest."""
        axes = self.axes
        for values in product(*axes.values()):
            yield dict(zip(axes, values, strict=True))


def cell_ids(family: str, grid: Grid) -> tuple[str, list[str]]:
    """What the ids begin with, and the id of every combination, in order: `<family>.turns-20.tokens-150.system`.

    When the longest would pass 64 characters, the ids of the whole grid use short words (`.t20.k150.sys`), and if that
    is not enough the family's name is cut, with 6 hex digits of its hash in place of the rest.
    """
    cells = list(grid.combinations())
    suffixes = [_suffix(cell, _label) for cell in cells]
    if max(len(family + suffix) for suffix in suffixes) > MAX_ID:
        suffixes = [_suffix(cell, _short) for cell in cells]
        room = MAX_ID - max(map(len, suffixes))
        if len(family) > room:
            family = f"{family[: room - 7]}-{hashlib.sha256(family.encode()).hexdigest()[:6]}"
    return family, [family + suffix for suffix in suffixes]


def _suffix(cell: Mapping[str, Any], word: Any) -> str:
    return "".join(f".{word(name, value)}" for name, value in cell.items())


def _label(axis: str, value: Any) -> str:
    """The word for a value in an id."""
    if axis == "turns":
        return f"turns-{value}"
    if axis == "tokens_per_turn":
        return f"tokens-{value}"
    return f"at-{value.turn}" if isinstance(value, AtTurn) else str(value)


_SHORT = {
    "first_user": "first", "system": "sys", "scripted": "scr", "gold": "gold", "live": "live", "inline": "inl",
    "fork": "fork",
}  # fmt: skip


def _short(axis: str, value: Any) -> str:
    """A shorter word for a value; as different from the others of its axis as the long one."""
    if axis == "turns":
        return f"t{value}"
    if axis == "tokens_per_turn":
        return f"k{value}"
    return f"at{value.turn}" if isinstance(value, AtTurn) else _SHORT.get(str(value), str(value))
