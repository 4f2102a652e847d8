"""The step summary and annotations of GitHub Actions: their limits, their places, their escapes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
from run_writer import SessionWriter, write_manifest

from contextrot.analysis.gates import evaluate
from contextrot.analysis.tables import Run, load_run
from contextrot.report import github
from contextrot.report.gating import keep

SCENARIO = """\
contextrot: 1
id: small
constraints:
  - text: Be brief.
    id: brief
    check: {type: count, unit: words, at_most: 9}
facts: [{id: code, text: "The code is {value}.", values: [A, B]}]
session: {turns: 9}
probes:
  - {id: brief, constraint: brief, at: 3}
  - id: code
    ask: Which code?
"""


def written(folder: Path, sources: dict[str, str], ids: tuple[str, ...] = ("code",), strategies: int = 1) -> Run:
    """A run whose checks fail at turn 3 in each of six sessions; sources: scenario → file."""
    listed = [{"id": name, "title": name, "source": path} for name, path in sources.items()]
    write_manifest(folder, scenarios=listed, strategies=[f"s{number}" for number in range(strategies)])
    for scenario in sources:
        for strategy in range(strategies):
            for repeat in range(6):
                key = f"{scenario}--{strategy}--{repeat}"
                writer = SessionWriter(folder, key, scenario=scenario, strategy=f"s{strategy}", repeat=repeat)
                for turn, outcome in ((0, "pass"), (3, "fail")):
                    writer.call(turn)
                    for name in ids:
                        kind = "passive" if name.startswith("rule-") else "probe"
                        cause = "lost" if outcome == "fail" else None
                        writer.verdict(turn, outcome, id=name.removeprefix("rule-"), kind=kind, cause=cause)
                writer.end(9)
    return load_run(folder)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one scenario, in which contextrot runs."""
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "small.yaml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [("passive", "brief", 5), ("probe", "brief", 10), ("probe", "code", 11), ("probe", "x", None)],
)
def test_the_line_of_a_rule_or_probe(workspace: Path, kind: str, name: str, line: int | None) -> None:
    assert github.line_of(workspace / "checks" / "small.yaml", kind, name) == line


def test_a_file_that_cannot_be_read_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: [", encoding="utf-8")
    assert github.line_of(tmp_path / "x.yaml", "probe", "a") is None
    assert github.line_of(tmp_path / "none.yaml", "probe", "a") is None


def test_without_gates_failed_checks_are_warnings_on_their_lines(workspace: Path) -> None:
    run = written(workspace / "run", {"small": "checks/small.yaml"}, ("code", "rule-brief"), strategies=2)
    found = github.annotate(run, {"GITHUB_WORKSPACE": str(workspace)})
    assert [line.partition(",title")[0] for line in found] == [
        "::warning file=checks/small.yaml,line=5",
        "::warning file=checks/small.yaml,line=11",
    ]
    assert found[0].count("first failed at turn 3 (lost); 6 of 12 checks failed") == 2
    assert "s0: " in found[0]
    assert "s1: " in found[0]
    assert "SIMULATED" in found[0]


def test_with_gates_only_what_broke_one_is_shown_and_as_errors(workspace: Path) -> None:
    run = written(workspace / "run", {"small": "checks/small.yaml"}, strategies=2)
    keep(run, evaluate(run, ["median >= 9 turns [strategy=s1]"]))
    gate, place = github.annotate(run, {"GITHUB_WORKSPACE": str(workspace)})
    assert gate.startswith("::error title=contextrot%3A gate failed::median >= 9 turns [strategy=s1]")
    assert place.startswith("::error file=checks/small.yaml,line=11,")
    assert "s1: first failed" in place
    assert "s0" not in place
    keep(run, evaluate(run, ["median >= 1 turns"]))
    assert github.annotate(run, {"GITHUB_WORKSPACE": str(workspace)}) == []


def test_a_scenario_outside_the_workspace_has_no_place(workspace: Path) -> None:
    run = written(workspace / "run", {"small": "checks/small.yaml"})
    [found] = github.annotate(run, {"GITHUB_WORKSPACE": str(workspace / "elsewhere")})
    assert found.startswith("::warning title=")


def test_ten_annotations_at_most(workspace: Path) -> None:
    ids = tuple(f"probe-{number}" for number in range(30))
    run = written(workspace / "run", {"small": "checks/small.yaml"}, ids, strategies=12)
    assert len(github.annotate(run, {})) == 10
    keep(run, evaluate(run, ["median >= 9 turns"]))
    found = github.annotate(run, {})
    assert len(found) == 10
    assert sum("gate failed" in line for line in found) == 5


def test_what_a_name_says_cannot_end_the_command(workspace: Path) -> None:
    nasty = "a,b:c%::error::x\n::stop-commands::y"
    run = written(workspace / "run", {nasty: "checks/small.yaml"}, ("100%\r\nid,x:y",))
    [found] = github.annotate(run, {"GITHUB_WORKSPACE": str(workspace)})
    properties, _, message = found.removeprefix("::warning ").partition("::")
    assert "\n" not in found
    assert "\r" not in found
    assert "::stop-commands" not in properties
    assert [part.partition("=")[0] for part in properties.split(",")] == ["file", "title"]
    assert "100%25" in properties
    assert message.startswith("SIMULATED. s0")


def test_the_summary_is_appended_and_kept(workspace: Path) -> None:
    run = written(workspace / "run", {"small": "checks/small.yaml"})
    keep(run, evaluate(run, ["median >= 9 turns"]))
    target = workspace / "summary.md"
    target.write_text("before\n", encoding="utf-8")
    copy, named = github.write_step_summary(run, {"GITHUB_STEP_SUMMARY": str(target)})
    assert named == target
    text = target.read_text(encoding="utf-8")
    assert text == "before\n" + copy.read_text(encoding="utf-8")
    assert text.index("## Gates") < text.index("# What run found")
    assert "](plots/" not in text
    assert github.write_step_summary(run, {}) == [copy]


def test_a_summary_never_grows_past_its_limit(workspace: Path) -> None:
    names = {f"scenario-{number}-{'x' * 60}": "checks/small.yaml" for number in range(40)}
    run = written(workspace / "run", names, strategies=2)
    whole = github.step_summary(run)
    room = len(whole.encode()) // 2
    cut = github.step_summary(run, room)
    assert len(cut.encode()) <= room
    assert "The rest is left out" in cut
    assert github.step_summary(run, 10) == ""
    target = workspace / "summary.md"
    target.write_bytes(b"x" * (github.MOST_BYTES - room))
    github.write_step_summary(run, {"GITHUB_STEP_SUMMARY": str(target)})
    assert github.MOST_BYTES - room < target.stat().st_size <= github.MOST_BYTES
