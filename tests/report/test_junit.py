"""JUnit: a case per constraint and probe that CI systems can read, and that fails only where a gate did."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
from run_writer import SessionWriter, write_manifest

from contextrot.analysis.cases import cases
from contextrot.analysis.gates import evaluate
from contextrot.analysis.tables import Run, load_run
from contextrot.report import junit
from contextrot.report.gating import FILE, keep, kept

HOSTILE = 'He said: ]]> & <b>"no"</b> \x00\x1b[31m\u202e\ufffe\x85 end'


def add_session(
    folder: Path,
    repeat: int,
    strategy: str,
    verdicts: list[tuple[int, str]],
    ended: str = "completed",
    *,
    reason: str = "no code",
    scenario: str = "project-code",
) -> None:
    """A session that asks for its code at these turns. What fails is lost."""
    writer = SessionWriter(
        folder, f"{scenario}--{strategy}--{repeat}", strategy=strategy, repeat=repeat, scenario=scenario
    )
    for turn, outcome in verdicts:
        writer.call(turn)
        failed = {"reason": reason, "evidence": reason, "in_view": False, "cause": "lost"} if outcome == "fail" else {}
        writer.verdict(turn, outcome, **failed)
    writer.end(verdicts[-1][0] if verdicts else 0, ended, "no answer")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Ten sessions of each: `fifo` loses the code at turn 6, `pinned` keeps it, `full` errs at once."""
    folder = write_manifest(tmp_path / "run")
    for repeat in range(10):
        add_session(folder, repeat, "fifo", [(0, "pass"), (3, "pass"), (6, "fail"), (9, "fail")])
        add_session(folder, repeat, "pinned", [(0, "pass"), (3, "pass"), (6, "pass"), (9, "pass")])
        add_session(folder, repeat, "full", [(0, "error")], "error")
    return load_run(folder)


def parsed(run: Run) -> ET.Element:
    root = ET.fromstring(junit.render(run))
    conforms(root)
    return root


def conforms(root: ET.Element) -> None:
    """The rules of Ant's format as written down by Windy Road (JUnit.xsd), which is the strictest in use."""
    assert (root.tag, root.attrib) == ("testsuites", {})
    number, decimal = re.compile(r"\d+"), re.compile(r"\d+(\.\d+)?")
    for place, suite in enumerate(root):
        assert suite.tag == "testsuite"
        assert suite.attrib.keys() == {
            "name", "package", "id", "timestamp", "hostname", "tests", "time", "failures", "errors", "skipped",
        }  # fmt: skip
        assert suite.get("id") == str(place)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp", ""))
        assert all(number.fullmatch(suite.get(name, "")) for name in ("tests", "failures", "errors", "skipped"))
        tags = [child.tag for child in suite]
        assert tags == ["properties", *["testcase"] * (len(tags) - 3), "system-out", "system-err"]
        assert all(entry.attrib.keys() == {"name", "value"} for entry in suite[0])
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(count) == str(sum(case.find(tag) is not None for case in cases))
        for case in cases:
            assert case.attrib.keys() == {"name", "classname", "time"}
            assert decimal.fullmatch(case.get("time", ""))
            assert len(case) <= 1
            assert all(child.tag in ("failure", "error", "skipped") for child in case)
        for tag in ("failure", "error"):
            assert all(child.attrib.keys() == {"type", "message"} for child in suite.iter(tag))


def test_without_gates_nothing_fails_however_much_rot_there_is(run: Run) -> None:
    root = parsed(run)
    assert not list(root.iter("failure"))
    told = root.findtext(".//system-out") or ""
    assert "fifo, probe code: passed 20 of 40 decided checks (50 %)" in told
    assert "first failure: turn 6" in told
    assert "SIMULATED" in told


def test_errors_are_errors(run: Run) -> None:
    [case] = [case for case in parsed(run).iter("testcase") if case.find("error") is not None]
    assert case.get("classname") == "project-code.sim/perfect.full"
    assert "error 10" in case.find("error").get("message")  # type: ignore[union-attr]


def test_a_failed_gate_fails_the_cases_that_broke_it(run: Run) -> None:
    keep(run, evaluate(run, ["median >= 9 turns [strategy=fifo]", "compliance >= 0.9 [strategy=pinned]", "calls <= 1"]))
    root = parsed(run)
    failed = [case for case in root.iter("testcase") if case.find("failure") is not None]
    assert [case.get("classname") for case in failed] == ["gates", "gates", "project-code.sim/perfect.fifo"]
    failure = root.find(".//testcase[@classname='project-code.sim/perfect.fifo']/failure")
    assert failure is not None
    assert failure.get("type") == "lost"
    assert failure.get("message") == "first failed at turn 6 (lost); 20 of 40 checks failed"
    assert "covered by the failed gate: median >= 9 turns [strategy=fifo]" in (failure.text or "")


def test_a_ceiling_is_broken_by_no_check(run: Run) -> None:
    keep(run, evaluate(run, ["calls <= 1"]))
    root = parsed(run)
    assert [case.get("classname") for case in root.iter("testcase") if case.find("failure") is not None] == ["gates"]


def test_no_verdict_is_an_error_and_no_pass(run: Run) -> None:
    keep(run, evaluate(run, ["median >= 9 turns [strategy=full]"]))
    [suite, *_] = parsed(run)
    assert (suite.get("name"), suite.get("errors"), suite.get("failures")) == ("gates", "1", "0")


def test_what_was_kept_comes_back(run: Run) -> None:
    result = evaluate(run, ["median >= 9 turns", "rmst >= 3"])
    keep(run, result)
    assert kept(run) == result
    (run.path / FILE).write_text('{"verdicts": [{"gate": 3}]}', encoding="utf-8")
    assert kept(run) is None


def test_hostile_text_is_shown_and_breaks_nothing(tmp_path: Path) -> None:
    folder = write_manifest(tmp_path / "run", scenarios=[{"id": "a<b>&.c", "title": ""}], strategies=["fifo"])
    for repeat in range(6):
        add_session(folder, repeat, "fifo", [(0, "pass"), (3, "fail")], reason=HOSTILE, scenario="a<b>&.c")
    run = load_run(folder)
    keep(run, evaluate(run, ["median >= 9 turns"]))
    raw = junit.render(run)
    root = parsed(run)
    text = "".join(root.itertext())
    assert "]]> & <b>" in text
    assert "\\x1b[31m" in text
    assert b"]]>" not in raw
    names = [case.get("classname", "") for case in root.iter("testcase")]
    assert names == ["gates", "a<b>&_c.sim/perfect.fifo"]


@pytest.mark.parametrize("sign", ["\x00", "\x0b", "\ufffe", "\uffff", "\ud800"])
def test_what_xml_cannot_hold_is_escaped(sign: str) -> None:
    safe = junit._safe(f"a{sign}b")
    assert sign not in safe
    assert ET.fromstring(ET.tostring(_element(safe))).text == safe


def _element(text: str) -> ET.Element:
    element = ET.Element("x")
    element.text = text
    return element


def test_a_session_in_which_nothing_was_ever_checked_is_a_case_of_its_own(tmp_path: Path) -> None:
    folder = write_manifest(tmp_path / "run")
    add_session(folder, 0, "fifo", [], "error")
    run = load_run(folder)
    [case] = cases(run)
    assert (case.kind, case.undecided) == ("session", {"error": 1})
    assert parsed(run).find(".//testcase/error") is not None


def test_skipped_where_nothing_came_up(tmp_path: Path) -> None:
    folder = write_manifest(tmp_path / "run")
    add_session(folder, 0, "fifo", [(0, "not_exercised")])
    assert parsed(load_run(folder)).find(".//testcase/skipped") is not None


def test_the_time_of_a_call_is_shared_by_the_checks_on_it(run: Run) -> None:
    fifo = next(case for case in cases(run) if case.strategy == "fifo")
    assert fifo.seconds == pytest.approx(40 * 0.25)
