"""What stands in for models, agents and files when a bench is rehearsed to see what it would take; nothing is sent.

The sessions, strategies and scripts of a rehearsal are the real ones. Only the answers are made up: texts of an assumed
length, the tool calls that probes hope for, summaries cut from the transcript. A simulated model answers as it would.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from contextrot.bench.embedding import RecordedEmbedder
from contextrot.bench.gate import Throttle
from contextrot.bench.plan import DEFAULT_EMBEDDER, Plan
from contextrot.bench.redact import Redactor
from contextrot.bench.store import Record, SessionFile
from contextrot.errors import ContextOverflowError
from contextrot.messages import Message, Reply, Usage, mentions
from contextrot.models import AgentModel, Model
from contextrot.models.base import Call, Price, Truth
from contextrot.models.embedders import EmbeddingCall, SessionEmbedder, create_embedder
from contextrot.models.extractive import extract
from contextrot.tokens import TokenCounter

#: The shortest prefix that providers take from their cache, in tokens, and the steps in which they count it (OpenAI's
#: rule; Anthropic's smallest is 1,024 to 4,096 and Gemini's 1,024 to 4,096, by model).
CACHE_FROM, CACHE_STEP = 1024, 128
#: Prompts of a session that may still be in the cache when the next one comes: a turn's own and those of its probes.
_REMEMBERED = 6
_WORDS = (
    "the", "team", "has", "made", "good", "way", "and", "will", "look", "at", "next", "step", "with", "care",
    "for", "all", "who", "work", "on", "this", "part", "of", "our", "plan",
)  # fmt: skip
Part = Literal["answers", "helps", "judges"]


class Amount(NamedTuple):
    """Calls and tokens of one model. `cached` of the prompt tokens could be answered from the provider's cache."""

    calls: float = 0.0
    prompt: float = 0.0
    completion: float = 0.0
    cached: float = 0.0

    def plus(self, other: Amount) -> Amount:
        """The sum."""
        return Amount(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: float) -> Amount:
        """So many times as much."""
        return Amount(*(value * factor for value in self))


class PrefixCache:
    """A provider's prompt cache as one session meets it: how much of a prompt was sent before, from its first token."""

    def __init__(self) -> None:
        self._session = ""
        self._sent: deque[tuple[int, tuple[Message, ...]]] = deque(maxlen=_REMEMBERED)

    def look(self, session: str, tools: int, messages: tuple[Message, ...], sizes: Sequence[int]) -> int:
        """Tokens of this prompt that the cache holds; it then holds all of it. `tools` (tokens) stand first in it."""
        if session != self._session:
            self._session = session
            self._sent.clear()
        longest = max((_shared(known, messages) for fixed, known in self._sent if fixed == tools), default=0)
        self._sent.append((tools, messages))
        tokens = tools + sum(sizes[:longest]) if longest else 0
        return tokens // CACHE_STEP * CACHE_STEP if tokens >= CACHE_FROM else 0


def _shared(known: tuple[Message, ...], messages: tuple[Message, ...]) -> int:
    """How many messages two prompts have in common from their beginning."""
    if messages[: len(known)] == known:
        return len(known)
    count = 0
    for old, new in zip(known, messages, strict=False):
        if old is not new and old.digest != new.digest:
            break
        count += 1
    return count


class StandIn:
    """A model of the matrix in a rehearsal: counts what it is sent and answers at once.

    part: what it is asked for: answers in sessions, notes for strategies, or verdicts. reply_tokens: length of an
    answer. With `own` the model itself answers (simulated and extractive ones, which cost nothing).
    """

    parallel: int | None = None
    #: so that it is told what a probe hopes for
    simulated = True

    def __init__(self, model: Model, part: Part, reply_tokens: int, *, own: bool = False) -> None:
        self.spec, self.window = model.spec, model.window
        self.price: Price | None = model.price
        self.count_tokens: Callable[[str], int] | None = model.count_tokens
        self.part, self.reply_tokens = part, reply_tokens
        self._own = model if own else None
        self._counter = TokenCounter(self.count_tokens)
        # What a chat template adds is known where the model runs here.
        whole = getattr(model, "count_prompt", None)
        self._whole: Callable[..., int] | None = whole if self.count_tokens is not None else None
        self._counts: dict[bytes, int] = {}
        self._cache = PrefixCache()

    async def complete(self, call: Call) -> Reply:
        """The made-up reply, with usage as a provider would state it. Raises `ContextOverflowError` over the window."""
        sizes = [self._size(message) for message in call.messages]
        tools = self._counter.tools(call.tools) if call.tools else 0
        total = tools + sum(sizes)
        cached = self._cache.look(call.session, tools, tuple(call.messages), sizes)
        if self._own is not None:
            reply = await self._own.complete(call)
            return replace(reply, usage=reply.usage._replace(cached_tokens=cached))
        if self._whole is not None:
            total = self._whole(call.messages, call.tools)
        if self.window and total > self.window:
            raise ContextOverflowError(f"the prompt has {total:,} tokens, longer than the window ({self.window:,})")
        reply = self._reply(call)
        written = self._counter.message(reply.to_message()) - self._counter.message(Message("assistant", ""))
        return replace(reply, usage=Usage(total, written, cached), model=self.spec.id)

    async def close(self) -> None:
        """Nothing is held open."""

    def _size(self, message: Message) -> int:
        size = self._counts.get(message.digest)
        if size is None:
            size = self._counts[message.digest] = self._counter.message(message)
        return size

    def _reply(self, call: Call) -> Reply:
        hoped = _hoped(call.hint)
        if self.part == "judges" and hoped is not None:
            return hoped
        if self.part == "helps" and (notes := extract(call.messages, call.max_tokens)):
            return Reply(notes, finish_reason="stop")
        if hoped is not None and hoped.tool_calls and call.messages[-1].role != "tool" and _could(call):
            return hoped
        return Reply(words(min(self.reply_tokens, call.max_tokens), call.seed), finish_reason="stop")


def _hoped(hint: Truth | None) -> Reply | None:
    """The answer that keeps everything that is looked for, or at least the first of it."""
    if hint is None:
        return None
    n = len(hint.evidence)
    return hint.reply((True,) * n) or hint.reply((True,) + (False,) * (n - 1))


def _could(call: Call) -> bool:
    """Whether what the first of the checks rests on stands in the prompt, as it does not in a floor control."""
    first = call.hint.evidence[0] if call.hint is not None and call.hint.evidence else None
    needed = (first,) if isinstance(first, str) else first or ()
    return all(any(mentions(message.text, text) for message in call.messages) for text in needed)


def words(tokens: int, seed: int) -> str:
    """Plain sentences of so many tokens: every word and every full stop is one."""
    made: list[str] = []
    place = seed % len(_WORDS)
    for number in range(max(1, tokens)):
        if number % 12 == 11:
            made[-1] += "."
        else:
            made.append(_WORDS[(place + number) % len(_WORDS)])
    return " ".join(made)


@dataclass
class AgentStandIn:
    """The user's own agent in a rehearsal, and each of its conversations. What it sends to its model nobody knows."""

    model: AgentModel
    reply_tokens: int

    def new_session(self) -> AgentStandIn:
        """It remembers nothing, so one is as good as another."""
        return self

    async def feed(self, text: str, timeout: float = 0.0) -> Reply:
        """A text of the assumed length."""
        return Reply(words(self.reply_tokens, len(text)), finish_reason="stop")

    async def fork(self) -> AgentStandIn:
        """The same."""
        return self

    async def close(self) -> None:
        """Nothing is held open."""

    def __getattr__(self, name: str) -> object:
        return getattr(self.model, name)


class Ledger(SessionFile):
    """The file of a rehearsed session: adds up its calls by purpose and by the model asked, and keeps nothing else."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(Path(os.devnull), Redactor())
        self.purposes: Counter[str] = Counter()
        self.amounts: dict[str, Amount] = {}
        #: models that do not say what they take
        self.untold: set[str] = set()
        self.ended = ""
        #: whether a view ever was anything but the log as it is
        self.fired = False
        #: the largest share of the window that a prompt of a turn or a probe took
        self.fullest = 0.0
        self._plan = plan

    def emit(self, record: Record) -> None:
        """Count a call, note an end."""
        if record["t"] == "end":
            self.ended = record["ended"]
        if record["t"] != "call":
            return
        if record["purpose"] in ("turn", "probe"):
            self._look(record)
        usage, label = record["usage"], record.get("asked") or self._plan.model.label
        if record["reply"] is None:
            return  # the prompt was refused: nothing is billed
        if usage["prompt_tokens"] is None:
            self.untold.add(label)
        self._add(
            label,
            record["purpose"],
            Amount(1, usage["prompt_tokens"] or 0, usage["completion_tokens"] or 0, usage["cached_tokens"] or 0),
        )

    def _look(self, record: Record) -> None:
        view = record["view"] or {}  # None: an agent does not say what its model is sent
        self.fired |= bool(view.get("made")) or any(status != "verbatim" for status, *_ in view.get("manifest", ()))
        self.fullest = max(self.fullest, record["occupancy"] or 0.0)

    def embedded(self, call: EmbeddingCall) -> None:
        """Count a call of a provider's embedding model."""
        self._add(self._plan.embedder.label, "embedding", Amount(1, call.tokens or 0))

    def discard(self) -> None:
        """Nothing is kept."""

    def _add(self, label: str, purpose: str, amount: Amount) -> None:
        self.purposes[purpose] += 1
        self.amounts[label] = self.amounts.get(label, Amount()).plus(amount)


class RehearsedEmbedder(RecordedEmbedder):
    """The embedded model in place of whichever the bench would ask; a provider's calls are counted all the same."""

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        super().__init__(DEFAULT_EMBEDDER, ledger, Throttle())
        asked = not plan.embedder.id.startswith(("wordllama", "sentence-transformers/"))
        self._on_call = ledger.embedded if asked else None

    def _embedder(self) -> SessionEmbedder:
        if self._made is None:
            self._made = create_embedder(DEFAULT_EMBEDDER, on_call=self._on_call)
        return self._made
