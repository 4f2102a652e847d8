"""`contextrot report RUN`: tables, plots and Markdown from a run directory; nothing is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="a run directory")],
    out: Annotated[Path | None, typer.Option("--out", help="folder to write into [default: the run directory]")] = None,
    json: Annotated[bool, typer.Option("--json", help="print the summary as JSON and write nothing")] = False,
) -> None:
    """Write Markdown, CSV and plots (SVG and PNG) for a run."""
    from contextrot.analysis.tables import load_run, write_tables
    from contextrot.cli.output import console, print_json

    loaded = load_run(run)
    if json:
        print_json(loaded.summary.to_dict())
        return
    from contextrot.report.terminal import print_summary
    from contextrot.report.write import write_report

    write_tables(loaded)
    written = write_report(loaded, out=out)
    print_summary(loaded.summary, console())
    for path in written:
        typer.echo(f"wrote {path}")
