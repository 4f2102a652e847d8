"""The strategies that keep tasks apart: each in a window of its own, or the view begun anew at each.

A task is a run of units with the same `Entry.task`. Units without one belong to the session as a whole and are in view
under every task. Where no task is marked, all of the session is such units, and these strategies are `fifo`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Literal

from pydantic import Field

from contextrot.log import Log, TaskRun
from contextrot.messages import Message
from contextrot.outcomes import Status
from contextrot.strategies.assemble import Made, Must, Tail, assemble, must_keep, newest
from contextrot.strategies.base import Request, Size, State, Strategy, View, register
from contextrot.strategies.condensing import RETRIES, SMALLEST, Progress, helper_of
from contextrot.strategies.notes import Notes
from contextrot.strategies.summariser import DEFAULT_PROMPT

HANDOFF_HEADER = "[Hand-off from the tasks before]"


def under_way(log: Log) -> TaskRun | None:
    """The task of the last message; None while the session as a whole is spoken of."""
    return log.tasks[-1] if len(log) and log[len(log) - 1].task and log.tasks else None


def finished(log: Log) -> Iterator[TaskRun]:
    """The tasks that are over, newest first."""
    return (log.tasks[k] for k in range(over(log) - 1, -1, -1))


def over(log: Log) -> int:
    """How many tasks are over."""
    return len(log.tasks) - (under_way(log) is not None)


class Conclusions:
    """What finished tasks leave behind: the last assistant text of each, tagged with the task's name."""

    def __init__(self, log: Log, request: Request, tag: str = "Conclusion of") -> None:
        self._log = log
        self._request = request
        self._tag = tag
        self._made: dict[int, Made] = {}

    def of(self, runs: Iterable[TaskRun]) -> Iterator[int]:
        """Numbers of the units that conclude these tasks, in their order; a task that ended without a text has none."""
        units, messages = self._log.units, self._log.messages
        for run in runs:
            for number in reversed(run.units):
                unit = units[number]
                if unit.kind == "assistant" and messages[unit.indices[0]].text.strip():
                    message = messages[unit.indices[0]]
                    tagged = Message("assistant", f"[{self._tag} {run.task}]\n{message.text}")
                    self._made[number] = Made(tagged, self._request.count(tagged))
                    yield number
                    break

    def weigh(self, number: int) -> int:
        """Tokens of a unit, of a conclusion with its tag."""
        made = self._made.get(number)
        return self._log.units[number].tokens if made is None else made.tokens

    def stand_ins(self, units: Iterable[int]) -> dict[int, tuple[Status, Made]]:
        """The conclusions among these units, as `assemble` takes them."""
        chosen = [number for number in units if number in self._made]
        return {self._log.units[n].indices[0]: (Status.SUMMARISED, self._made[n]) for n in chosen}


def _view(
    log: Log, must: Must, request: Request, keep: Size | None, conclusions: Conclusions, *parts: Iterable[int]
) -> View:
    """What must stay, and the newest of the parts; each of them unit numbers, descending, none in two."""
    room = request.budget - must.tokens
    candidates = merge(*parts, reverse=True)
    tail: Tail = newest(log, must, request, room=room, keep=keep, candidates=candidates, weigh=conclusions.weigh)
    return assemble(log, must.units.union(tail.units), stand_ins=conclusions.stand_ins(tail.units))


@register
class Isolate(Strategy):
    """A task sees what was said in it, and of the tasks before only what they came to.

    After "Isolation" in the fourth article: "give a bounded piece of work its own window and bring back only the
    conclusion, so the exploration's token cost never enters the main session". The conclusion is the task's last
    assistant text, word for word, under a tag; in the manifest it counts as `summarised`, for it stands for its task.
    """

    type_name = "isolate"
    summary = "a sub-task in its own window; only its conclusion comes back"

    keep: Size | None = Field(
        default=None, description="how much of it all to keep at most, system messages and pins apart; none: what fits"
    )
    session: bool = Field(
        default=True, description="a task also sees what belongs to no task; false: only its own and conclusions"
    )

    async def view(self, log: Log, state: State, request: Request) -> View:
        """System, pins, the current task, conclusions, and the session's own part. Raises `BudgetError`."""
        must = must_keep(log, request)
        current = under_way(log)
        conclusions = Conclusions(log, request)
        parts = [conclusions.of(finished(log))]
        if current is not None:
            parts.append(reversed(current.units))
        if self.session or current is None:
            parts.append(reversed(log.taskless))
        return _view(log, must, request, self.keep, conclusions, *parts)


@register
class ResetPerTask(Strategy):
    """The view starts anew whenever the task changes; what goes along is the hand-off.

    After the third article's table ("batch processing, each task is independent: reset context per task"), where
    nothing is handed on: the default. `last_reply` hands on how the task before ended; `summary` hands on notes by the
    helper model, brought up to date at the end of each task. While the helper fails, the tasks that are not in the
    notes yet stay in view as far as they fit.
    """

    type_name = "reset_per_task"
    summary = "the view starts anew at each task, with an optional hand-off"

    handoff: Literal["none", "last_reply", "summary"] = Field(
        default="none", description="what a task is given of those before it"
    )
    keep: Size | None = Field(
        default=None,
        description="how much conversation to keep at most, system messages and pins apart; none: all that fits. "
        "Not used with a summary",
    )
    max_tokens: int = Field(default=400, ge=SMALLEST, description="the most the summary may take, in tokens")
    retries: int = Field(default=2, ge=0, le=10, description=RETRIES)
    prompt: str | None = Field(
        default=None, min_length=1, description="instructions for the summariser, instead of ours"
    )

    async def view(self, log: Log, state: State, request: Request) -> View:
        """System, pins, hand-off, the current task. Raises `BudgetError`; `ConfigError` if no one can summarise."""
        if self.handoff == "summary":
            return await self._with_summary(log, Progress.read(state), request)
        must = must_keep(log, request)
        current = under_way(log)
        conclusions = Conclusions(log, request, "Hand-off from")
        parts: list[Iterable[int]] = [reversed(log.taskless)]
        if current is not None:
            parts.append(reversed(current.units))
        if self.handoff == "last_reply":
            parts.append(conclusions.of(islice(finished(log), 1)))
        return _view(log, must, request, self.keep, conclusions, *parts)

    async def _with_summary(self, log: Log, progress: Progress, request: Request) -> View:
        auxiliary = helper_of(self, request)
        must = must_keep(log, request)
        notes = Notes(HANDOFF_HEADER, self.max_tokens, self.retries, self.prompt or DEFAULT_PROMPT)
        ended = _not_handed_on(log, progress)
        progress, events, calls = await notes.cover(log, progress, must, request, auxiliary, ended)
        beside = log.taskless[: bisect_left(log.taskless, progress.reach)]
        return notes.show(log, progress, must, request, beside=beside, events=events, calls=calls)


def _not_handed_on(log: Log, progress: Progress) -> Iterator[int]:
    """Units of finished tasks that the notes do not cover, ascending."""
    yield from progress.skipped
    runs, end = log.tasks, over(log)
    for k in range(bisect_left(runs, progress.reach, hi=end, key=lambda run: run.units[-1]), end):
        yield from runs[k].units[bisect_left(runs[k].units, progress.reach) :]
