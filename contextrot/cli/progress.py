"""How a running bench shows itself: a live display on a terminal, plain lines elsewhere. Always on stderr."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from contextrot.messages import Usage
from contextrot.outcomes import Ended

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

#: Seconds between two plain lines when stderr is not a terminal.
PLAIN_EVERY = 15.0


def _short(number: int) -> str:
    """1,234 → 1.2k: what fits a status line."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= size:
            return f"{number / (1000 if unit == 'k' else size):.1f}{unit}"
    return f"{number:,}"


def _clock(seconds: float) -> str:
    """Minutes and seconds, hours where there are any: ``0:07``, ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


class Counters:
    """What both displays count."""

    def __init__(self) -> None:
        self.sessions = self.finished = self.already = self.calls = self.tokens = self.replayed = 0
        self.ended: Counter[str] = Counter()
        self.waiting_until = 0.0
        self.waiting_for = ""
        self.started = time.monotonic()

    def on_start(self, sessions: int, finished: int) -> None:
        """Note the size of the matrix."""
        self.sessions, self.finished, self.already = sessions, finished, finished
        self.started = time.monotonic()

    def on_call(self, usage: Usage, *, asked: bool) -> None:
        """Count a call and its tokens."""
        if asked:
            self.calls += 1
            self.tokens += (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        else:
            self.replayed += 1

    def on_session(self, key: str, ended: Ended) -> None:
        """Count a session."""
        self.finished += 1
        self.ended[ended.value] += 1

    def on_wait(self, model: str, seconds: float, reason: str) -> None:
        """Note a wait, so that a display can say why nothing moves."""
        self.waiting_until = time.monotonic() + seconds
        self.waiting_for = f"{model}: {reason}"

    def eta(self) -> str:
        """Time left at the pace so far, nothing before the first session has ended; once all have, the time it took."""
        done, passed = self.finished - self.already, time.monotonic() - self.started
        if self.finished >= self.sessions:
            return f"in {_clock(passed)}"
        return f"{_clock(passed / done * (self.sessions - self.finished))} left" if done > 0 else ""

    def line(self) -> str:
        """The state in one line."""
        parts = [
            f"{self.finished}/{self.sessions} sessions",
            f"{_short(self.calls)} calls",
            f"{_short(self.tokens)} tokens",
        ]
        parts += [self.eta()] if self.eta() else []
        if self.replayed:
            parts.insert(2, f"{_short(self.replayed)} from the record")
        if self.ended["error"]:
            parts.append(f"{self.ended['error']} ended in error")
        wait = self.waiting_until - time.monotonic()
        if wait > 0:
            parts.append(f"waiting {wait:.0f} s ({self.waiting_for})")
        return " · ".join(parts)


class PlainProgress(Counters):
    """A line now and then, for logs and pipes."""

    def __init__(self) -> None:
        super().__init__()
        self._last = time.monotonic()

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.sessions:
            self._say()

    def on_call(self, usage: Usage, *, asked: bool) -> None:
        """Count, and say so when it is time."""
        super().on_call(usage, asked=asked)
        if time.monotonic() - self._last >= PLAIN_EVERY:
            self._say()

    def on_wait(self, model: str, seconds: float, reason: str) -> None:
        """Waits are said at once: silence would look like a hang."""
        super().on_wait(model, seconds, reason)
        if time.monotonic() - self._last >= 1.0:
            self._say()

    def _say(self) -> None:
        self._last = time.monotonic()
        print(self.line(), file=sys.stderr, flush=True)


class LiveProgress(Counters):
    """A bar with counters, redrawn four times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: RichProgress | None = None
        self._task: Any = None

    def __enter__(self) -> LiveProgress:
        from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task
        from rich.text import Text

        from contextrot.cli.output import console
        from contextrot.report.palette import GOOD, QUIET, SENT

        counters = self

        class State(ProgressColumn):
            """The counters; read anew at each redraw so that waits count down."""

            def render(self, task: Task) -> Text:
                """One line of text."""
                return Text(counters.line(), no_wrap=True, overflow="ellipsis")

        out = console(stderr=True)
        bar = BarColumn(bar_width=min(24, out.width // 8), style=QUIET, complete_style=SENT, finished_style=GOOD)
        self._bar = Progress(SpinnerColumn(style=SENT), bar, State(), console=out, refresh_per_second=4)
        self._task = self._bar.add_task("sessions", total=None)
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def on_start(self, sessions: int, finished: int) -> None:
        """Give the bar its length."""
        super().on_start(sessions, finished)
        if self._bar is not None:
            self._bar.update(self._task, total=sessions, completed=finished)

    def on_session(self, key: str, ended: Ended) -> None:
        """Move the bar."""
        super().on_session(key, ended)
        if self._bar is not None:
            self._bar.update(self._task, completed=self.finished)


def for_terminal(quiet: bool = False) -> PlainProgress | LiveProgress:
    """The display that suits where stderr goes: a bar needs a terminal that can move its cursor."""
    able = sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    return LiveProgress() if able and not quiet else PlainProgress()
