"""The final table on the terminal: per scenario what each strategy did, then in plain sentences what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from contextrot.analysis.figures import Group as Figures
from contextrot.analysis.figures import Summary
from contextrot.report import words
from contextrot.report.findings import control_warnings, findings
from contextrot.report.layout import aligned, hanging, new_table
from contextrot.report.palette import QUIET, SIMULATED, WARN
from contextrot.report.states import state_sentences
from contextrot.report.terminal_blocks import actions_block, fitted_length, grid_blocks, levels_block, strategy_text

#: from this many columns on a row needs no second line
WIDE = 128
#: of more strategies than this only the first and the last few are put into words: the table has them all
MOST_TOLD = 12
#: columns that the name of a model may take beside the figures
MODEL_COLUMN = 40


def print_summary(summary: Summary, console: Console | None = None) -> None:
    """Print the summary; the width and colours are the console's."""
    console = console or Console()
    for part in render(summary, console.width):
        console.print(part)


def render(summary: Summary, width: int = 100) -> Iterable[RenderableType]:
    """The parts of the screen, top to bottom, laid out for `width` columns. The cells of a grid share one table."""
    if summary.simulated:
        yield Text(words.SIMULATED, style=SIMULATED)
    if not summary.groups:
        yield Text("Nothing was measured: this run holds no sessions.")
    families = {cell.scenario: family for family in summary.families for cell in family.cells}
    shown = set()
    for scenario in dict.fromkeys(str(group.scenario) for group in summary.groups):
        family = families.get(scenario)
        if family is None:
            groups = [group for group in summary.groups if group.scenario == scenario]
            yield from _scenario(summary, scenario, groups, width)
        elif family.family not in shown:
            shown.add(family.family)
            yield from grid_blocks(summary, family, width, split=width < WIDE)
    if warnings := list(_warnings(summary)):
        yield hanging((Text("!", style=WARN), Text(warning, style=WARN)) for warning in warnings)
    yield Text(f"\n{words.totals_text(summary)}", style=QUIET)


def _warnings(summary: Summary) -> Iterable[str]:
    """What to know before the figures are believed."""
    yield from control_warnings(summary)
    for sentence, n in summary.check_errors.items():
        yield words.check_error_text(sentence, n)
    yield from map(words.clean, summary.problems)
    yield from state_sentences(summary)


def _scenario(summary: Summary, scenario: str, groups: Sequence[Figures], width: int) -> Iterable[RenderableType]:
    title = Text(words.clean(scenario), style="bold")
    about = summary.origin.titles.get(scenario)
    if about:
        title.append(f"  {words.one_line(about)}", style="not bold")
    models = list(dict.fromkeys(group.model for group in groups))
    if len(models) == 1:
        title.append(f"\n{words.clean(models[0])}, {words.window_text(groups[0])}", style=f"not bold {QUIET}")
    yield Text()
    yield title
    narrow = width < WIDE
    # A column for the model has to leave room for the figures; else each model has a table of its own.
    apart = len(models) > 1 and (narrow or any(cell_len(words.clean(model)) > MODEL_COLUMN for model in models))
    if not apart:
        yield from _tables(groups, several_models=len(models) > 1, narrow=narrow)
    for model in models:
        own = [group for group in groups if group.model == model]
        if apart:
            yield Text()
        if len(models) > 1:
            yield Text(words.clean(model), style="bold")
        if apart:
            yield from _tables(own, several_models=False, narrow=narrow)
        yield hanging((Text("-"), Text(sentence)) for sentence in _told(own))


def _tables(groups: Sequence[Figures], *, several_models: bool, narrow: bool) -> Iterable[RenderableType]:
    """The table of the strategies, their notes where it has no column for them, and the smaller tables."""
    yield _table(groups, several_models=several_models, narrow=narrow)
    if narrow:
        alike: dict[str, list[str]] = {}
        for group in groups:
            if note := words.note_text(group):
                alike.setdefault(note, []).append(words.clean(group.strategy))
        if alike:
            yield hanging((Text(" "), Text(f"{_some(names)}: {note}", style=QUIET)) for note, names in alike.items())
    yield from levels_block(groups, several_models=several_models)
    yield from actions_block(groups, several_models=several_models)


def _some(names: Sequence[str]) -> str:
    """The first few names and how many more."""
    few = MOST_TOLD // 2
    more = [f"{len(names) - few} more"] if len(names) > few + 1 else []
    return ", ".join([*names[: few if more else None], *more])


def _told(groups: Sequence[Figures]) -> list[str]:
    """The findings; of very many strategies those that held longest and shortest."""
    if len(groups) <= MOST_TOLD:
        return findings(groups)
    ranked = sorted(groups, key=lambda group: -(group.length.restricted_mean or 0.0))
    few = MOST_TOLD // 2
    cut = f"These are the {few} that held longest and the {few} that held shortest of {len(groups)}; report.md has all."
    return [*findings([*ranked[:few], *ranked[-few:]]), cut]


def _table(groups: Sequence[Figures], *, several_models: bool, narrow: bool) -> Table:
    table = new_table(narrow=narrow)
    # What nobody pays and nobody has to know takes no column from what matters.
    priced = any(group.spent.cost for group in groups)
    noted = not narrow and any(words.note_text(group) for group in groups)
    table.add_column("strategy", style="bold", min_width=6, overflow="fold")
    if several_models:
        table.add_column("model", min_width=8, overflow="fold")
    figures: Literal["left", "right"] = "right" if narrow else "left"
    table.add_column(
        "turns to\nfirst failure" if narrow else "turns to first failure (95 %)", justify=figures, min_width=12
    )
    table.add_column("passed\nat depth" if narrow else "passed at depth (95 %)", justify=figures, min_width=8)
    table.add_column("why it failed\n(checks)" if narrow else "why it failed (checks)", min_width=10)
    table.add_column("tokens /\nsession", justify="right", min_width=8)
    if priced:
        table.add_column("cost /\nsession", justify="right", min_width=7)
    if noted:
        table.add_column("note", style=QUIET, min_width=8, overflow="fold")
    lengths = [fitted_length(words.length_text(group), narrow=narrow) for group in groups]
    rates = [_fitted(words.rate_text(group.compliance["at_depth"]), narrow) for group in groups]
    if not narrow:
        lengths, rates = aligned(lengths), aligned(rates)
    for group, length, rate in zip(groups, lengths, rates, strict=True):
        why = words.causes_text(group)
        cells = [strategy_text(group.strategy, narrow=narrow)]
        cells += [words.clean(group.model)] if several_models else []
        cells += [
            length,
            rate,
            why.replace(", ", ",\n") if narrow else why,
            words.tokens_text(group.spent.tokens_per_session),
        ]
        cells += [words.cost_text(group.spent.cost_per_session)] if priced else []
        cells += [words.note_text(group)] if noted else []
        table.add_row(*map(Text, cells))
    return table


def _fitted(text: str, narrow: bool) -> str:
    """In a narrow table the bracket goes on a line of its own, instead of breaking anywhere."""
    return text.replace(" (", "\n(", 1).replace(" ", "\u00a0") if narrow else text
