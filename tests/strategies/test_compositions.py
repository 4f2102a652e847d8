"""The shared rules for wrappers over wrappers over any strategy."""

from __future__ import annotations

import json
from typing import Any

from histories import Helper, Said, Session, innermost, tasked_histories
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_strategy_invariants import CONFIGS, MOODS, WINDOWS, check_view

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
    retries = getattr(innermost(strategy, {})[0], "retries", -1)
    for said in history:
        run.add(said)
        if not said.asks:
            continue
        before, state = [entry.message.wire for entry in run.log], json.dumps(run.state)
        step = run.view()
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
        rejected = sum(event.name == "summary_rejected" for event in step.view.events)
        assert rejected <= 1 + max(0, retries)
