"""Counting tokens before the provider does, and learning from what the provider then says.

The provider's `usage` is the truth. What this file gives is an estimate, labelled as such everywhere, corrected by the
ratio between the last real count and its own estimate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from contextrot.messages import Message, Tool

#: Tokens a chat template adds around each message (role markers and separators); 3–5 in published templates.
MESSAGE_OVERHEAD = 4

# A run of letters, one digit group, a run of white space beyond one blank, or one other sign. Scripts written without
# blanks (CJK, kana, Hangul, Thai) count about one token a character, so they are matched one by one.
_PIECE = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W\d_\u0e00-\u0e7f\u3040-\u9fff\uac00-\ud7af]+|\d{1,3}|\n+|[ \t]{2,}|[^\w\s]|_",
)


def estimate(text: str) -> int:
    """Tokens of a text, estimated without any model's vocabulary: never below the number of words.

    A word costs one token per six letters begun, digits one per three, signs one each: close to GPT-4-class vocabularies
    on English prose and code (within 15 %), and high for small vocabularies' favourites, so that budgets err on the safe side.
    """
    count = 0
    for piece in _PIECE.findall(text):
        size = len(piece)
        count += 1 if size <= 7 or not piece[0].isalpha() else (size + 5) // 6
    return count


class TokenCounter:
    """Counts messages, each once. With `exact` (a model's own tokenizer) counts are exact but for the chat template."""

    def __init__(self, exact: Callable[[str], int] | None = None) -> None:
        self._count = exact or estimate
        self.exact = exact is not None

    def text(self, text: str) -> int:
        """Tokens of a bare text."""
        return self._count(text)

    def message(self, message: Message) -> int:
        """Tokens of a message with what the chat template adds around it."""
        total = MESSAGE_OVERHEAD + self._count(message.text)
        for call in message.tool_calls:
            total += MESSAGE_OVERHEAD + self._count(call.name) + self._count(call.arguments)
        return total

    def tools(self, tools: Sequence[Tool]) -> int:
        """Tokens of the tool schemas that go out with every call."""
        return sum(self._count(orjson.dumps(tool.to_dict()).decode()) for tool in tools)


@dataclass(slots=True)
class Drift:
    """The ratio between the provider's count and ours, from the last call whose usage is known.

    Strategies decide in estimated tokens; the session turns the window into that unit with `scale`. Bounded to 0.5–3 so
    that one odd usage figure (an image, a provider that counts characters) cannot blind the budget.
    """

    scale: float = 1.0

    def learn(self, prompt_tokens: int | None, estimated: int) -> float | None:
        """Take in a call's usage; returns `token_drift`, the share by which the estimate was off (0.1 = 10 % too low)."""
        if not prompt_tokens or estimated <= 0:
            return None
        drift = prompt_tokens / (estimated * self.scale) - 1.0
        self.scale = min(3.0, max(0.5, prompt_tokens / estimated))
        return drift
