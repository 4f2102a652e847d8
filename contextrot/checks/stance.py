"""What a reply says of a value at the place where it stands: that it is so, was so, is not so, or may be so.

Only the words bound to the value count: a negation elsewhere in the sentence denies something else. The context of a
place ends at the sentence and at the next candidate, so that "It is 300; 450 was the earlier figure" gives each its
own. Contexts are at most `REACH` characters, which keeps grading linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from contextrot.checks import cues
from contextrot.checks.matching import Mention
from contextrot.checks.normal import Page
from contextrot.checks.table_heads import holds_by_head

REACH = 160


class Stance(Enum):
    """How a value is put forward."""

    PLAIN = "stated"
    CURRENT = "stated as the current value"
    HEDGED = "stated as a guess"
    PAST = "put in the past"
    FORMER = "named as no longer true"
    LESSER = "named in a lesser role"
    DENIED = "negated"
    BOUNDED = "given as a bound or an approximation"
    CHOICE = "one of several alternatives"
    ASKED = "only asked about"
    OPERAND = "part of a calculation"


#: put forward in some way, as far as the words next to it tell
_TOLD = frozenset({Stance.PLAIN, Stance.CURRENT, Stance.HEDGED, Stance.PAST})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mention and whose it is: the right value, a superseded one, or another of the same shape."""

    mention: Mention
    role: str  # "value" | "superseded" | "rival"
    #: a bound or "about" before it makes it another statement
    quantity: bool = False
    #: a time of day, for which "before" and "after" are bounds too
    clock: bool = False
    #: a date or a year, which only a word right before it makes a bound
    dated: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """The casefolded words around a place: `left` ends where it begins, `right` begins where it ends."""

    left: str
    right: str
    #: True when a candidate follows at the end of `right`, in the same sentence
    leads_on: bool
    question: bool
    #: what stands around the place whatever other candidates are there, for arithmetic
    near_left: str
    near_right: str
    #: "Nantes? No, Lyon."
    answered_no: bool


def stances(page: Page, candidates: Sequence[Candidate]) -> list[Stance]:
    """The stance of each candidate. They must be in order and must not overlap."""
    contexts = [_context(page, candidates, index) for index in range(len(candidates))]
    found = [_single(candidate, context) for candidate, context in zip(candidates, contexts, strict=True)]
    _mark_pairs(page, candidates, found)
    for index, candidate in enumerate(candidates):
        holds = holds_by_head(page, candidate.mention.start)
        if holds is not None and found[index] in _TOLD:
            found[index] = Stance.CURRENT if holds else Stance.FORMER
    _mark_asides(candidates, contexts, found)
    return found


def _context(page: Page, candidates: Sequence[Candidate], index: int) -> Context:
    here = candidates[index].mention
    low = max(candidates[index - 1].mention.end if index else 0, here.start - REACH)
    high = min(len(page.folded), here.end + REACH)
    following = candidates[index + 1].mention.start if index + 1 < len(candidates) else None
    for found in cues.BREAK.finditer(page.shown, low, here.start):
        low = found.end()
    stop = cues.BREAK.search(page.shown, here.end, high)
    end = stop.start() if stop else high
    leads_on = following is not None and following <= end
    question = stop is not None and "?" in stop.group()
    answered_no = question and cues.NO_FOLLOWS.match(page.folded, stop.end() if stop else end) is not None
    tail = page.folded[here.end : end]
    if question and not cues.NEW_QUESTION.search(tail):
        begin = max(0, here.start - REACH)
        for found in cues.BREAK.finditer(page.shown, begin, here.start):
            begin = found.end()
        head = page.folded[begin : here.start]
        question = not (cues.TAG.match(tail) and not cues.QUESTION_HEAD.match(head) and head.strip())
    elif question:
        question = (
            cues.TAG.match(tail) is not None and cues.QUESTION_HEAD.match(page.folded[low : here.start]) is not None
        )
    right = page.folded[here.end : following if leads_on else end]
    near_left, near_right = page.folded[max(0, here.start - 12) : here.start], page.folded[here.end : here.end + 60]
    return Context(page.folded[low : here.start], right, leads_on, question, near_left, near_right, answered_no)


def _single(candidate: Candidate, context: Context) -> Stance:
    """The stance from the words around one candidate."""
    left, right = context.left, context.right
    named = not candidate.quantity
    if (
        cues.UNSURE_LEFT.search(left)
        or cues.AVERSE_LEFT.search(left)
        or cues.WITHHELD_LEFT.search(left)
        or (cues.DENY_LEFT.search(left) and not context.question)
        or cues.DENY_RIGHT.match(right)
        or (named and cues.LEFT_LEFT.search(left))
        or (named and not context.leads_on and cues.NONE_LEFT.search(left) and cues.NO_MORE_RIGHT.match(right))
    ):
        return Stance.DENIED
    if (
        candidate.quantity
        and not cues.RAISED_UP_TO.search(left)
        and not (cues.LIMIT_SIGN_LEFT.search(left) and cues.LIMIT.search(left + " " + right))
        and (cues.BOUND_LEFT.search(left) or cues.BOUND_RIGHT.match(right))
    ):
        return Stance.BOUNDED
    if (candidate.clock and cues.CLOCK_BOUND_LEFT.search(left)) or (
        candidate.dated and cues.DATE_BOUND_LEFT.search(left)
    ):
        return Stance.BOUNDED
    operand = cues.OPERATION_LEFT.search(context.near_left) and re.match(r"\s*=", context.near_right)
    if candidate.quantity and (operand or cues.OPERATION_RIGHT.match(context.near_right)):
        return Stance.OPERAND
    if context.question:
        return Stance.DENIED if context.answered_no else Stance.ASKED
    key = cues.KEY_LEFT.search(left)
    if key:
        return Stance.FORMER if key["former"] else Stance.CURRENT
    no_longer = cues.NO_LONGER_RIGHT.match(right)
    if no_longer and context.leads_on and re.match(cues.FILL, no_longer["rest"]):
        no_longer = None  # it belongs to the candidate that follows
    if (
        no_longer
        or cues.FORMER_RIGHT.match(right)
        or (named and cues.GONE_RIGHT.match(right))
        or (cues.FORMER_LEFT.search(left) and not cues.UNCHANGED.search(left))
    ):
        return Stance.FORMER
    if named and (cues.ASSISTING_RIGHT.match(right) or cues.ASSISTED_LEFT.search(left)):
        return Stance.LESSER
    if not context.leads_on and (cues.OR_WORD_RIGHT.match(right) or cues.OR_WORD_LEFT.search(left)):
        return Stance.CHOICE
    if cues.PROPOSED_LEFT.search(left):
        return Stance.HEDGED
    adverb = cues.ADVERB_RIGHT.match(right)
    ours = adverb is not None and not (context.leads_on and re.match(cues.FILL, adverb["rest"]))
    if cues.PAST_RIGHT.match(right) or (adverb and ours and adverb["past"] and adverb["past"] != "then"):
        return Stance.PAST
    if cues.PAST_ABROAD_LEFT.search(left):
        return Stance.PAST
    if (
        cues.NOW_LEFT.search(left)
        or cues.NOW_ABROAD_LEFT.search(left)
        or cues.NOW_RIGHT.match(right)
        or (adverb and ours and adverb["now"])
    ):
        return Stance.CURRENT
    if cues.PAST_LEFT.search(left):
        return Stance.PAST
    return Stance.HEDGED if cues.HEDGE_LEFT.search(left) else Stance.PLAIN


def _mark_pairs(page: Page, candidates: Sequence[Candidate], found: list[Stance]) -> None:
    """What only neighbours show: alternatives ("300 or 450"), ranges ("40-42") and changes ("from 300 to 450")."""
    group: list[int] = []
    chosen = False
    for index in range(len(candidates)):
        group.append(index)
        if index and _preferred(page, candidates[index - 1], candidates[index]) and found[index] is Stance.PLAIN:
            found[index] = Stance.DENIED
        gap = None
        if index + 1 < len(candidates):
            start, end = candidates[index].mention.end, candidates[index + 1].mention.start
            gap = page.folded[start:end] if end - start <= 60 else None
        alternative = gap is not None and cues.OR.match(gap) is not None
        if gap is not None and (alternative or cues.COMMA.match(gap)):
            chosen = chosen or alternative
            continue
        if chosen and len({candidates[i].role for i in group}) + sum(candidates[i].role == "rival" for i in group) > 1:
            for i in group:
                if found[i] in (Stance.PLAIN, Stance.CURRENT, Stance.HEDGED, Stance.PAST):
                    found[i] = Stance.CHOICE
        if gap is not None and cues.RANGE.match(gap) and candidates[index].role != candidates[index + 1].role:
            _mark_range(page, candidates, found, index, gap)
        group, chosen = [], False


def _mark_asides(candidates: Sequence[Candidate], contexts: Sequence[Context], found: list[Stance]) -> None:
    """A value that only gives the reason for another ("Dock 7, since Dock 3 is closed"), or stands in an old document.

    Where no other value is put forward, what looks like a reason is the statement itself.
    """
    for index, candidate in enumerate(candidates):
        if found[index] not in _TOLD:
            continue
        context = contexts[index]
        aside = cues.OLD_DOCUMENT_LEFT.search(context.left) or (
            cues.REASON_LEFT.search(context.left)
            and cues.REASON_RIGHT.match(context.right)
            and not cues.NOW_RIGHT.match(context.right)
        )
        if aside and any(found[i] in _TOLD and candidates[i].role != candidate.role for i in _near(index, found)):
            found[index] = Stance.FORMER


def _near(index: int, found: Sequence[Stance]) -> Iterator[int]:
    """The candidates around one, itself left out: at most ten to either side, which keeps grading linear."""
    return (i for i in range(max(0, index - 10), min(len(found), index + 11)) if i != index)


def _preferred(page: Page, first: Candidate, second: Candidate) -> bool:
    """True for "A over B" of two things that are no quantities."""
    gap = page.folded[first.mention.end : min(second.mention.start, first.mention.end + 8)]
    return gap == " over " and not second.quantity and first.role != second.role


def _mark_range(page: Page, candidates: Sequence[Candidate], found: list[Stance], index: int, gap: str) -> None:
    first, second = candidates[index], candidates[index + 1]
    left = page.folded[max(0, first.mention.start - REACH) : first.mention.start]
    if (
        ("to" in gap.split() and first.role == "superseded" and found[index + 1] is Stance.PLAIN)
        or ("to" in gap.split() and re.search(rf"\b{cues.CHANGE}\b(?: [\w']+){{0,6}}\s*\Z", left))
        or ("to" in gap.split() and second.role == "superseded" and re.search(r"\bfrom\s*\Z", left))
    ):
        found[index], found[index + 1] = Stance.FORMER, Stance.CURRENT
    elif first.quantity and ("and" not in gap or re.search(r"\bbetween\s*\Z", left)):
        for i in (index, index + 1):
            if found[i] in (Stance.PLAIN, Stance.CURRENT, Stance.HEDGED):
                found[i] = Stance.BOUNDED
