"""Notes on what is over: finished tasks and expired episodes, condensed by the helper model at their end.

Where a compaction asks because the view is large, these ask because something has ended. The rest is the same: the
helper sees every unit, bad answers are not taken, and what is not covered stays in view while it fits (`Progress`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from contextrot.log import Log
from contextrot.messages import Message
from contextrot.outcomes import Status
from contextrot.strategies.assemble import Made, Must, assemble, newest
from contextrot.strategies.base import Auxiliary, Event, Request, View
from contextrot.strategies.condensing import SMALLEST, STOP_AFTER, Progress, place_of_past
from contextrot.strategies.summariser import Brief, Summary, summarise


@dataclass(frozen=True, slots=True)
class Notes:
    """How the notes are asked for, and the tagged user message they stand in."""

    header: str
    max_tokens: int
    retries: int
    prompt: str

    def wrap(self, text: str) -> Message:
        """The message that holds these notes."""
        return Message("user", f"{self.header}\n{text}")

    def tokens(self, progress: Progress, request: Request) -> int:
        """Tokens of the message; 0 while there are no notes."""
        return request.count(self.wrap(progress.text)) if progress.text else 0

    def reserve(self, request: Request) -> int:
        """Tokens of the message when the notes take all they may."""
        return request.count(self.wrap("")) + self._most(request)

    async def cover(
        self, log: Log, progress: Progress, must: Must, request: Request, auxiliary: Auxiliary, over: Iterable[int]
    ) -> tuple[Progress, list[Event], int]:
        """The notes brought up to date with the units that are `over`: numbers, ascending, not covered so far.

        Returns the new progress, events, and calls of the helper model. Nobody is asked when there is too little to
        condense, no room for notes, no ask left in this turn, or the helper failed too often.
        """
        if not progress.may_ask(request, self.retries):
            return progress, [], 0
        ended = list(over)
        evicted = [number for number in ended if number not in must.units]
        header = request.count(self.wrap(""))
        most = self._most(request)
        cap = min(most, request.budget - must.tokens - header)
        if cap < min(SMALLEST, most) or sum(log.units[number].tokens for number in evicted) <= header:
            return progress, [], 0
        brief = Brief(cap, self.wrap, prompt=self.prompt)
        previous = Summary(progress.text, 0, progress.part)
        asks = progress.asks_left(request, self.retries)
        summary = await summarise(log, evicted, auxiliary, request, brief, previous, asks)
        progress = progress.after_asking(request, summary.calls)
        events = list(summary.events)
        if summary.rejected:
            failed = replace(progress, failures=progress.failures + 1)
            if failed.failures == STOP_AFTER:
                events.append(Event("summariser_stopped", {"after": STOP_AFTER}))
            return failed, events, summary.calls
        now = progress.advance(log, must, evicted, ended[-1] + 1, summary)
        belonging = set(ended)
        now = replace(now, skipped=tuple(number for number in now.skipped if number in belonging))
        gone = sum(log.units[number].tokens for number in evicted[: summary.covered])
        before = self.tokens(progress, request) + gone
        sizes = {"tokens_before": before, "tokens_after": self.tokens(now, request)}
        events += [Event("compaction", {"units": summary.covered, **sizes}), *summary.unfinished()]
        return now, events, summary.calls

    def _most(self, request: Request) -> int:
        return max(1, int(self.max_tokens / request.scale))

    def show(
        self,
        log: Log,
        progress: Progress,
        must: Must,
        request: Request,
        *,
        beside: Sequence[int] = (),
        events: Sequence[Event] = (),
        calls: int = 0,
    ) -> View:
        """System, pins, notes, and the newest of what the notes do not cover.

        `beside` are units, ascending, that belong in the view although they are older than where the notes end.
        """
        told = list(events)
        tokens = self.tokens(progress, request)
        if tokens > request.budget - must.tokens:
            told.append(Event("summary_left_out", {"tokens": tokens}))
            tokens = 0
        shown = tokens > 0
        older = (*progress.skipped, *beside)
        pending = chain(range(len(log.units) - 1, progress.reach - 1, -1), sorted(older, reverse=True))
        tail = newest(log, must, request, room=request.budget - must.tokens - tokens, candidates=pending)
        units = must.units.union(tail.units)
        if not tail.complete:
            belonging = set(older)
            in_view = sum(number >= progress.reach or number in belonging for number in units)
            left_out = len(log.units) - progress.reach + len(older) - in_view
            told.append(Event("fallback", {"to": "fifo", "units_dropped": left_out}))
        marks = progress.marks(log, shown)
        for number in beside:
            marks.update(dict.fromkeys(log.units[number].indices, Status.DROPPED))
        return assemble(
            log,
            units,
            inserted=[(place_of_past(log, units), Made(self.wrap(progress.text), tokens))] if shown else [],
            absent=(progress.boundary(log), Status.SUMMARISED if shown else Status.DROPPED),
            marks=marks,
            events=told,
            aux_calls=calls,
            state=progress.write(),
        )
