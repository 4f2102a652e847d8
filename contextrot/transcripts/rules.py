"""Standing rules found in a conversation by their wording, and the checks that code can derive from the wording.

English wordings. What is found is a suggestion: a rule whose check cannot be derived, or is broken by most of what the
session itself answered, is left to the user. A check is derived only where the words leave no choice of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from contextrot.checks.base import REGISTRY

Derived = dict[str, Any]

#: Words by which a sentence speaks of all replies to come, not of the next one.
_STANDING = re.compile(
    r"(?i)\b(?:always|never|from now on|from here on|for the rest of|in (?:all|every|each)|every time|each time|"
    r"at all times|under no circumstances|(?:every|each|all) (?:of )?(?:your )?(?:repl|answer|response|message)|"
    r"(?:you )?must(?: not)?\b|do not ever|don't ever|until (?:i|we) (?:say|tell)|keep (?:all|every|your))\b"
)
#: What a system prompt orders holds for the session by itself.
_ORDER = re.compile(
    r"(?i)^(?:[-*•]\s*|\d+[.)]\s*)?(?:please )?(?:respond|reply|answer|write|use|speak|format|output|return|keep|limit|"
    r"start|begin|end|round|avoid|do not|don't|only|be|include|cite)\b"
)
_ANSWER = r"(?:respond|reply|answer|output|return|write|speak|format|produce|give)"
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: number for number, word in enumerate(_WORDS)}
_NUMBER = r"(\d{1,4}|" + "|".join(_WORDS) + ")"
_LANGUAGES = {
    "english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt",
    "dutch": "nl", "polish": "pl", "russian": "ru", "japanese": "ja", "chinese": "zh", "korean": "ko",
    "swedish": "sv", "danish": "da",
}  # fmt: skip
_CONDITION = re.compile(r"(?i)\b(?:if|when|whenever|unless|except|otherwise|where possible)\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
#: Sentences longer than this say more than one rule.
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence that sounds like a standing rule, and the check derived from it (as written in YAML), or None."""

    text: str
    check: Derived | None = None


def rules_in(text: str, *, system: bool) -> Iterator[Rule]:
    """The sentences of a text that sound like standing rules. In a system prompt an order is one by itself."""
    for line in text.splitlines():
        for sentence in _SENTENCE.split(line.strip()):
            standing = _STANDING.search(sentence) or (system and _ORDER.match(sentence))
            if standing and len(sentence) <= _LONGEST and not sentence.endswith("?"):
                yield Rule(sentence, derived(sentence))


def derived(sentence: str) -> Derived | None:
    """The check a sentence leaves no choice about, as a map in YAML's terms; None where there is none.

    A rule with a condition ("if", "when", "unless") holds for some replies only, and which ones no check can tell.
    """
    if _CONDITION.search(sentence):
        return None
    for derive in (_json, _fence, _language, _count, _decimals, _case, _edges, _words):
        check = derive(sentence)
        if check is not None:
            return check if check["type"] in REGISTRY else None
    return None


def _json(sentence: str) -> Derived | None:
    if re.search(rf"(?i)\b{_ANSWER}\w*\b[^.]*\b(?:in|as|with|using|valid|only)\b[^.]*\bJSON\b", sentence):
        bare = re.search(r"(?i)\b(?:only|nothing else|no prose|raw|single|one)\b", sentence)
        fenced = re.search(r"(?i)\b(?:fence|code block|```)", sentence)
        return {"type": "json"} if bare and not fenced else {"type": "json", "only": False}
    return None


def _fence(sentence: str) -> Derived | None:
    """A code block around every answer; blocks for code alone ("write code in code blocks") are left to the user."""
    found = re.search(
        rf"(?i)\b{_ANSWER}\w*\b([^.]{{0,60}}?)\b(?:in|as|inside|within|using|with)\b[^.]{{0,30}}?"
        r"\bcode (?:blocks?|fences?)\b",
        sentence,
    )
    only_some = (
        re.search(r"(?i)\b(?:not|never|no|don't|code|snippets?|commands?|examples?|for)\b", found[1]) if found else None
    )
    negated = re.search(r"(?i)\b(?:not|never|no|don't|without)\b", sentence)
    return {"type": "code_fence"} if found and not only_some and not negated else None


def _language(sentence: str) -> Derived | None:
    names = "|".join(_LANGUAGES)
    found = re.search(rf"(?i)\b{_ANSWER}\w*\b[^.]{{0,40}}\bin ({names})\b", sentence)
    others = re.findall(rf"(?i)\b({names})\b", sentence)
    if found and len({other.lower() for other in others}) == 1 and not re.search(r"(?i)\b(?:not|never)\b", sentence):
        return {"type": "language", "is": _LANGUAGES[found[1].lower()]}
    return None


def _count(sentence: str) -> Derived | None:
    unit = r"(words?|sentences?|paragraphs?|lines?|bullets?|bullet points?|characters?)\b"
    most = re.search(
        rf"(?i)\b(?:at most|no more than|not more than|max(?:imum)?(?: of)?|up to|within|limit\w*[^.]{{0,30}}\bto|"
        rf"not exceed(?:ing)?)\s+{_NUMBER}\s+{unit}",
        sentence,
    )
    if most:
        return {"type": "count", "unit": _unit(most[2]), "at_most": _value(most[1])}
    fewer = re.search(rf"(?i)\b(?:under|fewer than|less than|below|shorter than)\s+{_NUMBER}\s+{unit}", sentence)
    if fewer and _value(fewer[1]) > 1:
        return {"type": "count", "unit": _unit(fewer[2]), "at_most": _value(fewer[1]) - 1}
    exact = re.search(rf"(?i)\b(?:in|with|exactly)\s+(?:exactly )?(?:only )?(?:a single |{_NUMBER} ){unit}", sentence)
    if exact and re.search(rf"(?i)\b{_ANSWER}", sentence):
        return {"type": "count", "unit": _unit(exact[2]), "exactly": _value(exact[1] or "one")}
    return None


def _unit(word: str) -> str:
    unit = word.lower().split()[0]
    return unit if unit.endswith("s") else unit + "s"


def _value(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word.lower()]


def _decimals(sentence: str) -> Derived | None:
    found = re.search(
        rf"(?i)\b{_NUMBER}\s+(?:decimal places?|decimals?|digits after the (?:decimal )?point)\b", sentence
    )
    if found and not re.search(r"(?i)\b(?:at least|at most|up to|no more)\b", sentence):
        return {"type": "decimals", "places": _value(found[1])}
    return None


def _case(sentence: str) -> Derived | None:
    if not re.search(rf"(?i)\b{_ANSWER}", sentence) or re.search(r"(?i)\b(?:not|never|don't)\b", sentence):
        return None
    if re.search(r"(?i)\b(?:all |only )?(?:in )?(?:lower ?case|small letters)\b", sentence):
        return {"type": "case", "is": "lower"}
    if re.search(r"(?i)\b(?:upper ?case|all caps|capital letters)\b", sentence):
        return {"type": "case", "is": "upper"}
    return None


_QUOTED = r"[\"“'`]([^\"“”'`]{1,80})[\"”'`]"


def _edges(sentence: str) -> Derived | None:
    for verb, kind in ((r"(?:start|begin|open)", "starts_with"), (r"(?:end|finish|close|sign)", "ends_with")):
        found = re.search(
            rf"(?i)\b{verb}\w*\s+(?:every|each|all|your|the)\b[^.\"“'`]{{0,40}}\bwith\b[^\"“'`]{{0,30}}{_QUOTED}",
            sentence,
        )
        if found:
            return {"type": kind, "text": found[1]}
    return None


def _words(sentence: str) -> Derived | None:
    found = re.search(
        rf"(?i)\b(?:never|do not|don't)\s+(?:ever )?(?:say|mention|use|write|include)\b[^\"“'`]{{0,30}}{_QUOTED}",
        sentence,
    )
    return {"type": "keyword", "none": [found[1]]} if found else None
