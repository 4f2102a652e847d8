"""Writes small run directories with a known truth, record by record as docs/run-directory.md says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

WINDOW = 1000
PROBED = (0, 3, 6, 9, 12, 15, 18, 21, 24)


def write_manifest(folder: Path, **fields: Any) -> Path:
    (folder / "sessions").mkdir(parents=True, exist_ok=True)
    manifest = {
        "format_version": 1,
        "status": "completed",
        "started": "2026-03-01T10:00:00+00:00",
        "command": "contextrot bench --model sim/perfect",
        "config": {"seed": 7, "repeats": 6},
        "scenarios": [{"id": "project-code", "title": "Keeps the project code"}],
        "models": [{"label": "sim/perfect", "id": "sim/perfect", "simulated": True, "own_memory": False}],
        "strategies": ["full", "fifo", "pinned"],
        "versions": {"contextrot-bench": "0.1.0", "python": "3.11.7"},
        "git_commit": None,
    }
    (folder / "run.json").write_bytes(orjson.dumps(manifest | fields))
    return folder


class SessionWriter:
    """One session file. Every method appends one record; `call` returns the number of the call."""

    def __init__(self, folder: Path, key: str, **head: Any) -> None:
        self.path = folder / "sessions" / f"{key}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.calls = 0
        self.indexes: dict[str | None, int] = {None: 0}
        first = {
            "t": "head", "v": 1, "key": key, "scenario": "project-code", "scenario_hash": "a1", "model": "sim/perfect",
            "model_id": "sim/perfect", "strategy": "fifo", "strategy_hash": "b2", "repeat": 0, "seed": 7,
            "history": "live", "turns": 24, "window": WINDOW, "window_source": "virtual", "simulated": True,
            "control": False,
        }  # fmt: skip
        self.add(first | head)

    def add(self, record: dict[str, Any]) -> None:
        with self.path.open("ab") as file:
            file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))

    def say(
        self, turn: int, text: str, *, origin: str = "filler", branch: str | None = None, role: str = "user"
    ) -> int:
        return self._message(turn, branch, origin, {"message": {"role": role, "content": text}})

    def reply(self, turn: int, call: int, *, branch: str | None = None) -> int:
        return self._message(turn, branch, "reply", {"call": call})

    def _message(self, turn: int, branch: str | None, origin: str, body: dict[str, Any]) -> int:
        index = self.indexes.setdefault(branch, self.indexes[None])
        self.indexes[branch] += 1
        self.add({"t": "msg", "i": index, "turn": turn, "branch": branch, "origin": origin, "pinned": False} | body)
        return index

    def call(self, turn: int, *, text: str | None = "An answer.", branch: str | None = None, **fields: Any) -> int:
        seen = self.indexes.get(branch, self.indexes[None])
        view = {"ranges": [[0, seen]], "made": [], "manifest": [["verbatim", 0, seen]], "tokens": 90, "hash": "c3"}
        reply = {"content": text, "tool_calls": [], "finish_reason": "stop", "reasoning": None, "refusal": None}
        record: dict[str, Any] = {
            "t": "call", "n": self.calls, "turn": turn, "branch": branch, "purpose": "probe" if branch else "turn",
            "view": view, "prompt_estimate": 95, "prefix_reuse": 0.5, "occupancy": turn * 0.04,
            "occupancy_source": "usage", "token_drift": 0.0, "reply": reply if text is not None else None,
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": None, "cost": None},
            "model": "perfect", "latency": 0.25, "attempts": 1, "outcome": "ok", "error": None,
        }  # fmt: skip
        self.add(record | fields)
        self.calls += 1
        return self.calls - 1

    def verdict(self, turn: int, outcome: str, **fields: Any) -> None:
        record = {
            "t": "verdict", "turn": turn, "branch": f"code@{turn}", "call": self.calls - 1 if self.calls else None,
            "kind": "probe", "id": "code", "subject": "project-code", "check": "recall", "outcome": outcome,
            "reason": "", "evidence": "", "in_view": True, "cause": None,
            "since_turns": turn - 1, "since_tokens": 50 * turn,
        }  # fmt: skip
        self.add(record | fields)

    def event(self, turn: int, name: str, **detail: Any) -> None:
        self.add({"t": "event", "turn": turn, "branch": None, "name": name, "detail": detail})

    def end(self, turn: int, ended: str = "completed", detail: str = "") -> None:
        self.add({"t": "end", "ended": ended, "turn": turn, "detail": detail})


def write_session(
    folder: Path,
    strategy: str,
    repeat: int,
    *,
    lost_from: int | None = None,
    ignored_from: int | None = None,
    ends: tuple[str, int] = ("completed", 24),
    probed: Sequence[int] = PROBED,
    **head: Any,
) -> SessionWriter:
    """Up to 24 turns with a probe every third: passes until the fact stated at turn 1 is lost or ignored."""
    names = [str(head.get(name, default)) for name, default in (("scenario", "project-code"), ("model", "sim"))]
    key = re.sub(r"[^A-Za-z0-9.-]+", "-", "--".join((*names, strategy, f"r{repeat:03d}")))
    session = SessionWriter(folder, key, strategy=strategy, repeat=repeat, **head)
    session.say(0, "You are a careful assistant.", origin="system", role="system")
    ended, last = ends
    for turn in range(last + 1):
        if turn:
            text = "For later: our project code is TEAL-7." if turn == 1 else f"Ticket {turn}: the printer is on fire."
            session.say(turn, text, origin="fact" if turn == 1 else "filler")
            session.reply(turn, session.call(turn, **_view(session, turn, lost_from)))
        if turn in probed:
            _probe(session, turn, lost_from, ignored_from)
    session.end(last, ended, "" if ended == "completed" else f"ended by {ended}")
    return session


def _view(session: SessionWriter, turn: int, lost_from: int | None, branch: str | None = None) -> dict[str, Any]:
    """The system message and what the strategy still sends: from `lost_from` on the fact (index 1) is dropped."""
    end = session.indexes.get(branch, session.indexes[None])
    if lost_from is None or turn < lost_from:
        return {}
    ranges, manifest = [[0, 1], [3, end]], [["verbatim", 0, 1], ["dropped", 1, 3], ["verbatim", 3, end]]
    return {"view": {"ranges": ranges, "made": [], "manifest": manifest, "tokens": 80, "hash": "d4"}}


def _probe(session: SessionWriter, turn: int, lost_from: int | None, ignored_from: int | None) -> None:
    branch = f"code@{turn}"
    session.say(turn, "What is our project code?", origin="probe", branch=branch)
    lost = lost_from is not None and turn >= lost_from
    fails = lost or (ignored_from is not None and turn >= ignored_from)
    number = session.call(
        turn, text="I do not know." if fails else "TEAL-7", branch=branch, **_view(session, turn, lost_from, branch)
    )
    session.reply(turn, number, branch=branch)
    if fails:
        cause = "lost" if lost else "ignored"
        session.verdict(turn, "fail", reason="TEAL-7 is not in the reply", in_view=not lost, cause=cause)
    else:
        session.verdict(turn, "pass", evidence="TEAL-7")


def write_controls(
    folder: Path,
    ceiling: Sequence[str] = ("pass",) * 6,
    floor: Sequence[str] = ("fail",) * 6,
    *,
    id: str = "code",
    **head: Any,
) -> None:
    """One control session per repeat; ceiling and floor are the outcomes over the repeats."""
    model = re.sub(r"[^A-Za-z0-9.-]+", "-", str(head.get("model", "sim")))
    for repeat, outcomes in enumerate(zip(ceiling, floor, strict=True)):
        key = f"{head.get('scenario', 'project-code')}--{model}--control-{id}--r{repeat:03d}"
        session = SessionWriter(folder, key, strategy="control", repeat=repeat, control=True, **head)
        for kind, outcome in zip(("ceiling", "floor"), outcomes, strict=True):
            branch = f"{kind}:{id}"
            session.indexes[branch] = 0
            session.say(0, "What is our project code?", origin="probe", branch=branch)
            session.call(0, branch=branch, purpose="control")
            session.verdict(
                0, outcome, kind=kind, id=id, branch=branch, in_view=None, since_turns=None, since_tokens=None
            )
        session.end(0)


def write_three_strategies(folder: Path) -> Path:
    """Six repeats each: `full` overflows at turn 18, `fifo` loses the fact at turn 9, `pinned` keeps it to the end."""
    write_manifest(folder)
    for repeat in range(6):
        write_session(folder, "full", repeat, ends=("overflow", 18))
        write_session(folder, "fifo", repeat, lost_from=9)
        write_session(folder, "pinned", repeat)
    write_controls(folder)
    return folder
