"""`contextrot list scenarios|strategies|checks|models`."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer

from contextrot.cli.output import console, print_json, print_table

#: from this many columns on an example has a column of its own
WIDE = 140


class What(StrEnum):
    """What can be listed."""

    SCENARIOS = "scenarios"
    STRATEGIES = "strategies"
    CHECKS = "checks"
    MODELS = "models"


def list_(
    what: Annotated[What, typer.Argument(help="what to list")],
    params: Annotated[bool, typer.Option("--params", help="with every parameter and its default")] = False,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List shipped scenarios, strategies, checks or kinds of models."""
    rows = _rows(what)
    if json:
        print_json(rows)
    elif what is What.SCENARIOS:
        print_table("", ["suite", "id", "title"], [[r["suite"], r["id"], r["title"]] for r in rows])
    elif what is What.MODELS:
        if console().width >= WIDE:
            print_table("", ["name", "is", "for example"], [[r["name"], r["summary"], r["example"]] for r in rows])
        else:
            shown = [[r["name"], r["summary"]] + ([] if r["example"] == r["name"] else [r["example"]]) for r in rows]
            print_table("", ["name", "is, and for example"], [[r[0], "\n".join(r[1:])] for r in shown])
    elif params:
        _with_parameters(rows)
    else:
        names = [" / ".join([r["name"], *r.get("aliases", [])]) for r in rows]
        print_table("", ["type", "in one line"], [[n, r["summary"]] for n, r in zip(names, rows, strict=True)])


def _rows(what: What) -> list[dict[str, Any]]:
    if what is What.SCENARIOS:
        from contextrot.scenario.library import shipped

        return [{"suite": s.suite, "id": s.id, "title": s.title} for s in shipped()]
    if what is What.STRATEGIES:
        from contextrot import strategies

        return strategies.describe()
    if what is What.CHECKS:
        from contextrot import checks

        return [{"name": row["type"], **row} for row in map(asdict, checks.describe())]
    from contextrot import models

    return [{"name": row["form"], **row} for row in map(asdict, models.describe())]


def _with_parameters(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        table = [
            [p["name"], str(p["type"]), "required" if p.get("required") else str(p["default"]), p["description"]]
            for p in row["parameters"]
        ]
        title = f"{row['name']}: {row['summary']}"
        print_table(title, ["parameter", "type", "default", "meaning"] if table else [], table)
