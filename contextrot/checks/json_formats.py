"""The `format`s a schema may ask for, checked for real: a name that is not here is refused when the check is loaded."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, time
from ipaddress import IPv4Address, IPv6Address
from uuid import UUID

import regex

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"\d\d:\d\d:\d\d(\.\d{1,12})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_DURATION = re.compile(r"P(?=.)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+S)?)?)", re.ASCII)
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"(?=.{{1,253}}\.?\Z){_LABEL}(\.{_LABEL})*\.?", re.ASCII)
_EMAIL = re.compile(r"[^@\s]{1,64}@(\S{1,253})")
_URI_CHARACTERS = r"[^\s<>\"{}|\\^`\x00-\x20]"
_URI = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*:{_URI_CHARACTERS}+", re.ASCII)
_URI_REFERENCE = re.compile(rf"{_URI_CHARACTERS}*", re.ASCII)
_POINTER = re.compile(r"(/([^~/]|~[01])*)*")


def _parses(reader: Callable[[str], object]) -> Callable[[str], bool]:
    def accepts(text: str) -> bool:
        try:
            reader(text)
        except (ValueError, regex.error):
            return False
        return True

    return accepts


def _is_date(text: str) -> bool:
    return bool(_DATE.fullmatch(text)) and _parses(date.fromisoformat)(text)


def _is_time(text: str) -> bool:
    # A leap second is a time (RFC 3339 §5.7); Python has none.
    plain = text[:8].replace(":60", ":59")
    return bool(_TIME.fullmatch(text)) and _parses(time.fromisoformat)(plain) and _zone(text)


def _zone(text: str) -> bool:
    return text[-1] in "Zz" or (int(text[-5:-3]) < 24 and int(text[-2:]) < 60)


def _is_date_time(text: str) -> bool:
    return text[10:11] in ("T", "t") and _is_date(text[:10]) and _is_time(text[11:])


def _is_email(text: str) -> bool:
    found = _EMAIL.fullmatch(text)
    return bool(found and _HOST.fullmatch(found[1]))


#: name of the format → does this text have it (RFC 3339, 5321 in outline, 1123, 3986, 6901, 4122)
FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _is_date,
    "time": _is_time,
    "date-time": _is_date_time,
    "duration": lambda text: bool(_DURATION.fullmatch(text)),
    "email": _is_email,
    "hostname": lambda text: bool(_HOST.fullmatch(text)),
    "ipv4": _parses(IPv4Address),
    "ipv6": lambda text: "%" not in text and _parses(IPv6Address)(text),
    "uri": lambda text: bool(_URI.fullmatch(text)),
    "uri-reference": lambda text: bool(_URI_REFERENCE.fullmatch(text)),
    "uuid": lambda text: len(text) == 36 and text.count("-") == 4 and _parses(UUID)(text),
    "json-pointer": lambda text: bool(_POINTER.fullmatch(text)),
    "regex": _parses(regex.compile),
}
