"""What `contextrot plan` says against what the bench then takes.

    python benchmarks/plan_accuracy.py [--repeats 8] [--local]

Ten strategies on the scenarios of the suite `standard` with a simulated model: once rehearsed by that model itself,
once by stand-ins of which only the mean length of its replies is known (what is said of a real model rests on those).
With `--local` also a short run of the embedded model. Exit code 1 when calls or prompt tokens of a strategy are more
than 10 % off.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from contextrot.analysis.tables import load_run
from contextrot.bench.estimate import Estimate, estimate
from contextrot.bench.matrix import load_matrix
from contextrot.bench.runner import run
from contextrot.bench.store import RunDirectory
from contextrot.config import validated

BOUND = 0.10
STRATEGIES = [
    "full", "fifo", "pinned", "observation_masking", "rolling_summary", "structured_compaction", "dual_memory",
    "state_extraction", "pinned_plus_retrieval", "episodic_ttl",
]  # fmt: skip
Figures = dict[str, tuple[float, float, float]]


def taken(settings: dict[str, Any]) -> Figures:
    """Calls, prompt tokens and reply tokens of a real run, by strategy."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = load_matrix(validated({**settings, "out": folder}))
        with RunDirectory.at(Path(folder)) as directory:
            asyncio.run(run(matrix, directory))
        frame = load_run(folder).sessions
    names = frame["strategy"].astype(str).where(~frame["control"].astype(bool), "controls")
    sums = frame.groupby(names)[["calls", "prompt_tokens", "completion_tokens"]].sum()
    return {str(name): (row.iloc[0], row.iloc[1], row.iloc[2]) for name, row in sums.iterrows()}


def compare(title: str, found: Estimate, true: Figures) -> float:
    """Print both sides and return the largest share by which calls or prompt tokens of a strategy are off."""
    print(f"\n{title}\n{'strategy':<24}{'calls':>16}{'prompt tokens':>26}{'off':>8}")
    worst = 0.0
    for row in found.rows:
        calls, prompt, _ = true[row.strategy]
        off = max(abs(row.amount.calls / calls - 1), abs(row.amount.prompt / prompt - 1))
        print(
            f"{row.strategy:<24}{row.amount.calls:>8,.0f}{calls:>8,.0f}{row.amount.prompt:>13,.0f}{prompt:>13,.0f}"
            f"{100 * off:>7.1f}%"
        )
        worst = worst if row.strategy == "controls" else max(worst, off)
    return worst


def main() -> int:
    """Print the figures; 1 when a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--local", action="store_true", help="also the embedded model, a few minutes")
    options = parser.parse_args()
    settings: dict[str, Any] = {
        "scenarios": ["standard"], "models": ["sim/hazard?hazard=0.05"], "strategies": STRATEGIES, "window": 6000,
        "auxiliary": "extractive", "repeats": options.repeats,
    }  # fmt: skip
    true = taken(settings)
    found = asyncio.run(estimate(load_matrix(validated(settings))))
    worst = compare("the simulated model itself: said, taken", found, true)
    length = round(true["fifo"][2] / true["fifo"][0])
    found = asyncio.run(estimate(load_matrix(validated(settings)), reply_tokens=length))
    worst = max(worst, compare(f"stand-ins with replies of {length} tokens: said, taken", found, true))
    if options.local:
        settings = {
            "scenarios": ["quick"], "models": ["local/smollm2-135m"], "strategies": ["full", "fifo"], "turns": 8,
            "repeats": 1,
        }  # fmt: skip
        found = asyncio.run(estimate(load_matrix(validated(settings)), reply_tokens=20))
        worst = max(worst, compare("the embedded model: said, taken", found, taken(settings)))
    print(f"\nworst: {100 * worst:.1f} % (bound {100 * BOUND:g} %)")
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
