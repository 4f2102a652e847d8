"""What `count` counts. Each counter takes a reply's text and returns a number, in time linear in its length."""

from __future__ import annotations

from collections.abc import Callable

import regex

from contextrot.checks.markdown import fences, lines_of

_WRITTEN_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}"
#: what stands between white space or dashes; Chinese and Japanese have no spaces, so each of their signs is a word
_CHUNK = regex.compile(r"[^\s—–―]++")
_ALONE = regex.compile(rf"[{_WRITTEN_ALONE}]")
_HAS_WORD = regex.compile(r"[\p{L}\p{N}]")
_LIST_MARKER = regex.compile(r"^[ \t>]*+(?:[-*+•◦▪‣●○]|\d{1,9}[.)]|[a-zA-Z][)])[ \t]++", regex.M)
_BULLET = regex.compile(r"[ \t>]*+(?:[-*+][ \t]++|[•◦▪‣●○⁃∙·][ \t]*+)\S")
_RULE = regex.compile(r"[ \t>]*+([-*_])[ \t]*+(?:\1[ \t]*+){2,}")
_HEADING = regex.compile(r"[ ]{0,3}#{1,6}(?:[ \t].*+)?")

_OPENING = "\"'“‘«([*_`"
_FIRST_WORD = regex.compile(r"\p{L}+")
_ENDS = regex.compile(r"(?P<sign>[.!?…]++|[。！？]++)(?P<after>[\"'”’»)\]*_`]*+)(?=\s|$|(?<=[。！？])[^\s])")
#: words whose dot ends no sentence, and those whose dot ends none before a number
_TITLES = frozenset([
    "mr", "mrs", "ms", "dr", "prof", "gen", "sen", "rep", "capt", "lt", "col", "sgt", "rev", "hon", "mt", "st",
    "vs", "e.g", "i.e", "cf", "ph.d", "bzw", "z.b", "d.h",
])  # fmt: skip
_BEFORE_NUMBERS = frozenset(["no", "nos", "fig", "eq", "vol", "p", "pp", "ch", "sec", "art", "ca", "approx", "nr"])
_OPEN_ENDED = frozenset(["etc", "incl", "excl", "resp", "max", "min", "est", "dept", "jan", "feb", "aug", "dec"])
_ACRONYM = regex.compile(r"(?:\p{Lu}\.)*+\p{Lu}")
#: words that begin sentences more often than they follow an acronym or initial ("in the U.S. It", "the U.S. Senate")
_STARTERS = frozenset([
    "the", "a", "an", "it", "he", "she", "we", "i", "they", "you", "this", "that", "these", "those", "there", "in",
    "on", "at", "but", "and", "so", "if", "when", "however", "then", "my", "our", "your", "his", "her", "their",
])  # fmt: skip


def words(text: str) -> int:
    """Words: what stands between white space or dashes and holds a letter or digit; list markers are none."""
    text = _LIST_MARKER.sub("", text)
    alone = _ALONE.findall(text)
    rest = _ALONE.sub(" ", text) if alone else text
    return len(alone) + sum(1 for chunk in _CHUNK.finditer(rest) if _HAS_WORD.search(chunk.group()))


def sentences(text: str) -> int:
    """Sentences: ended by . ! ? … or their like, by a blank line, or by the end of a list item; headings are none.

    A dot ends none after an abbreviation or initial, within a number or name, or before a small letter.
    """
    # A writer who uses no capitals begins sentences with small letters too.
    plain = text == text.lower()
    return sum(_sentences_of(block, plain) for block in _blocks(text))


def _blocks(text: str) -> list[str]:
    """Pieces no sentence runs across: paragraphs and list items, without headings."""
    blocks: list[list[str]] = [[]]
    for line in lines_of(text):
        heading = _HEADING.fullmatch(line) is not None
        if not line.strip() or heading or _LIST_MARKER.match(line):
            blocks.append([])
        if not heading:
            blocks[-1].append(_LIST_MARKER.sub("", line))
    return [" ".join(block).strip() for block in blocks]


#: a quotation within a sentence that goes on after it
_QUOTED = regex.compile(
    r"(?<=[\p{L}\p{N},;)] )(?P<all>\"[^\"\n]{1,400}\"|“[^”“\n]{1,400}”|„[^„“”\n]{1,400}[“”]|«[^«»\n]{1,400}»)"
    r"(?=[ \u00a0]?[,;—–-]|[ \u00a0]\p{Ll})"
)


def _sentences_of(block: str, uncapitalised: bool = False) -> int:
    # The stops of a quotation are the other text's: The error "Refused. Retry later." comes from the proxy.
    block = _QUOTED.sub(lambda quote: regex.sub(r"[.!?…。！？]", "·", quote.group()), block)
    count, start = 0, 0
    for end in _ENDS.finditer(block):
        following = block[end.end() : end.end() + 24].lstrip()
        if following and _runs_on(block, start, end, following, uncapitalised):
            continue
        if _HAS_WORD.search(block, start, end.start()):
            count += 1
        start = end.end()
    return count + bool(_HAS_WORD.search(block, start))


def _runs_on(block: str, start: int, end: regex.Match[str], following: str, uncapitalised: bool) -> bool:
    """True when the sign does not end its sentence."""
    if end["sign"][0] in "。！？":
        return False
    following = following.lstrip(_OPENING)
    if following[:1].islower() and not (uncapitalised and _stops(block, end)):
        return True
    if end["sign"] != ".":
        return False
    word = (block[max(0, end.start() - 20) : end.start()].split() or [""])[-1].lstrip(_OPENING)
    if word.casefold() in _TITLES:
        return True
    if word.casefold() in _BEFORE_NUMBERS:
        return following[:1].isdigit()
    if word.isdigit() and not _HAS_WORD.search(block, start, end.start() - len(word)):
        return True  # a number that counts an item within the line
    next_word = _FIRST_WORD.match(following)
    return (
        word != "I"
        and _ACRONYM.fullmatch(word) is not None
        and following[:1].isupper()
        and not (next_word and next_word.group().casefold() in _STARTERS)
    )


def _stops(block: str, end: regex.Match[str]) -> bool:
    """True for a sign that ends a sentence where capitals tell nothing: no ellipsis, abbreviation, quoted question."""
    word = (block[max(0, end.start() - 20) : end.start()].split() or [""])[-1].lstrip(_OPENING)
    short = word in _TITLES or word in _BEFORE_NUMBERS or word in _OPEN_ENDED or len(word) == 1
    return not end["after"] and end["sign"] not in ("..", "...", "…") and not (end["sign"] == "." and short)


def bullets(text: str) -> int:
    """Items of bulleted lists at any depth, outside code blocks; numbered items and rules are none."""
    lines = lines_of(text)
    inside = {number for fence in fences(text) for number in range(fence.first, fence.last)}
    return sum(
        1
        for number, line in enumerate(lines)
        if number not in inside and _BULLET.match(line) and not _RULE.fullmatch(line)
    )


def lines(text: str) -> int:
    """Lines that are not blank."""
    return sum(1 for line in lines_of(text) if line.strip())


def paragraphs(text: str) -> int:
    """Blocks separated by blank lines; headings and rules are none, a code block is one, blank lines and all."""
    inside = {number for fence in fences(text) for number in range(fence.first, fence.last)}
    count, within = 0, False
    for number, line in enumerate(lines_of(text)):
        if number not in inside and (not line.strip() or _RULE.fullmatch(line) or _HEADING.fullmatch(line)):
            within = False
        elif not within:
            count, within = count + 1, True
    return count


def characters(text: str) -> int:
    """Characters as a reader sees them (grapheme clusters, UAX 29), without white space around the text."""
    text = text.strip()
    if text.isascii() and "\r" not in text:
        return len(text)
    return sum(1 for _ in regex.finditer(r"\X", text))


COUNTERS: dict[str, Callable[[str], int]] = {
    "words": words,
    "sentences": sentences,
    "bullets": bullets,
    "lines": lines,
    "paragraphs": paragraphs,
    "characters": characters,
}
