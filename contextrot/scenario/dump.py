"""A scenario as YAML text that reads back exactly as it was: `dump_scenario(raw)`, the opposite of the loader.

Written here and not by PyYAML, because what may stand unquoted is decided by our own reader (`yaml_source.read_plain`)
and every text must reach a model byte for byte: tabs, CRLF, NEL, trailing blanks and control characters included.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextrot.yaml_source import read_plain

#: Characters up to which a small list or map is written on one line.
_FLOW_WIDTH = 100
#: Not printable by Unicode's categories, but harmless and part of ordinary text: no-break space, joiners of emoji.
_ALSO_SHOWN = frozenset("\u00a0\u200c\u200d")
#: Keys longer than this need YAML's explicit form (`? key`); PyYAML's own limit is 1,024 characters.
_SIMPLE_KEY = 900
_FLOW_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*(?: [A-Za-z0-9_.-]+)*")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def dump_scenario(raw: Mapping[str, Any]) -> str:
    """YAML for a scenario given as plain data (maps, lists, texts, numbers, truth values), keys in their order.

    `parse_yaml(dump_scenario(raw))` gives `raw` back, every text byte for byte. Write it to a file as UTF-8 without
    newline translation. Texts of several lines become literal blocks where that loses nothing, else double-quoted
    lines. Raises `ValueError` for what a scenario file cannot hold: a key that is no text, a number that is not finite
    or has more than 18 digits, half a surrogate pair, any other type.
    """
    return "\n".join(_map_lines(raw, 0)) + "\n" if raw else "{}\n"


def one_line(value: Any) -> str:
    """A value of a scenario on one line (flow style), however long: for a comment, or a short map or list.

    Raises `ValueError` like `dump_scenario`.
    """
    if isinstance(value, str):
        return value if _FLOW_PLAIN.fullmatch(value) and not read_plain(value)[1] else _quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{one_line(_key(key))}: {one_line(child)}" for key, child in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(one_line, value)) + "]"
    return _other_scalar(value)


def _map_lines(raw: Mapping[str, Any], column: int) -> Iterator[str]:
    """The lines of a block map whose keys stand at `column`."""
    pad = " " * column
    for key, value in raw.items():
        name = _text_line(_key(key))
        if len(name) > _SIMPLE_KEY:
            yield f"{pad}? {name}"
            name = ""
        first, *rest = _value_lines(value, column)
        yield f"{pad}{name}:{first}"
        yield from rest


def _key(key: object) -> str:
    if not isinstance(key, str):
        # One kind of error for all that a file cannot hold.
        raise ValueError(f"the key {key!r} is no text; every key of a scenario is")  # noqa: TRY004
    return key


def _value_lines(value: Any, column: int) -> Iterator[str]:
    """What follows `key:` of a map at `column`: the rest of that line, with its blank, then further lines."""
    short = _short(value)
    if short is not None:
        yield f" {short}"
    elif isinstance(value, str):
        first, *rest = _long_text(value, column + 2)
        yield f" {first}"
        yield from rest
    elif isinstance(value, Mapping):
        yield ""
        yield from _map_lines(value, column + 2)
    else:
        yield ""
        yield from _list_lines(value, column + 2)


def _list_lines(raw: Sequence[Any], column: int) -> Iterator[str]:
    """The lines of a block list whose dashes stand at `column`."""
    pad = " " * column
    for value in raw:
        short = _short(value)
        if short is not None:
            yield f"{pad}- {short}"
            continue
        if isinstance(value, str):
            lines = _long_text(value, column + 2)
        else:
            nested = _map_lines if isinstance(value, Mapping) else _list_lines
            lines = nested(value, column + 2)
        # The first line of what is nested stands right behind the dash, where its indentation would be.
        first, *rest = lines
        yield f"{pad}- {first.removeprefix(' ' * (column + 2))}"
        yield from rest


def _short(value: Any) -> str | None:
    """A value that fits on the line of its key, or None for one that needs lines of its own."""
    if isinstance(value, str):
        return _text_line(value) if "\n" not in value else None
    if isinstance(value, (Mapping, list, tuple)):
        flow = one_line(value) if _is_small(value) else None
        return flow if flow is not None and (len(flow) <= _FLOW_WIDTH or not value) else None
    return _other_scalar(value)


def _is_small(value: Any, depth: int = 0) -> bool:
    """True for what is short and plain enough to read on one line, with all in it."""
    if isinstance(value, str):
        return len(value) <= _FLOW_WIDTH and "\n" not in value
    if isinstance(value, (Mapping, list, tuple)):
        if depth > 2 or len(value) > 20:
            return False
        inner = (*value, *value.values()) if isinstance(value, Mapping) else value
        return all(_is_small(child, depth + 1) for child in inner)
    return True


def _other_scalar(value: Any) -> str:
    """A number, a truth value or nothing."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{value} is not a number that a scenario file can hold")
        written = repr(value)
        if read_plain(written)[0] != value or type(read_plain(written)[0]) is not type(value):
            raise ValueError(f"the number {value} has more digits than a scenario file can hold; write it as text")
        return written
    raise ValueError(f"a scenario file holds texts, numbers, truth values, lists and maps, not {type(value).__name__}")


def _text_line(text: str) -> str:
    """A text (or key) on one line of block style: bare where that cannot be misread, else quoted."""
    return text if _bare(text) else _quoted(text)


def _bare(text: str) -> bool:
    """True for a text that may stand without quotes outside of brackets."""
    return (
        text[:1].isalpha()
        and text.isprintable()
        and not text.endswith((" ", ":"))
        and ": " not in text
        and " #" not in text
        and not read_plain(text)[1]
    )


def _quoted(text: str) -> str:
    """Single quotes where nothing needs an escape but double quotes would, else double quotes."""
    if ('"' in text or "\\" in text) and all(map(_shown, text)):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _long_text(text: str, column: int) -> Iterator[str]:
    """A text of several lines: a literal block where it holds it exactly, else one double-quoted line per line.

    The block is left to texts that neither begin with white space nor end lines with it: editors and hooks strip it
    there unasked, and what is stripped would silently change what a model is told.
    """
    pad = " " * column
    lines = text.split("\n")
    ends = lines[-1] == ""
    body = lines[:-1] if ends else lines
    literal = all(all(_shown(sign) or sign == "\t" for sign in line) for line in body) and not any(
        line != line.rstrip() for line in body
    )
    if literal and body[0] and not body[0][0].isspace() and body[-1]:
        yield "|" if ends else "|-"
        yield from (pad + line if line else "" for line in body)
        return
    pieces = [line + "\n" for line in lines[:-1]] + ([] if ends else [lines[-1]])
    written = ["".join(map(_escaped, piece)) for piece in pieces]
    # White space at the start of a continued line belongs to the layout, so that of the text is escaped.
    written = [written[0], *("\\" + piece if piece.startswith(" ") else piece for piece in written[1:])]
    for number, piece in enumerate(written):
        opening = '"' if number == 0 else pad
        yield opening + piece + ('"' if number == len(written) - 1 else "\\")


def _shown(sign: str) -> bool:
    return sign.isprintable() or sign in _ALSO_SHOWN


def _escaped(sign: str) -> str:
    """One character inside double quotes."""
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if _shown(sign):
        return sign
    code = ord(sign)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"the text holds half of a surrogate pair (U+{code:04X}), which is no character")
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
