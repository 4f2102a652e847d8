"""The tables hold exactly what the session files say, in the columns of docs/run-directory.md."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import pandas as pd
import pytest
from run_writer import SessionWriter, write_controls, write_manifest, write_session, write_three_strategies

from contextrot.analysis.tables import first_failures, load_run, write_tables
from contextrot.errors import StoreError

DOCS = Path(__file__).parents[2] / "docs" / "run-directory.md"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return load_run(write_three_strategies(tmp_path_factory.mktemp("run")))


def documented_columns(table: str) -> list[str]:
    listed = re.search(rf"`{table}\.csv`, one row per \w+: `([^`]*)`", DOCS.read_text("utf-8"))
    assert listed is not None
    return [name.strip() for name in listed.group(1).split(",")]


def session(run, strategy: str, repeat: int = 0) -> pd.Series:
    rows = run.sessions
    return rows.loc[(rows["strategy"] == strategy) & (rows["repeat"] == repeat)].iloc[0]


@pytest.mark.parametrize("table", ["sessions", "turns", "verdicts"])
def test_columns_are_the_documented_ones(run, table):
    assert list(getattr(run, table).columns) == documented_columns(table)


def test_one_row_for_each_record(run):
    assert len(run.sessions) == 18 + 6
    # full: 18 turns and 7 probes; fifo and pinned: 24 turns and 9 probes; a control: 2 calls
    assert len(run.turns) == 6 * (25 + 33 + 33 + 2)
    assert len(run.verdicts) == 6 * (7 + 9 + 9 + 2)
    assert run.status == "completed"
    assert run.simulated
    assert run.models_returned == {"sim/perfect": {"perfect"}}


def test_a_session_that_lost_the_fact_fails_at_turn_9(run):
    row = session(run, "fifo")
    assert (row["first_fail_turn"], row["last_pass_turn"], row["duration"], row["event"]) == (9, 6, 9, "fail")
    assert (row["ended"], row["last_turn"], row["calls"]) == ("completed", 24, 33)
    assert (row["prompt_tokens"], row["completion_tokens"]) == (3300, 330)
    assert pd.isna(row["cached_tokens"])
    assert pd.isna(row["cost"])
    assert row["mean_prefix_reuse"] == 0.5


def test_a_session_that_kept_it_is_censored_where_it_was_last_checked(run):
    row = session(run, "pinned")
    assert pd.isna(row["first_fail_turn"])
    assert (row["last_pass_turn"], row["duration"], row["event"]) == (24, 24, "")


def test_an_overflow_is_an_event_of_its_own_at_the_turn_it_happened(run):
    row = session(run, "full")
    assert (row["duration"], row["event"], row["ended"]) == (18, "overflow", "overflow")


def test_controls_have_no_duration(run):
    controls = run.sessions.loc[run.sessions["control"].astype(bool)]
    assert len(controls) == 6
    assert controls["duration"].isna().all()


def test_what_a_strategy_did_is_counted_per_call(run):
    calls = run.turns.loc[(run.turns["strategy"] == "fifo") & (run.turns["repeat"] == 0) & (run.turns["turn"] == 9)]
    live = calls.loc[calls["purpose"] == "turn"].iloc[0]
    assert (live["verbatim"], live["dropped"], live["masked"]) == (16, 2, 0)


def test_a_verdict_carries_the_occupancy_of_its_call(run):
    rows = run.verdicts.loc[(run.verdicts["strategy"] == "fifo") & (run.verdicts["turn"] == 24)]
    assert set(rows["occupancy"]) == {24 * 0.04}


def test_patience_waits_for_failing_turns_in_a_row(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    for turn, outcome in ((3, "fail"), (6, "pass"), (9, "fail"), (12, "inconclusive"), (15, "fail"), (18, "fail")):
        writer.verdict(turn, outcome)
    run = load_run(tmp_path)
    found = {k: first_failures(run.verdicts, run.sessions, patience=k).iloc[0] for k in (1, 2, 3, 4)}
    assert [found[k]["first_fail_turn"] for k in (1, 2, 3)] == [3, 15, 18]
    assert pd.isna(found[1]["last_pass_turn"])
    assert found[2]["last_pass_turn"] == 6
    assert pd.isna(found[4]["first_fail_turn"])
    assert (found[4]["duration"], found[4]["event"]) == (18, "")
    with pytest.raises(ValueError, match="at least 1"):
        first_failures(run.verdicts, run.sessions, patience=0)


def test_one_failed_check_makes_the_turn_fail(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    writer.verdict(3, "pass")
    writer.verdict(6, "pass")
    writer.verdict(6, "fail", kind="passive", id="json")
    row = load_run(tmp_path).sessions.iloc[0]
    assert (row["first_fail_turn"], row["last_pass_turn"]) == (6, 3)


def test_undecided_outcomes_neither_pass_nor_fail(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    writer.verdict(3, "truncated")
    writer.verdict(6, "error")
    writer.end(6, "error", "the server said no")
    run = load_run(tmp_path)
    row = run.sessions.iloc[0]
    assert pd.isna(row["duration"])
    assert row["event"] == ""
    assert run.errors == {"s": "the server said no"}


def test_a_torn_last_line_is_left_out_and_is_no_problem(tmp_path):
    write_manifest(tmp_path)
    writer = write_session(tmp_path, "fifo", 0, ends=("completed", 6))
    whole = load_run(tmp_path)
    kept = len(whole.turns)
    content = writer.path.read_bytes()
    calls = [i for i, line in enumerate(content.splitlines(keepends=True)) if line.startswith(b'{"t":"call"')]
    lines = content.splitlines(keepends=True)[: calls[-1] + 1]
    writer.path.write_bytes(b"".join(lines)[:-10])
    torn = load_run(tmp_path)
    assert len(torn.turns) == kept - 1
    assert torn.problems == ()
    assert torn.sessions.iloc[0]["ended"] == ""


def test_a_record_without_its_newline_is_torn_even_when_it_parses(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    writer.call(1)
    writer.call(2)
    writer.path.write_bytes(writer.path.read_bytes()[:-1])
    assert len(load_run(tmp_path).turns) == 1


def test_damage_in_the_middle_is_named(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    with writer.path.open("ab") as file:
        file.write(b'{"t":"call", garbage\n')
    writer.call(1)
    run = load_run(tmp_path)
    assert len(run.turns) == 1
    assert run.problems == ("sessions/s.jsonl:2: a line that is not JSON was left out",)


def test_a_session_killed_before_its_head_is_no_session(tmp_path):
    write_manifest(tmp_path)
    (tmp_path / "sessions" / "s.jsonl").write_bytes(b'{"t":"he')
    run = load_run(tmp_path)
    assert len(run.sessions) == 0
    assert run.problems == ()


def test_an_empty_run_has_empty_tables_with_all_columns(tmp_path):
    run = load_run(write_manifest(tmp_path))
    for table in ("sessions", "turns", "verdicts"):
        assert len(getattr(run, table)) == 0
        assert list(getattr(run, table).columns) == documented_columns(table)
    assert not run.simulated


def test_cost_is_unknown_as_soon_as_one_answered_call_has_no_price(tmp_path):
    write_manifest(tmp_path)
    priced = {"prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 40, "cost": 0.25}
    known, unknown = SessionWriter(tmp_path, "known"), SessionWriter(tmp_path, "unknown")
    for writer in (known, unknown):
        writer.call(1, usage=priced)
        writer.call(1, usage=priced)
    known.call(2, text=None, outcome="overflow", usage=dict.fromkeys(priced))
    unknown.call(2)
    rows = load_run(tmp_path).sessions.set_index("session")
    assert rows.loc["known", "cost"] == 0.5
    assert rows.loc["known", "cached_tokens"] == 80
    assert pd.isna(rows.loc["unknown", "cost"])


def test_auxiliary_calls_are_counted_apart_and_in_the_totals(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s", strategy="rolling_summary")
    writer.call(1)
    writer.call(1, purpose="auxiliary", view={"messages": [], "hash": "e5"}, prefix_reuse=None)
    writer.event(1, "compaction", tokens=40)
    row = load_run(tmp_path).sessions.iloc[0]
    assert (row["calls"], row["aux_calls"], row["aux_tokens"], row["compactions"]) == (2, 1, 110, 1)


def test_csv_files_hold_the_tables(run):
    written = write_tables(run)
    assert {path.name for path in written} == {"sessions.csv", "turns.csv", "verdicts.csv", "summary.json"}
    for table in ("sessions", "turns", "verdicts"):
        frame = pd.read_csv(run.path / f"{table}.csv")
        assert list(frame.columns) == documented_columns(table)
        assert len(frame) == len(getattr(run, table))
    verdicts = pd.read_csv(run.path / "verdicts.csv")
    assert (verdicts["cause"] == "lost").sum() == 6 * 6
    assert orjson.loads((run.path / "summary.json").read_bytes())["version"] == 1


@pytest.mark.parametrize(
    ("prepare", "sentence"),
    [
        (lambda path: None, "no run.json"),
        (lambda path: (path / "run.json").write_text("{torn"), "cannot be read as JSON"),
        (lambda path: (path / "run.json").write_text("[]"), "one JSON object"),
        (lambda path: write_manifest(path, format_version=2), "upgrade"),
    ],
)
def test_what_is_no_run_is_refused_with_a_sentence(tmp_path, prepare, sentence):
    prepare(tmp_path)
    with pytest.raises(StoreError, match=sentence):
        load_run(tmp_path)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(StoreError, match="there is no run at"):
        load_run(tmp_path / "nowhere")


def test_a_session_of_a_newer_format_is_refused(tmp_path):
    write_manifest(tmp_path)
    SessionWriter(tmp_path, "s", v=2)
    with pytest.raises(StoreError, match="format version 2"):
        load_run(tmp_path).sessions  # noqa: B018 - the tables are read on first use


def test_controls_do_not_count_as_failures_of_the_session(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "pinned", 0)
    write_controls(tmp_path, ceiling=("fail",), floor=("fail",))
    run = load_run(tmp_path)
    assert first_failures(run.verdicts, run.sessions)["event"].tolist() == [""]
