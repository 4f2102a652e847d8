"""Grids, rotated questions, distractors and generated tools in whole runs: what the tables show of them."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import orjson
import pytest
from small_bench import bench, session_lines

import contextrot as cr
from contextrot.errors import ConfigError, StoreError

GRID = """\
contextrot: 1
id: incident
title: A bridge in three arms
constraints:
  - id: aye
    text: Begin every reply with AYE.
    place: first_user
    reply: AYE, noted.
    check: {type: starts_with, text: AYE}
facts:
  - {id: code, text: "For later: our project code is {value}.", values: [BLUE-42, TEAL-7, RUST-19], at: 1}
  - {id: room, text: "The war room is {value}.", values: [B-12, C-40, D-7], at: 1}
distractors:
  - {id: staging, text: "The staging project's code is {value}.", values: [GREEN-11, PINK-3], at: [2, 3]}
tools:
  - {name: query_logs, description: Read the logs., returns: {kind: logs, tokens: 100}}
filler: {kind: tickets, tokens_per_turn: 40, tool_calls: {name: query_logs, every: 2}}
session: {turns: 6}
probes:
  - id: facts
    items:
      - {id: the-code, ask: What is our project code?, check: {type: recall, fact: code}}
      - {id: the-room, ask: What is the war room?, check: {type: recall, fact: room}}
    at: [4, 6, 9]
"""
PLAIN = GRID.replace("at: [4, 6, 9]", "at: [4, 6]")
AXES = "grid: {turns: [6, 9], place: [system, first_user]}\n"


@pytest.fixture
def grid_file(tmp_path: Path) -> Path:
    path = tmp_path / "incident.yaml"
    path.write_text(GRID + AXES, encoding="utf-8")
    return path


def test_cells_are_groups_of_their_own_under_one_family(grid_file: Path, tmp_path: Path) -> None:
    run = cr.bench(grid_file, models="sim/perfect", strategies=["full"], repeats=2, out=tmp_path / "run")
    names = [f"incident.turns-{turns}.{place}" for turns in (6, 9) for place in ("system", "first_user")]
    assert sorted({str(group.scenario) for group in run.summary.groups}) == sorted(names)
    assert set(run.sessions["family"]) == {"incident"}
    planned = run.sessions.groupby("scenario", observed=True)["turns_planned"].unique()
    assert {name: set(turns) for name, turns in planned.items()} == {
        name: {int(name.split(".")[1].removeprefix("turns-"))} for name in names
    }
    measured = run.sessions.loc[~run.sessions["control"]]
    assert len(measured) == 8
    assert set(run.verdicts["outcome"]) == {"pass", "fail"}
    assert set(run.verdicts.loc[run.verdicts["kind"].isin(["probe", "passive", "ceiling"]), "outcome"]) == {"pass"}
    assert (tmp_path / "run" / "sessions.csv").read_text(encoding="utf-8").splitlines()[0].count("family") == 1
    assert {entry["family"] for entry in run.config["scenarios"]} == {"incident"}


def test_a_session_of_no_grid_is_its_own_family(scenario_file: Path, tmp_path: Path) -> None:
    run = cr.bench(scenario_file, models="sim/perfect", strategies=["full"], repeats=1, out=tmp_path / "run")
    assert set(run.sessions["family"]) == {"triage"}
    assert set(run.verdicts["item"]) == {""}


def test_rotation_is_balanced_over_repeats_and_every_item_has_its_controls(grid_file: Path, tmp_path: Path) -> None:
    grid_file.write_text(PLAIN, encoding="utf-8")
    run = cr.bench(grid_file, models="sim/hazard?hazard=0.3", strategies=["full"], repeats=4, out=tmp_path / "run")
    rows = run.verdicts.loc[run.verdicts["kind"] == "probe", ["turn", "item"]]
    assert Counter(rows.itertuples(index=False, name=None)) == {
        (turn, item): 2 for turn in (4, 6) for item in ("the-code", "the-room")
    }
    controls = run.verdicts.loc[run.verdicts["kind"].isin(["ceiling", "floor"])]
    asked = Counter(controls.loc[controls["id"] == "facts", ["kind", "item"]].itertuples(index=False, name=None))
    assert asked == {(kind, item): 4 for kind in ("ceiling", "floor") for item in ("the-code", "the-room")}


def test_an_item_the_model_cannot_answer_is_incapable_and_the_others_are_not(grid_file: Path, tmp_path: Path) -> None:
    form = "{id: form, ask: Answer with a JSON object., check: {type: json}}"
    text = PLAIN.replace("{id: the-room, ask: What is the war room?, check: {type: recall, fact: room}}", form)
    grid_file.write_text(text, encoding="utf-8")
    run = cr.bench(
        grid_file, models="sim/hazard?hazard=0.2&cannot=json", strategies=["full"], repeats=20, out=tmp_path / "run"
    )
    failed = run.verdicts.loc[(run.verdicts["kind"] == "probe") & (run.verdicts["outcome"] == "fail")]
    causes = {str(item): set(rows["cause"]) for item, rows in failed.groupby("item", observed=True)}
    assert causes == {"form": {"incapable"}, "the-code": {"ignored"}}


def test_the_words_of_a_session_are_the_same_for_every_strategy(grid_file: Path, tmp_path: Path) -> None:
    bench(tmp_path / "run", grid_file, repeats=2, window=4000, history="scripted", controls=False)
    said: dict[tuple[str, int], set[bytes]] = {}
    for lines in session_lines(tmp_path / "run").values():
        records = [orjson.loads(line) for line in lines]
        head = records[0]
        log = [r["message"] for r in records if r["t"] == "msg" and r["branch"] is None and "message" in r]
        asked = sorted({(r["turn"], r["item"]) for r in records if r["t"] == "verdict" and r["kind"] == "probe"})
        said.setdefault((head["scenario"], head["repeat"]), set()).add(orjson.dumps([log, asked]))
    assert len(said) == 8
    assert all(len(words) == 1 for words in said.values())
    assert len({next(iter(words)) for words in said.values()}) == 8


def test_canned_rounds_are_in_a_written_history_and_only_there(grid_file: Path, tmp_path: Path) -> None:
    grid_file.write_text(PLAIN, encoding="utf-8")
    for history, rounds in (("scripted", 1), ("live", 0)):
        out = tmp_path / history
        bench(out, grid_file, strategies=["full"], repeats=1, window=4000, history=history, controls=False)
        (lines,) = session_lines(out).values()
        tools = [r for r in map(orjson.loads, lines) if r["t"] == "msg" and r["origin"] == "tool"]
        assert len(tools) == rounds
        origins = [r["origin"] for r in map(orjson.loads, lines) if r["t"] == "msg"]
        assert origins.count("distractor") == 2


def test_a_model_that_gives_the_near_value_is_told_so(
    grid_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = "class Agent:\n    def feed(self, text):\n        return 'AYE. It is GREEN-11 or so: GREEN-11.'\n"
    (tmp_path / "nearmiss_agent.py").write_text(agent + "def make():\n    return Agent()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    text = PLAIN.replace("values: [GREEN-11, PINK-3], at: [2, 3]", "values: [GREEN-11], at: 2")
    grid_file.write_text(text, encoding="utf-8")
    run = cr.bench(grid_file, models="python:nearmiss_agent:make", repeats=1, out=tmp_path / "run", controls=False)
    reasons = run.verdicts.loc[run.verdicts["item"] == "the-code", "reason"].tolist()
    assert reasons
    assert all("'GREEN-11', which was said of something else" in reason for reason in reasons)


def test_a_grid_run_resumes_without_a_call_and_refuses_another_grid(grid_file: Path, tmp_path: Path) -> None:
    first = bench(tmp_path / "run", grid_file, strategies=["full"])
    before = session_lines(tmp_path / "run")
    assert bench(tmp_path / "run", grid_file, strategies=["full"]) == first
    for name in list(before)[:2]:
        path = tmp_path / "run" / "sessions" / f"{name}.jsonl"
        path.write_bytes(b"\n".join(before[name][: len(before[name]) // 2]) + b"\n")
    manifest = tmp_path / "run" / "run.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"completed"', b'"interrupted"'))
    bench(tmp_path / "run", grid_file, strategies=["full"])
    assert _timeless(session_lines(tmp_path / "run")) == _timeless(before)
    grid_file.write_text(GRID + AXES.replace("9]", "12]"), encoding="utf-8")
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    with pytest.raises(StoreError, match="holds another run"):
        bench(tmp_path / "copy", grid_file, strategies=["full"])


def _timeless(sessions: dict[str, list[bytes]]) -> dict[str, list[dict[str, object]]]:
    return {
        key: [{k: v for k, v in orjson.loads(line).items() if k != "latency"} for line in lines]
        for key, lines in sessions.items()
    }


@pytest.mark.parametrize(
    ("axis", "setting"), [("turns: [6, 9]", {"turns": 7}), ("history: [live]", {"history": "live"})]
)
def test_a_setting_that_a_grid_crosses_is_refused(
    grid_file: Path, tmp_path: Path, axis: str, setting: dict[str, object]
) -> None:
    grid_file.write_text((GRID if "turns" in setting else PLAIN) + f"grid: {{{axis}}}\n", encoding="utf-8")
    name = next(iter(setting))
    with pytest.raises(ConfigError, match=rf"{name}: the grid of scenario 'incident' crosses `{name}`"):
        bench(tmp_path / "run", grid_file, **setting)


def test_a_setting_that_no_axis_is_of_holds_for_every_cell(grid_file: Path, tmp_path: Path) -> None:
    run = cr.bench(
        grid_file, models="sim/perfect", strategies=["full"], repeats=1, history="scripted", out=tmp_path / "run"
    )
    assert set(run.sessions["history"]) == {"scripted"}


SEVERAL = """\
contextrot: 1
id: open-tasks
facts:
  - {id: late, text: "A task: {value}.", values: [sign the loan, insure the globes], at: 6}
  - {id: early, text: "A task: {value}.", values: [measure the light, replace the lamps], at: 1}
filler: {kind: calendar, tokens_per_turn: 40}
session: {turns: 8, history: scripted}
probes:
  - {id: tasks, ask: Which tasks are open?, at: [6, 8], check: {type: recall_list, facts: [late, early]}}
"""


def test_an_answer_that_rests_on_several_facts_is_lost_with_any_of_them(tmp_path: Path) -> None:
    path = tmp_path / "tasks.yaml"
    path.write_text(SEVERAL, encoding="utf-8")
    strategies = ["full", {"type": "fifo", "keep": {"turns": 4}}]
    run = cr.bench(path, models="sim/perfect", strategies=strategies, repeats=2, out=tmp_path / "run")
    probes = run.verdicts[(run.verdicts["kind"] == "probe")]
    found = {
        (str(row.strategy), int(row.turn), str(row.outcome), bool(row.in_view), str(row.cause))
        for row in probes.itertuples()
    }
    assert found == {
        ("full", 6, "pass", True, ""),
        ("full", 8, "pass", True, ""),
        ("fifo(keep=4 turns)", 6, "fail", False, "lost"),
        ("fifo(keep=4 turns)", 8, "fail", False, "lost"),
    }
    neglected = cr.bench(path, models="sim/hazard?hazard=1", strategies=strategies, repeats=1, out=tmp_path / "bad")
    probes = neglected.verdicts[neglected.verdicts["kind"] == "probe"]
    assert set(zip(probes["strategy"].astype(str), probes["in_view"], strict=True)) == {
        ("full", True),
        ("fifo(keep=4 turns)", False),
    }


def test_a_value_that_only_the_question_names_is_no_evidence(tmp_path: Path) -> None:
    path = tmp_path / "choice.yaml"
    path.write_text(
        "contextrot: 1\nid: choice\n"
        'facts: [{id: code, text: "Our project code is {value}.", values: [BLUE-42], at: 1}]\n'
        "filler: {kind: email, tokens_per_turn: 40}\nsession: {turns: 8, history: scripted}\n"
        "probes:\n  - {id: choice, ask: Is it BLUE-42 or TEAL-7?, at: [0, 2, 8], check: {type: recall, fact: code}}\n",
        encoding="utf-8",
    )
    strategies = ["full", {"type": "fifo", "keep": {"turns": 4}}]
    run = cr.bench(path, models="sim/perfect", strategies=strategies, repeats=1, out=tmp_path / "run")
    probes = run.verdicts[run.verdicts["kind"] == "probe"]
    assert {(str(r.strategy), int(r.turn), str(r.outcome), bool(r.in_view)) for r in probes.itertuples()} == {
        ("full", 0, "pass", True),
        ("full", 2, "pass", True),
        ("full", 8, "pass", True),
        ("fifo(keep=4 turns)", 0, "pass", True),
        ("fifo(keep=4 turns)", 2, "pass", True),
        ("fifo(keep=4 turns)", 8, "fail", False),
    }
    controls = run.verdicts[run.verdicts["kind"].isin(["ceiling", "floor"])]
    assert {(str(r.kind), str(r.outcome)) for r in controls.itertuples()} == {("ceiling", "pass"), ("floor", "fail")}


def test_a_structured_compaction_carries_the_incident_bridge_over_two_compactions(tmp_path: Path) -> None:
    run = cr.bench(
        "incident-bridge",
        models="sim/perfect",
        strategies=["compaction", "summarization", "fifo"],
        auxiliary="extractive",
        repeats=1,
        out=tmp_path / "run",
    )
    sessions = run.sessions.query("not control").set_index("strategy")
    assert sessions["compactions"].to_dict() == {"fifo": 0, "rolling_summary": 2, "structured_compaction": 2}
    failed = run.verdicts[(run.verdicts["kind"] == "probe") & (run.verdicts["outcome"] == "fail")]
    assert set(failed["strategy"]) == {"fifo", "rolling_summary"}
    assert set(failed["cause"]) == {"lost"}
    assert "next-mitigation" in set(failed.loc[failed["strategy"] == "fifo", "id"]), "fifo proposes the rollback again"
