"""`contextrot tasks`: what is listed, what is written, and faults as sentences with their exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from command_line import CLEAN, Cli


def test_list_names_every_benchmark_with_its_licence(cli: Cli) -> None:
    rows = {row["name"]: row for row in json.loads(cli("tasks", "list", "--json").stdout)}
    assert set(rows) == {"bfcl", "locomo", "longmemeval", "mt-eval", "multichallenge", "sequor"}
    assert rows["mt-eval"]["licence"] == "MIT."
    assert rows["bfcl"]["options"]["arguments"]["choices"] == ["said", "all", "none"]
    assert [name for name, row in rows.items() if row["sample"]] == ["bfcl", "mt-eval"]
    shown = cli("tasks", "list").stdout
    assert "CC BY-NC 4.0" in " ".join(shown.split())


def test_import_writes_scenarios_that_validate_and_says_whose_they_are(cli: Cli, tmp_path: Path) -> None:
    done = cli("tasks", "import", "mt-eval", "--sample", "--limit", "3", "--turns", "4", "--out", "made")
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "made").glob("*.yaml"))
    assert len(files) == 3
    assert "licence of the data: MIT." in done.stdout
    assert "next: contextrot bench made --model MODEL\n" in done.stdout
    checked = cli("validate", "made")
    assert checked.returncode == 0
    assert "4 turns" in checked.stdout


def test_import_never_overwrites_unless_told_to(cli: Cli) -> None:
    command = ("tasks", "import", "bfcl", "--sample", "--limit", "1")
    assert cli(*command).returncode == 0
    again = cli(*command)
    assert again.returncode == 2
    assert "exists already; --force overwrites it" in again.stderr
    assert cli(*command, "--force").returncode == 0


def test_questions_for_a_judge_are_announced_or_left_out(cli: Cli, tmp_path: Path) -> None:
    row = {"QUESTION_ID": "a", "AXIS": "INFERENCE_MEMORY", "TARGET_QUESTION": "Is it Ada?", "PASS_CRITERIA": "YES",
           "CONVERSATION": [{"role": "user", "content": "I am Ada."}, {"role": "assistant", "content": "Hello."},
                            {"role": "user", "content": "Who am I?"}]}  # fmt: skip
    (tmp_path / "q.jsonl").write_text(json.dumps(row), encoding="utf-8")
    done = cli("tasks", "import", "multichallenge", "q.jsonl")
    assert "next: contextrot bench multichallenge --model MODEL --judge MODEL" in done.stdout
    without = cli("tasks", "import", "multichallenge", "q.jsonl", "--no-judged")
    assert without.returncode == 5
    assert "1 × questions that only a judge model can grade" in without.stderr


def test_faults_are_sentences(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('[{"name": "x"}]', encoding="utf-8")
    for arguments, said in (
        (("nothing",), "there is no public task `nothing`"),
        (("locomo",), "locomo needs PATH: locomo10.json"),
        (("locomo", "missing.json"), "missing.json: there is no such file or folder"),
        (("locomo", "other.json"), "entry 1 has no `conversation`, so this is not a file of LoCoMo; it has: name"),
        (("locomo", "--sample"), "no sample of locomo comes with contextrot"),
        (("mt-eval", "other.json", "--sample"), "leave out PATH"),
        (("mt-eval", "--sample", "--limit", "0"), "--limit must be at least 1, not 0"),
        (("mt-eval", "--sample", "--option", "task"), "--option task: write KEY=VALUE"),
    ):
        done = cli("tasks", "import", *arguments)
        assert done.returncode == 2, arguments
        assert said in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr


def test_the_command_line_does_not_load_the_importers() -> None:
    spy = "import sys, contextrot.cli; print([name for name in sys.modules if name.startswith('contextrot.tasks')])"
    done = subprocess.run([sys.executable, "-c", spy], env=CLEAN, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
