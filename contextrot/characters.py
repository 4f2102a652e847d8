"""Text from outside made storable: what Python and JSON escapes can hold and no file can.

``"\\ud800"`` is half of a surrogate pair and no character. Models write it (an emoji cut in two), tools written in
JavaScript cut texts there, and paths can hold it. Such a half becomes U+FFFD wherever a reply, a tool call, a
transcript or a record comes in, so that the log, the checks, the record and a replay see the same text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import orjson


def whole(text: str) -> str:
    """The text with every half of a surrogate pair replaced by U+FFFD; two halves that stand together are a pair."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def whole_value(value: Any) -> Any:
    """The same for all texts in a JSON value, keys too."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list | tuple):
        return [whole_value(inner) for inner in value]
    if isinstance(value, Mapping):
        return {whole_value(key): whole_value(inner) for key, inner in value.items()}
    return value


def parse_json(raw: bytes) -> Any:
    """A JSON value from outside; NaN and infinities, which JSON has not, are null. Raises `orjson.JSONDecodeError`."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as strict:
        # Read again the slow way only where something is escaped or named that orjson refuses.
        try:
            return whole_value(json.loads(raw.decode("utf-8"), parse_constant=lambda _: None))
        except (ValueError, RecursionError):
            raise strict from None


def to_json(value: Any, option: int | None = None, default: Callable[[Any], Any] | None = None) -> bytes:
    """A value as JSON, like `orjson.dumps`, whatever halves of pairs are in its texts."""
    try:
        return orjson.dumps(value, default, option)
    except TypeError:
        return orjson.dumps(whole_value(value), default, option)
