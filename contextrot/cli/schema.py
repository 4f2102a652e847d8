"""`contextrot schema`: the JSON Schema of scenario files, for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from contextrot.cli.output import print_json


def schema(
    out: Annotated[Path | None, typer.Option("--out", help="write to this file instead of stdout")] = None,
) -> None:
    """Print the JSON Schema of scenario files."""
    from contextrot.scenario import json_schema

    if out is None:
        print_json(json_schema())
        return
    import orjson

    from contextrot.errors import StoreError

    try:
        out.write_bytes(orjson.dumps(json_schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    except OSError as error:
        raise StoreError(f"cannot write {out}: {error.strerror}") from error
    typer.echo(f"wrote {out}")
