"""Every command and example of docs/guides/public-tasks.md, run as it stands there on the samples."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contextrot.tasks import REGISTRY

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "guides" / "public-tasks.md").read_text(encoding="utf-8")
SAMPLES = ROOT / "tests" / "tasks" / "samples"
#: The names the page gives to files of the user's own → what stands for them here.
FILES = {
    "longmemeval_s.json": SAMPLES / "longmemeval_oracle.json",
    "locomo10.json": SAMPLES / "locomo10.json",
    "benchmark_questions.jsonl": SAMPLES / "benchmark_questions.jsonl",
    "refinement_multi.jsonl": SAMPLES / "refinement_multi.jsonl",
    "recollection_multi_cls.jsonl": SAMPLES / "recollection_multi_cls.jsonl",
    "recollection_multi_global-inst.jsonl": REGISTRY["mt-eval"].sample,
    "data/testsets": SAMPLES / "sequor",
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.M | re.S)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that the page speaks of."""
    for name, source in FILES.items():
        assert source is not None
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    return tmp_path


@pytest.mark.parametrize("number", range(len(blocks("console"))))
def test_commands_run(number: int, folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXTROT_")}
    environment |= {"COLUMNS": "120"}
    lines = [line.removeprefix("$ ") for line in blocks("console")[number].splitlines() if line.startswith("$ ")]
    assert lines
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "contextrot"
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=180,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        if words[1:3] == ["tasks", "import"]:
            assert "wrote " in done.stdout
            assert REGISTRY[words[3]].citation in done.stdout


def test_python_examples_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    [block] = blocks("python")
    exec(compile(block, "public-tasks.md", "exec"), {})
    assert list((folder / "from-python").glob("*.yaml"))


def test_every_benchmark_and_option_is_named() -> None:
    assert set(re.findall(r"^\| `([\w-]+)` \|", TEXT, re.M)) == set(REGISTRY)
    for task in REGISTRY.values():
        assert f"({task.link})" in TEXT
        for option in task.options:
            assert f"--option {option}=" in TEXT


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert target.startswith("https://") or (ROOT / "docs" / "guides" / target).exists(), target
