"""Observation masking: old tool outputs make room, the shape of the conversation stays."""

from __future__ import annotations

from pydantic import Field

from contextrot.log import Log
from contextrot.messages import Message
from contextrot.outcomes import Status
from contextrot.strategies.assemble import Made, Must, assemble, must_keep, newest
from contextrot.strategies.base import Event, Request, Size, State, Strategy, View, register
from contextrot.strategies.sizes import in_tokens


@register
class ObservationMasking(Strategy):
    """Replaces the text of all tool results but the newest by a placeholder; no model is asked.

    Counted are results (observations), not rounds, as in "The Complexity Trap" (Lindenbauer et al. 2025), where masking
    matched summaries at half the cost. Results the model has not seen yet and rounds with a pin are never masked.
    """

    type_name = "observation_masking"
    summary = "tool outputs but the last k replaced by a placeholder"

    keep_last: int = Field(
        default=3, ge=0, description="newest tool results that stay as they are; 3 to 5 usually suffice"
    )
    placeholder: str = Field(
        default="[{tool} output left out: {tokens} tokens]",
        description="what stands for a masked result; {tool} and {tokens} are filled in",
    )
    trigger: Size | None = Field(
        default=None, description="mask only when the conversation is larger than this; none: always"
    )

    async def view(self, log: Log, state: State, request: Request) -> View:
        """The log with old tool results masked; oldest units go when that is still too much. Raises `BudgetError`."""
        must = must_keep(log, request)
        if self._untouched(log, must, request):
            return assemble(log, range(len(log.units)))
        masks = _Masks(self, log, request, sum(_results(log, number) for number in must.recent))
        tail = newest(log, must, request, room=request.budget - must.tokens, weigh=masks.weigh)
        units = must.units.union(tail.units)
        events = []
        if not tail.complete:
            events.append(Event("fallback", {"to": "fifo", "units_dropped": len(log.units) - len(units)}))
        return assemble(log, units, stand_ins=masks.made, events=events)

    def _untouched(self, log: Log, must: Must, request: Request) -> bool:
        """True under the trigger, where nothing is done."""
        if self.trigger is None or log.tokens > request.budget:
            return False
        limit = in_tokens(self.trigger, request)
        if limit is not None:
            return log.tokens <= limit
        return newest(log, must, request, room=request.budget - must.tokens, keep=self.trigger).complete


class _Masks:
    """The placeholders of one view, made as the walk from the newest unit comes by."""

    def __init__(self, strategy: ObservationMasking, log: Log, request: Request, kept: int) -> None:
        self._strategy = strategy
        self._log = log
        self._request = request
        self._kept = kept
        self.made: dict[int, tuple[Status, Made]] = {}

    def weigh(self, number: int) -> int:
        """Tokens of a unit after masking. Every unit is weighed once, newest first."""
        unit = self._log.units[number]
        tokens = unit.tokens
        if unit.kind != "tool_round":
            return tokens
        for index in reversed(unit.indices[1:]):
            entry = self._log[index]
            if self._kept < self._strategy.keep_last:
                self._kept += 1
                continue
            made = self._placeholder(unit.indices[0], entry.message, entry.tokens)
            if made.tokens < entry.tokens:
                self.made[index] = (Status.MASKED, made)
                tokens += made.tokens - entry.tokens
        return tokens

    def _placeholder(self, call_index: int, result: Message, tokens: int) -> Made:
        calls = self._log[call_index].message.tool_calls
        name = next((call.name for call in calls if call.id == result.tool_call_id), "") or "tool"
        text = self._strategy.placeholder.replace("{tool}", name).replace("{tokens}", str(tokens))
        message = Message("tool", text, tool_call_id=result.tool_call_id, extra=result.extra)
        return Made(message, self._request.count(message))


def _results(log: Log, number: int) -> int:
    """Tool results in a unit."""
    return len(log.units[number].indices) - 1
