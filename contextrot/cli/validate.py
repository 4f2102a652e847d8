"""`contextrot validate`: every fault of every file, with its line, before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from contextrot.cli.exits import Exit
from contextrot.cli.output import print_json


def validate(
    scenarios: Annotated[list[str], typer.Argument(help="scenario files, folders, shipped ids or suites")],
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Check scenario files and list every fault with its line."""
    from contextrot.errors import ScenarioError
    from contextrot.scenario import expand, load_scenario
    from contextrot.scenario.library import resolve

    problems: list[str] = []
    good: list[dict[str, object]] = []
    for name in scenarios:
        try:
            paths: list[Path] = resolve(name)
        except ScenarioError as error:
            problems += error.problems
            continue
        for path in paths:
            try:
                scenario = load_scenario(path)
                script = expand(scenario, seed=0, repeat=0)
            except ScenarioError as error:
                problems += error.problems
                continue
            probes = sum(len(turn.forks) + (turn.inline is not None) for turn in script.turns) + len(script.fresh)
            good.append({"path": str(path), "id": scenario.id, "turns": len(script.turns), "probes": probes})
    if json:
        print_json({"valid": good, "problems": problems})
    else:
        for row in good:
            typer.echo(f"{row['path']}: {row['id']} is valid: {row['turns']} turns, {row['probes']} probe questions")
        for problem in problems:
            typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(Exit.USAGE)
