"""How commands print: JSON for machines, one console for people."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console


class Patient:
    """A stream whose reader may leave (`… | head`): what comes after is dropped, and the command ends as it would.

    Its exit code is then what the command found, not that of a broken pipe.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, or drop what nobody reads."""
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._drop()
            return len(text)

    def flush(self) -> None:
        """Flush, or drop what nobody reads."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        """From here on the stream leads nowhere, also for what is left in its buffer when the process ends."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def print_json(value: Any) -> None:
    """One JSON document on stdout, keys in the order they were made."""
    import orjson

    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode() + "\n")


def console(*, stderr: bool = False) -> Console:
    """The console every screen is printed on. It never reads markup or emoji codes out of what a model said.

    Under NO_COLOR there are no escape codes at all, bold and dim included.
    """
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, color_system=None if plain else "auto")


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
