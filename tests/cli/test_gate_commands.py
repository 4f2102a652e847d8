"""`compare`, `gate`, `baseline` and `bench --gate` end to end on simulated models: the printed verdict and the code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import SMALL, Cli

import contextrot as cr
from contextrot.analysis.baseline import write_baseline
from contextrot.analysis.evidence import evidence_of

GOOD = {"id": "sim/hazard?hazard=0.01", "label": "agent"}
OTHER_DRAWS = {"id": "sim/hazard?hazard=0.01&seed=9", "label": "agent"}
WORSE = {"id": "sim/hazard?hazard=0.5", "label": "agent"}


def bench(cli: Cli, out: str, model: dict[str, str], *more: str, repeats: int = 20):
    return cli(
        "bench", "small.yaml", "--model", json.dumps(model), "--strategy", "full", "--repeats", str(repeats),
        "--no-report", "--no-controls", "--out", out, *more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, one known to be worse, and the baseline of the good one: made once."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "small.yaml").write_text(SMALL, encoding="utf-8")
    for out, model in (("good", GOOD), ("worse", WORSE)):
        ran = cr.bench(
            folder / "small.yaml", models=model, strategies="full", repeats=20, controls=False, out=folder / out
        )
        assert ran.status == "completed"
    write_baseline(evidence_of(cr.load_run(folder / "good")), folder / "contextrot-baseline.json")
    return folder


@pytest.fixture
def based(cli: Cli, recorded: Path, tmp_path: Path) -> Cli:
    """The command line in a folder with those runs and the baseline."""
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    return cli


def test_worse_fails_and_the_same_passes(based: Cli, tmp_path: Path) -> None:
    assert bench(based, "again", GOOD).returncode == 0
    assert bench(based, "draws", OTHER_DRAWS).returncode == 0
    baseline = ("--baseline", "contextrot-baseline.json")
    codes = {run: based("gate", run, *baseline) for run in ("worse", "again", "draws")}
    assert codes["worse"].returncode == 1
    assert "regression confirmed" in codes["worse"].stdout
    assert "(exit 1)" in codes["worse"].stdout
    assert codes["again"].returncode == 0
    assert "(exit 0)" in codes["again"].stdout
    assert codes["draws"].returncode == 0
    assert json.loads((tmp_path / "worse" / "gates.json").read_text())["exit_code"] == 1
    found = json.loads(based("gate", "worse", *baseline, "--json").stdout)
    assert found["exit_code"] == 1
    assert {verdict["outcome"] for verdict in found["verdicts"]} == {"failed"}


def test_compare_says_the_same(based: Cli) -> None:
    done = based("compare", "contextrot-baseline.json", "worse", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["tier"], found["rows"][0]["pairs"]) == ("regression", 20)
    for form in ((), ("--md",)):
        done = based("compare", "good", "worse", *form)
        assert done.returncode == 1
        assert "regression" in done.stdout
        assert "SIMULATED" in done.stdout
    same = based("compare", "good", "good")
    assert same.returncode == 0
    assert "regression confirmed" not in same.stdout


def test_bench_with_gates_in_the_file(based: Cli, tmp_path: Path) -> None:
    (tmp_path / "contextrot.yaml").write_text(
        "gates:\n  - median >= 2 turns\n  - rmst: -10%\n  - {gate: compliance at turn 4 >= 0.7, strategy: full}\n"
        "  - cost <= 1.50\nbaseline: contextrot-baseline.json\n",
        encoding="utf-8",
    )
    passed = bench(based, "passed", GOOD)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "gates passed: 4 passed (exit 0)" in passed.stdout
    failed = bench(based, "failed", WORSE, "--json")
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["gates"]["exit_code"] == 1
    assert based("gate", "failed").returncode == 1  # by the gates of contextrot.yaml


def test_a_resumed_run_takes_other_gates(based: Cli) -> None:
    done = based("bench", "--resume", "good", "--no-report", "--gate", "median >= 2")
    assert done.returncode == 0, done.stderr
    assert "gates passed" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("gate", "good"), 2, "no gate is given"),
        (("gate", "good", "--gate", "medain >= 3"), 2, "did you mean 'median'"),
        (("gate", "good", "--gate", "rmst: -10%"), 4, "needs a baseline"),
        (("gate", "good", "--gate", "rmst: -10%", "--baseline", "nope.json"), 4, "there is no baseline at nope.json"),
        (("gate", "good", "--gate", "median >= 3 [strategy=fifo]"), 5, "strategy: full"),
        (("gate", "good", "--gate", "compliance at turn 5 >= 0.9"), 5, "checked: 0, 2, 4, 6"),
        (("gate", "good", "--gate", "median >= 50"), 3, "still held at turn 6"),
        (("compare", "good"), 2, "one strategy only"),
        (("compare", "nope", "good"), 4, "there is no baseline at nope"),
        (("baseline", "show", "nope.json"), 4, "there is no baseline"),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_a_code(based: Cli, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = based(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


def test_a_missing_baseline_or_faulty_gate_is_found_before_a_call(cli: Cli, tmp_path: Path) -> None:
    assert bench(cli, "run", GOOD, "--baseline", "nope.json").returncode == 4
    assert bench(cli, "run", GOOD, "--gate", "rmst: -10%").returncode == 4
    faulty = bench(cli, "run", GOOD, "--gate", "medain >= 3")
    assert faulty.returncode == 2
    assert "--gate" in faulty.stderr
    assert not (tmp_path / "run").exists()


def test_a_changed_scenario_is_refused_unless_accepted(based: Cli, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL.replace("our project code is", "the project code is"), encoding="utf-8")
    bench(based, "changed", GOOD)
    refused = based("gate", "changed", "--baseline", "contextrot-baseline.json")
    assert refused.returncode == 4
    assert "the scenario changed" in refused.stderr
    accepted = based("gate", "changed", "--baseline", "contextrot-baseline.json", "--accept-changed")
    assert accepted.returncode == 0, accepted.stderr


def test_few_sessions_have_no_verdict(cli: Cli) -> None:
    bench(cli, "good", GOOD, repeats=5)
    assert bench(cli, "worse", WORSE, repeats=5).returncode == 0  # without a gate rot is no failure
    assert cli("baseline", "set", "good", "--out", "b.json").returncode == 0
    done = cli("gate", "worse", "--baseline", "b.json")
    assert done.returncode == 3
    assert "insufficient data: 5 pairs" in " ".join(done.stdout.split())
    assert cli("compare", "b.json", "worse").returncode == 3


def test_a_baseline_is_shown(based: Cli) -> None:
    found = json.loads(based("baseline", "show", "--json").stdout)
    assert found["groups"][0]["sessions"] == 20
    assert "SIMULATED" in based("baseline", "show").stdout
