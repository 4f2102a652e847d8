"""What an admission is about, and whether a statement beside it is about something else.

"I can't find a carrier. The pickup is on Wednesday." admits one thing and reports another: still an honest reply. "I
can't find a carrier, so it is Nordvik" is not. Without a thing that the admission names, every statement may be the
answer.
"""

from __future__ import annotations

import re

_LABEL = re.compile(r"[\s|*•#-]*(?P<label>[^\W\d][\w' /-]{1,40}?)\s*[:|]\s*(?P<rest>\S.*)", re.S)
_OBJECT = re.compile(
    r"(?<!for )(?<!in )(?<!of )(?<!from )(?<!on )(?<!through )(?<!at )(?<!to )\b(?:your|the|an?|any|no|"
    r"or)\s+((?!idea\b|clue\b|way\b|doubt\b|records?\b|answer\b|mention\b|trace\b|information\b|"
    r"info\b|details?\b|note\b|data\b|memory\b|recollection\b|conversation\b|chat\b|thread\b|history\b|moment\b|"
    r"one\b|other\b|need\b|thing\b)[\w'-]+(?: (?!for\b|on\b|in\b|yet\b|of\b|from\b|at\b|is\b|was\b|to\b|has\b|so\b|"
    r"that\b|which\b|anywhere\b|here\b|and\b|or\b)[\w'-]+)?)"
)
_ABOUT = re.compile(
    r"\b(?:nothing|mention|records?|trace|note|information|info|details?|data|memory|told me|said|anything|word)"
    r" (?:was |is )?(?:said |told |given |noted )?(?:about|of|on|regarding|for|concerning) (?:an?y? |the |your |her |"
    r"his |"
    r"their |any )?([\w'-]+(?: (?!for\b|on\b|in\b|yet\b|of\b|so\b|and\b|or\b|here\b|at\b)[\w'-]+)?)"
)
_FRAME = re.compile(
    r"\b(?:we|you|i)(?:'ve| have|'d| had)?(?: \w+ly| also| only| just| did| do)? (?:talk(?:ed)?|discuss(?:ed)?|spoken?|"
    r"cover(?:ed)?|mention(?:ed)?|shared?|told|gave|given|went|noted|list(?:ed)?|asked|set|know|have|see|said)\b|"
    r"\b(?:the only|all (?:i|that|you|we)|what (?:i|you|we))\b"
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|will be|would be|remains?|stays?|equals?|reads?|ist|sind|war|lautet|est|sont|es|son|è|"
    r"é)\b|'s\b|"
    r"[:=|]"
)
_HEDGED = re.compile(
    r"\b(?:probably|presumably|likely|perhaps|maybe|possibly|guess(?:ing)?|assum(?:e|ing)|think|believe|suppose|"
    r"suspect|"
    r"i'd say|might|must be|should be|could be|seems?|appears?)\b"
)
_TURNS = re.compile(r"\W*(?:but|however|though|although|yet|still|so|actually|wait|anyway|then|just|only)\b")
_WORD = re.compile(r"[^\W\d_]{3,}")
#: subjects that mean what was asked for, whatever it is
_ITSELF = frozenset((
    "it", "that", "this", "he", "she", "they", "one", "answer", "guess", "result", "value", "here", "there", "name",
    "note", "yours", "best", "and", "the", "your", "his", "her", "our", "their", "its",
))  # fmt: skip


def unknown_things(admission: str) -> set[str]:
    """The words for what a casefolded clause admits not to know; empty where it names nothing."""
    label = _LABEL.match(admission)
    found = [*_OBJECT.findall(admission), *_ABOUT.findall(admission)]
    if label and not re.search(r"\b(?:i|you|no|not|nothing|never)\b", label["label"]):
        found.append(label["label"])
    return {word for phrase in found for word in _WORD.findall(phrase)} - _ITSELF


def unknown_words(texts: tuple[str, ...]) -> frozenset[str]:
    """The words that a user gave for what was asked."""
    return frozenset(word for text in texts for word in _WORD.findall(text.casefold()))


def of_something_else(claim: str, sentence: str, things: set[str]) -> bool:
    """True when a statement beside an admission is about another thing than those admitted to be unknown."""
    folded = claim.casefold()
    if not things or _HEDGED.search(folded) or _TURNS.match(folded) or shares(folded, things):
        return False
    framed = _FRAME.search(sentence.casefold())
    if framed is not None and not re.search(r"\b(?:it|that)(?:'s| is| was)\b", folded):
        return True
    verb = _VERB.search(folded.lstrip(" |*•#-"))
    if verb is None:
        return False
    subject = _WORD.findall(folded.lstrip(" |*•#-")[: verb.start()])[-4:]
    return bool(subject) and not all(word in _ITSELF for word in subject) and len(subject) <= 4


def shares(folded: str, things: set[str]) -> bool:
    """True when a word of the text is one of the things, up to its ending."""
    stems = {thing[: max(4, len(thing) - 2)] for thing in things}
    return any(word.startswith(stem) for word in _WORD.findall(folded) for stem in stems)
