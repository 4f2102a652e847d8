"""`compare`, `gate`, `baseline` and `bench --gate` end to end on simulated models: the printed verdict and the code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

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


BASELINE = ("--baseline", "contextrot-baseline.json")


def test_a_changed_test_is_refused_before_a_call_unless_accepted(based: Cli, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL.replace("our project code is", "the project code is"), encoding="utf-8")
    refused = bench(based, "refused", GOOD, *BASELINE)
    assert refused.returncode == 4
    assert "the scenario changed" in refused.stderr
    assert not (tmp_path / "refused").exists()
    accepted = bench(based, "accepted", GOOD, *BASELINE, "--accept-changed")
    assert accepted.returncode == 0, accepted.stderr
    assert "the scenario changed in what it tests" in " ".join(accepted.stdout.split())
    (tmp_path / "contextrot.yaml").write_text("accept_changed: true\nbaseline: contextrot-baseline.json\n", "utf-8")
    assert based("gate", "accepted").returncode == 0
    assert based("gate", "accepted", "--no-accept-changed").returncode == 4
    for option, code in ((), 4), (("--accept-changed",), 0):
        assert based("compare", "contextrot-baseline.json", "accepted", *option).returncode == code


def test_a_refusal_after_the_run_is_kept_for_the_reports(based: Cli, tmp_path: Path) -> None:
    """Evidence beside a red job must not look as if no gate had been asked."""
    (tmp_path / "small.yaml").write_text(SMALL.replace("our project code is", "the project code is"), encoding="utf-8")
    bench(based, "changed", GOOD)
    assert based("gate", "changed", *BASELINE).returncode == 4
    kept = json.loads((tmp_path / "changed" / "gates.json").read_text("utf-8"))
    assert kept["exit_code"] == 4
    done = based("report", "changed", "--format", "md", "--format", "junit", "--format", "github")
    assert any(line.startswith("::error title=contextrot%3A gate without a verdict::rmst: -10%") and "--accept-changed"
               in line for line in done.stdout.splitlines())  # fmt: skip
    for name in ("report.md", "step-summary.md"):
        text = (tmp_path / "changed" / name).read_text("utf-8")
        assert text.startswith("## Gates")
        assert "the scenario changed in what it tests" in text
    suites = ET.parse(tmp_path / "changed" / "junit.xml").getroot()
    assert sum(int(suite.get("errors", "0")) for suite in suites) == 2  # the two drops that stand for a baseline


def test_another_prompt_is_compared(based: Cli, tmp_path: Path) -> None:
    """One word of the system prompt, and a model that keeps less of it: the regression is found, not refused."""
    (tmp_path / "small.yaml").write_text("system: Be brief.\n" + SMALL, encoding="utf-8")
    same = bench(based, "same", GOOD, *BASELINE)
    assert same.returncode == 0, same.stdout + same.stderr
    assert "the scenario's texts changed (system)" in " ".join(same.stdout.split())
    assert bench(based, "worse-prompt", WORSE, *BASELINE).returncode == 1


def test_a_baseline_that_is_not_there_yet_may_be_no_fault(cli: Cli, tmp_path: Path) -> None:
    absent = ("--baseline", "b.json", "--gate", "rmst: -10%", "--missing-baseline", "pass")
    first = bench(cli, "first", GOOD, *absent, "--gate", "median >= 2")
    assert first.returncode == 0, first.stdout + first.stderr
    said = " ".join(first.stdout.split())
    assert "not held: there is no baseline yet" in said
    assert "contextrot baseline set RUN --out b.json" in said
    assert "gates passed: 1 not held, 1 passed (exit 0)" in said
    assert bench(cli, "failing", WORSE, *absent, "--gate", "median >= 5").returncode == 1
    alone = bench(cli, "alone", GOOD, *absent)
    assert alone.returncode == 0
    assert "there is no baseline yet: 1 not held (exit 0)" in alone.stdout
    done = cli("report", "alone", "--format", "junit", "--format", "github")
    assert "::notice title=contextrot%3A no baseline yet::there is no baseline at b.json yet" in done.stdout
    suites = ET.parse(tmp_path / "alone" / "junit.xml").getroot()
    assert sum(int(suite.get("skipped", "0")) for suite in suites) == 1
    assert cli("gate", "alone", *absent[:4], "--missing-baseline", "fail").returncode == 4
    assert cli("gate", "alone").returncode == 0  # as the run was started
    cli("baseline", "set", "first", "--out", "b.json")
    held = bench(cli, "held", WORSE, *absent)
    assert held.returncode == 1  # once it is there the option changes nothing
    (tmp_path / "b.json").write_text("{", encoding="utf-8")
    assert bench(cli, "damaged", GOOD, *absent).returncode == 4


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--gate", "median >= 2 [strategy=nosuch]"), 5, "nothing in this bench is strategy=nosuch"),
        (("--gate", "compliance at turn 40 >= 0.9"), 5, "nothing is checked at turn 40"),
        ((*BASELINE, "--seed", "3"), 4, "another seed (0, now 3)"),
        ((*BASELINE, "--turns", "4"), 4, "another number of turns (6, now 4)"),
        ((*BASELINE, "--window", "700"), 4, "another window"),
    ],
)
def test_what_can_be_known_is_told_before_the_first_call(
    based: Cli, tmp_path: Path, more: tuple[str, ...], code: int, said: str
) -> None:
    done = bench(based, "run", GOOD, *more)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in " ".join(done.stderr.split())
    assert not (tmp_path / "run").exists()


def test_too_few_pairs_are_told_before_they_are_paid(based: Cli) -> None:
    done = bench(based, "few", GOOD, *BASELINE, repeats=3)
    assert done.returncode == 3
    assert "it takes 6 pairs of sessions, there will be 3 (--repeats 3, 20 in the baseline)" in " ".join(
        done.stderr.split()
    )


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
