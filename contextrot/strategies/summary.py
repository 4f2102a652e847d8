"""Rolling summary: what is old is condensed by a helper model, what is recent stays as it was said."""

from __future__ import annotations

from pydantic import Field

from contextrot.messages import Message
from contextrot.strategies.base import Request, register
from contextrot.strategies.condensing import Condensing
from contextrot.strategies.summariser import DEFAULT_PROMPT, Brief

HEADER = "[Summary of the earlier conversation]"


@register
class RollingSummary(Condensing):
    """A summary of the old, and the newest turns as they are.

    The second article's first technique (`RollingSummaryAgent`); the trigger is its ROTATE threshold. The first article
    warns of it: "each pass loses precision", which `incremental: false` measures.
    """

    type_name = "rolling_summary"
    aliases = ("summarization",)
    summary = "summary + recent turns; incremental: false measures summary-of-summary drift"

    incremental: bool = Field(
        default=True, description="update the previous summary; false: summarise it together with what is new"
    )

    def _brief(self, cap: int, request: Request) -> Brief:
        return Brief(cap, self._wrap, self.incremental, self.prompt or DEFAULT_PROMPT)

    def _wrap(self, text: str) -> Message:
        return Message(self.role, f"{HEADER}\n{text}")
