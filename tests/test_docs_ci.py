"""docs/guides/ci.md and docs/guides/pytest.md: commands run, tests behave as the page says, tables match the code."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent / "pytest_plugin"))
from plugged import ARTICLE, outcomes, run

from contextrot import pytest_plugin

ROOT = Path(__file__).parent.parent
CI = (ROOT / "docs" / "guides" / "ci.md").read_text(encoding="utf-8")
PYTEST = (ROOT / "docs" / "guides" / "pytest.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def test_the_commands_run_in_order(tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CONTEXTROT_", "GITHUB_"))}
    for line in "".join(blocks(CI, "console")).splitlines():
        words = shlex.split(line.removeprefix("$ "))
        assert words.pop(0) == "contextrot"
        done = subprocess.run(
            [sys.executable, "-m", "contextrot", *words], cwd=tmp_path, env=clean, capture_output=True, text=True,
            timeout=180, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    assert (tmp_path / "contextrot-baseline.json").is_file()
    assert (tmp_path / "branch" / "step-summary.md").is_file()


def test_the_table_of_inputs_is_that_of_the_action() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert re.findall(r"^\| `([\w-]+)` \|", CI.split("| input |")[1].split("\n\n")[0], re.M) == list(action["inputs"])
    [example] = blocks(CI, "yaml")
    [step] = [s for s in yaml.safe_load(example)["jobs"]["contextrot"]["steps"] if "contextrot" in s["uses"]]
    assert step["with"].keys() <= action["inputs"].keys()
    for name in action["outputs"]:
        assert f"`{name}`" in CI


def test_the_gates_of_the_example_can_be_read() -> None:
    from contextrot.gate_grammar import parse_gates

    [example] = blocks(CI, "yaml")
    step = yaml.safe_load(example)["jobs"]["contextrot"]["steps"][1]
    assert len(parse_gates(step["with"]["gates"].splitlines())) == 2


def test_the_articles_test_is_shown_as_it_is() -> None:
    assert blocks(PYTEST, "python")[0].encode() == ARTICLE


@pytest.mark.parametrize("number", range(1, len(blocks(PYTEST, "python"))))
def test_the_other_tests_pass(number: int, tmp_path: Path) -> None:
    done = run(tmp_path, blocks(PYTEST, "python")[number])
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes(done)


def test_what_the_page_shows_of_the_articles_test_is_printed(tmp_path: Path) -> None:
    done = run(tmp_path, ARTICLE)
    [shown] = blocks(PYTEST, "console")
    command, first, *lines = shown.splitlines()
    assert command == f"$ pytest {first.split()[0]}"
    assert f"test_it.py {first.split()[1]}" in done.stdout
    for line in lines:
        assert line in done.stdout, line


def test_every_setting_and_fixture_is_explained() -> None:
    for name, _default, _what in pytest_plugin.SETTINGS:
        assert f"| `contextrot_{name}` | `--contextrot-{name.replace('_', '-')}` |" in PYTEST
    for name in pytest_plugin.MARKER:
        assert f"`{name}`" in PYTEST
    for name in ("bench", "assert_median", "assert_gates"):
        assert f"{name}(" in PYTEST


def test_links_lead_somewhere() -> None:
    for text in (CI, PYTEST):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
            assert (ROOT / "docs" / "guides" / target).exists(), target
