"""What the screens are laid out with: one kind of table, paragraphs that hang from a mark, rules, aligned cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from contextrot.report.palette import QUIET

#: a line of prose is no longer than this on a wide terminal, and a rule neither
READABLE = 120


def new_table(*, narrow: bool) -> Table:
    """A table as all of the terminal's are: a line under the heading and nothing else drawn."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1 if narrow else 2, 0, 0), show_edge=False)


def hanging(rows: Iterable[tuple[Text, Text]]) -> Table:
    """Marks with a paragraph each; further lines of a paragraph stand under its first and not under the mark."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for mark, paragraph in rows:
        grid.add_row(mark, paragraph)
    return grid


def print_rule(console: Console, title: Text, style: str = QUIET) -> None:
    """A heading with a line after it, not as long as the line of a pipe is."""
    console.print(Rule(title, align="left", style=style), width=min(console.width, READABLE))


def aligned(cells: Sequence[str]) -> list[str]:
    """Cells such as ``14 (≥ 0)`` made to stand with their figures right-aligned and their brackets under each other."""
    heads = [cell.partition(" (")[0] for cell in cells]
    widest = max(map(cell_len, heads), default=0)
    return [" " * (widest - cell_len(head)) + cell for head, cell in zip(heads, cells, strict=True)]
