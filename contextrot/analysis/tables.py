"""From a run directory to three pandas tables: one row per session, per call, per verdict (docs/run-directory.md).

Records are read line by line into columns, a session at a time, so that a million calls need seconds and megabytes
rather than a list of a million dictionaries. What a column means is said in docs/run-directory.md and nowhere else.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from contextrot.bench.store import FORMAT_VERSION, RunDirectory
from contextrot.errors import StoreError
from contextrot.outcomes import Ended, Outcome

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from contextrot.analysis.figures import Summary

#: verdict kinds that test the session itself; `ceiling` and `floor` are controls
SESSION_KINDS = ("probe", "passive")
#: outcomes of calls that brought no reply, and so no usage
UNANSWERED = frozenset({str(Outcome.OVERFLOW), str(Outcome.TIMEOUT), str(Outcome.ERROR)})

# One letter per column: c category, i nullable integer, f float, b nullable boolean, s text.
_SESSIONS = {
    "session": "c", "scenario": "c", "model": "c", "strategy": "c", "repeat": "i", "seed": "i", "history": "c",
    "window": "i", "window_source": "c", "simulated": "b", "control": "b", "turns_planned": "i", "ended": "c",
    "last_turn": "i", "first_fail_turn": "i", "last_pass_turn": "i", "duration": "i", "event": "c", "calls": "i",
    "prompt_tokens": "i", "completion_tokens": "i", "cached_tokens": "i", "cost": "f", "aux_calls": "i",
    "aux_tokens": "i", "compactions": "i", "mean_prefix_reuse": "f",
}  # fmt: skip
_TURNS = {
    "session": "c", "scenario": "c", "model": "c", "strategy": "c", "repeat": "i", "turn": "i", "branch": "c",
    "purpose": "c", "call": "i", "outcome": "c", "prompt_tokens": "i", "completion_tokens": "i", "cached_tokens": "i",
    "cost": "f", "occupancy": "f", "occupancy_source": "c", "prompt_estimate": "i", "token_drift": "f",
    "prefix_reuse": "f", "verbatim": "i", "masked": "i", "offloaded": "i", "summarised": "i", "retrieved": "i",
    "dropped": "i", "tool_calls": "i", "latency": "f", "attempts": "i", "error": "c",
}  # fmt: skip
_VERDICTS = {
    "session": "c", "scenario": "c", "model": "c", "strategy": "c", "repeat": "i", "history": "c", "turn": "i",
    "kind": "c", "id": "c", "subject": "c", "check": "c", "outcome": "c", "reason": "s", "evidence": "s",
    "in_view": "b", "cause": "c", "since_turns": "i", "since_tokens": "i", "occupancy": "f", "call": "i",
}  # fmt: skip
#: head fields that open every row, by table
_HEAD = {"turns": 5, "verdicts": 6}
_STATUSES = ("verbatim", "masked", "offloaded", "summarised", "retrieved", "dropped")
#: where a column of turns.csv stands in a row of `_Session.calls`, which leaves the head fields out
_AT = {name: place - _HEAD["turns"] for place, name in enumerate(_TURNS)}
_SURVIVAL = ("first_fail_turn", "last_pass_turn", "duration", "event")


@dataclass(frozen=True)
class Run:
    """A run directory. The tables are read on first use and kept; `config` is `run.json` as it stands."""

    path: Path
    config: dict[str, Any] = field(repr=False)

    @property
    def status(self) -> str:
        """Where the run stands, in the words of `run.json` (`running`, `completed`, …); empty when it does not say."""
        return str(self.config.get("status") or "")

    @property
    def sessions(self) -> pd.DataFrame:
        """One row per session, controls included (`control` is true for them)."""
        return self._tables.sessions

    @property
    def turns(self) -> pd.DataFrame:
        """One row per call to a model."""
        return self._tables.turns

    @property
    def verdicts(self) -> pd.DataFrame:
        """One row per verdict; `cause` is final (see `analysis/causes.py`)."""
        return self._tables.verdicts

    @property
    def models_returned(self) -> dict[str, set[str]]:
        """Model label → the names under which the provider answered."""
        return self._tables.models_returned

    @property
    def errors(self) -> dict[str, str]:
        """Session → what its end record says, for sessions that ended by `error` or `limit`."""
        return self._tables.errors

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about session files that could not be read whole. A torn last line is none: resume asks again."""
        return self._tables.problems

    @property
    def simulated(self) -> bool:
        """True when any session of the run talked to a simulated model."""
        return bool(self.sessions["simulated"].fillna(False).any())

    @cached_property
    def summary(self) -> Summary:
        """All figures of the run (`analysis/summary.py`), computed once."""
        from contextrot.analysis.summary import summarise

        return summarise(self)

    @cached_property
    def _tables(self) -> _Tables:
        return _read(self.path)


@dataclass(frozen=True)
class _Tables:
    sessions: pd.DataFrame
    turns: pd.DataFrame
    verdicts: pd.DataFrame
    problems: tuple[str, ...]
    models_returned: dict[str, set[str]]
    errors: dict[str, str]


def load_run(path: str | os.PathLike[str]) -> Run:
    """Open a run directory. Raises `StoreError` when it is none, is damaged, or was written by a newer contextrot."""
    folder = Path(path)
    record = folder / "run.json"
    if not folder.is_dir():
        raise StoreError(f"there is no run at {folder}: name a folder that `contextrot bench` wrote")
    try:
        config = orjson.loads(record.read_bytes())
    except FileNotFoundError:
        raise StoreError(f"{folder} is not a run directory: it holds no run.json") from None
    except OSError as error:
        raise StoreError(f"cannot read {record}: {error.strerror or error}") from None
    except orjson.JSONDecodeError as error:
        raise StoreError(f"{record} is damaged and cannot be read as JSON ({error})") from None
    if not isinstance(config, dict):
        raise StoreError(f"{record} is damaged: it should hold one JSON object")
    _refuse_newer(config.get("format_version"), record)
    return Run(folder, config)


def first_failures(verdicts: pd.DataFrame, sessions: pd.DataFrame, patience: int = 1) -> pd.DataFrame:
    """How long each session lasted, one row per session that is no control, in the order of `sessions`.

    A turn fails when any probe or passive check of the session failed on it; turns without a decided verdict are not
    counted either way. The event is the `patience`-th failing turn in a row. Columns (turns):

    first_fail_turn, last_pass_turn: the event, and the last turn before it on which all passed: the failure lies
    between the two. duration: `first_fail_turn`, or the turn a session broke off at, or the last checked turn.
    event: `fail`, `overflow`, `over_budget`, or empty for a session that is censored. `duration` is missing when
    nothing was decided and the session did not break off: such a session says nothing about length.
    """
    import pandas as pd

    if patience < 1:
        raise ValueError("patience is a number of failing turns in a row, at least 1")
    rows = sessions.loc[~sessions["control"].fillna(False).astype(bool)]
    asked = verdicts.loc[verdicts["kind"].isin(SESSION_KINDS) & verdicts["outcome"].isin(["pass", "fail"])]
    failed = (asked["outcome"] == "fail").groupby([asked["session"], asked["turn"]], observed=True).any()
    checked: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for key, fails in zip(failed.index.tolist(), failed.tolist(), strict=True):
        checked[key[0]].append((int(key[1]), bool(fails)))
    out: dict[str, list[Any]] = {name: [] for name in _SURVIVAL}
    for session, ended, last in zip(rows["session"], rows["ended"], rows["last_turn"], strict=True):
        fail_turn, pass_turn = _first_failure(sorted(checked.get(session, ())), patience)
        duration: int | None
        if fail_turn is not None:
            duration, event = fail_turn, "fail"
        elif ended in (Ended.OVERFLOW, Ended.OVER_BUDGET):
            duration, event = (None if pd.isna(last) else int(last)), str(ended)
        else:
            duration, event = (checked[session][-1][0] if session in checked else None), ""
        for name, value in zip(_SURVIVAL, (fail_turn, pass_turn, duration, event), strict=True):
            out[name].append(value)
    frame = pd.DataFrame({"session": rows["session"].astype(object).to_numpy()})
    for name in _SURVIVAL:
        frame[name] = pd.Series(out[name], dtype="object" if name == "event" else "Int64")
    return frame


def write_tables(run: Run) -> list[Path]:
    """Write sessions.csv, turns.csv, verdicts.csv and summary.json into the run directory, each replaced as a whole.

    Returns the paths. Raises `StoreError` when the folder cannot be written.
    """
    folder = RunDirectory(run.path)
    tables = {"sessions.csv": run.sessions, "turns.csv": run.turns, "verdicts.csv": run.verdicts}
    for name, table in tables.items():
        folder.write(name, table.to_csv(index=False, lineterminator="\n").encode())
    folder.write("summary.json", orjson.dumps(run.summary.to_dict(), option=orjson.OPT_INDENT_2) + b"\n")
    return [run.path / name for name in (*tables, "summary.json")]


def _refuse_newer(version: object, where: Path) -> None:
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise StoreError(
            f"{where} has format version {version}; this contextrot reads up to {FORMAT_VERSION}: upgrade it"
        )


def _first_failure(turns: Sequence[tuple[int, bool]], patience: int) -> tuple[int | None, int | None]:
    streak, last_pass = 0, None
    for turn, fails in turns:
        if not fails:
            streak, last_pass = 0, turn
            continue
        streak += 1
        if streak == patience:
            return turn, last_pass
    return None, last_pass


class _Column:
    """One growing column: a numpy chunk per session, categories as codes into one dictionary."""

    __slots__ = ("chunks", "codes", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.chunks: list[Any] = []
        self.codes: defaultdict[Any, int] = defaultdict()
        self.codes.default_factory = self.codes.__len__

    def extend(self, values: Sequence[Any]) -> None:
        import numpy as np

        if self.kind == "c":
            self.chunks.append(np.fromiter(map(self.codes.__getitem__, values), np.int32, len(values)))
        elif self.kind == "s":
            self.chunks.append(list(values))
        else:
            self.chunks.append(np.array(values, dtype=float))

    def repeat(self, value: Any, times: int) -> None:
        import numpy as np

        if self.kind == "c":
            self.chunks.append(np.full(times, self.codes[value], np.int32))
        else:
            self.chunks.append(np.full(times, np.nan if value is None else value, dtype=float))

    def finish(self) -> Any:
        """The column as a pandas array; the chunks are given up on the way."""
        import numpy as np
        import pandas as pd

        chunks, self.chunks = self.chunks, []
        if self.kind == "s":
            return pd.array([text for chunk in chunks for text in chunk], dtype="string")
        if self.kind == "c":
            codes = np.concatenate(chunks) if chunks else np.empty(0, np.int32)
            return _categorical(codes, self.codes)
        values = np.concatenate(chunks) if chunks else np.empty(0, float)
        if self.kind == "f":
            return values
        missing = np.isnan(values)
        values[missing] = 0
        if self.kind == "b":
            return pd.arrays.BooleanArray(values.astype(bool), missing)
        return pd.arrays.IntegerArray(values.astype(np.int64), missing)


def _categorical(codes: np.ndarray[Any, Any], names: dict[Any, int]) -> pd.Categorical[Any]:
    import numpy as np
    import pandas as pd

    kept = [name for name in names if name is not None]
    place = {name: number for number, name in enumerate(kept)}
    translate = np.array([place.get(name, -1) for name in names], dtype=np.int32)
    return pd.Categorical.from_codes(translate[codes] if len(codes) else codes, categories=pd.Index(kept, dtype=object))


class _Table:
    def __init__(self, columns: dict[str, str]) -> None:
        self.columns = {name: _Column(kind) for name, kind in columns.items()}

    def add(self, head: Sequence[Any], rows: Sequence[tuple[Any, ...]]) -> None:
        """Append `rows`, each opened by the session's `head` values."""
        if not rows:
            return
        columns = list(self.columns.values())
        for column, value in zip(columns, head, strict=False):
            column.repeat(value, len(rows))
        for column, values in zip(columns[len(head) :], zip(*rows, strict=True), strict=True):
            column.extend(values)

    def finish(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({name: column.finish() for name, column in self.columns.items()}, copy=False)


def _read(folder: Path) -> _Tables:
    from contextrot.analysis.causes import final_causes

    sessions, turns, verdicts = _Table(_SESSIONS), _Table(_TURNS), _Table(_VERDICTS)
    problems: list[str] = []
    returned: defaultdict[str, set[str]] = defaultdict(set)
    errors: dict[str, str] = {}
    for path in sorted((folder / "sessions").glob("*.jsonl")):
        session = _read_session(path, problems)
        if session is None:
            continue
        turns.add(session.head[: _HEAD["turns"]], session.calls)
        verdicts.add((*session.head[: _HEAD["turns"]], session.history), session.verdicts)
        sessions.add((), [session.row()])
        returned[str(session.head[2])] |= session.returned
        if session.ended in (Ended.ERROR, Ended.LIMIT):
            errors[str(session.head[0])] = session.detail or session.ended
    session_table, verdict_table = sessions.finish(), verdicts.finish()
    _add_survival(session_table, verdict_table)
    verdict_table["cause"] = final_causes(verdict_table)
    return _Tables(session_table, turns.finish(), verdict_table, tuple(problems), dict(returned), errors)


def _add_survival(sessions: pd.DataFrame, verdicts: pd.DataFrame) -> None:
    import pandas as pd

    lasted = first_failures(verdicts, sessions).set_index("session")
    names = sessions["session"].astype(object)
    for column in _SURVIVAL:
        values = names.map(lasted[column]) if len(lasted) else pd.Series([None] * len(names), index=sessions.index)
        kinds = pd.CategoricalDtype(["", "fail", str(Ended.OVERFLOW), str(Ended.OVER_BUDGET)])
        sessions[column] = values.fillna("").astype(kinds) if column == "event" else values.astype("Int64")


@dataclass
class _Session:
    """What one session file adds to the tables."""

    head: tuple[Any, ...]
    record: dict[str, Any]
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    verdicts: list[tuple[Any, ...]] = field(default_factory=list)
    returned: set[str] = field(default_factory=set)
    compactions: int = 0
    ended: str = ""
    detail: str = ""
    last_turn: int | None = None

    @property
    def history(self) -> Any:
        return self.record.get("history")

    def row(self) -> tuple[Any, ...]:
        """The row of sessions.csv; the survival columns are filled in once all sessions are known."""
        head = self.record
        auxiliary = [call for call in self.calls if call[_AT["purpose"]] == "auxiliary"]
        reuse = [call[_AT["prefix_reuse"]] for call in self.calls if call[_AT["purpose"]] == "turn"]
        tokens = ("prompt_tokens", "completion_tokens", "cached_tokens")
        last = self.last_turn
        if last is None:
            last = max((call[_AT["turn"]] for call in self.calls if call[_AT["turn"]] is not None), default=None)
        return (
            *self.head, head.get("seed"), self.history, head.get("window"), head.get("window_source"),
            bool(head.get("simulated")), bool(head.get("control")), head.get("turns"), self.ended, last,
            None, None, None, "",
            len(self.calls), *(_total(call[_AT[name]] for call in self.calls) for name in tokens), _cost(self.calls),
            len(auxiliary), _total(call[_AT[name]] for call in auxiliary for name in tokens[:2]) if auxiliary else 0,
            self.compactions, _mean(reuse),
        )  # fmt: skip


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


def _read_session(path: Path, problems: list[str]) -> _Session | None:
    """Read one session file. None when not even its head was written before the process was killed."""
    session: _Session | None = None
    occupancy: dict[Any, Any] = {}
    loads = orjson.loads
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                # messages are most of the bytes and no table needs them; the writer puts "t" first
                if line.startswith(b'{"t":"msg"'):
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
                    _refuse_newer(record.get("v"), path)
                    names = ("scenario", "model", "strategy", "repeat")
                    session = _Session((record.get("key", path.stem), *map(record.get, names)), record)
                elif session is None:
                    problems.append(f"sessions/{path.name} was left out: its first record is not a head")
                    return None
                elif kind == "call":
                    occupancy[record.get("n")] = record.get("occupancy")
                    session.calls.append(_call_row(record))
                    if record.get("model"):
                        session.returned.add(record["model"])
                elif kind == "verdict":
                    session.verdicts.append(_verdict_row(record, occupancy.get(record.get("call"))))
                elif kind == "event":
                    session.compactions += record.get("name") == "compaction"
                elif kind == "end":
                    session.ended, session.last_turn = record.get("ended") or "", record.get("turn")
                    session.detail = str(record.get("detail") or "")
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    return session


_NOTHING: dict[str, Any] = {}


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
        get("turn"), get("kind"), get("id"), get("subject"), get("check"), get("outcome"), get("reason"),
        get("evidence"), get("in_view"), get("cause"), get("since_turns"), get("since_tokens"), occupancy, get("call"),
    )  # fmt: skip
