"""One session file as rows of the three tables. Only what a table needs is parsed (docs/run-directory.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from contextrot.analysis.damage import DamageError, check_columns, fault_of
from contextrot.analysis.session_actions import SessionActions, abstained, asks_action
from contextrot.bench.store import FORMAT_VERSION
from contextrot.errors import StoreError
from contextrot.outcomes import Outcome

#: columns of the tables, in order, each with its kind (see `analysis/columns.py`)
SESSIONS = {
    "session": "c", "scenario": "c", "model": "c", "strategy": "c", "repeat": "i", "seed": "i", "history": "c",
    "window": "i", "window_source": "c", "simulated": "b", "control": "b", "turns_planned": "i", "family": "c",
    "ended": "c", "last_turn": "i", "first_fail_turn": "i", "last_pass_turn": "i", "duration": "i", "event": "c",
    "calls": "i", "prompt_tokens": "i", "completion_tokens": "i", "cached_tokens": "i", "cost": "f", "aux_calls": "i",
    "aux_tokens": "i", "compactions": "i", "mean_prefix_reuse": "f", "embed_calls": "i", "embed_tokens": "i",
    "embed_cost": "f", "warn_turn": "i", "rotate_turn": "i", "actions": "i", "repeated_actions": "i", "tasks": "i",
    "task_calls": "i", "judge_calls": "i", "judge_tokens": "i", "judge_cost": "f",
}  # fmt: skip
TURNS = {
    "session": "c", "scenario": "c", "model": "c", "strategy": "c", "repeat": "i", "turn": "i", "branch": "c",
    "purpose": "c", "call": "i", "outcome": "c", "prompt_tokens": "i", "completion_tokens": "i", "cached_tokens": "i",
    "cost": "f", "occupancy": "f", "occupancy_source": "c", "prompt_estimate": "i", "token_drift": "f",
    "prefix_reuse": "f", "verbatim": "i", "masked": "i", "offloaded": "i", "summarised": "i", "retrieved": "i",
    "dropped": "i", "tool_calls": "i", "latency": "f", "attempts": "i", "error": "c",
}  # fmt: skip
VERDICTS = {
    "session": "c", "scenario": "c", "model": "c", "strategy": "c", "repeat": "i", "history": "c", "turn": "i",
    "kind": "c", "id": "c", "item": "c", "subject": "c", "check": "c", "outcome": "c", "reason": "s", "evidence": "s",
    "in_view": "b", "cause": "c", "since_turns": "i", "since_tokens": "i", "occupancy": "f", "call": "i",
    "asks_action": "b", "abstained": "b",
}  # fmt: skip
#: outcomes of calls that brought no reply, and so no usage
UNANSWERED = frozenset({str(Outcome.OVERFLOW), str(Outcome.TIMEOUT), str(Outcome.ERROR)})
#: how many columns that name the session open every row of turns.csv
TURN_HEAD = 5
#: how many open every row of verdicts.csv
_VERDICT_HEAD = 6
_CALL_COLUMNS = dict(list(TURNS.items())[TURN_HEAD:])
_VERDICT_COLUMNS = dict(list(VERDICTS.items())[_VERDICT_HEAD:])
#: what no record is without; the rest may be unknown
_NEEDED_OF_CALLS = frozenset({"call"})
_NEEDED_OF_VERDICTS = frozenset({"turn", "kind", "id", "outcome"})
_NEEDED_OF_SESSIONS = frozenset({"session", "scenario", "model", "strategy", "repeat"})
#: purposes of calls in which the model acts; auxiliary calls have no tools, and controls are no session
_ACTING = frozenset({"turn", "probe"})
#: bytes in which the fields of a message's record stand that come before the message itself
_MESSAGE_HEAD = 250
_STATUSES = ("verbatim", "masked", "offloaded", "summarised", "retrieved", "dropped")
#: where a column of turns.csv stands in a row of `Session.calls`, which leaves the head columns out
_AT = {name: place - TURN_HEAD for place, name in enumerate(TURNS)}


@dataclass
class Session:
    """What one session file adds to the tables."""

    head: tuple[Any, ...]
    record: dict[str, Any]
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    verdicts: list[tuple[Any, ...]] = field(default_factory=list)
    #: tokens and cost of each call of an embedding model
    embeds: list[tuple[Any, Any]] = field(default_factory=list)
    returned: set[str] = field(default_factory=set)
    compactions: int = 0
    #: prefix reuse of the views that a written history only would have sent
    unsent: list[float | None] = field(default_factory=list)
    asked_inline: int = 0
    #: turn at which the budget monitor first said so
    reached: dict[str, int] = field(default_factory=dict)
    actions: SessionActions = field(default_factory=SessionActions)
    #: turn → task, where the scenario keeps tasks apart
    tasks: dict[int, str] = field(default_factory=dict)
    ended: str = ""
    detail: str = ""
    last_turn: int | None = None

    @property
    def history(self) -> Any:
        """Who wrote the assistant turns."""
        return self.record.get("history")

    @cached_property
    def row(self) -> tuple[Any, ...]:
        """The row of sessions.csv; the survival columns are filled in once all sessions are known."""
        head = self.record
        auxiliary = [call for call in self.calls if call[_AT["purpose"]] == "auxiliary"]
        judges = [call for call in self.calls if call[_AT["purpose"]] == "judge"]
        reuse = [*self.unsent, *(call[_AT["prefix_reuse"]] for call in self.calls if call[_AT["purpose"]] == "turn")]
        tokens = ("prompt_tokens", "completion_tokens", "cached_tokens")
        last = self.last_turn
        if last is None:
            last = max((call[_AT["turn"]] for call in self.calls if call[_AT["turn"]] is not None), default=None)
        return (
            *self.head, head.get("seed"), self.history, head.get("window"), head.get("window_source"),
            bool(head.get("simulated")), bool(head.get("control")), head.get("turns"),
            head.get("family") or self.head[1], self.ended, last, None, None, None, "",
            len(self.calls), *(_total(call[_AT[name]] for call in self.calls) for name in tokens), _cost(self.calls),
            len(auxiliary), _total(call[_AT[name]] for call in auxiliary for name in tokens[:2]) if auxiliary else 0,
            self.compactions, _mean(reuse),
            len(self.embeds), _total(tokens for tokens, _ in self.embeds) if self.embeds else 0, self._embed_cost(),
            self.reached.get("WARN"), self.reached.get("ROTATE"), *self.actions.counts(),
            len(set(self.tasks.values())), self._task_calls(),
            len(judges), _total(call[_AT[name]] for call in judges for name in tokens[:2]) if judges else 0,
            _cost(judges) if judges else 0.0,
        )  # fmt: skip

    def level(self, turn: int, level: str) -> None:
        """The budget monitor said `level` at `turn`; who is at ROTATE has passed WARN."""
        for name in ("WARN", "ROTATE")[: {"WARN": 1, "ROTATE": 2}.get(level, 0)]:
            self.reached.setdefault(name, turn)

    def _task_calls(self) -> int:
        """Calls that answered turns of a task."""
        purpose, turn = _AT["purpose"], _AT["turn"]
        return sum(call[purpose] == "turn" and call[turn] in self.tasks for call in self.calls) if self.tasks else 0

    def _embed_cost(self) -> float | None:
        costs = [cost for _, cost in self.embeds]
        return None if None in costs else float(sum(costs))


def _mean(values: Iterable[Any]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _total(values: Iterable[Any]) -> int | None:
    """The sum of what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _cost(calls: Sequence[tuple[Any, ...]]) -> float | None:
    """USD of all answered calls; None (unknown) as soon as one of them has no price.

    A call without an answer has no usage and is not priced: the provider refused it or it was lost on the way.
    """
    costs = [call[_AT["cost"]] for call in calls if call[_AT["outcome"]] not in UNANSWERED]
    return None if not costs or None in costs else float(sum(costs))


def read_session(path: Path, problems: list[str]) -> Session | None:
    """Read one session file.

    None when not even its head was written before the process was killed, and with a sentence in `problems` when it
    cannot be read, or a value in it cannot be what was recorded: such a session counts as not there.
    """
    reader = _Reader(path, problems)
    try:
        if not path.is_file():
            problems.append(f"sessions/{path.name} was left out: it is no file")
            return None
        with path.open("rb") as file:
            reader.read(file)
        return reader.checked()
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    except DamageError as error:
        said = str(error)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError):
        said = fault_of(reader.record)
    problems.append(f"sessions/{path.name}:{reader.line} is damaged: {said}; the session is left out")
    return None


class _Reader:
    """Reads the records of one file in order; `line` and `record` are where it stands, for what is said of damage."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        self.path, self.problems = path, problems
        self.session: Session | None = None
        self.line = 0
        self.record: Any = None
        self._occupancy: dict[Any, Any] = {}
        #: lines of the rows of the tables
        self._calls: list[int] = []
        self._verdicts: list[int] = []
        self._embeds: list[int] = []
        self._unsent: list[int] = []

    def read(self, file: Iterable[bytes]) -> None:
        """All lines, up to a torn one."""
        loads = orjson.loads
        for self.line, line in enumerate(file, 1):
            # messages are most of the bytes and few are needed; the writer puts "t" first
            if line.startswith(b'{"t":"msg"'):
                if line.find(b'"task":"', 0, _MESSAGE_HEAD) >= 0 or _tells(self.session, line):
                    self._message(line)
                continue
            if not line.endswith(b"\n"):
                break  # torn: the process was killed while writing it, and resume asks again
            try:
                self.record = record = loads(line)
            except orjson.JSONDecodeError:
                self.problems.append(f"sessions/{self.path.name}:{self.line}: a line that is not JSON was left out")
                continue
            if record.get("t") == "head":
                refuse_newer(record.get("v"), self.path)
                names = ("scenario", "model", "strategy", "repeat")
                self.session = Session((record.get("key", self.path.stem), *map(record.get, names)), record)
            elif self.session is None:
                self.problems.append(f"sessions/{self.path.name} was left out: its first record is not a head")
                return
            else:
                self._add(self.session, record)

    def checked(self) -> Session | None:
        """The session, once its columns were looked through. Raises `DamageError`."""
        session = self.session
        if session is None:
            return None
        for columns, rows, lines, needed in (
            (_CALL_COLUMNS, session.calls, self._calls, _NEEDED_OF_CALLS),
            (_VERDICT_COLUMNS, session.verdicts, self._verdicts, _NEEDED_OF_VERDICTS),
            ({"tokens": "i", "cost": "f"}, session.embeds, self._embeds, frozenset[str]()),
            ({"prefix_reuse": "f"}, [(share,) for share in session.unsent], self._unsent, frozenset[str]()),
        ):
            try:
                check_columns(columns, rows, needed)
            except DamageError as error:
                self.line = lines[error.row]
                raise
        self.line, self.record = 1, session.record
        check_columns(SESSIONS, [session.row], _NEEDED_OF_SESSIONS)
        return session

    def _message(self, line: bytes) -> None:
        """What the tables need of a message: results of tools, calls of a written history, the task of a turn."""
        session = self.session
        if session is None or not line.endswith(b"\n"):
            return
        try:
            self.record = record = orjson.loads(line)
        except orjson.JSONDecodeError:
            return  # no table loses a row by it
        message, branch = record.get("message") or _NOTHING, record.get("branch")
        if record.get("task"):
            if not isinstance(record["task"], str):
                raise TypeError("task")
            session.tasks[record.get("turn") or 0] = record["task"]
        if message.get("role") == "tool":
            session.actions.result(branch, message)
        elif message.get("tool_calls"):
            session.actions.call(record.get("turn") or 0, branch, message["tool_calls"], own=False)

    def _add(self, session: Session, record: dict[str, Any]) -> None:
        """A record of one session but its head and its messages."""
        kind = record.get("t")
        if kind == "call":
            self._call(session, record)
        elif kind == "verdict":
            session.verdicts.append(_verdict_row(record, self._occupancy.get(record.get("call"))))
            self._verdicts.append(self.line)
            session.actions.verdict(record)
        elif kind == "embed" and record.get("error") is None:
            session.embeds.append((record.get("tokens"), record.get("cost")))
            self._embeds.append(self.line)
        elif kind == "event":
            session.compactions += record.get("name") == "compaction"
            session.asked_inline += record.get("name") == "asked_inline"
            if record.get("name") == "unsent_view":
                session.unsent.append((record.get("detail") or _NOTHING).get("prefix_reuse"))
                self._unsent.append(self.line)
            if record.get("name") == "budget_level":
                session.level(record.get("turn") or 0, str((record.get("detail") or _NOTHING).get("to")))
        elif kind == "end":
            session.ended, session.last_turn = record.get("ended") or "", record.get("turn")
            session.detail = str(record.get("detail") or "")
            if session.ended == "overflow":  # the call that found no room was never sent, so no event tells
                session.level(session.last_turn or 0, "ROTATE")

    def _call(self, session: Session, record: dict[str, Any]) -> None:
        self._occupancy[record.get("n")] = record.get("occupancy")
        session.calls.append(_call_row(record))
        self._calls.append(self.line)
        called = (record.get("reply") or _NOTHING).get("tool_calls")
        if called and record.get("purpose") in _ACTING:
            session.actions.call(record.get("turn") or 0, record.get("branch"), called)
        # A helper of another name answers for itself, not for the model of the matrix.
        if record.get("model") and record.get("asked", session.head[2]) == session.head[2]:
            if not isinstance(record["model"], str):
                raise TypeError("model")
            session.returned.add(record["model"])


_NOTHING: dict[str, Any] = {}


def _tells(session: Session | None, line: bytes) -> bool:
    """Whether a message is a tool's result or a call of a written history, told by its bytes: few are, and parsed."""
    if session is None:
        return False
    if session.actions.called and line.find(b'"origin":"tool"', 0, _MESSAGE_HEAD) >= 0:
        return True
    return session.record.get("history") != "live" and b'"tool_calls":[{' in line


def _call_row(record: dict[str, Any]) -> tuple[Any, ...]:
    """A call as a row of turns.csv, without the five columns of its session."""
    get = record.get
    usage = (get("usage") or _NOTHING).get
    manifest = (get("view") or _NOTHING).get("manifest")
    reply = get("reply")
    calls = len(reply.get("tool_calls") or ()) if reply else 0
    counts: tuple[int | None, ...]
    if manifest is None:
        counts = (None,) * 6
    elif len(manifest) == 1 and manifest[0][0] == "verbatim":
        counts = (manifest[0][2] - manifest[0][1], 0, 0, 0, 0, 0)
    else:
        totals = dict.fromkeys(_STATUSES, 0)
        for status, start, end in manifest:
            if status not in totals:
                raise DamageError(f"the view's manifest names {status!r}, which is no status of a message")
            totals[status] += end - start
        counts = tuple(totals.values())
    return (
        get("turn"), get("branch"), get("purpose"), get("n"), get("outcome"),
        usage("prompt_tokens"), usage("completion_tokens"), usage("cached_tokens"), usage("cost"),
        get("occupancy"), get("occupancy_source"), get("prompt_estimate"), get("token_drift"), get("prefix_reuse"),
        *counts, calls, get("latency"), get("attempts"), get("error"),
    )  # fmt: skip


def _verdict_row(record: dict[str, Any], occupancy: Any) -> tuple[Any, ...]:
    """A verdict as a row of verdicts.csv, without the six columns of its session; `cause` as recorded."""
    get = record.get
    return (
        get("turn"), get("kind"), get("id"), get("item") or "", get("subject"), get("check"), get("outcome"),
        get("reason"), get("evidence"), get("in_view"), get("cause"), get("since_turns"), get("since_tokens"),
        occupancy, get("call"), asks_action(record), abstained(record),
    )  # fmt: skip


def refuse_newer(version: object, where: Path) -> None:
    """Raise `StoreError` when a file says that a newer contextrot wrote it."""
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise StoreError(
            f"{where} has format version {version}; this contextrot reads up to {FORMAT_VERSION}: upgrade it"
        )
