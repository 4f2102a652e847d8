"""`contextrot schema`: the JSON Schema of scenario files and of contextrot.yaml, for editors."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from contextrot.cli.output import print_json


class File(StrEnum):
    """Which file the schema is of."""

    SCENARIO = "scenario"
    CONFIG = "config"


def schema(
    file: Annotated[File, typer.Argument(help="of scenario files, or of contextrot.yaml")] = File.SCENARIO,
    out: Annotated[Path | None, typer.Option("--out", help="write to this file instead of stdout")] = None,
) -> None:
    """Print the JSON Schema of scenario files or of contextrot.yaml.

    That of contextrot.yaml has every strategy's parameters.
    """
    if file is File.CONFIG:
        from contextrot.bench.config_schema import config_schema as made
    else:
        from contextrot.scenario import json_schema as made

    if out is None:
        print_json(made())
        return
    import orjson

    from contextrot.errors import StoreError

    try:
        out.write_bytes(orjson.dumps(made(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    except OSError as error:
        raise StoreError(f"cannot write {out}: {error.strerror}") from error
    typer.echo(f"wrote {out}")
