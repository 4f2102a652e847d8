"""Isolation, reset per task and layers: what of which task is in view, and what the manifest says of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from histories import COUNTER, Helper, Said, Session, histories, tasked_histories
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextrot.errors import ConfigError
from contextrot.log import Log
from contextrot.messages import ToolCall, assistant, system, tool_result, user
from contextrot.outcomes import Status
from contextrot.strategies import Request, View, load_strategy
from contextrot.strategies.assemble import must_keep

examples = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def log_of(*turns: tuple[str, str, str], now: str = "") -> Log:
    """Turns of ``(task, user, reply)`` after a system message; a question of task `now` at the end."""
    log = Log(COUNTER.message)
    log.append(system("rules"), turn=0)
    for number, (task, said, reply) in enumerate(turns, 1):
        log.append(user(said), turn=number, task=task)
        log.append(assistant(reply), turn=number, task=task)
    log.append(user("now"), turn=len(turns) + 1, task=now)
    return log


THREE = (
    ("", "our code is teal", "noted"),
    ("a", "look at a", "looking"),
    ("a", "and a?", "a is 1"),
    ("b", "look at b", "b is 2"),
    ("", "by the way", "yes"),
)


def view_of(raw: Any, log: Log, budget: int = 4000, helper: Helper | None = None) -> View:
    request = Request(budget, budget, 9, COUNTER.message, helper or Helper())
    return asyncio.run(load_strategy(raw).view(log, {}, request))


def texts(raw: Any, log: Log, **more: Any) -> list[str]:
    return [message.text for message in view_of(raw, log, **more).messages]


def test_the_log_keeps_the_tasks_apart_and_so_does_its_fork() -> None:
    log = log_of(*THREE, now="a")
    assert [(run.task, run.units) for run in log.tasks] == [("a", [3, 4, 5, 6]), ("b", [7, 8]), ("a", [11])]
    assert list(log.taskless) == [0, 1, 2, 9, 10]
    branch = log.fork()
    branch.append(assistant("on the branch"), turn=9, task="a")
    branch.append(user("and on"), turn=10, task="c")
    log.append(assistant("on the line"), turn=9, task="")
    assert [(run.task, run.units) for run in log.tasks][2:] == [("a", [11])]
    assert [(run.task, run.units) for run in branch.tasks][2:] == [("a", [11, 12]), ("c", [13])]
    assert list(branch.taskless) == [0, 1, 2, 9, 10]


@given(history=tasked_histories())
@examples
def test_every_unit_belongs_to_one_task_or_to_none(history: list[Said]) -> None:
    run = Session(load_strategy("fifo"))
    for said in history:
        run.add(said)
    log = run.log
    named = [number for task in log.tasks for number in task.units]
    assert sorted([*named, *log.taskless]) == list(range(len(log.units)))
    assert named == sorted(named)
    assert all(log[log.units[n].indices[0]].task == task.task for task in log.tasks for n in task.units)
    assert all(a.task != b.task for a, b in zip(log.tasks, log.tasks[1:], strict=False))


def test_isolate_shows_the_current_task_and_what_the_others_came_to() -> None:
    log = log_of(*THREE, now="c")
    assert texts("isolate", log) == [
        "rules",
        "our code is teal",
        "noted",
        "[Conclusion of a]\na is 1",
        "[Conclusion of b]\nb is 2",
        "by the way",
        "yes",
        "now",
    ]
    assert [status.value for status in view_of("isolate", log).manifest] == [
        *["verbatim"] * 3, *["dropped"] * 3, "summarised", "dropped", "summarised", *["verbatim"] * 3
    ]  # fmt: skip
    apart = texts({"type": "isolate", "session": False}, log)
    assert apart == ["rules", "[Conclusion of a]\na is 1", "[Conclusion of b]\nb is 2", "now"]


def test_isolate_inside_a_task_and_back_in_the_session() -> None:
    inside = texts({"type": "isolate", "session": False}, log_of(*THREE[:4], now="b"))
    assert inside == ["rules", "[Conclusion of a]\na is 1", "look at b", "b is 2", "now"]
    back = texts({"type": "isolate", "session": False}, log_of(*THREE[:4]))
    assert back == [
        "rules", "our code is teal", "noted", "[Conclusion of a]\na is 1", "[Conclusion of b]\nb is 2", "now"
    ]  # fmt: skip


def test_a_task_concludes_with_its_last_text_not_with_a_tool_round() -> None:
    log = Log(COUNTER.message)
    log.append(user("look"), turn=1, task="a")
    log.append(assistant("found it"), turn=1, task="a")
    log.append(assistant(None, [ToolCall("c", "look")]), turn=1, task="a")
    log.append(tool_result("c", "raw"), turn=1, task="a")
    log.append(assistant("  "), turn=1, task="a")
    log.append(user("now"), turn=2, task="b")
    assert texts("isolate", log) == ["[Conclusion of a]\nfound it", "now"]


def test_a_pinned_conclusion_stays_as_it_was_said() -> None:
    log = Log(COUNTER.message)
    log.append(user("look"), turn=1, task="a")
    log.append(assistant("found"), turn=1, task="a", pinned=True)
    log.append(user("now"), turn=2, task="b")
    assert texts("isolate", log) == ["found", "now"]


def test_reset_starts_anew_and_hands_on_as_told() -> None:
    log = log_of(*THREE, now="c")
    session = ["our code is teal", "noted"]
    assert texts("reset_per_task", log) == ["rules", *session, "by the way", "yes", "now"]
    reply = texts({"type": "reset_per_task", "handoff": "last_reply"}, log)
    assert reply == ["rules", *session, "[Hand-off from b]\nb is 2", "by the way", "yes", "now"]


def test_a_task_taken_up_again_starts_anew() -> None:
    log = log_of(("a", "first", "one"), ("b", "other", "two"), now="a")
    assert texts("reset_per_task", log) == ["rules", "now"]


LONG = "word " * 40


def test_the_summary_is_written_at_the_end_of_a_task_and_kept_up_to_date() -> None:
    raw = {"type": "reset_per_task", "handoff": "summary"}
    run = Session(load_strategy(raw), window=2000)
    asks = []
    for number, task in enumerate(("", "a", "a", "b", "b", "", "c")):
        view = run.run([Said(user(f"say {number} {LONG}"), True, task=task)])[0].view
        assert view is not None
        asks.append(len(run.helper.asks))
        run.run([Said(assistant(f"said {number} {LONG}"), False, task=task)])
    assert asks == [0, 0, 0, 1, 1, 2, 2]
    first, second = run.helper.asks
    assert "say 1" in first
    assert "said 2" in first
    assert "say 0" not in first
    assert "said 4" in second
    assert "The notes so far" in second
    view = run.view().view
    assert view is not None
    shown = [message.text.split("\n")[0] for message in view.messages]
    assert shown[0] == "[Hand-off from the tasks before]"
    assert [text[:6] for text in shown[1:]] == ["say 0 ", "said 0", "say 5 ", "said 5", "say 6 ", "said 6"]
    assert view.manifest.counts() == {"verbatim": 6, "summarised": 8}


@pytest.mark.parametrize("mood", ["empty", "error", "huge"])
def test_while_the_helper_fails_a_finished_task_stays_in_view(mood: str) -> None:
    log = log_of(("a", LONG, LONG), ("b", LONG, LONG), now="c")
    view = view_of({"type": "reset_per_task", "handoff": "summary"}, log, helper=Helper(mood))
    assert set(view.manifest) == {Status.VERBATIM}


def test_a_summary_needs_a_helper_and_the_other_hand_offs_do_not() -> None:
    log = log_of(*THREE, now="c")
    request = Request(4000, 4000, 9, COUNTER.message)
    with pytest.raises(ConfigError, match="needs a summariser"):
        asyncio.run(load_strategy({"type": "reset_per_task", "handoff": "summary"}).view(log, {}, request))
    assert asyncio.run(load_strategy("reset_per_task").view(log, {}, request)).aux_calls == 0


SUMMARISING: list[dict[str, Any]] = [
    {"type": "reset_per_task", "handoff": "summary", "max_tokens": 30},
    {"type": "episodic_ttl", "ttl_turns": 2, "episode_turns": 2, "compress": True, "max_tokens": 30},
    {"type": "episodic_ttl", "ttl_turns": 1, "episodes": "tasks", "compress": True, "max_tokens": 30},
]


@pytest.mark.parametrize("raw", SUMMARISING, ids=str)
@given(
    history=tasked_histories(),
    window=st.sampled_from((150, 400, 900, 4000)),
    mood=st.sampled_from(("good", "empty", "flaky", "error")),
)
@examples
def test_only_what_the_helper_saw_counts_as_summarised(raw: Any, history: list[Said], window: int, mood: str) -> None:
    run = Session(load_strategy(raw), window=window, helper=Helper(mood))
    for said in history:
        run.add(said)
        if not said.asks:
            continue
        view = run.view().view
        if view is None:
            continue
        for index, status in enumerate(view.manifest):
            if status is Status.SUMMARISED:
                assert any(run.log[index].message.text.split(" ")[0] in asked for asked in run.helper.taken)


@pytest.mark.parametrize("raw", SUMMARISING, ids=str)
@given(history=tasked_histories(), mood=st.sampled_from(("empty", "error", "huge", "cut", "tool_call")))
@examples
def test_a_helper_that_fails_loses_nothing_where_there_is_room(raw: Any, history: list[Said], mood: str) -> None:
    for step in Session(load_strategy(raw), window=40_000, helper=Helper(mood)).run(history):
        assert step.view is not None
        assert set(step.view.manifest) == {Status.VERBATIM}


@pytest.mark.parametrize("name", ["isolate", "reset_per_task"])
@given(history=histories(), window=st.sampled_from((60, 150, 400, 900)))
@examples
def test_without_marks_they_are_fifo(name: str, history: list[Said], window: int) -> None:
    ours = Session(load_strategy(name), window=window).run(history)
    fifo = Session(load_strategy("fifo"), window=window).run(history)
    assert [step.view for step in ours] == [step.view for step in fifo]


@pytest.mark.parametrize("raw", ["isolate", "reset_per_task", {"type": "reset_per_task", "handoff": "last_reply"}])
@given(history=tasked_histories())
@examples
def test_with_room_for_all_nothing_of_the_task_under_way_is_missing(raw: Any, history: list[Said]) -> None:
    run = Session(load_strategy(raw), window=40_000)
    for said in history:
        run.add(said)
        if not said.asks:
            continue
        step = run.view()
        assert step.view is not None
        statuses, must = list(step.view.manifest), must_keep(run.log, step.request)
        own = {*run.log.taskless, *(run.log.tasks[-1].units if run.log[len(run.log) - 1].task else ())}
        assert all(statuses[i] is Status.VERBATIM for n in own for i in run.log.units[n].indices)
        others = [i for n in range(len(run.log.units)) if n not in own for i in run.log.units[n].indices]
        in_full = [i for i in others if statuses[i] is Status.VERBATIM]
        assert all(run.log.unit_of(i) in must.units for i in in_full)


def test_layers_each_fill_their_share_and_no_more() -> None:
    log = Log(COUNTER.message)
    log.append(system("rules"), turn=0)
    log.append(user("rule: JSON only"), turn=1, standing=("JSON only",))
    for number in range(2, 12):
        task = f"t{number // 4}"
        log.append(user(f"ask {number} " + "word " * 20), turn=number, task=task)
        log.append(assistant(f"answer {number} " + "word " * 20), turn=number, task=task)
    log.append(user("now"), turn=12, task="t2")
    raw = {
        "type": "hierarchical",
        "global_share": {"tokens": 40},
        "session_share": {"tokens": 40},
        "task_share": {"tokens": 70},
    }
    shown = [text[:22] for text in texts(raw, log)]
    assert shown == [
        "rules",
        "rule: JSON only",
        "[Conclusion of t1]\nans",
        "ask 11 word word word ",
        "answer 11 word word wo",
        "now",
    ]
    without = texts(raw | {"global_share": {"tokens": 10}}, log)
    assert "rule: JSON only" not in without


def test_a_statement_that_concludes_a_task_is_there_as_it_was_said() -> None:
    log = Log(COUNTER.message)
    log.append(user("what holds?"), turn=1, task="a")
    log.append(assistant("rule: JSON only"), turn=1, task="a", standing=("JSON only",))
    log.append(user("now"), turn=2, task="b")
    assert texts("hierarchical", log) == ["rule: JSON only", "now"]


def test_layers_without_tasks_are_the_newest_units() -> None:
    log = log_of(*[("", f"ask {k} " + "word " * 10, "ok") for k in range(30)])
    view = view_of("hierarchical", log, 300)
    kept = [index for index, status in enumerate(view.manifest) if status is Status.VERBATIM]
    assert kept == [0, *range(kept[1], len(log))]
    assert 120 < view.tokens <= 300


def test_shares_over_one_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"come to 1\.2 of the window"):
        load_strategy({"type": "hierarchical", "session_share": {"fraction": 0.5}})
    with pytest.raises(ConfigError, match="give a share in tokens"):
        load_strategy({"type": "hierarchical", "task_share": {"turns": 5}})


def test_who_honours_pins() -> None:
    assert load_strategy("hierarchical").wants_pins()
    assert not load_strategy("isolate").wants_pins()
    assert not load_strategy("reset_per_task").wants_pins()
