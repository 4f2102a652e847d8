"""What is old is condensed by a helper model, what is recent stays as it was said: what the family has in common.

Rolling summary, structured compaction and dual memory differ in what the helper is asked for and in the one message
that stands for the past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import Field, model_validator

from contextrot.errors import BudgetError, ConfigError
from contextrot.log import Log
from contextrot.messages import Message
from contextrot.outcomes import Status
from contextrot.strategies.assemble import Made, Must, Tail, assemble, must_keep, newest
from contextrot.strategies.base import Auxiliary, Event, Request, Size, State, Strategy, View
from contextrot.strategies.sizes import in_tokens, refuse_trigger_below_keep, trigger_fault
from contextrot.strategies.summariser import Brief, Summary, summarise

#: What `retries` means wherever a helper model is asked.
RETRIES = "asks of the helper model a turn, besides the first: for what one ask cannot hold, and after unusable answers"
#: Compactions that failed in a row after which the helper model is not asked again in this session.
STOP_AFTER = 3
#: A summary smaller than this (tokens) could not say anything; with less room than that none is asked for.
SMALLEST = 16
P = TypeVar("P", bound="Progress")


@dataclass(frozen=True, slots=True)
class Progress:
    """What is summarised so far; the strategy's state.

    text: the summary. reach: the first unit that it does not cover. skipped: units below `reach` that it does not cover
    either, since they had to stay in view when it was written (pins, the current user message of a long tool loop).
    part: ``[unit, characters]`` when it ends inside an oversized unit. late: indexes of covered messages that stand
    behind the first message of `reach`. failures: compactions in a row that came to nothing. asks: how often the helper
    was asked in `turn`, the last one in which it was.
    """

    text: str = ""
    reach: int = 0
    skipped: tuple[int, ...] = ()
    part: tuple[int, int] | None = None
    late: tuple[int, ...] = ()
    failures: int = 0
    turn: int = -1
    asks: int = 0

    @classmethod
    def read(cls: type[P], state: State) -> P:
        """From a state as `view` returned it, JSON lists included."""
        raw: dict[str, Any] = dict(state)
        raw["skipped"], raw["late"] = tuple(raw.get("skipped", ())), tuple(raw.get("late", ()))
        raw["part"] = tuple(raw["part"]) if raw.get("part") else None
        return cls(**raw)

    def write(self) -> State:
        """The JSON form."""
        return {key: _lists(value) for key, value in asdict(self).items()}

    def asks_left(self, request: Request, retries: int) -> int:
        """How often the helper may still be asked in this turn, of ``1 + retries`` times."""
        return 1 + retries - (self.asks if self.turn == request.turn else 0)

    def may_ask(self, request: Request, retries: int) -> bool:
        """Whether the helper may be asked now: it did not fail too often, and the turn has asks left."""
        return self.failures < STOP_AFTER and self.asks_left(request, retries) > 0

    def after_asking(self: P, request: Request, calls: int) -> P:
        """With so many more asks in this turn."""
        before = self.asks if self.turn == request.turn else 0
        return replace(self, turn=request.turn, asks=before + calls) if calls else self

    def pending(self, log: Log) -> Iterator[int]:
        """Units that the summary does not cover, newest first."""
        return chain(range(len(log.units) - 1, self.reach - 1, -1), reversed(self.skipped))

    def covers(self, number: int) -> bool:
        """Whether the unit is in the summary, as far as it is conversation that can be."""
        return number < self.reach and number not in self.skipped

    def boundary(self, log: Log) -> int:
        """Index of the first message behind what is covered."""
        return log.units[self.reach].indices[0] if self.reach < len(log.units) else len(log)

    def marks(self, log: Log, shown: bool) -> dict[int, Status]:
        """Statuses of messages on the wrong side of the boundary; `assemble` overrules those that are in view."""
        marks = dict.fromkeys(self.late, Status.SUMMARISED if shown else Status.DROPPED)
        for number in self.skipped:
            marks.update(dict.fromkeys(log.units[number].indices, Status.DROPPED))
        return marks

    def advance(self: P, log: Log, must: Must, evicted: list[int], start: int, summary: Summary) -> P:
        """After `summary` covered the first of the `evicted` units; `start` is where the tail that is kept begins."""
        done, rest = evicted[: summary.covered], evicted[summary.covered :]
        reach = next((number for number in rest if number >= self.reach), start)
        passed = chain(self.skipped, range(self.reach, reach))
        # Pins too: one that is superseded later is conversation again, which nobody has condensed.
        held = {n for n in passed if n in must.units and log.units[n].kind != "system"}
        skipped = tuple(sorted(held.union(number for number in rest if number < reach)))
        moved = replace(self, text=summary.text, reach=reach, skipped=skipped, part=summary.part, failures=0)
        boundary = moved.boundary(log)
        covered = chain(self.late, (index for number in done for index in log.units[number].indices))
        return replace(moved, late=tuple(sorted(index for index in covered if index >= boundary)))


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


class Past(NamedTuple):
    """The one message that stands for what is not in view; None of no tokens when there is nothing to say.

    notes: whether the helper's notes are in it. events: what had to be left out of it.
    """

    message: Message | None
    tokens: int
    notes: bool = False
    events: tuple[Event, ...] = ()


class Condensing(Strategy):
    """Notes on the old, and the newest turns as they are. Nothing is done under the trigger.

    Between two compactions the message with the notes is the same bytes, so that a provider's prefix cache holds. When
    the helper model fails, what is not covered stays in view while it fits, then the oldest is left out but stays
    pending: a later compaction covers it.

    A subclass says what to ask for (`_brief`) and in what message it stands (`_wrap`). One that carries more than the
    notes, by its own means, puts it into `_pasts` and `_least`.
    """

    trigger: Size = Field(
        default=Size(fraction=0.8), description="compact when the view is larger than this (0.8: the ROTATE threshold)"
    )
    keep: Size = Field(default=Size(turns=4), description="recent conversation that stays raw after a compaction")
    max_tokens: int = Field(default=400, ge=SMALLEST, description="the most a summary may take, in tokens")
    role: Literal["user", "system", "assistant"] = Field(default="user", description="role of the summary message")
    retries: int = Field(default=2, ge=0, le=10, description=RETRIES)
    prompt: str | None = Field(
        default=None, min_length=1, description="instructions for the summariser, instead of ours"
    )

    @model_validator(mode="after")
    def _trigger_above_keep(self) -> Condensing:
        fault = trigger_fault(self.trigger, self.keep)
        if fault is not None:
            raise ValueError(fault)
        return self

    async def view(self, log: Log, state: State, request: Request) -> View:
        """System, pins, notes, recent conversation. Raises `BudgetError`, and `ConfigError` without a summariser."""
        auxiliary = self._helper(request)
        return await self._condensed(log, Progress.read(state), must_keep(log, request), request, auxiliary)

    def _brief(self, cap: int, request: Request) -> Brief:
        """What the helper is asked for; `cap` is in the counter's tokens."""
        raise NotImplementedError

    def _wrap(self, text: str) -> Message:
        """The message that holds these notes and nothing else."""
        raise NotImplementedError

    def _most(self) -> int:
        """The most the notes may take, in tokens."""
        return self.max_tokens

    def _least(self, log: Log, progress: Progress, must: Must, request: Request) -> int:
        """Tokens of the message for the past without any notes, when nothing but what must stay is in view."""
        return request.count(self._wrap(""))

    def _pasts(self, log: Log, progress: Progress, request: Request, hidden: Callable[[int], bool]) -> Iterator[Past]:
        """What could stand for the past, fullest first; the last is what has to. `hidden`: units not in view.

        Each takes no fewer tokens when more is hidden.
        """
        if progress.text:
            message = self._wrap(progress.text)
            tokens = request.count(message)
            yield Past(message, tokens, True)
            yield Past(None, 0, events=(Event("summary_left_out", {"tokens": tokens}),))
        else:
            yield Past(None, 0)

    def _helper(self, request: Request) -> Auxiliary:
        """The helper model. Raises `ConfigError` without one, and when the window puts the trigger below the keep."""
        refuse_trigger_below_keep(self.trigger, self.keep, request)
        return helper_of(self, request)

    async def _condensed(
        self, log: Log, progress: Progress, must: Must, request: Request, auxiliary: Auxiliary
    ) -> View:
        events: list[Event] = []
        calls = 0
        if progress.may_ask(request, self.retries) and not self._under_trigger(log, progress, must, request):
            before = progress
            progress, asked = await self._compact(log, progress, must, request, auxiliary)
            if asked is not None:
                calls = asked.calls
                events = [*asked.events, *self._report(log, before, progress, asked, must, request)]
        return self._assemble(log, progress, must, request, events, calls)

    def _under_trigger(self, log: Log, progress: Progress, must: Must, request: Request) -> bool:
        """True when everything not summarised fits under the trigger and into the budget."""
        limit = in_tokens(self.trigger, request)
        most = request.budget if limit is None else min(limit, request.budget)
        room = most - must.tokens - self._past(log, progress, must, request)
        keep = self.trigger if limit is None else None
        return newest(log, must, request, room=room, keep=keep, candidates=progress.pending(log)).complete

    async def _compact(
        self, log: Log, progress: P, must: Must, request: Request, auxiliary: Auxiliary
    ) -> tuple[P, Summary | None]:
        """Summarise what is pending beyond the tail to keep. The second value is None when nobody was asked."""
        room = request.budget - must.tokens - self._least(log, progress, must, request)
        most = max(1, int(self._most() / request.scale))
        cap = min(most, room)
        if cap < min(SMALLEST, most):
            return progress, None
        recent = range(len(log.units) - 1, progress.reach - 1, -1)
        tail = newest(log, must, request, room=room - cap, keep=self.keep, candidates=recent)
        evicted = [n for n in chain(progress.skipped, range(progress.reach, tail.start)) if n not in must.units]
        if sum(log.units[number].tokens for number in evicted) <= request.count(self._wrap("")):
            return progress, None  # no summary could be smaller than what it replaces
        previous = Summary(progress.text, 0, progress.part)
        asks = progress.asks_left(request, self.retries)
        summary = await summarise(log, evicted, auxiliary, request, self._brief(cap, request), previous, asks)
        progress = progress.after_asking(request, summary.calls)
        if summary.rejected:
            return replace(progress, failures=progress.failures + 1), summary
        return progress.advance(log, must, evicted, tail.start, summary), summary

    def _report(
        self, log: Log, before: Progress, now: Progress, asked: Summary, must: Must, request: Request
    ) -> Iterator[Event]:
        if not asked.rejected:
            sizes = [self._tokens(log, progress, must, request) for progress in (before, now)]
            yield Event("compaction", {"units": asked.covered, "tokens_before": sizes[0], "tokens_after": sizes[1]})
            yield from asked.unfinished()
        elif now.failures == STOP_AFTER:
            yield Event("summariser_stopped", {"after": STOP_AFTER})

    def _assemble(
        self, log: Log, progress: Progress, must: Must, request: Request, events: list[Event], calls: int
    ) -> View:
        past, tail = self._fitted(log, progress, must, request)
        events.extend(past.events)
        units = must.units.union(tail.units)
        if not tail.complete:
            pending = len(log.units) - progress.reach + len(progress.skipped)
            in_view = sum(number >= progress.reach or number in progress.skipped for number in units)
            events.append(Event("fallback", {"to": "fifo", "units_dropped": pending - in_view}))
        made = [] if past.message is None else [(place_of_past(log, units), Made(past.message, past.tokens))]
        return assemble(
            log,
            units,
            inserted=made,
            absent=(progress.boundary(log), Status.SUMMARISED if past.notes else Status.DROPPED),
            marks=progress.marks(log, past.notes),
            events=events,
            aux_calls=calls,
            state=progress.write(),
        )

    def _fitted(self, log: Log, progress: Progress, must: Must, request: Request) -> tuple[Past, Tail]:
        """The fullest message for the past that leaves the view within its budget, and the tail behind it.

        What the message has to say depends on what the tail leaves out, and the tail on what room the message takes;
        more left out never makes the message smaller, so that going back and forth comes to an end.
        """
        fullness = 0
        in_view: frozenset[int] | None = None
        while True:
            past = self._nth_past(log, progress, must, request, fullness, in_view)
            room = request.budget - must.tokens - past.tokens
            if room < 0:
                fullness, in_view = fullness + 1, None
                continue
            tail = newest(log, must, request, room=room, candidates=progress.pending(log))
            if tail.complete:
                return past, tail
            seen = must.units.union(tail.units)
            in_view = seen if in_view is None else in_view & seen
            final = self._nth_past(log, progress, must, request, fullness, in_view)
            if final.message == past.message:
                return final, tail

    def _nth_past(
        self, log: Log, progress: Progress, must: Must, request: Request, fullness: int, in_view: frozenset[int] | None
    ) -> Past:
        """The message of this fullness when these units are in view; None stands for all that is not covered."""

        def hidden(number: int) -> bool:
            if in_view is None:
                return progress.covers(number) and number not in must.units
            return number not in in_view

        past = next(islice(self._pasts(log, progress, request, hidden), fullness, None), None)
        if past is None:
            raise BudgetError(
                f"what must stay in view and what {self.type_name} carries besides do not fit into {request.budget:,} "
                "tokens: use a larger window",
                {**must.components, "budget": request.budget},
            )
        return past

    def _past(self, log: Log, progress: Progress, must: Must, request: Request) -> int:
        """Tokens of the message for the past when all that is not covered is in view."""
        return self._nth_past(log, progress, must, request, 0, None).tokens

    def _tokens(self, log: Log, progress: Progress, must: Must, request: Request) -> int:
        """Tokens of a view that holds everything the summary does not cover."""
        pending = sum(log.units[number].tokens for number in progress.pending(log) if number not in must.units)
        return must.tokens + self._past(log, progress, must, request) + pending


def helper_of(strategy: Strategy, request: Request) -> Auxiliary:
    """The request's helper model. Raises `ConfigError` when there is none."""
    if request.auxiliary is None:
        raise ConfigError(
            f"{strategy.type_name} needs a summariser: name a helper model for summaries, or pass summarizer="
        )
    return request.auxiliary


def place_of_past(log: Log, units: frozenset[int]) -> int:
    """Where a message about the past stands: after leading system messages and pins, before the current user message.

    `units` are those in view. In front of the current user message also when that is pinned.
    """
    always = set(log.always)
    first = min((log.units[number].indices[0] for number in units if number not in always), default=len(log))
    return first if log.current_user is None else min(first, log.current_user)
