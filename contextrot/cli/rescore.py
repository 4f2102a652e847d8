"""`contextrot rescore RUN`: today's checks on the replies of a recorded run; nothing is asked, nothing changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contextrot.analysis.rescore import Rescored


def rescore(
    run: Annotated[Path, typer.Argument(help="a run directory")],
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            "--scenario",
            help="file, folder, suite or shipped id whose checks to apply (repeatable) [default: the run's own]",
            show_default=False,
        ),
    ] = None,
    write: Annotated[
        Path | None, typer.Option("--write", "--out", help="write a run with the new verdicts into this new folder")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="print every reply whose verdict changes")] = False,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Judge a recorded run's replies by today's checks and say what changes. Nothing is asked of a model."""
    from contextrot.analysis.rescore import rescore as again
    from contextrot.cli.output import print_json

    result = again(run, scenario or (), write)
    if json:
        print_json(result.to_dict())
    else:
        _print(result, show=show)
    if write is not None:
        typer.echo(f"run:    {write}   (contextrot report {write})", err=json)


def _print(result: Rescored, *, show: bool) -> None:
    from contextrot.cli.output import print_table

    several = len({row.scenario for row in result.rows.values()}) > 1
    columns = [*(["scenario"] if several else []), "probe or rule", "check", "same", "pass→fail", "fail→pass", "other"]
    rows = [
        [*([row.scenario] if several else []), row.id, row.check, f"{row.same:,}"]
        + [f"{n:,}" if n else "–" for n in (row.pass_to_fail, row.fail_to_pass, row.other)]
        for row in result.rows.values()
    ]
    print_table("", columns, rows)
    typer.echo(f"{result.graded:,} verdicts given anew, {len(result.changes):,} of them changed")
    why = {
        "unanswered": "without a reply",
        "judged": "by a judge model",
        "refused": "of questions that are not today's",
    }
    kept = [f"{n:,} {why[name]}" for name, n in result.kept.items() if n]
    if kept:
        typer.echo(f"kept as recorded: {', '.join(kept)}")
    for refusal in result.refused.values():
        typer.echo(f"  {refusal} ({refusal.verdicts:,})")
    for note in result.notes:
        typer.echo(f"note: {note}")
    for change in result.changes if show else ():
        typer.echo(f"\n{change.session}, turn {change.turn}, {change.kind} {change.id} ({change.check})")
        typer.echo(f"  {change.before}: {change.reason_before or '–'}")
        typer.echo(f"  now {change.after}: {change.reason_after or '–'}")
        typer.echo(f"  reply: {' '.join(change.reply.split())}")
