"""Every command of docs/guides/own-sessions.md, run as it stands there, prints what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contextrot.transcripts import formats

GUIDES = Path(__file__).parent.parent / "docs" / "guides"
TEXT = (GUIDES / "own-sessions.md").read_text(encoding="utf-8")


def shown() -> list[list[tuple[str, list[str]]]]:
    """The console blocks, each as its commands with the lines the page shows under them."""
    blocks = []
    for block in re.findall(r"^```console\n(.*?)^```", TEXT, re.M | re.S):
        parts = re.split(r"^\$ ", block, flags=re.M)[1:]
        blocks.append([(part.splitlines()[0], part.splitlines()[1:]) for part in parts])
    return blocks


@pytest.mark.parametrize("number", range(len(shown())))
def test_commands_print_what_the_page_shows(number: int, tmp_path: Path) -> None:
    shutil.copy(GUIDES / "rooms.json", tmp_path)
    shutil.copy(GUIDES / "rooms.json", tmp_path / "another.json")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXTROT_")}
    clean |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}", "COLUMNS": "80", "NO_COLOR": "1"}
    for command, lines in shown()[number]:
        done = subprocess.run(
            shlex.split(command), cwd=tmp_path, env={**clean, "PYTHONUTF8": "1"}, capture_output=True, encoding="utf-8",
            timeout=180, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if lines:
            assert [line.rstrip() for line in done.stdout.splitlines()] == lines


def test_every_format_stands_in_the_table() -> None:
    assert set(re.findall(r"^\| `(\w[\w-]*)` \|", TEXT, re.M)) == {one.name for one in formats()}
