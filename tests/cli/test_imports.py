"""A command pays for the libraries it needs, not for those of its neighbours (DESIGN §11)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CLEAN, SMALL

#: providers, plots, inference, downloads: seconds of import each, or not wanted on a machine that only reads results
HEAVY = {"litellm", "matplotlib", "xllamacpp", "huggingface_hub"}
ARITHMETIC = {"numpy", "pandas", "scipy", "statsmodels"}

#: runs a command as `python -m contextrot` does and says what was imported by its end
SPY = """
import runpy, sys
try:
    runpy.run_module("contextrot", run_name="__main__", alter_sys=True)
finally:
    print("IMPORTED", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def imported_by(folder: Path, *arguments: str) -> set[str]:
    """Top-level modules imported by `contextrot …`, which has to succeed."""
    done = subprocess.run(
        [sys.executable, "-c", SPY, *arguments], cwd=folder, env=CLEAN, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stderr.splitlines() if line.startswith("IMPORTED ")]
    found = set(line.split())
    assert "contextrot" in found
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario and a finished run of it."""
    folder = tmp_path_factory.mktemp("imports")
    (folder / "small.yaml").write_text(SMALL, encoding="utf-8")
    run_small_bench(folder, "run")
    return folder


def run_small_bench(folder: Path, out: str) -> set[str]:
    return imported_by(
        folder, "bench", "small.yaml", "--model", "sim/perfect", "--repeats", "1", "--out", out, "--no-report"
    )


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "validate small.yaml",
        "list strategies",
        "list checks",
        "list models",
        "list scenarios",
        "models list",
        "report run --json",
        "plot run --json",
        "plot run --text",
        "rescore run",
    ],
)
def test_reading_commands_import_nothing_heavy(folder: Path, command: str) -> None:
    assert not imported_by(folder, *command.split()) & HEAVY


def test_a_bench_of_a_simulated_model_imports_nothing_heavy(folder: Path) -> None:
    assert not run_small_bench(folder, "again") & HEAVY


@pytest.mark.parametrize("command", ["--help", "validate small.yaml", "list strategies", "rescore run"])
def test_commands_without_numbers_import_no_arithmetic(folder: Path, command: str) -> None:
    assert not imported_by(folder, *command.split()) & ARITHMETIC


def test_what_is_imported_is_seen(folder: Path) -> None:
    assert imported_by(folder, "report", "run", "--json") & ARITHMETIC
