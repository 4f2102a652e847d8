"""`contextrot baseline set|show`: the small file that later runs are held against, to be committed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextrot.cli.exits import guarded

if TYPE_CHECKING:
    from contextrot.analysis.evidence import Evidence

app = typer.Typer(help="Keep a run as the baseline of later ones: a small JSON file to commit.", no_args_is_help=True)


def set_(
    run: Annotated[Path, typer.Argument(help="a run directory")],
    out: Annotated[
        Path | None, typer.Option("--out", help="file to write [default: contextrot-baseline.json]", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print as JSON what was written")] = False,
) -> None:
    """Write the sessions of a finished run as the baseline."""
    from contextrot.analysis.baseline import BASELINE_FILE, write_baseline
    from contextrot.analysis.comparison import Limits
    from contextrot.analysis.evidence import evidence_of
    from contextrot.analysis.measures import without_result
    from contextrot.analysis.tables import load_run
    from contextrot.cli.output import print_json
    from contextrot.errors import BaselineError

    evidence = evidence_of(load_run(run))
    if evidence.status not in ("", "completed"):
        raise BaselineError(f"{run} is {evidence.status}; a baseline is made of a finished run")
    for key, sessions in evidence.groups().items():
        bad, total = without_result(sessions, evidence.repeats)
        if bad > Limits().max_unfinished * total:
            raise BaselineError(
                f"{bad} of {total} sessions of {key[2]} on {key[1]} in {key[0]} ended without a result; "
                "nothing can be held against that"
            )
    path = out or Path(BASELINE_FILE)
    write_baseline(evidence, path)
    if json:
        held = {"sessions": len(evidence.sessions), "groups": len(evidence.groups())}
        print_json({"file": str(path), "bytes": path.stat().st_size, **held, "simulated": evidence.simulated})
        return
    typer.echo(f"wrote {path} ({path.stat().st_size:,} bytes): {_what(evidence)}; commit it")


def show(
    path: Annotated[Path | None, typer.Argument(help="a baseline file [default: contextrot-baseline.json]")] = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Say what a baseline holds."""
    from contextrot.analysis.baseline import BASELINE_FILE, load_baseline
    from contextrot.cli.output import print_json

    evidence = load_baseline(path or Path(BASELINE_FILE))
    rows = _rows(evidence)
    if json:
        print_json(
            {
                "source": evidence.source,
                "versions": dict(evidence.versions),
                "git_commit": evidence.git_commit,
                "simulated": evidence.simulated,
                "groups": rows,
            }
        )
        return
    if evidence.simulated:
        from contextrot.report.words import SIMULATED

        typer.echo(SIMULATED)
    _print(rows)
    made = ", ".join(f"{name} {number}" for name, number in evidence.versions.items())
    typer.echo(f"{_what(evidence)}; {made}" + (f", commit {evidence.git_commit}" if evidence.git_commit else ""))


def _print(rows: list[dict[str, Any]]) -> None:
    """The groups as a table; what is the same in every row is said once, above it."""
    from contextrot.cli.output import print_table
    from contextrot.report.terminal_blocks import without_level

    heads = {
        "scenario": "scenario", "model": "model", "strategy": "strategy", "sessions": "sessions",
        "length": "turns to\nfirst failure (95 %)", "restricted_mean": "restricted\nmean, turns", "seed": "seed",
    }  # fmt: skip
    same = [name for name in ("model", "seed") if len({row[name] for row in rows}) == 1]
    title = ", ".join(f"{name} {rows[0][name]}" for name in same)
    shown = [name for name in heads if name not in same]
    written = [
        row | {"length": without_level(row["length"]), "restricted_mean": _figure(row["restricted_mean"])}
        for row in rows
    ]
    cells = [[str(row[name]) for name in shown] for row in written]
    right = [heads[name] for name in ("sessions", "length", "restricted_mean", "seed")]
    print_table(title, [heads[name] for name in shown], cells, right=right)


def _figure(turns: float | None) -> str:
    return "–" if turns is None else f"{turns:.1f}"


def _rows(evidence: Evidence) -> list[dict[str, Any]]:
    from contextrot.analysis.survival import kaplan_meier, median_text

    rows = []
    for (scenario, model, strategy), sessions in evidence.groups().items():
        without = evidence.floors.get((scenario, model), frozenset())
        known = [found for session in sessions if (found := session.lasted(without)) is not None]
        fit = kaplan_meier([found[0] for found in known], [found[1] for found in known])
        rows.append(
            {
                "scenario": scenario,
                "model": model,
                "strategy": strategy,
                "sessions": len(sessions),
                "length": median_text(fit),
                "restricted_mean": None if fit.restricted_mean is None else round(fit.restricted_mean, 3),
                "seed": sessions[0].seed,
            }
        )
    return rows


def _what(evidence: Evidence) -> str:
    return f"{len(evidence.sessions)} sessions, {len(evidence.groups())} groups"


app.command("set")(guarded(set_))
app.command("show")(guarded(show))
