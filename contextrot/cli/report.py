"""`contextrot report RUN`: the page, tables, plots, Markdown, JUnit and what CI shows; nothing is asked."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """What can be written. `github` is the step summary, with annotations on stdout; the others are files."""

    HTML = "html"
    MD = "md"
    SVG = "svg"
    PNG = "png"
    JUNIT = "junit"
    GITHUB = "github"


def report(
    run: Annotated[Path, typer.Argument(help="a run directory")],
    out: Annotated[Path | None, typer.Option("--out", help="folder to write into [default: the run directory]")] = None,
    formats: Annotated[
        list[Format] | None,
        typer.Option(
            "--format",
            help="what to write (repeatable) [default: html, md, svg, png, junit]; github: the step summary, to "
            "$GITHUB_STEP_SUMMARY where that is set, and annotations on stdout",
            show_default=False,
        ),
    ] = None,
    sessions: Annotated[
        list[str] | None,
        typer.Option(
            "--session",
            help="a session, by its name or a part of it, whose details report.html holds in any case (repeatable)",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print the summary as JSON and write nothing")] = False,
) -> None:
    """Write HTML, Markdown, CSV, plots (SVG and PNG) and JUnit for a run, or what GitHub Actions shows of it."""
    from contextrot.analysis.tables import load_run, write_tables
    from contextrot.cli.output import console, print_json

    loaded = load_run(run)
    if json:
        print_json(loaded.summary.to_dict())
        return
    from contextrot.report.terminal import print_summary
    from contextrot.report.write import FORMATS, write_report

    write_tables(loaded)
    files = [str(one) for one in formats if one is not Format.GITHUB] if formats else list(FORMATS)
    written = write_report(loaded, files, out=out, sessions=sessions or ())
    if formats and Format.GITHUB in formats:
        from contextrot.report import github

        written += github.write_step_summary(loaded)
        for line in github.annotate(loaded):
            typer.echo(line)
    print_summary(loaded.summary, console())
    for path in written:
        typer.echo(f"wrote {path}")
