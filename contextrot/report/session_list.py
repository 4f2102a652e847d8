"""The list of a run's sessions: which failed first on what, and when. `contextrot show RUN` without a session."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from contextrot.analysis.tables import Run
from contextrot.report import words
from contextrot.report.layout import hanging, new_table
from contextrot.report.palette import BAD, QUIET, SIMULATED
from contextrot.report.words import clean, counted

#: a name of no more columns stays on one line
SHORT = 24


def session_rows(run: Run) -> list[dict[str, Any]]:
    """A row for each session, with the turns of the last pass and the first failure and what failed then, and why."""
    import pandas as pd

    verdicts = run.verdicts
    failed = verdicts.loc[(verdicts["outcome"] == "fail") & verdicts["kind"].isin(["probe", "passive"])]
    why: dict[tuple[str, int], list[str]] = {}
    for session, turn, name, cause in zip(
        failed["session"], failed["turn"], failed["id"], failed["cause"], strict=True
    ):
        why.setdefault((session, int(turn)), []).append(f"{name} {cause}".strip())
    columns = ["session", "scenario", "model", "strategy", "repeat", "control", "ended", "last_turn"]
    rows = []
    for row in run.sessions[[*columns, "first_fail_turn", "last_pass_turn"]].to_dict("records"):
        plain = {str(name): None if pd.isna(value) else value for name, value in row.items()}
        first = plain["first_fail_turn"]
        plain["failed"] = [] if first is None else why.get((str(plain["session"]), int(first)), [])
        rows.append(plain)
    return rows


def print_sessions(run: Run, console: Console) -> None:
    """The sessions of each scenario, a row each, with the turn and the reason of the first failure."""
    rows = session_rows(run)
    if not rows:
        console.print(Text("This run holds no sessions yet."))
        return
    if run.simulated:
        console.print(Text(words.SIMULATED, style=SIMULATED))
    keys = [str(row["session"]) for row in rows]
    # a program reads whole keys, but not from a screen on which a key would be folded over several lines
    whole = not console.is_terminal and 2 * max(map(cell_len, keys)) <= console.width
    names = _short_names(keys, whole=whole)
    several = len({row["model"] for row in rows}) > 1
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: str(row["scenario"])):
        cells.setdefault((str(row["scenario"]), str(row["model"])), []).append(row)
    for (scenario, model), found in cells.items():
        tried = [row for row in found if not row["control"]]
        ends = {_ending(row) for row in tried}
        title = Text(clean(scenario), style="bold")
        title.append(f" on {clean(model)}" if several else "")
        title.append(f"  {counted(len(tried), 'session')}", style="not bold")
        title.append(f", all {clean(next(iter(ends)))}" if len(ends) == 1 and len(tried) > 1 else "", style="not bold")
        console.print(title)
        if tried:
            console.print(_table(tried, names, ended=len(ends) > 1 or len(tried) == 1))
        if controls := [_control(row, names) for row in found if row["control"]]:
            console.print(hanging([(Text("controls:", style=QUIET), Text(clean(" ".join(controls)), style=QUIET))]))
        console.print()
    command = shlex.join(["contextrot", "show", str(run.path), "SESSION"])
    console.print(Text(f"{command} shows one of them; any part of its name will do.", style=QUIET))


def _table(rows: Sequence[dict[str, Any]], names: dict[str, str], *, ended: bool) -> Table:
    """A session a row. How it ended has a column only where that is not the same for all."""
    table = new_table(narrow=True)
    table.add_column("session", overflow="fold", no_wrap=max(cell_len(name) for name in names.values()) <= SHORT)
    table.add_column("strategy", overflow="fold")
    table.add_column("repeat", justify="right")
    if ended:
        table.add_column("ended", overflow="fold")
    table.add_column("last\npassed", justify="right")
    table.add_column("first\nfailed", justify="right")
    table.add_column("what failed first", overflow="fold")
    for row in rows:
        cells = [names[row["session"]], row["strategy"], row["repeat"]]
        cells += [_ending(row)] if ended else []
        turns = ["–" if row[name] is None else f"{row[name]:g}" for name in ("last_pass_turn", "first_fail_turn")]
        shown = [Text(clean(cell)) for cell in (*cells, *turns)]
        table.add_row(*shown, Text(clean(_failure(row)), style=QUIET if row["first_fail_turn"] is None else BAD))
    return table


def _short_names(keys: Sequence[str], *, whole: bool) -> dict[str, str]:
    """The last part of each key where it says which session is meant; else, and for programs, the keys themselves."""
    short = {key: key.rpartition("--")[2] for key in keys}
    return short if not whole and len(set(short.values())) == len(keys) else {key: key for key in keys}


def _control(row: dict[str, Any], names: dict[str, str]) -> str:
    ended = row["ended"] or "running"
    return names[row["session"]] + ("" if ended == "completed" else f" ({ended})")


def _ending(row: dict[str, Any]) -> str:
    return f"{row['ended'] or 'running'}, turn {row['last_turn']}"


def _failure(row: dict[str, Any]) -> str:
    if row["first_fail_turn"] is None:
        return "nothing checked" if row["last_pass_turn"] is None else "nothing"
    return "; ".join(row["failed"])
