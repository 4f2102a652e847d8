"""From a run directory to three pandas tables: one row per session, per call, per verdict (docs/run-directory.md).

Records are read line by line into columns, a session at a time, so that a million calls need seconds and megabytes
rather than a list of a million dictionaries (`analysis/session_files.py`, `analysis/columns.py`).
What a column means is said in docs/run-directory.md and nowhere else.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from contextrot.analysis.columns import Table
from contextrot.analysis.damage import check_manifest
from contextrot.analysis.session_files import SESSIONS, TURNS, VERDICTS, read_session, refuse_newer
from contextrot.bench.store import RunDirectory
from contextrot.errors import StoreError
from contextrot.outcomes import Ended

if TYPE_CHECKING:
    import pandas as pd

    from contextrot.analysis.figures import Summary

#: verdict kinds that test the session itself; `ceiling` and `floor` are controls
SESSION_KINDS = ("probe", "passive")
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
    refuse_newer(config.get("format_version"), record)
    check_manifest(config, record)
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


def _read(folder: Path) -> _Tables:
    from contextrot.analysis.causes import final_causes

    sessions, turns, verdicts = Table(SESSIONS), Table(TURNS), Table(VERDICTS)
    problems: list[str] = []
    returned: defaultdict[str, set[str]] = defaultdict(set)
    errors: dict[str, str] = {}
    reminded: Counter[str] = Counter()
    files: dict[str, str] = {}
    for path in sorted((folder / "sessions").glob("*.jsonl")):
        session = read_session(path, problems)
        if session is None:
            continue
        key = str(session.head[0])
        if (first := files.setdefault(key, path.name)) != path.name:
            problems.append(f"sessions/{path.name} was left out: it has the key of sessions/{first}, {key}")
            continue
        turns.add(session.head, session.calls)
        verdicts.add((*session.head, session.history), session.verdicts)
        sessions.add((), [session.row])
        returned[str(session.head[2])] |= session.returned
        reminded[str(session.head[2])] += session.asked_inline
        if session.ended in (Ended.ERROR, Ended.LIMIT):
            errors[key] = session.detail or session.ended
    problems += [
        f"the agent {model} cannot be copied: {n} probes were asked inside its session and may have reminded it "
        "(a fork() method of its own helps)"
        for model, n in reminded.items()
        if n
    ]
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
