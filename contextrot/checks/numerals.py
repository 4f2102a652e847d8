"""Numbers in plain text: where a free-standing number is, and which values a reader may take it for.

A number that is part of an identifier (BLUE-42, v2, 1.2.3), a time (12:30), a date, a fraction or a range is not a
free-standing number. Bounds and approximations ("at least 42") are left to `stance.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

_CODES = "usd|eur|gbp|jpy|chf|cad|aud|nzd|inr|cny|sek|nok|dkk|pln|brl|rs|us\\$|a\\$|c\\$|hk\\$|r\\$"
_SIGNS = "$€£¥₹₩₽₺"
_SAME = {"usd": "$", "us$": "$", "dollars": "$", "dollar": "$", "eur": "€", "euros": "€", "euro": "€", "gbp": "£",
         "pounds": "£", "jpy": "¥", "yen": "¥", "inr": "₹", "rs": "₹"}  # fmt: skip
_LUMP = re.compile(r"\d+(?:[.,' _]\d+)*")
_GROUPED = re.compile(r"(\d{1,3})([,' _])(\d{3}(?:\2\d{3})*)(\.\d+)?")
_POINT = re.compile(r"\d+(?:[.]\d+)?")
_COMMA = re.compile(r"(\d+),(\d{1,2})")
_EUROPEAN = re.compile(r"(\d{1,3}(?:\.\d{3})+)(?:,(\d{1,2}))?")
_BEFORE = re.compile(rf"(?:(?<![\w.])(?:no\.?|n°|nr\.?|num\.|x)|(?<![^\W\d_])(?:{_CODES}))?\s?[-+]?[{_SIGNS}]?[-+]?\Z")
_CURRENCY_BEFORE = re.compile(rf"((?<![^\W\d_])(?:{_CODES})|[{_SIGNS}])\s?[-+]?\Z")
_CURRENCY_AFTER = re.compile(
    rf"\s?([{_SIGNS}]|(?:{_CODES}|dollars?|euros?|pounds|yen)(?!\w))|\s?(?:(?:per ?cent|pct)(?!\w)|(?P<percent>%))"
)
_SCALE = re.compile(r"(k)(?![^\W_])|\s?(thousand|million|billion|mio|mn|bn)(?![^\W_])|(m)(?![^\W_])")
_SCALES = {"k": 3, "thousand": 3, "million": 6, "mio": 6, "mn": 6, "m": 6, "billion": 9, "bn": 9}
#: Letters that may touch a number and leave it a number: units and ordinals.
_UNIT = re.compile(
    rf"(?:st|nd|rd|th|k?g|mg|t|lbs?|oz|k?m|cm|mm|mi|ft|in|yd|m?s|secs?|mins?|h|hrs?|d|days?|[kmgt]i?b|px|"
    rf"pt|em|k?wh?|mw|"
    rf"m?v|k?hz|[mg]hz|mph|km/h|kmh|c|f|m?l|x|p|k|m|bn|mn|pcs|pp|bps|fps|rpm|{_CODES})(?![^\W_])"
)
_COMPOUND = re.compile(
    r"-(?:day|hour|minute|second|week|month|year|inch|foot|feet|metre|meter|mile|page|seat|person|people|member|point|"
    r"item|step|turn|token|word|line|digit|bit|byte|character|percent|dollar|euro|strong|odd|kg|km|gb|mb|"
    r"ms|ish)s?(?!\w)"
)
_WORD_SIGN = re.compile(r"(?<![^\W_])(?:minus|negative)\s?[$€£]?\Z")
_EXPONENT = re.compile(r"e[-+]?\d{1,3}(?!\w)|\s?[×x]\s?10\^[-+]?\d{1,3}")
_ALNUM = re.compile(r"[^\W_]")
#: Scripts written without spaces between words: a letter beside a value says nothing there.
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class Number:
    """One number at ``[start, end)`` with its sign and currency; `readings` are the values it may stand for."""

    start: int
    end: int
    readings: frozenset[Decimal]
    unit: str = ""


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text) if len(text) <= 60 else None
    except InvalidOperation:
        return None


def _split(lump: str, currency: str) -> list[tuple[int, str, list[str]]] | None:
    """The numbers in a run of digits and separators: (offset, text, readings); None for a version number."""
    grouped = _GROUPED.fullmatch(lump)
    if grouped:
        whole = grouped[1] + re.sub(r"\D", "", grouped[3])
        return [(0, lump, [whole + (grouped[4] or "")])]
    european = _EUROPEAN.fullmatch(lump)
    if european and (european[2] or currency == "€" or lump.count(".") > 1):
        return [(0, lump, [european[1].replace(".", "") + "." + (european[2] or "0")])]
    if _POINT.fullmatch(lump):
        return [(0, lump, [lump])]
    comma = _COMMA.fullmatch(lump)
    if comma:
        return [(0, lump, [f"{comma[1]}.{comma[2]}"])]
    if lump.count(".") > 1 and not re.search(r"[, ']", lump):
        return None
    parts: list[tuple[int, str, list[str]]] = []
    for piece in re.finditer(r"[^, ]+", lump):
        if _POINT.fullmatch(piece.group()):
            parts.append((piece.start(), piece.group(), [piece.group()]))
    return parts


def _stands_free(text: str, start: int, end: int) -> bool:
    """False when what touches the digits makes them part of something else. `start` is before sign and currency."""
    before = text[start - 1] if start else ""
    if before and (_ALNUM.match(before) or before in "_^\\") and not UNSPACED.match(before):
        return False
    if before and before in "-./@:'":
        far = text[start - 2] if start > 1 else ""
        if before == "." and re.search(r"(?<!\w)(?:no|nr|ca|c|approx)\.\Z", text[max(0, start - 8) : start]):
            far = ""
        joined = far.isdigit() if before == ":" else bool(far and (_ALNUM.match(far) or far in ")]"))
        if joined:
            return False
    after = text[end : end + 1]
    if not after:
        return True
    if (_ALNUM.match(after) or after == "_") and not UNSPACED.match(after):
        return _UNIT.match(text, end) is not None
    if after == "-":
        return not _ALNUM.match(text[end + 1 : end + 2]) or _COMPOUND.match(text, end) is not None
    if after in ":/.":
        return not text[end + 1 : end + 2].isdigit()
    return after not in "^@\\"


def numbers(text: str) -> Iterator[Number]:
    """All free-standing numbers of a casefolded plain text, in order."""
    for found in _LUMP.finditer(text):
        lead = text[max(0, found.start() - 12) : found.start()]
        near = _CURRENCY_BEFORE.search(lead)
        behind = _CURRENCY_AFTER.match(text, found.end())
        unit = near[1] if near else ("%" if behind and not behind[1] else behind[1] if behind else "")
        unit = _SAME.get(unit, unit)
        pieces = _split(found.group(), unit)
        for offset, digits, readings in pieces or ():
            begin = found.start() + offset
            number = _number(text, begin, begin + len(digits), readings, unit, lead if offset == 0 else "")
            if number is not None:
                yield number


def _number(text: str, begin: int, end: int, readings: list[str], unit: str, lead: str) -> Number | None:
    """The number at ``[begin, end)`` with its sign and scale, or None when it does not stand free."""
    prefix = _BEFORE.search(lead)
    before = prefix.group() if prefix else ""
    start = begin - len(before.lstrip())
    if text[start : start + 1] == "-" and start and (_ALNUM.match(text[start - 1]) or text[start - 1] in ")]%"):
        return None  # BLUE-42, 40-42: a hyphen, no sign
    if begin and text[begin - 1] == "." and not text[begin - 2 : begin - 1].isalnum():
        readings, start = [f"0.{reading}" for reading in readings], min(start, begin - 1)
    exponent = _EXPONENT.match(text, end)
    if exponent:
        power = "e" + re.sub(r"\A(?:e|\s?[×x]\s?10\^)", "", exponent.group())
        readings, end = [reading + power for reading in readings], exponent.end()
    if not _stands_free(text, start, end):
        return None
    negative = "-" in before or _WORD_SIGN.search(text, max(0, start - 12), start) is not None
    values = {value for value in map(_decimal, readings) if value is not None}
    scale = _SCALE.match(text, end)
    if scale:
        word = scale[1] or scale[2] or scale[3]
        scaled = {value.scaleb(_SCALES[word]) for value in values}
        values = scaled if word != "m" else values | scaled
    signed = {-value if negative else value for value in values}
    return Number(start, end, frozenset(signed), unit) if signed else None


_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
#: Any number word, to see whether a spelled number goes on before or after a match.
NUMBER_WORDS = (*(word for word in _UNITS + _TENS if word != "_"), "hundred", "thousand", "million")
NUMBER_WORD = rf"(?:{'|'.join(NUMBER_WORDS)})"


def spelled(number: int) -> str:
    """A pattern for an integer from 0 to 9,999 in words ("twelve hundred" too), hyphens and "and" being optional.

    "" outside that range.
    """
    if not 0 <= number < 10_000:
        return ""
    if number < 20:
        return _UNITS[number]
    if number < 100:
        return _TENS[number // 10] + (rf"[- ]?{_UNITS[number % 10]}" if number % 10 else "")
    size, word = (1000, "thousand") if number >= 1000 else (100, "hundred")
    head = spelled(number // size) + " " + word
    head = rf"(?:{head}|an? {word})" if number // size == 1 else head
    usual = head + (rf",? (?:and )?{spelled(number % size)}" if number % size else "")
    if number < 1000 or number % 1000 < 100:
        return usual
    rest = rf" (?:and )?{spelled(number % 100)}" if number % 100 else ""
    return rf"(?:{usual}|{spelled(number // 100)} hundred{rest})"


def from_words(text: str) -> int | None:
    """The integer from 0 to 100 that this casefolded text spells, or None."""
    for number in range(101):
        if re.fullmatch(spelled(number), text):
            return number
    return None
