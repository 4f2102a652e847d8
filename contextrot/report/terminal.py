"""The final table on the terminal: per scenario what each strategy did, then in plain sentences what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contextrot.analysis.figures import Group as Figures
from contextrot.analysis.figures import Summary
from contextrot.report import words
from contextrot.report.findings import control_warnings, findings
from contextrot.report.terminal_blocks import (
    actions_block,
    fitted_length,
    grid_blocks,
    levels_block,
    new_table,
    strategy_text,
)

#: from this many columns on a row needs no second line
WIDE = 128


def print_summary(summary: Summary, console: Console | None = None) -> None:
    """Print the summary; the width and colours are the console's."""
    console = console or Console()
    for part in render(summary, console.width):
        console.print(part)


def render(summary: Summary, width: int = 100) -> Iterable[RenderableType]:
    """The parts of the screen, top to bottom, laid out for `width` columns. The cells of a grid share one table."""
    if summary.simulated:
        yield Text(words.SIMULATED, style="bold reverse")
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
    for warning in control_warnings(summary):
        yield Text(f"! {warning}", style="yellow")
    for sentence, n in summary.check_errors.items():
        yield Text(f"! {words.check_error_text(sentence, n)}", style="yellow")
    for problem in summary.problems:
        yield Text(f"! {words.clean(problem)}", style="yellow")
    if summary.status not in ("", "completed"):
        yield Text(
            f"! The run is {words.clean(summary.status)}: these figures are of what is there so far.", style="yellow"
        )
    yield Text(words.totals_text(summary), style="dim")


def _scenario(summary: Summary, scenario: str, groups: Sequence[Figures], width: int) -> Iterable[RenderableType]:
    title = Text(words.clean(scenario), style="bold")
    about = summary.origin.titles.get(scenario)
    if about:
        title.append(f"  {words.one_line(about)}", style="not bold")
    models = list(dict.fromkeys(group.model for group in groups))
    if len(models) == 1:
        title.append(f"\n{words.clean(models[0])}, {words.window_text(groups[0])}", style="not bold dim")
    yield Text()
    yield title
    yield _table(groups, several_models=len(models) > 1, narrow=width < WIDE)
    if width < WIDE:
        for group in groups:
            if note := words.note_text(group):
                whose = f"{words.clean(group.strategy)}{f' on {words.clean(group.model)}' if len(models) > 1 else ''}"
                yield Text(f"  {whose}: {note}", style="dim")
    yield from levels_block(groups, several_models=len(models) > 1)
    yield from actions_block(groups, several_models=len(models) > 1)
    for model in models:
        sentences = findings([group for group in groups if group.model == model])
        if len(models) > 1:
            sentences.insert(0, f"{words.clean(model)}:")
        yield Padding(Group(*(Text(sentence) for sentence in sentences)), (0, 0, 0, 1))


def _table(groups: Sequence[Figures], *, several_models: bool, narrow: bool) -> Table:
    table = new_table(narrow=narrow)
    # What nobody pays and nobody has to know takes no column from what matters.
    priced = any(group.spent.cost for group in groups)
    noted = not narrow and any(words.note_text(group) for group in groups)
    table.add_column("strategy", style="bold", min_width=6, overflow="fold")
    if several_models:
        table.add_column("model", min_width=8, overflow="fold")
    table.add_column("turns to\nfirst failure" if narrow else "turns to first failure (95 %)", min_width=12)
    table.add_column("passed\nat depth" if narrow else "passed at depth (95 %)", min_width=8)
    table.add_column("why it failed\n(checks)" if narrow else "why it failed (checks)", min_width=10)
    table.add_column("tokens /\nsession", justify="right", min_width=8)
    if priced:
        table.add_column("cost /\nsession", justify="right", min_width=7)
    if noted:
        table.add_column("note", style="dim", min_width=8, overflow="fold")
    for group in groups:
        depth = group.compliance["at_depth"]
        why = words.causes_text(group)
        cells = [strategy_text(group.strategy, narrow=narrow)]
        cells += [words.clean(group.model)] if several_models else []
        cells += [
            fitted_length(words.length_text(group), narrow=narrow),
            _fitted(words.rate_text(depth), narrow),
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
