"""The curves of the page as tables of text: turns down, strategies across. From the data of the charts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

#: cells that the tables of one chart hold: beyond that they are left out, and the page says how many
MOST_CELLS = 4000
#: what a panel of each kind of check is called
_KINDS = {"probe": "probes", "passive": "standing rules on live replies"}


@dataclass(frozen=True, slots=True)
class CurveTable:
    """The series of one panel. title: scenario, model, kind; rows: ``(turn, texts)``, "–" for no point."""

    title: str
    columns: list[str]
    rows: list[tuple[str, list[str]]]


def curve_tables(data: dict[str, Any]) -> dict[str, Any]:
    """``survival`` and ``compliance`` (by turn), each a list of tables; ``left_out``: how many were, by chart.

    `data` is what `charts.page_data` gives.
    """
    by_turn = [series for series in data["compliance"] if series["x"] == "turn"]
    tables = {
        "survival": _tables(data, data["survival"], _survival),
        "compliance": _tables(data, by_turn, _compliance),
    }
    shown = {chart: _fitting(made) for chart, made in tables.items()}
    return {**shown, "left_out": {chart: len(made) - len(shown[chart]) for chart, made in tables.items()}}


def _tables(
    data: dict[str, Any], every: Iterable[dict[str, Any]], points: Callable[[dict[str, Any]], dict[float, str]]
) -> list[CurveTable]:
    panels: dict[tuple[int, int, str], list[dict[str, Any]]] = {}
    for series in every:
        panels.setdefault((series["scenario"], series["model"], series.get("kind", "")), []).append(series)
    found = []
    for (scenario, model, kind), mine in panels.items():
        title = [data["scenarios"][scenario], *([data["models"][model]] if len(data["models"]) > 1 else [])]
        title += [_KINDS.get(kind, kind)] if kind else []
        columns = [points(series) for series in mine]
        turns = sorted({turn for column in columns for turn in column})
        rows = [(f"{turn:g}", [column.get(turn, "–") for column in columns]) for turn in turns]
        found.append(CurveTable(" · ".join(title), [data["strategies"][series["strategy"]] for series in mine], rows))
    return found


def _survival(series: dict[str, Any]) -> dict[float, str]:
    """``80 % (38–98), 5 at risk``."""
    return {step[0]: f"{step[-1]}, {step[4]} at risk" for step in series["steps"]}


def _compliance(series: dict[str, Any]) -> dict[float, str]:
    return {point[0]: point[-1] for point in series["points"]}


def _fitting(tables: list[CurveTable]) -> list[CurveTable]:
    """The first tables that have room."""
    kept: list[CurveTable] = []
    room = MOST_CELLS
    for table in tables:
        room -= len(table.columns) * len(table.rows)
        if room < 0 and kept:
            break
        kept.append(table)
    return kept
