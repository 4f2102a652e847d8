"""One session file as rows of the three tables. Only what a table needs is parsed (docs/run-directory.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

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
    """Read one session file. None when not even its head was written before the process was killed."""
    session: Session | None = None
    occupancy: dict[Any, Any] = {}
    loads = orjson.loads
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                # messages are most of the bytes and few are needed; the writer puts "t" first
                if line.startswith(b'{"t":"msg"'):
                    if line.find(b'"task":"', 0, _MESSAGE_HEAD) >= 0 or _tells(session, line):
                        _read_message(session, line)
                    continue
                if not line.endswith(b"\n"):
                    break  # torn: the process was killed while writing it, and resume asks again
                try:
                    record = loads(line)
                except orjson.JSONDecodeError:
                    problems.append(f"sessions/{path.name}:{number}: a line that is not JSON was left out")
                    continue
                kind = record.get("t")
                if kind == "head":
                    refuse_newer(record.get("v"), path)
                    names = ("scenario", "model", "strategy", "repeat")
                    session = Session((record.get("key", path.stem), *map(record.get, names)), record)
                elif session is None:
                    problems.append(f"sessions/{path.name} was left out: its first record is not a head")
                    return None
                elif kind == "call":
                    occupancy[record.get("n")] = record.get("occupancy")
                    session.calls.append(_call_row(record))
                    called = (record.get("reply") or _NOTHING).get("tool_calls")
                    if called and record.get("purpose") in _ACTING:
                        session.actions.call(record.get("turn") or 0, record.get("branch"), called)
                    # A helper of another name answers for itself, not for the model of the matrix.
                    if record.get("model") and record.get("asked", session.head[2]) == session.head[2]:
                        session.returned.add(record["model"])
                elif kind == "verdict":
                    session.verdicts.append(_verdict_row(record, occupancy.get(record.get("call"))))
                    session.actions.verdict(record)
                elif kind == "embed" and record.get("error") is None:
                    session.embeds.append((record.get("tokens"), record.get("cost")))
                elif kind == "event":
                    session.compactions += record.get("name") == "compaction"
                    session.asked_inline += record.get("name") == "asked_inline"
                    if record.get("name") == "unsent_view":
                        session.unsent.append((record.get("detail") or _NOTHING).get("prefix_reuse"))
                    if record.get("name") == "budget_level":
                        session.level(record.get("turn") or 0, str((record.get("detail") or _NOTHING).get("to")))
                elif kind == "end":
                    session.ended, session.last_turn = record.get("ended") or "", record.get("turn")
                    session.detail = str(record.get("detail") or "")
                    if session.ended == "overflow":  # the call that found no room was never sent, so no event tells
                        session.level(session.last_turn or 0, "ROTATE")
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    return session


_NOTHING: dict[str, Any] = {}


def _tells(session: Session | None, line: bytes) -> bool:
    """Whether a message is a tool's result or a call of a written history, told by its bytes: few are, and parsed."""
    if session is None:
        return False
    if session.actions.called and line.find(b'"origin":"tool"', 0, _MESSAGE_HEAD) >= 0:
        return True
    return session.record.get("history") != "live" and b'"tool_calls":[{' in line


def _read_message(session: Session | None, line: bytes) -> None:
    """What the tables need of a message: results of tools, calls of a written history, the task of a turn."""
    if session is None or not line.endswith(b"\n"):
        return
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return  # no table loses a row by it
    message, branch = record.get("message") or _NOTHING, record.get("branch")
    if record.get("task"):
        session.tasks[record.get("turn") or 0] = record["task"]
    if message.get("role") == "tool":
        session.actions.result(branch, message)
    elif message.get("tool_calls"):
        session.actions.call(record.get("turn") or 0, branch, message["tool_calls"], own=False)


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
