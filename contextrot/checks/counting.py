"""What `count` counts. Each counter takes a reply's text and returns a number, in time linear in its length."""

from __future__ import annotations

from collections.abc import Callable

import regex

from contextrot.checks.markdown import fences, lines_of

_WRITTEN_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}"
#: a chunk without white space or dash that holds a letter or digit; Chinese and Japanese have no spaces: each sign counts
_CHUNK = regex.compile(r"[^\s—–―]++")
_ALONE = regex.compile(rf"[{_WRITTEN_ALONE}]")
_HAS_WORD = regex.compile(r"[\p{L}\p{N}]")
_LIST_MARKER = regex.compile(r"^[ \t>]*+(?:[-*+•◦▪‣●○]|\d{1,9}[.)]|[a-zA-Z][)])[ \t]++", regex.M)
_BULLET = regex.compile(r"[ \t>]*+(?:[-*+][ \t]++|[•◦▪‣●○⁃∙·][ \t]*+)\S")
_RULE = regex.compile(r"[ \t>]*+([-*_])[ \t]*+(?:\1[ \t]*+){2,}")
_HEADING = regex.compile(r"[ ]{0,3}#{1,6}(?:[ \t].*+)?")

_ENDS = regex.compile(r"(?P<sign>[.!?…]++|[。！？]++)(?P<after>[\"'”’»)\]*_`]*+)(?=\s|$|(?<=[。！？])[^\s])")
#: words whose dot ends no sentence
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st sr jr gen sen rep capt lt col sgt rev hon mt vs e.g i.e cf fig eq no nos vol pp ca approx "
    "dept est ph.d bzw z.b d.h usw nr".split()
)


def words(text: str) -> int:
    """Words: what stands between white space or dashes and holds a letter or digit; list markers are none."""
    text = _LIST_MARKER.sub("", text)
    alone = _ALONE.findall(text)
    rest = _ALONE.sub(" ", text) if alone else text
    return len(alone) + sum(1 for chunk in _CHUNK.finditer(rest) if _HAS_WORD.search(chunk.group()))


def sentences(text: str) -> int:
    """Sentences: ended by . ! ? … or their like, by a blank line, or by the end of a list item or heading.

    A dot ends none after an abbreviation or initial, within a number or name, or before a small letter.
    """
    return sum(_sentences_of(block) for block in _blocks(text))


def _blocks(text: str) -> list[str]:
    """Pieces no sentence runs across: paragraphs, list items, headings; code is one piece."""
    blocks: list[list[str]] = [[]]
    for line in lines_of(text):
        starts_item = _LIST_MARKER.match(line) is not None
        heading = _HEADING.fullmatch(line) is not None
        if not line.strip() or starts_item or heading:
            blocks.append([])
        blocks[-1].append(_LIST_MARKER.sub("", line))
        if heading:
            blocks.append([])
    return [" ".join(block).strip() for block in blocks]


def _sentences_of(block: str) -> int:
    count, start = 0, 0
    for end in _ENDS.finditer(block):
        following = block[end.end() : end.end() + 12].lstrip()
        if following and _runs_on(block, end, following):
            continue
        if _HAS_WORD.search(block, start, end.start()):
            count += 1
        start = end.end()
    return count + bool(_HAS_WORD.search(block, start))


def _runs_on(block: str, end: regex.Match[str], following: str) -> bool:
    """True when the sign does not end its sentence."""
    if end["sign"][0] in "。！？":
        return False
    opening = following.lstrip("\"'“‘«([*_`")
    if opening[:1].islower():
        return True
    if end["sign"] != ".":
        return False
    word = block[max(0, end.start() - 20) : end.start()].split()[-1:] or [""]
    last = word[0].lstrip("\"'“‘«([*_`")
    initial = len(last) == 1 and last.isupper() and last != "I" and opening[:1].isupper()
    return initial or last.casefold() in _ABBREVIATIONS


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
    """Blocks separated by blank lines; headings and rules on their own are none; a code block is one, blank lines and all."""
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
