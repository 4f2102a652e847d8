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
    from contextrot.analysis.evidence import Evidence
    from contextrot.analysis.planned_gates import Need
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
            help="also say how many sessions make a gate on the session length ('rmst: -10%' unless others are given) "
            "catch a true drop by this share, such as 20%, 80 times of 100, and what they would take",
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
        typer.Option(
            "--from", help="for --detect: a run directory or baseline file that shows today's session lengths"
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Say what a bench would take: calls, tokens and cost for each model and strategy. Nothing is sent."""
    from contextrot.bench.estimate import estimate
    from contextrot.bench.matrix import load_matrix
    from contextrot.cli.output import console, print_json
    from contextrot.errors import ConfigError

    if detect is None and (median is not None or run is not None):
        raise ConfigError("--median and --from belong to --detect, for example --detect 10%")
    drop = None if detect is None else read_share(detect)
    config = resolved.config
    # The price of a model may be unknown here: that is one of the things to be told.
    with redirect_stdout(sys.stderr):  # what an agent prints is no part of what `--json` prints
        matrix = load_matrix(config.model_copy(update={"max_cost": None}))
        found = asyncio.run(estimate(matrix, reply_tokens=reply_tokens, cost_cap=config.max_cost))
    needed, notes = ([], []) if drop is None else _needed(matrix, drop, median, run)
    if json:
        rows = {"detect": [_detect_row(need, found) for need in needed], "detect_notes": notes} if needed else {}
        print_json(found.to_dict() | rows)
        return
    _print(found)
    for sentence in (*(_detect_text(need, found) for need in needed), *(f"note: {note}." for note in notes)):
        console().print(f"\n{sentence}", markup=False, highlight=False)


def read_share(text: str) -> float:
    """The share that ``10%`` or ``0.1`` means. Raises `ConfigError` for what is none between 0 and 1, exclusive."""
    from contextrot.errors import ConfigError

    bare = text.strip()
    try:
        share = float(bare[:-1]) / 100 if bare.endswith("%") else float(bare)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        hint = f"; did you mean {bare}%?" if not bare.endswith("%") and 1 <= share < 100 else ""
        raise ConfigError(f"--detect takes a share such as 10% or 0.1, not {text!r}{hint}")
    return share


#: purposes of calls as the table heads them
_HEADS = {"turn": "turns", "probe": "probes", "control": "controls", "auxiliary": "helper", "judge": "votes"}


def _print(found: Estimate) -> None:
    from contextrot.bench.estimate import PURPOSES
    from contextrot.cli.output import console

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
    out = console()
    out.print()
    for sentence in sentences(found):
        out.print(sentence)


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
        right=["sessions", "calls", *(_HEADS.get(name, name) for name in shown)],
    )
    print_table(
        f"{title}: tokens, and USD without and with prompt caching",
        ["strategy", "prompt", "cached", "replies", "cost", "cached cost"],
        [
            [row.strategy, *_tokens(row), *(money(row.cost(caching=caching)) for caching in (False, True))]
            for row in rows
        ],
        right=["prompt", "cached", "replies", "cost", "cached cost"],
    )


def _tokens(row: Row) -> list[str]:
    amount = row.amount
    return [
        f"{value:,.0f}" if not row.untold else "unknown" for value in (amount.prompt, amount.cached, amount.completion)
    ]


def money(cost: Cost) -> str:
    """A cost as it is shown: what is not known is said, never counted as nothing."""
    known = _usd(cost.known)
    if not cost.unknown:
        return known
    return f"unknown + {known}" if cost.known else "unknown"


def _usd(amount: float) -> str:
    if 0 < amount < 0.00005:
        return "under $0.0001"
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:,.4f}"


def _amount(cap: str, value: float, *, given: bool = False) -> str:
    """So much of what a cap caps; `given` as the user wrote it."""
    if cap != "max_cost":
        return f"{value:,.0f}"
    return f"${value:,.10f}".rstrip("0").rstrip(".") if given else _usd(value)


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
    said += _silent(found)
    for name, needs in found.over().items():
        said.append(
            f"{flag_of(name)} {_amount(name, found.caps[name], given=True)} would end the run early: it would take "
            f"about {_amount(name, needs)}{' without caching' if name == 'max_cost' else ''}."
        )
    return said + [f"note: {note}" for note in found.notes]


def _silent(found: Estimate) -> list[str]:
    """Which strategies never do anything at this length, so that nothing can be learnt of them."""
    said = []
    for model in dict.fromkeys(row.model for row in found.silent):
        rows = [row for row in found.silent if row.model == model]
        low, high = found.turns
        names, one = ", ".join(row.strategy for row in rows), len(rows) == 1
        turns = f"{low}" if low == high else f"{low} to {high}"
        fullest = max(row.fullest for row in rows)
        full = f", whose prompts take {100 * fullest:.2g} % of the window at most" if fullest else ""
        said.append(
            f"{names} on {model} {'sends' if one else 'send'} what full sends: {'it leaves' if one else 'they leave'} "
            f"nothing out in sessions of {turns} turns{full}. Longer sessions (--turns), a smaller --window, or an "
            "earlier trigger would show what it does."
        )
    return said


def _needed(matrix: Matrix, drop: float, median: float | None, run: Path | None) -> tuple[list[Need], list[str]]:
    """What each gate on the session length needs, with notes."""
    from contextrot.analysis.gate_plan import planned_evidence
    from contextrot.analysis.planned_gates import gates_to_plan, needs
    from contextrot.errors import ConfigError
    from contextrot.gate_grammar import parse_gates

    gates, note = gates_to_plan(parse_gates(matrix.config.gates))
    found = needs(
        drop, gates, planned_evidence(matrix), run=None if run is None else _lengths_of(run), median=median,
        tools={scenario.id for scenario in matrix.scenarios if scenario.tools},
    )  # fmt: skip
    if not found:
        asked = ", ".join(repr(gate.text) for gate in gates if gate.metric == "rmst")
        raise ConfigError(f"--detect: nothing that is planned is in the scope of {asked}")
    return found, [note] if note else []


def _lengths_of(run: Path) -> Evidence:
    """The sessions of a run directory or of a baseline file. Raises `StoreError` or `BaselineError`."""
    from contextrot.analysis.baseline import load_baseline
    from contextrot.analysis.evidence import evidence_of
    from contextrot.analysis.tables import load_run

    return load_baseline(run) if run.is_file() else evidence_of(load_run(run))


def _repeats(need: Need, planned: Planned) -> int | None:
    """Repeats that give so many sessions over all scenarios."""
    return None if planned.pairs is None else -(-planned.pairs // len(need.scenarios))


def _detect_row(need: Need, found: Estimate) -> dict[str, Any]:
    row: dict[str, Any] = {"of": need.who or None, "gate": need.gate.text, "why": need.why or None}
    if need.planned is None:
        return row
    row |= _planned_row(need, need.planned, found)
    if need.instead is not None:
        gate, planned = need.instead
        row["instead"] = {"gate": gate.text} | _planned_row(need, planned, found)
    return row


def _planned_row(need: Need, one: Planned, found: Estimate) -> dict[str, Any]:
    repeats = _repeats(need, one)
    return {
        "drop": one.drop,
        "limit": one.limit,
        "sessions_a_side": one.pairs,
        "repeats": repeats,
        "power": one.power,
        "alpha": one.alpha,
        "tests": one.tests,
        "turns": one.turns,
        "restricted_mean": one.restricted_mean,
        "lengths_are": one.known,
        "one_side": None if repeats is None else found.scaled(repeats).total.to_dict(),
    }


def _detect_text(need: Need, found: Estimate) -> str:
    who = f"{need.who}: " if need.who else ""
    if need.planned is None:
        return f"{who}{need.why}"
    one, said = need.planned, who + need.planned.sentence(need.gate.text)
    if not need.who:
        said += " (session lengths are assumed; --median, or --from a run or a baseline file for those of today)"
    if need.instead is not None:
        gate, one = need.instead
        said += f". A gate {gate.text!r} would fail {one.how_often}"
    said = said if need.who else said[0].upper() + said[1:]
    repeats = _repeats(need, one)
    if repeats is None:
        return f"{said}."
    total = found.scaled(repeats).total
    tokens = "unknown" if total.tokens is None else f"{total.tokens:,}"
    return (
        f"{said}. That is --repeats {repeats}: one side takes {total.amount.calls:,.0f} calls and {tokens} tokens, "
        f"{money(total.cost(caching=False))} (with caching {money(total.cost(caching=True))}). The other side, the run "
        "to compare with, takes as much again unless it is recorded already."
    )
