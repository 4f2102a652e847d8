"""JSON as RFC 8259 has it, from text that may be hostile: no NaN, no duplicate keys, bounded depth, linear time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

#: deeper nesting is refused, so that a verdict does not depend on how much stack is left
MAX_DEPTH = 200
#: numbers outside the range of IEEE 754 binary64 are refused (RFC 8259 §6: what implementations agree on)
MAX_EXPONENT = 308
#: a number written longer than this is read at binary64 precision
MAX_DIGITS = 400
#: characters of the longest sign that may be cut in two: a pair of ``\\uXXXX`` escapes
_LONGEST_SIGN = 16

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]', re.DOTALL)
_BRACKET = re.compile(r"[{\[]")


class JsonFault(ValueError):
    """Why a text is not one JSON value: a clause to put after "is not JSON: "."""


class TrailingText(JsonFault):
    """A JSON value stands at the start, and more text after it."""


def parse(text: str) -> Any:
    """The one JSON value that is all of `text`; numbers with a fraction or exponent come as `Decimal`.

    White space around it and a byte order mark are allowed. Raises `JsonFault`.
    """
    text = text.removeprefix("\ufeff").strip(" \t\r\n")
    if depth(text) > MAX_DEPTH:
        raise JsonFault(f"it is nested deeper than {MAX_DEPTH} levels")
    try:
        return _STRICT.decode(text)
    except json.JSONDecodeError as error:
        clause = f"{error.msg} at line {error.lineno} column {error.colno}"
        raise (TrailingText if error.msg == "Extra data" else JsonFault)(clause) from None


def values_in(text: str) -> Iterator[str]:
    """The outermost JSON objects and arrays that stand anywhere in `text`, as text, in their order.

    A bracket that opens no value costs no second look at what it encloses: brackets that were open when the parser
    gave up cannot be values either, so every character is read a bounded number of times.
    """
    hopeless: set[int] = set()
    at = 0
    while opening := _BRACKET.search(text, at):
        start = opening.start()
        at = start + 1
        if start in hopeless:
            continue
        ends, stop = _value_at(text, start)
        if ends:
            yield text[start:stop]
            at = stop
        else:
            hopeless.update(_open_brackets(text, start, max(stop, at)))


def _value_at(text: str, start: int) -> tuple[bool, int]:
    """Whether a JSON value begins at `start`, and where it ends or the parser gave up.

    The parser is given a piece that grows until it suffices: its errors count the lines from the beginning of what it
    is given, which over a long text and many brackets would cost the square of the length.
    """
    size = 256
    while True:
        piece = text[start : start + size]
        try:
            return True, start + _LENIENT.raw_decode(piece)[1]
        except RecursionError:
            return False, len(text)
        except json.JSONDecodeError as error:
            cut_off = len(piece) == size and (error.pos > size - _LONGEST_SIGN or error.msg.startswith("Unterminated"))
            if not cut_off:
                return False, start + error.pos
        size *= 4


def depth(text: str) -> int:
    """How deep brackets nest outside strings, as far as `MAX_DEPTH` + 1."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return 0
    level = deepest = 0
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first in "[{":
            level += 1
            deepest = max(deepest, level)
            if deepest > MAX_DEPTH:
                break
        elif first != '"':
            level -= 1
    return deepest


def _open_brackets(text: str, start: int, stop: int) -> list[int]:
    """Positions of the brackets open at `stop`, or where they nest too deep, reading JSON from `start`."""
    stack: list[int] = []
    for token in _TOKEN.finditer(text, start, stop):
        first = text[token.start()]
        if first in "[{":
            stack.append(token.start())
            if len(stack) > 5 * MAX_DEPTH:
                break
        elif first != '"' and stack:
            stack.pop()
    return stack


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise JsonFault(f"the key {twice!r:.60} is a duplicate within one object")
    return found


def _constant(word: str) -> Any:
    raise JsonFault(f"{word} is not a JSON value")


def _integer(digits: str) -> int:
    if len(digits) > MAX_EXPONENT:
        raise JsonFault(f"the number {digits[:12]}… is too large")
    return int(digits)


def _decimal(digits: str) -> Decimal:
    rounded = float(digits)
    if rounded in (float("inf"), float("-inf")):
        raise JsonFault(f"the number {digits[:20]} is too large")
    if rounded == 0.0:
        return Decimal(0)
    return Decimal(digits if len(digits) <= MAX_DIGITS else repr(rounded))


_STRICT = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_constant, parse_float=_decimal, parse_int=_integer
)
#: finds where a value ends; what it lets through is parsed again strictly. Integers as floats: no limit on digits
_LENIENT = json.JSONDecoder(parse_int=float)
