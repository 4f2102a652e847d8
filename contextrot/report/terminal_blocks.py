"""Smaller tables under a scenario's own: the budget monitor, the tools, and the cells of a grid side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contextrot.analysis.figures import Family, Summary
from contextrot.analysis.figures import Group as Figures
from contextrot.analysis.levels import LEVELS
from contextrot.report import words
from contextrot.report.findings import tool_alerts
from contextrot.report.layout import hanging, new_table
from contextrot.report.palette import QUIET

#: what the axes of a grid are called in a heading
AXES = {"tokens_per_turn": "tokens/\nturn"}
#: from this length on a strategy's label has a line for each parameter in a narrow table
LONG_LABEL = 30


def strategy_text(label: str, *, narrow: bool) -> str:
    """A strategy's label; in a narrow table its parameters stand on a line of their own."""
    cleaned = words.clean(label)
    if not narrow:
        return cleaned
    parts = cleaned if len(cleaned) < LONG_LABEL else cleaned.replace(", ", ",\n")
    return parts.replace("(", "\n(", 1).replace(" ", "\u00a0")


def without_level(length: str) -> str:
    """A length without what the heading says already: ``9 turns (95 % 9–9)`` is ``9 (9–9)``."""
    length = re.sub(r" turns? \(too few sessions for an interval\)", " (too few)", length)
    return length.replace(" turns (95 % ", " (").replace(" turn (95 % ", " (").replace("(95 % ", "(")


def fitted_length(length: str, *, narrow: bool) -> str:
    """The same; in a narrow table each part on a line of its own, instead of breaking anywhere."""
    short = without_level(length)
    if not narrow:
        return short
    return short.replace(" (", "\n(", 1).replace("; ", "\n").replace("failed, ", "failed,\n").replace(" ", "\u00a0")


def levels_block(groups: Sequence[Figures], *, several_models: bool) -> Iterable[RenderableType]:
    """When the budget monitor spoke and what held at each level; nothing where no session came to WARN."""
    told = [group for group in groups if any(level.sessions for level in group.levels)]
    if not told:
        return
    table = _table("how full", several_models)
    for level in told[0].levels:
        heading = words.level_text(level).replace(" (", "\n(")
        table.add_column(heading, justify="right", min_width=9)
    for name in LEVELS:
        table.add_column(f"passed at\n{name}{'' if name == 'OK' else ' level'}", justify="right", min_width=6)
    for group in told:
        passed = {point.label: point for point in group.by_level}
        rates = [
            f"{words.percent(passed[name].rate)}\n(n {passed[name].n})" if name in passed else "–" for name in LEVELS
        ]
        reached = [words.reached_text(level).replace(" (", "\n(") for level in group.levels]
        table.add_row(*_row(group, several_models), *map(Text, (*reached, *rates)))
    yield _set_off(table)


def actions_block(groups: Sequence[Figures], *, several_models: bool) -> Iterable[RenderableType]:
    """Tool calls early and late, repeats and steps; nothing where there are no tools."""
    acting = [(group, group.actions) for group in groups if group.actions is not None]
    if not acting:
        return
    table = _table("actions", several_models)
    for heading in ("called early\n→ late", "change (95 %),\npoints", "repeated", "calls /\nturn"):
        table.add_column(heading, justify="right", min_width=7)
    tasks = any(actions.steps_per_task is not None for _, actions in acting)
    if tasks:
        table.add_column("calls /\ntask", justify="right", min_width=6)
    for group, actions in acting:
        change = actions.change
        cells = [
            f"{words.percent(change.first)} → {words.percent(change.second)}\n(n {change.first_n}, {change.second_n})",
            "–" if change.difference is None else _points(change.difference, change.low, change.high),
            words.share_text(actions.repeated, interval=False).replace(" (", "\n("),
            "–" if actions.steps_per_turn is None else f"{actions.steps_per_turn:.2f}",
        ]
        cells += [_number(actions.steps_per_task)] if tasks else []
        table.add_row(*_row(group, several_models), *map(Text, cells))
    yield _set_off(table)


def grid_blocks(summary: Summary, family: Family, width: int, *, split: bool) -> Iterable[RenderableType]:
    """The cells of a grid, a row each, and its arms in pairs. `split`: a table for each model instead of a column."""
    title = Text(words.clean(family.family), style="bold")
    crossed = " × ".join(f"{axis.replace('_', ' ')} {', '.join(values)}" for axis, values in family.axes.items())
    title.append(f"  a grid: {words.one_line(crossed, 2 * width)}", style="not bold")
    yield Text()
    yield title
    models = list(dict.fromkeys(cell.model for cell in family.cells))
    for model in models if split and len(models) > 1 else (None,):
        if model is not None:
            yield Text(f"\n{words.clean(model)}", style=QUIET)
        yield _cells_table(summary, family, model, several_models=model is None and len(models) > 1)
    if sentences := [*arms_text(family), *tool_alerts(in_family(summary, family))]:
        yield hanging((Text("-"), Text(line)) for line in sentences)
    yield Text(" Turn by occupancy, and each cell by itself: report.md", style=QUIET)


def _cells_table(summary: Summary, family: Family, model: str | None, *, several_models: bool) -> Table:
    """The cells of one model, or of all, as rows."""
    table = new_table(narrow=True)
    for axis in family.axes:
        table.add_column(AXES.get(axis, axis), justify="right")
    table.add_column("strategy", style="bold", min_width=6, overflow="fold")
    if several_models:
        table.add_column("model", min_width=8, overflow="fold")
    for heading in ("first\nfailure", "passed at\ndepth"):
        table.add_column(heading, justify="right", min_width=8)
    for heading in ("full at\nthe end", "prompt at\nthe end"):
        table.add_column(heading, justify="right", min_width=7)
    groups = by_cell(summary)
    for cell in family.cells:
        if model not in (None, cell.model):
            continue
        length = words.length_text(groups[cell.scenario, cell.model, cell.strategy])
        length = "not reached" if cell.median is None and length.startswith("not reached") else length
        cells = [*cell.values.values(), strategy_text(cell.strategy, narrow=True)]
        cells += [words.clean(cell.model)] if several_models else []
        cells += [
            fitted_length(length, narrow=True),
            f"{words.percent(cell.at_depth.rate)}\n(n\u00a0{cell.at_depth.n})",
            words.percent(cell.occupancy_end),
            words.tokens_text(cell.tokens_end),
        ]
        table.add_row(*map(Text, cells))
    return table


def by_cell(summary: Summary) -> dict[tuple[str | None, str, str], Figures]:
    """Every group by scenario, model and strategy: a cell of a grid is one of them."""
    return {(group.scenario, group.model, group.strategy): group for group in summary.groups}


def in_family(summary: Summary, family: Family) -> list[Figures]:
    """The groups of a grid's cells."""
    scenarios = {cell.scenario for cell in family.cells}
    return [group for group in summary.groups if group.scenario in scenarios]


def arms_text(family: Family) -> list[str]:
    """One line for each pair of arms: what the second passes more or less than the first, on whom if there are more."""
    several = len({cell.model for cell in family.cells}) > 1
    return [
        f"{words.clean(arm.second)} against {words.clean(arm.first)} ({arm.axis}), `{words.clean(arm.strategy)}`"
        f"{f' on {words.quoted(arm.model)}' if several else ''}: "
        f"{words.percent(arm.change.first)} → {words.percent(arm.change.second)}, "
        f"{words.change_text(arm.change).replace('session', 'pair')}"
        for arm in family.arms
    ]


def _table(heading: str, several_models: bool) -> Table:
    table = new_table(narrow=True)
    table.add_column(heading, style="bold", min_width=6, overflow="fold")
    if several_models:
        table.add_column("model", min_width=8, overflow="fold")
    return table


def _row(group: Figures, several_models: bool) -> list[Text]:
    names = [strategy_text(group.strategy, narrow=True)] + ([words.clean(group.model)] if several_models else [])
    return [Text(name) for name in names]


def _set_off(table: Table) -> RenderableType:
    return Padding(table, (1, 0, 1, 1), expand=False)


def _points(difference: float, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return words.points(difference)
    return f"{words.points(difference)}\n({words.points(low)} to {words.points(high)})"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
