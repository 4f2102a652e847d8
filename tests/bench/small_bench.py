"""A small scenario and the means to run it in this process, against simulated models. Used by the tests beside it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from contextrot.bench.matrix import load_matrix
from contextrot.bench.runner import run
from contextrot.bench.store import RunDirectory
from contextrot.config import BenchConfig

SCENARIO = """\
contextrot: 1
id: triage
system: You are a support triage assistant.
constraints:
  - id: aye
    text: Begin every reply with AYE.
    place: first_user
    pinned: true
    check: {type: starts_with, text: AYE}
facts:
  - {id: code, text: "For later: our project code is {value}.", values: [BLUE-42, TEAL-7, RUST-19], at: 2, pinned: true}
filler: {kind: tickets, tokens_per_turn: 60}
session: {turns: 8}
probes:
  - {id: code, ask: What is our project code?, at: [0, 2, 4, 6, 8], check: {type: recall, fact: code}}
"""


def bench(out: Path, scenario: Path, **settings: Any) -> dict[str, Any]:
    """Run a bench to its end in this process and return its manifest."""
    values: dict[str, Any] = {
        "scenarios": [str(scenario)],
        "models": ["sim/hazard?hazard=0.1"],
        "strategies": ["full", "fifo", "pinned"],
        "repeats": 2,
        "window": 700,
        "max_tokens": 60,
        **settings,
    }
    matrix = load_matrix(BenchConfig(**values))
    with RunDirectory.at(out) as directory:
        return asyncio.run(run(matrix, directory))


def session_lines(out: Path) -> dict[str, list[bytes]]:
    """The records of every session file, by key."""
    return {path.stem: path.read_bytes().splitlines() for path in sorted((out / "sessions").glob("*.jsonl"))}
