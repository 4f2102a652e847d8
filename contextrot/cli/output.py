"""How commands print: JSON for machines, one console for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def print_json(value: Any) -> None:
    """One JSON document on stdout, keys in the order they were made."""
    import orjson

    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode() + "\n")


def console(*, stderr: bool = False) -> Console:
    """The console every screen is printed on. It never reads markup or emoji codes out of what a model said."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A plain table that folds long cells instead of cutting them."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table)
