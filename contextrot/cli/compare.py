"""`contextrot compare A [B]`: did it get worse, pair by pair; or how the strategies of one run compare."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class By(StrEnum):
    """What is compared inside one run."""

    STRATEGY = "strategy"
    MODEL = "model"


def compare(
    baseline: Annotated[Path, typer.Argument(help="a run directory or a baseline file")],
    candidate: Annotated[
        Path | None,
        typer.Argument(help="the run to compare with it [default: compare inside the first]", show_default=False),
    ] = None,
    by: Annotated[By, typer.Option("--by", help="inside one run: what to compare")] = By.STRATEGY,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            help="inside one run: what the others are held against [default: full, else what was named first]",
            show_default=False,
        ),
    ] = None,
    margin: Annotated[
        float, typer.Option("--margin", min=0, max=100, help="smallest drop that matters, % of the restricted mean")
    ] = 10.0,
    margin_points: Annotated[
        float, typer.Option("--margin-points", min=0, max=100, help="smallest drop of compliance that matters, points")
    ] = 5.0,
    accept_changed: Annotated[
        bool, typer.Option("--accept-changed", help="compare although a scenario changed in what it tests")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", "--md", help="print Markdown")] = False,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Compare two runs, or the strategies of one.

    Exits 1 on a confirmed regression between two runs and 3 when nothing can be told. The strategies (or models) of one
    run are a choice, not a change: what is worse among them is said, with what to ship, and exits 0.
    """
    from contextrot.analysis.baseline import load_baseline
    from contextrot.analysis.compare import compare as compared
    from contextrot.analysis.comparison import Limits
    from contextrot.analysis.evidence import evidence_of
    from contextrot.analysis.tables import load_run
    from contextrot.cli.output import console, print_json
    from contextrot.report.comparison import comparison_markdown, print_comparison

    limits = Limits(margin_length=margin / 100, margin_compliance=margin_points / 100)
    second = None if candidate is None else evidence_of(load_run(candidate))
    found = compared(
        load_baseline(baseline), second, by=str(by), reference=reference, limits=limits, accept_changed=accept_changed
    )
    if json:
        print_json(found.to_dict())
    elif markdown:
        typer.echo(comparison_markdown(found), nl=False)
    else:
        print_comparison(found, console())
    if found.exit_code:
        raise typer.Exit(found.exit_code)
