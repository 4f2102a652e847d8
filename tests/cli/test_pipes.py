"""A reader that leaves early (`… | head`) changes nothing: the exit code is what the command found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CLEAN, SMALL, Cli


def with_a_closed_pipe(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code and stderr of a command nobody reads the output of."""
    process = subprocess.Popen(
        [sys.executable, "-m", "contextrot", *arguments],
        cwd=folder, env=CLEAN, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    return process.wait(timeout=120), said


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("list", "checks", "--params"), 0),
        (("validate", "small.yaml"), 0),
        (("validate", "bad.yaml"), 2),
        (("schema",), 0),
    ],
)
def test_the_exit_code_is_the_commands_own(cli: Cli, tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
    (tmp_path / "bad.yaml").write_text(SMALL.replace("facts:", "fcts:"), encoding="utf-8")
    assert cli(*arguments).returncode == code
    found, said = with_a_closed_pipe(tmp_path, *arguments)
    assert found == code
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_a_bench_nobody_reads_is_written_and_well(cli: Cli, tmp_path: Path) -> None:
    arguments = (
        "bench",
        "small.yaml",
        "--model",
        "sim/perfect",
        "--strategy",
        "full",
        "--repeats",
        "1",
        "--out",
        "run",
    )
    found, said = with_a_closed_pipe(tmp_path, *arguments)
    assert found == 0, said
    assert (tmp_path / "run" / "report.md").exists()
    assert with_a_closed_pipe(tmp_path, "show", "run")[0] == 0


@pytest.mark.parametrize("no_color", ["1", ""])
def test_without_colour_there_is_no_escape_code_at_all(monkeypatch: pytest.MonkeyPatch, no_color: str) -> None:
    import io

    from rich.text import Text

    from contextrot.cli.output import console

    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    out = console()
    out.file = io.StringIO()
    out.print(Text("well", style="bold"))
    assert ("\x1b" in out.file.getvalue()) == (not no_color)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", [("list", "checks", "--params"), ("list", "checks", "--json"), ("schema",)])
def test_a_disk_that_is_full_is_said_in_a_sentence_and_is_no_failed_gate(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "contextrot", *arguments],
            cwd=tmp_path, env=CLEAN, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "contextrot: the output could not be written: No space left on device\n"
