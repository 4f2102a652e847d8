"""What each command does, prints and exits with."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from command_line import Cli
from jsonschema import Draft202012Validator

SIM = ("--model", "sim/hazard?hazard=0.1", "--repeats", "2")


def test_bench_runs_reports_and_leaves_a_run_directory(cli: Cli, tmp_path: Path) -> None:
    done = cli("bench", "small.yaml", *SIM, "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout
    assert "contextrot show run" in done.stdout
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"run.json", "sessions", "summary.json", "sessions.csv", "turns.csv", "verdicts.csv", "report.md"} <= names
    assert list((tmp_path / "run" / "plots").glob("*.svg"))
    assert list((tmp_path / "run" / "plots").glob("*.png"))
    assert "Traceback" not in done.stdout + done.stderr


def test_bench_ends_with_a_command_that_shows_the_first_failure(cli: Cli) -> None:
    done = cli("bench", "small.yaml", "--model", "sim/hazard?hazard=0.9", "--repeats", "2", "--no-report")
    command = next(line for line in done.stdout.splitlines() if line.startswith("        contextrot show "))
    shown = cli(*shlex.split(command)[1:])
    assert shown.returncode == 0, shown.stderr
    assert "fail" in shown.stdout
    well = cli("bench", "small.yaml", "--model", "sim/perfect", "--strategy", "full", "--no-report")
    assert "next:" not in well.stdout


def test_bench_json_prints_one_document(cli: Cli) -> None:
    done = cli("bench", "small.yaml", *SIM, "--out", "run", "--no-report", "--json")
    summary = json.loads(done.stdout)
    assert summary["simulated"] is True
    assert {group["strategy"].split("(")[0] for group in summary["groups"]} == {"full", "fifo", "pinned"}


def test_without_out_a_run_goes_to_results_and_two_do_not_collide(cli: Cli, tmp_path: Path) -> None:
    for _ in range(2):
        assert cli("bench", "small.yaml", *SIM, "--no-report").returncode == 0
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_the_same_command_on_a_finished_run_says_so_and_exits_0(cli: Cli) -> None:
    command = ("bench", "small.yaml", *SIM, "--out", "run", "--no-report")
    assert cli(*command).returncode == 0
    again = cli(*command)
    assert again.returncode == 0
    assert "finished already" in again.stderr
    resumed = cli("bench", "--resume", "run", "--no-report")
    assert resumed.returncode == 0, resumed.stderr
    assert "finished already" in resumed.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("bench", "nowhere.yaml", *SIM), 2, "nowhere.yaml"),
        (("bench", "small.yaml", "--model", "sim/hazzard"), 2, "hazard"),
        (("bench", "small.yaml", *SIM, "--strategy", "fifoo"), 2, "fifo"),
        (("bench", "small.yaml", *SIM, "--strategy", "{type: fifo, kep: {turns: 2}}"), 2, "keep"),
        (("bench", "small.yaml", "--repeats", "none"), 2, "repeats"),
        (("bench", "small.yaml", *SIM, "--repeats", "0"), 2, "repeats"),
        (("bench", "small.yaml", "--model", "openai/gpt-4o-mini"), 2, "OPENAI_API_KEY"),
        (("bench", "small.yaml", "--model", "endpoint/m@http://127.0.0.1:9/v1"), 3, "127.0.0.1:9"),
        (("bench", "--resume", "nothing-here"), 2, "nothing-here"),
        (("bench", "small.yaml", *SIM, "--window", "300", "--max-tokens", "300"), 2, "max_tokens"),
        (("report", "nothing-here"), 2, "nothing-here"),
        (("validate", "small.yaml", "missing.yaml"), 2, "missing.yaml"),
        (("models", "pull", "smollm3"), 2, "smollm2-135m"),
        (("--nonsense",), 2, "nonsense"),
    ],
)
def test_a_users_mistake_is_a_sentence_and_an_exit_code(
    cli: Cli, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = cli(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_show_walks_through_a_session_and_exits_5_when_none_matches(cli: Cli) -> None:
    cli("bench", "small.yaml", *SIM, "--out", "run", "--no-report", "--strategy", "fifo", "--window", "300")
    assert "fifo" in cli("show", "run").stdout
    walked = cli("show", "run", "fifo--r000").stdout
    assert "our project code is" in walked
    rows = json.loads(cli("show", "run", "--json").stdout)
    assert rows
    missed = cli("show", "run", "no-such-session")
    assert missed.returncode == 5
    assert "no-such-session" in missed.stderr


def test_report_writes_again_and_prints_json(cli: Cli, tmp_path: Path) -> None:
    cli("bench", "small.yaml", *SIM, "--out", "run", "--no-report")
    assert json.loads(cli("report", "run", "--json").stdout)["version"] >= 1
    assert not (tmp_path / "run" / "report.md").exists()
    done = cli("report", "run", "--out", "elsewhere")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "elsewhere" / "report.md").exists()


@pytest.mark.parametrize("what", ["scenarios", "strategies", "checks", "models"])
def test_list_has_a_machine_form(cli: Cli, what: str) -> None:
    rows = json.loads(cli("list", what, "--json").stdout)
    assert rows
    named = str(rows[0].get("name") or rows[0]["id"])
    assert named.split()[0] in cli("list", what, env={"COLUMNS": "200"}).stdout


def test_list_strategies_shows_every_parameter(cli: Cli) -> None:
    shown = cli("list", "strategies", "--params", env={"COLUMNS": "200"}).stdout
    for word in ("keep", "trigger", "every_n_turns", "keep_last", "incremental", "fraction: 0.8"):
        assert word in shown


@pytest.mark.parametrize("ci", ["github", "gitlab", "none"])
def test_init_writes_what_runs_as_it_is(cli: Cli, tmp_path: Path, ci: str) -> None:
    assert cli("init", "mine", "--ci", ci).returncode == 0
    mine = tmp_path / "mine"
    scenario = (mine / "scenarios" / "my-first.yaml").read_text(encoding="utf-8")
    assert scenario.startswith("# yaml-language-server: $schema=../contextrot.schema.json\n")
    schema = json.loads((mine / "contextrot.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(yaml.safe_load(scenario))
    assert cli("validate", "mine/scenarios").returncode == 0
    run = cli("bench", "--config", "mine/contextrot.yaml", "mine/scenarios", "--model", "sim/perfect", "--out", "run")
    assert run.returncode == 0, run.stderr
    again = cli("init", "mine", "--ci", ci)
    assert again.returncode == 0
    assert "wrote" not in again.stdout
    assert "kept  mine/contextrot.yaml" in again.stdout
    # Runs are no part of a repository, here or in a clone of it.
    (mine / "results" / "one").mkdir()
    (mine / "results" / "one" / "run.json").write_text("{}", encoding="utf-8")
    git = ["git", "-C", str(mine)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    seen = subprocess.run([*git, "status", "--short", "-uall"], check=True, capture_output=True, text=True).stdout
    assert "results/.gitignore" in seen
    assert "run.json" not in seen


def test_init_adds_a_ci_file_to_a_project_and_touches_nothing_else(cli: Cli, tmp_path: Path) -> None:
    assert cli("init", "mine").returncode == 0
    mine, settings = tmp_path / "mine", "scenarios: [evals/own, quick]\nmodels: [sim/perfect]\nstrategies: [fifo]\n"
    (mine / "contextrot.yaml").write_text(settings, encoding="utf-8")
    before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    done = cli("init", "mine", "--ci", "gitlab", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["files"] == ["mine/.gitlab-ci.contextrot.yml"]
    assert "mine/contextrot.yaml" in said["kept"]
    assert {path: path.read_bytes() for path in before} == before
    text = (mine / ".gitlab-ci.contextrot.yml").read_text(encoding="utf-8")
    assert "contextrot validate evals/own quick" in text
    # A limit that is known to hold for the starter alone is not put on another's sessions.
    assert 'CONTEXTROT_GATES: "rmst: -10%"' in text
    assert any("add limits of your own" in note for note in said["notes"])
    # --force is for what init makes; the scenario and the settings are the user's.
    (mine / ".gitlab-ci.contextrot.yml").write_text("old", encoding="utf-8")
    assert cli("init", "mine", "--ci", "gitlab").returncode == 0
    assert (mine / ".gitlab-ci.contextrot.yml").read_text(encoding="utf-8") == "old"
    assert cli("init", "mine", "--ci", "gitlab", "--force").returncode == 0
    assert (mine / ".gitlab-ci.contextrot.yml").read_text(encoding="utf-8") == text
    assert (mine / "contextrot.yaml").read_text(encoding="utf-8") == settings
    assert cli("init", "mine", "--ci", "gitlab", "--force", "--all").returncode == 0
    assert "repeats: 10" in (mine / "contextrot.yaml").read_text(encoding="utf-8")
    refused = cli("init", "mine", "--all")
    assert refused.returncode == 2
    assert "--all belongs to --force" in refused.stderr


def test_init_in_a_project_with_scenarios_writes_no_scenario_beside_them(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine" / "scenarios").mkdir(parents=True)
    (tmp_path / "small.yaml").rename(tmp_path / "mine" / "scenarios" / "own.yaml")
    assert cli("init", "mine").returncode == 0
    assert [path.name for path in (tmp_path / "mine" / "scenarios").iterdir()] == ["own.yaml"]
    assert (tmp_path / "mine" / "contextrot.yaml").exists()


def test_init_says_what_a_runner_would_install(cli: Cli, tmp_path: Path) -> None:
    """These tests run from a checkout, which no package index has."""
    done = cli("init", "mine")
    text = (tmp_path / "mine/.github/workflows/contextrot.yml").read_text(encoding="utf-8")
    for told in (done.stdout, text):
        assert "Made from a checkout: if the index has no contextrot-bench, set PACKAGE to" in told
    named = cli("init", "other", "--package", "git+https://example.org/contextrot@v1")
    text = (tmp_path / "other/.github/workflows/contextrot.yml").read_text(encoding="utf-8")
    assert 'PACKAGE: "git+https://example.org/contextrot@v1"' in text
    assert "checkout:" not in named.stdout + text


def test_init_ci_files_are_valid_and_name_commands_that_exist(cli: Cli, tmp_path: Path) -> None:
    cli("init", "a", "--ci", "github")
    cli("init", "b", "--ci", "gitlab")
    github = (tmp_path / "a/.github/workflows/contextrot.yml").read_text(encoding="utf-8")
    gitlab = (tmp_path / "b/.gitlab-ci.contextrot.yml").read_text(encoding="utf-8")
    assert list(yaml.safe_load(github)["jobs"]) == ["strategies", "models"]
    for text in (github, gitlab):
        assert "contextrot validate scenarios" in text
        for command in re.findall(r"contextrot (?!did not run)(\w+)", text):
            assert cli(command, "--help").returncode == 0


def test_the_schema_of_the_configuration_knows_every_strategy(cli: Cli, tmp_path: Path) -> None:
    cli("init", "mine")
    mine = tmp_path / "mine"
    schema = json.loads(cli("schema", "config").stdout)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    validator.validate(yaml.safe_load((mine / "contextrot.yaml").read_text(encoding="utf-8")))
    assert json.loads((mine / "contextrot.config.schema.json").read_text(encoding="utf-8")) == schema
    good = [
        {"strategies": "summarization", "models": "sim/perfect", "scenarios": "quick"},
        {"strategies": ["full", {"type": "re_anchor", "inner": {"type": "fifo", "keep": {"turns": 6}}}]},
        {"models": [{"id": "sim/perfect", "window": 4000}, "extractive"], "auxiliary": "extractive", "judge": None},
    ]
    bad = [
        {"strategies": "fivo"},
        {"strategies": [{"type": "fifo", "kept": {"turns": 6}}]},
        {"strategies": [{"type": "re_anchor", "inner": {"type": "fifo", "keep": {"turn": 6}}}]},
        {"repeats": 0},
        {"strategy": "full"},
    ]
    assert [validator.is_valid(raw) for raw in good] == [True] * len(good)
    assert [validator.is_valid(raw) for raw in bad] == [False] * len(bad)


def test_schema_is_a_json_schema(cli: Cli, tmp_path: Path) -> None:
    Draft202012Validator.check_schema(json.loads(cli("schema").stdout))
    assert cli("schema", "--out", "s.json").returncode == 0
    assert json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))["type"] == "object"


def test_help_of_bench_names_every_setting(cli: Cli) -> None:
    from contextrot.config import BenchConfig

    shown = cli("bench", "--help", env={"COLUMNS": "160"}).stdout
    for name in BenchConfig.model_fields:
        flag = {"scenarios": "scenarios", "models": "--model", "strategies": "--strategy", "gates": "--gate"}.get(
            name, "--" + name.replace("_", "-")
        )
        assert flag in shown


def test_another_run_in_the_folder_is_told_in_words(cli: Cli, tmp_path: Path) -> None:
    arguments = ("bench", "small.yaml", "--strategy", "full", "--out", "run", "--no-report")
    assert cli(*arguments, "--model", "sim/perfect", "--repeats", "1").returncode == 0
    done = cli(*arguments, "--model", "sim/hazard", "--repeats", "2", "--judge", "sim/perfect", "--window", "900")
    assert done.returncode == 2
    for line in ("models: sim/perfect was there and is not now", "models: sim/hazard was not there and is now",
                 "repeats: was 1, is now 2"):  # fmt: skip
        assert f"\n  {line}" in done.stderr
    assert "{" not in done.stderr
    assert "'" not in done.stderr
    done = cli(*arguments, "--model", "sim/perfect", "--repeats", "1", "--window", "900")
    assert "small × sim/perfect: window was " in done.stderr
    assert ", is now 900" in done.stderr
    assert cli(*arguments, "--model", "sim/perfect", "--repeats", "1").returncode == 0
