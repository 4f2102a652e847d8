"""The baseline file: what goes in comes out, it is small, and what is wrong with one is a sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from run_writer import write_three_strategies
from simulated_evidence import evidence, floors, group

from contextrot.analysis.baseline import load_baseline, write_baseline
from contextrot.analysis.evidence import evidence_of
from contextrot.analysis.tables import load_run
from contextrot.errors import BaselineError


def test_what_goes_in_comes_out(tmp_path: Path):
    run = evidence(
        group([4, None, 12], called=(3, 5)) + group([2, 6, None], strategy="fifo", cost=None, fired=False),
        floors=floors("tone"), versions={"python": "3.11"}, git_commit="abc", simulated=True,
    )  # fmt: skip
    write_baseline(run, tmp_path / "deep" / "baseline.json")
    found = load_baseline(tmp_path / "deep" / "baseline.json")
    assert found == replace(run, source="baseline.json", spent={})


def test_a_run_and_its_baseline_say_the_same_durations(tmp_path: Path):
    run = load_run(write_three_strategies(tmp_path / "run"))
    known = evidence_of(run)
    write_baseline(known, tmp_path / "baseline.json")
    again = load_baseline(tmp_path / "baseline.json")
    rows = run.sessions.loc[~run.sessions["control"].astype(bool)].set_index(["strategy", "repeat"])
    assert len(again.sessions) == len(rows) == 18
    for session in again.sessions:
        row = rows.loc[(session.strategy, session.repeat)]
        turns, event, kind = session.lasted()
        assert (turns, kind, event) == (row["duration"], row["event"], int(row["event"] != ""))
    fired = {s.strategy for s in known.sessions if s.fired}
    assert fired == {"fifo"}  # in this run `full` and `pinned` leave nothing out
    assert load_baseline(tmp_path / "run").sessions == known.sessions


def test_it_is_small_and_reads_well_in_a_diff(tmp_path: Path):
    write_baseline(evidence(group([None] * 40)), tmp_path / "b.json")
    text = (tmp_path / "b.json").read_text("utf-8")
    assert len(text) < 300 * 40
    assert sum('"repeat"' in line for line in text.splitlines()) == 40  # one session a line
    assert '"0p 2p 4p' in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "contextrot baseline set RUN"),
        ("{", "damaged"),
        ("[]", "no baseline file"),
        ('{"a": 1}', "no baseline file"),
        ('{"contextrot_baseline": 99}', "format 99"),
        ('{"contextrot_baseline": 1}', "damaged"),
    ],
)
def test_a_baseline_that_cannot_be_used_is_a_sentence(tmp_path: Path, content: str | None, said: str):
    path = tmp_path / "b.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(BaselineError) as error:
        load_baseline(path)
    assert said in str(error.value)


SESSION = ("groups", 0, "sessions", 1)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ((*SESSION, "tokens"), "many", "groups[0].sessions[1].tokens: input should be a valid integer, not 'many'"),
        ((*SESSION, "tokens"), -1, "groups[0].sessions[1].tokens"),
        ((*SESSION, "tokens"), True, "groups[0].sessions[1].tokens"),
        ((*SESSION, "cost"), "x", "groups[0].sessions[1].cost: input should be a valid number, not 'x'"),
        ((*SESSION, "calls"), 1.5, "groups[0].sessions[1].calls"),
        ((*SESSION, "last_turn"), "ten", "groups[0].sessions[1].last_turn"),
        ((*SESSION, "ended"), "well", "groups[0].sessions[1].ended: should be one of completed, "),
        ((*SESSION, "called"), [1], "groups[0].sessions[1].called"),
        ((*SESSION, "fired"), "yes", "groups[0].sessions[1].fired"),
        ((*SESSION, "checks", "code"), "0p 2x", "turns with p, f or u, as in 0p 5p 10f, not '0p 2x'"),
        ((*SESSION, "checks"), [], "groups[0].sessions[1].checks"),
        ((*SESSION, "no_room"), {"code": "12 x"}, "groups[0].sessions[1].no_room.code"),
        ((*SESSION, "repeat"), 0, "repeat 0 of pinned on agent in tickets is listed 2 times"),
        (("groups", 0, "turns"), "10", "groups[0].turns: input should be a valid integer, not '10'"),
        (("groups", 0, "seed"), None, ""),
        (("repeats",), "8", "repeats: input should be a valid integer, not '8'"),
        (("simulated",), "no", "simulated"),
        (("scenarios",), {"tickets": 1}, "scenarios.tickets"),
        (("floors",), [["tickets", "agent"]], "floors[0]"),
        (("later",), {"a": 1}, ""),  # a key of a newer version of the same format
    ],
)
def test_a_file_edited_by_hand_is_named_field_by_field(tmp_path: Path, place: tuple[str | int, ...], value, said: str):
    path = tmp_path / "b.json"
    write_baseline(evidence(group([4, None, 12], ended="overflow", last_turn=40)), path)
    content = json.loads(path.read_text("utf-8"))
    inner = content
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    path.write_text(json.dumps(content), encoding="utf-8")
    if not said:
        assert len(load_baseline(path).sessions) == 3
        return
    with pytest.raises(BaselineError) as error:
        load_baseline(path)
    assert str(error.value).startswith(f"{path} is damaged: ")
    assert said in str(error.value)


def test_every_fault_is_counted_and_the_first_are_named(tmp_path: Path):
    path = tmp_path / "b.json"
    write_baseline(evidence(group([None] * 9)), path)
    path.write_text(path.read_text("utf-8").replace('"tokens":1000', '"tokens":"1000"'), encoding="utf-8")
    with pytest.raises(BaselineError, match=r"sessions\[4\]\.tokens.*; and 4 more; take back the edit"):
        load_baseline(path)


@pytest.mark.parametrize("number", ["1e999", "NaN", "1" + "0" * 400])
def test_a_number_that_is_none_is_damage(tmp_path: Path, number: str):
    path = tmp_path / "b.json"
    write_baseline(evidence(group([None] * 2)), path)
    path.write_text(path.read_text("utf-8").replace('"cost":0.01', f'"cost":{number}'), encoding="utf-8")
    with pytest.raises(BaselineError, match="damaged"):
        load_baseline(path)


def test_a_verdict_that_is_none_is_found(tmp_path: Path):
    path = tmp_path / "b.json"
    write_baseline(evidence(group([None])), path)
    content = json.loads(path.read_text("utf-8"))
    content["groups"][0]["sessions"][0]["checks"]["code"] = "0p 2x"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(BaselineError, match="2x"):
        load_baseline(path)


def test_folders_that_are_no_run_and_runs_without_sessions(tmp_path: Path):
    with pytest.raises(BaselineError, match=r"run\.json"):
        load_baseline(tmp_path)
    with pytest.raises(BaselineError, match="no sessions"):
        write_baseline(evidence([]), tmp_path / "b.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(BaselineError, match="cannot write"):
        write_baseline(evidence(group([None])), tmp_path / "file" / "b.json")
