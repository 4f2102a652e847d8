"""Numbers as people write them, and how many decimals each shows. For the check `decimals`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import regex


@dataclass(frozen=True, slots=True)
class ShownNumber:
    """A number in the text, from `start` to `end`, with as many digits after the decimal sign as it shows."""

    text: str
    places: int
    start: int
    end: int


#: what holds digits without stating a number
_LINKS = regex.compile(r"(?:https?://|www\.)\S++|\b[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}", regex.I)
_DATES = regex.compile(
    r"(?<!\d)\d{1,4}([./-])\d{1,2}\1\d{1,4}(?!\d)|(?<!\d)\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?!\d)"
)
#: a time of day with a point: 14.30 Uhr, at 9.15 am, from 14.30 h
_CLOCKS = regex.compile(
    r"(?<![\d.,])(?:[01]?\d|2[0-3])\.[0-5]\d(?![\d.,]\d)(?:\s?(?:uhr\b|o'clock\b|p\.?m\b|a\.m\b|"
    r"am\b(?!\s+(?:\w+tag|mittwoch|ende|anfang|\d)))|(?<=\b(?:at|um|kl\.?|klo|ab|bis|from|until|till|by|since|before|after|"
    r"à|alle|gegen)\s{1,2}\d{1,2}\.\d\d)\s?(?:h|hrs|hours)\b)",
    regex.I,
)
_LABELS = regex.compile(
    r"\b(?:version|release|python|java|php|ruby|rust|node(?:\.js)?|django|rails|postgres(?:ql)?|mysql|ubuntu|debian|"
    r"fedora|ios|macos|android|kubernetes|chrome|firefox|tls|http|usb|claude|gemini|llama|qwen|section|chapter|figure|"
    r"fig|table|step|appendix|article|item|equation|eq|rev|build|v|§)"
    r"\.?\s{0,2}\d++(?:\.\d++)*+|§\s{0,2}\d++(?:\.\d++)*+",
    regex.I,
)
_MARKERS = regex.compile(r"^[ \t>]*+(?:#{1,6}[ \t]++\d++(?:\.\d++)*+[.)]?|\d{1,3}[.)](?=[ \t]))", regex.M)
#: digits with everything that may belong to them; what it means is decided in `_read`
_NUMBER = regex.compile(
    r"(?<![\p{L}\p{N}_.,])(?<!\p{L}-)[-+−]?+(?P<number>(?:\d++(?:(?:[.,' \u00a0\u202f]|\{,\}|\\,)\d++)*+)|[.,]\d++)"
    r"(?P<exponent>[eE][-+]?\d++)?+(?!-\p{L}|[.]\p{L})"
)
#: thousands in groups; a single dot before three digits is a decimal point, unless a decimal comma follows
_GROUPED = regex.compile(
    r"\d{1,3}(?:(?P<sign>[ \u00a0\u202f',])\d{3}(?:(?P=sign)\d{3})*+(?:(?!(?P=sign))[.,](?P<decimals>\d++))?+"
    r"|(?:\.\d{3}){2,}+(?:,(?P<decimals>\d++))?+|\.\d{3},(?P<decimals>\d++))"
)
_POINT_GROUP = regex.compile(r"[1-9]\d{0,2}\.\d{3}")
_PLAIN = regex.compile(r"\d*+[.,](?P<decimals>\d++)")
_YEAR = regex.compile(r"(?:19|20)\d\d")
_BEFORE_RESULT = regex.compile(
    r"(?:=|≈|~|\b(?:is|equals|gives|makes|result|answer|total)\b:?|:)\s{0,3}[*_`$€£({\\\[]{0,8}$", regex.I
)
_AFTER_RESULT = regex.compile(r"[*_`)}\]$€£%°\\]{0,8}\s{0,2}[%€$£]?[*_`]{0,3}\s{0,3}(?:[.!;?](?:\s|$|\*)|$|\n)")


def numbers_of(text: str) -> list[ShownNumber]:
    """The numbers a text states, in order. Linear in its length."""
    for pattern in (_LINKS, _DATES, _CLOCKS, _LABELS, _MARKERS):
        # Letters of the same length keep the positions and read as no number.
        text = pattern.sub(lambda found: "x" * len(found.group()), text)
    found: list[ShownNumber] = []
    for match in _NUMBER.finditer(text):
        found += _read(match["number"], match.start("number"))
    if any(map(_decimal_comma, found)) and not any(map(_decimal_point, found)):
        # Beside 18,3 the point of 1.240 parts thousands.
        found = [replace(n, places=0) if _POINT_GROUP.fullmatch(n.text) else n for n in found]
    return found


def _decimal_comma(number: ShownNumber) -> bool:
    return number.places > 0 and regex.fullmatch(r"(?:\d++|\d{1,3}(?:\.\d{3})++),\d++", number.text) is not None


def _decimal_point(number: ShownNumber) -> bool:
    return number.places > 0 and regex.fullmatch(r"\d*+\.(?:\d{1,2}|\d{4,}+)|0?\.\d++", number.text) is not None


def integer_results(text: str, numbers: Sequence[ShownNumber]) -> list[ShownNumber]:
    """The whole numbers that stand as a result: after `=`, `is`, `:` … and at the end of a sentence, or alone."""
    results = []
    for number in numbers:
        before, after = text[max(0, number.start - 40) : number.start], text[number.end : number.end + 20]
        alone = len(numbers) == 1 and not any(map(str.isalnum, text[: number.start] + text[number.end :]))
        stated = _BEFORE_RESULT.search(before.rstrip("-+−")) and _AFTER_RESULT.match(after)
        if number.places == 0 and (alone or (stated and not _YEAR.fullmatch(number.text))):
            results.append(number)
    return results


def _read(written: str, start: int) -> list[ShownNumber]:
    """The numbers in a run of digits and separators: one, several apart by spaces or commas, or none (1.2.3)."""
    plain = written.replace("{,}", ",").replace("\\,", " ")
    for pattern in (_GROUPED, _PLAIN):
        if match := pattern.fullmatch(plain):
            decimals = match["decimals"] or ""
            return [ShownNumber(written, len(decimals), start, start + len(written))]
    if plain.isdigit():
        return [ShownNumber(written, 0, start, start + len(written))]
    numbers: list[ShownNumber] = []
    parts = regex.splititer(r"([ \u00a0\u202f',])", written) if regex.search(r"[ \u00a0\u202f',]", written) else ()
    at = start
    for part in parts:
        if part and part[0].isdigit() and part.count(".") <= 1:
            decimals = part.partition(".")[2]
            numbers.append(ShownNumber(part, len(decimals), at, at + len(part)))
        at += len(part)
    return numbers
