"""The shared rules of DESIGN §5, for every registered strategy, over generated sessions run turn by turn."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from histories import COUNTER, Helper, Said, Session, Step, innermost, tasked_histories
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextrot.log import Log
from contextrot.messages import assistant, user
from contextrot.outcomes import Status
from contextrot.strategies import REGISTRY, Strategy, load_strategy
from contextrot.strategies.condensing import Progress
from contextrot.strategies.structured import Ledger

#: One or more configurations of every strategy; `test_the_table_is_complete` holds it to the registry.
CONFIGS = {
    "full": "full",
    "fifo": "fifo",
    "fifo-messages": {"type": "fifo", "keep": {"messages": 3}},
    "fifo-turns": {"type": "fifo", "keep": {"turns": 2}},
    "fifo-fraction": {"type": "sliding_window", "keep": {"fraction": 0.5}},
    "pinned": "pinned",
    "pinned-budget": {"type": "pinned", "keep": {"turns": 3}, "pin_budget": {"fraction": 0.2}},
    "masking": {"type": "observation_masking", "keep_last": 1},
    "masking-none-kept": {"type": "observation_masking", "keep_last": 0, "placeholder": "[{tool}]"},
    "masking-trigger": {"type": "observation_masking", "trigger": {"tokens": 150}},
    "rolling": {"type": "rolling_summary", "trigger": {"tokens": 150}, "keep": {"turns": 1}, "max_tokens": 30},
    "rolling-messages": {
        "type": "summarization",
        "trigger": {"messages": 4},
        "keep": {"messages": 2},
        "max_tokens": 30,
    },
    "rolling-anew": {"type": "rolling_summary", "incremental": False, "keep": {"tokens": 40}, "role": "assistant"},
    "retrieval": {"type": "retrieval", "top_k": 2, "recent": {"turns": 1}},
    "retrieval-messages": {"type": "retrieval", "recent": {"messages": 2}, "min_similarity": 0.2, "max_tokens": 60},
    "retrieval-pinned": {"type": "pinned_plus_retrieval", "recent": {"tokens": 60}},
    "tag_selection": {"type": "tag_selection", "limit": 2, "recent": {"turns": 1}},
    "tag_selection-given": {"type": "tag_selection", "tags": ["a"], "recent": {"messages": 2}, "max_tokens": 60},
    "rolling-no-retry": {"type": "rolling_summary", "trigger": {"turns": 2}, "keep": {"turns": 1}, "retries": 0},
    "structured": {"type": "structured_compaction", "trigger": {"tokens": 150}, "keep": {"turns": 1}},
    "structured-messages": {"type": "compaction", "trigger": {"messages": 4}, "keep": {"turns": 1}, "role": "system"},
    "dual": {"type": "dual_memory", "trigger": {"tokens": 150}, "keep": {"turns": 1}, "max_tokens": 30},
    "dual-turns": {"type": "dual_memory", "trigger": {"turns": 2}, "keep": {"turns": 1}, "bank_max_tokens": 20},
    "state": "state_extraction",
    "state-every-2": {"type": "state_extraction", "every_n_turns": 2, "keep": {"messages": 2}, "max_tokens": 60},
    "offload": {"type": "offload", "over": {"tokens": 60}, "max_tokens": 40},
    "offload-default": "offload",
    "offload-users": {"type": "offload", "over": {"tokens": 30}, "max_tokens": 30, "user_messages": True},
    "offload-rolling": {
        "type": "offload",
        "over": {"tokens": 60},
        "max_tokens": 40,
        "inner": {"type": "rolling_summary", "trigger": {"tokens": 150}, "keep": {"turns": 1}, "max_tokens": 30},
    },
    "isolate": "isolate",
    "isolate-apart": {"type": "isolate", "session": False, "keep": {"turns": 3}},
    "reset": "reset_per_task",
    "reset-reply": {"type": "reset_per_task", "handoff": "last_reply", "keep": {"messages": 5}},
    "reset-summary": {"type": "reset_per_task", "handoff": "summary", "max_tokens": 30},
    "hierarchical": "hierarchical",
    "hierarchical-tokens": {
        "type": "hierarchical",
        "global_share": {"tokens": 60},
        "session_share": {"tokens": 90},
        "task_share": {"tokens": 120},
    },
    "episodic": {"type": "episodic_ttl", "ttl_turns": 2, "episode_turns": 2},
    "episodic-tasks": {"type": "episodic_ttl", "ttl_turns": 1, "episodes": "tasks"},
    "episodic-compress": {
        "type": "episodic_ttl",
        "ttl_turns": 2,
        "episode_turns": 1,
        "compress": True,
        "max_tokens": 30,
    },
    "episodic-tasks-compress": {
        "type": "episodic_ttl",
        "ttl_turns": 1,
        "episodes": "tasks",
        "compress": True,
        "max_tokens": 30,
    },
    "guard": {"type": "budget_guard", "system": {"fraction": 1.0}},
    "guard-tight": {
        "type": "budget_guard",
        "system": {"fraction": 1.0},
        "history": {"tokens": 100},
        "tool_output": {"tokens": 50},
        "retrieved": {"tokens": 40},
    },
    "guard-full": {"type": "budget_guard", "inner": "full", "tool_output": {"tokens": 30}, "history": {"tokens": 90}},
    "guard-rolling": {
        "type": "budget_guard",
        "history": {"tokens": 120},
        "tool_output": {"tokens": 60},
        "inner": {"type": "rolling_summary", "trigger": {"tokens": 150}, "keep": {"turns": 1}, "max_tokens": 30},
    },
}
CONFIGS |= {
    f"re_anchor-{name}": {"type": "re_anchor", "every_n_turns": 2, "inner": raw}
    for name, raw in CONFIGS.items()
    if name in ("full", "fifo", "pinned", "masking", "rolling", "structured", "dual", "state", "retrieval")
}
MOODS = ("good", "empty", "huge", "tool_call", "cut", "refusal", "error", "flaky")
WINDOWS = st.sampled_from((60, 150, 400, 900, 4000))
every_strategy = pytest.mark.parametrize("name", CONFIGS)
examples = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def session(name: str, window: int, mood: str = "good") -> Session:
    return Session(load_strategy(CONFIGS[name]), window=window, helper=Helper(mood))


def test_the_table_is_complete() -> None:
    assert {load_strategy(raw).type_name for raw in CONFIGS.values()} == {c.type_name for c in REGISTRY.values()}


@every_strategy
@given(history=tasked_histories(), window=WINDOWS, mood=st.sampled_from(MOODS))
@examples
def test_every_view_keeps_the_shared_rules(name: str, history: list[Said], window: int, mood: str) -> None:
    run = session(name, window, mood)
    for said in history:
        run.add(said)
        if not said.asks:
            continue
        before = [entry.message.wire for entry in run.log]
        state = json.dumps(run.state)
        step = run.view()
        assert [entry.message.wire for entry in run.log] == before
        if step.view is not None:
            check_view(run.log, step)
        again = Session(run.strategy, window=window, helper=Helper(mood), log=run.log)
        again.turn, again.state = run.turn, json.loads(state)
        repeated = again.view()
        assert repeated.view == step.view
        assert str(repeated.error) == str(step.error)


def check_view(log: Log, step: Step) -> None:
    view = step.view
    assert view is not None
    # within the budget, counted honestly
    assert view.tokens == sum(COUNTER.message(message) for message in view.messages)
    assert view.tokens <= step.request.budget
    # order kept, and a source's message is the log's own
    indexes = [source for source in view.sources if source is not None]
    assert indexes == sorted(set(indexes))
    assert all(view.messages[k] is log[s].message for k, s in enumerate(view.sources) if s is not None)
    # the manifest is total and true to the view
    assert len(view.manifest) == len(log)
    statuses = list(view.manifest)
    as_said = (Status.VERBATIM, Status.RETRIEVED)
    assert {index for index, status in enumerate(statuses) if status in as_said} == set(indexes)
    assert all(
        a[0] is not b[0] and a[2] == b[1] for a, b in zip(view.manifest.runs, view.manifest.runs[1:], strict=False)
    )
    # calls and results paired both ways; a call may only wait for what the log itself waits for
    called = [call.id for message in view.messages for call in message.tool_calls]
    answered = [message.tool_call_id for message in view.messages if message.role == "tool"]
    assert len(set(answered)) == len(answered)
    assert set(answered) <= set(called)
    assert set(called) - set(answered) <= set(log.unanswered())
    # pins and system messages exactly once
    assert all((e.message.role != "system" and not e.pinned) or i in indexes for i, e in enumerate(log))
    # the system comes first
    if log[0].message.role == "system":
        assert view.sources[0] == 0
    # the current user message verbatim, last among user messages; unseen results there
    users = [k for k, message in enumerate(view.messages) if message.role == "user"]
    assert view.sources[users[-1]] == log.current_user
    spoken = -1 if log.last_assistant is None else log.last_assistant
    assert all(i in indexes for i in range(spoken + 1, len(log)) if log[i].message.role == "tool")


@every_strategy
@given(history=tasked_histories(), window=WINDOWS, mood=st.sampled_from(MOODS))
@examples
def test_a_turn_costs_at_most_the_retries(name: str, history: list[Said], window: int, mood: str) -> None:
    strategy = load_strategy(CONFIGS[name])
    asks: Counter[int] = Counter()
    for step in session(name, window, mood).run(history):
        asks[step.request.turn] += step.asks
        if step.view is None:
            assert step.asks == 0
            continue
        assert step.view.aux_calls == step.asks
    assert max(asks.values()) <= most_asks(strategy)


def most_asks(strategy: Strategy) -> int:
    """What a turn may cost at most, whatever wraps the strategy that asks."""
    return 1 + getattr(innermost(strategy, {})[0], "retries", -1)


@every_strategy
@given(history=tasked_histories(), other=tasked_histories(), window=WINDOWS)
@settings(examples, max_examples=10)
def test_two_sessions_interleaved_give_what_they_give_alone(
    name: str, history: list[Said], other: list[Said], window: int
) -> None:
    alone = [session(name, window).run(h) for h in (history, other)]
    strategy = load_strategy(CONFIGS[name])
    both = [Session(strategy, window=window, helper=Helper()) for _ in range(2)]
    steps: list[list[Step]] = [[], []]
    for k in range(max(len(history), len(other))):
        for number, said in enumerate((history, other)):
            if k < len(said):
                steps[number].extend(both[number].run([said[k]]))
    for number in range(2):
        assert [step.view for step in steps[number]] == [step.view for step in alone[number]]


SELECTING = [
    *(name for name in CONFIGS if name.startswith(("fifo", "pinned", "masking"))),
    *("offload", "offload-users", "isolate", "isolate-apart", "reset", "episodic", "episodic-tasks", "guard-tight"),
]


@pytest.mark.parametrize("name", SELECTING)
@given(history=tasked_histories(), window=st.integers(20, 900), more=st.integers(1, 400))
@examples
def test_a_larger_budget_never_keeps_less(name: str, history: list[Said], window: int, more: int) -> None:
    for small, large in zip(session(name, window).run(history), session(name, window + more).run(history), strict=True):
        if small.view is None:
            continue
        assert large.view is not None
        kept = [{i for i, s in enumerate(step.view.manifest) if s is not Status.DROPPED} for step in (small, large)]
        assert kept[0] <= kept[1]


@pytest.mark.parametrize("name", ["masking-trigger", "rolling", "structured", "dual", "re_anchor-rolling"])
@given(history=tasked_histories())
@examples
def test_nothing_is_done_under_the_trigger(name: str, history: list[Said]) -> None:
    run = session(name, 4000)
    for said in history:
        run.add(said)
        if run.log.tokens > 150:
            return
        if said.asks:
            step = run.view()
            assert step.view is not None
            reminded = any(event.name == "re_anchor" for event in step.view.events)
            assert len(step.view.messages) == len(run.log) + reminded
            assert set(step.view.manifest) == {Status.VERBATIM}
            assert step.asks == 0


ROLLING = [name for name in CONFIGS if "rolling" in name]
CONDENSING = [*ROLLING, *(name for name in CONFIGS if name.startswith(("dual", "state")))]
NOTING = [*CONDENSING, "structured", "structured-messages", "reset-summary", "episodic-compress"]
NOTING += ["episodic-tasks-compress"]


@pytest.mark.parametrize("name", NOTING)
@given(history=tasked_histories(), window=WINDOWS, mood=st.sampled_from(MOODS))
@examples
def test_what_is_summarised_was_seen_and_what_was_not_stays_pending(
    name: str, history: list[Said], window: int, mood: str
) -> None:
    run = session(name, window, mood)
    for said in history:
        run.add(said)
        if not said.asks:
            continue
        view = run.view().view
        if view is None:
            continue
        state = innermost(run.strategy, run.state)[1]
        progress = Ledger.read(state) if "first" in state else Progress.read(state)
        pending = set(progress.pending(run.log)) | set(run.log.always)
        goal = run.log.units[state["first"]].indices[0] if state.get("first", -1) >= 0 else None
        for index, status in enumerate(view.manifest):
            text = run.log[index].message.text.split(" ")[0]
            seen = any(text in prompt for prompt in run.helper.taken)
            if status is Status.SUMMARISED and index != goal:  # the goal is copied, word for word
                assert seen
            if not seen and name in CONDENSING:
                assert run.log.unit_of(index) in pending


@pytest.mark.parametrize("name", [name for name in CONFIGS if "rolling" in name or "dual" in name])
@given(history=tasked_histories(), window=st.sampled_from((900, 4000)))
@examples
def test_what_one_view_did_not_come_to_a_later_one_covers(name: str, history: list[Said], window: int) -> None:
    run = session(name, window)
    run.run(history)
    for number in range(30):
        run.run([Said(user(f"turn {number}"), True), Said(assistant("ok"), False)])
    run.add(Said(user("last"), False))
    step = run.view()
    if step.view is None:  # only ever because what must stay is larger than the window
        assert sum(run.log.units[number].tokens for number in run.log.always) + run.log[-1].tokens > window
        return
    assert not any(event.name == "summary_unfinished" for event in step.view.events)
    for index, status in enumerate(step.view.manifest):
        if status in (Status.SUMMARISED, Status.DROPPED):
            text = run.log[index].message.text.split(" ")[0]
            assert any(text in prompt for prompt in run.helper.taken)


@pytest.mark.parametrize("name", ROLLING)
@given(history=tasked_histories(), window=st.sampled_from((150, 400)))
@examples
def test_a_helper_that_recovers_covers_what_it_missed(name: str, history: list[Said], window: int) -> None:
    run = session(name, window, "error")
    for said in history:
        failures = innermost(run.strategy, run.state)[1].get("failures", 0)
        run.helper.mood = "error" if failures < 2 else "good"
        run.run([said])
    view = run.view().view
    if view is None:
        return
    for index, status in enumerate(view.manifest):
        text = run.log[index].message.text.split(" ")[0]
        if status is Status.SUMMARISED:
            assert any(text in prompt for prompt in run.helper.taken)


@pytest.mark.parametrize("name", ["rolling", "rolling-messages", "rolling-anew", "dual"])
@given(history=tasked_histories(max_turns=10), window=WINDOWS)
@examples
def test_between_compactions_the_summary_is_the_same_bytes(name: str, history: list[Said], window: int) -> None:
    last: bytes | None = None
    for step in session(name, window).run(history):
        if step.view is None:
            continue
        made = [m.wire for m, s in zip(step.view.messages, step.view.sources, strict=True) if s is None]
        assert len(made) <= 1
        if step.asks == 0 and made and last is not None:
            assert made[0] == last
        last = made[0] if made else last
