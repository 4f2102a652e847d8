"""Rolling summary: what is old is condensed by a helper model, what is recent stays as it was said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Literal

from pydantic import Field, model_validator

from contextrot.errors import ConfigError
from contextrot.log import Log
from contextrot.messages import Message
from contextrot.outcomes import Status
from contextrot.strategies.assemble import Made, Must, Tail, assemble, must_keep, newest
from contextrot.strategies.base import Auxiliary, Event, Request, Size, State, Strategy, View, register
from contextrot.strategies.sizes import in_tokens, refuse_trigger_below_keep, trigger_fault
from contextrot.strategies.summariser import DEFAULT_PROMPT, Brief, Summary, summarise

HEADER = "[Summary of the earlier conversation]"
#: Compactions that failed in a row after which the helper model is not asked again in this session.
STOP_AFTER = 3
#: A summary smaller than this (tokens) could not say anything; with less room than that none is asked for.
SMALLEST = 16


@dataclass(frozen=True, slots=True)
class Progress:
    """What is summarised so far; the strategy's state.

    text: the summary. reach: the first unit that it does not cover. skipped: units below `reach` that it does not cover
    either, since they had to stay in view when it was written (the current user message of a long tool loop). part:
    ``[unit, characters]`` when it ends inside an oversized unit. late: indexes of covered messages that stand behind
    the first message of `reach`. failures: compactions in a row that came to nothing.
    """

    text: str = ""
    reach: int = 0
    skipped: tuple[int, ...] = ()
    part: tuple[int, int] | None = None
    late: tuple[int, ...] = ()
    failures: int = 0

    @classmethod
    def read(cls, state: State) -> Progress:
        """From a state as `view` returned it, JSON lists included."""
        raw: dict[str, Any] = dict(state)
        raw["skipped"], raw["late"] = tuple(raw.get("skipped", ())), tuple(raw.get("late", ()))
        raw["part"] = tuple(raw["part"]) if raw.get("part") else None
        return cls(**raw)

    def write(self) -> State:
        """The JSON form."""
        raw = asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in raw.items()}

    def pending(self, log: Log) -> Iterator[int]:
        """Units that the summary does not cover, newest first."""
        return chain(range(len(log.units) - 1, self.reach - 1, -1), reversed(self.skipped))

    def boundary(self, log: Log) -> int:
        """Index of the first message behind what is covered."""
        return log.units[self.reach].indices[0] if self.reach < len(log.units) else len(log)

    def advance(self, log: Log, must: Must, evicted: list[int], start: int, summary: Summary) -> Progress:
        """After `summary` covered the first of the `evicted` units; `start` is where the tail that is kept begins."""
        done, rest = evicted[: summary.covered], evicted[summary.covered :]
        reach = next((number for number in rest if number >= self.reach), start)
        held = {n for n in chain(self.skipped, range(self.reach, reach)) if n in must.recent}
        skipped = tuple(sorted(held.union(number for number in rest if number < reach)))
        moved = replace(self, text=summary.text, reach=reach, skipped=skipped, part=summary.part, failures=0)
        boundary = moved.boundary(log)
        covered = chain(self.late, (index for number in done for index in log.units[number].indices))
        return replace(moved, late=tuple(sorted(index for index in covered if index >= boundary)))


@register
class RollingSummary(Strategy):
    """A summary of the old, and the newest turns as they are. Nothing is done under the trigger.

    Between two compactions the summary message is the same bytes, so that a provider's prefix cache holds. When the
    helper model fails, what is not summarised stays in view while it fits, then the oldest is left out but stays
    pending: a later summary covers it.
    """

    type_name = "rolling_summary"
    aliases = ("summarization",)
    summary = "summary + recent turns; incremental: false measures summary-of-summary drift"

    trigger: Size = Field(
        default=Size(fraction=0.8), description="compact when the view is larger than this (0.8: the ROTATE threshold)"
    )
    keep: Size = Field(default=Size(turns=4), description="recent conversation that stays raw after a compaction")
    max_tokens: int = Field(default=400, ge=SMALLEST, description="the most a summary may take, in tokens")
    incremental: bool = Field(
        default=True, description="update the previous summary; false: summarise it together with what is new"
    )
    role: Literal["user", "system", "assistant"] = Field(default="user", description="role of the summary message")
    retries: int = Field(default=2, ge=0, le=10, description="how often to ask again after an unusable summary")
    prompt: str | None = Field(
        default=None, min_length=1, description="instructions for the summariser, instead of ours"
    )

    @model_validator(mode="after")
    def _trigger_above_keep(self) -> RollingSummary:
        fault = trigger_fault(self.trigger, self.keep)
        if fault is not None:
            raise ValueError(fault)
        return self

    async def view(self, log: Log, state: State, request: Request) -> View:
        """System, pins, summary, recent conversation. Raises `BudgetError`, and `ConfigError` without a summariser."""
        refuse_trigger_below_keep(self.trigger, self.keep, request)
        if request.auxiliary is None:
            raise ConfigError(
                f"{self.type_name} needs a summariser: name a helper model for summaries, or pass summarizer="
            )
        must = must_keep(log, request)
        progress = Progress.read(state)
        events: list[Event] = []
        calls = 0
        if progress.failures < STOP_AFTER and not self._under_trigger(log, progress, must, request):
            before = progress
            progress, asked = await self._compact(log, progress, must, request, request.auxiliary)
            if asked is not None:
                calls = asked.calls
                events = [*asked.events, *self._report(log, before, progress, asked, must, request)]
        return self._assemble(log, progress, must, request, events, calls)

    def _under_trigger(self, log: Log, progress: Progress, must: Must, request: Request) -> bool:
        """True when everything not summarised fits under the trigger and into the budget."""
        limit = in_tokens(self.trigger, request)
        most = request.budget if limit is None else min(limit, request.budget)
        room = most - must.tokens - self._summary(progress.text, request).tokens
        keep = self.trigger if limit is None else None
        return newest(log, must, request, room=room, keep=keep, candidates=progress.pending(log)).complete

    async def _compact(
        self, log: Log, progress: Progress, must: Must, request: Request, auxiliary: Auxiliary
    ) -> tuple[Progress, Summary | None]:
        """Summarise what is pending beyond the tail to keep. The second value is None when nobody was asked."""
        header = request.count(self._wrap(""))
        room = request.budget - must.tokens - header
        most = max(1, int(self.max_tokens / request.scale))
        cap = min(most, room)
        if cap < min(SMALLEST, most):
            return progress, None
        recent = range(len(log.units) - 1, progress.reach - 1, -1)
        tail = newest(log, must, request, room=room - cap, keep=self.keep, candidates=recent)
        evicted = [n for n in chain(progress.skipped, range(progress.reach, tail.start)) if n not in must.units]
        if sum(log.units[number].tokens for number in evicted) <= header:
            return progress, None  # no summary could be smaller than what it replaces
        brief = Brief(cap, self.retries, self._wrap, self.incremental, self.prompt or DEFAULT_PROMPT)
        previous = Summary(progress.text, 0, progress.part, 0, ())
        summary = await summarise(log, evicted, auxiliary, request, brief, previous)
        if summary.rejected:
            return replace(progress, failures=progress.failures + 1), summary
        return progress.advance(log, must, evicted, tail.start, summary), summary

    def _report(
        self, log: Log, before: Progress, now: Progress, asked: Summary, must: Must, request: Request
    ) -> Iterator[Event]:
        if not asked.rejected:
            sizes = [self._tokens(log, progress, must, request) for progress in (before, now)]
            yield Event("compaction", {"units": asked.covered, "tokens_before": sizes[0], "tokens_after": sizes[1]})
        elif now.failures == STOP_AFTER:
            yield Event("summariser_stopped", {"after": STOP_AFTER})

    def _assemble(
        self, log: Log, progress: Progress, must: Must, request: Request, events: list[Event], calls: int
    ) -> View:
        summary = self._summary(progress.text, request)
        room = request.budget - must.tokens - summary.tokens
        if room < 0:  # what must stay leaves no room for the summary in this view; it is back in the next that has it
            events.append(Event("summary_left_out", {"tokens": summary.tokens}))
            summary = Made(summary.message, 0)
            room = request.budget - must.tokens
        shown = summary.tokens > 0
        tail = newest(log, must, request, room=room, candidates=progress.pending(log))
        units = must.units.union(tail.units)
        if not tail.complete:
            pending = len(log.units) - progress.reach + len(progress.skipped)
            in_view = sum(number >= progress.reach or number in progress.skipped for number in units)
            events.append(Event("fallback", {"to": "fifo", "units_dropped": pending - in_view}))
        return assemble(
            log,
            units,
            inserted=[(self._place(log, units), summary)] if shown else [],
            absent=(progress.boundary(log), Status.SUMMARISED if shown else Status.DROPPED),
            marks=self._marks(log, progress, tail, shown),
            events=events,
            aux_calls=calls,
            state=progress.write(),
        )

    @staticmethod
    def _place(log: Log, units: frozenset[int]) -> int:
        """After leading system messages and pins, but in front of the current user message, pinned or not."""
        always = set(log.always)
        first = min((log.units[number].indices[0] for number in units if number not in always), default=len(log))
        return first if log.current_user is None else min(first, log.current_user)

    @staticmethod
    def _marks(log: Log, progress: Progress, tail: Tail, shown: bool) -> dict[int, Status]:
        """Statuses of messages on the wrong side of the boundary; `assemble` overrules those that are in view."""
        marks = dict.fromkeys(progress.late, Status.SUMMARISED if shown else Status.DROPPED)
        for number in progress.skipped:
            if number not in tail.units:
                marks.update(dict.fromkeys(log.units[number].indices, Status.DROPPED))
        return marks

    def _tokens(self, log: Log, progress: Progress, must: Must, request: Request) -> int:
        """Tokens of a view that holds everything the summary does not cover."""
        pending = sum(log.units[number].tokens for number in progress.pending(log) if number not in must.units)
        return must.tokens + self._summary(progress.text, request).tokens + pending

    def _wrap(self, text: str) -> Message:
        return Message(self.role, f"{HEADER}\n{text}")

    def _summary(self, text: str, request: Request) -> Made:
        """The summary message, or one of no tokens when there is none yet."""
        message = self._wrap(text)
        return Made(message, request.count(message) if text else 0)
