"""Secrets never reach the disk: replaced by value in every record, and by key name in the configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import orjson

REDACTED = "[redacted]"
_SECRET_NAME = re.compile(r"(api_?key|secret|token$|password|passwd|authorization|credential|private_?key)", re.I)
_SECRET_ENV = re.compile(r"(API_?KEY|SECRET|TOKEN|PASSWORD|CREDENTIALS)(_|$)", re.I)
# Shorter values are not secrets anyone would issue, and replacing them would mangle ordinary text.
_SHORTEST = 8


class Redactor:
    """Replaces known secret values. Values are taken from the environment once, at construction."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        values = {v for k, v in environ.items() if _SECRET_ENV.search(k) and len(v) >= _SHORTEST and not v.isdigit()}
        # Longest first, so that a secret that contains another is replaced whole.
        self._values = sorted(values, key=len, reverse=True)
        self._bytes = [orjson.dumps(value)[1:-1] for value in self._values]

    def text(self, text: str) -> str:
        """The text with every secret value replaced."""
        for value in self._values:
            if value in text:
                text = text.replace(value, REDACTED)
        return text

    def line(self, line: bytes) -> bytes:
        """The same for a line of JSON."""
        for value in self._bytes:
            if value in line:
                line = line.replace(value, REDACTED.encode())
        return line


def redact_keys(value: Any) -> Any:
    """A copy of a JSON value in which whatever stands under a secret-sounding key is replaced.

    Keys that name an environment variable (``api_key_env``) hold no secret and stay.
    """
    if isinstance(value, Mapping):
        return {
            key: REDACTED
            if _SECRET_NAME.search(str(key)) and not str(key).endswith("_env") and inner
            else redact_keys(inner)
            for key, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redact_keys(inner) for inner in value]
    return value
