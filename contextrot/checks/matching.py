"""Finding a value in a reply: whole tokens only, in whatever dress, numbers by their value.

`needle(value)` is what to look for; `Needle.find(page)` gives every place. Whether a place asserts the value, denies it
or calls it outdated is another question: `stance.py`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from contextrot.checks.normal import Page, plain
from contextrot.checks.numerals import NUMBER_WORD, UNSPACED, Number, from_words, numbers, spelled
from contextrot.checks.value_forms import (
    CLOCK,
    NO_NAMES,
    clock_pattern,
    count_pattern,
    date_pattern,
    measure_pattern,
    name_pattern,
    shape_pattern,
    unclear_date_pattern,
    words_pattern,
)

#: More places than this are not read one by one: the first and the last half are.
MOST_MENTIONS = 1000
_SUFFIXES = r"-(?:based|area|side|bound|born|wide|style|like|only|related|region|office|site|depot|branch|time)\b"
_AFTER_APOSTROPHE = re.compile(r"'(?:s|d|ll|re|ve|m)?(?![^\W_])")
_CODE_NAME = re.compile(r"[a-z]+_?\d+\w*|[a-z]+(?:_[a-z0-9]+)+")
_CODE_PREFIX = re.compile(r"(?<![\w.@/:\\-])[a-z_]\w*\.(?:[a-z_]\w*\.){0,3}\Z")
_CODE_ENDS = re.compile(r"(?![\w/@\\]|\.\w|-\w)")
_EDGES = " \n\t.,;:!?\"'()[]"


@dataclass(frozen=True, slots=True)
class Mention:
    """A place ``[start, end)`` of the page where a value stands."""

    start: int
    end: int


def _alnum(char: str) -> bool:
    return char.isalnum() or (char != "" and char in "\u0300\u0301\u0302\u0308")


def _whole(page: Page, start: int, end: int) -> bool:
    """True when the text at ``[start, end)`` is not part of a longer word, number, identifier or path."""
    text = page.folded
    first, last = text[start], text[end - 1]
    digits = any(char.isdigit() for char in text[start:end])
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    far_before, far_after = text[start - 2 : start - 1] if start > 1 else "", text[end + 1 : end + 2]
    if _alnum(before) and not (UNSPACED.match(first) or UNSPACED.match(before)):
        return False
    if _alnum(after) and not (UNSPACED.match(last) or UNSPACED.match(after)):
        return False
    if before == "_" or after == "_" or (last.isalnum() and after in ("+", "#") and after):
        return False
    if before and before in "-@." and _alnum(far_before) and not UNSPACED.match(far_before):
        return before == "." and _dotted(page.folded, start, end)
    if before == "'" and _alnum(far_before) and end - start <= 2:
        return False
    if before and before in ":/," and first.isdigit() and far_before.isdigit():
        return False
    if after == "-" and _alnum(far_after):
        return not digits and re.compile(_SUFFIXES).match(text, end) is not None
    if after == "'" and _alnum(far_after):
        return _AFTER_APOSTROPHE.match(text, end) is not None
    if after == "." and _alnum(far_after):  # "teal-7.As you said" lacks a space, "nantes.com" is another word
        return page.shown[end + 1].isupper() and not page.shown[end + 1 : end + 3].isupper()
    return not (after and after in ":/,@" and far_after.isdigit() and last.isdigit()) and after != "@"


def _dotted(text: str, start: int, end: int) -> bool:
    """True for a name of code behind the names it belongs to: `bfloat16` in `torch.bfloat16`."""
    if _CODE_NAME.fullmatch(text, start, end) is None or not _CODE_ENDS.match(text, end):
        return False
    return _CODE_PREFIX.search(text, max(0, start - 60), start) is not None


@dataclass(frozen=True)
class Needle:
    """What to look for. `number` is set for a value that is a number; otherwise `pattern` finds it."""

    value: str
    pattern: re.Pattern[str] | None
    number: Number | None = None
    #: what other values of the same kind look like, to tell a rival from ordinary words; None when nothing tells them
    shape: re.Pattern[str] | None = None
    #: ways to write the value that may mean another one as well (06/02/2026)
    unclear: re.Pattern[str] | None = None

    @property
    def quantity(self) -> bool:
        """True when a bound or "about" before the value makes it another statement."""
        return self.number is not None or self.value[:1].isdigit()

    @property
    def clock(self) -> bool:
        """True for a time of day."""
        return CLOCK.fullmatch(self.value.strip().casefold()) is not None and self.number is None

    @property
    def dated(self) -> bool:
        """True for a date or a year."""
        if self.number is None:
            return date_pattern(self.value.strip().casefold()) != ""
        return not self.number.unit and any(1900 <= value <= 2100 for value in self.number.readings)

    def find(self, page: Page) -> list[Mention]:
        """Every place where the value stands, in order, without overlaps."""
        found = sorted({*self._by_pattern(page), *self._by_number(page)}, key=lambda m: (m.start, -m.end))
        kept: list[Mention] = []
        for mention in found:
            if not kept or mention.start >= kept[-1].end:
                kept.append(mention)
        return thin(kept)

    def rivals(self, page: Page) -> Iterator[Mention]:
        """Places of other values of the same shape (the value itself among them)."""
        if self.number is not None:
            yield from (Mention(n.start, n.end) for n in page_numbers(page))
        elif self.shape is not None:
            for found in self.shape.finditer(page.shown):
                if not NO_NAMES.fullmatch(found.group().casefold()):
                    yield Mention(found.start(), found.end())

    def _by_pattern(self, page: Page) -> Iterator[Mention]:
        if self.pattern is None:
            return
        for found in self.pattern.finditer(page.folded):
            if not _whole(page, found.start(), found.end()):
                continue
            if self.number is not None:
                if re.search(r"\b(?:minus|negative) \Z", page.folded[max(0, found.start() - 10) : found.start()]):
                    continue
                around = page.folded[max(0, found.start() - 14) : found.end() + 14]
                if re.search(rf"{NUMBER_WORD}[- ](?:and )?{re.escape(found.group())}", around) or re.search(
                    rf"{re.escape(found.group())}[- ](?:and )?{NUMBER_WORD}", around
                ):
                    continue
            yield Mention(found.start(), found.end())

    def _by_number(self, page: Page) -> Iterator[Mention]:
        if self.number is None:
            return
        markers = _list_markers(page)
        for number in page_numbers(page):
            if number.start in markers or not number.readings & self.number.readings:
                continue
            if not (self.number.unit and number.unit) or number.unit == self.number.unit:
                yield Mention(number.start, number.end)


def thin(mentions: list[Mention]) -> list[Mention]:
    """At most `MOST_MENTIONS`, from both ends, so that grading stays linear on a reply that repeats itself."""
    half = MOST_MENTIONS // 2
    return mentions if len(mentions) <= MOST_MENTIONS else mentions[:half] + mentions[-half:]


@lru_cache(maxsize=16)
def page_numbers(page: Page) -> Sequence[Number]:
    """The numbers of a page, found once however many values are looked for."""
    return tuple(numbers(page.folded))


@lru_cache(maxsize=16)
def _list_markers(page: Page) -> frozenset[int]:
    """Offsets of numbers that only count the items of a list: "1." and "2." at line starts."""
    found = [(m.start(1), int(m[1])) for m in re.finditer(r"(?m)^ ?(\d{1,4})[.)] (?=\S)", page.folded)]
    known = {number for _, number in found}
    return frozenset(at for at, number in found if number + 1 in known or number - 1 in known)


def findable(value: str) -> bool:
    """True when `needle` accepts the value."""
    return any(unicodedata.category(char)[0] not in "PZC" for char in plain(value))


@lru_cache(maxsize=1024)
def needle(value: str) -> Needle:
    """Compile a value. Raises `ValueError` for a value without anything to look for."""
    text = plain(value)
    core = text.strip(_EDGES) if any(char.isalnum() for char in text) else text
    if re.match(r"\.\d", text):
        core = text
    folded = core.casefold()
    if not findable(value):
        raise ValueError(
            f"the value {value!r} is empty: it has no letter, digit or sign that a reply could be searched for"
        )
    word = from_words(folded)
    found = list(numbers(folded)) if any(char.isdigit() for char in folded) else []
    bare = re.sub(r"\s?(?:%|[$€£¥₹₩₽₺]|percent|per cent)\Z", "", folded)
    if len(found) == 1 and found[0].start <= (6 if folded.startswith(("minus", "negative")) else 0):
        rest = bare[found[0].end :].strip()
        if (
            rest in ("", "usd", "eur", "gbp", "chf", "jpy", "dollars", "euros", "pounds", "yen")
            and folded[0] not in "n#"
        ):
            return Needle(value, _spelled(found[0]), found[0])
    if word is not None:
        number = Number(0, len(folded), frozenset({Decimal(word)}))
        return Needle(value, re.compile(spelled(word)), number)
    patterns = [
        date_pattern(folded),
        clock_pattern(folded),
        measure_pattern(folded),
        count_pattern(folded),
        name_pattern(core),
        words_pattern(folded),
    ]  # the longer ones first
    unclear = unclear_date_pattern(folded)
    return Needle(
        value,
        re.compile("|".join(p for p in patterns if p)),
        shape=shape_pattern(core),
        unclear=re.compile(unclear) if unclear else None,
    )


def _spelled(number: Number) -> re.Pattern[str] | None:
    """The number in words. "One" is left out: it is a pronoun more often than a count."""
    values = [int(value) for value in number.readings if value == value.to_integral_value() and abs(value) < 10_000]
    if not values or values[0] == 1:
        return None
    return re.compile(rf"(?:minus|negative) {spelled(-values[0])}" if values[0] < 0 else spelled(values[0]))
