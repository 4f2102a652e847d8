"""Scenarios to files: YAML that reads back byte for byte, long histories in a transcript beside it."""

from __future__ import annotations

from pathlib import Path

from contextrot.errors import ConfigError, ScenarioError, StoreError
from contextrot.scenario import expand, load_scenario
from contextrot.scenario.dump import dump_scenario
from contextrot.scenario.transcript import write_transcript
from contextrot.tasks.base import Raw

#: Bytes from which the filler of a scenario goes to a JSON Lines file: people read the YAML, and it is slow to parse.
LONG = 200_000


def write(raw: Raw, folder: Path, *, force: bool = False) -> Path:
    """Write one scenario as `<id>.yaml` and check it as `contextrot validate` does; returns the file's path.

    Raises `ConfigError` when a file of that name is there (unless `force`), `StoreError` when it cannot be written,
    and `ScenarioError` (with nothing left behind) when the loader refuses it.
    """
    path = folder / f"{raw['id']}.yaml"
    transcript = folder / f"{raw['id']}.jsonl"
    there = [file for file in (path, transcript) if file.exists()]
    if there and not force:
        raise ConfigError(f"{there[0]} exists already; --force overwrites it, --out names another folder")
    try:
        text = dump_scenario(raw)
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}") from error
    written = [path]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if len(text.encode()) > LONG and raw.get("filler", {}).get("items"):
            transcript.write_bytes(write_transcript(raw["filler"]["items"]))
            text = dump_scenario(raw | {"filler": {"transcript": transcript.name}})
            written.append(transcript)
        path.write_bytes(text.encode())
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from error
    try:
        expand(load_scenario(path), seed=0, repeat=0)
    except ScenarioError:
        for file in written:
            file.unlink()
        raise
    return path
