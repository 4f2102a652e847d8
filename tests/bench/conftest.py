"""The small scenario as a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_bench import SCENARIO


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "triage.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path
