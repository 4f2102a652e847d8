"""Every command and every example of the README, run as it stands there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from fault_server import serving

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def commands() -> Iterator[tuple[int, list[str]]]:
    """The console blocks, in order, each as its lines without the prompt."""
    for number, block in enumerate(blocks("console")):
        lines = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
        assert lines
        yield number, lines


@pytest.mark.parametrize("number", [number for number, _ in commands()])
def test_console_blocks_run(number: int, tmp_path: Path) -> None:
    """Each block in a folder of its own, the first one's run standing there where a later one needs it."""
    lines = dict(commands())[number]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXTROT_")}
    environment |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}", "COLUMNS": "120"}
    with serving() as server:
        # A provider is a server that speaks OpenAI's protocol; here it stands on this machine.
        environment["OPENAI_BASE_URL"] = environment["OPENAI_API_BASE"] = server.url
        folder = tmp_path
        for line in lines:
            words = shlex.split(line)
            if words[0] == "export":
                name, _, value = words[1].partition("=")
                environment[name] = "sk-test" if value == "…" else value
            elif words[0] == "cd":
                folder = folder / words[1]
            else:
                assert words[0] == "contextrot", line
                done = subprocess.run(
                    words, cwd=folder, env=environment, capture_output=True, text=True, timeout=180, check=False
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})


def test_yaml_examples_load(tmp_path: Path) -> None:
    from contextrot import load_scenario

    for block in blocks("yaml"):
        path = tmp_path / "example.yaml"
        path.write_text(block, encoding="utf-8")
        assert load_scenario(path).id == yaml.safe_load(block.replace("?,", ",").replace("?", ""))["id"]


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", README, re.M):
        assert re.search(rf"^{target}:", makefile, re.M)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_words_of_the_field_are_all_known() -> None:
    """Strategies the README names exist, and none that exists is left unsaid."""
    from contextrot.strategies import REGISTRY

    named = set(re.findall(r"`(\w+)`", README.split("3. **Which strategy?**")[1].split("!")[0]))
    assert named == {cls.type_name for cls in REGISTRY.values()}
