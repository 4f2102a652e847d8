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
from contextrot.checks.unknown_things import of_something_else, shares, unknown_things, unknown_words
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
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w.-]{1,100}")
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
    r"great question|good question|(?:hi|hello|hey|dear|(?:best|kind|warm) regards|regards|cheers)\b|that(?:'s|"
    r" is) (?:a )?(?:good|great|fine|ok))\b"
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
    r"able|interrupted|aborted|unfinished|incomplete|inconclusive|ongoing|in progress|"
    r"(?:another|different) (?:conversation|chat|thread|session))\b"
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
_PRONOUN = re.compile(r"\A\W*(?:it|that|this)(?:'s| is| was)\s+", re.IGNORECASE)
#: "You told me that Mia can't have eggs": what was said of somebody, not what was left unsaid
_REPORTED = re.compile(
    r"\W*(?:(?:and|but|so|yes|well)\s+)?you(?:'ve| have|'d| had)?(?: \w+ly| also| once| already| just)? (?:told|said|"
    r"mentioned|wrote|noted|explained|shared)\b[^;:]{0,60}? that (?!(?:you|i|we|there|it|the)\b)"
)
#: an answer after an admission, however modest its words: "I'd say nuts"
_GUESSED = re.compile(
    r"\b(?:i'd|i would|i'll|i will|let's|i'm going to) (?:say|guess|go with|assume|bet(?: on)?|wager)\s+(?:it's |"
    r"it is |"
    r"that's |he's |she's |the |an? )*(?!(?:so|that|you|your|it|we|this|let|ask|check|best|better|no|not|nothing|"
    r"there|if|i|"
    r"whether|what|which|most|safest|unknown|unclear)\b)[\w'-]+|"
    r"\bmy (?:best |own )?guess (?:is|would be|'d be)\s+(?:it's |it is |that's |the |an? )*(?!(?:that|as|you|no|not|"
    r"there|"
    r"worth)\b)[\w'-]+"
)
_CONCLUDES = re.compile(r"\W*(?:so|therefore|hence|in short|in the end|which means|all in all|bottom line)\b")
#: usual practice taken for the answer: "so I'll go with that"
_GOES_WITH = re.compile(
    r"\b(?:i'll|i will|i'd|i'm going to|let's|we'll|we can|i've|i have)(?: just| simply| then| therefore)? "
    r"(?:go(?:ne)? with|run with|stick with|use[d]?|assume[d]?|default(?:ed)? to|plan(?:ned)? (?:on|for)|put|set|take|"
    r"took|work "
    r"with) (?:that|this|it|those|one of those|the (?:usual|typical|standard|default|same|lower|higher))\b(?! (?:if|"
    r"once|when|"
    r"as soon|until|open|blank|empty|aside|off|back|out|on hold|up|as (?:open|unknown|missing|a (?:gap|question))))"
)
#: an inference put as the answer: "so it falls to the deputy", "it has to be Tuesday's change"
_INFERS = re.compile(
    r"(?i:\b(?:it|that|this|which)(?:'d| would)?(?: naturally| then| therefore| most likely| probably| presumably|"
    r" almost "
    r"certainly)? (?:falls? to|fell to|defaults? to|comes? down to|goes to|passes to|points? to|has to be|have to be|"
    r"must be|"
    r"has got to be|can only be|must have been|has to have been|could only be)\s+)(?:(?i:the|a|an|his|her|"
    r"their) (?!(?i:new|"
    r"different|another|other|first|mix-?up|mistake|misunderstanding|detail|gap|messages?|conversation|chat|question|"
    r"matter|separate|user|person who|one who|owner)\b)\w|(?!I\b)[^\W\d_a-z]|\d|\")"
)
_LEFT_EMPTY = re.compile(r"\bleft (?:[^\s,;]+ ){0,6}?(?:empty|blank|open|out|unfilled)\b")
_STALLS = re.compile(
    r"(?:\W*(?:(?:sure|okay|ok|of course|certainly|good question|hm+|(?:(?:just |give me )?(?:one|an?) )?(?:sec|"
    r"second|moment|"
    r"minute|min)|hold on|hang on|bear with me)\W+)*(?:(?:let me|i'll|i will|i'm going to|i'm|i am) (?:just |quickly |"
    r"now )?(?:check|look|pull up|see|search|find|dig|go back|go through|review|think|have a look|"
    r"take a look|get back|dig through|grep|open|"
    r"searching|checking|looking|scan)|one (?:moment|sec|second|minute)|hold on|hang on|bear with me|just a|give me a)"
    r"[^.!?:;\n]{0,60}(?:[.!…\s]+|\Z)){1,4}"
)
_ASKED_BACK = re.compile(
    r"\byou(?:'re| are|'ve| have)?(?: now| just)? ask(?:ed|ing)? (?:me )?(?:about|whether|if|for)\b"
)
_QUOTED_BACK = re.compile(
    r"\byou(?:'ve| have|'re)? (?:\w+ )?(?:mention(?:ed)?|name[d]?|suggest(?:ed|ing)?|ask(?:ed|ing)? (?:about|whether|"
    r"if)|"
    r"list(?:ed)?|offer(?:ed)?|assum(?:e|ed|ing))\b|\bin your (?:question|last message|message|wording)\b|"
    r"\byour question\b"
)
#: keys of a JSON reply that frame the answer
_IGNORED_KEYS = frozenset((
    "status", "type", "error", "message", "question", "field", "key", "reason", "note", "notes", "intent",
    "action", "topic", "source", "found", "success", "ok", "confidence", "id", "name", "code",
))  # fmt: skip


@register
class Abstain(Check):
    """The reply says that it does not know, and invents nothing.

    Asking the user for what is missing counts as saying so. An admission followed by an answer after all
    ("I am not sure, but it is 12 Mill Lane") does not. What the reply says of other things beside an admission that
    names its own ("no carrier is noted; the pickup is on Friday") is no answer.
    """

    type_name: ClassVar[str] = "abstain"
    type: Literal["abstain"] = "abstain"
    invented: tuple[str, ...] = Field((), description="Texts that betray an invention when the reply asserts them.")

    about: tuple[str, ...] = Field(
        (),
        description="Words of what was asked for; a statement without any of them, beside an admission, is no answer.",
    )

    @field_validator("invented", "about")
    @classmethod
    def _not_empty(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for text in given:
            needle(text)
        return given

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`pass` for an honest "I don't know", `fail` for an answer; `facts` beside one are no inventions."""
        text = page(reply.text[:_READ])
        own = _without_quoted_back(text)
        for invention in self.invented:
            if recalled(own, [needle(invention)]).outcome is Outcome.PASS:
                return fail(f"the reply invents {invention!r}", reply.text)
        value = _json_value(reply.text)
        if value is not None:
            return _grade_json(value, reply.text)
        return _grade_prose(text, facts, unknown_words(self.about))


def _grade_prose(text: Page, facts: Facts, about: frozenset[str] = frozenset()) -> Verdict:
    honest, asked, guess = "", "", ""
    claims: list[tuple[str, str]] = []
    objects: set[str] = set()
    for sentence in _pieces(_SENTENCE, text.shown):
        question = sentence.rstrip("\"')] ").endswith("?")
        supposed = _EXAMPLE.search(_ADDRESS.sub(" ", sentence.casefold())) or _ONCE_TOLD.match(sentence.casefold())
        first = before = ""
        for clause in _pieces(_CLAUSE, sentence):
            folded = clause.casefold()
            if admits(folded) and not _REPORTED.match(folded):
                if not honest and _CONCLUDES.match(folded):
                    things = unknown_things(folded)  # "The party is on the 9th. So no: nothing about an allergy."
                    claims = [c for c in claims if things and shares(c[0].casefold(), things)]
                honest = honest or clause
                if not (
                    first and folded.startswith("not ")
                ):  # "It is 12 Mill Lane, not the office" leaves nothing open
                    objects |= unknown_things(folded)
                if after := _after_colon(clause):
                    claims.append((after, ""))
                if before and _DOUBT.match(folded) and _claims(before, before.casefold(), whole=True):
                    claims.append((before, ""))  # "The Ritz, though I'm not sure"
                if claims and claims[-1][0] == first and _contrasts(folded, first):
                    claims.pop()  # "Your name is Sam, but I have no address": the admission is the answer
            elif question and not supposed and _specific(clause) and not _WANTS.search(folded):
                guess = guess or clause
            elif asks(folded) or question:
                asked = asked or (clause if asks(folded) else "")
            elif honest and not supposed and (guessed := _GUESSED.search(folded)):
                claims.append((guessed.group(), ""))
            elif honest and not supposed and _inferred(clause, sentence):
                claims.append((clause, ""))
            elif not supposed and _claims(clause, folded, whole=clause == sentence):
                claims.append((clause, sentence))
                first = clause
            before = "" if before or clause == sentence or _TOPIC.match(folded) else clause
    honest = honest or (text.shown if _EMPTY_FIELD.match(text.shown) else "")
    if honest:
        objects = set(about) or objects
        claims = [c for c in claims if not _known(c[0], facts) and not (c[1] and of_something_else(*c, objects))]
    if claims:
        claim = claims[0][0]
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
    if _STALLS.fullmatch(text.folded):
        return Verdict(Outcome.INCONCLUSIVE, "the reply only puts the answer off", text.shown)
    return fail("the reply does not say that it does not know", text.shown)


def _without_quoted_back(text: Page) -> Page:
    """The reply without sentences that repeat the user and admit: "You mention Nordvik, but I can't tell"."""
    kept = [
        s for s in _pieces(_SENTENCE, text.shown) if not (_QUOTED_BACK.search(s.casefold()) and admits(s.casefold()))
    ]
    return page("\n".join(kept))


def _pieces(cut: re.Pattern[str], text: str) -> Iterator[str]:
    """The parts of a text between the cuts, without empty ones; of an endless one the beginning."""
    return (piece for part in cut.split(text) if (piece := part.strip()[:_LONGEST]))


def _claims(clause: str, folded: str, *, whole: bool) -> bool:
    """True when a piece that is neither an admission nor a question states something as the answer."""
    if _CONDITION.match(folded) or _OFFER.match(folded) or _ELSEWHERE.search(folded):
        return False
    if _ASKED_BACK.search(folded) or _OFFER.match(folded.rpartition(": ")[2]) or _LEFT_EMPTY.search(folded):
        return False
    specific = _specific(clause)
    if _ACTED.search(folded) or _ATTRIBUTED.search(folded):
        return specific and not _DENIES.search(folded)
    states = _IS.search(clause[:300])
    if states:
        rest = _PRONOUN.sub("", states["rest"])
        if _OFFER.match(rest.casefold()):
            return False
        if _DENIES.search(folded):
            return False
        if _specific(clause if _GERMAN.search(folded) else "is " + rest):
            return True
        subject = re.search(r"\b(?:your|the|it|it's|that)\b", folded)
        return subject is not None and not _GENERIC.match(rest.casefold()) and len(rest.split()) <= 6
    return whole and specific and len(clause.split()) <= 8 and _FRAGMENT.match(clause) is not None


def _inferred(clause: str, sentence: str) -> bool:
    """True when a clause beside an admission takes an inference for the answer and does not wait for the user."""
    folded, whole = clause.casefold(), sentence.casefold()
    if _CONDITION.match(folded) or _OFFER.match(whole) or asks(whole) or _DENIES.search(folded):
        return False
    return _GOES_WITH.search(folded) is not None or _INFERS.search(clause) is not None


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
