"""The small files that the importers are tried on. Used by the tests beside it.

Those of MT-Eval and BFCL that come with contextrot are real (`contextrot/tasks/samples`); the ones here are written for
these tests in the shape of the benchmarks' files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import contextrot as cr
from contextrot.scenario import expand
from contextrot.scenario.dump import dump_scenario
from contextrot.scenario.loader import parse_scenario
from contextrot.scenario.schema import Scenario
from contextrot.scenario.script import Script
from contextrot.tasks import REGISTRY, write

SAMPLES = Path(__file__).parent / "samples"

#: Every file an importer is tried on, by name of the benchmark.
FILES = {
    "mt-eval": (
        REGISTRY["mt-eval"].sample,
        SAMPLES / "refinement_multi.jsonl",
        SAMPLES / "recollection_multi_cls.jsonl",
    ),
    "bfcl": (REGISTRY["bfcl"].sample,),
    "longmemeval": (SAMPLES / "longmemeval_oracle.json",),
    "locomo": (SAMPLES / "locomo10.json",),
    "multichallenge": (SAMPLES / "benchmark_questions.jsonl",),
    "sequor": (SAMPLES / "sequor",),
}
CASES = [(name, path) for name, paths in FILES.items() for path in paths if path is not None]


def imported(name: str, path: Path | str | None, **wanted: Any) -> dict[str, Scenario]:
    """The scenarios of a file by id, each through its YAML."""
    found = REGISTRY[name].read(path, **wanted)
    return {raw["id"]: parse_scenario(dump_scenario(raw)) for raw in found.scenarios}


def script_of(scenario: Scenario) -> Script:
    return expand(scenario, seed=0, repeat=0)


def verdicts_of(model: str, folder: Path, name: str, path: Path, **settings: Any) -> Any:
    """The verdicts of probes, rules and controls in a bench of all scenarios of a file, as a table."""
    for raw in REGISTRY[name].read(path).scenarios:
        write(raw, folder / "scenarios")
    run = cr.bench(folder / "scenarios", models=model, strategies="full", repeats=1, out=folder / "run", **settings)
    return run.verdicts
