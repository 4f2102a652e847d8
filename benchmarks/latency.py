"""The latency that is recorded has to be the model's: at 100 sessions in flight against a server that takes 50 ms.

    python benchmarks/latency.py [--sessions 100] [--turns 20] [--rounds 3]

p50 and p95 of the latencies in the run's records, against those of a bare aiohttp loop that sends the same bytes to
the same server (DESIGN §11). Exit code 1 when the bound is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

import orjson
from call_overhead import SCENARIO, bare_session, mock_server, recording_bodies

from contextrot.bench.matrix import load_matrix
from contextrot.bench.runner import new_run_directory, run
from contextrot.config import validated

BOUND = 1.3
SERVER = 0.05


async def recorded(base: str, scenario: Path, out: Path, sessions: int, turns: int) -> tuple[list[float], list[bytes]]:
    """The latencies (s) in the records of one run, and the bodies it sent."""
    config = validated(
        {
            "scenarios": [str(scenario)], "models": [f"endpoint/m@{base}"], "strategies": ["full"],
            "repeats": sessions, "turns": turns, "concurrency": sessions, "controls": False, "out": str(out),
        }
    )  # fmt: skip
    matrix = load_matrix(config)
    bodies = recording_bodies(matrix)
    with new_run_directory(config) as directory:
        await run(matrix, directory)
    lines = [line for path in (out / "sessions").iterdir() for line in path.read_bytes().splitlines()]
    records = [orjson.loads(line) for line in lines if line.startswith(b'{"t":"call"')]
    return [record["latency"] for record in records], bodies


async def bare(base: str, bodies: list[bytes], sessions: int) -> list[float]:
    """The latencies (s) of the same bytes, sent by as many loops that do nothing else."""
    latencies: list[float] = []

    async def replay(part: list[bytes]) -> None:
        for body in part:
            started = time.perf_counter()
            async with session.post(f"{base}/chat/completions", data=body) as response:
                await response.read()
            latencies.append(time.perf_counter() - started)

    async with bare_session() as session:
        await asyncio.gather(*(replay(bodies[first::sessions]) for first in range(sessions)))
    return latencies


def share(latencies: list[float], part: float) -> float:
    """The latency (s) that this share of the calls stays within."""
    return sorted(latencies)[int(part * (len(latencies) - 1))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("sessions", 100), ("turns", 20), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as folder, mock_server(SERVER) as base:
        scenario = Path(folder, "overhead.yaml")
        scenario.write_text(SCENARIO, encoding="utf-8")
        for turn in range(options.rounds):
            out = Path(folder, f"run{turn}")
            latencies, bodies = asyncio.run(recorded(base, scenario, out, options.sessions, options.turns))
            ours += latencies
            theirs += asyncio.run(bare(base, bodies, options.sessions))
    ratio = share(ours, 0.5) / share(theirs, 0.5)
    print(f"{options.sessions} sessions in flight, a server that takes {SERVER * 1e3:g} ms, {len(ours):,} calls\n")
    print(f"{'':<20}{'p50':>10}{'p95':>10}")
    for name, latencies in (("bare loop", theirs), ("recorded", ours)):
        print(f"{name:<20}{share(latencies, 0.5) * 1e3:>7.1f} ms{share(latencies, 0.95) * 1e3:>7.1f} ms")
    print(f"{'ratio of the p50':<20}{ratio:>10.2f}   bound {BOUND}")
    return int(ratio > BOUND)


if __name__ == "__main__":
    sys.exit(main())
