"""Our own work per turn in a long session: turn 1,000 against turn 40 (DESIGN §11).

    python benchmarks/turn_growth.py [--turns 1100] [--window 2000] [--rounds 3] [NAME ...]

The real session loop (strategy, count, hash, checks, fork probes, tool rounds, records on disk) runs against the
simulated model `sim/perfect`, which answers at once. Shown is CPU time per turn over forty turns around turn 40, when
the window is full, and around turn 1,000. The rounds do the same work, so each turn counts with its fastest one.
`full` has no bounded view and is shown for comparison. Exit code 1 when the bound is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from contextrot.bench.caller import Caller
from contextrot.bench.gate import Gate
from contextrot.bench.hints import Hints
from contextrot.bench.matrix import load_matrix, settle
from contextrot.bench.runner import Silent
from contextrot.bench.session import Session
from contextrot.bench.store import RunDirectory
from contextrot.config import validated
from contextrot.models.simulated import SimulatedModel
from contextrot.scenario.script import ScriptTurn
from contextrot.tokens import TokenCounter

BOUND = 1.5
EARLY, LATE = slice(20, 60), slice(980, 1020)
STRATEGIES: dict[str, str | dict[str, Any]] = {
    "fifo": "fifo",
    "pinned": "pinned",
    "rolling_summary": "rolling_summary",
    "observation_masking": "observation_masking",
    "re_anchor": {"type": "re_anchor", "inner": "rolling_summary"},
    "full": "full",
}
SCENARIO = """
contextrot: 1
id: growth
title: A long session with a rule, a fact, fork probes and tool rounds
system: You are a support triage assistant.
constraints:
  - id: sign
    text: End every reply with the word Noted.
    place: first_user
    pinned: true
    check: {type: ends_with, text: Noted.}
facts:
  - {id: code, text: "For later: our code is {value}.", values: [BLUE-42, TEAL-7, RUST-19], at: 2, pinned: true}
tools:
  - {name: calendar, description: Book a slot, returns: ['{"status": "booked", "room": "on the second floor"}']}
filler: {kind: tickets, tokens_per_turn: 60}
session: {turns: 1100, history: live}
probes:
  - {id: code, ask: What is our code?, at: {every: 10}, check: {type: recall, fact: code}}
  - {id: book, mode: inline, ask: Book a slot., at: {every: 5}, check: {type: tool_call, name: calendar}}
"""


class TimedSession(Session):
    """Notes the CPU time at which each turn begins; a turn ends, with its probes, where the next one begins."""

    async def _replay(self) -> None:
        self.starts: list[float] = []
        await super()._replay()

    async def _turn(self, turn: ScriptTurn) -> None:
        self.starts.append(time.process_time())
        await super()._turn(turn)


async def seconds_per_turn(
    scenario: Path, out: Path, strategy: str | dict[str, Any], window: int, turns: int
) -> list[float]:
    config = validated(
        {
            "scenarios": [str(scenario)], "models": [f"sim/perfect?window={window}"], "strategies": [strategy],
            "turns": turns, "repeats": 1, "controls": False, "max_tokens": 100,
        }
    )  # fmt: skip
    matrix = load_matrix(config)
    await settle(matrix)
    [plan], [model] = matrix.plans(), matrix.models
    assert isinstance(model, SimulatedModel)
    assert plan.strategy is not None
    with RunDirectory.at(out) as directory:
        file = directory.session(plan.key).open()
        session = TimedSession(Caller(plan, Gate(model), file, TokenCounter(), Silent()), plan.strategy, Hints())
        ended = await session.run()
        file.close()
    if ended != "completed":
        raise SystemExit(f"the session under {strategy} ended with {ended} at turn {session.turn}")
    return [after - before for before, after in zip(session.starts, session.starts[1:], strict=False)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"strategies, of: {', '.join(STRATEGIES)}")
    for name, default in (("turns", 1100), ("window", 2000), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    broken = False
    print(f"{'strategy':<22}{'turn 40':>12}{'turn 1,000':>12}{'ratio':>8}{'bound':>8}")
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder, "growth.yaml")
        scenario.write_text(SCENARIO, encoding="utf-8")
        for name in options.names or STRATEGIES:
            window = options.window if name != "full" else options.turns * 400
            rounds = [
                asyncio.run(
                    seconds_per_turn(scenario, Path(folder, f"{name}{k}"), STRATEGIES[name], window, options.turns)
                )
                for k in range(options.rounds)
            ]
            fastest = [min(same) for same in zip(*rounds, strict=True)]
            early, late = (sum(fastest[part]) / len(fastest[part]) * 1e6 for part in (EARLY, LATE))
            bound = BOUND if name != "full" else None
            broken |= bound is not None and late > bound * early
            shown = f"{bound}" if bound is not None else "its own"
            print(f"{name:<22}{early:>9.0f} µs{late:>9.0f} µs{late / early:>8.2f}{shown:>8}")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
