"""Re-anchoring: another strategy, with the standing rules said again every so often."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from contextrot.errors import BudgetError
from contextrot.log import Log
from contextrot.messages import Message, ToolCall
from contextrot.strategies.assemble import Made
from contextrot.strategies.base import Event, Request, State, Strategy, View, register
from contextrot.strategies.load import AnyStrategy
from contextrot.strategies.window import Full


@register
class ReAnchor(Strategy):
    """Repeats what was stated for the whole session directly before the current user message.

    When: every `every_n_turns` turns, and for `after_violation` turns after a check failed, as the third article's
    `should_reanchor`. What: the texts of `Log.standing`, each once, where it was stated last. The room it takes is
    taken from the inner strategy; where there is none, the view goes out without it and an event says so.
    """

    type_name = "re_anchor"
    summary = "wraps another: re-injects the pinned text every N turns or after a violation"

    inner: AnyStrategy = Field(default_factory=Full, description="the strategy that is wrapped")
    every_n_turns: int = Field(default=10, ge=1, description="repeat the rules every so many turns")
    after_violation: int = Field(
        default=3, ge=0, description="turns after a failed check in which the rules are repeated; 0: not at all"
    )
    header: str = Field(
        default="[Reminder: these still hold]", min_length=1, description="first line of the repeated text"
    )

    def wants_pins(self) -> bool:
        """As the inner strategy."""
        return self.inner.wants_pins()

    async def view(self, log: Log, state: State, request: Request) -> View:
        """The inner strategy's view, with the reminder where it is due. Raises what the inner strategy raises."""
        inner_state: State = state.get("inner", {})
        reminder = self._reminder(log, request) if self._due(request) else None
        if reminder is None:
            view = await self.inner.view(log, inner_state, request)
            return replace(view, state={"inner": view.state})
        try:
            smaller = replace(request, budget=request.budget - reminder.tokens)
            view = await self.inner.view(log, inner_state, smaller)
        except BudgetError:
            view = await self.inner.view(log, inner_state, request)
            event = Event("re_anchor_left_out", {"tokens": reminder.tokens})
            return replace(view, events=(*view.events, event), state={"inner": view.state})
        place = view.sources.index(log.current_user)
        return replace(
            view,
            messages=(*view.messages[:place], reminder.message, *view.messages[place:]),
            sources=(*view.sources[:place], None, *view.sources[place:]),
            tokens=view.tokens + reminder.tokens,
            events=(*view.events, Event("re_anchor", {"tokens": reminder.tokens})),
            state={"inner": view.state},
        )

    def answer(self, call: ToolCall, log: Log, state: State) -> str | None:
        """As the inner strategy."""
        return self.inner.answer(call, log, state.get("inner", {}))

    def _due(self, request: Request) -> bool:
        violation = request.last_violation
        if violation is not None and 0 <= request.turn - violation < self.after_violation:
            return True
        return request.turn > 0 and request.turn % self.every_n_turns == 0

    def _reminder(self, log: Log, request: Request) -> Made | None:
        """The message to put in, or None when nothing stands or nobody has spoken."""
        if log.current_user is None:
            return None
        texts: dict[str, None] = {}
        for index in log.standing:
            entry = log[index]
            for text in entry.standing or (entry.message.text,):
                texts.pop(text, None)
                if index != log.current_user:  # what the user says now follows the reminder as it is
                    texts[text] = None
        if not texts:
            return None
        message = Message("user", "\n".join((self.header, *texts)))
        return Made(message, request.count(message))
