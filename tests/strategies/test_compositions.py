"""The shared rules for wrappers over wrappers over any strategy."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from typing import Any

from histories import Helper, Said, Session, tasked_histories
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_strategy_invariants import CONFIGS, MOODS, WINDOWS, check_view, most_asks

from contextrot.outcomes import Status
from contextrot.strategies import load_strategy

PLAIN = [raw for raw in CONFIGS.values() if not hasattr(load_strategy(raw), "inner")]
WRAPPERS = st.one_of(
    st.fixed_dictionaries({"type": st.just("re_anchor"), "every_n_turns": st.integers(1, 3)}),
    st.fixed_dictionaries(
        {
            "type": st.just("offload"),
            "over": st.sampled_from(({"tokens": 20}, {"tokens": 60}, {"fraction": 0.1})),
            "max_tokens": st.sampled_from((16, 40)),
            "user_messages": st.booleans(),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("budget_guard"),
            "system": st.just({"fraction": 1.0}),
            "history": st.sampled_from(({"tokens": 90}, {"fraction": 0.5})),
            "tool_output": st.sampled_from(({"tokens": 40}, {"fraction": 0.3})),
            "retrieved": st.sampled_from(({"tokens": 30}, {"fraction": 0.2})),
        }
    ),
)


@st.composite
def compositions(draw: st.DrawFn) -> Any:
    raw: Any = draw(st.sampled_from(PLAIN))
    for wrapper in draw(st.lists(WRAPPERS, min_size=1, max_size=2)):
        raw = {**wrapper, "inner": raw}
    return raw


@given(raw=compositions(), history=tasked_histories(), window=WINDOWS, mood=st.sampled_from(MOODS))
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_composition_keeps_the_shared_rules(raw: Any, history: list[Said], window: int, mood: str) -> None:
    strategy = load_strategy(raw)
    run = Session(strategy, window=window, helper=Helper(mood))
    asks: Counter[int] = Counter()
    for said in history:
        run.add(said)
        if not said.asks:
            continue
        before, state = [entry.message.wire for entry in run.log], json.dumps(run.state)
        step = run.view()
        asks[run.turn] += step.asks
        assert [entry.message.wire for entry in run.log] == before
        again = Session(strategy, window=window, helper=Helper(mood), log=run.log)
        again.turn, again.state = run.turn, json.loads(state)
        repeated = again.view()
        assert repeated.view == step.view
        assert str(repeated.error) == str(step.error)
        if step.view is None:
            assert step.asks == 0
            continue
        check_view(run.log, step)
        assert step.view.aux_calls == step.asks
    assert max(asks.values()) <= most_asks(strategy)


OUTER: tuple[dict[str, Any], ...] = (
    {"type": "re_anchor", "every_n_turns": 2},
    {"type": "offload", "over": {"tokens": 60}, "max_tokens": 40},
    {"type": "budget_guard", "system": {"fraction": 1.0}, "history": {"tokens": 120}, "tool_output": {"tokens": 60}},
)


@given(
    order=st.sampled_from(list(permutations(OUTER))),
    base=st.sampled_from(PLAIN),
    history=tasked_histories(),
    window=WINDOWS,
    mood=st.sampled_from(MOODS),
)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_all_wrappers_in_any_order_keep_the_shared_rules(
    order: tuple[dict[str, Any], ...], base: Any, history: list[Said], window: int, mood: str
) -> None:
    raw = base
    for wrapper in order:
        raw = {**wrapper, "inner": raw}
    run = Session(load_strategy(raw), window=window, helper=Helper(mood))
    for said in history:
        run.add(said)
        if not said.asks:
            continue
        step = run.view()
        if step.view is not None:
            check_view(run.log, step)
            assert step.view.aux_calls == step.asks


@given(raw=compositions(), history=tasked_histories(), other=tasked_histories(), window=WINDOWS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_two_sessions_of_a_composition_interleaved_give_what_they_give_alone(
    raw: Any, history: list[Said], other: list[Said], window: int
) -> None:
    strategy, both = load_strategy(raw), (history, other)
    alone = [[step.view for step in Session(load_strategy(raw), window=window).run(said)] for said in both]
    runs = [Session(strategy, window=window) for _ in both]
    views: list[list[Any]] = [[], []]
    for k in range(max(map(len, both))):
        for number, said in enumerate(both):
            views[number] += [step.view for step in runs[number].run(said[k : k + 1])]
    assert views == alone


@given(
    base=st.sampled_from(["fifo", {"type": "fifo", "keep": {"turns": 2}}, "pinned", "observation_masking"]),
    wrappers=st.lists(st.sampled_from(OUTER), min_size=1, max_size=3, unique_by=lambda raw: raw["type"]),
    history=tasked_histories(),
    window=st.integers(60, 900),
    more=st.integers(1, 400),
)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_larger_budget_never_keeps_less_under_wrappers(
    base: Any, wrappers: list[dict[str, Any]], history: list[Said], window: int, more: int
) -> None:
    raw = base
    for wrapper in wrappers:
        raw = {**wrapper, "inner": raw}
    sizes = (window, window + more)
    small, large = (Session(load_strategy(raw), window=size).run(history) for size in sizes)
    for one, other in zip(small, large, strict=True):
        if one.view is None:
            continue
        assert other.view is not None
        # A reminder that only the larger budget has room for takes that room from the rest, as it should.
        reminded = [any(event.name == "re_anchor" for event in step.view.events) for step in (one, other) if step.view]
        if reminded[0] != reminded[1]:
            continue
        kept = [{i for i, s in enumerate(view.manifest) if s is not Status.DROPPED} for view in (one.view, other.view)]
        assert kept[0] <= kept[1]
