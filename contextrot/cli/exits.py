"""Exit codes, in one place (DESIGN §9), and the one guard that turns errors into a sentence and a code."""

from __future__ import annotations

import contextlib
import errno
import functools
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import ParamSpec, TextIO, TypeVar

import typer

from contextrot.errors import BaselineError, ContextrotError, MissingKeyError, ModelError, NothingMatchedError


class Exit(IntEnum):
    """What the process tells its caller."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NO_VERDICT = 3
    BASELINE = 4
    NOTHING_MATCHED = 5
    INTERRUPTED = 130


#: what writing says where there is no room
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

P = ParamSpec("P")
R = TypeVar("R")


def code_for(error: ContextrotError) -> Exit:
    """The exit code an error deserves."""
    if isinstance(error, NothingMatchedError):
        return Exit.NOTHING_MATCHED
    if isinstance(error, BaselineError):
        return Exit.BASELINE
    if isinstance(error, ModelError) and not isinstance(error, MissingKeyError):
        return Exit.NO_VERDICT
    return Exit.USAGE


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Decorate a command: an error raised on purpose becomes its sentence on stderr and its exit code, no traceback."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except ContextrotError as error:
            typer.echo(f"contextrot: {error}", err=True)
            raise typer.Exit(code_for(error)) from None
        except KeyboardInterrupt:
            typer.echo("contextrot: interrupted", err=True)
            raise typer.Exit(Exit.INTERRUPTED) from None
        except BrokenPipeError:
            # The reader of our output (head, less) went away: not a fault, and nothing more can be said on stdout.
            sys.stderr.close()
            raise typer.Exit(Exit.OK) from None
        except OSError as error:
            if error.errno not in _FULL:
                raise
            # A disk or device that takes no more, told while writing: what was shown is not whole.
            _close_quietly(sys.stdout)
            typer.echo(f"contextrot: the output could not be written: {error.strerror}", err=True)
            raise typer.Exit(Exit.USAGE) from None

    return run


def _close_quietly(stream: TextIO) -> None:
    """Give up what the stream still holds, so that Python does not try to write it again at its end."""
    with contextlib.suppress(OSError):
        stream.close()
