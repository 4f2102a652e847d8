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
from contextrot.cli.gate import Held, held_to
from contextrot.config import CAPS, BenchConfig, Resolved, flag_of
from contextrot.errors import ContextrotError

#: settings that a resumed run takes anew: they change no session
_OPEN = (*CAPS, "gates", "baseline", "missing_baseline", "accept_changed")

if TYPE_CHECKING:
    from contextrot.bench.matrix import Matrix
    from contextrot.bench.store import RunDirectory


def bench(
    resolved: Resolved,
    resume: Annotated[
        Path | None, typer.Option("--resume", help="go on with the run in this folder, with its own settings")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print the summary as JSON")] = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="write tables, plots and the report")] = True,
) -> None:
    """Replay scenarios; say how long sessions last and why they fail.

    Every scenario is run against every model under each context strategy.
    """
    from contextrot.bench.matrix import load_matrix
    from contextrot.bench.runner import new_run_directory

    if resume is not None:
        _refuse_settings(resolved)
    config = recorded_config(resume, resolved) if resume is not None else resolved.config
    held = held_to(  # before anything is spent
        config.gates, config.baseline, accept_changed=config.accept_changed, missing=config.missing_baseline
    )
    with redirect_stdout(sys.stderr):  # what an agent prints is no part of what `--json` prints
        matrix = load_matrix(config)
    for sentence in held.check_plan(matrix) if held is not None else ():
        typer.echo(sentence, err=True)
    with new_run_directory(config) as directory:
        with redirect_stdout(sys.stderr):
            run_matrix(matrix, directory)
        _conclude(directory.path, as_json=json, report=report, held=held)


def _refuse_settings(resolved: Resolved) -> None:
    """A resumed run has its settings; others beside them would silently mean nothing. Caps and gates may be others."""
    from contextrot.errors import ConfigError

    given = sorted({source for name, source in resolved.sources.items() if _is_flag(source) and name not in _OPEN})
    if given:
        raise ConfigError(f"--resume goes on with the settings of that run; leave out {', '.join(given)}")


def _is_flag(source: str) -> bool:
    return source.startswith("--") or source == "SCENARIOS"


def run_matrix(matrix: Matrix, directory: RunDirectory) -> None:
    """Run to the end, with progress on stderr; on Ctrl-C say how to go on."""
    from contextrot.bench.runner import run
    from contextrot.cli.progress import for_terminal

    try:
        with for_terminal() as progress:
            command = shlex.join(["contextrot", *sys.argv[1:]])
            manifest = asyncio.run(run(matrix, directory, progress, command=command))
        if limit := manifest.get("limit"):
            typer.echo(_cut_short(limit, manifest, directory.path), err=True)
        elif progress.already == progress.sessions:
            typer.echo("this run was finished already; nothing was asked", err=True)
        elif progress.already or progress.replayed:
            typer.echo("this run was interrupted before and is now complete", err=True)
    except (KeyboardInterrupt, asyncio.CancelledError):
        command = f"contextrot bench --resume {shlex.quote(str(directory.path))}"
        typer.echo(f"\ninterrupted; everything so far is saved. To go on:\n  {command}", err=True)
        raise typer.Exit(Exit.INTERRUPTED) from None


def _cut_short(limit: dict[str, Any], manifest: dict[str, Any], path: Path) -> str:
    """Which cap ended the run, what of it is complete, and how to go on."""
    flag, spent = flag_of(limit["cap"]), manifest["spent"]
    taken = f"{spent['calls']:,} calls and {spent['tokens']:,} tokens" + (
        f" at ${spent['cost']:,.4f}" if "cost" in spent else ""
    )
    value = f"${limit['value']:,.6g}" if limit["cap"] == "max_cost" else f"{limit['value']:,.0f}"
    return (
        f"\nthe cap {flag} {value} ended the run after {taken}: {limit['completed']:,} of {manifest['sessions']:,} "
        f"sessions are complete, {limit['cut']:,} cut short, {limit['not_started']:,} not begun. To go on:\n"
        f"  contextrot bench --resume {shlex.quote(str(path))} {flag} MORE\n"
    )


def recorded_config(path: Path, resolved: Resolved | None = None) -> BenchConfig:
    """The configuration a run was started with, its folder as `out`; caps and gates are those given now, if any are."""
    from contextrot.bench.store import RunDirectory
    from contextrot.errors import StoreError

    manifest = RunDirectory(path).read_manifest()
    if manifest is None:
        raise StoreError(f"{path} holds no run to resume (there is no run.json in it)")
    recorded: dict[str, Any] = manifest["config"]
    if resolved is not None:
        given = {name for name in _OPEN if _is_flag(resolved.sources[name])}
        recorded = recorded | {name: getattr(resolved.config, name) for name in given}
    return BenchConfig(**(recorded | {"out": str(path)}))


def _conclude(path: Path, *, as_json: bool, report: bool, held: Held | None = None) -> None:
    """Print what was found and where it is written; exit 3 when nothing was measured, else as the gates say."""
    from contextrot.analysis.tables import load_run, write_tables
    from contextrot.cli.output import console, print_json
    from contextrot.report.findings import next_step
    from contextrot.report.terminal import print_summary

    loaded = load_run(path)
    summary = loaded.summary
    write_tables(loaded)
    result, fault = None, None
    if held is not None:
        try:
            result = held.evaluate(loaded)
        except ContextrotError as error:  # what was measured is shown all the same
            fault = error
    if report:
        from contextrot.report.write import write_report

        written = write_report(loaded)  # before anything is printed: the reader of our output may go away
        page = written[0]
    step = next_step(summary, path)
    if as_json:
        whereto = {"directory": str(path), "report": str(page) if report else None, "next": step[0] if step else None}
        print_json(summary.to_dict() | whereto | {"gates": None if result is None else result.to_dict()})
    else:
        print_summary(summary, console())
    if report:
        typer.echo(f"report: {page}", err=as_json)
    typer.echo(f"run:    {path}   (contextrot show {shlex.quote(str(path))})", err=as_json)
    if step:
        typer.echo(f"next:   {step[1]}\n        {step[0]}", err=as_json)
    if not summary.measured:
        typer.echo(f"nothing was measured: {summary.why_nothing}", err=True)
    if fault is not None:
        raise fault
    if result is not None:
        from contextrot.report.gates import print_gates

        print_gates(result, console(stderr=as_json), told_simulated=not as_json)
        if result.exit_code:
            raise typer.Exit(result.exit_code)
    if not summary.measured:
        raise typer.Exit(Exit.NO_VERDICT)
