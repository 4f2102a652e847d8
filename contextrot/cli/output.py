"""How commands print: JSON for machines, one console for people."""

from __future__ import annotations

import codecs
import io
import os
import re
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console


#: columns of a pipe: more than any row needs
UNBROKEN = 10_000
#: what a terminal or file that holds ASCII alone is given instead
_PLAIN = {
    "–": "-", "−": "-", "—": "-", "─": "-", "…": "...", "≥": ">=", "≤": "<=", "→": "->", "×": "x", "·": "|", "÷": "/",
    "✓": "+", "✗": "x", "█": "#", "░": ".", "\u00a0": " ", "“": '"', "”": '"', "’": "'",
}  # fmt: skip


def say_it_plainly(error: UnicodeError) -> tuple[str, int]:
    """How a codec writes what its encoding lacks: our signs by the nearest ASCII, others by an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    plain = "".join(_PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in lacking)
    return plain, error.end


def prepare_streams() -> None:
    """Before anything is printed: no encoding of a terminal may end a command, nor a reader that has left."""
    codecs.register_error("contextrot", say_it_plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="contextrot")
    sys.stdout = cast(TextIO, Patient(sys.stdout))


class Trimmed:
    """A stream that lines reach without the spaces a table fills them up with."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, less the spaces before each line's end."""
        self._stream.write(re.sub(r"[ \u00a0]+(?=\n)", "", text))
        return len(text)


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

    Under NO_COLOR there are no escape codes at all, bold and underline included. In a pipe nothing is wrapped unless
    COLUMNS says how wide it is: a reader that is a program wants a row on a line, and no spaces after it.
    """
    from rich.console import Console, ConsoleDimensions

    stream = sys.stderr if stderr else sys.stdout
    plain = bool(os.environ.get("NO_COLOR"))
    colours: Literal["auto"] | None = None if plain else "auto"
    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False, color_system=colours)
    if made.is_terminal:
        if made.is_dumb_terminal:  # rich takes one for 80 columns wide
            made.size = ConsoleDimensions(*shutil.get_terminal_size())
        return made
    width = None if os.environ.get("COLUMNS", "").isdecimal() else UNBROKEN
    return Console(
        file=cast(TextIO, Trimmed(stream)), width=width, markup=False, emoji=False, highlight=False, color_system=None
    )


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """A plain table that folds long cells instead of cutting them. `right`: the columns that hold figures."""
    from rich.text import Text

    from contextrot.report.layout import new_table

    out = console()
    table = new_table(narrow=out.width < 100)
    for column in columns:
        table.add_column(column, overflow="fold", justify="right" if column in right else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    if title:
        out.print(Text(f"\n{title}", style="bold"))
    if columns:
        out.print(table)
