"""Lost, ignored or incapable: the final cause, and what the controls say."""

from __future__ import annotations

from run_writer import SessionWriter, write_controls, write_manifest, write_session, write_three_strategies

from contextrot.analysis.causes import cause_split, controls, gateable
from contextrot.analysis.tables import load_run


def split(run) -> dict[str, tuple[int, ...]]:
    names = ["lost", "ignored", "incapable", "unattributed", "fails"]
    return {row["strategy"]: tuple(row[name] for name in names) for row in cause_split(run).to_dict("records")}


def test_lost_and_ignored_stand_as_recorded_when_the_model_can_do_it(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0, lost_from=9)
    write_session(tmp_path, "full", 0, ignored_from=21)
    write_controls(tmp_path)
    assert split(load_run(tmp_path)) == {"fifo": (6, 0, 0, 0, 6), "full": (0, 2, 0, 0, 2)}


def test_a_group_without_failures_is_listed_with_zeros(tmp_path):
    assert split(load_run(write_three_strategies(tmp_path)))["pinned"] == (0, 0, 0, 0, 0)


def test_a_model_that_mostly_fails_the_ceiling_is_incapable(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0, lost_from=9)
    write_controls(tmp_path, ceiling=("fail", "fail", "pass"), floor=("fail",) * 3)
    run = load_run(tmp_path)
    assert split(run) == {"fifo": (0, 0, 6, 0, 6)}
    assert set(run.verdicts.loc[run.verdicts["outcome"] == "pass", "cause"]) == {""}


def test_half_of_the_ceiling_is_not_incapable(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0, lost_from=9)
    write_controls(tmp_path, ceiling=("fail", "pass"), floor=("fail",) * 2)
    assert split(load_run(tmp_path)) == {"fifo": (6, 0, 0, 0, 6)}


def test_undecided_ceilings_prove_nothing(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0, lost_from=9)
    write_controls(tmp_path, ceiling=("truncated", "error"), floor=("fail",) * 2)
    run = load_run(tmp_path)
    assert split(run) == {"fifo": (6, 0, 0, 0, 6)}
    row = controls(run).iloc[0]
    assert row["ceiling"] != row["ceiling"]
    assert (row["ceiling_n"], row["ceiling_undecided"]) == (0, 2)


def test_the_ceiling_of_another_model_scenario_or_probe_does_not_count(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0, lost_from=9)
    write_controls(tmp_path, ceiling=("pass",), floor=("fail",))
    for other in ({"model": "sim/other"}, {"scenario": "other"}, {"id": "other"}):
        write_controls(tmp_path, ceiling=("fail",), floor=("fail",), **other)
    run = load_run(tmp_path)
    assert split(run) == {"fifo": (6, 0, 0, 0, 6)}
    assert controls(run)["incapable"].sum() == 3


def test_the_recorded_cause_may_be_missing(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "agent", strategy="own memory")
    writer.verdict(3, "fail", in_view=None, cause=None)
    assert split(load_run(tmp_path)) == {"own memory": (0, 0, 0, 1, 1)}


def test_a_probe_that_passes_its_floor_tests_nothing(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0)
    write_controls(tmp_path, ceiling=("pass",) * 4, floor=("pass", "pass", "fail", "fail"))
    row = controls(load_run(tmp_path)).iloc[0]
    assert (row["floor"], row["floor_n"], bool(row["tests_nothing"]), bool(row["incapable"])) == (0.5, 4, True, False)


def test_a_run_without_controls_has_none(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0)
    assert len(controls(load_run(tmp_path))) == 0


def test_what_passes_its_floor_may_decide_no_gate_and_all_else_may(tmp_path):
    write_manifest(tmp_path)
    writer = write_session(tmp_path, "fifo", 0)
    writer.verdict(12, "pass", id="idle", subject="idle")
    writer.verdict(12, "fail", id="hard", subject="hard", cause="ignored")
    writer.verdict(12, "pass", id="book", subject=None, check="tool_call")
    write_controls(tmp_path, ceiling=("pass",) * 4, floor=("fail",) * 4)
    write_controls(tmp_path, ceiling=("pass",) * 4, floor=("pass", "pass", "fail", "fail"), id="idle")
    write_controls(tmp_path, ceiling=("fail",) * 4, floor=("fail",) * 4, id="hard")
    summary = load_run(tmp_path).summary
    assert gateable(summary) == {("project-code", "sim/perfect"): ["book", "code", "hard"]}
    assert {control.id: control.gateable for control in summary.controls} == {"code": True, "idle": False, "hard": True}
    assert [row["gateable"] for row in summary.to_dict()["controls"] if row["id"] == "idle"] == [False]


def test_without_controls_everything_may_decide_a_gate(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0)
    assert gateable(load_run(tmp_path).summary) == {("project-code", "sim/perfect"): ["code"]}
