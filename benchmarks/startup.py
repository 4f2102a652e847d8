"""CPU time from `contextrot --help` to its last line, beyond what typer itself costs (DESIGN §11).

    python benchmarks/startup.py [--rounds 15]

User and system time of a child process, the best of the rounds. Exit code 1 when the bound is broken.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

BOUND = 0.3
COMMANDS = {
    "python -c 'import typer'": ("-c", "import typer"),
    "contextrot --help": ("-m", "contextrot", "--help"),
    "contextrot list checks": ("-m", "contextrot", "list", "checks"),
}


def cpu_seconds(arguments: tuple[str, ...]) -> float:
    """User and system time of one Python process."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    best = {name: min(cpu_seconds(command) for _ in range(rounds)) for name, command in COMMANDS.items()}
    for name, seconds in best.items():
        print(f"{name:<32}{seconds:>8.2f} s")
    typer, own = (best[name] for name in list(COMMANDS)[:2])
    print(f"{'--help beyond typer':<32}{own - typer:>8.2f} s   bound {BOUND}")
    return int(own - typer > BOUND)


if __name__ == "__main__":
    sys.exit(main())
