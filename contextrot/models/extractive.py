"""`extractive`: a summariser without a model, for tests and for those who want none.

It reads the prompt that a strategy gives its helper model and answers with sentences of the transcript, word for word:
rules, decisions, names, numbers. Where the prompt asks for JSON of a schema, it answers JSON of that schema. The same
prompt gets the same answer. It understands nothing: a table made with it says `extractive`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextrot.messages import Message, Reply, Usage
from contextrot.models.base import Call, ModelSpec, Price
from contextrot.models.extractive_json import fill
from contextrot.models.salience import ranked, sentences
from contextrot.tokens import TokenCounter, estimate

NAME = "extractive"
#: Tokens a prompt may have; the work is linear in them, so this only keeps an accident from taking minutes.
WINDOW = 1_000_000
_FENCED = re.compile(r"^(===== [0-9a-f]{12} =====)\n(.*?)\n?^\1$", re.MULTILINE | re.DOTALL)
_WORDS = re.compile(r"At most (\d+) words")
_OVER = re.compile(r"could not be used: .*?\(([\d,]+)(?: of| tokens for) ([\d,]+)(?: tokens)?\)")
#: Share of the room that is aimed at: what a provider counts is not what is counted here.
_AIM = 0.9
#: Share of a transcript that may be repeated at most, or it would be no summary.
_CONDENSED = 0.5


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a summariser is asked: the transcript, the notes so far, a schema for the answer, its room in tokens."""

    transcript: str
    notes: str
    schema: Mapping[str, Any] | None
    room: int


def read_prompt(messages: Sequence[Message], max_tokens: int) -> Prompt:
    """The parts of a summariser's prompt: fenced texts, and a JSON Schema in the system message.

    Of a prompt in another form, all of the last user message is the transcript.
    """
    rules = "\n".join(message.text for message in messages if message.role == "system")
    body = next((message.text for message in reversed(messages) if message.role == "user"), "")
    blocks = [text for _, text in _FENCED.findall(body)]
    transcript = blocks[-1] if blocks else body
    notes = blocks[0] if len(blocks) > 1 else ""
    ending = _FENCED.sub("", body) if blocks else ""
    room = float(max_tokens)
    if words := _WORDS.search(ending):
        room = min(room, int(words[1]) / 0.6)  # the prompt counts 0.6 words a token
    room = min(room * _AIM, estimate(transcript) * _CONDENSED + estimate(notes))
    if over := _OVER.search(ending):
        had, limit = (int(number.replace(",", "")) for number in over.groups())
        room *= min(0.5, limit / max(1, had))
    return Prompt(transcript, notes, _schema(rules), max(1, int(room)))


def extract(messages: Sequence[Message], max_tokens: int) -> str:
    """The answer to a summariser's prompt, of at most `max_tokens` tokens. Empty when nothing fits or was said."""
    prompt = read_prompt(messages, max_tokens)
    if prompt.schema is not None:
        return fill(prompt.schema, prompt.transcript, prompt.notes, prompt.room)
    found = sentences(prompt.transcript, prompt.notes)
    chosen: dict[int, str] = {}
    left = prompt.room
    for sentence in ranked(found):
        line = f"- {sentence.text}" if sentence.speaker == "notes" else f"- {sentence.speaker}: {sentence.text}"
        tokens = estimate(line)
        if tokens <= left and sentence.speaker != "call":
            chosen[sentence.place] = line
            left -= tokens
    return "\n".join(chosen[place] for place in sorted(chosen))


def _schema(rules: str) -> Mapping[str, Any] | None:
    """The last JSON object that begins a line and reads like a schema."""
    decoder = json.JSONDecoder()
    for found in reversed(list(re.finditer(r"^\{", rules, re.MULTILINE))):
        try:
            value, _ = decoder.raw_decode(rules, found.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.keys() & {"type", "properties", "$ref", "anyOf", "oneOf", "allOf", "enum"}:
            return value
    return None


class ExtractiveModel:
    """A `Model` that answers every call with an extract of its last user message. Costs nothing, needs no window."""

    simulated = False
    parallel: int | None = None
    count_tokens: Callable[[str], int] | None = None

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.window: int | None = spec.window or WINDOW
        self.price: Price | None = spec.price or Price(0.0, 0.0)
        self._counter = TokenCounter()

    def __repr__(self) -> str:
        return f"ExtractiveModel({self.spec.id!r})"

    async def complete(self, call: Call) -> Reply:
        """The extract. Never fails."""
        text = extract(call.messages, call.max_tokens)
        usage = Usage(sum(map(self._counter.message, call.messages)), self._counter.text(text))
        return Reply(text, finish_reason="stop", usage=usage, model=NAME)

    async def close(self) -> None:
        """Nothing is held open."""
