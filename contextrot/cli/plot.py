"""`contextrot plot RUN…`: curves of one run or several, as a picture, on the terminal, or as JSON."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class X(StrEnum):
    """What compliance is drawn against."""

    TURN = "turn"
    OCCUPANCY = "occupancy"
    TOKENS = "tokens"
    SINCE = "since"


class Y(StrEnum):
    """What is drawn."""

    COMPLIANCE = "compliance"
    SURVIVAL = "survival"


class Per(StrEnum):
    """What compliance is of: all probes and all standing rules, or each thing that is checked."""

    KIND = "kind"
    CONSTRAINT = "constraint"


class Facet(StrEnum):
    """What sets panels apart."""

    RUN = "run"
    SCENARIO = "scenario"
    MODEL = "model"
    STRATEGY = "strategy"
    CHECK = "check"
    NONE = "none"


def plot(
    runs: Annotated[list[Path], typer.Argument(help="run directories")],
    y: Annotated[Y, typer.Option("--y", help="compliance, or survival: sessions without a failure, by turn")] = (
        Y.COMPLIANCE
    ),
    x: Annotated[
        X,
        typer.Option(
            "--x", help="turn, occupancy of the window, tokens of the prompt, or tokens since the rule was stated"
        ),
    ] = X.TURN,
    per: Annotated[Per, typer.Option("--per", help="a curve per kind of check, or per constraint and fact")] = Per.KIND,
    facet: Annotated[
        list[Facet] | None,
        typer.Option(
            "--facet", help="what gets panels of its own (repeatable) [default: scenario, model, check]",
            show_default=False,
        ),
    ] = None,
    scenario: Annotated[list[str] | None, typer.Option("--scenario", help="only this one (repeatable, may hold *)")] = (
        None
    ),
    model: Annotated[list[str] | None, typer.Option("--model", help="only this one (repeatable, may hold *)")] = None,
    strategy: Annotated[list[str] | None, typer.Option("--strategy", help="only this one (repeatable, may hold *)")] = (
        None
    ),
    check: Annotated[
        list[str] | None,
        typer.Option("--check", help="only this constraint or fact, or all of a kind: probe, passive (repeatable)"),
    ] = None,
    pooled: Annotated[bool, typer.Option("--pooled", help="all scenarios together, instead of each")] = False,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="what to call a run, once for each [default: its folder]", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="the picture: FILE.svg, .png or .pdf [default: in plots/ of the run; of several runs, here]",
            show_default=False,
        ),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="print the figures, and draw only with --out")] = False,
    json: Annotated[bool, typer.Option("--json", help="print the series as JSON, and draw nothing")] = False,
) -> None:  # fmt: skip
    """Draw how compliance falls or how long sessions last: runs, strategies, models or constraints side by side."""
    from contextrot.analysis.tables import load_run
    from contextrot.cli.output import console, print_json
    from contextrot.errors import ConfigError
    from contextrot.report.plot_choice import choose, default_name, labelled, left_out, picture_kind
    from contextrot.report.plot_panels import FACET, arrange

    if y is Y.SURVIVAL and (x is not X.TURN or per is not Per.KIND or check):
        raise ConfigError("survival is over turns and over all checks: leave out --x, --per and --check")
    if out is not None:
        picture_kind(out)
    named = labelled([load_run(path) for path in runs], label or ())
    only = {"scenario": scenario or [], "model": model or [], "strategy": strategy or [], "check": check or []}
    sources = choose(named, y.value, x.value, per.value, only, pooled=pooled)
    for sentence in left_out(named, sources, only):
        typer.echo(sentence, err=True)
    if json:
        known = [{"label": name, "run": str(run.path), "status": run.status} for name, run in named]
        series = [{"run": source.run, **source.curve.to_dict()} for source in sources]
        print_json({"y": y, "x": x, "per": per, "runs": known, "series": series})
        return
    panels = arrange(sources, FACET if facet is None else [str(one) for one in facet])  # type: ignore[misc]
    screen = console()
    if text or screen.is_terminal:
        from contextrot.report.plot_text import compliance_text, opening, survival_text

        blocks = screen.encoding.startswith("utf")
        screen.print(opening(sources))
        if y is Y.SURVIVAL:
            parts = survival_text(panels, width=screen.width, blocks=blocks)
        else:
            parts = compliance_text(panels, x.value, width=screen.width, blocks=blocks)
        for part in parts:
            screen.print(part)
    if out is None and text:
        return
    from contextrot.report.plots import render_one, save

    folder = named[0][1].path / "plots" if len(named) == 1 else Path()
    target = out or folder / default_name(y, x, per)
    save(target, render_one(panels, x.value, picture_kind(target)))
    typer.echo(f"wrote {target}")
