"""What cannot be meant about a grid: axes without anything to cross, and cells that contradict themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextrot.scenario.consistency.findings import Finding
from contextrot.scenario.consistency.timing import timing
from contextrot.scenario.fields import AtTurn, Place
from contextrot.scenario.grid import Grid
from contextrot.scenario.schema import Scenario

#: Cells named in one sentence; the others are counted.
_NAMED = 3


def grid_findings(scenario: Scenario) -> Iterator[Finding]:
    """Faults of the axes at their lines; faults of all cells where they stand, those of some at the grid's line."""
    grid = scenario.grid
    if grid is None:
        return
    useless = dict(_useless(scenario, grid))
    for axis, sentence in useless.items():
        yield Finding(("grid", axis), sentence)
    left = [axis for axis in grid.axes if axis not in useless]
    whole = scenario.changed(grid=grid.changed(**dict.fromkeys(useless)) if left else None)
    whole._path, whole._transcript = scenario._path, scenario._transcript
    yield from _of_cells(whole)


def _useless(scenario: Scenario, grid: Grid) -> Iterator[tuple[str, str]]:
    """Axes that would change nothing, so that their cells would be one scenario under several names."""
    axes = grid.axes
    if scenario.filler.kind is None:
        source = "items" if scenario.filler.items is not None else "a transcript"
        for axis in ("tokens_per_turn", "filler"):
            if axis in axes and not (axis == "tokens_per_turn" and scenario.filler.then):
                yield (
                    axis,
                    f"the grid crosses `{axis}`, which is for a generator, but the filler has {source}; "
                    "give it a `kind` or remove the axis",
                )
    if "place" in axes and not scenario.constraints and not scenario.facts:
        yield "place", "the grid crosses `place`, but there is no constraint or fact to place"
    elif "place" in axes and (same := _same_places(scenario, axes["place"])) is not None:
        yield "place", f"the grid crosses `place` over {same}; leave one of them out"
    if "mode" in axes and not scenario.probes:
        yield "mode", "the grid crosses `mode`, but there is no probe"


def _same_places(scenario: Scenario, places: Sequence[Place]) -> str | None:
    """Two places at which everything is said in the very same message, in words; None when all differ."""
    seen: dict[tuple[int | None, int | None], Place] = {}
    for place in places:
        turn = place.turn if isinstance(place, AtTurn) else int(place == "first_user")
        key = (turn if scenario.constraints else None, max(turn, 1) if scenario.facts else None)
        if key in seen:
            only = " (a fact is never in the system prompt)" if "system" in (place, seen[key]) else ""
            return f"{_written(seen[key])} and {_written(place)}, which are the same here{only}"
        seen[key] = place
    return None


def _written(place: Place) -> str:
    return f"`{{turn: {place.turn}}}`" if isinstance(place, AtTurn) else f"`{place}`"


def _of_cells(scenario: Scenario) -> Iterator[Finding]:
    cells = scenario.cells()
    longest = max(cell.session.turns for cell in cells)
    crossed = longest if any(cell.session.turns != longest for cell in cells) else None
    found: dict[Finding, list[str]] = {}
    for cell in cells:
        for finding in dict.fromkeys(timing(cell, crossed)):
            found.setdefault(finding, []).append(cell.id)
    for finding, names in found.items():
        if len(names) == len(cells):
            yield finding
        else:
            rest = len(names) - _NAMED
            shown = ", ".join(f"`{name}`" for name in names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
            yield Finding(
                ("grid",),
                f"in the cell{'s' if len(names) > 1 else ''} {shown}: {finding.sentence}",
                (finding.path, *finding.rests_on),
                about=finding.path,
            )
