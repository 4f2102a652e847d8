"""`contextrot models pull|list`: weights of local models."""

from __future__ import annotations

from typing import Annotated

import typer

from contextrot.cli.exits import guarded
from contextrot.cli.output import print_json, print_table

app = typer.Typer(help="Fetch and list the weights of local models.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
@guarded
def list_(json: Annotated[bool, typer.Option("--json", help="print JSON")] = False) -> None:
    """List the local models known by name, and which are on this machine."""
    from contextrot.models import weights

    rows = [
        {"name": f"local/{w.name}", "size_mb": round(w.size / 1e6), "licence": w.licence, "path": str(path or "")}
        for w, path in weights.catalogue_with_paths()
    ]
    if json:
        print_json(rows)
        return
    table = [[f"{r['name']}", f"{r['size_mb']:,}", f"{r['licence']}", f"{r['path'] or 'not here yet'}"] for r in rows]
    print_table("", ["model", "size, MB", "licence", "on this machine"], table, right=["size, MB"])


@app.command("pull")
@guarded
def pull(
    name: Annotated[str, typer.Argument(help="a name of `contextrot models list`")] = "smollm2-135m",
    json: Annotated[bool, typer.Option("--json", help="print as JSON where they are")] = False,
) -> None:
    """Fetch a model's weights into the user cache and check them."""
    from contextrot.models import weights

    bare = name.removeprefix("local/")
    path = weights.ensure(bare, progress=lambda text: typer.echo(text, err=True))
    if json:
        print_json({"name": f"local/{bare}", "path": str(path), "bytes": path.stat().st_size})
    else:
        typer.echo(str(path))
