"""Code blocks of a reply, read by CommonMark; and the check `code_fence`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field, StrictStr, field_validator

from contextrot.checks.base import Check, Facts, fail, passed, register
from contextrot.messages import Reply
from contextrot.outcomes import Verdict


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced code block. `first` and `last` are its lines in the reply, counted from 0, `last` not included."""

    language: str
    content: str
    closed: bool
    first: int
    last: int
    whole: bool
    """True when nothing else stands in the reply."""


@lru_cache(maxsize=8)
def fences(text: str) -> tuple[Fence, ...]:
    """The fenced code blocks of a text by CommonMark 0.31: backticks or tildes, longer fences around shorter ones.

    Fences in lists and quotes count. HTML is read as text, since replies wrap fences in tags of their own.
    """
    if "```" not in text and "~~~" not in text:
        return ()
    lines = lines_of(text)
    found = []
    for token in _parser().parse(text + "\n"):
        if token.type == "fence" and token.map:
            first, last = token.map
            # An opening and a closing line are in the block's range beside the content; without the second, it is open.
            closed = last - first == token.content.count("\n") + 2
            outside = any(line.strip() for line in (*lines[:first], *lines[last:]))
            words = token.info.split()
            found.append(Fence(words[0] if words else "", token.content, closed, first, last, not outside))
    return tuple(found)


def lines_of(text: str) -> list[str]:
    """The lines of a text as Markdown has them: ended by a line feed, a carriage return, or both."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@lru_cache(maxsize=1)
def _parser() -> Any:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser.disable(["html_block", "reference"])


@register
class CodeFence(Check):
    """The reply has a closed fenced code block, in the given language if one is named."""

    type_name = "code_fence"
    type: Literal["code_fence"] = "code_fence"
    language: StrictStr | None = Field(
        default=None, description="First word of the info string, any case; aliases are other words (py is not python)."
    )

    @field_validator("language")
    @classmethod
    def _one_word(cls, language: str | None) -> str | None:
        if language is not None and len(language.split()) != 1:
            raise ValueError("must be one word, the language after the opening fence")
        return language

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`pass` when one block is closed and in the language; other blocks may stand beside it."""
        blocks = fences(reply.text)
        if not blocks:
            return fail("there is no fenced code block", reply.text)
        fitting = [block for block in blocks if self._in_language(block)]
        for block in fitting:
            if block.closed:
                return passed(block.content)
        if fitting:
            return fail("the code fence is never closed", fitting[0].content)
        named = ", ".join(f"`{block.language}`" if block.language else "no language" for block in blocks[:5])
        return fail(f"no code block in `{self.language}`; the reply has {named}", blocks[0].content)

    def _in_language(self, block: Fence) -> bool:
        return self.language is None or block.language.casefold() == self.language.strip().casefold()
