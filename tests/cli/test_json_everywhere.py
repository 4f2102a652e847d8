"""Every command that prints a result has `--json`: one document on stdout with the keys docs/reference.md promises."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from command_line import CLEAN, SMALL

from contextrot.cli import app

HERE = Path(__file__).parent
REFERENCE = (HERE.parent.parent / "docs" / "reference.md").read_text(encoding="utf-8")
#: commands without the option, and why
WITHOUT = {"schema": "what it prints is JSON"}
#: rows of the table that are not run here, and why
NOT_RUN = {"models pull": "it fetches 98 MB where they are not in the cache"}
LABELS = """\
- {rubric: The reply is friendly., ask: Where is my parcel?, reply: It arrives on Friday!, label: pass}
- {rubric: The reply is friendly., ask: Where is my parcel?, reply: How should I know?, label: fail}
"""
#: what is run for each row, in a folder with a scenario, a run of it, a baseline, labels and a transcript
RUN = {
    "init": "init new",
    "list scenarios": "list scenarios",
    "list strategies": "list strategies",
    "list checks": "list checks",
    "list models": "list models",
    "validate": "validate small.yaml",
    "doctor": "doctor --model sim/perfect",
    "plan": "plan small.yaml --model sim/perfect --repeats 1",
    "show RUN": "show run",
    "show RUN SESSION": "show run full--r000 --turn 2",
    "report": "report run",
    "plot": "plot run",
    "compare": "compare run run",
    "gate": "gate run --gate compliance>=0.1",
    "baseline set": "baseline set run --out again.json",
    "baseline show": "baseline show base.json",
    "rescore": "rescore run",
    "audit": "audit session.jsonl",
    "import": "import session.jsonl --out imported.yaml",
    "judge": "judge labels.yaml --judge sim/perfect",
    "tasks list": "tasks list",
    "tasks import": "tasks import mt-eval --sample --out tasks --limit 1",
    "models list": "models list",
}


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command that can be run, with its words."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path), command
        return
    for name, one in inner.items():
        yield from leaves(one, (*path, name))


COMMANDS = dict(leaves(typer.main.get_command(app)))  # type: ignore[arg-type]


def promised() -> dict[str, tuple[bool, set[str]]]:
    """The rows of the table: whether the document is a list, and the keys."""
    table = REFERENCE.split("## `--json`")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.M)
    found = {name: re.findall(r"`([^`]+)`", keys.partition(", with ")[0]) for name, keys in rows}
    return {
        name: ("[]" in keys, set(keys) - {"[]", "report" if name == "bench" else ""}) for name, keys in found.items()
    }


PROMISED = promised()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_json_or_a_reason_not_to(name: str) -> None:
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert ("--json" in options) != (name in WITHOUT)


def test_the_table_has_every_command_and_everything_in_it_is_run_or_excused() -> None:
    named = {next(name for name in COMMANDS if row == name or row.startswith(f"{name} ")) for row in PROMISED}
    assert named == COMMANDS.keys() - WITHOUT.keys()
    assert PROMISED.keys() == RUN.keys() | NOT_RUN.keys() | {"bench"}


def run(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "contextrot", *line.split(), "--json"],
        cwd=folder, env=CLEAN, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


BENCH = "bench small.yaml --model sim/hazard?hazard=0.2 --strategy full --repeats 5 --no-report"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A folder with everything the commands read, and what the bench in it printed."""
    folder = tmp_path_factory.mktemp("json")
    (folder / "small.yaml").write_text(SMALL, encoding="utf-8")
    (folder / "labels.yaml").write_text(LABELS, encoding="utf-8")
    shutil.copy(HERE.parent / "transcripts" / "samples" / "codex.jsonl", folder / "session.jsonl")
    done = run(folder, f"{BENCH} --out run --gate compliance>=0.99")
    run(folder, "baseline set run --out base.json")
    return folder, done


def document(done: subprocess.CompletedProcess[str], name: str) -> Any:
    """The one document of stdout, which has the keys that are promised for it."""
    found = json.loads(done.stdout)
    is_list, keys = PROMISED[name]
    assert isinstance(found, list) == is_list
    assert found
    assert keys <= (found[0] if is_list else found).keys()
    return found


@pytest.mark.parametrize("name", RUN)
def test_stdout_is_one_document_with_the_keys_that_are_promised(
    bench: tuple[Path, subprocess.CompletedProcess[str]], name: str
) -> None:
    done = run(bench[0], RUN[name])
    assert done.returncode in ((0, 3) if name in ("compare", "gate") else (0,)), done.stderr
    document(done, name)
    assert "Traceback" not in done.stderr


def test_bench_prints_the_summary_and_where_it_is_and_exits_as_its_gates_say(
    bench: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    done = bench[1]
    found = document(done, "bench")
    assert PROMISED["report"][1] <= found.keys()
    assert found["directory"] == "run"
    assert found["report"] is None
    assert found["next"].startswith("contextrot show run ")
    assert found["gates"]["exit_code"] == done.returncode != 0
    assert "sessions" in done.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [("show nowhere", 2), ("gate run --gate nonsense", 2), ("validate nothing.yaml", 2), ("baseline show no.json", 4)],
)
def test_an_error_is_a_sentence_on_stderr_with_the_same_code(
    bench: tuple[Path, subprocess.CompletedProcess[str]], line: str, code: int
) -> None:
    done = run(bench[0], line)
    assert done.returncode == code
    if done.stdout:  # what validate found of the other files is a result too
        assert json.loads(done.stdout)["problems"]
    else:
        assert done.stderr.startswith("contextrot: ")
        assert len(done.stderr.splitlines()) == 1


def test_doctor_says_figures_as_figures_and_what_is_not_set_as_null(
    bench: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    found = json.loads(run(bench[0], "doctor --model sim/perfect").stdout)
    assert found["models"][0]["window"] == 128_000
    assert found["models"][0]["price"] == {"prompt": 0, "completion": 0}
    assert {row["setting"]: row["value"] for row in found["settings"]}["window"] is None
