"""The file of a `Memory`: one JSON document, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from contextrot.errors import ConfigError
from contextrot.log import Log
from contextrot.messages import Message, Tool
from contextrot.outcomes import Status
from contextrot.strategies import Event, Manifest, State, View

#: Version of the document, under the key that says what it is.
FORMAT = 1
_KEY = "contextrot_memory"


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """Replace the file by this document. Raises `ConfigError`."""
    scratch = path.with_name(path.name + ".tmp")
    try:
        scratch.write_bytes(orjson.dumps({_KEY: FORMAT, **document}))
        os.replace(scratch, path)
    except TypeError as error:
        raise ConfigError(f"the memory cannot be saved as JSON: {error}") from error
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from error


def read_document(path: Path) -> dict[str, Any]:
    """The document of a file that `write_document` wrote. Raises `ConfigError`."""
    try:
        raw = orjson.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{path} is no saved memory: it is not JSON ({error})") from error
    if not isinstance(raw, dict) or raw.get(_KEY) != FORMAT:
        raise ConfigError(f"{path} is no memory saved in format {FORMAT}, the one this version reads")
    return raw


def stored_view(view: View) -> dict[str, Any]:
    """A view as JSON: the log's messages by index, those the strategy made in full. Its state is stored apart."""
    messages: list[Any] = [
        message.to_dict() if source is None else source
        for message, source in zip(view.messages, view.sources, strict=True)
    ]
    return {
        "messages": messages,
        "manifest": [[status.value, start, end] for status, start, end in view.manifest.runs],
        "tokens": view.tokens,
        "events": [[event.name, event.detail] for event in view.events],
        "aux_calls": view.aux_calls,
        "tools": [[tool.name, tool.description, dict(tool.parameters)] for tool in view.tools],
    }


def read_view(raw: Mapping[str, Any], log: Log, state: State) -> View:
    """The view that `stored_view` made JSON of. Raises `KeyError`, `ValueError` and the like for anything else."""
    return View(
        tuple(log.messages[item] if isinstance(item, int) else Message.from_dict(item) for item in raw["messages"]),
        tuple(item if isinstance(item, int) else None for item in raw["messages"]),
        Manifest([(Status(status), start, end) for status, start, end in raw["manifest"]]),
        raw["tokens"],
        tuple(Event(name, detail) for name, detail in raw["events"]),
        raw["aux_calls"],
        state,
        tuple(Tool(name, description, parameters) for name, description, parameters in raw["tools"]),
    )
