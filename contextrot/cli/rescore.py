"""`contextrot rescore RUN`: today's checks on the replies of a recorded run; nothing is asked, nothing changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contextrot.analysis.rescore import Refusal, Rescored


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
    out: Annotated[
        Path | None, typer.Option("--out", help="new folder for a run with the new verdicts [default: write nothing]")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="print every reply whose verdict changes")] = False,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Check a recorded run again by today's checks; say what changes.

    Nothing is asked of a model, and the recorded run is left as it is.
    """
    from contextrot.analysis.rescore import rescore as again
    from contextrot.cli.output import print_json

    result = again(run, scenario or (), out)
    if json:
        print_json(result.to_dict())
    else:
        _print(result, show=show)
    if out is not None:
        typer.echo(f"run:    {out}   (contextrot report {out})", err=json)


def _print(result: Rescored, *, show: bool) -> None:
    from contextrot.cli.output import print_table

    changed = [row for row in result.rows.values() if row.pass_to_fail or row.fail_to_pass or row.other]
    several = len({row.scenario for row in result.rows.values()}) > 1
    for scenario in dict.fromkeys(row.scenario for row in changed):
        rows = [
            [row.id, row.check, f"{row.same:,}"]
            + [f"{n:,}" if n else "–" for n in (row.pass_to_fail, row.fail_to_pass, row.other)]
            for row in changed
            if row.scenario == scenario
        ]
        columns = ["probe or rule", "check", "same", "pass→fail", "fail→pass", "other"]
        print_table(scenario if several else "", columns, rows, right=columns[2:])
    if same := len(result.rows) - len(changed):
        typer.echo(f"{same:,} {'more ' if changed else ''}{'row' if same == 1 else 'rows'} unchanged")
    typer.echo(f"{result.graded:,} verdicts given anew, {len(result.changes):,} of them changed")
    why = {
        "unanswered": "without a reply",
        "judged": "by a judge model",
        "refused": "of questions that are not today's",
    }
    kept = [f"{n:,} {why[name]}" for name, n in result.kept.items() if n]
    if kept:
        typer.echo(f"kept as recorded: {', '.join(kept)}")
    refused: dict[str, list[Refusal]] = {}
    for refusal in result.refused.values():
        refused.setdefault(f"{refusal.kind} `{refusal.id}`: {refusal.reason}", []).append(refusal)
    for sentence, alike in refused.items():
        count = sum(refusal.verdicts for refusal in alike)
        typer.echo(f"  {_of([refusal.scenario for refusal in alike])}, {sentence} ({count:,})")
    notes: dict[str, list[str]] = {}
    for note in result.notes:
        where, _, sentence = note.partition(": ")
        notes.setdefault(sentence, []).append(where)
    for sentence, places in notes.items():
        typer.echo(f"note: {_of(places)}: {sentence}")
    for change in result.changes if show else ():
        typer.echo(f"\n{change.session}, turn {change.turn}, {change.kind} {change.id} ({change.check})")
        typer.echo(f"  {change.before}: {change.reason_before or '–'}")
        typer.echo(f"  now {change.after}: {change.reason_after or '–'}")
        typer.echo(f"  reply: {' '.join(change.reply.split())}")


def _of(scenarios: list[str], most: int = 3) -> str:
    """The scenarios a sentence is about: the cells of a grid often share one."""
    more = f" and {len(scenarios) - most} more" if len(scenarios) > most else ""
    return ", ".join(scenarios[:most]) + more
