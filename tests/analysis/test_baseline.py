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
