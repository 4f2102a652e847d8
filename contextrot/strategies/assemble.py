"""What all strategies share: the part every view keeps, the newest units that fit, and the view with its manifest.

Everything here costs what the view is long, never what the session is long: selections are lists of unit numbers, and a
manifest is made of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from contextrot.errors import BudgetError
from contextrot.log import Log
from contextrot.messages import Message
from contextrot.outcomes import Status
from contextrot.strategies.base import Event, Manifest, Request, Size, State, View
from contextrot.strategies.sizes import in_tokens


@dataclass(frozen=True, slots=True)
class Must:
    """The units that every view of this log keeps (DESIGN §5, "always in view").

    `recent` are those of them that are conversation (the current user message, results the model has not seen, calls
    that wait for a result): they count in a `keep`. System messages and pins are outside of it. `pins` is in tokens.
    """

    units: frozenset[int]
    recent: tuple[int, ...]
    tokens: int
    pins: int
    components: Mapping[str, int]


def must_keep(log: Log, request: Request) -> Must:
    """The mandatory part of the view. Raises `BudgetError` with a table of its parts when it does not fit."""
    units = log.units
    always = frozenset(log.always)
    system = sum(units[number].tokens for number in log.always if units[number].kind == "system")
    pins = sum(units[number].tokens for number in log.always) - system
    current = set() if log.current_user is None else {log.unit_of(log.current_user)}
    unseen = set(log.open_units)
    spoken = -1 if log.last_assistant is None else log.last_assistant
    for index in range(len(log) - 1, spoken, -1):
        if log.messages[index].role == "tool":
            unseen.add(log.unit_of(index))
    current -= always
    unseen -= always
    asked = sum(units[number].tokens for number in current)
    waiting = sum(units[number].tokens for number in unseen)
    total = system + pins + asked + waiting
    parts = {"system": system, "pins": pins, "current user message": asked, "unseen tool results": waiting}
    if total > request.budget:
        raise BudgetError(
            f"what must stay in view takes {total:,} tokens, but the budget is {request.budget:,}: "
            "use a larger window, or shorten or unpin what the table shows",
            {**parts, "total": total, "budget": request.budget},
        )
    return Must(always | current | unseen, tuple(sorted(current | unseen)), total, pins, parts)


@dataclass(frozen=True, slots=True)
class Tail:
    """Units chosen from the newest on, ascending, without the mandatory ones.

    `start` is the lowest unit number from which on everything is in; `complete` says that no candidate was left out.
    """

    units: tuple[int, ...]
    tokens: int
    start: int
    complete: bool


def newest(
    log: Log,
    must: Must,
    request: Request,
    *,
    room: int,
    keep: Size | None = None,
    candidates: Iterable[int] | None = None,
    weigh: Callable[[int], int] | None = None,
) -> Tail:
    """The newest units that fit into `room` tokens and, if given, into `keep`; stops at the first that does not.

    `candidates` are unit numbers, newest first (default: all); mandatory ones among them are passed over, for they are
    in already. `weigh` gives a unit's tokens where they differ from the log's (a masked round). Turns and messages of
    the mandatory conversation count in `keep`.
    """
    units = log.units
    held = [units[number] for number in must.recent]
    limit = in_tokens(keep, request) if keep is not None else None
    if limit is not None:
        room = min(room, limit - sum(unit.tokens for unit in held))
    most_messages = keep.messages if keep is not None else None
    most_turns = keep.turns if keep is not None else None
    messages = sum(len(unit.indices) for unit in held)
    turns = {unit.turn for unit in held}
    chosen: list[int] = []
    tokens, start = 0, len(units)
    for number in range(len(units) - 1, -1, -1) if candidates is None else candidates:
        if number not in must.units:
            unit = units[number]
            cost = unit.tokens if weigh is None else weigh(number)
            if tokens + cost > room or (most_messages is not None and messages + len(unit.indices) > most_messages):
                break
            if most_turns is not None and len(turns | {unit.turn}) > most_turns:
                break
            tokens += cost
            messages += len(unit.indices)
            turns.add(unit.turn)
            chosen.append(number)
        start = number
    else:
        return Tail(tuple(reversed(chosen)), tokens, start, True)
    return Tail(tuple(reversed(chosen)), tokens, start, False)


@dataclass(frozen=True, slots=True)
class Made:
    """A message that a strategy wrote, with its tokens."""

    message: Message
    tokens: int


def assemble(
    log: Log,
    units: Iterable[int],
    *,
    inserted: Sequence[tuple[int, Made]] = (),
    stand_ins: Mapping[int, tuple[Status, Made]] | None = None,
    absent: tuple[int, Status] = (0, Status.DROPPED),
    marks: Mapping[int, Status] | None = None,
    events: Sequence[Event] = (),
    aux_calls: int = 0,
    state: State | None = None,
) -> View:
    """The view that holds these units in log order.

    inserted: made messages, ascending, each with the log index it stands in front of.
    stand_ins: by log index, the message that takes the place of one of the chosen units' messages, and its status.
    absent: ``(index, status)``, what became of the messages before that index that are not in view; later ones are
    dropped. `marks` names the exceptions, by index.
    """
    stand_ins = stand_ins or {}
    chosen = [log.units[number] for number in units]
    indexes = sorted(index for unit in chosen for index in unit.indices)
    messages: list[Message] = []
    sources: list[int | None] = []
    runs = _Runs(absent)
    tokens = sum(unit.tokens for unit in chosen) + sum(made.tokens for _, made in inserted)
    waiting = list(reversed(inserted))
    points: dict[int, Status] = dict(marks or {})
    for index in indexes:
        while waiting and waiting[-1][0] <= index:
            messages.append(waiting.pop()[1].message)
            sources.append(None)
        stand_in = stand_ins.get(index)
        if stand_in is None:
            messages.append(log.messages[index])
            sources.append(index)
            points[index] = Status.VERBATIM
        else:
            points[index], made = stand_in
            messages.append(made.message)
            sources.append(None)
            tokens += made.tokens - log[index].tokens
    while waiting:
        messages.append(waiting.pop()[1].message)
        sources.append(None)
    for index in sorted(points):
        runs.add(points[index], index)
    return View(
        tuple(messages), tuple(sources), runs.finish(len(log)), tokens, tuple(events), aux_calls, dict(state or {})
    )


class _Runs:
    """Collects ``(status, start, end)`` runs from single statuses; what lies between them is absent."""

    def __init__(self, absent: tuple[int, Status]) -> None:
        self._absent = absent
        self._runs: list[tuple[Status, int, int]] = []
        self._end = 0

    def add(self, status: Status, index: int) -> None:
        self._fill(index)
        self._extend(status, index + 1)

    def finish(self, length: int) -> Manifest:
        self._fill(length)
        return Manifest(self._runs)

    def _fill(self, end: int) -> None:
        boundary, status = self._absent
        self._extend(status, min(end, boundary))
        self._extend(Status.DROPPED, end)

    def _extend(self, status: Status, end: int) -> None:
        if end <= self._end:
            return
        if self._runs and self._runs[-1][0] is status:
            self._runs[-1] = (status, self._runs[-1][1], end)
        else:
            self._runs.append((status, self._end, end))
        self._end = end
