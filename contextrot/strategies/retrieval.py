"""Retrieval: a short recent window, and from what has left it the units most similar to what is asked now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from contextrot.errors import ConfigError, ModelError
from contextrot.log import Log
from contextrot.strategies.base import Embedder, Event, Request, Size, State, Strategy, View, register
from contextrot.strategies.passages import Passages, best_first, passages, similarities
from contextrot.strategies.selection import Chosen, Frame, current_tags

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Views in a row in which the embedding model failed, after which it is not asked again in this session.
STOP_AFTER = 3


@register
class Retrieval(Strategy):
    """The recent turns as they are, and before them, verbatim, in order and whole, what the current message is about.

    After the first article's `select_context`: the query is the current user message; every unit that left the recent
    window is measured by its best passage (cosine, plus `tag_bonus` where tags are shared), and the `top_k` best are
    put back. A text that is in view already is never put in again. Four units are two exchanges, the two blocks the
    article retrieves, and LangChain's default for a retriever; four recent turns are the field's usual raw tail; 1,500
    tokens hold four passages of a usual size (300 to 400 tokens) and keep one long tool output from filling the window.

    Cost of a view: new texts are embedded, each once a session; then one dot product for every passage of the session
    (0.2 ms for 4,000 passages of the embedded default). Retrieved units stand in front of the recent ones, so a
    provider's prefix cache ends there whenever the question changes. When the embedding model fails, the view is the
    recent window alone, and an event says so.
    """

    type_name = "retrieval"
    summary = "embedding similarity (+ tags) over what left the recent window"

    top_k: int = Field(default=4, ge=1, description="units (messages or tool rounds) to retrieve at most")
    recent: Size = Field(default=Size(turns=4), description="recent conversation that stays as it is")
    min_similarity: float = Field(
        default=0.0, ge=-1, le=1, description="units less similar to the current message (cosine) are not retrieved"
    )
    max_tokens: int = Field(
        default=1500, ge=1, description="the most the retrieved units may take, in tokens; never over half of the room"
    )
    tag_bonus: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="added to the similarity of messages with all tags of the current turn, in part for some of them",
    )

    async def view(self, log: Log, state: State, request: Request) -> View:
        """System, pins, retrieved units, recent turns. Raises `BudgetError`, and `ConfigError` without an embedder."""
        if request.embedder is None:
            raise ConfigError(f"{self.type_name} needs an embedding model, and the request brings none")
        frame = Frame(log, request, self.recent, self.max_tokens)
        query = [] if log.current_user is None else list(passages(log.messages[log.current_user].text))
        failures = state.get("failures", 0)
        if frame.complete or not query or failures >= STOP_AFTER:
            return frame.view(Chosen(), state={"failures": failures})
        index = log.index_of(Passages)
        try:
            scores = await self._scores(log, index, query, frame.in_view, request.embedder)
        except ModelError as error:
            return frame.view(Chosen(), _failed(error, failures + 1), {"failures": failures + 1})
        ranked = (index.owner(number) for number in best_first(scores, 4 * self.top_k))
        chosen = frame.choose(ranked, self.top_k)
        events = []
        if chosen.units or chosen.left_out:
            detail = {"units": len(chosen.units), "tokens": chosen.tokens, "left_out": chosen.left_out}
            events.append(Event("retrieval", detail | {"best": round(float(scores.max()), 3)}))
        return frame.view(chosen, events, {"failures": 0})

    async def _scores(
        self, log: Log, index: Passages, query: list[str], in_view: frozenset[int], embedder: Embedder
    ) -> NDArray[np.float32]:
        """A score for every passage; minus infinity for what is in view already, or not similar enough."""
        import numpy as np

        scores = await similarities(embedder, query, index.texts)
        scores = np.where(scores < self.min_similarity, np.float32(-np.inf), scores)
        wanted = current_tags(log)
        for shared, numbers in index.tagged(wanted) if self.tag_bonus and wanted else ():
            scores[numbers] += np.float32(self.tag_bonus * shared / len(wanted))
        scores[index.said_by(log, in_view)] = -np.inf
        return scores


def _failed(error: ModelError, failures: int) -> list[Event]:
    events = [Event("retrieval_failed", {"reason": str(error)})]
    if failures == STOP_AFTER:
        events.append(Event("retrieval_stopped", {"after": STOP_AFTER}))
    return events


@register
class PinnedPlusRetrieval(Retrieval):
    """`retrieval` in which the scenario's pinned statements are never evicted.

    The first article's advice: "pinned blocks always, retrieved blocks for relevance, and a small recent-turns buffer
    for conversational flow".
    """

    type_name = "pinned_plus_retrieval"
    honours_pins = True
    summary = "pins + retrieved + recent"
