"""Rules in plain words as checks, where code can grade them: "Answer in French", "Use at most 30 words".

Only whole rules of a known form are read; anything else is for a judge (None here). A rule read wrongly would fail
replies that keep it, so the forms are few and strict.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from contextrot.checks.language import LANGUAGES
from contextrot.tasks.base import Raw

_LANGUAGES = {name.casefold(): code for code, name in LANGUAGES.items()} | {"farsi": "fa"}
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: number for number, word in enumerate(_WORDS, 1)} | {"a single": 1, "single": 1}

#: Pieces of the forms, by the name they are written with: `<many>` stands for its pattern.
_PIECES = {
    "n": r"(?P<n>\d{1,4}|a single|" + "|".join(_NUMBERS) + ")",
    "unit": r"(?P<unit>words?|sentences?|bullet points?|bullets?|paragraphs?|lines?|characters?)",
    "quoted": "(?:'[^']+'|\"[^\"]+\"|“[^“”]+”|‘[^‘’]+’)",
    "do": r"(?:(?:always |please |only )*"
    r"(?:use|write|produce|give|answer|respond|reply|keep|limit|condense|provide|make))",
    "replies": r"(?:(?:all |every |each |your |the )*"
    r"(?:answer(?:s|ing)?|responses?|replies|reply|messages?|questions?|queries|output|summary)|it)",
    "by": r"(?:(?:with|using|in|to|be) )*",
    "the": r"(?: (?:the|this) (?:exact |following )?(?:phrase|sentence|words?|text|tag))?:?",
}


def language_check(name: str) -> Raw | None:
    """The check that a reply is in the language of this English name; None for one that cannot be told."""
    code = _LANGUAGES.get(name.casefold())
    return {"type": "language", "is": code} if code else None


def rule_check(rule: str) -> Raw | None:
    """The check of a rule in plain words, or None when code cannot grade it."""
    text = " ".join(rule.split()).rstrip(".").strip()
    for pattern, made in _FORMS:
        found = pattern.fullmatch(text)
        if found and (check := made(found)):
            return check
    return None


def _count(bound: str, more: int = 0) -> Callable[[re.Match[str]], Raw | None]:
    def made(found: re.Match[str]) -> Raw | None:
        word, unit = found["n"].lower(), found["unit"].lower().removesuffix("s")
        number = (int(word) if word.isdecimal() else _NUMBERS[word]) + more
        unit = "bullet" if unit == "bullet point" else unit
        return {"type": "count", "unit": f"{unit}s", bound: number} if number > 0 else None

    return made


def _affix(kind: str) -> Callable[[re.Match[str]], Raw | None]:
    return lambda found: {"type": kind, "text": found["text"][1:-1]}


def _keywords(key: str) -> Callable[[re.Match[str]], Raw | None]:
    def made(found: re.Match[str]) -> Raw:
        quoted = re.findall(_PIECES["quoted"], found["words"])
        return {"type": "keyword", key: [word[1:-1] for word in quoted]}

    return made


def _always(**check: object) -> Callable[[re.Match[str]], Raw | None]:
    return lambda _: dict(check)


def _form(text: str) -> re.Pattern[str]:
    for name, pattern in _PIECES.items():
        text = text.replace(f"<{name}>", pattern)
    return re.compile(text, re.IGNORECASE)


_LIST = r"(?P<words><quoted>(?:(?:,? (?:and|or) |, )<quoted>)*)"
_BOUNDS = {
    "(?:at most|no more than|up to|within|a maximum of)": _count("at_most"),
    "(?:under|less than|fewer than)": _count("at_most", -1),
    "(?:at least|no fewer than|a minimum of)": _count("at_least"),
}
_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Raw | None]], ...] = (
    (
        _form(r"<do>(?: <replies>)? (?:only )?(?:in|by typing in) (?P<language>[a-z]+)(?: language| only)?"),
        lambda found: language_check(found["language"]),
    ),
    *((_form(rf"<do>(?: <replies>)? <by>{words} <n> <unit>"), made) for words, made in _BOUNDS.items()),
    (_form(r"<do>(?: <replies>)? <by>(?:exactly |only |just )*<n> <unit>"), _count("exactly")),
    (
        _form(r"<do>(?: <replies>)? <by>(?:markdown )?(?:bullet points|bullets|a bulleted list)"),
        _always(type="count", unit="bullets", at_least=1),
    ),
    (_form(r"(?:always )?(?:start|begin|open)(?: <replies>)? with<the> (?P<text><quoted>)"), _affix("starts_with")),
    (_form(r"<do>(?: <replies>)? (?:starting|beginning) with<the> (?P<text><quoted>)"), _affix("starts_with")),
    (_form(r"(?:always )?(?:end|finish|close)(?: <replies>)? with<the> (?P<text><quoted>)"), _affix("ends_with")),
    (_form(r"(?:always )?say (?P<text><quoted>) at the end(?: of <replies>)?"), _affix("ends_with")),
    (
        _form(r"(?:avoid(?: using)?|do not use|don't use|never use) the (?:words?|phrases?|terms?) " + _LIST),
        _keywords("none"),
    ),
    (_form(r"(?:always )?(?:include|use|mention) the (?:words?|phrases?|keywords?|terms?) " + _LIST), _keywords("all")),
    (
        _form(r"(?:(?:do not|don't|never) use|avoid(?: using)?) (?:any )?commas"),
        _always(type="regex", matches=r"\A[^,]*\Z"),
    ),
    (
        _form(r"<do>(?: <replies>)? in (?:all )?(?:caps|capital letters|capitals|upper ?case)(?: letters)?"),
        _always(type="case", **{"is": "upper"}),
    ),
    (_form(r"<do>(?: <replies>)? in (?:all )?lower ?case(?: letters)?"), _always(type="case", **{"is": "lower"})),
)
