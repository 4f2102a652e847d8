"""The budget monitor in the figures: when WARN and ROTATE were reached, and what held at each level."""

from __future__ import annotations

import pandas as pd
import pytest
from run_writer import SessionWriter, write_manifest, write_three_strategies
from small import group

from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run


def filled(folder, repeat: int, *levels: tuple[int, str, str], last: int = 24) -> SessionWriter:
    writer = SessionWriter(folder, f"s{repeat}", repeat=repeat)
    for turn, before, to in levels:
        writer.event(turn, "budget_level", **{"from": before, "to": to, "occupancy": 0.7})
    writer.end(last)
    return writer


def test_the_first_turn_of_each_level_is_a_column(tmp_path):
    write_manifest(tmp_path)
    filled(tmp_path, 0, (10, "OK", "WARN"), (14, "WARN", "OK"), (16, "OK", "WARN"), (20, "WARN", "ROTATE"))
    row = load_run(tmp_path).sessions.iloc[0]
    assert (row["warn_turn"], row["rotate_turn"]) == (10, 20)


def test_who_leaps_to_rotate_has_passed_warn(tmp_path):
    write_manifest(tmp_path)
    filled(tmp_path, 0, (7, "OK", "ROTATE"))
    row = load_run(tmp_path).sessions.iloc[0]
    assert (row["warn_turn"], row["rotate_turn"]) == (7, 7)


def test_other_events_and_going_back_to_ok_reach_nothing(tmp_path):
    write_manifest(tmp_path)
    writer = filled(tmp_path, 0, (3, "WARN", "OK"))
    writer.event(4, "compaction", to="ROTATE")
    row = load_run(tmp_path).sessions.iloc[0]
    assert pd.isna(row["warn_turn"])
    assert pd.isna(row["rotate_turn"])


def test_reached_is_the_share_and_the_median_of_those_that_did(tmp_path):
    write_manifest(tmp_path)
    filled(tmp_path, 0, (10, "OK", "WARN"), (20, "WARN", "ROTATE"))
    filled(tmp_path, 1, (12, "OK", "WARN"))
    filled(tmp_path, 2, (17, "OK", "WARN"))
    filled(tmp_path, 3)
    warn, rotate = group(tmp_path).levels
    assert (warn.level, warn.threshold, warn.sessions, warn.n, warn.median_turn) == ("WARN", 0.6, 3, 4, 12)
    assert (rotate.level, rotate.threshold, rotate.sessions, rotate.median_turn) == ("ROTATE", 0.8, 1, 20)


def test_compliance_by_level_goes_by_the_prompt_that_was_answered(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    for occupancy, outcome in ((0.59, "pass"), (0.6, "fail"), (0.79, "pass"), (0.8, "fail"), (1.0, "truncated")):
        writer.call(3, occupancy=occupancy)
        writer.verdict(3, outcome, cause="ignored" if outcome == "fail" else None)
    writer.call(3, occupancy=None)
    writer.verdict(3, "fail")
    points = {point.label: (point.passes, point.n, point.undecided) for point in group(tmp_path).by_level}
    assert points == {"OK": (1, 1, 0), "WARN": (1, 2, 0), "ROTATE": (0, 1, 1)}


def test_levels_at_which_nothing_was_asked_are_left_out(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    writer.call(3, occupancy=0.1)
    writer.verdict(3, "pass")
    assert [point.label for point in group(tmp_path).by_level] == ["OK"]


def test_the_summary_s_json_has_them(tmp_path):
    summary = summarise(load_run(write_three_strategies(tmp_path))).to_dict()
    assert [level["level"] for level in summary["groups"][0]["levels"]] == ["WARN", "ROTATE"]
    assert summary["groups"][1]["by_level"][0]["label"] == "OK"


def test_the_session_loop_s_own_events_are_read(tmp_path):
    from contextrot.api import bench

    scenario = tmp_path / "full.yaml"
    scenario.write_text(
        "contextrot: 1\nid: full\n"
        "constraints: [{id: aye, text: Begin every reply with AYE., check: {type: starts_with, text: AYE}}]\n"
        "filler: {kind: notes, tokens_per_turn: 100}\nsession: {turns: 13}\n"
    )
    run = bench(
        scenario,
        models=["sim/perfect"],
        strategies=["full"],
        repeats=2,
        window=1250,
        max_tokens=60,
        out=tmp_path / "run",
    )
    turns = run.turns.loc[run.turns["purpose"] == "turn"]
    for row in run.sessions.loc[~run.sessions["control"].astype(bool)].to_dict("records"):
        mine = turns.loc[turns["session"] == row["session"]]
        assert row["warn_turn"] == mine.loc[mine["occupancy"] >= 0.6, "turn"].min()
        assert row["rotate_turn"] == mine.loc[mine["occupancy"] >= 0.8, "turn"].min()
        assert row["warn_turn"] < row["rotate_turn"]
    (found,) = run.summary.groups
    assert [level.sessions for level in found.levels] == [2, 2]
    assert {point.label for point in found.by_level} == {"OK", "WARN", "ROTATE"}
    assert sum(point.n for point in found.by_level) == pytest.approx(found.compliance["overall"].n)
