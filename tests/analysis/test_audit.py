"""An audit measures what a recorded session shows: each figure against a session made to show it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from contextrot.analysis.audit import Audit, RuleToCheck, as_data, audit, rules_of, sessions_survival
from contextrot.checks import load_check
from contextrot.messages import Message, ToolCall, Usage, assistant, system, tool_result, user
from contextrot.report.audit import findings
from contextrot.scenario.loader import parse_scenario
from contextrot.transcripts import Compaction, ModelCall, Transcript, read_transcripts

SAMPLES = Path(__file__).parent.parent / "transcripts" / "samples"
SHORT = RuleToCheck("short", load_check({"type": "count", "unit": "words", "at_most": 3}), 1)


def session(
    turns: int, tools_at: Iterable[int] = (), long_at: Iterable[int] = (), tokens: Iterable[int] = ()
) -> Transcript:
    """Turns with a tool round at `tools_at`, a long answer at `long_at`, and a recorded prompt of `tokens` each."""
    messages: list[Message] = [system("Be brief.")]
    calls: list[ModelCall] = []
    sizes = list(tokens)
    for turn in range(1, turns + 1):
        messages.append(user(f"question {turn}"))
        usage = Usage(sizes[turn - 1], 5, sizes[turn - 1] // 2) if sizes else Usage()
        if turn in set(tools_at):
            calls.append(ModelCall(len(messages), usage))
            messages += [assistant(None, [ToolCall("c", "look", json.dumps({"n": turn}))]), tool_result("c", "ok")]
        calls.append(ModelCall(len(messages), usage))
        messages.append(assistant("one two three four" if turn in set(long_at) else "yes"))
    return Transcript(tuple(messages), "openai", "made", tuple(calls))


def said(one: Audit) -> str:
    return "\n".join(sentence for sentence, _ in findings(one))


def test_turns_calls_and_steps() -> None:
    one = audit(session(6, tools_at=[2, 4]))
    assert (one.turns, one.calls, one.messages) == (6, 8, 17)
    assert one.steps == (1, 2, 1, 2, 1, 1)


def test_tool_use_that_falls_is_told() -> None:
    one = audit(session(30, tools_at=range(1, 13)))
    assert [(third.first, third.last, third.rate) for third in one.thirds] == [
        (1, 10, 1.0),
        (11, 20, 0.2),
        (21, 30, 0.0),
    ]
    assert one.trend == "falls"
    assert "Tool use falls: 100 % of the turns of the first third called a tool, 0 % of the last" in said(one)


@pytest.mark.parametrize(
    ("tools_at", "trend"), [(range(1, 31), "steady"), (range(1, 31, 2), "steady"), (range(19, 31), "rises"), ((), "")]
)
def test_other_trends(tools_at: Iterable[int], trend: str) -> None:
    one = audit(session(30, tools_at=tools_at))
    assert one.trend == trend
    assert "Tool use falls" not in said(one)


def test_a_short_session_has_no_trend() -> None:
    assert audit(session(6, tools_at=[1, 2])).trend == ""


def test_repeated_actions() -> None:
    def round_of(path: str, result: str, number: int) -> list[Message]:
        return [
            assistant(None, [ToolCall(f"c{number}", "read", json.dumps({"path": path}))]),
            tool_result(f"c{number}", result),
        ]

    rounds = [("a", "1"), ("b", "Error: none"), ("b", "2"), ("a", "1"), ("a", "changed")]
    messages = [user("go"), *(m for number, (path, text) in enumerate(rounds) for m in round_of(path, text, number))]
    one = audit(Transcript((*messages, assistant("done")), "openai"))
    assert (one.tool_calls, one.tool_errors, one.repeats, one.unchanged) == (5, 1, 2, 1)
    [worst] = one.repeated
    assert (worst.tool, worst.times, worst.turns) == ("read", 2, (1,))
    assert "2 of 5 tool calls (40 %) repeat an action that had already succeeded, 1 of them" in said(one)


def test_occupancy_as_recorded() -> None:
    one = audit(session(4, tokens=[100, 200, 900, 400]), window=1000)
    assert [(turn, tokens) for turn, tokens, _ in one.occupancy] == [(1, 100), (2, 200), (3, 900), (4, 400)]
    assert one.peak is not None
    assert one.peak.turn == 3
    assert one.cached_share == pytest.approx(0.5)
    assert "fullest at turn 3: 90 % of 1,000 tokens." in said(one)
    assert as_data(one)["occupancy"][2] == {"turn": 3, "tokens": 900, "recorded": True, "share": 0.9}


def test_occupancy_is_estimated_where_nothing_is_recorded() -> None:
    one = audit(session(10))
    sizes = [tokens for _, tokens, _ in one.occupancy]
    assert sizes == sorted(sizes)
    assert not any(recorded for _, _, recorded in one.occupancy)
    assert "tokens (estimated), at turn 10" in said(one)


def test_an_estimate_starts_anew_at_a_compaction() -> None:
    whole = session(10)
    one = audit(
        Transcript(whole.messages, "openai", "made", whole.calls, compactions=(Compaction(15, summary="short"),))
    )
    sizes = {turn: tokens for turn, tokens, _ in one.occupancy}
    assert sizes[8] < sizes[7]
    assert [(found.turn, found.recorded) for found in one.compactions] == [(8, True)]


def test_a_compaction_is_at_the_same_turn_whether_it_is_recorded_or_inferred() -> None:
    inferred = audit(session(5, tokens=[1000, 2000, 1500, 1000, 1100]))
    whole = session(5, tokens=[1000, 2000, 1500, 1000, 1100])
    at = next(place for place, turn in enumerate(whole.turn_of) if turn == 4)
    recorded = audit(replace(whole, compactions=(Compaction(at),)))
    assert [one.turn for one in inferred.compactions] == [one.turn for one in recorded.compactions] == [4]
    assert [one.recorded for one in recorded.compactions] == [True]


def test_compactions_are_inferred_from_shorter_prompts() -> None:
    one = audit(session(5, tokens=[1000, 2000, 1500, 1000, 1100]))
    assert [(found.turn, found.recorded, found.before, found.after) for found in one.compactions] == [
        (4, False, 1500, 1000)
    ]


def test_a_recorded_compaction_is_not_inferred_again() -> None:
    [transcript] = read_transcripts(SAMPLES / "claude_code.jsonl")
    [found] = audit(transcript).compactions
    assert (found.turn, found.recorded, found.before, found.trigger) == (2, True, 15_306, "manual")


def test_rules_by_turn() -> None:
    one = audit(session(5, long_at=[3, 4]), [SHORT])
    [rule] = one.rules
    assert [outcome for _, outcome, _ in rule.outcomes] == ["pass", "pass", "fail", "fail", "pass"]
    assert one.first_failure == (3, "short")
    assert "short was kept in 3 of 5 turns; first broken at turn 3" in said(one)


def test_a_rule_is_judged_from_the_turn_that_states_it() -> None:
    scenario = parse_scenario("""
contextrot: 1
id: s
constraints:
  - {id: here, text: 'question  3', place: {turn: 9}, check: {type: count, unit: words, at_most: 3}}
  - {id: system, text: Be brief., check: {type: count, unit: words, at_most: 3}}
  - {id: elsewhere, text: Never said., place: {turn: 5}, check: {type: count, unit: words, at_most: 3}}
session: {turns: 9}
""")
    one = audit(session(5, long_at=[2]), rules_of(scenario))
    assert [(rule.id, rule.stated, rule.found, rule.decided) for rule in one.rules] == [
        ("here", 3, True, 3),
        ("system", 0, True, 5),
        ("elsewhere", 5, False, 1),
    ]
    assert [rule.first_failure is None for rule in one.rules] == [True, False, True]


def test_a_reply_cut_off_is_neither_kept_nor_broken() -> None:
    whole = session(2, long_at=[2])
    cut = Transcript(
        whole.messages, "openai", "made", (whole.calls[0], whole.calls[1]._replace(finish_reason="length"))
    )
    [rule] = audit(cut, [SHORT]).rules
    assert [outcome for _, outcome, _ in rule.outcomes] == ["pass", "truncated"]
    assert (rule.passed, rule.decided) == (1, 1)


def test_several_sessions_have_a_length_with_an_interval() -> None:
    audits = [audit(session(20, long_at=[first]), [SHORT]) for first in (4, 6, 8, 10, 12, 14, 16, 18)]
    survival = sessions_survival([*audits, audit(session(20), [SHORT])])
    assert survival is not None
    assert survival.n == 9
    assert survival.events == 8
    assert survival.median == 12
    assert survival.low is not None
    assert survival.low <= 12
    assert sessions_survival([audit(session(3))]) is None
