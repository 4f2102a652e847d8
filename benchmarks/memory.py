"""Peak memory of a bench of 10,000 simulated sessions: at most 500 MB (DESIGN §11).

    python benchmarks/memory.py [--sessions 10000] [--turns 10]

The bench runs in a process of its own, which says its greatest resident size when it is done. A tenth of the sessions
is run first: what grows from the one to the other is what is kept of a session. Exit code 1 when the bound is broken.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from resume import SCENARIO, settings, timed_run

BOUND = 500


def measure(sessions: int, turns: int) -> None:
    """Run the bench in this process and print calls, seconds and peak megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder, "short.yaml")
        scenario.write_text(SCENARIO, encoding="utf-8")
        seconds, calls = timed_run(settings(scenario, Path(folder, "run"), sessions, turns))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 10 if sys.platform != "darwin" else 1 << 20)
    print(calls, seconds, peak)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--here", action="store_true", help="run in this process")
    options = parser.parse_args()
    if options.here:
        measure(options.sessions, options.turns)
        return 0
    peak = 0.0
    for sessions in (options.sessions // 10, options.sessions):
        command = [sys.executable, __file__, "--here", "--sessions", str(sessions), "--turns", str(options.turns)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        calls, seconds, peak = map(float, done.stdout.split())
        print(f"{sessions:>7,} sessions, {calls:>9,.0f} calls, {seconds:>5.1f} s: {peak:>5.0f} MB peak   bound {BOUND}")
    return int(peak > BOUND)


if __name__ == "__main__":
    sys.exit(main())
