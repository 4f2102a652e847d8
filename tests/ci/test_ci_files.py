"""The composite action and the files of `contextrot init --ci`: every shell step is run, with a runner's variables."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml
from steps import ROOT, Done, Runner

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
SCENARIO = """\
contextrot: 1
id: small
facts:
  - id: code
    text: "For later: our project code is {value}."
    values: [BLUE-42, TEAL-7, RUST-19]
    pinned: true
filler: {kind: notes, tokens_per_turn: 40}
session: {turns: 12, history: scripted}
probes:
  - id: ask-code
    ask: What is our project code?
    at: [0, 2, 4, 6, 8, 10, 12]
    check: {type: recall, fact: code}
"""
#: the line of the probe's id in it
LINE = 11


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    runner = Runner(tmp_path)
    (runner.workspace / "scenarios").mkdir()
    (runner.workspace / "scenarios" / "small.yaml").write_text(SCENARIO, encoding="utf-8")
    return runner


def act(runner: Runner, **inputs: str) -> Done:
    """The action with these inputs, on a simulated model unless said otherwise."""
    defaults = {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()}
    given = {"scenarios": "scenarios", "models": "sim/perfect", "args": "--repeats=12\n--window=300"}
    return runner.run(ACTION["runs"]["steps"], inputs=defaults | given | inputs)


def counted(runner: Runner, what: str) -> int:
    """Tests, failures or errors of all suites in the JUnit file."""
    return sum(int(suite.get(what, "0")) for suite in ET.parse(runner.workspace / "results/ci/junit.xml").getroot())


def test_a_change_that_keeps_its_gates_passes(runner: Runner) -> None:
    done = act(runner, strategies="pinned\n  full \n", gates="median >= 10 turns [strategy=pinned]")
    assert done.code == 0, done.stderr
    assert done.outputs["bench"]["outputs"] == {"exit-code": "0", "run": "results/ci"}
    assert done.installed == [str(ROOT)]
    assert done.annotations == []
    assert "gates passed" in done.summary
    assert "SIMULATED" in done.summary
    assert counted(runner, "failures") == counted(runner, "errors") == 0
    assert counted(runner, "tests") == 3  # the gate, and the probe under each of two strategies


def test_a_gate_that_fails_fails_the_job_after_everything_is_shown(runner: Runner) -> None:
    done = act(runner, strategies="fifo", gates="median >= 10 turns\ncompliance >= 0.1")
    assert done.codes["Verdict"] == 1
    assert all(code == 0 for name, code in done.codes.items() if name != "Verdict"), done.stderr
    first, second = done.annotations
    assert first.startswith(
        "::error title=contextrot%3A gate failed::median >= 10 turns · fifo on sim/perfect in small: "
    )
    assert second.startswith(
        f"::error file=scenarios/small.yaml,line={LINE},title=contextrot%3A probe ask-code in small::"
    )
    assert "a gate failed" in done.summary
    assert counted(runner, "failures") == 2


def test_the_baseline_decides_once_it_is_there(runner: Runner) -> None:
    """The same change, a smaller window, is known to make `fifo` worse and to leave `pinned` as it is."""
    before = act(runner, strategies="fifo\npinned", baseline="base.json", out="before")
    assert before.code == 0
    assert [line for line in before.annotations if line.startswith("::notice")]
    made = subprocess.run(
        ["contextrot", "baseline", "set", "before", "--out", "base.json"],
        cwd=runner.workspace, env=runner.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    same = act(runner, strategies="fifo\npinned", baseline="base.json", out="same")
    assert same.code == 0, same.stdout + same.stderr
    worse = act(runner, strategies="{type: fifo, keep: {turns: 1}}\npinned", baseline="base.json", out="worse")
    assert worse.codes["Verdict"] == 1, worse.stdout + worse.stderr
    assert "regression confirmed" in worse.summary
    assert "pinned on" not in "".join(worse.annotations)


def test_what_cannot_run_is_said_and_is_no_pass(runner: Runner) -> None:
    done = act(runner, scenarios="scenarios/none.yaml")
    assert done.codes["Verdict"] == 2
    assert done.codes["Summary and annotations"] == 0
    assert "none.yaml" in done.stderr


def test_inputs_are_data(runner: Runner) -> None:
    """Nothing a pull request can write into an input is run by the shell."""
    done = act(
        runner, strategies='full"; touch owned; $(touch owned) `touch owned`', args="--repeats=1\n$(touch owned)"
    )
    assert done.codes["Verdict"] == 2
    assert not list(runner.workspace.rglob("owned"))


def test_the_action_documents_itself() -> None:
    assert all(entry["description"] for entry in (*ACTION["inputs"].values(), *ACTION["outputs"].values()))
    uses = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", name) for name in uses)
    assert all(step.get("shell") == "bash" for step in ACTION["runs"]["steps"] if "run" in step)


def started(runner: Runner, kind: str, *options: str) -> str:
    """`contextrot init` in the workspace; the CI file it wrote."""
    done = subprocess.run(
        ["contextrot", "init", "--force", "--ci", kind, *options],
        cwd=runner.workspace, env=runner.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    name = {"github": ".github/workflows/contextrot.yml", "gitlab": ".gitlab-ci.contextrot.yml"}[kind]
    return (runner.workspace / name).read_text(encoding="utf-8")


def test_the_keyless_job_of_the_starter_passes_and_catches_a_worse_change(runner: Runner) -> None:
    workflow = yaml.safe_load(started(runner, "github", "--package", str(ROOT)))
    job = workflow["jobs"]["strategies"]
    environment = workflow["env"] | job["env"]
    done = runner.run(job["steps"], env=environment)
    assert done.code == 0, done.stdout + done.stderr
    assert done.installed == [str(ROOT)]
    assert (runner.workspace / "results/ci-strategies/junit.xml").is_file()
    assert "gates passed" in done.summary
    # What is told is pinned no longer.
    scenario = runner.workspace / "scenarios" / "my-first.yaml"
    text = scenario.read_text(encoding="utf-8")
    scenario.write_text(text.replace("    pinned: true\n", ""), encoding="utf-8")
    (runner.workspace / "results").rename(runner.workspace / "before")
    worse = runner.run(job["steps"], env=environment)
    assert worse.codes["Bench"] == 1, worse.stdout + worse.stderr
    assert worse.codes["Summary and annotations"] == 0
    [place] = [line for line in worse.annotations if "file=scenarios/my-first.yaml,line=" in line]
    assert place.startswith("::error ")


def test_the_job_with_real_models_runs_on_the_models_of_the_configuration(runner: Runner) -> None:
    workflow = yaml.safe_load(started(runner, "github"))
    settings = runner.workspace / "contextrot.yaml"
    text = settings.read_text(encoding="utf-8").replace("local/smollm2-135m ", "sim/perfect ")
    settings.write_text(text, encoding="utf-8")
    job = workflow["jobs"]["models"]
    assert "head.repo.full_name == github.repository" in job["if"]
    done = runner.run(job["steps"], env=workflow["env"] | {"BASELINE": job["env"]["BASELINE"]})
    assert done.code == 0, done.stdout + done.stderr
    assert done.installed == ["contextrot-bench"]
    assert any(line.startswith("::warning file=scenarios/my-first.yaml,line=") for line in done.annotations)


def test_the_workflow_asks_for_no_more_than_it_needs(runner: Runner) -> None:
    text = started(runner, "github")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in text
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", name) for name in re.findall(r"uses: (\S+)", text))
    assert "secrets." not in str(workflow["jobs"]["strategies"])


def test_the_gitlab_jobs_run(runner: Runner) -> None:
    jobs = yaml.safe_load(started(runner, "gitlab", "--package", "git+https://example.org/contextrot@v1"))
    base, job = jobs[".contextrot"], jobs["contextrot-strategies"]
    steps = [{"name": f"line {n}", "run": line} for n, line in enumerate([*base["before_script"], *job["script"]])]
    done = runner.run(steps, env=jobs["variables"] | job["variables"])
    assert done.code == 0, done.stdout + done.stderr
    assert done.installed == ["git+https://example.org/contextrot@v1"]
    assert list(runner.workspace.glob(base["artifacts"]["reports"]["junit"]))
