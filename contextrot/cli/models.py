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
    table = [[r["name"], f"{r['size_mb']} MB", r["licence"], r["path"] or "not here yet"] for r in rows]
    print_table("", ["model", "size", "licence", "on this machine"], [[str(cell) for cell in row] for row in table])


@app.command("pull")
@guarded
def pull(
    name: Annotated[str, typer.Argument(help="a name of `contextrot models list`")] = "smollm2-135m",
) -> None:
    """Fetch a model's weights into the user cache and check them."""
    from contextrot.models import weights

    path = weights.ensure(name.removeprefix("local/"), progress=lambda text: typer.echo(text, err=True))
    typer.echo(str(path))
