"""Loading 1,000,000 call records into tables, against the bounds of DESIGN §11: at most 20 s and 2 GB.

    python benchmarks/load_tables.py [CALLS_PER_SESSION] [SESSIONS]

Writes a synthetic run directory (streamed, with message records as a real run has them) to a temporary folder, loads it
in a process of its own, and prints seconds and peak memory.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

SECONDS, GIGABYTES = 20.0, 2.0
REPLY = "A reply of the length that a short ticket answer has, with a severity and a reason in it. " * 4


def write_run(folder: Path, sessions: int, calls: int) -> int:
    """Write the run directory and return its size in bytes."""
    (folder / "sessions").mkdir(parents=True)
    (folder / "run.json").write_bytes(orjson.dumps({"format_version": 1, "status": "completed"}))
    for number in range(sessions):
        key = f"ticket-triage.sim-perfect.fifo-{number % 4}.{number}"
        head = {"t": "head", "v": 1, "key": key, "scenario": "ticket-triage", "scenario_hash": "0" * 32}
        head |= {"model": "sim/perfect", "model_id": "sim/perfect", "strategy": f"fifo-{number % 4}"}
        head |= {"strategy_hash": "1" * 32, "repeat": number, "seed": number, "history": "live", "turns": calls}
        head |= {"window": 8000, "window_source": "virtual", "simulated": True, "control": False}
        end = {"t": "end", "ended": "completed", "turn": calls, "detail": ""}
        with (folder / "sessions" / f"{key}.jsonl").open("wb") as file:
            for record in (head, *(line for n in range(calls) for line in turn(n)), end):
                file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
    return sum(path.stat().st_size for path in (folder / "sessions").iterdir())


def turn(n: int) -> Iterator[dict[str, Any]]:
    """The records of one turn of a session under a sliding window."""
    said = {"t": "msg", "i": 2 * n + 1, "turn": n + 1, "branch": None, "origin": "filler", "pinned": False}
    yield said | {"message": {"role": "user", "content": f"Ticket {n}: " + REPLY}}
    start = max(1, 2 * n - 20)
    manifest = [["verbatim", 0, 1], ["dropped", 1, start], ["verbatim", start, 2 * n + 2]]
    view = {"ranges": [[0, 1], [start, 2 * n + 2]], "made": [], "manifest": manifest, "tokens": 4000, "hash": "2" * 32}
    call = {"t": "call", "n": n, "turn": n + 1, "branch": None, "purpose": "turn", "view": view}
    call |= {"prompt_estimate": 4100, "occupancy": 0.51, "occupancy_source": "usage", "token_drift": 0.01}
    call |= {"prefix_reuse": 0.4, "reply": {"content": REPLY, "tool_calls": [], "finish_reason": "stop"}}
    call |= {"usage": {"prompt_tokens": 4080, "completion_tokens": 90, "cached_tokens": None, "cost": None}}
    yield call | {"model": "perfect", "latency": 0.01 * (n % 7), "attempts": 1, "outcome": "ok", "error": None}
    yield said | {"i": 2 * n + 2, "origin": "reply", "call": n}
    if n % 10 == 0:
        verdict = {"t": "verdict", "turn": n + 1, "branch": None, "call": n, "kind": "passive", "id": "json-reply"}
        verdict |= {"subject": "json-reply", "check": "json", "outcome": "pass", "reason": "", "evidence": ""}
        yield verdict | {"in_view": True, "cause": None, "since_turns": n, "since_tokens": 100 * n}


def load(folder: str) -> None:
    """Load the run and print rows, seconds and peak megabytes (the part that runs in its own process)."""
    from contextrot.analysis.tables import load_run

    start = time.perf_counter()
    run = load_run(folder)
    rows = len(run.turns)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    print(rows, len(run.sessions), len(run.verdicts), seconds, peak)


def main() -> int:
    """Print the table; 1 when a bound is broken."""
    if sys.argv[1:2] == ["--load"]:
        load(sys.argv[2])
        return 0
    calls, sessions = (int(argument) for argument in (*sys.argv[1:3], "1000", "1000")[:2])
    with tempfile.TemporaryDirectory() as folder:
        size = write_run(Path(folder) / "run", sessions, calls)
        command = [sys.executable, __file__, "--load", str(Path(folder) / "run")]
        rows, read, verdicts, seconds, peak = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True
        ).stdout.split()
    print(f"{'call records':<24}{int(rows):>12,}")
    print(f"{'sessions / verdicts':<24}{int(read):>12,} / {int(verdicts):,}")
    print(f"{'run directory':<24}{size / 1e9:>12.2f} GB")
    print(f"{'seconds':<24}{float(seconds):>12.1f}    bound {SECONDS:g}")
    print(f"{'peak memory':<24}{float(peak) / 1024:>12.2f} GB bound {GIGABYTES:g}")
    return int(float(seconds) > SECONDS or float(peak) / 1024 > GIGABYTES)


if __name__ == "__main__":
    sys.exit(main())
