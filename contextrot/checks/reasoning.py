"""Reasoning is not part of a reply: where the answer begins."""

from __future__ import annotations

import re

_OPEN = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSE = re.compile(r"</(think|thinking)>", re.IGNORECASE)
#: text that is a value or a block of code, in which a closing tag would be content
_VALUE = re.compile(r"\s*[{\[\"`]")


def answer_of(text: str) -> str | None:
    """`text` without leading reasoning, or None when reasoning was opened and never closed.

    Reasoning is a ``<think>…</think>`` block (also thinking, thought, reasoning; any case) at the start of the reply;
    several may follow each other. Many chat templates open the block in the prompt, so that the reply holds only the
    closing tag: then all before it is reasoning, unless the reply begins like JSON or code. A tag further on, in a
    JSON value for one, stays.
    """
    start = 0 if _OPEN.match(text) else _after_orphan(text)
    while opened := _OPEN.match(text, start):
        end = _close(text, opened.end(), opened[1])
        if end is None:
            return None
        start = end
    return text[start:]


def _after_orphan(text: str) -> int:
    """Where a reply begins whose reasoning was opened in the prompt; 0 when there is none."""
    closing = _CLOSE.search(text)
    if closing is None or _VALUE.match(text) or f"<{closing[1]}>".lower() in text[: closing.start()].lower():
        return 0
    return closing.end()


def _close(text: str, start: int, tag: str) -> int | None:
    """Where the block ends: at the tag that balances the opening one, or at the first when nothing balances.

    The second happens when the reasoning speaks of the tag itself.
    """
    depth, first = 1, None
    tags = re.compile(rf"<(/?){tag}>", re.IGNORECASE)
    for found in tags.finditer(text, start):
        depth += -1 if found[1] else 1
        if found[1] and first is None:
            first = found.end()
        if depth == 0:
            return found.end()
    return first
