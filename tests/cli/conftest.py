"""The command line in an empty folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from command_line import CLEAN, SMALL, Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run `contextrot …` in an empty folder that holds small.yaml."""
    (tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")

    def run(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "contextrot", *arguments],
            cwd=tmp_path, env={**CLEAN, "COLUMNS": "100", **(env or {})}, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip

    return run
