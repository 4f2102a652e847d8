"""Every page of docs/: commands run, Python runs, YAML is read as what it is; or it is named here, with why not."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import contextrot as cr
from contextrot.config import BenchConfig, read_config_file, validated
from contextrot.scenario.schema import json_schema

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))

#: (page, language) → the test file that runs or reads these blocks.
ELSEWHERE = {
    ("checks.md", "yaml"): "test_docs_checks.py",
    ("checks.md", "python"): "test_docs_checks.py",
    ("guides/ci.md", "console"): "test_docs_ci.py",
    ("guides/ci.md", "yaml"): "test_docs_ci.py",
    ("guides/pytest.md", "console"): "test_docs_ci.py",
    ("guides/pytest.md", "python"): "test_docs_ci.py",
    ("guides/engine-variants.md", "yaml"): "test_docs_memory.py",
    ("guides/langchain.md", "python"): "test_docs_memory.py",
    ("guides/litellm.md", "python"): "test_docs_memory.py",
    ("guides/openai.md", "python"): "test_docs_memory.py",
    ("memory.md", "python"): "test_docs_memory.py",
    ("guides/own-sessions.md", "console"): "test_docs_own_sessions.py",
    ("guides/public-tasks.md", "console"): "test_docs_public_tasks.py",
    ("guides/public-tasks.md", "python"): "test_docs_public_tasks.py",
}
#: (page, first line of the block) → why nothing of it is run.
NOT_RUN = {
    ("index.md", "make bench    # environment, weights (98 MB), the quick bench, its report"):
        "installs an environment and fetches weights; tests/test_readme.py holds that the targets exist",
    ("causes.md", ""): "recorded output and the bench it is from: docs/walk_through_causes.py makes the page",
    ("guides/engine-variants.md", ""): "servers that need a GPU; the page says that no test runs them",
    ("run-directory.md", ""): "a listing of files",
}  # fmt: skip
#: commands that would take minutes of inference → what is added to run them on a simulated model instead.
INSTEAD = {
    "contextrot bench door-code.yaml --out results/real": ["--model", "sim/hazard?hazard=0.1"],
}
#: files that a page tells the reader to write → the block they hold is found by this first line of the block.
WRITTEN = {"first-scenario.md": {"door-code.yaml": "contextrot: 1", "signed.yaml": "# signed.yaml"}}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    number: int
    language: str
    text: str

    @property
    def left_out(self) -> bool:
        first = self.text.partition("\n")[0]
        return (self.page, first) in NOT_RUN or (not self.language and (self.page, "") in NOT_RUN)

    def __str__(self) -> str:
        return f"{self.page}[{self.number}]"


def blocks_of(page: str) -> list[Block]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S)
    return [Block(page, number, language, text) for number, (language, text) in enumerate(found)]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
OURS = [block for block in BLOCKS if (block.page, block.language) not in ELSEWHERE and not block.left_out]


def of(language: str) -> list[Block]:
    return [block for block in OURS if block.language == language]


def test_every_block_is_run_read_or_named() -> None:
    known = {"console", "python", "yaml", "text"}
    assert [str(block) for block in OURS if block.language not in known] == []
    for page, language in ELSEWHERE:
        assert any((block.page, block.language) == (page, language) for block in BLOCKS), (page, language)
    for page, first in NOT_RUN:
        assert any(block.left_out for block in BLOCKS if block.page == page), (page, first)
    for (page, language), name in ELSEWHERE.items():
        text = (ROOT / "tests" / name).read_text(encoding="utf-8")
        assert Path(page).stem in text, f"{name} does not speak of {page}"
        assert language in text, f"{name} has nothing that reads {language} blocks"
    # What is only shown is no command in disguise.
    assert [str(block) for block in of("text") if re.search(r"^(\$|make|pip|python) ", block.text, re.M)] == []


@pytest.mark.parametrize("page", sorted({block.page for block in of("console")}))
def test_commands_run_in_order(page: str, tmp_path: Path) -> None:
    """All console blocks of a page in one folder, as somebody who reads it would run them, and print what is shown."""
    for name, first in WRITTEN.get(page, {}).items():
        [text] = [block.text for block in blocks_of(page) if block.text.startswith(first)]
        (tmp_path / name).write_text(text, encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CONTEXTROT_", "GITHUB_"))}
    clean |= {"COLUMNS": "120", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    for block in of("console"):
        if block.page != page:
            continue
        for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
            command, *shown = part.splitlines()
            words = shlex.split(command)
            assert words[0] == "contextrot", command
            done = subprocess.run(
                [sys.executable, "-m", *words, *INSTEAD.get(command, [])], cwd=tmp_path, env=clean, encoding="utf-8",
                capture_output=True, timeout=240, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            if command not in INSTEAD:
                said = " ".join((done.stdout + done.stderr).split())
                for line in shown:
                    assert " ".join(line.split()) in said, f"{command} does not print: {line}\n{done.stdout}"


@pytest.mark.parametrize("block", of("python"), ids=str)
def test_python_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block.text, str(block), "exec"), {})


@pytest.mark.parametrize("block", of("yaml"), ids=str)
def test_yaml_is_read_as_what_it_is(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(block.text, encoding="utf-8")
    content = yaml.safe_load(re.sub(r"\?(?=[,}])", "", block.text))  # our own loader takes a bare ?, PyYAML does not
    assert "".join(kinds_that_read(content, path)), f"nothing reads this:\n{block.text}"


@cache
def scenario_schema() -> dict[str, Any]:
    return json_schema()


def kinds_that_read(content: Any, path: Path) -> Iterator[str]:
    """The names of what takes this content without an objection."""
    if isinstance(content, list):
        from contextrot.bench.agreement import load_labels

        assert load_labels(path)
        yield "labels"
    elif "contextrot" in content:
        assert cr.load_scenario(path)
        yield "scenario"
    else:
        schema = scenario_schema()
        for name, part in {"Scenario": {**schema, "required": []}, **schema["$defs"]}.items():
            if jsonschema.Draft202012Validator({**part, "$defs": schema["$defs"]}).is_valid(content):
                yield name
        if content.keys() <= BenchConfig.model_fields.keys() and not {"turns", "history"} & content.keys():
            assert validated(read_config_file(path)[0])
            yield "settings"


@pytest.mark.parametrize("name", ["cli", "scenario_reference"])
def test_generated_pages_are_made_from_the_code(name: str) -> None:
    made = runpy.run_path(str(DOCS / f"generate_{name}.py"))
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"](), f"run: python docs/generate_{name}.py"


def test_figures_of_the_statistics_page_are_those_of_its_pictures() -> None:
    page = " ".join((DOCS / "statistics-explained.md").read_text(encoding="utf-8").replace("−", "-").split())
    figures = json.loads((DOCS / "images" / "statistics" / "figures.json").read_text(encoding="utf-8"))
    assert f"**{figures['survival']['median'].split()[0]} turns**" in page
    assert f"{figures['survival']['mean of the failed']} turns" in page
    for name, found in figures["constant-error"].items():
        told = [f"{one:g}" if one >= 0.001 else "< 0.001" for one in (found["trend p"], found["hazard p"])]
        assert f"| {name} | {found['median']} | {found['per 10 turns']} | {told[0]} | {told[1]} |" in page
    for share in figures["unit"].values():
        assert f"{share} %" in page
    assert f"{figures['effective-length']['falls once']['length']:,} tokens" in page
    assert f"({figures['effective-length']['comes back']['length']:,})" in page
    for middle, low, high in figures["pairs"].values():
        assert re.search(rf"{middle}( turns longer)? \({low} to {high}\)", page)


def test_every_page_is_in_the_navigation_once() -> None:
    class Loader(yaml.SafeLoader):
        """Reads the file without the Python objects in it."""

    Loader.add_multi_constructor("", lambda loader, suffix, node: None)
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)

    def pages(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        for inner in entry if isinstance(entry, list) else entry.values() if isinstance(entry, dict) else ():
            yield from pages(inner)

    assert sorted(pages(config["nav"])) == PAGES
    assert config["theme"]["font"] is False


def test_the_example_file_of_the_first_scenario_is_the_one_shown() -> None:
    [text] = [block.text for block in blocks_of("first-scenario.md") if block.text.startswith("contextrot: 1")]
    assert (DOCS / "examples" / "door-code.yaml").read_text(encoding="utf-8") == text


def test_the_python_api_of_the_page_exists() -> None:
    import importlib

    page = (DOCS / "api.md").read_text(encoding="utf-8")
    names = re.findall(r"^::: (\S+)$", page, re.M)
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute).__doc__, name
    from contextrot import _HOME

    assert {f"{home}.{name}" for name, home in _HOME.items()} <= {canonical(name) for name in names}


def canonical(name: str) -> str:
    """`contextrot.scenario.loader.load_scenario` as the package's own table of homes spells it."""
    homes = {
        "contextrot.scenario.loader.": "contextrot.scenario.",
        "contextrot.scenario.schema.": "contextrot.scenario.",
    }
    for long, short in homes.items():
        name = name.replace(long, short)
    return name


def test_nothing_is_shown_that_the_site_cannot_fetch_from_itself(tmp_path: Path) -> None:
    """The check of `make docs` finds what it is for, and lets links be."""
    faults = runpy.run_path(str(DOCS / "check_site.py"))["faults"]
    shutil.copytree(DOCS / "stylesheets", tmp_path / "stylesheets")
    good = '<a href="https://example.org">x</a><link rel="canonical" href="https://example.org"><img src="a.png">'
    (tmp_path / "good.html").write_text(good, encoding="utf-8")
    assert list(faults(tmp_path)) == []
    (tmp_path / "bad.html").write_text(
        '<script src="//a.example/x.js"></script><link rel="preload stylesheet" href="https://b.example/x.css">'
        '<img src="HTTPS://c.example/x.png"><p style="background: url(\'https://d.example/x\')">', encoding="utf-8"
    )  # fmt: skip
    (tmp_path / "bad.css").write_text(
        '@import "https://e.example/x.css"; p { src: url(//f.example/x) }', encoding="utf-8"
    )
    assert sorted(re.findall(r"(\w)\.example", " ".join(faults(tmp_path)))) == list("abcdef")
