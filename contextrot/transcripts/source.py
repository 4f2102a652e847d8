"""A file of JSON or JSONL into values: with a byte order mark, a torn last line, halves of characters in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from contextrot.characters import parse_json
from contextrot.errors import ConfigError

#: Bytes above which a file is refused: parsed, it would take several times as much memory.
MAX_BYTES = 200_000_000


@dataclass(slots=True)
class Source:
    """A parsed file. `records` are its lines (JSONL), the entries of its list, or its one value.

    `lines` is True for JSONL. `whole` is the one value of a JSON file, None for JSONL. `notes` say what was left out.
    """

    path: Path
    records: list[Any]
    lines: bool
    whole: Any = None
    notes: list[str] = field(default_factory=list)

    @property
    def maps(self) -> list[Mapping[str, Any]]:
        """The records that are JSON objects."""
        return [record for record in self.records if isinstance(record, Mapping)]


def read_source(path: Path) -> Source:
    """Read and parse. Raises `ConfigError` with a sentence for what is no JSON text of sensible size."""
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise ConfigError(f"{path} is a folder; name a transcript file in it")
        if size > MAX_BYTES:
            raise ConfigError(
                f"{path} has {size / 1e6:,.0f} MB, more than the {MAX_BYTES // 1_000_000} MB that are read; cut it, "
                f"for example with `head -n 20000 {path.name} > part.jsonl`"
            )
        raw = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({(error.strerror or str(error)).lower()})") from None
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(f"{path} is UTF-16; save it as UTF-8")
    raw = raw.removeprefix(b"\xef\xbb\xbf").strip()
    if not raw:
        raise ConfigError(f"{path} is empty; a transcript is JSON or JSONL")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        # A file cut off in the middle of a character is a torn last line like any other.
        if b"\n" in raw[error.start :] or len(raw) - error.start > 3 or line == 1:
            raise ConfigError(f"{path}:{line}: this line is not UTF-8 text; a transcript is JSON or JSONL") from None
    source = _lines(path, raw) if _is_jsonl(raw) else _whole(path, raw)
    if not source.records:
        raise ConfigError(f"{path} holds an empty list; a transcript has messages")
    return source


def _is_jsonl(raw: bytes) -> bool:
    """True when more than one line stands there and the first is a JSON object of its own."""
    first, newline, _ = raw.partition(b"\n")
    if not newline:
        return False
    try:
        return isinstance(_parsed(first), Mapping)
    except ValueError:
        return False


def _whole(path: Path, raw: bytes) -> Source:
    try:
        value = _parsed(raw)
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}") from None
    return Source(path, value if isinstance(value, list) else [value], lines=False, whole=value)


def _lines(path: Path, raw: bytes) -> Source:
    records: list[Any] = []
    bad: list[int] = []
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            records.append(_parsed(line))
        except ValueError:
            bad.append(number)
    notes = []
    if bad and bad[-1] == len(lines):
        bad.pop()
        notes.append(f"the last line ({len(lines)}) is cut off and was left out")
    if len(bad) > len(records):
        raise ConfigError(f"{path}:{bad[0]}: this line is not JSON, nor are {len(bad) - 1} others; is it a transcript?")
    if bad:
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        notes.append(f"line {bad[0]}{more} left out: not JSON")
    return Source(path, records, lines=True, notes=notes)


def _parsed(raw: bytes) -> Any:
    """The JSON value. Raises `ValueError`."""
    try:
        return parse_json(raw)
    except orjson.JSONDecodeError as strict:
        raise ValueError(str(strict)) from None
