"""`contextrot validate`: every fault of every file, with its line, before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextrot.cli.exits import Exit
from contextrot.cli.output import print_json

if TYPE_CHECKING:
    from contextrot.scenario.script import Script


def validate(
    scenarios: Annotated[list[str], typer.Argument(help="scenario files, folders, shipped ids or suites")],
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Check scenario files and list every fault with its line."""
    from contextrot.errors import ScenarioError
    from contextrot.scenario import expand, load_scenario
    from contextrot.scenario.library import resolve

    problems: list[str] = []
    good: list[dict[str, Any]] = []
    files = 0
    for name in scenarios:
        try:
            paths: list[Path] = resolve(name)
        except ScenarioError as error:
            problems += error.problems
            continue
        for path in paths:
            files += 1
            try:
                scenario = load_scenario(path)
                scripts = [expand(cell, seed=0, repeat=0) for cell in scenario.cells()]
            except ScenarioError as error:
                problems += error.problems
                continue
            cells = [_figures(script) for script in scripts]
            whole = {"turns": max(cell["turns"] for cell in cells), "probes": sum(cell["probes"] for cell in cells)}
            row = {"path": str(path), "id": scenario.id, **whole}
            good.append(row if scenario.grid is None else row | {"cells": cells})
    if json:
        print_json({"valid": good, "problems": problems})
    else:
        for row in good:
            size = f"{len(row['cells'])} cells of up to {row['turns']}" if "cells" in row else str(row["turns"])
            typer.echo(f"{row['path']}: {row['id']} is valid: {size} turns, {row['probes']} probe questions")
        for problem in problems:
            typer.echo(problem, err=True)
        _close(len(good), len(problems), files)
    if problems:
        raise typer.Exit(Exit.USAGE)


def _close(good: int, problems: int, files: int) -> None:
    """The last line, as a linter has it: how many faults in how many files, or that there are none."""
    if problems:
        bad = f" in {files - good} of {files} files" if files > 1 and files > good else ""
        typer.echo(f"found {problems} fault{'' if problems == 1 else 's'}{bad}", err=True)
    elif good > 1:
        typer.echo(f"all {good} are valid")


def _figures(script: Script) -> dict[str, Any]:
    """What one session of a scenario holds: its turns and the questions it asks."""
    probes = sum(len(turn.forks) + (turn.inline is not None) for turn in script.turns) + len(script.fresh)
    return {"id": script.scenario, "turns": len(script.turns), "probes": probes}
