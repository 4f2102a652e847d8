"""Finding a value in a reply: whole tokens only, in whatever dress, numbers by their value.

`needle(value)` is what to look for; `Needle.find(page)` gives every place. Whether a place asserts the value, denies it
or calls it outdated is another question: `stance.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from contextrot.checks.normal import Page, plain
from contextrot.checks.numerals import NUMBER_WORD, UNSPACED, Number, from_words, numbers, spelled

#: More places than this are not read one by one: the first and the last half are.
MOST_MENTIONS = 1000
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS)
_DATES = (
    re.compile(r"(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})"),
    re.compile(rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})\.?,?(?: (?P<year>\d{{4}}))?"),
    re.compile(rf"(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}}))?"),
)
_CLOCK = re.compile(r"(\d{1,2})[:.h](\d{2})(?: ?([ap])\.?m\.?)?|(\d{1,2}) ?([ap])\.?m\.?")
_SUFFIXES = r"-(?:based|area|side|bound|born|wide|style|like|only|related|region|office|site|depot|branch|time)\b"
_AFTER_APOSTROPHE = re.compile(r"'(?:s|d|ll|re|ve|m)?(?![^\W_])")
_EDGES = " \n\t.,;:!?\"'()[]"

#: Capitalised at the start of a sentence, these are no names; most of them say how the name that follows is meant.
_NO_NAMES = frozenset(
    (
        "i it its the a an this that these those there here he she they we you your our my their his her and or but so if is are was were be been "
        "not no yes never neither nor none nothing only just even either whether both between from to at in on of for by with as about around "
        "approximately roughly nearly almost previously originally initially formerly earlier before once first firstly old older prior previous "
        "former original initial past now currently current today new newer latest updated revised final finally corrected correction actually "
        "later then since recent recently sorry maybe perhaps possibly instead rather unlike except excluding outdated obsolete superseded do does "
        "did have has had can could will would should may might must what which who where when why how isn wasn don didn doesn aren couldn can "
        "changed moved switched replaced updated raised renamed corrected alternatively according based also still code city value answer name"
    ).split()
)


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
        return False
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


def _words(value: str) -> str:
    """A pattern for a casefolded value: any white space between its words, thousands separators optional."""
    has_digits = any(char.isdigit() for char in value)
    parts = []
    for part in value.split():
        if re.fullmatch(r"\d{4,9}|\d{1,3}(?:,\d{3})+", part):
            digits = part.replace(",", "")
            head = len(digits) % 3 or 3
            parts.append("[, ']?".join([digits[:head], *(digits[i : i + 3] for i in range(head, len(digits), 3))]))
        elif has_digits:
            parts.append(re.escape(part))
        else:
            parts.append(r"(?:[-\s]\s?)".join(map(re.escape, re.split(r"(?<=\w)-(?=\w)", part))))
    joint = r"\s{1,2}" if has_digits or not all(part.isalnum() for part in value.split()) else r"(?:\s{1,2}|-)"
    return joint.join(parts)


def _date_pattern(value: str) -> str:
    """A pattern for every common way to write the date, or "" when the value is none."""
    for form in _DATES:
        found = form.fullmatch(value)
        if not found:
            continue
        parts = found.groupdict()
        month = int(parts["number"]) if "number" in parts else [m[:3] for m in _MONTHS].index(parts["month"][:3]) + 1
        if not 1 <= month <= 12:
            return ""
        day, year, name = int(parts["day"]), parts["year"], _MONTHS[month - 1]
        word = rf"{name[:3]}(?:{name[3:]})?\.?"
        tail = rf"(?:,? {year})" + ("?" if "number" not in parts else "") if year else ""
        first, last = rf"0?{day}(?:st|nd|rd|th)? (?:of )?{word}{tail}", rf"{word} 0?{day}(?:st|nd|rd|th)?{tail}"
        return f"{first}|{last}" + (f"|{year}-{month:02}-{day:02}" if year else "")
    return ""


def _clock_pattern(value: str) -> str:
    """A pattern for a time of day in 24- and 12-hour form, or "" when the value is none."""
    found = _CLOCK.fullmatch(value)
    if not found or (found[2] and "." in value and not found[3]):
        return ""
    hour, minute, half = int(found[1] or found[4]), found[2] or "00", found[3] or found[5]
    if not 0 <= hour < 24 or int(minute) > 59:
        return ""
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    letter = "p" if hour >= 12 else "a"
    minutes = rf"[:.]{minute}" if minute != "00" else r"(?:[:.]00)?"
    twelve = rf"0?{hour % 12 or 12}{minutes} ?{letter}\.?m\b\.?"
    if half is None and hour < 13 and not value.startswith("0"):  # "9:00" may have meant the evening
        return rf"0?{hour}[:h]{minute}(?: ?[ap]\.?m\b\.?)?|{twelve}"
    return rf"0?{hour}[:h]{minute}(?! ?[ap]\.?m\b)|{twelve}"


@dataclass(frozen=True)
class Needle:
    """What to look for. `number` is set for a value that is a number; otherwise `pattern` finds it."""

    value: str
    pattern: re.Pattern[str] | None
    number: Number | None = None
    #: what other values of the same kind look like, to tell a rival from ordinary words; None when nothing tells them
    shape: re.Pattern[str] | None = None

    @property
    def quantity(self) -> bool:
        """True when a bound or "about" before the value makes it another statement."""
        return self.number is not None or self.value[:1].isdigit()

    @property
    def clock(self) -> bool:
        """True for a time of day."""
        return _CLOCK.fullmatch(self.value.strip().casefold()) is not None and self.number is None

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
                if found.group().casefold() not in _NO_NAMES:
                    yield Mention(found.start(), found.end())

    def _by_pattern(self, page: Page) -> Iterator[Mention]:
        if self.pattern is None:
            return
        for found in self.pattern.finditer(page.folded):
            if not _whole(page, found.start(), found.end()):
                continue
            if self.number is not None:
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


@lru_cache(maxsize=1024)
def needle(value: str) -> Needle:
    """Compile a value. Raises `ValueError` for a value without anything to look for."""
    text = plain(value)
    core = text.strip(_EDGES) if any(char.isalnum() for char in text) else text
    if re.match(r"\.\d", text):
        core = text
    folded = core.casefold()
    if not folded:
        raise ValueError(f"the value {value!r} is empty: any reply would hold it, so the check could never fail")
    word = from_words(folded)
    found = list(numbers(folded)) if any(char.isdigit() for char in folded) else []
    bare = re.sub(r"\s?(?:%|[$€£¥₹₩₽₺]|percent|per cent)\Z", "", folded)
    if len(found) == 1 and found[0].start <= (6 if folded.startswith(("minus", "negative")) else 0):
        rest = bare[found[0].end :].strip()
        if rest in ("", "usd", "eur", "gbp", "chf", "jpy", "dollars", "euros", "pounds", "yen") and folded[0] not in "n#":
            return Needle(value, _spelled(found[0]), found[0])
    if word is not None:
        number = Number(0, len(folded), frozenset({Decimal(word)}))
        return Needle(value, re.compile(spelled(word)), number)
    patterns = [_words(folded), _date_pattern(folded), _clock_pattern(folded)]
    return Needle(value, re.compile("|".join(p for p in patterns if p)), shape=_shape(core))


def _spelled(number: Number) -> re.Pattern[str] | None:
    """The number in words. "One" is left out: it is a pronoun more often than a count."""
    values = [int(value) for value in number.readings if value == value.to_integral_value() and 0 <= value < 10_000]
    return re.compile(spelled(values[0])) if values and values[0] != 1 else None


def _shape(value: str) -> re.Pattern[str] | None:
    """What a rival of this value looks like: same runs of letters, digits and joints; a capitalised word for a name."""
    if any(char.isdigit() for char in value) and " " not in value and len(value) <= 40:
        runs = re.findall(r"[^\W\d_]+|\d+|[\W_]", value)
        if len(runs) > 1:
            kinds = [r"[^\W\d_]{1,20}" if r[0].isalpha() else r"\d{1,20}" if r[0].isdigit() else re.escape(r) for r in runs]
            return re.compile(rf"(?<![\w-]){''.join(kinds)}(?![\w-])", re.IGNORECASE)
    if value[:1].isupper() and value.isalpha():
        return re.compile(r"(?<![\w'-])[^\W\d_a-z][^\W\d_]{1,30}(?![\w-])")
    return None
