"""What a script says: properties over generated scenarios, and the exact words where they matter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrot.checks.base import FactState
from contextrot.errors import ScenarioError
from contextrot.scenario import Scenario, expand
from contextrot.scenario.script import Script

CODES = ["BLUE-42", "TEAL-7", "RUST-19", "MINT-63", "PLUM-85"]
JSON = {"type": "json", "only": True}


def scenario(**parts: Any) -> Scenario:
    """A sound scenario with a fact stated at 1 and changed at 4, asked for at 0, 2, 4 and the end."""
    base: dict[str, Any] = {
        "contextrot": 1,
        "id": "base",
        "system": "You help.",
        "facts": [
            {"id": "code", "text": "Our code is {value}.", "values": CODES, "changes": [4], "reply": "Got {value}."}
        ],
        "session": {"turns": 6},
        "probes": [{"id": "ask", "ask": "Code?", "at": [0, 2, 4, "end"], "check": {"type": "recall", "fact": "code"}}],
    }
    return Scenario.model_validate(base | parts)


texts = st.text(st.characters(codec="utf-8", exclude_characters="{}"), min_size=1, max_size=40).filter(str.strip)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    turns = draw(st.integers(1, 25))
    moments = draw(st.lists(st.integers(1, turns), min_size=1, max_size=4, unique=True).map(sorted))
    place = draw(st.sampled_from(["system", "first_user", {"turn": turns}]))
    rule_turn = {"system": 1, "first_user": 1}.get(place, turns) if isinstance(place, str) else turns
    before, after = draw(texts), draw(texts)
    return Scenario.model_validate(
        {
            "contextrot": 1,
            "id": draw(st.sampled_from(["a", "b"])),
            "system": draw(st.none() | texts),
            "constraints": [
                {"id": "rule", "text": draw(texts), "place": place, "check": JSON, "pinned": draw(st.booleans())}
            ],
            "facts": [
                {
                    "id": "code",
                    "text": f"{before}{{value}}{after}",
                    "values": CODES,
                    "at": moments[0],
                    "changes": moments[1:],
                    "pinned": draw(st.booleans()),
                }
            ],
            "filler": draw(
                st.sampled_from(
                    [{"kind": "tickets"}, {"items": ["one", "two"]}, {"items": ["a", "b"], "order": "shuffled"}]
                )
            ),
            "session": {"turns": turns, "history": draw(st.sampled_from(["live", "scripted"]))},
            "probes": [
                {
                    "id": "code-now",
                    "ask": draw(texts),
                    "at": [0, moments[0], turns],
                    "check": {"type": "recall", "fact": "code"},
                }
                if moments[0] != turns
                else {
                    "id": "code-now",
                    "ask": draw(texts),
                    "at": [0, turns],
                    "check": {"type": "recall", "fact": "code"},
                },
                {"id": "rule-now", "ask": draw(texts), "at": [0, rule_turn], "constraint": "rule"},
            ],
        }
    )


seeds = st.integers(0, 50)


@settings(max_examples=60, deadline=None)
@given(scenarios(), seeds, st.integers(0, 5))
def test_the_same_seed_and_repeat_say_the_same_words(made: Scenario, seed: int, repeat: int) -> None:
    assert expand(made, seed=seed, repeat=repeat) == expand(made, seed=seed, repeat=repeat)


@settings(max_examples=60, deadline=None)
@given(scenarios(), seeds)
def test_turns_are_numbered_and_every_statement_stands_at_its_turn(made: Scenario, seed: int) -> None:
    script = expand(made, seed=seed, repeat=0)
    assert [turn.turn for turn in script.turns] == list(range(1, made.session.turns + 1))
    rule, fact = made.constraints[0], made.facts[0]
    for turn in script.turns:
        expected = [rule.text] if rule.turn == turn.turn else []
        if turn.turn in fact.turns:
            expected.append(fact.text.replace("{value}", turn.states[-1].evidence))
        assert [subject.statement for subject in turn.states] == expected
        if expected:
            assert turn.user == "\n\n".join(expected)
            assert all(subject.turn == turn.turn for subject in turn.states)
        else:
            assert turn.origin == "filler"
    if rule.turn == 0:
        assert script.system == (f"{made.system}\n\n{rule.text}" if made.system else rule.text)
        assert [subject.statement for subject in script.system_states] == [rule.text]
    else:
        assert script.system == made.system


@settings(max_examples=60, deadline=None)
@given(scenarios(), seeds)
def test_facts_hold_the_latest_value_and_all_that_were_replaced(made: Scenario, seed: int) -> None:
    script = expand(made, seed=seed, repeat=0)
    fact = made.facts[0]
    said: list[str] = []
    for turn in script.turns:
        said += [subject.evidence for subject in turn.states if subject.kind == "fact"]
        for ask in turn.forks:
            if ask.id == "code-now":
                assert ask.facts == {"code": FactState(said[-1], tuple(said[:-1]))}
                assert ask.subject is not None
                assert ask.subject.evidence == said[-1]
    assert len(set(said)) == len(said) == len(fact.turns)
    assert set(said) <= set(fact.values)


@settings(max_examples=60, deadline=None)
@given(scenarios(), seeds)
def test_a_floor_never_says_what_its_ceiling_says(made: Scenario, seed: int) -> None:
    script = expand(made, seed=seed, repeat=0)
    assert {(control.id, control.kind) for control in script.controls} == {
        (name, kind) for name in ("code-now", "rule-now") for kind in ("ceiling", "floor")
    }
    rule = made.constraints[0]
    first_value = next(ask for ask in script.fresh if ask.id == "code-now").facts["code"].value
    statement = made.facts[0].text.replace("{value}", first_value)
    for control in script.controls:
        ask = next(probe.ask for probe in made.probes if probe.id == control.id)
        if control.id == "code-now":
            assert control.text == (f"{statement}\n\n{ask}" if control.kind == "ceiling" else ask)
            assert control.facts == {"code": FactState(first_value)}
            assert control.evidence == first_value
        elif control.kind == "floor":
            assert control.text == ask
            assert control.system == made.system
        elif rule.turn:
            assert control.text == f"{rule.text}\n\n{ask}"
        else:
            assert control.text == ask
            assert control.system == script.system


@settings(max_examples=40, deadline=None)
@given(scenarios(), seeds, st.integers(1, 40))
def test_another_length_changes_no_word_of_the_turns_both_have(made: Scenario, seed: int, turns: int) -> None:
    whole = expand(made, seed=seed, repeat=0)
    other = expand(made, seed=seed, repeat=0, turns=turns)
    assert len(other.turns) == turns
    for one, two in zip(whole.turns, other.turns, strict=False):
        assert (one.user, one.states, one.reply) == (two.user, two.states, two.reply)
    assert all(ask.turn <= turns for turn in other.turns for ask in turn.forks)


def test_repeats_draw_other_values() -> None:
    drawn = {expand(scenario(), seed=1, repeat=repeat).turns[0].user for repeat in range(20)}
    assert len(drawn) > 2


def test_every_probe_is_asked_at_its_turns_and_end_moves_with_the_length() -> None:
    def asked(script: Script) -> list[int]:
        return [ask.turn for ask in script.fresh] + [ask.turn for turn in script.turns for ask in turn.forks]

    assert asked(expand(scenario(), seed=1, repeat=0)) == [0, 2, 4, 6]
    assert asked(expand(scenario(), seed=1, repeat=0, turns=9)) == [0, 2, 4, 9]
    assert asked(expand(scenario(), seed=1, repeat=0, turns=3)) == [0, 2, 3]
    every = scenario(probes=[{"id": "e", "ask": "Code?", "at": {"every": 3, "from": 1}, "check": JSON}])
    assert asked(expand(every, seed=1, repeat=0)) == [1, 4]


def test_a_length_that_reaches_no_probe_is_refused() -> None:
    late = scenario(probes=[{"id": "ask", "ask": "Code?", "at": 5, "check": {"type": "recall", "fact": "code"}}])
    with pytest.raises(ScenarioError, match="with 3 turns no probe is reached"):
        expand(late, seed=1, repeat=0, turns=3)
    with pytest.raises(ScenarioError, match="at least 1 turn"):
        expand(late, seed=1, repeat=0, turns=0)


def test_a_shorter_session_never_asks_for_what_it_no_longer_says() -> None:
    late = scenario(
        facts=[{"id": "code", "text": "Our code is {value}.", "values": CODES, "at": 5}],
        probes=[{"id": "ask", "ask": "Code?", "at": [0, "end"], "check": {"type": "recall", "fact": "code"}}],
    )
    script = expand(late, seed=1, repeat=0, turns=3)
    assert [ask.turn for ask in script.fresh] == [0]
    assert not any(turn.forks for turn in script.turns)


def test_the_fresh_probe_says_the_statement_right_before_the_question() -> None:
    ask = expand(scenario(), seed=1, repeat=0).fresh[0]
    assert ask.text == f"Our code is {ask.facts['code'].value}.\n\nCode?"
    assert ask.facts["code"].superseded == ()
    placed = scenario(
        constraints=[{"id": "rule", "text": "Use JSON.", "check": JSON}],
        probes=[
            {"id": "r", "ask": "Hi?", "at": 0, "constraint": "rule"},
            {"id": "n", "ask": "Hi!", "at": 0, "check": JSON},
        ],
    )
    script = expand(placed, seed=1, repeat=0)
    assert [ask.text for ask in script.fresh] == ["Hi?", "Hi!"]
    assert script.fresh[1].subject is None
    assert [(control.id, control.kind) for control in script.controls] == [
        ("r", "ceiling"),
        ("r", "floor"),
        ("n", "ceiling"),
    ]


def test_an_inline_probe_is_the_user_message_of_its_turn() -> None:
    made = scenario(
        probes=[
            {"id": "ask", "ask": "Code?", "at": [0, 3], "mode": "inline", "check": {"type": "recall", "fact": "code"}}
        ],
        session={"turns": 6, "history": "scripted"},
    )
    script = expand(made, seed=1, repeat=0)
    turn = script.turns[2]
    assert (turn.user, turn.origin, turn.reply) == ("Code?", "probe", None)
    assert turn.inline is not None
    assert turn.inline.mode == "inline"
    assert script.fresh[0].mode == "fork"


def test_an_inline_probe_at_the_end_may_not_fall_on_a_statement() -> None:
    made = scenario(
        probes=[
            {"id": "ask", "ask": "Code?", "at": "end", "mode": "inline", "check": {"type": "recall", "fact": "code"}}
        ]
    )
    with pytest.raises(ScenarioError, match="falls on turn 4"):
        expand(made, seed=1, repeat=0, turns=4)


def test_a_checked_rule_without_a_probe_gets_controls_over_the_first_filler_turn() -> None:
    made = scenario(
        constraints=[{"id": "rule", "text": "Use JSON.", "place": "first_user", "check": JSON}],
        filler={"items": ["First job.", "Second job."]},
    )
    script = expand(made, seed=1, repeat=0)
    controls = {control.kind: control for control in script.controls if control.id == "rule"}
    assert controls["ceiling"].text == "Use JSON.\n\nFirst job."
    assert controls["floor"].text == "First job."
    assert [passive.subject.id for passive in script.passive] == ["rule"]
    assert script.turns[0].origin == "constraint"


def test_a_rule_stated_beyond_a_shortened_session_is_not_checked() -> None:
    made = scenario(constraints=[{"id": "rule", "text": "Use JSON.", "place": {"turn": 5}, "check": JSON}])
    assert expand(made, seed=1, repeat=0).passive
    assert not expand(made, seed=1, repeat=0, turns=4).passive


def test_live_histories_have_no_canned_replies_and_scripted_ones_have_one_each_turn() -> None:
    made = scenario(
        tools=[{"name": "log", "description": "Log."}],
        filler={
            "items": [
                {
                    "user": "Log it.",
                    "assistant": "Logged.",
                    "tool_calls": [{"name": "log", "arguments": {"a": 1}, "result": "ok"}],
                }
            ]
        },
    )
    live = expand(made, seed=1, repeat=0)
    assert all(turn.reply is None and turn.calls == () for turn in live.turns)
    scripted = expand(made, seed=1, repeat=0, history="scripted")
    assert scripted.turns[0].reply == f"Got {scripted.turns[0].states[0].evidence}."
    assert scripted.turns[1].reply == "Logged."
    assert [(call.name, call.arguments, call.result) for call in scripted.turns[1].calls] == [("log", '{"a":1}', "ok")]
    assert live.tools[0].returns == ('{"status": "ok"}',)


def test_gold_replies_keep_every_rule_and_cycle() -> None:
    made = scenario(
        constraints=[{"id": "rule", "text": "Use JSON.", "gold": ['{"a": 1}', '{"a": 2}'], "check": JSON}],
        filler={"items": [{"user": "x", "assistant": "Sure!"}, {"user": "y", "gold": '{"own": true}'}]},
    )
    script = expand(made, seed=1, repeat=0, history="gold")
    assert [turn.reply for turn in script.turns if turn.origin == "filler"] == [
        '{"a": 1}',
        '{"own": true}',
        '{"a": 1}',
        '{"own": true}',
    ]
    assert all(str(turn.reply).startswith("{") for turn in script.turns)


def test_a_gold_history_without_a_reply_that_keeps_the_rule_is_refused() -> None:
    made = scenario(
        constraints=[{"id": "rule", "text": "Use JSON.", "check": JSON}],
        filler={"items": [{"user": "x", "assistant": "Sure!"}]},
    )
    with pytest.raises(ScenarioError, match="keeps constraint `rule`"):
        expand(made, seed=1, repeat=0, history="gold")


def test_only_value_is_substituted() -> None:
    made = scenario(
        system="Keep {value} and {{name}} and 5} dollars and $HOME",
        facts=[{"id": "code", "text": 'It is {value}; {other} {{value}} "{"', "values": CODES}],
        probes=[{"id": "ask", "ask": "What {is} {value}?", "at": 0, "check": {"type": "recall", "fact": "code"}}],
    )
    script = expand(made, seed=1, repeat=0)
    value = script.fresh[0].facts["code"].value
    assert script.system == "Keep {value} and {{name}} and 5} dollars and $HOME"
    assert script.turns[0].user == f'It is {value}; {{other}} {{{value}}} "{{"'
    assert script.fresh[0].text.endswith("\n\nWhat {is} {value}?")
