"""Patterns for the ways to write one value: its words, a date, a time of day; and what another of its kind looks like.

All take casefolded plain text, but for `shape_pattern`, which needs the case.
"""

from __future__ import annotations

import re
from decimal import Decimal

from contextrot.checks.numerals import NUMBER_WORD, NUMBER_WORDS, spelled

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS)
#: the months in German, French, Spanish, Italian, Portuguese and Dutch, where they differ from the English
_MONTHS_ABROAD = (
    "januar|jänner|janvier|enero|gennaio|janeiro|januari", "februar|février|febrero|febbraio|fevereiro|februari",
    "märz|mars|marzo|março|maart", "avril|abril|aprile", "mai|mayo|maggio|maio|mei", "juni|juin|junio|giugno|junho",
    "juli|juillet|julio|luglio|julho", "août|agosto|augustus", "septembre|septiembre|settembre|setembro",
    "oktober|octobre|octubre|ottobre|outubro", "novembre|noviembre|novembro", "dezember|décembre|diciembre|dicembre|"
    "dezembro",
)  # fmt: skip
_DATES = (
    re.compile(r"(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})"),
    re.compile(rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})\.?,?(?: (?P<year>\d{{4}}))?"),
    re.compile(rf"(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}}))?"),
)
CLOCK = re.compile(r"(\d{1,2})[:.h](\d{2})(?: ?([ap])\.?m\.?)?|(\d{1,2}) ?([ap])\.?m\.?")
#: Capitalised at the start of a sentence, these are no names; most of them say how the name that follows is meant.
NO_NAMES = re.compile(
    "all|any|anyone|anybody|everyone|everybody|nobody|someone|somebody|anything|anywhere|everything|everywhere|i|it|its|the|a|an|this|that|these|those|there|here|he|she|they|we|you|your|our|my|their|his|her|and|or|but|"
    "so|if|is|are|was|were|be|been|not|no|yes|never|neither|nor|none|nothing|only|just|even|either|whether|both|"
    "between|from|to|at|in|on|of|for|by|with|as|about|around|approximately|roughly|nearly|almost|previously|"
    "originally|initially|formerly|earlier|before|once|first|firstly|old|older|prior|previous|former|original|"
    "initial|past|now|currently|current|today|new|newer|latest|updated|revised|final|finally|corrected|"
    "correction|actually|later|then|since|recent|recently|sorry|maybe|perhaps|possibly|instead|rather|unlike|"
    "except|excluding|outdated|obsolete|superseded|do|does|did|have|has|had|can|could|will|would|should|may|"
    "might|must|what|which|who|where|when|why|how|isn|wasn|don|didn|doesn|aren|couldn|changed|moved|switched|"
    "replaced|raised|renamed|alternatively|according|based|also|still|code|city|value|answer|name"
)


def words_pattern(value: str) -> str:
    """A pattern for a casefolded value: any white space between its words, thousands separators optional."""
    slot = re.fullmatch(r"(\D+?),? at (\d{1,2}:\d{2})", value)
    if slot:  # "thursday at 14:30", also as "thursday, 2:30 pm"
        return rf"{words_pattern(slot[1])},?\s{{1,2}}(?:at\s{{1,2}})?(?:{clock_pattern(slot[2])})"
    has_digits = any(char.isdigit() for char in value)
    labelled = re.fullmatch(r"[^\W\d_]+(?: [^\W\d_]+)* [1-9]\d{0,2}", value) is not None
    parts = []
    for part in value.split():
        if re.fullmatch(r"\d{4,9}|\d{1,3}(?:,\d{3})+", part):
            digits = part.replace(",", "")
            head = len(digits) % 3 or 3
            parts.append("[, ']?".join([digits[:head], *(digits[i : i + 3] for i in range(head, len(digits), 3))]))
        elif joint_code := re.fullmatch(r"([^\W\d_]{1,20})-?(\d+)", part):
            # "teal 7" and "teal7" are read as the same code, "teal 7 0" is not; "a 19" is an article and a number
            space = "" if joint_code[1] in ("a", "i", "o", "y", "e") else r"\s?"
            parts.append(rf"{re.escape(joint_code[1])}(?:-|{space}(?={joint_code[2]}(?!\s?\d))){joint_code[2]}")
        elif version := re.fullmatch(r"v?(\d+(?:\.\d+){2,5})", part):
            parts.append(rf"(?:v(?:ersion\s)?\s?)?{re.escape(version[1])}")
        elif labelled and part.isdigit():  # "plot thirty-one"
            parts.append(rf"(?:{part}|{spelled(int(part))}(?![- ](?:and )?{NUMBER_WORD}))")
        elif has_digits:
            parts.append(re.escape(part))
        else:
            parts.append(r"(?:[-\s]\s?)".join(map(re.escape, re.split(r"(?<=\w)-(?=\w)", part))))
    joint = r"\s{1,2}" if has_digits or not all(part.isalnum() for part in value.split()) else r"(?:\s{1,2}|-)"
    return joint.join(parts)


def date_pattern(value: str) -> str:
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
        joint = r"(?:\.?|er|º)(?: de)? "
        abroad = (
            rf"|0?{day}{joint}(?:{_MONTHS_ABROAD[month - 1]})(?![^\W\d_]){f'(?:(?: de| del)? {year})?' if year else ''}"
        )
        numeric = rf"|{'|'.join(_numeric(day, month, year))}" if year else rf"|\d{{4}}-{month:02}-{day:02}"
        return f"{first}|{last}{abroad}{numeric}" + (
            rf"|{year}-{month:02}-{day:02}(?:t\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?" if year else ""
        )
    return ""


def _numeric(day: int, month: int, year: str) -> list[str]:
    """Patterns for the date in figures, where day and month cannot be taken for each other."""
    european = rf"0?{day}\.\s?0?{month}\.\s?{year}"
    if day > 12 or day == month:
        return [european, rf"0?{day}[/-]0?{month}[/-]{year}", rf"0?{month}[/-]0?{day}[/-]{year}"]
    return [european]


def unclear_date_pattern(value: str) -> str:
    """A pattern for the date in figures that may mean another day as well (06/02/2026), or "" where none can."""
    for form in _DATES:
        found = form.fullmatch(value)
        if found:
            parts = found.groupdict()
            named = parts.get("month")
            month = [m[:3] for m in _MONTHS].index(named[:3]) + 1 if named else int(parts["number"])
            day = int(parts["day"])
            if not (1 <= month <= 12) or day > 12 or day == month:
                return ""
            year = found["year"] or r"\d{4}"
            return rf"(?<![\d/-])0?(?:{day}[/-]0?{month}|{month}[/-]0?{day})[/-]{year}(?![\d/-])"
    return ""


#: units of one kind with their size and the ways to write them, smallest first
_UNIT_KINDS: tuple[tuple[tuple[Decimal, str], ...], ...] = (
    (
        (Decimal("0.001"), "ms|msecs?|millis|milliseconds?"),
        (Decimal(1), "s|secs?|seconds?"),
        (Decimal(60), "mins?|minutes?"),
        (Decimal(3600), "h|hrs?|hours?"),
    ),
    ((Decimal(1), "mm|millimet(?:re|er)s?"), (Decimal(10), "cm|centimet(?:re|er)s?"),
     (Decimal(1000), "m|met(?:re|er)s?"), (Decimal(1_000_000), "km|kilomet(?:re|er)s?")),
    ((Decimal(1), "mg|milligrams?"), (Decimal(1000), "g|grams?"), (Decimal(1_000_000), "kg|kilos?|kilograms?"),
     (Decimal(1_000_000_000), "t|tonnes?")),
    ((Decimal(1), "ml|millilit(?:re|er)s?"), (Decimal(10), "cl"), (Decimal(1000), "l|lit(?:re|er)s?")),
    ((Decimal(1), "w|watts?"), (Decimal(1000), "kw|kilowatts?"), (Decimal(1_000_000), "mw|megawatts?")),
)  # fmt: skip


def measure_pattern(value: str) -> str:
    """A pattern for a measure in its unit and in the others of its kind ("250 ms", "0.25 s"), or ""."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)\s?([a-z]{1,12})", value)
    if not found:
        return ""
    for kind in _UNIT_KINDS:
        own = next((size for size, names in kind if re.fullmatch(names, found[2])), None)
        if own is None:
            continue
        forms = []
        for size, names in kind:
            amount = (Decimal(found[1]) * own / size).normalize()
            if len(amount.as_tuple().digits) <= 6 and Decimal("0.001") <= amount < 10_000_000:
                forms.append(rf"{_amount(amount)}(?:\s?|-)(?:{names})(?![^\W\d_])")
                if amount == amount.to_integral_value() and amount < 1000:
                    forms.append(rf"{_in_words(int(amount))}[ -](?:{names})(?![^\W\d_])")
        return "|".join(forms)
    return ""


def _amount(amount: Decimal) -> str:
    """A pattern for a positive number in figures: either decimal sign, thousands separators optional."""
    whole, _, part = f"{amount:f}".partition(".")
    head = len(whole) % 3 or 3
    grouped = "[, ']?".join([whole[:head], *(whole[i : i + 3] for i in range(head, len(whole), 3))])
    return grouped + (rf"[.,]{part}0?" if part else r"(?:\.0{1,2})?")


_TITLE = r"(?:mr|mrs|ms|mx|miss|dr|prof(?:essor)?|frau|herrn?|mme|madame|monsieur|sir|señora?|sra?|signora?|mevrouw)"


def name_pattern(value: str) -> str:
    """A pattern for "Ms Solheim" and "Solheim, Ingrid", casefolded, where the value is a person's name, or ""."""
    name = re.fullmatch(r"((?:[^\W\d_a-z][\w'.-]* ){1,2})([^\W\d_a-z][^\W\d_]+(?:[-'][^\W\d_]+)*)", value)
    if name is None:
        return ""
    surname, first = re.escape(name[2].casefold()), re.escape(name[1].strip().casefold())
    return rf"{_TITLE}\.? {surname}|{surname}, {first}"


def clock_pattern(value: str) -> str:
    """A pattern for a time of day in 24- and 12-hour form, or "" when the value is none."""
    found = CLOCK.fullmatch(value)
    if not found or (found[2] and "." in value and not found[3]):
        return ""
    hour, minute, half = int(found[1] or found[4]), found[2] or "00", found[3] or found[5]
    if not 0 <= hour < 24 or int(minute) > 59:
        return ""
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    letter = "p" if hour >= 12 else "a"
    minutes = rf"[:.]{minute}" if minute != "00" else r"(?:[:.]00)?"
    twelve = rf"0?{hour % 12 or 12}{minutes} ?{letter}\.?m\b\.?"
    tail = r"(?::00)?(?: ?(?:h|hrs?|hours|uhr)\b)?"
    if half is None and hour < 13 and not value.startswith("0"):  # "9:00" may have meant the evening
        return rf"0?{hour}[:h]{minute}(?: ?[ap]\.?m\b\.?)?{tail}|{twelve}"
    return rf"0?{hour}[:h]{minute}(?! ?[ap]\.?m\b){tail}|{twelve}"


def count_pattern(value: str) -> str:
    """A pattern for "60 days" as "sixty days" and "60-day", and for "#4417" without its sign; "" for other values."""
    ticket = re.fullmatch(r"#(\d+)", value)
    if ticket:
        return rf"#?{ticket[1]}"
    found = re.fullmatch(r"(\d{1,4}) ([a-z]+)((?: [a-z]+)*)", value)
    if not found or found[1].startswith("0"):
        return ""
    unit, rest = found[2].removesuffix("s"), found[3].replace(" ", r"\s")
    compound = rf"|{unit}" if unit != found[2] and not rest else ""
    words = _in_words(int(found[1]))
    glued = rf"|{found[1]}{found[2]}" if not rest else ""  # 72bpm
    long = rf"|(?:{found[1]}|{words})[ -](?:{_LONG_UNITS[found[2]]})" if found[2] in _LONG_UNITS and not rest else ""
    return rf"(?:{found[1]}|{words})(?:\s{found[2]}|-(?:{found[2]}{compound})){rest}{glued}{long}"


def _in_words(number: int) -> str:
    """A pattern for a number in words that goes on neither to the left nor (its unit follows) to the right."""
    longer = "".join(rf"(?<!{word}[ -])" for word in NUMBER_WORDS)
    words = spelled(number)  # looked for first: what stands before it is only of interest then
    return rf"(?={words}){longer}(?<!hundred and )(?<!thousand and ){words}"


#: rates that are abbreviated, and their words
_LONG_UNITS = {
    "bpm": "beats (?:per|a) minute", "rpm": "(?:revolutions|rotations|turns) (?:per|a) minute",
    "fps": "frames (?:per|a) second", "mph": "miles (?:per|an) hour", "rps": "requests (?:per|a) second",
    "qps": "queries (?:per|a) second", "psi": "pounds per square inch", "ppm": "parts per million",
    "dpi": "dots per inch",
}  # fmt: skip
#: words before a number that only say what it numbers
_LABEL = (
    "plot|room|hall|gate|platform|table|seat|dock|bay|unit|floor|number|page|chapter|section|line|track|pier|berth|"
    "terminal|lane|flat|apartment|suite|stand|stall|booth|locker|box|lot|site|pitch|slot|zone|ward|bed|desk|bus|tram|"
    "route|cabin|court|field|door|building|block|level|port|channel|rack|shelf|aisle|phase|stage|group|team|lab|"
    "studio|hangar|warehouse|depot|ticket|issue|case|order|item"
)
_NO_UNIT = rf"(?:{_MONTH}|am|pm|a|an|o'clock|street|road|lane|avenue|st|rd|ave|way|drive|place|square)"
_BEFORE_BARE = (
    r"(?:(?<=\A)|(?<=[=:#(,;.—] )|(?<=[=:#(,;.])|(?<=\bis )|(?<=\bwas )|(?<=\bnow )|(?<=\bit's )|(?<=\bthat's )|"
    r"(?<=\bto )|(?<=\bat )|(?<=\bfrom )|(?<=\bgot )|(?<=\bhave )|(?<=\bhad )|(?<=\bnumber )|(?<=\bno\. )|"
    r"(?<=\bnr\. )|(?<=\bno\.)|(?<=\bnot )|(?<=\byours )|(?<=\bof )|(?<=\bonly )|(?<=\bto #)|(?<=\bjust ))"
)
_AFTER_BARE = (
    r"(?=[\s\"')\]]*(?:[.,;!?—)(]|\Z)|\s+(?:now|is|was|went|currently|instead|at present|these days|since|after|"
    r"before|has|had|and|but|not|until|from|again|belongs|goes)\b)(?!\.\d|,\d|\s?%)"
)


def bare_number(value: str) -> int | None:
    """The number of a casefolded value that is a number with a unit or a label ("72 bpm", "plot 31"), or None."""
    found = re.fullmatch(rf"(?:{_LABEL}) (?P<label>\d{{1,5}})|(?P<unit>\d{{1,5}}) (?!{_NO_UNIT}\Z)[a-z]+", value)
    return int(found["label"] or found["unit"]) if found else None


def bare_pattern(number: int) -> str:
    """A pattern for the number where no other unit or label stands beside it: "= 72", "#31", "it's 31 now"."""
    return rf"{_BEFORE_BARE}#?{number}{_AFTER_BARE}"


def shape_pattern(value: str) -> re.Pattern[str] | None:
    """What a rival of this value looks like: same runs of letters, digits and joints; a capitalised word for a name."""
    if any(char.isdigit() for char in value) and " " not in value and len(value) <= 40:
        runs = re.findall(r"[^\W\d_]+|\d+|[\W_]", value)
        if len(runs) > 1:
            kinds = [
                r"[^\W\d_]{1,20}" if r[0].isalpha() else r"\d{1,20}" if r[0].isdigit() else re.escape(r) for r in runs
            ]
            return re.compile(rf"(?<![\w-]){''.join(kinds)}(?![\w-])", re.IGNORECASE)
    if value[:1].isupper() and value.isalpha():
        return re.compile(r"(?<![\w'-])[^\W\d_a-z][^\W\d_]{1,30}(?![\w-])")
    return None
