"""What was done with the tools: call rates by position with an alert, repeats, steps, invented answers, saving."""

from __future__ import annotations

import pandas as pd
import pytest
from acting import Actor, booking, made
from run_writer import SessionWriter, write_manifest, write_session

from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run

BOOK, MAIL = ("book", {"day": "Friday", "time": "10:00"}), ("mail", {"to": "John"})


def group_of(folder, strategy="full"):
    (found,) = (group for group in summarise(load_run(folder)).groups if group.strategy == strategy)
    return found


def counted(folder) -> tuple[int, int]:
    row = load_run(folder).sessions.iloc[0]
    return int(row["actions"]), int(row["repeated_actions"])


@pytest.fixture
def actor(tmp_path):
    write_manifest(tmp_path)
    return Actor(tmp_path, "s", strategy="full")


# --- what is a repeat


def test_the_same_action_again_after_it_succeeded_is_a_repeat(actor, tmp_path):
    actor.act(1, BOOK)
    actor.act(2, ("book", '{"time": "10:00",  "day": "Friday"}'))
    actor.act(3, MAIL)
    assert counted(tmp_path) == (3, 1)
    repeated = group_of(tmp_path).actions.repeated
    assert (repeated.count, repeated.n, repeated.sessions) == (1, 3, 1)


def test_another_argument_is_another_action(actor, tmp_path):
    actor.act(1, BOOK)
    actor.act(2, ("book", {"day": "Monday", "time": "10:00"}))
    assert counted(tmp_path) == (2, 0)


@pytest.mark.parametrize("result", ['{"error": "calendar is locked"}', "Error: no such day", None])
def test_what_failed_may_be_tried_again(actor, tmp_path, result):
    actor.act(1, BOOK, result=result)
    actor.act(2, BOOK)
    assert counted(tmp_path) == (2, 0)


def test_once_it_succeeded_every_further_time_counts(actor, tmp_path):
    actor.act(1, BOOK, result='{"error": "locked"}')
    for turn in (2, 3, 4):
        actor.act(turn, BOOK)
    assert counted(tmp_path) == (4, 2)


def test_what_a_fork_does_stays_in_it_but_it_knows_the_main_line(actor, tmp_path):
    actor.act(1, MAIL)
    actor.act(5, BOOK, branch="next@5")
    actor.act(6, BOOK, branch="next@6")
    actor.act(7, BOOK)
    assert counted(tmp_path) == (4, 0)
    actor.act(8, MAIL, branch="next@8")
    assert counted(tmp_path) == (5, 1)


def test_an_action_a_probe_asks_for_is_no_repeat(actor, tmp_path):
    for turn in (5, 10):
        actor.act(turn, BOOK)
        actor.writer.verdict(turn, "pass", branch=None, check="tool_call", id="book", subject=None)
    assert counted(tmp_path) == (2, 0)


def test_a_probe_that_asks_for_something_else_excuses_nothing(actor, tmp_path):
    for turn in (5, 10):
        actor.act(turn, BOOK)
        actor.writer.verdict(turn, "pass", branch=None, check="recall")
    assert counted(tmp_path) == (2, 1)


def test_doing_again_what_a_written_history_did_is_a_repeat_and_the_history_is_no_action(tmp_path):
    write_manifest(tmp_path)
    actor = Actor(tmp_path, "s", strategy="full", history="scripted")
    call = made("rollback", {"service": "api"}, "t1_0")
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    actor.writer._message(1, None, "reply", {"message": said})
    answer = {"role": "tool", "tool_call_id": "t1_0", "content": "rolled back"}
    actor.writer._message(1, None, "tool", {"message": answer})
    actor.act(6, ("rollback", {"service": "api"}), branch="what-next@6")
    actor.act(9, ("rollback", {"service": "web"}), branch="what-next@9")
    assert counted(tmp_path) == (2, 1)


def test_auxiliary_calls_and_controls_are_no_actions(actor, tmp_path):
    reply = {"content": None, "tool_calls": [made("book", {}, "x")], "finish_reason": "stop"}
    actor.writer.call(1, purpose="auxiliary", reply=reply)
    actor.writer.call(0, purpose="control", branch="ceiling:book", reply=reply)
    assert counted(tmp_path) == (0, 0)


# --- call rate against position


def test_a_scenario_without_tools_has_no_actions(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0)
    group = group_of(tmp_path)
    assert group.actions is None
    assert group.hallucinated is None


def test_call_rates_by_turn_and_by_thirds(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(6):
        booking(tmp_path, repeat, {3, 6, 12} if repeat else {3, 6, 12, 18})
    actions = group_of(tmp_path).actions
    assert actions.basis == "probes"
    assert [(third.label, third.first_turn, third.last_turn, third.count, third.n) for third in actions.thirds] == [
        ("first", 3, 6, 12, 12),
        ("middle", 12, 12, 6, 6),
        ("last", 18, 24, 1, 12),
    ]
    assert {point.x: point.rate for point in actions.by_turn} == pytest.approx({3: 1, 6: 1, 12: 1, 18: 1 / 6, 24: 0})
    assert {point.x: (point.passes, point.n) for point in actions.probes_by_turn}[18] == (1, 6)


def test_a_rate_that_falls_late_in_the_session_is_an_alert(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(8):
        booking(tmp_path, repeat, {3, 6, 12, 18} if repeat % 4 == 0 else {3, 6, 12})
    actions = group_of(tmp_path).actions
    assert actions.alert
    assert (actions.change.first, actions.change.second) == (1.0, 2 / 16)
    assert actions.change.high < 0
    assert actions.change.units == 8


def test_a_rate_that_stays_is_no_alert_and_neither_is_one_that_rises(tmp_path):
    for name, late in (("same", {3, 18}), ("more", {3, 6, 18, 24})):
        write_manifest(tmp_path / name)
        for repeat in range(12):
            booking(tmp_path / name, repeat, late if name == "same" or repeat % 2 else {12, 18, 24})
        actions = group_of(tmp_path / name).actions
        assert not actions.alert, name
    assert actions.change.rises


def test_chance_alone_is_no_alert(tmp_path):
    """One session of ten that stops calling is not evidence."""
    write_manifest(tmp_path)
    for repeat in range(10):
        booking(tmp_path, repeat, {3, 6, 12} if repeat == 0 else {3, 6, 12, 18, 24})
    change = group_of(tmp_path).actions.change
    assert change.difference == pytest.approx(-0.1)
    assert change.low < 0 < change.high


@pytest.mark.parametrize("sessions", [1, 4])
def test_few_sessions_give_no_alert_however_far_it_falls(tmp_path, sessions):
    write_manifest(tmp_path)
    for repeat in range(sessions):
        booking(tmp_path, repeat, {3, 6})
    actions = group_of(tmp_path).actions
    assert not actions.alert
    assert (actions.change.difference, actions.change.low, actions.change.method) == (-1.0, None, "none")


def test_all_sessions_alike_are_judged_as_well(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(5):
        booking(tmp_path, repeat, {3, 6})
    change = group_of(tmp_path).actions.change
    assert change.method == "newcombe"
    assert -1 <= change.low < change.high < 0


def test_without_probes_for_an_action_all_turns_count(actor, tmp_path):
    actor.act(1, BOOK)
    actor.act(1)
    actor.act(2)
    actor.act(3)
    actor.writer.end(24)
    actions = group_of(tmp_path).actions
    assert actions.basis == "turns"
    assert {point.x: (point.passes, point.n) for point in actions.by_turn} == {1: (1, 1), 2: (0, 1), 3: (0, 1)}
    assert actions.steps_per_turn == pytest.approx(4 / 3)


def asked_for_a_fact(actor, turn, *, inline=False):
    branch = None if inline else f"code@{turn}"
    actor.act(turn, branch=branch)
    actor.writer.verdict(turn, "pass", branch=branch)


@pytest.mark.parametrize("inline", [False, True])
def test_questions_late_in_the_session_are_no_tool_amnesia(tmp_path, inline):
    write_manifest(tmp_path)
    for repeat in range(8):
        actor = Actor(tmp_path, f"s{repeat}", strategy="full", repeat=repeat)
        for turn in range(1, 25):
            if turn > 16 and turn % 2:
                asked_for_a_fact(actor, turn, inline=inline)
            if turn <= 16 or not (inline and turn % 2):
                actor.act(turn, ("book", {"turn": turn}))
        actor.writer.end(24)
    actions = group_of(tmp_path).actions
    assert (actions.basis, actions.alert) == ("turns", False)
    assert [third.share for third in actions.thirds] == [1, 1, 1]


def test_questions_early_in_the_session_do_not_hide_tool_amnesia(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(8):
        actor = Actor(tmp_path, f"s{repeat}", strategy="full", repeat=repeat)
        for turn in range(1, 25):
            actor.act(turn, *([("book", {"turn": turn})] if turn <= 16 or turn % 2 else []))
            if turn <= 8:
                asked_for_a_fact(actor, turn)
        actor.writer.end(24)
    actions = group_of(tmp_path).actions
    assert [third.share for third in actions.thirds] == [1, 1, 0.5]
    assert actions.alert


def test_a_reply_that_was_cut_off_short_of_a_call_is_not_counted(actor, tmp_path):
    actor.act(1, BOOK)
    actor.writer.call(2, outcome="truncated")
    assert {point.x for point in group_of(tmp_path).actions.by_turn} == {1}


def test_steps_per_task(actor, tmp_path):
    for turn, task in ((1, "a"), (2, "a"), (3, "b"), (4, "")):
        message = {"message": {"role": "user", "content": "Go on."}}
        actor.writer._message(turn, None, "filler", ({"task": task} if task else {}) | message)
        actor.act(turn, (f"tool{turn}", {}))
        actor.act(turn)
    row = load_run(tmp_path).sessions.iloc[0]
    assert (row["tasks"], row["task_calls"]) == (2, 6)
    actions = group_of(tmp_path).actions
    assert (actions.tasks, actions.steps_per_task, actions.steps_per_turn) == (2, 3.0, 2.0)


# --- invented answers, tokens saved


def test_invented_answers_are_the_failed_abstentions(tmp_path):
    write_manifest(tmp_path)
    for repeat, outcomes in enumerate((("pass", "fail"), ("fail", "truncated"))):
        writer = SessionWriter(tmp_path, f"s{repeat}", strategy="full", repeat=repeat)
        for turn, outcome in enumerate(outcomes, 1):
            writer.verdict(turn, outcome, check="abstain", subject=None)
        writer.verdict(3, "fail", check="recall", cause="ignored")
    found = group_of(tmp_path).hallucinated
    assert (found.count, found.n, found.share) == (2, 3, pytest.approx(2 / 3))


def test_tokens_saved_are_counted_to_the_turn_that_both_reached(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0, ends=("overflow", 18))
    write_session(tmp_path, "fifo", 0)
    SessionWriter(tmp_path, "unpaired", strategy="fifo", repeat=5).call(1)
    found = group_of(tmp_path, "fifo").saved
    # 18 turns and 7 probes of 100 tokens on either side
    assert (found.prompt_tokens, found.full_prompt_tokens, found.share, found.pairs) == (2500, 2500, 0.0, 1)
    assert group_of(tmp_path, "full").saved is None


def test_auxiliary_calls_are_not_saved(tmp_path):
    write_manifest(tmp_path)
    usage = {"prompt_tokens": 50, "completion_tokens": 5}
    for strategy in ("full", "fifo"):
        writer = SessionWriter(tmp_path, strategy, strategy=strategy)
        writer.call(1)
        writer.call(2, usage=usage if strategy == "fifo" else {"prompt_tokens": 200, "completion_tokens": 5})
        if strategy == "fifo":
            writer.call(2, purpose="auxiliary", usage=usage)
        writer.end(2)
    found = group_of(tmp_path, "fifo").saved
    assert (found.prompt_tokens, found.full_prompt_tokens) == (200, 300)
    assert found.share == pytest.approx(1 / 3)


def test_unknown_tokens_save_nothing(tmp_path):
    write_manifest(tmp_path)
    for strategy in ("full", "fifo"):
        writer = SessionWriter(tmp_path, strategy, strategy=strategy)
        writer.call(1, usage={"prompt_tokens": None, "completion_tokens": None})
        writer.end(1)
    assert group_of(tmp_path, "fifo").saved is None


def test_a_session_of_another_repeat_is_no_pair(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0)
    write_session(tmp_path, "fifo", 1)
    assert group_of(tmp_path, "fifo").saved is None


def test_the_columns_are_whole_numbers(actor, tmp_path):
    actor.act(1, BOOK)
    table = load_run(tmp_path).sessions
    names = ["warn_turn", "rotate_turn", "actions", "repeated_actions", "tasks", "task_calls"]
    assert {str(table[name].dtype) for name in names} == {"Int64"}
    assert pd.isna(table["warn_turn"].iloc[0])


# --- actions and abstentions asked for inside other checks


def run_of(folder, probes, *, model="sim/perfect"):
    """A real run of one session against a simulated model; `probes` is YAML."""
    import asyncio

    from contextrot.bench.matrix import load_matrix
    from contextrot.bench.runner import run
    from contextrot.bench.store import RunDirectory
    from contextrot.config import BenchConfig

    text = (
        "contextrot: 1\nid: acts\nsystem: You book.\n"
        "tools:\n  - {name: book, description: Book., parameters: {type: object, properties: {when: {type: string}}},"
        ' returns: [\'{"status": "booked"}\']}\n'
        f"filler: {{kind: notes, tokens_per_turn: 40}}\nsession: {{turns: 6}}\nprobes:\n{probes}\n"
    )
    (folder / "acts.yaml").write_text(text, encoding="utf-8")
    config = BenchConfig(
        scenarios=[str(folder / "acts.yaml")], models=[model], strategies=["full"], repeats=2, controls=False
    )
    with RunDirectory.at(folder / "run") as directory:
        asyncio.run(run(load_matrix(config), directory))
    return folder / "run"


BOOKING = "{type: tool_call, name: book, arguments: {when: Friday}}"
NOT_SORRY = "{type: not, check: {type: keyword, any: [sorry]}}"


@pytest.mark.parametrize(
    "check",
    [
        BOOKING,
        f"{{type: all_of, checks: [{BOOKING}, {NOT_SORRY}]}}",
        f"{{type: all_of, checks: [{NOT_SORRY}, {{type: any_of, checks: [{BOOKING}, {{type: keyword, any: [zz]}}]}}]}}",
        f"{{type: not, check: {{type: not, check: {BOOKING}}}}}",
    ],
)
def test_a_probe_that_asks_for_an_action_inside_another_check_asks_for_it(tmp_path, check):
    folder = run_of(tmp_path, f"  - {{id: b, ask: Book Friday., at: {{every: 2}}, mode: inline, check: {check}}}")
    found = group_of(folder).actions
    assert found.basis == "probes"
    assert [third.share for third in found.thirds] == [1.0, 1.0, 1.0]
    assert (found.actions, found.repeated.count) == (8, 0)  # the fresh session included


def test_an_action_that_is_forbidden_is_not_asked_for(tmp_path):
    check = f"{{type: not, check: {BOOKING}}}"
    folder = run_of(tmp_path, f"  - {{id: b, ask: Book nothing., at: {{every: 2}}, mode: inline, check: {check}}}")
    assert not load_run(folder).verdicts["asks_action"].any()


def test_invented_answers_are_seen_inside_other_checks_and_told_from_other_failures(tmp_path):
    dog = "id: dog, ask: What is the name of my dog?, at: [2, 4]"
    abstain = "{type: all_of, checks: [{type: abstain}, {type: count, unit: words, at_most: %s}]}"
    probe = f"  - {{{dog}, check: {abstain}}}"
    (tmp_path / "good").mkdir()
    found = group_of(run_of(tmp_path / "good", probe % 40)).hallucinated
    assert (found.count, found.n) == (0, 4)
    (tmp_path / "bad").mkdir()
    found = group_of(run_of(tmp_path / "bad", probe % 40, model="sim/perfect?cannot=abstain")).hallucinated
    assert (found.count, found.n) == (4, 4)


def test_a_reply_that_says_it_does_not_know_in_too_many_words_made_nothing_up(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s", strategy="full")
    for turn, (outcome, abstained) in enumerate((("fail", True), ("fail", False), ("pass", True), ("fail", None)), 1):
        writer.verdict(turn, outcome, check="all_of", subject=None, asks_action=False, abstained=abstained)
    found = group_of(tmp_path).hallucinated
    assert (found.count, found.n) == (1, 3)
