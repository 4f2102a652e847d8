"""`contextrot import FILE`: a recorded session becomes a scenario that can be benched at once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Redact(StrEnum):
    """How much is taken out of the texts."""

    SECRETS = "secrets"
    ALL = "all"
    NONE = "none"


def import_(
    file: Annotated[Path, typer.Argument(help="a transcript file")],
    out: Annotated[
        Path | None, typer.Option("--out", help="the scenario to write [default: <id>.yaml]", show_default=False)
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="name the format instead of recognising it", show_default=False)
    ] = None,
    turns: Annotated[
        int | None, typer.Option("--turns", min=1, help="only the first so many turns", show_default=False)
    ] = None,
    pick: Annotated[
        int | None,
        typer.Option("--pick", min=1, help="which conversation of the file [default: the longest]", show_default=False),
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="the scenario's id", show_default=False)] = None,
    redact: Annotated[
        Redact,
        typer.Option("--redact", help="secrets (keys, tokens, passwords); all: e-mail addresses and home folders too"),
    ] = Redact.SECRETS,
    force: Annotated[bool, typer.Option("--force", help="overwrite files that are there")] = False,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Turn a recorded session into a scenario.

    Its turns become filler, its standing rules constraints with probes.
    """
    from contextrot.cli.output import print_json
    from contextrot.errors import ConfigError
    from contextrot.transcripts import read_transcripts
    from contextrot.transcripts.redaction import Level, Scrubber
    from contextrot.transcripts.to_scenario import draft_scenario, scenario_id, write_scenario

    found = read_transcripts(file, format)
    if pick is not None and pick > len(found):
        raise ConfigError(f"{file} holds {len(found)} conversations; --pick {pick} is none of them")
    transcript = found[pick - 1] if pick is not None else max(found, key=lambda one: one.turns)
    scrubber = Scrubber(Level(redact.value))
    transcript = scrubber.transcript(transcript)
    name = id or scenario_id(scrubber.name(file.stem))
    if name != scenario_id(name):
        raise ConfigError(f"--id {name!r}: an id is made of letters, digits, `-`, `_` and `.`")
    path = out or Path(f"{name}.yaml")
    if path.exists() and not force:
        raise ConfigError(f"{path} exists already; --force overwrites it, --out names another file")
    draft = draft_scenario(transcript, name, turns=turns, source=scrubber.name(file.name))
    files = write_scenario(draft, path)

    if json:
        print_json(
            {
                "id": name,
                "format": transcript.format,
                "turns": transcript.turns,
                "messages": len(transcript.messages),
                "conversations": len(found),
                "notes": list(transcript.notes),
                "redacted": dict(scrubber.report()),
                "tested": [rule["id"] for rule in draft.constraints],
                "suggestions": len(draft.suggestions),
                "files": [str(written) for written in files],
            }
        )
        return
    size = f"{transcript.turns} turns, {len(transcript.messages)} messages"
    typer.echo(f"read {scrubber.name(file.name)} as {transcript.format}: {size}")
    if len(found) > 1 and pick is None:
        typer.echo(f"the longest of {len(found)} conversations; --pick N takes another")
    for note in transcript.notes:
        typer.echo(f"note: {note}")
    replaced = ", ".join(f"{kind} {count:,}" for kind, count in scrubber.report())
    if scrubber.level is not Level.NONE:
        typer.echo(f"redacted: {replaced or 'nothing was found that looks like a secret'}")
    tested = [rule["id"] for rule in draft.constraints] or ["a canary fact (no rule with a check was found)"]
    typer.echo(f"tested: {', '.join(tested)}; {len(draft.suggestions)} more rules stand in the file as comments")
    for written in files:
        typer.echo(f"wrote {written}")
    typer.echo(f"next: contextrot bench {path} --model sim/perfect")
