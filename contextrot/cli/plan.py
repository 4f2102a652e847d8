"""`contextrot plan`: what a bench would take, before anything is spent on it."""

from __future__ import annotations

import asyncio
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextrot.config import Resolved, flag_of

if TYPE_CHECKING:
    from contextrot.analysis.planning import Planned
    from contextrot.bench.estimate import Cost, Estimate, Row
    from contextrot.bench.matrix import Matrix


def plan(
    resolved: Resolved,
    reply_tokens: Annotated[
        int | None,
        typer.Option(
            "--reply-tokens",
            min=1,
            help="assumed length of every reply in tokens [default: 150; simulated models answer themselves]",
            show_default=False,
        ),
    ] = None,
    detect: Annotated[
        str | None,
        typer.Option(
            "--detect",
            help="also say how many sessions show a drop of the session length by this share, such as 10%, with power "
            "80 %, and what they would take",
            show_default=False,
        ),
    ] = None,
    median: Annotated[
        float | None,
        typer.Option(
            "--median",
            min=1,
            help="for --detect: the median session length expected today, in turns [default: half a session]",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option("--from", help="for --detect: a run directory that shows today's session lengths"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Say what a bench would take: calls, tokens and cost for each model and strategy. Nothing is sent."""
    from contextrot.bench.estimate import estimate
    from contextrot.bench.matrix import load_matrix
    from contextrot.cli.output import print_json
    from contextrot.errors import ConfigError

    if detect is None and (median is not None or run is not None):
        raise ConfigError("--median and --from belong to --detect, for example --detect 10%")
    drop = None if detect is None else read_share(detect)
    config = resolved.config
    # The price of a model may be unknown here: that is one of the things to be told.
    with redirect_stdout(sys.stderr):  # what an agent prints is no part of what `--json` prints
        matrix = load_matrix(config.model_copy(update={"max_cost": None}))
        found = asyncio.run(estimate(matrix, reply_tokens=reply_tokens, cost_cap=config.max_cost))
    needed = [] if drop is None else _needed(matrix, drop, median, run)
    if json:
        print_json(
            found.to_dict() | ({"detect": [_detect_row(one, found, matrix) for one in needed]} if needed else {})
        )
        return
    _print(found)
    for who, one in needed:
        typer.echo(_detect_text(who, one, found, matrix))


def read_share(text: str) -> float:
    """The share that ``10%`` or ``0.1`` means. Raises `ConfigError` for what is none between 0 and 1, exclusive."""
    from contextrot.errors import ConfigError

    bare = text.strip()
    try:
        share = float(bare[:-1]) / 100 if bare.endswith("%") else float(bare)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        hint = f"; did you mean {bare}%?" if 1 <= share < 100 else ""
        raise ConfigError(f"--detect takes a share such as 10% or 0.1, not {text!r}{hint}")
    return share


#: purposes of calls as the table heads them
_HEADS = {"turn": "turns", "probe": "probes", "control": "controls", "auxiliary": "helper", "judge": "votes"}


def _print(found: Estimate) -> None:
    from contextrot.bench.estimate import PURPOSES

    models = list(dict.fromkeys(row.model for row in found.rows))
    total = found.total
    shown = [name for name in PURPOSES if total.calls.get(name)]
    for model in models:
        rows = [row for row in found.rows if row.model == model]
        if len(models) == 1:
            rows.append(total)
        _print_model(model, rows, shown)
    if len(models) > 1:
        _print_model("all models", [total], shown)
    for sentence in sentences(found):
        typer.echo(sentence)


def _print_model(title: str, rows: list[Row], shown: list[str]) -> None:
    from contextrot.cli.output import print_table

    print_table(
        f"{title}: calls",
        ["strategy", "sessions", "calls", *(_HEADS.get(name, name) for name in shown)],
        [
            [row.strategy, f"{row.sessions:,}", f"{row.amount.calls:,.0f}"]
            + [f"{row.calls.get(name, 0):,.0f}" for name in shown]
            for row in rows
        ],
    )
    print_table(
        f"{title}: tokens, and USD without and with prompt caching",
        ["strategy", "prompt", "cached", "replies", "cost", "cached cost"],
        [
            [row.strategy, *_tokens(row), *(money(row.cost(caching=caching)) for caching in (False, True))]
            for row in rows
        ],
    )


def _tokens(row: Row) -> list[str]:
    amount = row.amount
    return [
        f"{value:,.0f}" if not row.untold else "unknown" for value in (amount.prompt, amount.cached, amount.completion)
    ]


def money(cost: Cost) -> str:
    """A cost as it is shown: what is not known is said, never counted as nothing."""
    known = f"${cost.known:,.2f}" if cost.known >= 1 or not cost.known else f"${cost.known:,.4f}"
    if not cost.unknown:
        return known
    return f"unknown + {known}" if cost.known else "unknown"


def sentences(found: Estimate) -> list[str]:
    """What the table rests on, what is not known, and which cap it would run into."""
    from contextrot.bench.rehearsal import CACHE_FROM

    how = f"{found.rehearsed} of {found.repeats} repeats were rehearsed" if found.rehearsed < found.repeats else ""
    how = how or "every session was rehearsed"
    if found.reply_tokens is None:
        made = "simulated models answered as they will"
    else:
        made = f"replies are assumed to have {found.reply_tokens:,} tokens (--reply-tokens)"
    said = [f"An estimate: {how}; {made}. Repeated attempts are not in it. Nothing was sent."]
    total = found.total
    if total.amount.cached:
        said.append(
            "cached: tokens of prompts that repeat the beginning of an earlier one of the session, from "
            f"{CACHE_FROM:,} on; whether a provider caches, and for how long, is its own affair."
        )
    if unknown := [label for label in total.cost(caching=False).unknown if label not in total.untold]:
        said.append(
            f"The price of {', '.join(unknown)} is not known, so neither is the total; state it in contextrot.yaml: "
            f"{{id: …, price: {{prompt: …, completion: …}}}} (USD per million tokens)."
        )
        if "max_cost" in found.caps:
            said.append("bench would refuse --max-cost for that reason.")
    early = {name: n for name, n in total.ended.items() if name != "completed"}
    if early:
        ends = ", ".join(f"{n:,} by {name}" for name, n in early.items())
        said.append(f"Of {total.sessions:,} sessions some would end before their last turn: {ends}.")
    for name, needs in found.over().items():
        said.append(
            f"{flag_of(name)} {found.caps[name]:,g} would end the run early: it would take about {needs:,.6g} without "
            "caching."
        )
    return said + [f"note: {note}" for note in found.notes]


def _needed(matrix: Matrix, drop: float, median: float | None, run: Path | None) -> list[tuple[str, Planned]]:
    """Sessions needed, for each model × strategy of a run that is named, else on an assumption."""
    from contextrot.analysis.planning import sessions_to_detect
    from contextrot.errors import ConfigError

    turns = float(min(matrix.config.turns or scenario.session.turns for scenario in matrix.scenarios))
    try:
        if run is None:
            return [("", sessions_to_detect(drop, turns=turns, median=median or max(1.0, turns / 2)))]
        from contextrot.analysis.tables import load_run

        frame = load_run(run).sessions
        frame = frame[~frame["control"].fillna(False).astype(bool) & frame["duration"].notna()]
        found = []
        for names, part in frame.groupby(["model", "strategy"], observed=True):
            who = " × ".join(map(str, names))
            lengths = part["duration"].astype(float).tolist()
            events = [int(str(event) == "fail") for event in part["event"]]
            found.append((who, sessions_to_detect(drop, turns=turns, durations=lengths, events=events)))
    except ValueError as error:
        raise ConfigError(f"--detect: {error}") from error
    if not found:
        raise ConfigError(f"--from {run}: that run holds no session with a length")
    return found


def _repeats(one: Planned, matrix: Matrix) -> int:
    """Repeats that give so many sessions over all scenarios."""
    return -(-one.pairs // len(matrix.scenarios))


def _detect_row(named: tuple[str, Planned], found: Estimate, matrix: Matrix) -> dict[str, Any]:
    who, one = named
    repeats = _repeats(one, matrix)
    scaled = found.scaled(repeats)
    return {
        "of": who or None,
        "drop": one.drop,
        "sessions_a_side": one.pairs,
        "repeats": repeats,
        "power": one.power,
        "alpha": one.alpha,
        "turns": one.turns,
        "restricted_mean": one.restricted_mean,
        "lengths_are": one.known,
        "one_side": scaled.total.to_dict(),
    }


def _detect_text(who: str, one: Planned, found: Estimate, matrix: Matrix) -> str:
    repeats = _repeats(one, matrix)
    total = found.scaled(repeats).total
    tokens = "unknown" if total.tokens is None else f"{total.tokens:,}"
    what = f"{who}: " if who else ""
    basis = "" if who else " (session lengths are assumed; --median, or --from RUN for those of a run)"
    return (
        f"\n{what}{one.sentence}{basis}.\n"
        f"That is --repeats {repeats}: one side takes {total.amount.calls:,.0f} calls and {tokens} tokens, "
        f"{money(total.cost(caching=False))} (with caching {money(total.cost(caching=True))}). The other side, the run "
        "to compare with, takes as much again unless it is recorded already."
    )
