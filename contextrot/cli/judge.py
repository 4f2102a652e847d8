"""`contextrot judge`: how far a judge agrees with labels, before its verdicts are trusted."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextrot.cli.exits import Exit
from contextrot.cli.output import console, print_json, print_table

if TYPE_CHECKING:
    from contextrot.bench.agreement import Agreement, Labelled, Share
    from contextrot.models import Model


def judge(
    labels: Annotated[Path, typer.Argument(help="YAML: a list of {rubric, ask, reply, label: pass | fail}")],
    judge: Annotated[
        str | None, typer.Option("--judge", help="the model to measure [default: `judge` of contextrot.yaml]")
    ] = None,
    votes: Annotated[int, typer.Option("--votes", min=1, max=15, help="votes on each reply; odd")] = 3,
    json: Annotated[bool, typer.Option("--json", help="print JSON, with every reply's verdict and votes")] = False,
) -> None:
    """Measure how far a judge model agrees with labelled replies.

    Agreement, Cohen's kappa, false passes and false fails, and agreement with itself.
    """
    from contextrot.bench.agreement import load_labels
    from contextrot.bench.judging import create_judge
    from contextrot.config import from_text, resolve
    from contextrot.errors import ConfigError

    config = resolve({} if judge is None else {"judge": from_text("judge", judge)}, os.environ).config
    if config.judge is None:
        raise ConfigError("no judge is named: add --judge MODEL, or `judge:` to contextrot.yaml")
    if votes % 2 == 0:
        raise ConfigError(f"--votes is {votes}; an odd number of votes cannot tie")
    found = load_labels(labels)
    with redirect_stdout(sys.stderr):  # what an agent prints is no part of what `--json` prints
        measured = asyncio.run(_measured(create_judge(config.judge.to_spec()), found, votes, config.concurrency))
    if json:
        print_json(measured.to_dict())
    else:
        _show(measured)
    if not measured.agreement.of:
        typer.echo("the judge decided nothing: none of its answers was a verdict", err=True)
        raise typer.Exit(Exit.NO_VERDICT)


async def _measured(model: Model, labels: list[Labelled], votes: int, concurrency: int) -> Agreement:
    from contextrot.bench.agreement import measure

    try:
        return await measure(model, labels, votes=votes, concurrency=concurrency)
    finally:
        await model.close()


def _show(measured: Agreement) -> None:
    from rich.text import Text

    from contextrot.report.words import clean

    simulated = " (SIMULATED)" if measured.judge.startswith("sim/") else ""
    kappa = ["–", "–", "not defined: labels or verdicts are all the same"]
    if measured.kappa is not None:
        kappa = [f"{measured.kappa:.2f}", "–", f"{measured.kappa_low:.2f} to {measured.kappa_high:.2f}"]
    rows = [
        ["agreement with the labels", *_written(measured.agreement)],
        ["Cohen's kappa", *kappa],
        ["false passes, of replies labelled fail", *_written(measured.false_pass)],
        ["false fails, of replies labelled pass", *_written(measured.false_fail)],
        ["undecided, of all replies", *_written(measured.undecided)],
        ["votes as most on their reply", *_written(measured.consistency)],
    ]
    count = len(measured.opinions)
    print_table(
        f"{measured.judge}{simulated}: {count} labelled replies, {measured.votes} votes each",
        ["measured", "value", "of", "95 %"],
        rows,
        right=["value", "of"],
    )
    wrong = [
        opinion
        for opinion in measured.opinions
        if opinion.verdict.outcome.decided and (opinion.verdict.outcome.value == "pass") != opinion.labelled.passes
    ]
    out = console()
    out.print()
    for opinion in wrong[:5]:
        label = "pass" if opinion.labelled.passes else "fail"
        out.print(Text(clean(f"line {opinion.labelled.line}: labelled {label}; {opinion.verdict.reason}")))
    if len(wrong) > 5:
        out.print(f"and {len(wrong) - 5} more; --json has all")


def _written(share: Share) -> list[str]:
    """A share, what it is of, and its interval."""
    from contextrot.report.words import percent

    if share.share is None:
        return ["–", f"0 of {share.of}", "–"]
    return [percent(share.share), f"{share.hits} of {share.of}", f"{percent(share.low)} to {percent(share.high)}"]
