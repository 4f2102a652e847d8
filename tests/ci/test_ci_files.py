"""The composite action and the files of `contextrot init --ci`: every shell step is run, with a runner's variables."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any
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
    assert before.code == 0, before.stdout + before.stderr
    [notice] = [line for line in before.annotations if line.startswith("::notice")]
    assert "contextrot baseline set RUN --out base.json" in notice
    assert "not held: there is no baseline yet" in before.summary
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
    [told] = done.annotations
    assert told.startswith("::error title=contextrot did not run (exit 2)::contextrot: ")
    assert "none.yaml" in told
    assert done.summary.startswith("## contextrot did not run (exit 2)")
    assert "none.yaml" in done.summary


def test_all_faults_are_told_in_one_annotation(runner: Runner) -> None:
    """A message of several lines, with a per cent sign in it, as GitHub reads it."""
    done = act(runner, gates="rmst: 10%\nmedain >= 3")
    [told] = done.annotations
    assert "rmst: 10%25" in told
    assert "%0A" in told
    assert "did you mean 'median'" in told
    usage = act(runner, args="--nope")
    [told] = usage.annotations
    assert told.startswith("::error title=contextrot did not run (exit 2)::Error: No such option: --nope")


def test_a_gate_that_needs_a_baseline_does_not_stand_in_the_way_of_the_first_run(runner: Runner) -> None:
    """The example of docs/guides/ci.md before there is a baseline: a run is made, of which one can be set."""
    gates = "median >= 10 turns [strategy=pinned]\nrmst: -10%"
    done = act(runner, strategies="pinned", gates=gates, baseline="base.json")
    assert done.code == 0, done.stdout + done.stderr
    assert "gates passed: 1 not held, 1 passed" in done.summary
    assert counted(runner, "skipped") == 1
    strict = act(runner, strategies="pinned", gates=gates, baseline="base.json", args="--missing-baseline=fail")
    assert strict.codes["Verdict"] == 4


def test_a_changed_prompt_is_compared_and_a_changed_test_is_refused(runner: Runner) -> None:
    first = act(runner, strategies="pinned", out="before")
    assert first.code == 0, first.stderr
    made = subprocess.run(
        ["contextrot", "baseline", "set", "before", "--out", "base.json"],
        cwd=runner.workspace, env=runner.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    scenario = runner.workspace / "scenarios" / "small.yaml"
    scenario.write_text("system: Be brief.\n" + SCENARIO, encoding="utf-8")
    prompt = act(runner, strategies="pinned", gates="rmst: -10%", baseline="base.json", out="prompt")
    assert prompt.code == 0, prompt.stdout + prompt.stderr
    assert "texts changed (system)" in prompt.summary
    scenario.write_text(SCENARIO.replace("What is our", "Which is our"), encoding="utf-8")
    tested = act(runner, strategies="pinned", gates="rmst: -10%", baseline="base.json", out="tested")
    assert tested.codes["Verdict"] == 4
    [told] = tested.annotations
    assert "the scenario changed in what it tests" in told
    assert "the scenario changed in what it tests" in tested.summary


def test_a_second_run_does_not_take_the_first_for_its_own(runner: Runner) -> None:
    """Two steps of a job, or a runner that keeps its workspace: a flag and its value may stand on one line."""
    first = act(runner, strategies="fifo", gates="median >= 10 turns", args="--repeats 6\n--window 300")
    assert first.codes["Verdict"] == 1, first.stderr
    second = act(runner, strategies="pinned", args="--repeats 6\n--window 300")
    assert second.code == 0, second.stderr
    assert second.outputs["bench"]["outputs"]["run"] == "results/ci-2"
    assert "a gate failed" not in second.summary
    assert (runner.workspace / "results/ci-2/junit.xml").is_file()
    config = (runner.workspace / "results/ci-2/run.json").read_text("utf-8")
    assert '"repeats": 6' in config


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
    """`contextrot init` in the workspace without a scenario; the CI file it wrote."""
    (runner.workspace / "scenarios" / "small.yaml").unlink(missing_ok=True)
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
    assert float(job["env"]["CONTEXTROT_MAX_COST"]) > 0
    settings = {name: value for name, value in job["env"].items() if name != "CONTEXTROT_CACHE"}
    done = runner.run(job["steps"], env=workflow["env"] | settings)
    assert done.code == 0, done.stdout + done.stderr
    assert done.installed == ["contextrot-bench"]
    assert "there is no baseline yet" in done.summary
    assert any(line.startswith("::warning file=scenarios/my-first.yaml,line=") for line in done.annotations)


def commands(text: str) -> list[str]:
    """The commands that make a baseline, as the comments of a CI file have them, in order."""
    return [found.strip() for found in re.findall(r"^#.*?\b(contextrot (?:bench|baseline set) .*)$", text, re.M)]


def test_the_baselines_that_the_comments_make_are_those_the_jobs_compare_with(runner: Runner) -> None:
    """Both are made with the commands as they stand there; nothing changed then passes, a worse change does not."""
    text, kind = started(runner, "github"), "github"
    settings = runner.workspace / "contextrot.yaml"
    settings.write_text(
        settings.read_text(encoding="utf-8").replace("local/smollm2-135m ", "sim/perfect "), encoding="utf-8"
    )
    shell = runner.run([{"name": f"make {n}", "run": line} for n, line in enumerate(commands(text))])
    assert shell.code == 0, shell.stdout + shell.stderr
    for name, variables, steps in jobs_of(yaml.safe_load(text), kind):
        assert (runner.workspace / variables["CONTEXTROT_BASELINE"]).is_file()
        same = runner.run(steps, env=variables)
        assert same.code == 0, same.stdout + same.stderr
        verdict = (runner.workspace / f"results/ci-{name}/gates.json").read_text(encoding="utf-8")
        assert '"outcome": "not_held"' not in verdict
        assert "rmst: -10%" in verdict
    scenario = runner.workspace / "scenarios" / "my-first.yaml"
    scenario.write_text(scenario.read_text(encoding="utf-8").replace("    pinned: true\n", ""), encoding="utf-8")
    (runner.workspace / "results").rename(runner.workspace / "before")
    for _, variables, steps in jobs_of(yaml.safe_load(text), kind):
        worse = runner.run(steps, env=variables)
        assert worse.code == 1, worse.stdout + worse.stderr
        assert "regression confirmed" in worse.stdout


def jobs_of(file: dict[str, Any], kind: str) -> list[tuple[str, dict[str, str], list[dict[str, Any]]]]:
    """(name, variables, steps) of both jobs of a CI file."""
    found = []
    for name in ("strategies", "models"):
        job = file["jobs"][name] if kind == "github" else file[f"contextrot-{name}"]
        own, shared = (job["env"], file["env"]) if kind == "github" else (job["variables"], file["variables"])
        variables = {key: value for key, value in (shared | own).items() if key != "CONTEXTROT_CACHE"}
        steps = job["steps"] if kind == "github" else [
            {"name": f"line {n}", "run": line} for n, line in enumerate(job["script"])
        ]  # fmt: skip
        found.append((name, variables, steps))
    return found


def test_both_kinds_of_ci_file_run_the_same(runner: Runner) -> None:
    """The same commands and variables, so that what is tested of one holds for the other."""
    github, gitlab = started(runner, "github"), started(runner, "gitlab")
    assert commands(github) == commands(gitlab)
    assert len(commands(github)) == 4
    for ours, theirs in zip(
        jobs_of(yaml.safe_load(github), "github"), jobs_of(yaml.safe_load(gitlab), "gitlab"), strict=True
    ):
        assert ours[:2] == theirs[:2]
        benches = [
            re.findall(r"--?[\w-]+|sim/perfect|extractive|wordllama|\d+|results/\S+", found[0])
            for steps in (ours[2], theirs[2])
            for step in steps
            if (found := re.findall(r"contextrot bench ((?:[^|;>2]|\\\n)*)", str(step.get("run", ""))))
        ]
        assert benches[0] == benches[1]
        assert "--out" in benches[0]


def test_the_keyless_job_needs_no_key_whatever_the_settings_name(runner: Runner) -> None:
    text, kind = started(runner, "github"), "github"
    settings = runner.workspace / "contextrot.yaml"
    named = "auxiliary: openai/gpt-4.1-nano\njudge: openai/gpt-4.1-nano\nembedder: openai/text-embedding-3-small\n"
    strategies = "  - {type: rolling_summary, keep: {turns: 2}}\n  - retrieval\n"
    start = settings.read_text(encoding="utf-8").replace("  - pinned\n", f"  - pinned\n{strategies}", 1)
    settings.write_text(start + named, encoding="utf-8")
    scenario = runner.workspace / "scenarios" / "my-first.yaml"
    judged = "  - {id: tone, ask: How is it going?, at: [4], check: {type: judge, rubric: It is friendly.}}\n"
    scenario.write_text(scenario.read_text(encoding="utf-8") + judged, encoding="utf-8")
    [(_, variables, steps), _] = jobs_of(yaml.safe_load(text), kind)
    done = runner.run(steps, env=variables | {"CONTEXTROT_GATES": "calls <= 100000"})
    assert "API key" not in done.stderr
    assert done.code == 0, done.stdout + done.stderr


def test_a_pull_request_starts_the_jobs_whatever_it_changes(runner: Runner) -> None:
    """Prompts and agent code lie anywhere, so that no list of paths may stand in the way."""
    github = yaml.safe_load(started(runner, "github"))
    assert github[True]["pull_request"] is None  # `on` is a truth value to YAML
    rules = yaml.safe_load(started(runner, "gitlab"))[".contextrot"]["rules"]
    assert rules[0] == {"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}


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


def test_what_the_starter_cannot_run_is_shown(runner: Runner) -> None:
    """A job that is red before its first session says why where the reviewer looks, and not in its log alone."""
    workflow = yaml.safe_load(started(runner, "github", "--package", str(ROOT)))
    for _, variables, steps in jobs_of(workflow, "github"):
        done = runner.run(steps, env=variables | {"CONTEXTROT_GATES": "medain >= 50%"})
        assert done.codes["Bench"] == 2
        [told] = done.annotations
        assert told.startswith("::error title=contextrot did not run::contextrot: ")
        assert "medain >= 50%25" in told
        assert "did you mean 'median'" in done.summary
