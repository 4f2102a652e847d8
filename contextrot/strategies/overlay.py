"""A log in which some payloads read shorter: how a wrapper changes what the strategy inside sees, the log untouched.

Everything about an overlay but the texts and sizes of the shortened messages is the log's own. It costs what is looked
at, never what the session is long: texts are made when they are read, and the sum of what was saved is carried in the
wrapper's state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from contextrot.log import Entry, Index, Log, Unit
from contextrot.messages import Message
from contextrot.outcomes import Status
from contextrot.strategies.assemble import Made
from contextrot.strategies.base import Manifest, State, View


@dataclass(frozen=True, slots=True)
class Settled:
    """How much of a log was looked through for payloads, and what shortening them saves; part of a wrapper's state.

    upto: messages looked at. saved: tokens. count: messages shortened. held: indexes of large messages that had to
    stay as they are so far (pins, results the model has not seen yet, the current user message).
    """

    upto: int = 0
    saved: int = 0
    count: int = 0
    held: tuple[int, ...] = ()

    @classmethod
    def read(cls, state: State) -> Settled:
        """From the JSON form."""
        return cls(state.get("upto", 0), state.get("saved", 0), state.get("count", 0), tuple(state.get("held", ())))

    def write(self) -> State:
        """The JSON form."""
        return {"upto": self.upto, "saved": self.saved, "count": self.count, "held": list(self.held)}


class Payloads:
    """Which messages of a log are shortened, and what stands for them. Called with an index: the stand-in, or None.

    over: tokens above which a message is a payload. make: the stand-in; one that is no smaller is not taken. users:
    also user messages but the current one. unseen: whether a result at an index may go before the model has seen it.
    """

    def __init__(
        self,
        log: Log,
        over: int,
        make: Callable[[int, Entry], Made],
        *,
        users: bool = False,
        unseen: Callable[[int], bool] = lambda index: False,
    ) -> None:
        self._log = log
        self._over = over
        self._make = make
        self._users = users
        self._unseen = unseen
        self._made: dict[int, Made | None] = {}
        self._spoken = -1 if log.last_assistant is None else log.last_assistant

    def __call__(self, index: int) -> Made | None:
        """What stands for the message at `index`; None where it stays as it is."""
        if index not in self._made:
            entry = self._log[index]
            made = None
            if self._is_payload(entry) and not self._stays(index, entry):
                made = self._make(index, entry)
            self._made[index] = made if made is not None and made.tokens < entry.tokens else None
        return self._made[index]

    def settle(self, before: Settled) -> Settled:
        """Look through what is new since `before`, and again through what had to stay then."""
        saved, count, held = before.saved, before.count, []
        for index in (*before.held, *range(before.upto, len(self._log))):
            entry = self._log[index]
            if not self._is_payload(entry):
                continue
            if self._stays(index, entry):
                held.append(index)
                continue
            made = self(index)
            if made is not None:
                saved += entry.tokens - made.tokens
                count += 1
        return Settled(len(self._log), saved, count, tuple(held))

    def _is_payload(self, entry: Entry) -> bool:
        message = entry.message
        if entry.tokens <= self._over or not isinstance(message.content, str):
            return False
        return message.role == "tool" or (self._users and message.role == "user")

    def _stays(self, index: int, entry: Entry) -> bool:
        if entry.pinned or index == self._log.current_user:
            return True
        return entry.message.role == "tool" and index > self._spoken and not self._unseen(index)


class Overlay(Log):
    """The log with its payloads shortened. For reading only."""

    def __init__(self, log: Log, payloads: Callable[[int], Made | None], saved: int) -> None:
        self._log = log
        self.payloads = payloads
        self.tokens = log.tokens - saved
        self._entries = cast(list[Entry], _Lazy(len(log), self._entry))
        self._messages = cast(list[Message], _Lazy(len(log), self._message))
        self._units = cast(list[Unit], _Lazy(len(log.units), self._unit))

    def __getattr__(self, name: str) -> Any:
        """Whatever an overlay does not change (pins, units of messages, tasks, any further index) is the log's own."""
        if name == "_log":
            raise AttributeError(name)
        return getattr(self._log, name)

    def index_of(self, kind: type[Index]) -> Index:
        """The log's own: an index of shortened texts would depend on when it was asked for."""
        return self._log.index_of(kind)

    def append(self, *args: Any, **more: Any) -> int:
        """Refused: only the session appends, and to its log."""
        raise TypeError("an overlay of a log is read-only")

    def supersede(self, index: int, statement: str, by: str = "") -> None:
        """Refused, as `append`."""
        raise TypeError("an overlay of a log is read-only")

    def release(self, index: int, statement: str) -> None:
        """Refused, as `append`."""
        raise TypeError("an overlay of a log is read-only")

    def _entry(self, index: int) -> Entry:
        entry, made = self._log[index], self.payloads(index)
        return entry if made is None else entry._replace(message=made.message, tokens=made.tokens)

    def _message(self, index: int) -> Message:
        made = self.payloads(index)
        return self._log.messages[index] if made is None else made.message

    def _unit(self, number: int) -> Unit:
        unit = self._log.units[number]
        saved = 0
        for index in unit.indices:
            made = self.payloads(index)
            if made is not None:
                saved += self._log[index].tokens - made.tokens
        return unit._replace(tokens=unit.tokens - saved) if saved else unit


class _Lazy(Sequence[Any]):
    def __init__(self, length: int, at: Callable[[int], Any]) -> None:
        self._length = length
        self._at = at

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._at(k) for k in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._at(index % self._length)


def uncovered(view: View, payloads: Callable[[int], Made | None], status: Status) -> View:
    """The view that a strategy made of an overlay, as a view of the log: stand-ins are named by their status."""
    changes: dict[int, Status] = {}
    sources: list[int | None] = []
    for source in view.sources:
        if source is not None and payloads(source) is not None:
            changes[source] = status
            source = None
        sources.append(source)
    if not changes:
        return view
    return replace(view, sources=tuple(sources), manifest=restatus(view.manifest, changes))


def restatus(manifest: Manifest, changes: Mapping[int, Status]) -> Manifest:
    """The manifest with other statuses at some indexes."""
    runs: list[tuple[Status, int, int]] = []
    points = sorted(changes)
    position = 0

    def add(status: Status, start: int, end: int) -> None:
        if end > start:
            if runs and runs[-1][0] is status:
                runs[-1] = (status, runs[-1][1], end)
            else:
                runs.append((status, start, end))

    for status, start, end in manifest.runs:
        while position < len(points) and points[position] < end:
            point = points[position]
            add(status, start, point)
            add(changes[point], point, point + 1)
            start, position = point + 1, position + 1
        add(status, start, end)
    return Manifest(runs)
