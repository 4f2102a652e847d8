"""The strategies that only choose: everything, the newest that fit, and the newest that fit beside what is pinned."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, field_validator

from contextrot.errors import BudgetError, WindowOverflowError
from contextrot.log import Log
from contextrot.outcomes import Status
from contextrot.strategies.assemble import Must, assemble, must_keep, newest
from contextrot.strategies.base import Manifest, Request, Size, State, Strategy, View, register
from contextrot.strategies.sizes import in_tokens, words


@register
class Full(Strategy):
    """The log as it is. Its view costs what its own length costs; all others are measured against it."""

    type_name = "full"
    summary = "the log as it is; overflow is a result, not a crash"

    async def view(self, log: Log, state: State, request: Request) -> View:
        """Everything. Raises `WindowOverflowError` when the log is longer than the budget."""
        if log.tokens > request.budget:
            parts = {"the whole log": log.tokens, "budget": request.budget}
            raise WindowOverflowError(
                f"the log has grown to {log.tokens:,} tokens and the budget is {request.budget:,}: "
                "under `full` the session ends here; a larger window or another strategy goes on",
                parts,
            )
        length = len(log)
        manifest = Manifest([(Status.VERBATIM, 0, length)] if length else [])
        return View(tuple(log.messages), tuple(range(length)), manifest, log.tokens)


@register
class Fifo(Strategy):
    """First in, first out: the newest units that fit, what is older is gone.

    "Plain FIFO" is what the first article compares with: what was said once is lost when it slides out.
    """

    type_name = "fifo"
    aliases: ClassVar[tuple[str, ...]] = ("sliding_window",)
    summary = "the newest units that fit"

    keep: Size | None = Field(
        default=None,
        description="how much recent conversation to keep at most, system messages and pins apart; none: all that fits",
    )

    async def view(self, log: Log, state: State, request: Request) -> View:
        """System messages and pins, and the newest of the conversation. Raises `BudgetError`."""
        must = must_keep(log, request)
        self._refuse(must, request)
        tail = newest(log, must, request, room=request.budget - must.tokens, keep=self.keep)
        return assemble(log, must.units.union(tail.units))

    def _refuse(self, must: Must, request: Request) -> None:
        """A subclass's own reasons to raise `BudgetError` before anything is chosen."""


@register
class Pinned(Fifo):
    """`fifo` in which the scenario's pinned statements are never evicted.

    A pin keeps the whole message it stands in: what else that turn states is kept with it, pinned or not.

    After the first article: "pinned context: user constraints, preferences, open workflows. Never evicted", the rest
    "evicted oldest-first when the budget runs out", and an error where the pins alone exceed their budget.
    """

    type_name = "pinned"
    aliases = ()
    honours_pins = True
    summary = "pins never evicted, rest oldest-first; pins over their budget are an error before the first call"

    pin_budget: Size | None = Field(
        default=None, description="tokens or fraction of the window that pins may take; none: as much as fits"
    )

    @field_validator("pin_budget")
    @classmethod
    def _in_tokens(cls, size: Size | None) -> Size | None:
        if size is not None and size.tokens is None and size.fraction is None:
            raise ValueError("give the pins' budget in tokens or as a fraction of the window")
        return size

    def _refuse(self, must: Must, request: Request) -> None:
        limit = in_tokens(self.pin_budget, request) if self.pin_budget is not None else None
        if self.pin_budget is not None and limit is not None and must.pins > limit:
            raise BudgetError(
                f"pins take {must.pins:,} tokens, more than their budget of {words(self.pin_budget)}: "
                "pin less, or raise pin_budget",
                {"pins": must.pins, "pin_budget": limit},
            )
