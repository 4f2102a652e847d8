"""The prose of a reply: what says in which language it is written. Code, data, quotations, addresses, names do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from contextrot.checks.markdown import fences, lines_of, only_fence
from contextrot.checks.strict_json import JsonFault, parse, values_in

#: Characters that are looked through for code and data; of a longer reply, its beginning and its end.
_LONGEST = 400_000
#: Characters that are read at most; of a longer reply, slices spread evenly over it.
MOST_CHARACTERS = 24_000
_SLICES = 8
#: Signs of scripts that need about a third of the signs to say the same, and do not part words by blanks.
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]")
_WORD = re.compile(r"[^\W\d_]+(?:['’·-][^\W\d_]+)*")
_SENTENCE = re.compile(r"(?<=[.!?…।؟])[\"'”»)\]]*\s+|(?<=[。！？])|\n+")
_TEXT_FENCES = frozenset({"", "text", "txt", "plain", "plaintext", "markdown", "md"})
#: the signs of scripts that do not part words by blanks, which a code or a number among them does not touch
_UNPARTED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uffee"
_SIGN, _STARTS = rf"[^\s{_UNPARTED}]", rf"(?<![^\s{_UNPARTED}])"
#: what is no prose wherever it stands; each pattern is linear in the text
_NO_PROSE = re.compile(
    r"`[^`\n]{1,400}`"  # code in a line
    rf"|(?:(?<!\w)|(?<=[{_UNPARTED}]))(?:https?|ftp|file)://{_SIGN}+|\bwww\.{_SIGN}+"
    rf"|{_STARTS}{_SIGN}*@[\w-]{_SIGN}*"  # e-mail
    r"|</?[A-Za-z][^<>\n]{0,200}>"  # tags
    rf"|{_STARTS}{_SIGN}*[\\/_=<>{{}}|#$^~]{_SIGN}*"  # paths, identifiers, formulas
    rf"|{_STARTS}{_SIGN}*\d{_SIGN}*"  # numbers, codes, dates
    r"|(?<!\w)(?:[^\W\d_]*[a-z][A-Z]\w*|[^\W\d_]+\.[^\W\d_]+(?:\.\w+)*)(?!\w)"  # camelCase, dotted.names
)
_QUOTES = (("“", "”"), ("„", "“”"), ("«", "»"), ("「", "」"), ("『", "』"), ("»", "«"), ('"', '"'))
#: Longest quotation that is one; a lone quote mark further from its partner is a slip of the pen.
_LONGEST_QUOTE = 600
_BLOCK_QUOTE = re.compile(r"^[ \t]{0,3}>.*$", re.M)
_MARKS = re.compile(r"^[ \t]*(?:[-*+•]|#{1,6}|\d{1,3}[.)])[ \t]+|[*_]{1,3}|\|", re.M)


def sentences(text: str) -> list[str]:
    """The sentences of a reply's prose, in order. Quotations count only where next to nothing else is said.

    A few words before a quotation (`The answer is "…"`) are what the reply says, and too little to tell it by.
    """
    prose = _sampled(_without_code(text))
    unquoted = _BLOCK_QUOTE.sub(" ", prose)
    for opening, closing in _QUOTES:
        if opening in unquoted:
            pattern = rf"(?<!\w){re.escape(opening)}[^{re.escape(opening + closing)}]{{1,{_LONGEST_QUOTE}}}[{closing}]"
            unquoted = re.sub(pattern, " ", unquoted)
    found = list(_split(unquoted))
    said = sum(map(weight, found))
    introduces = said >= 6 and sum(len(words(sentence)) for sentence in found) > 1
    whole = list(_split(prose))
    return found if said >= 12 or (introduces and sum(map(weight, whole)) > 3 * said) else whole


def weight(sentence: str) -> int:
    """How much a sentence says, in letters; a sign of a dense script (Chinese, Japanese, Korean) counts three."""
    return sum(map(len, words(sentence))) + 2 * len(_DENSE.findall(sentence))


def words(sentence: str) -> list[str]:
    """The words of a sentence, in its order; of a script without blanks, its runs of signs."""
    return _WORD.findall(sentence)


def common_words(sentence: str) -> list[str]:
    """The words that are no proper name as far as capitals tell: names and titles are alike in every language.

    In a text that is all capitals, or in a script without them, every word is one.
    """
    found = words(sentence)
    if sentence.upper() == sentence:
        return found
    return [word for place, word in enumerate(found) if place == 0 or not word[:1].isupper()]


def _split(prose: str) -> Iterator[str]:
    for part in _SENTENCE.split(_MARKS.sub(" ", _NO_PROSE.sub(" ", prose))):
        line = " ".join(part.split())
        if any(sign.isalpha() for sign in line):
            yield line


def _without_code(text: str) -> str:
    """The reply without fenced code, JSON and what else is no prose; of JSON the texts that people read."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"
    whole = only_fence(text) if len(text) <= 4 * MOST_CHARACTERS else None
    inner = text if whole is None else whole.content
    if inner.lstrip()[:1] in ("{", "["):
        try:
            return "\n".join(_texts_in(parse(inner)))
        except JsonFault:
            pass
    if whole is not None and whole.language.casefold() in _TEXT_FENCES:
        text = whole.content
    else:
        lines = lines_of(text)
        for block in fences(text):
            lines[block.first : block.last] = [""] * (block.last - block.first)
        text = "\n".join(lines)
    if '{"' in text or '["' in text or '": ' in text:
        for value in values_in(text[: 4 * MOST_CHARACTERS]):
            try:
                text = text.replace(value, "\n" + "\n".join(_texts_in(parse(value))) + "\n", 1)
            except JsonFault:
                continue
    return text


def _texts_in(value: Any) -> Iterator[str]:
    """The texts of a JSON value that are more than a label: keys and single words are no prose."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack.extend(reversed(one.values()))
        elif isinstance(one, list):
            stack.extend(reversed(one))
        elif isinstance(one, str) and (len(one.split()) > 2 or len(_DENSE.findall(one)) > 3):
            yield one


def _sampled(text: str) -> str:
    """The prose cut to a bounded size: the same slices of the same text."""
    if len(text) > MOST_CHARACTERS:
        size, step = MOST_CHARACTERS // _SLICES, len(text) // _SLICES
        text = "\n".join(text[start : start + size] for start in range(0, step * _SLICES, step))
    return text
