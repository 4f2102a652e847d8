"""Taking up a finished run of 1,000 sessions: nothing is asked, and it takes at most 5 s (DESIGN §11).

    python benchmarks/resume.py [--sessions 1000] [--turns 10]

Makes the run with a simulated model in a temporary folder. Then times `run()` on it in this process, and the whole
command `contextrot bench --out DIR --no-report`, which also reads the records again and prints the summary: the bound
is for the resume alone. Exit code 1 when the bound is broken or anything was asked.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from contextrot.bench.matrix import load_matrix
from contextrot.bench.runner import Silent, run
from contextrot.bench.store import RunDirectory
from contextrot.config import validated
from contextrot.messages import Usage

BOUND = 5.0
SCENARIO = """
contextrot: 1
id: short
title: Short sessions with a rule and a fact
constraints:
  - {id: sign, text: End every reply with the word Noted., place: first_user, check: {type: ends_with, text: Noted.}}
facts: [{id: code, text: "For later: our project code is {value}.", values: [BLUE-42, TEAL-7, RUST-19], at: 2}]
filler: {kind: tickets, tokens_per_turn: 60}
session: {turns: 10, history: live}
probes: [{id: code, ask: What is our project code?, at: [0, 2, 6, 10], check: {type: recall, fact: code}}]
"""


class Asked(Silent):
    """Counts the calls, from a model or from the record."""

    calls = 0

    def on_call(self, usage: Usage, *, asked: bool) -> None:
        self.calls += 1


def settings(scenario: Path, out: Path, sessions: int, turns: int) -> dict[str, Any]:
    return {
        "scenarios": [str(scenario)], "models": ["sim/hazard?hazard=0.05"], "strategies": ["full", "fifo"],
        "repeats": sessions // 2, "turns": turns, "controls": False, "out": str(out),
    }  # fmt: skip


def timed_run(given: dict[str, Any]) -> tuple[float, int]:
    """Seconds of loading the matrix and running it, and how many calls there were."""
    started = time.perf_counter()
    matrix = load_matrix(validated(given))
    progress = Asked()
    with RunDirectory.at(Path(given["out"])) as directory:
        asyncio.run(run(matrix, directory, progress))
    return time.perf_counter() - started, progress.calls


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scenario, out = Path(folder, "short.yaml"), Path(folder, "run")
        scenario.write_text(SCENARIO, encoding="utf-8")
        given = settings(scenario, out, options.sessions, options.turns)
        first, calls = timed_run(given)
        print(f"{f'{options.sessions:,} sessions, {calls:,} calls':<36}{first:>8.2f} s")
        again, asked = timed_run(given)
        print(f"{f'taken up again, {asked} calls':<36}{again:>8.2f} s   bound {BOUND:g}")
        started = time.perf_counter()
        command = [sys.executable, "-m", "contextrot", "bench", "--resume", str(out), "--no-report"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print(f"{'the whole command, with its summary':<36}{time.perf_counter() - started:>8.2f} s")
    return int(again > BOUND or asked > 0)


if __name__ == "__main__":
    sys.exit(main())
