"""The controls: every probe in a fresh session, its rule stated right before it (ceiling) or never (floor)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_server import FaultServer, error, ok, serving
from recorded import TOO_LONG, ask, of, sessions, texts, write
from small_bench import bench

SCENARIO = """\
contextrot: 1
id: ruled
system: You help.
constraints:
  - {id: aye, text: Begin every reply with AYE., check: {type: starts_with, text: AYE}}
  - {id: bye, text: End every reply with BYE., place: first_user, check: {type: ends_with, text: BYE}}
facts: [{id: code, text: "Our code is {value}.", values: [BLUE-42, TEAL-7], at: 2, changes: [4]}]
filler: {items: [work]}
session: {turns: 6}
probes:
  - {id: code, ask: What is our code?, at: [3, 6], check: {type: recall, fact: code}}
  - {id: hello, ask: How do you do?, at: 6, constraint: aye}
"""


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with serving() as started:
        yield started


def test_the_ceiling_states_the_rule_right_before_the_question_and_the_floor_never(
    server: FaultServer, tmp_path: Path
) -> None:
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO), controls=True)
    (head,) = (records[0] for records in sessions(tmp_path / "run").values() if records[0]["control"])
    assert head["strategy"] == "control"
    both = "You help.\n\nBegin every reply with AYE."
    code = next(text for body in server.seen for text in texts(body) if text.endswith("What is our code?"))
    code = code.split("\n\n", maxsplit=1)[0]
    assert [texts(body) for body in server.seen[:6]] == [
        [both, f"{code}\n\nWhat is our code?"],
        [both, "What is our code?"],
        [both, "How do you do?"],
        ["You help.", "How do you do?"],
        [both, "End every reply with BYE.\n\nwork"],
        [both, "work"],
    ]
    (control,) = (records for records in sessions(tmp_path / "run").values() if records[0]["control"])
    asked = [(r["kind"], r["id"], r["subject"]) for r in of(control, "verdict")]
    assert asked == [
        ("ceiling", "code", "code"), ("floor", "code", "code"),
        ("ceiling", "hello", "aye"), ("floor", "hello", "aye"),
        ("ceiling", "bye", "bye"), ("floor", "bye", "bye"),
    ]  # fmt: skip
    assert {r["purpose"] for r in of(control, "call")} == {"control"}
    assert {r["cause"] for r in of(control, "verdict")} == {None}


def test_they_are_asked_once_for_each_scenario_model_and_repeat(scenario_file: Path, tmp_path: Path) -> None:
    models = ["sim/perfect", "sim/hazard?hazard=0.5"]
    bench(tmp_path / "run", scenario_file, models=models, strategies=["full", "fifo", "pinned"], repeats=2)
    heads = [records[0] for records in sessions(tmp_path / "run").values()]
    controls = sorted((head["model"], head["repeat"]) for head in heads if head["control"])
    assert controls == sorted((model, repeat) for model in models for repeat in (0, 1))
    assert len(heads) == len(controls) + 2 * 3 * 2


def test_there_are_none_when_none_are_wanted(scenario_file: Path, tmp_path: Path) -> None:
    bench(tmp_path / "run", scenario_file, controls=False)
    assert not any(records[0]["control"] for records in sessions(tmp_path / "run").values())


def test_one_that_does_not_fit_has_its_outcome_and_the_others_are_asked(server: FaultServer, tmp_path: Path) -> None:
    server.plays(error(400, TOO_LONG), ok("fine"))
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO), controls=True)
    (control,) = (records for records in sessions(tmp_path / "run").values() if records[0]["control"])
    assert [r["outcome"] for r in of(control, "verdict")] == ["overflow", "fail", "fail", "fail", "fail", "fail"]
    assert control[-1]["ended"] == "completed"


def test_one_that_gets_no_answer_says_so_and_is_asked_again_on_resume(server: FaultServer, tmp_path: Path) -> None:
    scenario = write(tmp_path, SCENARIO)
    server.plays(ok("BLUE-42 TEAL-7"), error(500, "down"), ok("fine"))
    ask(server, tmp_path / "run", scenario, controls=True)
    (control,) = (records for records in sessions(tmp_path / "run").values() if records[0]["control"])
    assert [r["outcome"] for r in of(control, "verdict")][-1] == "error"
    assert control[-1]["ended"] == "error"
    asked = len(server.seen)
    ask(server, tmp_path / "run", scenario, controls=True)
    assert len(server.seen) == asked + 5
    (control,) = (records for records in sessions(tmp_path / "run").values() if records[0]["control"])
    assert len(of(control, "verdict")) == 6
    assert control[-1]["ended"] == "completed"
