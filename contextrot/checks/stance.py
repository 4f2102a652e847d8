"""What a reply says of a value at the place where it stands: that it is so, was so, is not so, or may be so.

Only the words bound to the value count: a negation elsewhere in the sentence denies something else. The context of a
place ends at the sentence and at the next candidate, so that "It is 300; 450 was the earlier figure" gives each its own.
Contexts are at most `REACH` characters, which keeps grading linear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from contextrot.checks.matching import Mention
from contextrot.checks.normal import Page

REACH = 160


class Stance(Enum):
    """How a value is put forward."""

    PLAIN = "stated"
    CURRENT = "stated as the current value"
    HEDGED = "stated as a guess"
    PAST = "put in the past"
    FORMER = "named as no longer true"
    DENIED = "negated"
    BOUNDED = "given as a bound or an approximation"
    CHOICE = "one of several alternatives"
    ASKED = "only asked about"
    OPERAND = "part of a calculation"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mention and whose it is: the right value, a superseded one, or another of the same shape."""

    mention: Mention
    role: str  # "value" | "superseded" | "rival"
    #: a bound or "about" before it makes it another statement
    quantity: bool = False
    #: a time of day, for which "before" and "after" are bounds too
    clock: bool = False


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


_BREAK = re.compile(
    r"(?<!\bapprox)(?<!\bno)(?<!\bca)[.!;…]+[\"')\]]*(?=\s|$)|\?+[\"')\]]*(?=[\s—]|$)|\n(?=[\n\-*•#>|\d]|[^\W\d_a-z]|$)"
)
_FILL_WORDS = (
    "the a an in at to on for by of as be been being is was are were it it's its that that's this there here called named "
    "titled set equal equals actually really your our my their his her code value number answer city figure amount "
    "budget one located based situated scheduled stored held kept used say said saying says mean meant meaning think "
    "thought believe you i we he she they longer any exactly quite still use using with room date name color colour "
    "told me given gave give stated mentioned noted recorded reads limit total price password key id have had has go went "
    "would will should can could did does do so like either version entry"
).split()
_LEAD = r"[\s\"'(\[:#=>|_—]*"
FILL = rf"(?:{_LEAD}(?:{'|'.join(sorted(_FILL_WORDS, key=len, reverse=True))})(?![^\W_]))*{_LEAD}\Z"
_CHANGE = (
    r"(?:chang|updat|rais|increas|lower|reduc|cut|revis|correct|amend|adjust|mov|switch|replac|supersed|bump|push|"
    r"reschedul|shift|rename|modif|overrid|overrul|drop|rose|rise|grew|grown|brought|decreas|extend|shorten|postpon|swap|edit|went|transfer|relocat|migrat)"
    r"[a-z]{0,6}"
)
_DENY_LEFT = re.compile(
    r"(?:(?<![^\W_])(?:not(?! (?:only|just|merely|simply|until|before)\b)|never|nor|neither|cannot|rather than|instead of|"
    r"(?<!none )(?<!no )(?<!nothing )other than|as opposed to|unlike|no longer|different (?:from|to)|except(?: for)?|excluding)"
    rf"(?![^\W_])|n't(?! (?:only|just|merely|until|before)\b)|!=|≠){FILL}"
)
_UNSURE_LEFT = re.compile(
    r"(?:\b(?:not|n't|never) (?:\w+ ){0,2}(?:sure|certain|know|tell|say|confirm|remember|recall)|n't (?:sure|certain|know|tell|say|confirm|remember|recall)|"
    rf"\bunsure|\bno idea|\bunclear|\b(?<!no )(?<!without )(?<!a )(?<!n't )(?<!any )(?<!beyond )doubt(?:ful)?) (?:if|whether|that|it|about){FILL}|(?<!no )(?<!without )(?<!a )(?<!n't )(?<!any )(?<!beyond )\bdoubt{FILL}"
)
_DENY_RIGHT = re.compile(
    r"[\"')\]]*\s*(?:(?:is|was|are|were|has|would be|can|could|does|'s)\s*(?:n't|not|never)(?:\s+(?:been|be))?\s+(?:an? )?(?:the\b|your\b|our\b|my\b|"
    r"what\b|where\b|it\b|right\b|correct\b|valid\b|true\b|accurate\b|applicable\b|current\b|real\b|used\b|in use\b|that\b|anymore\b|any more\b)|"
    r"(?:is|was|are|were|isn't|'s)\s+(?:the )?(?:wrong|incorrect|false|mistaken|invalid)\b|(?:isn't|wasn't|ain't)\s*[.,;!])"
)
_FORMER_LEFT = re.compile(
    rf"(?:\bused to be|\bused to|\bno longer|\b(?:up|down) from|\b(?:took|takes|taken|taking) over from|\b(?:in place|in lieu) of|\bsucceed(?:s|ed|ing)?(?! by\b)|(?<!n't )(?<!not )(?<!never )\b(?:forget|disregard|ignore|discard|scrap)|\b(?:replac|supersed|overrid|overwr)[a-z]{{1,6}}(?! (?:by|with)\b)|"
    rf"\b{_CHANGE} (?:[\w']+ ){{0,5}}from|\b(?:outdated|obsolete|superseded|stale|expired)){FILL}"
)
_FORMER_RIGHT = re.compile(
    rf"[\"')\]]*\s*(?:->|(?:(?:was|is|has been|had been|were|got|has since been|have been)\s+(?:(?:since|later|then|now|subsequently)\s+)?)"
    rf"{_CHANGE}\s+(?:by|with|to)\b|[^,;.]{{0,25}}\b(?:is|are|was|has become)\s+(?:now\s+)?(?:no longer|outdated|obsolete|superseded|void|stale|out of date|not any ?more)\b|"
    r"[^,;.]{0,15}\b(?:was|is|has been|were|got)\s+(?:since |later |then |now )?(?:dropped|scrapped|cancel+ed|abandoned|discarded|withdrawn|retired|rejected|deprecated)\b|\((?:outdated|obsolete|superseded|old|no longer[^)]*)\))"
)
_NO_LONGER_RIGHT = re.compile(r"[\"')\]]*\s*(?!and\b|but\b)[^,;.]{0,15}?\bno longer\b(?P<rest>.*)", re.S)
_UNCHANGED = re.compile(rf"(?:n't|\bnot|\bnever)(?: been| yet| [a-z]+ly)? {_CHANGE}")
_RAISED_UP_TO = re.compile(rf"\b{_CHANGE} (?:[\w']+ ){{0,3}}up to{FILL}")
_CLOCK_BOUND_LEFT = re.compile(r"\b(?:before|after|until|till|past)\s*\Z")
_PAST_LEFT = re.compile(
    rf"(?<![^\W_])(?:was|were|had been|previously|originally|initially|formerly|earlier|before|beforehand|at first|first(?:ly)?|old(?:er)?|prior|previous|"
    rf"former|original|initial|past|began|begun|start(?:ed|ing)?(?: out)?|once){FILL}"
)
_ADVERB_RIGHT = re.compile(
    r"[\"')\]]*\s*[,(—-]*\s*(?:(?P<past>previously|earlier|originally|initially|formerly|before|beforehand|at (?:first|the (?:start|beginning|outset))|first|in the past|back then|to (?:begin|start) with|then)|"
    r"(?P<now>now|currently|at present|today|as of now|at the moment|these days|after that|afterwards|later|since then|in the end|from then on))\b(?P<rest>.*)",
    re.S,
)
_PAST_RIGHT = re.compile(
    r"[\"')\]]*\s*(?:[^,;.]{0,20}\b(?:is|was|were|being|as)\s+(?:just |only )?(?:the |an? |your |our |my )?(?:earlier|old(?:er)?|previous|prior|original|initial|first|"
    r"former|past|early|outgoing)\b|,?\s*(?:\w+ ){0,2}(?:until|before) (?:you|we|i|it|that|the)\b)"
)
_NOW_LEFT = re.compile(
    r"(?:\b(?:now|currently|current|today|new(?:er|est)?|latest|updated|revised|final(?:ly)?|corrected|correction|actually|later|then|since|most recent|"
    rf"recent(?:ly)?|present(?:ly)?|afterwards|stay(?:s|ed)?|remain(?:s|ed)?|still|(?:handed|passed|hands|passes) (?:[\w']+ )?(?:over )?to|succeeded by|sorry|scratch that|i mean|no),?:?|->|\b{_CHANGE} (?:[\w']+ ){{0,5}}(?:to|with|by|at)){FILL}"
)
_NOW_RIGHT = re.compile(
    r"[\"')\]]*\s*(?:is|being)\s+(?:now\s+)?(?:the |your |our )?(?:current|new|latest|correct|right|final|updated|present|one)\b|"
    rf"[\"')\]]*\s*(?:has\s+)?(?:replaces|replaced|supersedes|superseded|overrides|overrode)\b(?! by)"
)
_HEDGE_LEFT = re.compile(rf"\b(?:might|may|could|possibly|perhaps|maybe|potentially|alternatively|else){_LEAD}(?:also )?(?:have )?{FILL}")
_BOUND_LEFT = re.compile(
    r"(?:(?<!-)>=?|<=?|~|±|(?<![^\W_])(?:(?<!told me )(?<!told you )(?<!asked )(?<!asking )(?<!asked me )(?<!talked )(?<!talking )(?<!spoke )(?<!know )(?<!reminded me )about|"
    r"around|approximately|approx\.?|roughly|nearly|almost|circa|ca\.?|some|at (?:least|most|minimum|maximum|the (?:least|most))|"
    r"(?:no |not )?(?:more|less|fewer|greater|bigger|larger|smaller|higher|lower|later|earlier) than|over|(?<!filed )(?<!listed )(?<!stored )(?<!saved )(?<!noted )(?<!recorded )under|"
    r"up to|(?:minimum|maximum|excess|upwards?|north|short|shy|region|neighbou?rhood|vicinity|range|order) of|min\.?|max\.?|above|below|between|"
    r"exceed(?:s|ed|ing)?|close to|near|beyond|within|not quite|somewhere)"
    r"(?![^\W_]))\s*(?:(?:the|a|an|about|around|exactly|[a-z]{2,12} of)\s+)?[\"'(\[$€£]*\s*\Z"
)
_BOUND_RIGHT = re.compile(
    r"(?:\s*\+(?!\d)|(?:\s?[a-z%€$£°]{1,12}){0,2}?[\"')\]]*,?\s*\(?(?:or (?:more|less|fewer|so(?! (?:you|i|it|we|the)\b)|higher|lower|greater|above|below|thereabouts|under|over|later|earlier)|"
    r"and (?:above|up|over|below)|at (?:least|most|minimum|maximum|the (?:least|most))(?! (?:that|as|i|you|according|if|so)\b)|give or take|plus or minus|±|minimum|maximum|"
    r"(?:max|min)(?![^\W_])|approximately|approx|roughly|-?ish(?![^\W_])))"
)
_OPERATION_RIGHT = re.compile(r"\s*(?:[×*+/÷]|-|\^)\s*[$€£(]?\d[^;\n]{0,50}=")
_OPERATION_LEFT = re.compile(r"\d\)?\s*(?:[×*+/÷]|-)\s*\Z")
_OR = re.compile(rf"[\"')\],\s]*(?:or|and/or|/|vs\.?|versus)(?![^\W_])(?:[\s,]*(?:maybe|perhaps|possibly|else|was it|is it|even|alternatively))*{FILL}")
_COMMA = re.compile(rf"[\"')\]\s]*,[\s\"'(\[]*\Z")
_RANGE = re.compile(r"\s*(?:[%€$£°]|[a-z]{1,3})??\s*(?:to|through|until|-|\.\.\.?|and)\s*\Z")
_TAG = re.compile(
    r"[\"')\]]*,\s*(?:right|correct|yes|no|ok(?:ay)?|isn't it|is that (?:right|correct|it)|wasn't it|am i right|if i recall)\b[^?]{0,30}\Z"
)
_NEW_QUESTION = re.compile(
    r"[,;:—(]\s*(?:and |so |but |or )?(?:do|does|did|would|can|could|shall|should|will|are|is|was|were|anything|what|how|want|need|may|have|which|who|where|when|why)\b"
)
_QUESTION_HEAD = re.compile(r"\W*(?:and |so |but |or |well, )?(?:do|does|did|is|are|was|were|isn't|wasn't|could|would|should|can|may|you mean|maybe|perhaps|what|which)\b")
#: what may follow "or" without naming another value
_NO_RIVAL = (
    r"(?:so|something|did|is|do|was|am|are|at|if|you|i|we|whatever|whichever|rather|more|less|anything|should|would|could|can|shall|will|simply|"
    r"thereabouts|wherever|it|that|just|in|as|to|when|maybe i|alias|aka|also)\b"
)
_OR_WORD_RIGHT = re.compile(rf"[\"')\]]*,?\s+or\s+(?:(?:maybe|perhaps|possibly|the|a)\s+)*(?!{_NO_RIVAL})[\"']?[\w'-]+(?: [\w'-]+){{0,2}}[\"']?\s*(?:[.,;:!?)—\n]|\Z)")
_OR_WORD_LEFT = re.compile(r"\b(?:either|whether|between|maybe|perhaps|possibly|is|in|be|it's|at|to|was)\s+(?:[\w'-]+ ){1,3}or\s+(?:(?:maybe|perhaps|possibly|in|at|the)\s+)*[\"']*\Z|\A\W*[\w'-]+(?: [\w'-]+)? or [\"']*\Z")


def stances(page: Page, candidates: Sequence[Candidate]) -> list[Stance]:
    """The stance of each candidate. They must be in order and must not overlap."""
    contexts = [_context(page, candidates, index) for index in range(len(candidates))]
    found = [_single(candidate, context) for candidate, context in zip(candidates, contexts, strict=True)]
    _mark_pairs(page, candidates, found)
    return found


def _context(page: Page, candidates: Sequence[Candidate], index: int) -> Context:
    here = candidates[index].mention
    low = max(candidates[index - 1].mention.end if index else 0, here.start - REACH)
    high = min(len(page.folded), here.end + REACH)
    following = candidates[index + 1].mention.start if index + 1 < len(candidates) else None
    for found in _BREAK.finditer(page.shown, low, here.start):
        low = found.end()
    stop = _BREAK.search(page.shown, here.end, high)
    end = stop.start() if stop else high
    leads_on = following is not None and following <= end
    question = stop is not None and "?" in stop.group()
    tail = page.folded[here.end : end]
    if question and not _NEW_QUESTION.search(tail):
        begin = max(0, here.start - REACH)
        for found in _BREAK.finditer(page.shown, begin, here.start):
            begin = found.end()
        head = page.folded[begin : here.start]
        question = not (_TAG.match(tail) and not _QUESTION_HEAD.match(head) and head.strip())
    elif question:
        question = _TAG.match(tail) is not None and _QUESTION_HEAD.match(page.folded[low : here.start]) is not None
    right = page.folded[here.end : following if leads_on else end]
    near_left, near_right = page.folded[max(0, here.start - 12) : here.start], page.folded[here.end : here.end + 60]
    return Context(page.folded[low : here.start], right, leads_on, question, near_left, near_right)


def _single(candidate: Candidate, context: Context) -> Stance:
    """The stance from the words around one candidate."""
    left, right = context.left, context.right
    if _UNSURE_LEFT.search(left) or (_DENY_LEFT.search(left) and not context.question) or _DENY_RIGHT.match(right):
        return Stance.DENIED
    if candidate.quantity and not _RAISED_UP_TO.search(left) and (_BOUND_LEFT.search(left) or _BOUND_RIGHT.match(right)):
        return Stance.BOUNDED
    if candidate.clock and _CLOCK_BOUND_LEFT.search(left):
        return Stance.BOUNDED
    operand = _OPERATION_LEFT.search(context.near_left) and re.match(r"\s*=", context.near_right)
    if candidate.quantity and (operand or _OPERATION_RIGHT.match(context.near_right)):
        return Stance.OPERAND
    if context.question:
        return Stance.ASKED
    no_longer = _NO_LONGER_RIGHT.match(right)
    if no_longer and context.leads_on and re.match(FILL, no_longer["rest"]):
        no_longer = None  # it belongs to the candidate that follows
    if no_longer or _FORMER_RIGHT.match(right) or (_FORMER_LEFT.search(left) and not _UNCHANGED.search(left)):
        return Stance.FORMER
    if not context.leads_on and (_OR_WORD_RIGHT.match(right) or _OR_WORD_LEFT.search(left)):
        return Stance.CHOICE
    adverb = _ADVERB_RIGHT.match(right)
    ours = adverb is not None and not (context.leads_on and re.match(FILL, adverb["rest"]))
    if _PAST_RIGHT.match(right) or (adverb and ours and adverb["past"] and adverb["past"] != "then"):
        return Stance.PAST
    if _NOW_LEFT.search(left) or _NOW_RIGHT.match(right) or (adverb and ours and adverb["now"]):
        return Stance.CURRENT
    if _PAST_LEFT.search(left):
        return Stance.PAST
    return Stance.HEDGED if _HEDGE_LEFT.search(left) else Stance.PLAIN


def _mark_pairs(page: Page, candidates: Sequence[Candidate], found: list[Stance]) -> None:
    """What only neighbours show: alternatives ("300 or 450"), ranges ("40-42") and changes ("from 300 to 450")."""
    group: list[int] = []
    chosen = False
    for index in range(len(candidates)):
        group.append(index)
        gap = None
        if index + 1 < len(candidates):
            start, end = candidates[index].mention.end, candidates[index + 1].mention.start
            gap = page.folded[start:end] if end - start <= 60 else None
        alternative = gap is not None and _OR.match(gap) is not None
        if gap is not None and (alternative or _COMMA.match(gap)):
            chosen = chosen or alternative
            continue
        if chosen and len({candidates[i].role for i in group}) + sum(candidates[i].role == "rival" for i in group) > 1:
            for i in group:
                if found[i] in (Stance.PLAIN, Stance.CURRENT, Stance.HEDGED, Stance.PAST):
                    found[i] = Stance.CHOICE
        if gap is not None and _RANGE.match(gap) and candidates[index].role != candidates[index + 1].role:
            _mark_range(page, candidates, found, index, gap)
        group, chosen = [], False


def _mark_range(page: Page, candidates: Sequence[Candidate], found: list[Stance], index: int, gap: str) -> None:
    first, second = candidates[index], candidates[index + 1]
    left = page.folded[max(0, first.mention.start - REACH) : first.mention.start]
    if "to" in gap.split() and first.role == "superseded" and found[index + 1] is Stance.PLAIN:
        found[index], found[index + 1] = Stance.FORMER, Stance.CURRENT
    elif "to" in gap.split() and re.search(rf"\b{_CHANGE}\b(?: [\w']+){{0,6}}\s*\Z", left):
        found[index], found[index + 1] = Stance.FORMER, Stance.CURRENT
    elif "to" in gap.split() and second.role == "superseded" and re.search(r"\bfrom\s*\Z", left):
        found[index], found[index + 1] = Stance.FORMER, Stance.CURRENT
    elif first.quantity and ("and" not in gap or re.search(r"\bbetween\s*\Z", left)):
        for i in (index, index + 1):
            if found[i] in (Stance.PLAIN, Stance.CURRENT, Stance.HEDGED):
                found[i] = Stance.BOUNDED
