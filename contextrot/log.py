"""The log of a session: every message ever said, append-only, and the units a strategy may cut.

A unit is a system message, a user message, an assistant text, or a *tool round*: the assistant's call(s) with all their
results, linked by id. Units are kept up to date as messages arrive, so that no strategy walks the session to find them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar, cast, overload

from contextrot.errors import MalformedHistoryError
from contextrot.messages import Message

UnitKind = Literal["system", "user", "assistant", "tool_round"]


class Entry(NamedTuple):
    """A message with its identity: where it stands and what a strategy may know about it.

    `tokens` is the counter's estimate. `pinned` means always in view. `standing` holds the texts of rules and facts
    this message states for the rest of the session (what `re_anchor` repeats); `origin` says who put it here; `task`
    names the piece of work the message belongs to, "" for the session as a whole.
    """

    message: Message
    turn: int
    tokens: int
    pinned: bool = False
    standing: tuple[str, ...] = ()
    origin: str = ""
    tags: frozenset[str] = frozenset()
    task: str = ""


class Unit(NamedTuple):
    """What may be cut as a whole. `indices` are positions in the log, ascending, not always adjacent."""

    indices: tuple[int, ...]
    kind: UnitKind
    tokens: int
    turn: int
    pinned: bool = False


class Superseded(NamedTuple):
    """A statement of the message at `where` that holds no longer. by: what took its place, "" where nothing did."""

    where: int
    statement: str
    by: str


class TaskRun(NamedTuple):
    """Units in a row that belong to one task, those of the session as a whole passed over. `units` are numbers.

    A task that is taken up again after another is a run of its own.
    """

    task: str
    units: list[int]


class LogIndex(Protocol):
    """What can be looked up in a log without walking it; derived from its messages alone, and grown with them."""

    def extend(self, log: Log) -> None:
        """Take in what was appended since the last time."""
        ...

    def copy(self) -> Self:
        """An index for a branch of the log."""
        ...


Index = TypeVar("Index", bound=LogIndex)


class Log(Sequence[Entry]):
    """Append-only list of entries with its units. Strategies read it; only the session (or `Memory`) appends."""

    def __init__(self, count: Callable[[Message], int]) -> None:
        self._count = count
        self._entries: list[Entry] = []
        self._messages: list[Message] = []
        self._units: list[Unit] = []
        self._unit_of: list[int] = []
        self._waiting: dict[str, int] = {}
        self._always: list[int] = []
        self._standing: list[int] = []
        self._superseded: list[Superseded] = []
        self._tasks: list[TaskRun] = []
        self._taskless: list[int] = []
        self._indexes: dict[type[LogIndex], LogIndex] = {}
        self.tokens = 0
        self.current_user: int | None = None
        self.last_assistant: int | None = None

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    @property
    def messages(self) -> Sequence[Message]:
        """The messages alone, in a list of their own: under `full` all of them go out at every call."""
        return self._messages

    @property
    def units(self) -> Sequence[Unit]:
        """All units, ordered by their first message."""
        return self._units

    @property
    def always(self) -> Sequence[int]:
        """Numbers of the units that hold a system message or a pin, ascending: the part every view keeps."""
        return self._always

    @property
    def standing(self) -> Sequence[int]:
        """Indexes of the messages that state what is to hold: with `standing` texts, or pinned and no tool result."""
        return self._standing

    @property
    def superseded(self) -> Sequence[Superseded]:
        """Statements that hold no longer, in the order in which they ceased to."""
        return self._superseded

    @property
    def open_units(self) -> frozenset[int]:
        """Numbers of the tool rounds that still wait for a result."""
        return frozenset(self._waiting.values())

    @property
    def tasks(self) -> Sequence[TaskRun]:
        """The tasks one after the other, each with its units."""
        return self._tasks

    @property
    def taskless(self) -> Sequence[int]:
        """Numbers of the units that belong to the session as a whole, ascending."""
        return self._taskless

    def unit_of(self, index: int) -> int:
        """Number of the unit that holds the message at `index`."""
        return self._unit_of[index]

    def index_of(self, kind: type[Index]) -> Index:
        """The log's index of this kind, made when it is first asked for and brought up to date each time."""
        index = self._indexes.get(kind)
        if index is None:
            index = self._indexes[kind] = kind()
        index.extend(self)
        return cast(Index, index)

    def append(
        self,
        message: Message,
        *,
        turn: int,
        pinned: bool = False,
        standing: tuple[str, ...] = (),
        origin: str = "",
        tags: frozenset[str] = frozenset(),
        task: str = "",
    ) -> int:
        """Add a message and return its index.

        Raises `MalformedHistoryError` for a tool result that answers no open call.
        """
        index = len(self._entries)
        tokens = self._count(message)
        if message.role == "tool":
            unit = self._waiting.pop(message.tool_call_id or "", None)
            if unit is None:
                raise MalformedHistoryError(
                    f"message {index} is a tool result for {message.tool_call_id!r}, but no open tool call has that id"
                )
            old = self._units[unit]
            self._units[unit] = Unit(
                (*old.indices, index), old.kind, old.tokens + tokens, old.turn, old.pinned or pinned
            )
            if pinned and not old.pinned:
                self._always.append(unit)
                self._always.sort()
        else:
            unit = len(self._units)
            kind: UnitKind = "tool_round" if message.tool_calls else message.role
            self._units.append(Unit((index,), kind, tokens, turn, pinned))
            if pinned or kind == "system":
                self._always.append(unit)
            self._note_task(task, unit)
            for call in message.tool_calls:
                self._waiting[call.id] = unit
        self._entries.append(Entry(message, turn, tokens, pinned, standing, origin, tags, task))
        self._messages.append(message)
        self._unit_of.append(unit)
        if standing or (pinned and message.role != "tool"):
            self._standing.append(index)
        self.tokens += tokens
        if message.role == "user":
            self.current_user = index
        elif message.role == "assistant":
            self.last_assistant = index
        return index

    def _note_task(self, task: str, unit: int) -> None:
        if not task:
            self._taskless.append(unit)
        elif self._tasks and self._tasks[-1].task == task:
            self._tasks[-1].units.append(unit)
        else:
            self._tasks.append(TaskRun(task, [unit]))

    def supersede(self, index: int, statement: str, by: str = "") -> None:
        """What the message at `index` stated holds no longer: it is not repeated, and not pinned for its sake.

        by: the statement that took its place. The message stays in the log as it is; a strategy may evict it from now
        on. A small model that sees the old value pinned above the new one answers with the old one.
        """
        self._superseded.append(Superseded(index, statement, by))
        self.release(index, statement)

    def release(self, index: int, statement: str) -> None:
        """The message at `index` is not repeated and not pinned for this statement's sake, which may hold on."""
        entry = self._entries[index]
        standing = tuple(text for text in entry.standing if text != statement)
        pinned = entry.pinned and bool(standing)
        self._entries[index] = entry._replace(standing=standing, pinned=pinned)
        number = self._unit_of[index]
        unit = self._units[number]
        if entry.pinned and not any(self._entries[k].pinned for k in unit.indices):
            self._units[number] = unit._replace(pinned=False)
            if unit.kind != "system":
                self._always.remove(number)
        if not standing and not pinned and index in self._standing:
            self._standing.remove(index)

    def fork(self) -> Log:
        """A branch that starts with the same entries; what is appended to one is never seen by the other."""
        branch = Log(self._count)
        branch._entries = self._entries.copy()
        branch._messages = self._messages.copy()
        branch._units = self._units.copy()
        branch._unit_of = self._unit_of.copy()
        branch._waiting = self._waiting.copy()
        branch._always = self._always.copy()
        branch._standing = self._standing.copy()
        branch._superseded = self._superseded.copy()
        branch._indexes = {kind: index.copy() for kind, index in self._indexes.items()}
        # Only the last run may still grow, so the others are shared.
        branch._tasks = self._tasks[:-1] + [TaskRun(run.task, run.units.copy()) for run in self._tasks[-1:]]
        branch._taskless = self._taskless.copy()
        branch.tokens = self.tokens
        branch.current_user = self.current_user
        branch.last_assistant = self.last_assistant
        return branch

    def unanswered(self) -> tuple[str, ...]:
        """Ids of tool calls that have no result yet."""
        return tuple(self._waiting)


def repair(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Indexes of the OpenAI-style dicts that form a well-paired history: what `on_malformed="repair"` keeps.

    Left out: results without an open call, a second result for one call, and assistant messages with calls of which
    some never got a result although the conversation went on (with the results they did get).
    """
    answered: dict[int, set[str]] = {}
    open_call: dict[str, int] = {}
    keep: list[int] = []
    results: dict[int, list[int]] = {}
    for index, raw in enumerate(messages):
        if raw.get("role") == "tool":
            owner = open_call.pop(str(raw.get("tool_call_id")), None)
            if owner is not None:
                results[owner].append(index)
                answered[owner].discard(str(raw.get("tool_call_id")))
                keep.append(index)
            continue
        keep.append(index)
        calls = raw.get("tool_calls") or ()
        if raw.get("role") == "assistant" and calls:
            ids = {str(call.get("id")) for call in calls}
            answered[index] = set(ids)
            results[index] = []
            open_call.update(dict.fromkeys(ids, index))
    last_spoken = max((i for i in keep if messages[i].get("role") in ("user", "assistant")), default=-1)
    cut = {owner for owner, missing in answered.items() if missing and owner != last_spoken}
    dropped = cut | {index for owner in cut for index in results[owner]}
    return [index for index in keep if index not in dropped]
