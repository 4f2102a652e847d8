"""report.html as bytes: escaped, sealed by its policy, the same for the same run, honest about what is not known."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import orjson
import pytest
from html_runs import empty_run, only_errors_run, simulated
from rich.console import Console
from run_writer import write_manifest, write_session

from contextrot.analysis.gates import evaluate
from contextrot.analysis.tables import Run, load_run
from contextrot.report.gating import keep
from contextrot.report.html.page import render
from contextrot.report.html.vendored import differing
from contextrot.report.terminal import print_summary
from contextrot.report.words import clean
from contextrot.report.write import write_report

HOSTILE = "<script>alert(1)</script>\"'&{{ 7*7 }}\u202egnirts\u0000"


class Reader(HTMLParser):
    """The page as a browser's parser cuts it: elements with their attributes, scripts with their text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.texts: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data
        elif self._inside != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def policy(self) -> str:
        [content] = [
            str(attributes["content"])
            for tag, attributes in self.elements
            if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
        ]
        return content


def read(page: bytes) -> Reader:
    reader = Reader()
    reader.feed(page.decode())
    reader.close()
    return reader


@pytest.fixture(scope="module")
def quick(folder) -> Run:
    return simulated(folder / "page", strategies=["full", {"type": "fifo", "keep": {"turns": 4}}], repeats=3)


@pytest.fixture(scope="module")
def page(quick) -> bytes:
    return render(quick)


def test_the_same_run_gives_the_same_bytes(quick, page):
    assert render(load_run(quick.path)) == page


def test_every_script_that_runs_is_in_the_policy_and_nothing_else_is(page):
    reader = read(page)
    run = [text for attributes, text in reader.scripts if "type" not in attributes]
    hashes = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run}
    assert set(re.findall(r"'sha256-([^']+)'", reader.policy)) == hashes
    rules = dict(rule.strip().split(" ", 1) for rule in reader.policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe-inline" not in rules["script-src"]
    assert "unsafe-eval" not in rules["script-src"]
    assert all(attributes.get("type") in (None, "application/json", "application/octet-stream")
               for attributes, _ in reader.scripts)  # fmt: skip


def test_no_element_asks_for_anything_outside_the_page(page):
    for tag, attributes in read(page).elements:
        assert not {"src", "action", "formaction", "ping", "srcset", "background"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        href = attributes.get("href")
        assert href is None or href.startswith("#"), (tag, href)


def test_hostile_names_stay_text(tmp_path):
    run = write_manifest(tmp_path / "run", strategies=[HOSTILE])
    for repeat in range(3):
        write_session(run, HOSTILE, repeat, lost_from=9)
    page = render(load_run(run))
    reader = read(page)
    assert not [attributes for tag, attributes in reader.elements if any(k.startswith("on") for k in attributes)]
    assert "<script>alert(1)</script>\"'&{{ 7*7 }}\\u202egnirts\\x00" in reader.text  # as text, and all of it visible
    assert "alert(1)" not in [text.strip() for _, text in reader.scripts]
    assert "\u202e" not in reader.text
    assert "\u202e" not in "".join(str(value) for _, attributes in reader.elements for value in attributes.values())
    [data] = [text for attributes, text in reader.scripts if attributes.get("id") == "data-page"]
    assert "<" not in data
    assert orjson.loads(data)["strategies"] == [clean(HOSTILE)]


@pytest.mark.parametrize("status", ["interrupted", "running", "limited"])
def test_an_empty_run_says_where_it_stands(tmp_path, status):
    write_manifest(tmp_path / "run", status=status)
    text = read(render(load_run(tmp_path / "run"))).text
    assert f"The run is {status}" in text
    assert "Nothing was measured : the run holds no sessions" in text


def test_a_run_of_errors_gives_no_rate(tmp_path):
    text = read(render(only_errors_run(tmp_path / "run"))).text
    assert "Nothing was measured" in text
    assert "0 %" not in text.split("What did not count")[1].split("How to read this")[0]
    assert "error 2" in text


def test_an_empty_run_and_a_measured_one_differ_in_what_is_marked_simulated(tmp_path, page):
    assert "SIMULATED" in read(page).text
    assert b"<title>SIMULATED: " in page
    assert "SIMULATED" not in read(render(empty_run(tmp_path / "run"))).text


def test_a_window_that_was_set_is_marked_virtual_and_the_models_own_is_not(page, tmp_path):
    assert "A virtual window is smaller than the model's own" in read(page).text
    run = write_manifest(tmp_path / "run", strategies=["full"])
    write_session(run, "full", 0, lost_from=9)
    [file] = (run / "sessions").iterdir()
    file.write_bytes(file.read_bytes().replace(b'"window_source":"virtual"', b'"window_source":"model"'))
    assert "A virtual window is smaller" not in read(render(load_run(run))).text


def test_an_unknown_cost_is_called_unknown_and_never_0(quick, tmp_path):
    run = write_manifest(tmp_path / "run", strategies=["full"])
    write_session(run, "full", 0, lost_from=9)
    assert "cost unknown" in read(render(load_run(run))).text
    assert "cost $0.00" in read(render(quick)).text  # a simulated model costs nothing, and that is known


def test_gates_that_are_older_than_the_sessions_are_marked(quick):
    keep(quick, evaluate(quick, ["compliance >= 0.99"]))
    stands = quick.path / "gates.json"
    assert "Sessions were run after these gates were asked" not in read(render(load_run(quick.path))).text
    os.utime(stands, (1, 1))
    text = read(render(load_run(quick.path))).text
    assert "Sessions were run after these gates were asked" in text
    assert "compliance >= 0.99" in text
    stands.unlink()
    assert "gates were asked" not in read(render(load_run(quick.path))).text


def test_the_report_is_what_a_person_opens_first(quick, tmp_path):
    written = write_report(quick, ["md", "html"], tmp_path)
    assert [path.name for path in written] == ["report.html", "report.md"]
    assert written[0].read_bytes() == render(quick)


def test_a_strategy_that_never_left_anything_out_is_not_ranked(tmp_path):
    run = simulated(
        tmp_path / "run", "project-code", strategies=["full", {"type": "fifo", "keep": {"turns": 200}}], repeats=2
    )
    text = read(render(run)).text
    assert "Not ranked, because it left nothing out: fifo(keep=200 turns)" in text
    assert "not ranked: left nothing out" in text


def test_a_named_session_is_kept_whatever_the_room(quick):
    key = str(quick.sessions["session"].iloc[-1])
    small = render(quick, max_bytes=10)
    kept = render(quick, max_bytes=10, sessions=[key])
    assert not [1 for attributes, _ in read(small).scripts if str(attributes.get("id")).startswith("chunk-")]
    assert [1 for attributes, _ in read(kept).scripts if str(attributes.get("id")).startswith("chunk-")]


@pytest.mark.parametrize("occupancy", [1e3, 1e9, 2.0**53])
def test_one_absurd_occupancy_makes_the_page_no_larger(tmp_path, occupancy):
    folder = write_manifest(tmp_path / "run")
    write_session(folder, "fifo", 0, lost_from=9)
    path = write_session(folder, "fifo", 1, lost_from=9).path
    sound = len(render(load_run(folder)))
    path.write_bytes(path.read_bytes().replace(b'"occupancy":0.36', b'"occupancy":%r' % occupancy))
    run = load_run(folder)
    assert len(render(run)) < sound + 3000
    curve = run.summary.groups[0].by_occupancy["probe"]
    assert [point.label for point in curve][-2:] == ["140–150 %", "> 150 %"]
    assert curve[-1].n == 1
    assert curve[-1].x == pytest.approx(1.55)


def test_curves_that_find_no_room_are_left_out_and_said(quick):
    whole, small = (read(render(quick, max_bytes=size)) for size in (3_000_000, 1000))
    assert "curves are left out to keep this file small" in small.text
    assert f"contextrot plot {quick.path}" in small.text
    assert "left out to keep this file small" not in whole.text
    found, every = (
        orjson.loads(text)
        for page in (small, whole)
        for attributes, text in page.scripts
        if attributes.get("id") == "data-page"
    )
    assert found["survival"] == found["compliance"] == []
    assert found["curves_left_out"] == len(every["survival"]) + len(every["compliance"])


def test_a_limited_run_says_the_cap_and_how_far_it_came(tmp_path):
    limit = {"cap": "max_cost", "value": 1.5, "completed": 40, "cut": 2, "not_started": 1018}
    folder = write_manifest(tmp_path / "run", status="limited", limit=limit)
    write_session(folder, "fifo", 0)
    said = "The run is limited by the cap --max-cost $1.5 (40 complete, 2 cut short, 1,018 not begun of its sessions)"
    for text in said_of(folder):
        assert said in text
        assert "rescored" not in text


def test_a_rescored_run_says_from_which_when_and_how_many_verdicts_changed(tmp_path):
    mark = {"from": "results/old", "at": "2026-03-02T10:11:12+00:00", "version": "9.8", "graded": 120, "changed": 5}
    folder = write_manifest(tmp_path / "run", rescored=mark)
    write_session(folder, "fifo", 0)
    said = "The run was rescored: its verdicts were given anew to the replies of results/old on 2026-03-02 10:11 UTC by"
    for text in said_of(folder):
        assert f"{said} the checks of contextrot 9.8; 5 of 120 verdicts changed." in text


def test_a_completed_run_as_it_was_recorded_says_nothing_of_the_kind(tmp_path):
    folder = write_manifest(tmp_path / "run")
    write_session(folder, "fifo", 0)
    for text in said_of(folder):
        assert "The run is " not in text
        assert "The run was " not in text


def said_of(folder: Path) -> list[str]:
    """What the page, the Markdown and the terminal say of a run, each on one line and without escapes."""
    run = load_run(folder)
    screen = Console(file=io.StringIO(), width=100)
    print_summary(run.summary, screen)
    (markdown,) = write_report(run, ["md"])
    texts = (read(render(run)).text, markdown.read_text("utf-8").replace("\\", ""), screen.file.getvalue())
    return [" ".join(text.replace(" :", ":").split()) for text in texts]


def test_what_ships_in_the_page_is_what_is_listed():
    assert differing() == []


def test_licences_of_what_ships_are_in_the_page(page):
    text = read(page).text
    for words in ("Mike Bostock", "Observable, Inc.", "Mikola Lysenko", "released into the public domain"):
        assert words in text


def test_reading_a_summary_imports_no_templates(quick):
    code = (
        "import sys, runpy\nsys.argv = ['contextrot', 'report', sys.argv[1], '--json']\n"
        "try:\n    runpy.run_module('contextrot', run_name='__main__')\n"
        "finally:\n    print(sorted({'jinja2', 'matplotlib'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(quick.path)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip().endswith("[]")


def test_the_vendored_folder_holds_nothing_unlisted():
    from contextrot.report.html.vendored import FOLDER, listed

    known = {"VENDORED.json"} | {name for entry in listed() for name in (entry.file, entry.licence_file) if name}
    assert {path.name for path in Path(FOLDER).iterdir()} == known
