"""Runs pytest in another process in which the plugin is found as an installed package's is: by its entry point."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("CONTEXTROT_", "PYTEST_"))}
#: The first article's test, byte for byte.
ARTICLE = (Path(__file__).parent / "first_article.py.txt").read_bytes()


def environment(folder: Path) -> dict[str, str]:
    """A metadata folder with the entry points that pyproject.toml declares, before whatever is installed."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    metadata = folder / "site" / "contextrot_bench-0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: contextrot-bench\nVersion: 0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(
        "[pytest11]\n" + "".join(f"{name} = {target}\n" for name, target in declared["pytest11"].items()),
        encoding="utf-8",
    )
    paths = [str(folder / "site"), str(ROOT), CLEAN.get("PYTHONPATH", "")]
    return {**CLEAN, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "COLUMNS": "120", "NO_COLOR": "1"}


def run(folder: Path, test: str | bytes, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run one test file with pytest, in a folder of its own that holds no configuration but what is there already."""
    (folder / "test_it.py").write_bytes(test if isinstance(test, bytes) else test.encode())
    if not (folder / "pytest.ini").exists():
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:asyncio", "-rA", *arguments, "test_it.py"],
        cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


def outcomes(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Test id → PASSED, FAILED or ERROR, from the short summary."""
    lines = [line.split(" - ")[0].split() for line in done.stdout.splitlines()]
    return {
        words[1].partition("::")[2]: words[0]
        for words in lines
        if len(words) > 1 and words[0] in ("PASSED", "FAILED", "ERROR") and "::" in words[1]
    }
