"""JSON and JSON Lines files of benchmarks, with sentences for what is not one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from contextrot.errors import ConfigError


def json_rows(path: Path, *, name: str, keys: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The objects of a file: a JSON list, one JSON object, or JSON Lines. Each must have all `keys`.

    Raises `ConfigError` that names the file, the line or entry, and what was expected there.
    """
    for place, row in _rows(path, name):
        if not isinstance(row, Mapping):
            raise ConfigError(f"{path}: {place} is not a JSON object, as every entry of {name} is")
        missing = [key for key in keys if key not in row]
        if missing:
            found = ", ".join(map(str, list(row)[:8])) or "nothing"
            raise ConfigError(
                f"{path}: {place} has no `{missing[0]}`, so this is not a file of {name}; it has: {found}"
            )
        yield dict(row)


def _rows(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    raw = _bytes(path, name)
    if raw.lstrip()[:1] == b"[":
        whole = _parsed(raw, str(path), name)
        for number, row in enumerate(whole, 1):
            yield f"entry {number}", row
        return
    lines = [(number, line) for number, line in enumerate(raw.split(b"\n"), 1) if line.strip()]
    if len(lines) > 1 and not _is_json(lines[0][1]):  # one object laid out over several lines
        yield "the file", _parsed(raw, str(path), name)
        return
    for number, line in lines:
        yield f"line {number}", _parsed(line, f"{path}:{number}", name)


def _bytes(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except IsADirectoryError:
        raise ConfigError(f"{path}: this is a folder; {name} is read from a file") from None
    except OSError as error:
        raise ConfigError(f"{path}: the file cannot be read ({(error.strerror or str(error)).lower()})") from None


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _parsed(raw: bytes, where: str, name: str) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{where}: this is not JSON, as a file of {name} is: {error}") from None


def expect(condition: bool, where: str, sentence: str) -> None:
    """Raise `ConfigError` with the place when the data is not as the format says."""
    if not condition:
        raise ConfigError(f"{where}: {sentence}")
