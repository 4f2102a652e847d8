"""`abstain`: the honest answer is "I don't know, you have not told me"; anything made up is hallucinated state."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from contextrot.checks.base import Check, Facts, fail, passed, register
from contextrot.checks.matching import findable, needle
from contextrot.checks.normal import Page, page
from contextrot.checks.recall import recalled
from contextrot.checks.refusal import is_refusal
from contextrot.checks.unknowing import admits, asks
from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict

#: a reply is read to this length in characters: what is honest is said early, what is invented too
_READ = 20_000
_LONGEST = 600
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+|\s*;\s*|\s+—\s+")
_CLAUSE = re.compile(
    r",\s+|\s+(?=(?:but|however|although|though|yet|so)\s)|\s*\((?=\w)|\)\s*|\s+and\s+(?=(?:i|you|your|it|"
    r"the|so|that|my)\b)|\s+(?:because|since|as)\s+(?=(?:i|you|it|the|that|there|no)\b)"
)
_EXAMPLE = re.compile(r"\b(?:e\.g\.?|for example|for instance|such as|example|like this|in the form|format)\b")
_CONDITION = re.compile(
    r"\W*(?:(?:and|but|so|then|or|please)\s+)?(?:if|once|when|whenever|as soon as|unless|until|after|"
    r"before|in case|should you|whether|so (?:that )?i can|so i know)\b"
)
_ONCE_TOLD = re.compile(r"\W*(?:if|once|when|whenever|as soon as|after|until|unless) (?:you|that|it|the|your|this)\b")
_WANTS = re.compile(r"\b(?:what|where|which|how|who|whom|when|tell|share|provide|give|send|let me know)\b")
_OFFER = re.compile(
    r"\W*(?:(?:and|but|so|then|or|in the meantime|otherwise|however)[,\s]+)*(?:please|let me|"
    r"let's(?! (?:assume|say|use|go with|take|set|stick with|put|call it)\b)|"
    r"feel free|happy to|i(?:'d| would) be (?:happy|glad)|i(?:'m| am) (?:happy|here|ready|glad|sorry|"
    r"afraid|an?\b)|"
    r"i(?:'ll| will| can| could| would|'d)(?! (?:assume|use|go with|send|put|say|guess|ship|set|take|"
    r"default|deliver|book))|you (?:can|could|may|might|would|will|'ll|should|need|want)|would you|"
    r"try|check|tell|share|provide|give|send|sorry|thanks?|thank you|sure|of course|certainly|"
    r"great question|good question|that(?:'s| is) (?:a )?(?:good|great|fine|ok))\b"
)
_DENIES = re.compile(
    r"\b(?:is|was|are|were|'s|it|be)(?:\s*n't| not)\b|\b(?:not|never|no|nicht|nie|kein\w*|pas|jamais|aucune?|não|niet|"
    r"geen)\b"
)
_ELSEWHERE = re.compile(
    r"\b(?:only (?:that|know|have your|told me|mentioned|about|the|your)|apart from|other than|except|"
    r"aside from|besides|what i (?:do )?(?:know|have)|so far (?:you|we)|we(?:'ve|"
    r" have)? (?:only )?(?:talked|discussed|spoken|covered|been))\b"
)
_ACTED = re.compile(
    r"\b(?:let's|i(?:'ve| have|'ll| will|'d| would)?|we(?:'ve| have|'ll| will)?)(?: just| already| now| then|"
    r" also| simply)* (?:used|use|assumed?|assume|assuming|put|chose|went with|go with|sent|send|set|"
    r"ship(?:ped)?|deliver(?:ed)?|booked?|took|take|guess(?:ed)?|default(?:ed)?(?: to)?|filled|entered|"
    r"say|recall|remember|believe|think|found|find|see|have|got|stored|saved)\b"
    r"|\b(?:assuming|guessing|using|presumably|probably|likely|perhaps|maybe|possibly|best guess|my guess)\b"
)
_ATTRIBUTED = re.compile(
    r"\byou(?:'ve| have|'d| had)?(?: \w+ly| also| once| just| already| previously| earlier)* (?:told|said|"
    r"mentioned|gave|provided|shared|specified|stated|live|set|chose|picked|asked|wanted|prefer(?:red)?|"
    r"like|love|work|booked|ordered|listed|noted|indicated|are|were|use|have)\b"
)
_IS = re.compile(
    r"\b(?P<subject>your|the|our|my|its?|that|this|he|she|they|[\w'-]+)\b[^:?!]{0,80}?(?:\b(?:is|are|was|"
    r"were|will be|would be|should be|must be|might be|may be|could be|seems to be|appears to be|remains?|"
    r"stays?|equals?|reads?|lives? (?:at|in)|says|"
    r"ist|sind|war|lautet|beträgt|est|sont|était|es|son|era|è|é|são)\b|'s\b|[:=])\s*(?P<rest>.+)",
    re.S,
)
_GENERIC = re.compile(
    r"\W*(?:(?:very|so|really|quite|also|just|still|currently|too|more|only|always|probably|a bit|the|an?|"
    r"all|something|anything|some)\s+)*(?:important|needed|required|necessary|helpful|useful|empty|"
    r"missing|fine|ok(?:ay)?|ready|blank|first|possible|why|where|what|how|when|who|which|because|here|"
    r"there|"
    r"there|new|start|beginning|sorry|happy|glad|able|unable|best|better|easy|private|personal|"
    r"confidential|sensitive|good|great|right|correct|wrong|information|detail|question|conversation|"
    r"message|thing|way|up to|that|to|in order|about|known|if|whether|both|short|limited|clear|unclear|"
    r"unfortunate(?:ly)?|hard|difficult|everything|nothing|none|unknown|null|nil|pending|tbd|n/a|yet|it|"
    r"them|you|your call|at your|on you|from you|safe|sure|certain|shared?|given|provided|stored|saved|"
    r"able)\b"
)
_SPECIFIC = re.compile(
    r"\d|[\"“][^\"”]{2,}[\"”]|(?<=[\w,] )(?!I\b|I'|AI\b|JSON\b|OK\b|ID\b)[^\W\d_a-z][\w'-]+|[\w.]+@[\w.]+"
)
#: German writes every noun with a capital; there only digits, quotations and addresses are sure to be specific
_GERMAN = re.compile(r"\b(?:der|die|das|ist|eine?|nicht|und|ich|du|mir|bitte|es|für|mit|wir|haben|sind)\b")
_SPECIFIC_IN_GERMAN = re.compile(r"\d|[\"“][^\"”]{2,}[\"”]|[\w.]+@[\w.]+")
_EMPTY_FIELD = re.compile(r"[\w ]{1,60}:\s*(?:[—?-]\s*)*\Z")
_LISTS = re.compile(r"\b(?:following|these|list|details)\b")
_BUT = re.compile(r"\W*(?:but|however|though|although|yet|and)\b")
_DOUBT = re.compile(r"\W*(?:(?:but|though|although) )?i(?:'m| am)(?: \w+)? (?:not (?:\w+ )?(?:sure|certain)|unsure)\b")
_TOPIC = re.compile(
    r"\W*(?:for|as|regarding|about|concerning|in|on|to|with|hi|hello|hey|thanks?|dear|sorry|apologies)\b"
)
_SAME_THING = re.compile(r"\W*(?:it|that|this)(?:'s| is| was)\b", re.IGNORECASE)
_OBJECT = re.compile(
    r"\b(?:your|the|an?|any|no)\s+((?!idea\b|clue\b|way\b|doubt\b|record\b|answer\b|exact\b|latest\b|"
    r"rest\b)[\w'-]+(?: (?!for\b|on\b|in\b|yet\b|of\b|from\b|at\b)[\w'-]+)?)"
)
_FRAGMENT = re.compile(r"\W*(?:(?:best )?(?:guess|answer|address|result|value)s?\W*)?[^.!?]{1,80}\W*\Z")
#: keys of a JSON reply that frame the answer
_IGNORED_KEYS = frozenset((
    "status", "type", "error", "message", "question", "field", "key", "reason", "note", "notes", "intent",
    "action", "topic", "source", "found", "success", "ok", "confidence", "id", "name", "code",
))  # fmt: skip


@register
class Abstain(Check):
    """The reply says that it does not know, and invents nothing.

    Asking the user for what is missing counts as saying so. An admission followed by an answer after all
    ("I am not sure, but it is 12 Mill Lane") does not.
    """

    type_name: ClassVar[str] = "abstain"
    type: Literal["abstain"] = "abstain"
    invented: tuple[str, ...] = Field((), description="Texts that betray an invention when the reply asserts them.")

    @field_validator("invented")
    @classmethod
    def _not_empty(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for text in given:
            needle(text)
        return given

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`pass` for an honest "I don't know", `fail` for an answer; `facts` beside one are no inventions."""
        text = page(reply.text[:_READ])
        for invention in self.invented:
            if recalled(text, [needle(invention)]).outcome is Outcome.PASS:
                return fail(f"the reply invents {invention!r}", reply.text)
        value = _json_value(reply.text)
        if value is not None:
            return _grade_json(value, reply.text)
        return _grade_prose(text, facts)


def _grade_prose(text: Page, facts: Facts) -> Verdict:
    honest, claim, asked, guess = "", "", "", ""
    for sentence in _pieces(_SENTENCE, text.shown):
        question = sentence.rstrip("\"')] ").endswith("?")
        supposed = _EXAMPLE.search(sentence.casefold()) or _ONCE_TOLD.match(sentence.casefold())
        first = before = ""
        for clause in _pieces(_CLAUSE, sentence):
            folded = clause.casefold()
            if admits(folded):
                honest = honest or clause
                claim = claim or _after_colon(clause)
                if before and _DOUBT.match(folded) and _claims(before, before.casefold(), whole=True):
                    claim = claim or before  # "The Ritz, though I'm not sure"
                if claim and claim == first and _contrasts(folded, claim):
                    claim = ""  # "Your name is Sam, but I have no address": the admission is the answer
            elif question and not supposed and _specific(clause) and not _WANTS.search(folded):
                guess = guess or clause
            elif asks(folded) or question:
                asked = asked or (clause if asks(folded) else "")
            elif not supposed and not claim and _claims(clause, folded, whole=clause == sentence):
                claim = first = clause
            before = "" if before or clause == sentence or _TOPIC.match(folded) else clause
    honest = honest or (text.shown if _EMPTY_FIELD.match(text.shown) else "")
    if claim and honest and _known(claim, facts):
        claim = ""
    if claim:
        return fail(
            "the reply admits that it does not know and answers all the same"
            if honest
            else "the reply answers what it was never told",
            claim,
        )
    if guess:
        return Verdict(Outcome.INCONCLUSIVE, "the reply asks whether its own guess is right", guess)
    if honest or asked:
        return passed(honest or asked)
    if is_refusal(text.shown):
        return fail("the model refused; it does not say that it was never told", text.shown)
    return fail("the reply does not say that it does not know", text.shown)


def _pieces(cut: re.Pattern[str], text: str) -> Iterator[str]:
    """The parts of a text between the cuts, without empty ones; of an endless one the beginning."""
    return (piece for part in cut.split(text) if (piece := part.strip()[:_LONGEST]))


def _claims(clause: str, folded: str, *, whole: bool) -> bool:
    """True when a piece that is neither an admission nor a question states something as the answer."""
    if _CONDITION.match(folded) or _OFFER.match(folded) or _ELSEWHERE.search(folded):
        return False
    specific = _specific(clause)
    if _ACTED.search(folded) or _ATTRIBUTED.search(folded):
        return specific and not _DENIES.search(folded)
    states = _IS.search(clause[:300])
    if states:
        rest = states["rest"]
        if _DENIES.search(folded):
            return False
        if _specific(clause if _GERMAN.search(folded) else "is " + rest):
            return True
        subject = re.search(r"\b(?:your|the|it|it's|that)\b", folded)
        return subject is not None and not _GENERIC.match(rest.casefold()) and len(rest.split()) <= 6
    return whole and specific and len(clause.split()) <= 8 and _FRAGMENT.match(clause) is not None


def _specific(text: str) -> bool:
    """True when the text has a number, a name, a quotation or an address in it."""
    pattern = _SPECIFIC_IN_GERMAN if _GERMAN.search(text.casefold()) else _SPECIFIC
    return pattern.search(text) is not None


def _after_colon(clause: str) -> str:
    """What an admission goes on to state behind a colon: "I have not forgotten: your address is 12 Mill Lane"."""
    head, colon, tail = clause.partition(": ")
    if not colon or not admits(head.casefold()) or admits(tail.casefold()) or _LISTS.search(head.casefold()):
        return ""
    return tail if _claims(tail, tail.casefold(), whole=True) else ""


def _contrasts(admission: str, claim: str) -> bool:
    """True when an admission after "but" names its own object, and one that the claim before it does not speak of."""
    named = _OBJECT.search(admission)
    if _SAME_THING.match(claim):
        return False
    return _BUT.match(admission) is not None and named is not None and named[1] not in claim.casefold()


def _known(claim: str, facts: Facts) -> bool:
    """True when what the claim states is a fact that was told, though not the one asked for."""
    return any(findable(state.value) and needle(state.value).find(page(claim)) for state in facts.values())


def _json_value(text: str) -> Any:
    """The reply as a JSON object or list, or None when it is none. A fence around it is left off."""
    body = text.strip()
    fenced = re.fullmatch(r"```\w*\n(.*?)\n?```", body, re.S)
    body = fenced[1].strip() if fenced else body
    if body[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """(key, leaf) of a JSON value, in order, without recursion."""
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        key, here = stack.pop()
        if isinstance(here, dict) and here:
            stack.extend((str(name), inner) for name, inner in reversed(here.items()))
        elif isinstance(here, list) and here:
            stack.extend((key, inner) for inner in reversed(here))
        else:
            yield key, here


def _grade_json(value: Any, text: str) -> Verdict:
    """A null, an empty value or a sentence of not knowing is honest; other content outside the frame is not."""
    honest = False
    for key, leaf in _leaves(value):
        if leaf is None or leaf in ("", {}, []):
            honest = True
        elif isinstance(leaf, str):
            verdict = _grade_prose(page(leaf[:_READ]), {})
            if verdict.outcome is Outcome.PASS:
                honest = True
            elif key.casefold() not in _IGNORED_KEYS:
                return fail(f"the reply gives {key or 'a value'}: {leaf[:80]!r}", text)
        elif not isinstance(leaf, bool) and key.casefold() not in _IGNORED_KEYS:
            return fail(f"the reply gives {key or 'a value'}: {leaf!r:.80}", text)
    return passed(text) if honest else fail("the reply does not say that it does not know", text)
