"""Retrieval brings back what the question is about, whole, once, in order; selection by tag what shares its tags."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from histories import COUNTER, Said, Session, histories
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import contextrot as cr
from contextrot.errors import ConfigError, ModelError
from contextrot.log import Log
from contextrot.messages import ToolCall, assistant, system, tool_result, user
from contextrot.models.embedders import EmbeddingCall, create_embedder
from contextrot.outcomes import Status
from contextrot.strategies import Request, View, load_strategy
from contextrot.strategies.passages import LONGEST, Passages, passages
from contextrot.strategies.tag_selection import TaggedUnits

ONE_TURN = {"type": "retrieval", "recent": {"turns": 1}}
examples = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))

TALK = [
    ("How do I roll back the billing service?", "Run the rollback job for billing, then check the dashboard."),
    ("The staging database password is on the wiki.", "Thanks, I will look there."),
    ("Sasha solved the integral by substituting u = x squared.", "A neat substitution by Sasha."),
    ("Lunch is at noon on Fridays.", "Good to know."),
    ("The project code is TEAL-7.", "Noted."),
    ("The printer on the second floor is out of paper.", "I will tell the office."),
    ("Our holiday calendar starts in January.", "Understood."),
]


def session(raw: Any, *, window: int = 4000) -> Session:
    return Session(load_strategy(raw), window=window)


def talk(run: Session, question: str, *, turns: Sequence[tuple[str, str]] = TALK) -> View:
    run.add(Said(system("You help."), False))
    for ask, reply in turns:
        run.add(Said(user(ask), True))
        run.add(Said(assistant(reply), False))
    run.add(Said(user(question), True))
    view = run.view().view
    assert view is not None
    return view


def texts(view: View) -> list[str]:
    return [message.text for message in view.messages]


def retrieved(run: Session, view: View) -> list[int]:
    """Units that the manifest says were retrieved."""
    indexes = [index for index, status in enumerate(view.manifest) if status is Status.RETRIEVED]
    return sorted({run.log.unit_of(index) for index in indexes})


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What is our project code?", "The project code is TEAL-7."),
        ("Can you show Sasha's substitutions on the integral from earlier?", TALK[2][0]),
        ("Where do I find the password of the staging database?", TALK[1][0]),
        ("Which printer needs paper?", TALK[5][0]),
        ("How was a rollback of the billing service done?", TALK[0][1]),
    ],
)
@pytest.mark.parametrize("name", ["retrieval", "pinned_plus_retrieval"])
def test_the_relevant_unit_is_found_among_distractors(name: str, question: str, found: str) -> None:
    run = session(ONE_TURN | {"type": name, "top_k": 2})
    view = talk(run, question)
    assert found in texts(view)
    assert len(view.messages) == 4
    assert view.sources == tuple(sorted(view.sources))
    assert texts(view)[0] == "You help."
    assert texts(view)[-1] == question
    [event] = view.events
    assert (event.name, event.detail["units"], event.detail["left_out"]) == ("retrieval", 2, 0)


def test_a_tool_round_comes_back_whole_by_what_is_said_deep_inside_its_result() -> None:
    run = session(ONE_TURN | {"top_k": 1})
    run.add(Said(user("Look at the log."), True))
    run.add(Said(assistant(None, [ToolCall("c1", "read_log", '{"day": 3}'), ToolCall("c2", "noop")]), False))
    jobs = "\n".join(f"14:{minute:02} worker {minute % 4} finished job {minute * 37}" for minute in range(60))
    payments = "\n".join(f"payment {n}: the payment gateway timed out after {n} s, payment retried" for n in range(15))
    assert len(jobs) > LONGEST
    run.add(Said(tool_result("c1", f"{jobs}\n{payments}\n{jobs}"), False))
    run.add(Said(tool_result("c2", "ok"), True))
    for ask, reply in TALK:
        run.add(Said(user(ask), True))
        run.add(Said(assistant(reply), False))
    run.add(Said(user("When did the payment gateway time out?"), True))
    view = run.view().view
    assert view is not None
    assert [message.role for message in view.messages] == ["assistant", "tool", "tool", "user"]
    assert retrieved(run, view) == [1]


def test_what_is_in_view_is_not_put_in_again_under_any_number() -> None:
    repeated = [("Give a random math example.", f"{n} plus {n} is {2 * n}.") for n in range(30)]
    run = session(ONE_TURN | {"top_k": 3})
    view = talk(run, "Give a random math example.", turns=repeated)
    assert texts(view).count("Give a random math example.") == 1
    assert len(retrieved(run, view)) == 3


def test_the_recent_window_is_not_searched_and_the_rest_is_only_where_it_left_it() -> None:
    run = session({"type": "retrieval"})
    view = talk(run, "What is our project code?", turns=TALK[:3])
    assert list(view.manifest) == [Status.VERBATIM] * 8  # four turns: all of it
    assert view.events == ()
    assert view.state == {"failures": 0}


def test_units_below_min_similarity_stay_out() -> None:
    strict = session(ONE_TURN | {"min_similarity": 0.45, "top_k": 10})
    assert [t for t in texts(talk(strict, "What is our project code?")) if "TEAL" in t]
    assert len(retrieved(strict, strict.view().view)) == 1  # type: ignore[arg-type]
    none = session(ONE_TURN | {"min_similarity": 1.0})
    view = talk(none, "What is our project code?")
    assert (len(view.messages), view.events) == (2, ())


def test_the_best_that_fit_are_taken_and_the_event_counts_the_others() -> None:
    run = session(ONE_TURN | {"top_k": 2, "max_tokens": 30})
    long = ("The project code of the old project was RUST-19, " + "and so on " * 60, "Noted.")
    view = talk(run, "What is our project code?", turns=[long, *TALK])
    assert "The project code is TEAL-7." in texts(view)
    assert view.events[0].detail["left_out"] == 1


def test_a_recent_window_that_would_fill_the_budget_leaves_room_and_gets_back_what_is_not_needed() -> None:
    turns = [TALK[4], *((f"ticket {n} " + "word " * 40, "done " * 20) for n in range(6))]
    run = session({"type": "retrieval", "top_k": 1, "recent": {"turns": 6}}, window=300)
    view = talk(run, "What is our project code?", turns=turns)
    assert texts(view)[1] == "The project code is TEAL-7."
    assert 300 - 80 < view.tokens <= 300
    plain = session({"type": "fifo", "keep": {"turns": 6}}, window=300)
    assert "The project code is TEAL-7." not in texts(talk(plain, "What is our project code?", turns=turns))


def test_shared_tags_lift_a_unit_in_part_or_in_full() -> None:
    def scores(bonus: float) -> list[int]:
        run = session(ONE_TURN | {"top_k": 1, "tag_bonus": bonus})
        for n, (ask, reply) in enumerate(TALK):
            run.add(Said(user(ask), True, tags=frozenset({"office", "misc"} if n == 5 else {"other"})))
            run.add(Said(assistant(reply), False))
        run.add(Said(user("What is our project code?"), True, tags=frozenset({"office", "misc"})))
        view = run.view().view
        assert view is not None
        return retrieved(run, view)

    assert scores(0.0) == [8]
    assert scores(0.1) == [8]
    assert scores(1.0) == [10]


def test_a_pin_is_in_view_and_never_retrieved_as_well() -> None:
    for name, wanted in (("retrieval", False), ("pinned_plus_retrieval", True)):
        assert load_strategy(name).wants_pins() is wanted
    messages = [{"role": "user", "content": text} for pair in TALK for text in pair]
    view = cr.render(ONE_TURN | {"type": "pinned_plus_retrieval"}, messages, window=4000, pins=[8])
    assert view.manifest[8] == "verbatim"
    assert [m["content"] for m in view.messages].count(TALK[4][0]) == 1


@given(history=histories(), window=st.sampled_from((150, 400, 900)), top_k=st.integers(1, 6), more=st.integers(1, 4))
@examples
def test_a_larger_top_k_never_retrieves_less(history: list[Said], window: int, top_k: int, more: int) -> None:
    runs = [session(ONE_TURN | {"top_k": k}, window=window) for k in (top_k, top_k + more)]
    for few, many in zip(*(run.run(history) for run in runs), strict=True):
        if few.view is None:
            assert many.view is None
            continue
        assert many.view is not None
        assert set(retrieved(runs[0], few.view)) <= set(retrieved(runs[1], many.view))


@given(history=histories(), window=st.sampled_from((150, 400, 900)))
@examples
def test_no_more_than_top_k_and_never_what_stays_anyway(history: list[Said], window: int) -> None:
    run = session(ONE_TURN | {"top_k": 2}, window=window)
    for step in run.run(history):
        if step.view is not None:
            units = retrieved(run, step.view)
            assert len(units) <= 2
            assert all(not run.log.units[unit].pinned and run.log.units[unit].kind != "system" for unit in units)


class Broken:
    """Fails the first `failures` times, then is the embedded default."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.asked = 0
        self.inner = create_embedder()

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += 1
        if self.asked <= self.failures:
            raise ModelError("the embedding server is down")
        return await self.inner.embed(texts)


def test_when_the_embedding_model_fails_the_recent_window_is_sent_and_an_event_says_so() -> None:
    run = session(ONE_TURN | {"top_k": 1})
    run.embedder = Broken(1)
    view = talk(run, "What is our project code?")
    assert texts(view) == ["You help.", "What is our project code?"]
    assert [event.name for event in view.events] == ["retrieval_failed"]
    assert view.events[0].detail == {"reason": "the embedding server is down"}
    assert len(run.log) == 16
    back = run.view().view
    assert back is not None
    assert texts(back)[1] == "The project code is TEAL-7."
    assert run.state == {"failures": 0}


def test_after_three_failures_in_a_row_it_is_not_asked_again() -> None:
    run = session(ONE_TURN)
    run.embedder = broken = Broken(99)
    views = [talk(run, "What is our project code?")]
    views += [view for _ in range(4) if (view := run.view().view) is not None]
    assert broken.asked == 3
    assert [event.name for view in views for event in view.events] == [*["retrieval_failed"] * 3, "retrieval_stopped"]


@given(history=histories(), window=st.sampled_from((60, 150, 400)))
@examples
def test_a_failing_embedder_gives_what_fifo_gives(history: list[Said], window: int) -> None:
    run, plain = session(ONE_TURN, window=window), session({"type": "fifo", "keep": {"turns": 1}}, window=window)
    run.embedder = Broken(10**6)
    for ours, theirs in zip(run.run(history), plain.run(history), strict=True):
        assert (ours.view is None) == (theirs.view is None)
        if ours.view is not None and theirs.view is not None:
            assert ours.view.messages == theirs.view.messages
            assert ours.view.manifest == theirs.view.manifest


def test_without_an_embedder_a_sentence() -> None:
    log = Log(COUNTER.message)
    log.append(user("hello"), turn=1)
    with pytest.raises(ConfigError, match="retrieval needs an embedding model"):
        asyncio.run(load_strategy("retrieval").view(log, {}, Request(400, 400, 1, COUNTER.message)))


def test_an_embedder_that_only_embeds_gives_the_same_views() -> None:
    for window in (200, 4000):
        own, bare = session(ONE_TURN, window=window), session(ONE_TURN, window=window)
        bare.embedder = Broken(0)
        assert talk(own, "What is our project code?") == talk(bare, "What is our project code?")


def test_a_session_embeds_each_text_once_and_a_branch_what_it_adds() -> None:
    calls: list[EmbeddingCall] = []
    run = session(ONE_TURN)
    run.embedder = create_embedder(on_call=calls.append)
    for ask, reply in TALK:
        run.add(Said(user(ask), True))
        run.view()
        run.add(Said(assistant(reply), False))
    run.view()
    assert sum(call.texts for call in calls) == len({text for pair in TALK for text in pair})
    branch = Session(run.strategy, log=run.log.fork())
    branch.embedder, branch.turn = run.embedder, run.turn
    branch.add(Said(user("What is our project code?"), True))
    before = len(calls)
    view = branch.view().view
    assert view is not None
    assert "The project code is TEAL-7." in texts(view)
    assert [call.texts for call in calls[before:]] == [1]
    assert len(run.log.index_of(Passages).texts) == len({text for pair in TALK for text in pair})


def test_two_sessions_may_share_an_embedder() -> None:
    shared = create_embedder()
    runs = [session(ONE_TURN) for _ in range(4)]
    runs[0].embedder = runs[1].embedder = shared
    views: list[list[View]] = [[], [], [], []]
    for n in range(len(TALK)):
        for number, run in enumerate(runs):
            ask, reply = TALK[n] if number % 2 == 0 else TALK[-1 - n]
            run.add(Said(user(ask), True))
            step = run.view()
            assert step.view is not None
            views[number].append(step.view)
            run.add(Said(assistant(reply), False))
    assert views[0] == views[2]
    assert views[1] == views[3]


@given(st.text(alphabet=st.sampled_from("ab \n\t文"), max_size=5000))
def test_passages_hold_every_word_in_order(text: str) -> None:
    pieces = list(passages(text))
    assert all(0 < len(piece) <= LONGEST and piece.strip() for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    if text.strip() and len(text) <= LONGEST:
        assert pieces == [text]


def test_passages_are_cut_between_words_where_there_is_a_blank() -> None:
    pieces = list(passages("word " * 500))
    assert [set(piece.split()) for piece in pieces] == [{"word"}] * 3
    assert all(len(piece) > 990 for piece in pieces[:2])
    assert [len(piece) for piece in passages("x" * 2500)] == [1000, 1000, 500]


# --- by tag -----------------------------------------------------------------------------------------------------------


def tagged(run: Session, *turns: tuple[str, str], now: str = "") -> View:
    """Turns of (text, tags in one word each letter), and a last one."""
    for text, tags in turns:
        run.add(Said(user(text), True, tags=frozenset(tags)))
        run.add(Said(assistant(f"re {text}"), False))
    run.add(Said(user("now"), True, tags=frozenset(now)))
    view = run.view().view
    assert view is not None
    return view


BY_TAG = {"type": "tag_selection", "recent": {"turns": 1}, "limit": 2}


def test_the_units_with_most_shared_tags_then_the_newest() -> None:
    turns = [("one", "ab"), ("two", "a"), ("three", "c"), ("four", "a"), ("five", "")]
    run = session(BY_TAG)
    view = tagged(run, *turns, now="ab")
    assert texts(view) == ["one", "four", "now"]
    assert [status.value for status in view.manifest].count("retrieved") == 2
    assert view.events[0].detail == {"units": 2, "tokens": 10, "left_out": 0, "tags": ["a", "b"]}


def test_tags_may_be_given_and_without_any_nothing_is_selected() -> None:
    turns = [("one", "ab"), ("two", "a"), ("three", "c")]
    assert texts(tagged(session(BY_TAG | {"tags": ["c"]}), *turns, now="a")) == ["three", "now"]
    assert texts(tagged(session(BY_TAG | {"tags": "c"}), *turns)) == ["three", "now"]
    assert texts(tagged(session(BY_TAG), *turns)) == ["now"]
    assert texts(tagged(session(BY_TAG), *turns, now="z")) == ["now"]
    assert load_strategy("tag_selection").wants_pins()


def test_a_tool_round_has_the_tags_of_its_results_and_the_turn_those_of_its_messages() -> None:
    run = session(BY_TAG | {"limit": 3})
    run.add(Said(user("look"), True))
    run.add(Said(assistant(None, [ToolCall("c1", "look"), ToolCall("c2", "look")]), False))
    run.add(Said(tool_result("c1", "first"), False, tags=frozenset("a")))
    assert run.log.index_of(TaggedUnits)
    run.add(Said(tool_result("c2", "second"), True, tags=frozenset("b")))
    run.add(Said(assistant("seen"), False))
    run.add(Said(user("go on"), True))
    run.add(Said(assistant(None, [ToolCall("c3", "look")]), False))
    run.add(Said(tool_result("c3", "third"), True, tags=frozenset("b")))
    view = run.view().view
    assert view is not None
    assert retrieved(run, view) == [1]
    assert next(run.log.index_of(TaggedUnits).best("ab")) == 1


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(("", "a", "b", "ab", "abc"))), max_size=30),
    st.sampled_from(("a", "ab", "c", "cd")),
)
def test_the_index_ranks_as_a_walk_over_all_units_does(said: list[tuple[int, str]], wanted: str) -> None:
    log = Log(COUNTER.message)
    for number, (results, tags) in enumerate(said):
        calls = [ToolCall(f"{number}.{k}", "f") for k in range(results)]
        log.append(assistant("x", calls), turn=number, tags=frozenset(tags))
        for k, call in enumerate(calls):
            log.append(tool_result(call.id, "r"), turn=number, tags=frozenset(tags[k : k + 1]))
            log.index_of(TaggedUnits)
    found = list(log.index_of(TaggedUnits).best(wanted))
    overlaps = []
    for number, unit in enumerate(log.units):
        tags = frozenset[str]().union(*(log[index].tags for index in unit.indices))
        overlaps.append((len(tags & set(wanted)), number))
    assert found == [number for shared, number in sorted(overlaps, reverse=True) if shared]
    assert list(log.fork().index_of(TaggedUnits).best(wanted)) == found
