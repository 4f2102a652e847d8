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


@lru_cache(maxsize=8)
def fences(text: str) -> tuple[Fence, ...]:
    """The fenced code blocks of a text by CommonMark 0.31: backticks or tildes, longer fences around shorter ones.

    Fences in lists and quotes count. HTML is read as text, since replies wrap fences in tags of their own.
    """
    if "```" not in text and "~~~" not in text:
        return ()
    found = []
    for token in _parser().parse(text + "\n"):
        if token.type == "fence" and token.map:
            first, last = token.map
            # An opening and a closing line are in the block's range beside the content; without the second, it is open.
            closed = last - first == token.content.count("\n") + 2
            words = token.info.split()
            found.append(Fence(words[0] if words else "", token.content, closed, first, last))
    return tuple(found)


def only_fence(text: str) -> Fence | None:
    """The one code block that is all of the text, or None when there is more, or none."""
    blocks = fences(text)
    if len(blocks) != 1:
        return None
    lines = lines_of(text)
    outside = lines[: blocks[0].first] + lines[blocks[0].last :]
    return None if any(line.strip() for line in outside) else blocks[0]


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
        """`pass` when the blocks in the language are closed; blocks in others may stand beside them."""
        blocks = fences(reply.text)
        if not blocks:
            return fail("there is no fenced code block", reply.text)
        fitting = [block for block in blocks if self._in_language(block)]
        if unclosed := next((block for block in fitting if not block.closed), None):
            return fail("the code fence is never closed", unclosed.content)
        if fitting:
            return passed(fitting[0].content)
        named = ", ".join(f"`{block.language}`" if block.language else "no language" for block in blocks[:5])
        return fail(f"no code block in `{self.language}`; the reply has {named}", blocks[0].content)

    def _in_language(self, block: Fence) -> bool:
        return self.language is None or block.language.casefold() == self.language.strip().casefold()
