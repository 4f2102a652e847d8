"""Selection by tag: a short recent window, and from what has left it the units that share tags with the turn."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterator
from heapq import merge

from pydantic import Field, field_validator

from contextrot.log import Log
from contextrot.strategies.base import Event, Request, Size, State, Strategy, View, register
from contextrot.strategies.selection import Chosen, Frame, current_tags


class TaggedUnits:
    """Units by the tags of their messages, so that those of one set of tags are found without a walk."""

    def __init__(self) -> None:
        self._seen = 0
        self._tags: dict[int, frozenset[str]] = {}
        self._groups: dict[frozenset[str], list[int]] = {}

    def extend(self, log: Log) -> None:
        """Take in the messages that are new; a tool round may gain tags with its results."""
        for index in range(self._seen, len(log)):
            tags = log[index].tags
            if not tags:
                continue
            unit = log.unit_of(index)
            before = self._tags.get(unit, frozenset())
            now = before | tags
            if now != before:
                if before:
                    self._groups[before].remove(unit)
                insort(self._groups.setdefault(now, []), unit)
                self._tags[unit] = now
        self._seen = len(log)

    def copy(self) -> TaggedUnits:
        """For a branch of the log."""
        branch = TaggedUnits()
        branch._seen, branch._tags = self._seen, self._tags.copy()
        branch._groups = {tags: units.copy() for tags, units in self._groups.items()}
        return branch

    def best(self, wanted: Collection[str]) -> Iterator[int]:
        """Units that share tags with `wanted`: the most tags first, of equal ones the newest first."""
        by_overlap: dict[int, list[list[int]]] = {}
        for tags, units in self._groups.items():
            shared = len(tags.intersection(wanted))
            if shared:
                by_overlap.setdefault(shared, []).append(units)
        for shared in sorted(by_overlap, reverse=True):
            yield from merge(*map(reversed, by_overlap[shared]), reverse=True)


@register
class TagSelection(Strategy):
    """The recent turns as they are, and before them the units that share most tags with the current turn.

    The second article's `SelectiveRetrievalContext`: by overlap of tags, at most `limit` (3, as there), no overlap no
    selection; among equals the newest goes first. No model is asked and nothing is embedded. Units are selected whole
    and stand in log order. Of the best, those that fit beside the recent turns are taken.
    """

    type_name = "tag_selection"
    honours_pins = True
    summary = "units by tag"

    tags: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="tags to select by; none: those of the current turn's messages"
    )
    limit: int = Field(default=3, ge=1, description="units (messages or tool rounds) to select at most")
    recent: Size = Field(default=Size(turns=4), description="recent conversation that stays as it is")
    max_tokens: int = Field(
        default=1500, ge=1, description="the most the selected units may take, in tokens; never over half of the room"
    )

    @field_validator("tags", mode="before")
    @classmethod
    def _one_is_a_list(cls, tags: object) -> object:
        return (tags,) if isinstance(tags, str) else tags

    async def view(self, log: Log, state: State, request: Request) -> View:
        """System, pins, selected units, recent conversation. Raises `BudgetError`."""
        frame = Frame(log, request, self.recent, self.max_tokens)
        wanted = current_tags(log) if self.tags is None else frozenset(self.tags)
        if frame.complete or not wanted:
            return frame.view(Chosen())
        chosen = frame.choose(log.index_of(TaggedUnits).best(wanted), self.limit)
        events = []
        if chosen.units or chosen.left_out:
            detail = {"units": len(chosen.units), "tokens": chosen.tokens, "left_out": chosen.left_out}
            events.append(Event("tag_selection", detail | {"tags": sorted(wanted)}))
        return frame.view(chosen, events)
