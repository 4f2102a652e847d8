"""What is known of gates before the first call is told before it: the errors of after the run, and what is in vain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from contextrot.analysis.evidence import Evidence, evidence_of
from contextrot.analysis.gate_plan import check_plan, planned_evidence
from contextrot.analysis.gates import evaluate
from contextrot.analysis.tables import load_run
from contextrot.bench.matrix import load_matrix
from contextrot.config import BenchConfig
from contextrot.errors import BaselineError, NothingMatchedError
from contextrot.gate_grammar import parse_gates

SMALL = """\
contextrot: 1
id: small
system: You are a careful assistant.
constraints:
  - {id: upper, text: Answer in upper case., place: {turn: 3}, check: {type: case, is: upper}}
facts:
  - {id: code, text: "Our code is {value}.", values: [BLUE-42, TEAL-7]}
filler: {kind: notes, tokens_per_turn: 40}
session: {turns: 8, history: HISTORY}
probes:
  - {id: ask-code, ask: What is our code?, at: [0, 2, 4, 8], check: {type: recall, fact: code}}
"""


def planned(folder: Path, history: str = "scripted", text: str = SMALL, **settings) -> Evidence:
    path = folder / "small.yaml"
    path.write_text(text.replace("HISTORY", history), encoding="utf-8")
    given = {"models": ["sim/perfect"], "strategies": ["full", "fifo"], "repeats": 6, "controls": False}
    return planned_evidence(load_matrix(BenchConfig(scenarios=[str(path)], **given | settings)))


@pytest.mark.parametrize("history", ["scripted", "live"])
def test_what_is_planned_is_what_the_run_holds(tmp_path: Path, history: str):
    import contextrot as cr

    before = planned(tmp_path, history, window=4000)
    cr.bench(
        tmp_path / "small.yaml", models=["sim/perfect"], strategies=["full", "fifo"], repeats=6, controls=False,
        window=4000, out=tmp_path / "run",
    )  # fmt: skip
    after = evidence_of(load_run(tmp_path / "run"))
    same = ("scenario", "model", "strategy", "repeat", "seed", "turns", "window", "history")
    assert [[getattr(s, name) for name in same] for s in before.sessions] == [
        [getattr(s, name) for name in same] for s in after.sessions
    ]
    for mine, theirs in zip(before.sessions, after.sessions, strict=True):
        assert mine.asked() == theirs.asked()
    assert (before.hashes, before.tests, before.texts) == (after.hashes, after.tests, after.texts)


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("median >= 3 turns [strategy=nosuch]", "strategy: fifo"),
        ("compliance at turn 40 >= 0.9", "sessions have 8 turns"),
        ("compliance at turn 7 >= 0.9", "nothing is checked at turn 7"),
    ],
)
def test_a_scope_or_turn_that_is_nowhere(tmp_path: Path, gate: str, said: str):
    with pytest.raises(NothingMatchedError, match=said):
        check_plan(parse_gates([gate]), planned(tmp_path))
    assert (
        check_plan(parse_gates(["compliance at turn 8 >= 0.9", "median >= 3 [strategy=fifo*]"]), planned(tmp_path))
        == []
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"seed": 3}, r"another seed \(0, now 3\)"),
        ({"turns": 6}, r"another number of turns \(8, now 6\)"),
        ({"window": 500}, r"another window"),
        ({"history": "live"}, "another history"),
        ({"models": ["sim/hazard", "sim/decay"]}, "nothing in common"),
    ],
)
def test_a_baseline_that_does_not_fit(tmp_path: Path, settings: dict, said: str):
    before, drops = planned(tmp_path), parse_gates(["rmst: -10%"])
    with pytest.raises(BaselineError, match=said):
        check_plan(drops, planned(tmp_path, **settings), before)
    assert check_plan(drops, planned(tmp_path), before) == []


def test_one_group_of_two_that_does_not_fit_is_enough(tmp_path: Path):
    now = planned(tmp_path)
    before = replace(now, sessions=tuple(replace(s, window=99) if s.strategy == "full" else s for s in now.sessions))
    with pytest.raises(BaselineError, match="full on sim/perfect in small: another window"):
        check_plan(parse_gates(["rmst: -10%"]), now, before)


def test_a_window_that_only_the_model_can_tell_is_left_to_the_run(tmp_path: Path):
    now = planned(tmp_path)
    unknown = replace(now, sessions=tuple(replace(s, window=None) for s in now.sessions))
    assert check_plan(parse_gates(["rmst: -10%"]), unknown, now) == []


def test_gates_that_can_have_no_verdict_are_named(tmp_path: Path):
    few = planned(tmp_path, repeats=3)
    told = check_plan(parse_gates(["rmst: -10%", "median >= 5 turns", "median >= 20 turns"]), few, few)
    assert [sentence.split("'")[1] for sentence in told] == [
        "median >= 5 turns", "median >= 20 turns", "median >= 20 turns", "rmst: -10%",
    ]  # fmt: skip
    assert "it takes 6 pairs of sessions, there will be 3" in told[-1]
    assert "no session of 8 turns shows 20 turns" in told[2]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a careful", "a hasty", "(system)"),
        ("id: small", "id: small\ntitle: Another one", "(title)"),
        ("Answer in upper case.", "Write all letters in capitals.", "(rule upper)"),
        ("place: {turn: 3}", "place: first_user", "(rule upper)"),
        ("values: [BLUE", "pinned: true, values: [BLUE", "(fact code)"),
    ],
)
def test_another_text_is_compared_with_a_note(tmp_path: Path, old: str, new: str, said: str):
    """A change of a prompt is what a pull request is about: it must not stand in the way of its own comparison."""
    before, after = planned(tmp_path), planned(tmp_path, text=SMALL.replace(old, new))
    assert before.hashes != after.hashes
    assert check_plan(parse_gates(["rmst: -10%"]), after, before) == []
    # The sessions of a plan have no results; those below have, so that there is something to hold to the gate.
    results = [replace(s, ended="completed", last_turn=8, checks={"ask-code": ((0, "p"), (4, "p"), (8, "p"))})
               for s in after.sessions]  # fmt: skip
    runs = [replace(one, sessions=tuple(results), status="completed") for one in (before, after)]
    result = evaluate(runs[1], ["rmst: -10%"], runs[0])
    assert result.exit_code == 0
    assert any(f"the scenario's texts changed {said}" in note for note in result.notes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("What is our code?", "Which code do we have?"),
        ("at: [0, 2, 4, 8]", "at: [0, 2, 4, 6, 8]"),
        ("{type: case, is: upper}", "{type: case, is: lower}"),
        ("[BLUE-42, TEAL-7]", "[BLUE-42, RUST-1]"),
        ("Our code is", "The code is"),
        ("tokens_per_turn: 40", "tokens_per_turn: 80"),
        ("kind: notes", "kind: tickets"),
    ],
)
def test_another_test_is_refused_unless_accepted(tmp_path: Path, old: str, new: str):
    before, after = planned(tmp_path), planned(tmp_path, text=SMALL.replace(old, new))
    with pytest.raises(BaselineError, match=r"the scenario changed in what it tests .* --accept-changed"):
        check_plan(parse_gates(["rmst: -10%"]), after, before)
    assert check_plan(parse_gates(["rmst: -10%"]), after, before, accept_changed=True) == []


def test_a_baseline_of_before_is_held_to_the_whole_file(tmp_path: Path):
    """It does not know what of the scenario is its test."""
    old = replace(planned(tmp_path), tests={}, texts={})
    drops = parse_gates(["rmst: -10%"])
    assert check_plan(drops, planned(tmp_path), old) == []
    changed = planned(tmp_path, text=SMALL.replace("a careful", "a hasty"))
    with pytest.raises(BaselineError, match="the scenario changed"):
        check_plan(drops, changed, old)
