"""What strategies share that put chosen older units in front of a short recent window: `retrieval`, `tag_selection`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from contextrot.log import Log
from contextrot.outcomes import Status
from contextrot.strategies.assemble import Must, Tail, assemble, must_keep, newest
from contextrot.strategies.base import Event, Request, Size, State, View
from contextrot.strategies.overlay import restatus


@dataclass(frozen=True, slots=True)
class Chosen:
    """Units to put back, the best first, with their tokens, and how many of the best did not fit."""

    units: tuple[int, ...] = ()
    tokens: int = 0
    left_out: int = 0


class Frame:
    """The view before anything is chosen: what must stay, the recent window, and the room kept free for the choice.

    Where the recent window would fill the budget, older units get up to `max_tokens`, but never over half of the room;
    what they do not use goes back to the recent window. Raises `BudgetError`.
    """

    def __init__(self, log: Log, request: Request, recent: Size, max_tokens: int) -> None:
        self._log, self._request, self._keep = log, request, recent
        self.must: Must = must_keep(log, request)
        self._room = request.budget - self.must.tokens
        self._recent = self._tail = newest(log, self.must, request, room=self._room, keep=recent)
        self._share = min(max(1, int(max_tokens / request.scale)), self._room // 2)
        if self._room - self._recent.tokens < self._share:
            self._tail = newest(log, self.must, request, room=self._room - self._share, keep=recent)

    @property
    def complete(self) -> bool:
        """True when the recent window holds the whole log, so that there is nothing to choose from."""
        return self._recent.complete

    @property
    def in_view(self) -> frozenset[int]:
        """Units that are in view whatever is chosen."""
        return self.must.units.union(self._tail.units)

    def choose(self, ranked: Iterable[int], most: int) -> Chosen:
        """Of the `most` best units that are not in view, those that fit. `ranked` may name a unit more than once."""
        room = min(self._share, self._room - self._tail.tokens)
        seen = set(self.in_view)
        taken: list[int] = []
        tokens = left_out = 0
        for number in ranked:
            if number in seen:
                continue
            seen.add(number)
            size = self._log.units[number].tokens
            if tokens + size <= room:
                taken.append(number)
                tokens += size
            else:
                left_out += 1
            if len(taken) + left_out == most:
                break
        return Chosen(tuple(taken), tokens, left_out)

    def view(self, chosen: Chosen, events: Collection[Event] = (), state: State | None = None) -> View:
        """The view with the chosen units, in log order, marked as retrieved."""
        tail = self._tail if self._tail is self._recent else self._longer(chosen)
        retrieved = [number for number in chosen.units if number not in tail.units]
        units = self.must.units.union(tail.units, retrieved)
        view = assemble(self._log, units, events=tuple(events), state=state)
        changes = {index: Status.RETRIEVED for number in retrieved for index in self._log.units[number].indices}
        return replace(view, manifest=restatus(view.manifest, changes)) if changes else view

    def _longer(self, chosen: Chosen) -> Tail:
        """The recent window with the room that the choice left."""

        def weigh(number: int) -> int:
            return 0 if number in chosen.units else self._log.units[number].tokens

        room = self._room - chosen.tokens
        return newest(self._log, self.must, self._request, room=room, keep=self._keep, weigh=weigh)


def current_tags(log: Log) -> frozenset[str]:
    """The tags of the current turn's messages."""
    tags: set[str] = set()
    for index in range(len(log) - 1, -1, -1):
        entry = log[index]
        if entry.turn != log[-1].turn:
            break
        tags |= entry.tags
    return frozenset(tags)
