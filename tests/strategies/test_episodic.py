"""Episodes expire as a whole, at their turn, and what expires is seen by the helper where it is to be condensed."""

from __future__ import annotations

from typing import Any

import pytest
from histories import Helper, Said, Session, histories
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextrot.messages import assistant, user
from contextrot.outcomes import Status
from contextrot.strategies import load_strategy

LONG = "word " * 30


def said(number: int, *, task: str = "", text: str = "", pinned: bool = False) -> list[Said]:
    return [
        Said(user(f"u{number} {text}"), True, task=task, pinned=pinned),
        Said(assistant(f"a{number} {text}"), False, task=task),
    ]


def shown(raw: Any, tasks: list[str], **more: Any) -> list[list[str]]:
    """First words of the messages in view, turn by turn."""
    run = Session(load_strategy(raw), window=4000)
    steps = [run.run(said(number, task=task, **more))[0] for number, task in enumerate(tasks, 1)]
    assert all(step.view is not None for step in steps)
    return [[message.text.split(" ")[0] for message in step.view.messages] for step in steps if step.view]


def test_an_episode_goes_when_its_last_turn_is_so_old() -> None:
    views = shown({"type": "episodic_ttl", "ttl_turns": 3, "episode_turns": 2}, [""] * 8)
    firsts = [view[0] for view in views]
    #         turns 1 and 2 expire at turn 2 + 3, turns 3 and 4 at 4 + 3
    assert firsts == ["u1", "u1", "u1", "u1", "u3", "u3", "u5", "u5"]


@given(
    history=histories(max_turns=10),
    ttl=st.integers(1, 6),
    length=st.integers(1, 4),
)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_by_the_definition(history: list[Said], ttl: int, length: int) -> None:
    run = Session(load_strategy({"type": "episodic_ttl", "ttl_turns": ttl, "episode_turns": length}), window=40_000)
    for said in history:
        run.add(said)  # what is pinned may be superseded later, so each view is judged at its own time
        if not said.asks:
            continue
        step = run.view()
        assert step.view is not None
        roles = [entry.message.role for entry in run.log][: step.length]
        spoken = max((i for i, role in enumerate(roles) if role == "assistant"), default=-1)
        unseen = {run.log.unit_of(i) for i, role in enumerate(roles) if role == "tool" and i > spoken}
        always = {i for n in run.log.always for i in run.log.units[n].indices}
        for index, status in enumerate(step.view.manifest):
            episode_ends = -(-run.log[run.log.units[run.log.unit_of(index)].indices[0]].turn // length) * length
            expired = step.request.turn - episode_ends >= ttl and index not in always
            waits = status is Status.VERBATIM and expired
            # an expired message is in view only where it must be: the current question, results not seen
            assert not waits or step.request.turn == run.log[index].turn or run.log.unit_of(index) in unseen
            assert expired or status is Status.VERBATIM


def test_tasks_are_episodes_and_the_sessions_own_does_not_expire() -> None:
    raw = {"type": "episodic_ttl", "ttl_turns": 2, "episodes": "tasks"}
    views = shown(raw, ["", "a", "a", "b", "c", "c", "c"])
    assert views[3] == ["u1", "a1", "u2", "a2", "u3", "a3", "u4"]
    assert views[4] == ["u1", "a1", "u4", "a4", "u5"]
    assert views[6] == ["u1", "a1", "u5", "a5", "u6", "a6", "u7"]


def test_tasks_asked_for_but_not_marked_are_turns() -> None:
    raw = {"type": "episodic_ttl", "ttl_turns": 3, "episode_turns": 2}
    assert shown(raw | {"episodes": "tasks"}, [""] * 8) == shown(raw, [""] * 8)


def test_pins_never_expire_and_are_honoured() -> None:
    run = Session(load_strategy({"type": "episodic_ttl", "ttl_turns": 1, "episode_turns": 1}), window=4000)
    run.run(said(1, pinned=True))
    for number in range(2, 9):
        step = run.run(said(number))[0]
    assert step.view is not None
    assert [message.text for message in step.view.messages] == ["u1 ", "u8 "]
    assert run.strategy.wants_pins()


COMPRESS = {"type": "episodic_ttl", "ttl_turns": 3, "episode_turns": 2, "compress": True}


def test_what_expires_is_condensed_once_an_episode() -> None:
    run = Session(load_strategy(COMPRESS), window=4000)
    asks = []
    for number in range(1, 11):
        step = run.run(said(number, text=LONG))[0]
        assert step.view is not None
        asks.append(step.asks)
    assert asks == [0, 0, 0, 0, 1, 0, 1, 0, 1, 0]
    for episode, prompt in enumerate(run.helper.asks):
        assert "begin with '- '" in prompt
        for number in (2 * episode + 1, 2 * episode + 2):
            assert f"u{number} " in prompt
            assert f"a{number} " in prompt
    assert step.view.messages[0].text.startswith("[Notes on earlier episodes]\n")
    assert step.view.manifest.counts() == {"summarised": 12, "verbatim": 7}


def test_an_episode_without_room_is_condensed_before_its_time() -> None:
    run = Session(load_strategy(COMPRESS | {"ttl_turns": 50, "max_tokens": 30}), window=400)
    for number in range(1, 16):
        step = run.run(said(number, text=LONG))[0]
        assert step.view is not None
        assert Status.DROPPED not in set(step.view.manifest)
    assert 4 <= len(run.helper.asks) <= 8


@pytest.mark.parametrize("mood", ["empty", "error"])
def test_a_helper_that_always_fails_is_asked_three_times_and_nothing_is_lost(mood: str) -> None:
    run = Session(load_strategy(COMPRESS | {"retries": 0}), window=4000, helper=Helper(mood))
    for number in range(1, 12):
        step = run.run(said(number, text=LONG))[0]
        assert step.view is not None
        assert set(step.view.manifest) == {Status.VERBATIM}
    assert len(run.helper.asks) == 3
