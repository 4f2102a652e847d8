"""Layers: what holds always, what the session came to, and the task at hand, each with a share of the window."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import merge

from pydantic import Field, field_validator, model_validator

from contextrot.log import Log
from contextrot.outcomes import Status
from contextrot.strategies.assemble import Made, assemble, must_keep, newest
from contextrot.strategies.base import Request, Size, State, Strategy, View, register
from contextrot.strategies.sizes import in_tokens
from contextrot.strategies.tasks import Conclusions, finished, under_way


@register
class Hierarchical(Strategy):
    """A global, a session and a task layer, after the question that ends the comment under the first article.

    Global: system, pins, and the messages that state rules and facts for the session, newest first. Task: the units of
    the task under way, newest first, the current user message included. Session: what finished tasks concluded and
    what belongs to no task, newest first. What must stay in view counts in its layer's share but is never cut by it.

    Where no task is marked, the newest units are the task at hand and those before them the session. The comment gives
    no shares; by default half of the window is for the task, three tenths for the session and two for what holds
    always. A share that is not used up is left empty, so that a layer's content does not depend on the others'.
    """

    type_name = "hierarchical"
    honours_pins = True
    summary = "global + session + task layers with a budget each"

    global_share: Size = Field(default=Size(fraction=0.2), description="most for system, pins and standing statements")
    session_share: Size = Field(default=Size(fraction=0.3), description="most for conclusions and the session's turns")
    task_share: Size = Field(default=Size(fraction=0.5), description="most for the task under way")

    @field_validator("global_share", "session_share", "task_share")
    @classmethod
    def _in_tokens(cls, size: Size) -> Size:
        if size.tokens is None and size.fraction is None:
            raise ValueError("give a share in tokens or as a fraction of the window")
        return size

    @model_validator(mode="after")
    def _no_more_than_all(self) -> Hierarchical:
        total = sum(share.fraction or 0 for share in (self.global_share, self.session_share, self.task_share))
        if total > 1 + 1e-9:
            raise ValueError(f"the three shares come to {total:g} of the window; they may not be more than 1")
        return self

    async def view(self, log: Log, state: State, request: Request) -> View:
        """What must stay, then the layers in the order global, task, session. Raises `BudgetError`."""
        must = must_keep(log, request)
        current = under_way(log)
        conclusions = Conclusions(log, request)
        said = must.components["current user message"] + must.components["unseen tool results"]
        session = merge(conclusions.of(finished(log)), reversed(log.taskless), reverse=True)
        layers: list[tuple[Size, int, Iterable[int]]] = [
            (self.global_share, must.tokens - said, _stating(log)),
            (self.task_share, said, reversed(log.taskless if current is None else current.units)),
            (self.session_share, 0, session),
        ]
        chosen: set[int] = set()
        stand_ins: dict[int, tuple[Status, Made]] = {}
        room = request.budget - must.tokens
        for share, taken, candidates in layers:
            left = min(room, (in_tokens(share, request) or 0) - taken)
            fresh = (number for number in candidates if number not in chosen)
            tail = newest(log, must, request, room=left, candidates=fresh, weigh=conclusions.weigh)
            chosen.update(tail.units)
            if candidates is session:  # what another layer took is there as it was said
                stand_ins = conclusions.stand_ins(tail.units)
            room -= tail.tokens
        return assemble(log, must.units.union(chosen), stand_ins=stand_ins)


def _stating(log: Log) -> Iterable[int]:
    """Units with a statement that stands, newest first, each once."""
    last = -1
    for index in reversed(log.standing):
        number = log.unit_of(index)
        if number != last:
            yield number
        last = number
