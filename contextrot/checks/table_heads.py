"""Cells of a Markdown table under a head that says whether they hold: "Before", "Old", "Now", "Current"."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from contextrot.checks.normal import Page

_FORMER = re.compile(
    r"\W*(?:(?:the |your )?(?:before|old|previous(?:ly)?|was|original(?:ly)?|former(?:ly)?|earlier|prior|superseded|"
    r"outdated|initial(?:ly)?|vorher|alt|bisher|avant|antes|prima)|from)\b(?! (?:you|the|this|noon)\b)"
)
_CURRENT = re.compile(
    r"\W*(?:(?:the |your )?(?:now|new|current(?:ly)?|latest|today|updated|after|revised|final|actual|jetzt|neu|aktuell|"
    r"maintenant|ahora|adesso)|to)\b(?! (?:do|you|noon)\b)"
)
_RULE = re.compile(r"[\s|:-]+")
#: cells of one row that are read; further ones of an endless row are not
_MOST_CELLS = 60


@lru_cache(maxsize=16)
def _cells(page: Page) -> tuple[Sequence[int], Sequence[tuple[int, int, bool]]]:
    """(starts, (start, end, holds)) of the cells under a head that says so, in order."""
    found: list[tuple[int, int, bool]] = []
    heads: list[bool | None] = []
    at = 0
    for line in page.folded.split("\n"):
        start, at = at, at + len(line) + 1
        if line.count("|") < 2:
            heads = []
            continue
        if not heads:
            heads = [_holds(cell) for cell in line.split("|")[:_MOST_CELLS]]
            # One word may be a value's own; a pair says that the columns are two times of one thing.
            heads = heads if {True, False} <= set(heads) or sum(h is not None for h in heads) == 1 else [None]
            continue
        if _RULE.fullmatch(line) or not any(head is not None for head in heads):
            continue
        here = start
        for number, cell in enumerate(line.split("|")[: len(heads)]):
            holds = heads[number]
            if holds is not None:
                found.append((here, here + len(cell), holds))
            here += len(cell) + 1
    return [cell[0] for cell in found], found


def _holds(head: str) -> bool | None:
    if _FORMER.match(head):
        return False
    return True if _CURRENT.match(head) else None


def holds_by_head(page: Page, offset: int) -> bool | None:
    """Whether the head over this place says that it holds (True) or held (False); None: it says neither."""
    starts, cells = _cells(page)
    index = bisect_right(starts, offset) - 1
    if index < 0 or offset >= cells[index][1]:
        return None
    return cells[index][2]
