"""Re-anchoring repeats what stands, when it is due, where it is read last, and never at the price of the window."""

from __future__ import annotations

import asyncio

from histories import COUNTER, Said, Session

from contextrot.log import Log
from contextrot.messages import assistant, user
from contextrot.strategies import Request, load_strategy
from contextrot.strategies.re_anchor import ReAnchor

EVERY_TWO = {"type": "re_anchor", "every_n_turns": 2, "inner": "full"}


def log_of(*standing: tuple[str, ...], pinned: str | None = None) -> Log:
    log = Log(COUNTER.message)
    for turn, texts in enumerate(standing, 1):
        log.append(user(f"turn {turn}"), turn=turn, standing=texts)
        log.append(assistant("ok"), turn=turn)
    if pinned is not None:
        log.append(user(pinned), turn=len(standing), pinned=True)
        log.append(assistant("ok"), turn=len(standing))
    log.append(user("now"), turn=len(standing) + 1)
    return log


def messages(
    raw: dict[str, object], log: Log, *, turn: int, violation: int | None = None, budget: int = 4000
) -> list[str]:
    request = Request(budget, budget, turn, COUNTER.message, last_violation=violation)
    view = asyncio.run(load_strategy(raw).view(log, {}, request))
    return [message.text for message in view.messages]


def test_every_so_many_turns_directly_before_the_user() -> None:
    log = log_of(("answer in JSON",), ("the code is teal-7",))
    assert messages(EVERY_TWO, log, turn=3)[-1] == "now"
    assert not any("still hold" in text for text in messages(EVERY_TWO, log, turn=3))
    due = messages(EVERY_TWO, log, turn=4)
    assert due[-2:] == ["[Reminder: these still hold]\nanswer in JSON\nthe code is teal-7", "now"]


def test_after_a_violation_for_three_turns() -> None:
    log = log_of(("answer in JSON",))
    raw = EVERY_TWO | {"every_n_turns": 100}
    due = [any("still hold" in t for t in messages(raw, log, turn=turn, violation=5)) for turn in (4, 5, 6, 7, 8)]
    assert due == [False, True, True, True, False]


def test_each_text_once_where_it_was_stated_last() -> None:
    log = log_of(("code: a",), ("code: b",), ("code: a",))
    assert messages(EVERY_TWO, log, turn=4)[-2].splitlines()[1:] == ["code: b", "code: a"]


def test_a_pin_without_standing_texts_is_repeated_as_it_is() -> None:
    assert messages(EVERY_TWO, log_of((), pinned="never push"), turn=2)[-2].endswith("\nnever push")


def test_nothing_stands_nothing_is_said() -> None:
    assert len(messages(EVERY_TWO, log_of((), ()), turn=2)) == 5


def test_the_reminder_takes_its_room_from_the_inner_strategy() -> None:
    log = log_of(*[("answer in JSON with two keys",)] * 30)
    with_fifo = {"type": "re_anchor", "every_n_turns": 1, "inner": "fifo"}
    plain = messages({"type": "fifo"}, log, turn=31, budget=100)
    anchored = messages(with_fifo, log, turn=31, budget=100)
    assert "still hold" in anchored[-2]
    assert len(anchored) < len(plain)


def test_where_there_is_no_room_it_is_left_out_and_says_so() -> None:
    log = log_of(("word " * 80,))
    request = Request(log.tokens, log.tokens, 2, COUNTER.message)
    view = asyncio.run(load_strategy(EVERY_TWO).view(log, {}, request))
    assert len(view.messages) == len(log)
    assert [event.name for event in view.events] == ["re_anchor_left_out"]


def test_the_inner_state_is_its_own_and_pins_are_the_inner_strategys_wish() -> None:
    raw = {"type": "re_anchor", "inner": {"type": "rolling_summary", "trigger": {"tokens": 100}, "keep": {"turns": 1}}}
    run = Session(load_strategy(raw), window=900)
    said = [Said(user("word " * 50), True), Said(assistant("word " * 50), False)]
    run.run(said * 3)
    assert run.state["inner"]["reach"] > 0
    assert not load_strategy(raw).wants_pins()
    assert load_strategy({"type": "re_anchor", "inner": "pinned"}).wants_pins()


def test_it_wraps_itself() -> None:
    strategy = load_strategy({"type": "re_anchor", "inner": EVERY_TWO})
    assert isinstance(strategy, ReAnchor)
    assert isinstance(strategy.inner, ReAnchor)
