"""The CI recipe, as written, on changes of which the truth is known: does it cry wolf, does it stay silent?

    python benchmarks/ci_recipe.py [--times 20] [--repeats 10 40] [--change NAME]

The shell steps of `action.yml` are run as a runner runs them (bash -e, inputs as variables, $GITHUB_OUTPUT and
$GITHUB_STEP_SUMMARY), `pip install` left out. A run of the action on the old truth becomes the baseline file through
`contextrot baseline set`, then the action is run on the new one. Sessions last 40 turns with a probe every second.
With the repeats of the guide (10) most of it should be no verdict, and never a false alarm; with the largest number
given a worse agent should be found and an unchanged one not be blamed. Exit code 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = """\
contextrot: 1
id: recipe
facts: [{id: code, text: "For later: our project code is {value}.", values: [BLUE-42, TEAL-7, RUST-19], pinned: true}]
filler: {kind: notes, tokens_per_turn: 30}
session: {turns: 40, history: scripted}
probes: [{id: code, ask: What is our project code?, at: {every: 2}, check: {type: recall, fact: code}}]
"""
HAZARD = "sim/hazard?hazard={}&seed={{s}}"


@dataclass(frozen=True, slots=True)
class Change:
    """What the two runs are of, and the truth about it. {s} in a model is its seed, a new one for each run."""

    model: tuple[str, str]
    strategy: tuple[str, str] = ("pinned", "pinned")
    worse: bool = False


CHANGES = {
    "hazard 0.03 to 0.09": Change((HAZARD.format(0.03), HAZARD.format(0.09)), worse=True),
    "pinned to fifo": Change((HAZARD.format(0.01),) * 2, ("pinned", "fifo"), worse=True),
    "one in four ignored": Change(("sim/decay?base=0.98&seed={s}", "sim/decay?base=0.75&seed={s}"), worse=True),
    "nothing, hazard 0.03": Change((HAZARD.format(0.03),) * 2),
    "nothing, hazard 0.09": Change((HAZARD.format(0.09),) * 2),
    "nothing, perfect": Change(("sim/perfect?seed={s}",) * 2),
}
#: shares of the runs: false alarms and passed regressions at most, found regressions (largest number) at least
MOST_FALSE, MOST_PASSED, FEWEST_FOUND = 0.1, 0.1, 0.9


class Recipe:
    """A workspace in which the steps of the action are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        self.steps: list[dict[str, Any]] = action["runs"]["steps"]
        tools = folder / "tools"
        tools.mkdir()
        command = tools / "contextrot"
        command.write_text(f'#!/bin/bash\nexec {sys.executable} -m contextrot "$@"\n', encoding="utf-8")
        command.chmod(0o755)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CONTEXTROT_", "GITHUB_"))}
        path = f"{tools}{os.pathsep}{clean['PATH']}"
        self.environment = clean | {"PATH": path, "PYTHONPATH": str(ROOT), "CI": "true", "GITHUB_ACTIONS": "true"}
        (folder / "recipe.yaml").write_text(SCENARIO, encoding="utf-8")

    def act(self, out: str, *, brief: bool, **inputs: str) -> tuple[int, str]:
        """The action's exit code and what it printed. brief: without the summary, which is slow."""
        inputs = {"scenarios": "recipe.yaml", "out": out, **inputs}
        known: dict[str, str] = {f"inputs.{name}": value for name, value in inputs.items()}
        printed = ""
        for step in self.steps:
            if "run" not in step or step["name"] == "Install" or (brief and step["name"].startswith("Summary")):
                continue
            output = self.folder / "output"
            output.write_text("", encoding="utf-8")
            told = {
                name: re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: known.get(found[1], ""), str(value))
                for name, value in step.get("env", {}).items()
            }
            github = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}
            github |= {"GITHUB_WORKSPACE": str(self.folder), "RUNNER_TEMP": str(self.folder)}
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=self.folder,
                env=self.environment | github | told, capture_output=True, text=True, check=False,
            )  # fmt: skip
            printed += done.stdout + done.stderr
            if step["name"] == "Verdict":
                return done.returncode, printed
            for line in output.read_text(encoding="utf-8").splitlines():
                name, _, value = line.partition("=")
                known[f"steps.{step['id']}.outputs.{name}"] = value
        raise SystemExit(f"the action came to no verdict:\n{printed}")

    def baseline(self, run: str) -> None:
        """Make the baseline file of a run, as a developer does once and commits it."""
        command = [str(self.folder / "tools/contextrot"), "baseline", "set", run]
        subprocess.run(command, cwd=self.folder, env=self.environment, check=True, capture_output=True)


def tried(name: str, times: int, repeats: int, gates: str) -> tuple[Counter[int], Counter[str]]:
    """Exit codes, and the sentence each run ended with."""
    change = CHANGES[name]
    codes: Counter[int] = Counter()
    said: Counter[str] = Counter()
    for k in range(times):
        with tempfile.TemporaryDirectory() as folder:
            recipe = Recipe(Path(folder))
            args = {"args": f"--repeats={repeats}\n--window=600\n--no-report"}
            recipe.act("old", brief=True, models=change.model[0].format(s=2 * k), strategies=change.strategy[0], **args)
            recipe.baseline("old")
            model, strategy = change.model[1].format(s=2 * k + 1), change.strategy[1]
            code, printed = recipe.act(
                "new", brief=k > 0, models=model, strategies=strategy, gates=gates,
                baseline="contextrot-baseline.json", **args,
            )  # fmt: skip
            codes[code] += 1
            found = re.findall(r"(?:gates passed|a gate failed|no verdict|the baseline does not fit): [\w ,]+", printed)
            said[found[-1] if found else printed.strip().splitlines()[-1][:80]] += 1
    return codes, said


def main() -> int:
    """Print the figures; 1 when a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--repeats", type=int, nargs="+", default=[10, 40])
    parser.add_argument("--change", choices=CHANGES, nargs="+", default=list(CHANGES), help="these only")
    parser.add_argument("--gates", default="rmst: -10%\ncompliance: -5pp", help="one a line, as in the action")
    options = parser.parse_args()
    broken = []
    print("| what changed | sessions | 0 passed | 1 failed | 3 no verdict | other | said |")
    print("|---|--:|--:|--:|--:|--:|---|")
    for repeats in options.repeats:
        for name in options.change:
            codes, said = tried(name, options.times, repeats, options.gates)
            other, worse = options.times - codes[0] - codes[1] - codes[3], CHANGES[name].worse
            told = "; ".join(f"{sentence} ({n})" for sentence, n in said.most_common())
            print(f"| {name} | {repeats} | {codes[0]} | {codes[1]} | {codes[3]} | {other} | {told} |", flush=True)
            if other:
                broken.append(f"{name}, {repeats} sessions: {other} runs ended otherwise")
            if not worse and codes[1] > MOST_FALSE * options.times:
                broken.append(f"{name}, {repeats} sessions: {codes[1]} false alarms")
            if worse and codes[0] > MOST_PASSED * options.times:
                broken.append(f"{name}, {repeats} sessions: {codes[0]} regressions passed")
            if worse and repeats == max(options.repeats) and codes[1] < FEWEST_FOUND * options.times:
                broken.append(f"{name}, {repeats} sessions: only {codes[1]} regressions found")
    for fault in broken:
        print(f"out of bounds: {fault}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
