"""The summary says what was written, number by number."""

from __future__ import annotations

import orjson
import pytest
from run_writer import SessionWriter, write_controls, write_manifest, write_session, write_three_strategies

from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    return summarise(load_run(write_three_strategies(tmp_path_factory.mktemp("run"))))


def by_strategy(summary):
    return {group.strategy: group for group in summary.groups}


def test_groups_come_in_the_order_of_the_configuration(summary):
    assert [group.strategy for group in summary.groups] == ["full", "fifo", "pinned"]
    assert (summary.sessions, summary.control_sessions) == (18, 6)
    assert summary.ended == {"completed": 12, "overflow": 6}
    assert summary.measured
    assert summary.why_nothing == ""


def test_session_lengths(summary):
    fifo, pinned, full = (by_strategy(summary)[name].length for name in ("fifo", "pinned", "full"))
    assert (fifo.median, fifo.restricted_mean, fifo.events["fail"], fifo.censored) == (9, 9, 6, 0)
    assert (fifo.first_fail_turns, fifo.last_pass, fifo.first_causes) == ({"9": 6}, 6, {"lost": 6})
    assert (pinned.median, pinned.restricted_mean, pinned.horizon, pinned.censored) == (None, 24, 24, 6)
    assert pinned.text.startswith("not reached (> 24)")
    assert (full.median, full.events["overflow"], full.events["fail"]) == (18, 6, 0)
    assert full.broke_off_turns == {"18": 6}


def test_compliance(summary):
    fifo = by_strategy(summary)["fifo"].compliance
    assert {name: (rate.passes, rate.n) for name, rate in fifo.items()} == {
        "overall": (18, 54),
        "fresh": (6, 6),
        "after_fresh": (12, 48),
        "at_depth": (0, 24),
        "last_turn": (0, 6),
    }
    assert fifo["at_depth"].rate == 0
    assert fifo["at_depth"].sessions == 6
    assert by_strategy(summary)["full"].compliance["last_turn"].rate is None


def test_curves_by_turn_and_occupancy(summary):
    fifo = by_strategy(summary)["fifo"]
    turns = {point.x: (point.rate, point.n) for point in fifo.by_turn["probe"]}
    assert turns == {float(turn): (1.0 if turn < 9 else 0.0, 6) for turn in range(0, 25, 3)}
    bins = {point.label: (point.rate, point.n) for point in fifo.by_occupancy["probe"]}
    assert bins["0–10 %"] == (1.0, 6)  # turn 0; turn 3 is at 12 %
    assert bins["30–40 %"] == (0.0, 6)  # turn 9
    assert bins["60–70 %"] == (None, 0)  # no probe there: a gap, not a zero


def test_causes_controls_and_references(summary):
    assert by_strategy(summary)["fifo"].causes == {
        "lost": 36,
        "ignored": 0,
        "incapable": 0,
        "unattributed": 0,
        "fails": 36,
    }
    (control,) = summary.controls
    assert (control.id, control.kind, control.ceiling, control.ceiling_n, control.floor) == ("code", "probe", 1, 6, 0)
    (reference,) = summary.references
    assert (reference.ceiling, reference.floor, reference.floor_n) == (1, 0, 6)


def test_what_was_spent(summary):
    spent = by_strategy(summary)["fifo"].spent
    assert (spent.calls, spent.prompt_tokens, spent.completion_tokens) == (198, 19_800, 1_980)
    assert spent.tokens_per_session == 3_630
    assert (spent.cost, spent.cost_per_session, spent.cached_tokens) == (None, None, None)
    assert by_strategy(summary)["fifo"].cut
    assert not by_strategy(summary)["full"].cut
    assert summary.tokens == 110 * 558


def test_labels_of_the_window_and_the_model(summary):
    assert summary.simulated
    assert summary.virtual_window
    assert summary.groups[0].windows == [1000]
    assert summary.origin.models_returned == {"sim/perfect": ["perfect"]}


def test_the_summary_is_json(summary):
    read = orjson.loads(orjson.dumps(summary.to_dict()))
    assert read["version"] == 1
    assert read["groups"][1]["length"]["median"] == 9
    assert read["groups"][2]["length"]["median"] is None


def test_sessions_are_pooled_over_scenarios(tmp_path):
    write_manifest(tmp_path)
    for scenario, lost in (("a", 9), ("b", 15)):
        for repeat in range(3):
            write_session(tmp_path, "fifo", repeat, lost_from=lost, scenario=scenario)
    summary = summarise(load_run(tmp_path))
    assert [(group.scenario, group.length.median) for group in summary.groups] == [("a", 9), ("b", 15)]
    (pooled,) = summary.pooled
    assert (pooled.scenario, pooled.sessions, pooled.length.restricted_mean) == (None, 6, 12)
    assert pooled.causes["lost"] == 3 * 6 + 3 * 4


def test_cut_short_sessions_are_censored_and_counted(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0, ends=("error", 10))
    write_session(tmp_path, "fifo", 1, ends=("limit", 13))
    write_session(tmp_path, "fifo", 2, lost_from=9)
    (group,) = summarise(load_run(tmp_path)).groups
    assert group.ended == {"error": 1, "limit": 1, "completed": 1}
    assert (group.length.n, group.length.censored, group.length.events["fail"]) == (3, 2, 1)


def test_undecided_outcomes_have_their_own_counts(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    for turn, outcome in ((3, "pass"), (6, "truncated"), (9, "truncated"), (12, "empty"), (15, "fail")):
        writer.call(turn)
        writer.verdict(turn, outcome, cause="ignored" if outcome == "fail" else None)
    (group,) = summarise(load_run(tmp_path)).groups
    assert group.undecided == {"truncated": 2, "empty": 1}
    assert (group.compliance["overall"].n, group.compliance["overall"].undecided) == (2, 3)
    assert group.ended == {"running": 1}


def test_passive_checks_have_a_curve_of_their_own(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    writer.verdict(3, "pass")
    writer.verdict(1, "pass", kind="passive", id="json", subject="json")
    writer.verdict(2, "fail", kind="passive", id="json", subject="json", cause="ignored")
    (group,) = summarise(load_run(tmp_path)).groups
    assert [point.x for point in group.by_turn["passive"]] == [1, 2]
    assert [point.x for point in group.by_turn["probe"]] == [3]
    assert {(check.kind, check.id): check.rate for check in group.by_check} == {
        ("passive", "json"): 0.5,
        ("probe", "code"): 1,
    }


def test_an_agent_with_its_own_memory_is_labelled(tmp_path):
    models = [{"label": "python:mine:agent", "id": "python:mine:agent", "own_memory": True}]
    write_manifest(tmp_path, models=models)
    writer = SessionWriter(tmp_path, "s", model="python:mine:agent", strategy="own memory", simulated=False)
    usage = dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens", "cost"))
    writer.call(3, view=None, usage=usage, occupancy=None, occupancy_source=None, prefix_reuse=None)
    writer.verdict(3, "pass")
    (group,) = summarise(load_run(tmp_path)).groups
    assert group.own_memory
    assert (group.spent.prompt_tokens, group.spent.cost, group.max_occupancy, group.prefix_reuse) == (None,) * 4


def test_an_empty_run_measured_nothing(tmp_path):
    summary = summarise(load_run(write_manifest(tmp_path)))
    assert summary.groups == []
    assert not summary.measured
    assert summary.why_nothing == "the run holds no sessions"
    assert summary.cost is None


def test_a_run_of_errors_says_which(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(3):
        writer = SessionWriter(tmp_path, f"s{repeat}", repeat=repeat)
        writer.call(1, text=None, outcome="error", error="500", usage={})
        writer.end(1, "error", "the server answered 500 four times")
    summary = summarise(load_run(tmp_path))
    assert not summary.measured
    assert summary.errors == {"the server answered 500 four times": 3}
    assert "3 of 3 sessions went wrong" in summary.why_nothing
    assert summary.groups[0].spent.failed_calls == {"error": 3}


def test_mixed_causes_at_one_turn_are_called_mixed(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    writer.verdict(3, "fail", cause="lost", in_view=False)
    writer.verdict(3, "fail", cause="ignored", id="other")
    write_controls(tmp_path)
    assert summarise(load_run(tmp_path)).groups[0].length.first_causes == {"mixed": 1}


def test_what_was_retrieved_is_not_left_out(tmp_path):
    write_manifest(tmp_path)
    manifest = [["verbatim", 0, 1], ["retrieved", 1, 3], ["verbatim", 3, 4]]
    for name, status in (("all", "retrieved"), ("some", "dropped")):
        view = {
            "ranges": [[0, 4]],
            "made": [],
            "manifest": [[status if s == "retrieved" else s, a, b] for s, a, b in manifest],
        }
        SessionWriter(tmp_path, name, strategy=name).call(1, view=view | {"tokens": 4, "hash": "e"})
    groups = by_strategy(summarise(load_run(tmp_path)))
    assert not groups["all"].cut
    assert groups["some"].cut


@pytest.mark.parametrize(("failing", "given"), [(4, False), (5, True)])
def test_of_few_failures_no_constant_rate_is_tested(tmp_path, failing, given):
    write_manifest(tmp_path)
    for repeat in range(8):
        write_session(tmp_path, "fifo", repeat, ignored_from=3 * (1 + repeat) if repeat < failing else None)
    (group,) = summarise(load_run(tmp_path)).groups
    assert (group.length.hazard_p is not None) == given


def test_what_the_first_failures_failed_on(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(3):
        writer = write_session(tmp_path, "fifo", repeat, lost_from=9)
        writer.verdict(9, "fail" if repeat else "pass", id="book", subject=None, check="tool_call", cause="ignored")
        writer.verdict(12, "fail", id="late", subject="late", cause="ignored")
    (group,) = summarise(load_run(tmp_path)).groups
    assert group.length.first_subjects == {"project-code": 3, "book": 2}
    assert group.length.first_causes == {"mixed": 2, "lost": 1}


def test_pooling_scenarios_of_other_lengths_is_said(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0, scenario="a")
    write_session(tmp_path, "fifo", 0, scenario="b", ends=("completed", 12))
    write_session(tmp_path, "full", 0, scenario="a")
    pooled = {group.strategy: group for group in summarise(load_run(tmp_path)).pooled}
    assert pooled["fifo"].length.mixed_horizons
    assert not pooled["full"].length.mixed_horizons


def test_the_first_failure_can_be_looked_up(tmp_path):
    write_manifest(tmp_path)
    for repeat, turn in enumerate((12, 9, 15)):
        write_session(tmp_path, "fifo", repeat, lost_from=turn)
    write_session(tmp_path, "full", 0)
    groups = by_strategy(summarise(load_run(tmp_path)))
    assert (groups["fifo"].first_failure.session, groups["fifo"].first_failure.turn) == (
        "project-code--sim--fifo--r001",
        9,
    )
    assert groups["full"].first_failure is None
