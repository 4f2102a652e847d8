"""`contextrot bench`: run the matrix, then say what was found."""

from __future__ import annotations

import asyncio
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextrot.cli.exits import Exit
from contextrot.config import BenchConfig, Resolved

if TYPE_CHECKING:
    from contextrot.bench.matrix import Matrix
    from contextrot.bench.store import RunDirectory


def bench(
    resolved: Resolved,
    resume: Annotated[
        Path | None, typer.Option("--resume", help="go on with the run in this folder, with its own settings")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print the summary as JSON")] = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="write tables, plots and report.md")] = True,
) -> None:
    """Replay scenarios; say how long sessions last and why they fail.

    Every scenario is run against every model under each context strategy.
    """
    from contextrot.bench.matrix import load_matrix
    from contextrot.bench.runner import new_run_directory

    if resume is not None:
        _refuse_settings(resolved)
    config = recorded_config(resume) if resume is not None else resolved.config
    with redirect_stdout(sys.stderr):  # what an agent prints is no part of what `--json` prints
        matrix = load_matrix(config)
    with new_run_directory(config) as directory:
        with redirect_stdout(sys.stderr):
            run_matrix(matrix, directory)
        _conclude(directory.path, as_json=json, report=report)


def _refuse_settings(resolved: Resolved) -> None:
    """A resumed run has its settings; others beside them would silently mean nothing."""
    from contextrot.errors import ConfigError

    given = sorted({source for source in resolved.sources.values() if source.startswith("--") or source == "SCENARIOS"})
    if given:
        raise ConfigError(f"--resume goes on with the settings of that run; leave out {', '.join(given)}")


def run_matrix(matrix: Matrix, directory: RunDirectory) -> None:
    """Run to the end, with progress on stderr; on Ctrl-C say how to go on."""
    from contextrot.bench.runner import run
    from contextrot.cli.progress import for_terminal

    try:
        with for_terminal() as progress:
            asyncio.run(run(matrix, directory, progress, command=shlex.join(["contextrot", *sys.argv[1:]])))
        if progress.already == progress.sessions:
            typer.echo("this run was finished already; nothing was asked", err=True)
        elif progress.already or progress.replayed:
            typer.echo("this run was interrupted before and is now complete", err=True)
    except (KeyboardInterrupt, asyncio.CancelledError):
        command = f"contextrot bench --resume {shlex.quote(str(directory.path))}"
        typer.echo(f"\ninterrupted; everything so far is saved. To go on:\n  {command}", err=True)
        raise typer.Exit(Exit.INTERRUPTED) from None


def recorded_config(path: Path) -> BenchConfig:
    """The configuration a run was started with, its folder as `out`."""
    from contextrot.bench.store import RunDirectory
    from contextrot.errors import StoreError

    manifest = RunDirectory(path).read_manifest()
    if manifest is None:
        raise StoreError(f"{path} holds no run to resume (there is no run.json in it)")
    recorded: dict[str, Any] = manifest["config"]
    return BenchConfig(**(recorded | {"out": str(path)}))


def _conclude(path: Path, *, as_json: bool, report: bool) -> None:
    """Print what was found and where it is written; exit 3 when nothing was measured."""
    from contextrot.analysis.tables import load_run, write_tables
    from contextrot.cli.output import console, print_json
    from contextrot.report.findings import next_step
    from contextrot.report.terminal import print_summary

    loaded = load_run(path)
    summary = loaded.summary
    write_tables(loaded)
    if report:
        from contextrot.report.write import write_report

        written = write_report(loaded)  # before anything is printed: the reader of our output may go away
    if as_json:
        print_json(summary.to_dict())
    else:
        print_summary(summary, console())
    if report:
        typer.echo(f"report: {next(p for p in written if p.suffix == '.md')}", err=as_json)
    typer.echo(f"run:    {path}   (contextrot show {path})", err=as_json)
    if step := next_step(summary, path):
        typer.echo(f"next:   {step[1]}\n        {step[0]}", err=as_json)
    if not summary.measured:
        typer.echo(f"nothing was measured: {summary.why_nothing}", err=True)
        raise typer.Exit(Exit.NO_VERDICT)
