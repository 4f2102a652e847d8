"""The command line: one small file per command, heavy imports inside the commands."""

from __future__ import annotations

from typing import Annotated

import typer

from contextrot.cli import (
    audit,
    baseline,
    bench,
    compare,
    doctor,
    gate,
    import_,
    init,
    judge,
    listing,
    models,
    plan,
    plot,
    report,
    rescore,
    schema,
    show,
    tasks,
    validate,
)
from contextrot.cli.exits import guarded
from contextrot.cli.options import with_settings
from contextrot.cli.output import prepare_streams

app = typer.Typer(
    name="contextrot",
    help="How long your LLM agent keeps honouring what it was told, why it stops, and which context strategy helps.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"contextrot {version('contextrot-bench')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Long-session context-rot evaluation harness and benchmark CLI for LLM agents."""


# In the order in which a user comes to need them.
app.command("init")(guarded(init.init))
app.command("list")(guarded(listing.list_))
app.command("validate")(guarded(validate.validate))
app.command("schema")(guarded(schema.schema))
app.command("doctor")(guarded(with_settings(doctor.doctor)))
app.command("plan")(guarded(with_settings(plan.plan)))
app.command("bench")(guarded(with_settings(bench.bench)))
app.command("show")(guarded(show.show))
app.command("report")(guarded(report.report))
app.command("plot")(guarded(plot.plot))
app.command("compare")(guarded(compare.compare))
app.command("gate")(guarded(gate.gate))
app.add_typer(baseline.app, name="baseline")
app.command("rescore")(guarded(rescore.rescore))
app.command("audit")(guarded(audit.audit))
app.command("import")(guarded(import_.import_))
app.command("judge")(guarded(judge.judge))
app.add_typer(tasks.app, name="tasks")
app.add_typer(models.app, name="models")


def main() -> None:
    """Entry point of the `contextrot` command."""
    prepare_streams()
    app()
