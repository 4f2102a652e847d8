"""A transcript becomes a scenario that says the same words, loads, and can be benched."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from contextrot.errors import ConfigError
from contextrot.messages import Message, ToolCall, assistant, system, tool_result, user
from contextrot.scenario import Scenario, expand, load_scenario
from contextrot.transcripts import Transcript, read_transcripts
from contextrot.transcripts.rules import derived, rules_in
from contextrot.transcripts.to_scenario import Draft, draft_scenario, scenario_id, write_scenario

SAMPLES = Path(__file__).parent / "samples"


def imported(folder: Path, transcript: Transcript, **options: Any) -> tuple[Scenario, Draft]:
    draft = draft_scenario(transcript, "imported", **options)
    write_scenario(draft, folder / "imported.yaml")
    return load_scenario(folder / "imported.yaml"), draft


def session(*messages: Message) -> Transcript:
    return Transcript(messages, "openai", "a session")


TRICKY = [
    "no", "0123", "12:30", "2024-03-05", "~", "", " lead", "trail ", "tab\there", "a\r\nb\rc", "line\n\n\n", "\n first",
    "x: y # z", "- a", "'\"`", "\\n", "{value}", "emoji 👩‍🔬", "\x00\x07\x1b[0m", "\u2028\u0085\ufeff",
    "a\n  indented\n\tb",
    "%TAG", "@x", "&a *b", "? q", "|", "last line blank \nx", "\u00a0", "code:\n    if x:\n        y\n",
]  # fmt: skip
texts = st.one_of(
    st.sampled_from(TRICKY),
    st.text(st.characters(codec="utf-8"), max_size=60),
    st.text("ab \n\t\r:#-'\"", max_size=40),
)


@given(said=st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=4), prompt=texts)
@example(said=[(text, text, text) for text in TRICKY if text.strip()], prompt="Always be kind.\nNever shout.")
@settings(max_examples=60, deadline=None)
def test_every_text_comes_back_byte_for_byte(said: list[tuple[str, str, str]], prompt: str) -> None:
    messages = [system(prompt)]
    for number, (asked, result, answer) in enumerate(said):
        call = ToolCall(f"c{number}", "look", json.dumps({"at": result}))
        messages += [user(asked), assistant(None, [call]), tool_result(call.id, result), assistant(answer)]
    wanted = [(a, [r], b if b.strip() else None) for a, r, b in said if a.strip()]
    with tempfile.TemporaryDirectory() as folder:
        if not wanted:
            with pytest.raises(ConfigError, match="no user message with text"):
                imported(Path(folder), session(*messages))
            return
        scenario, _ = imported(Path(folder), session(*messages))
    found = [(item.user, [call.result for call in item.tool_calls], item.assistant) for item in scenario.items]
    assert found == wanted


def test_a_rule_of_the_system_prompt_becomes_a_constraint(tmp_path: Path) -> None:
    [transcript] = read_transcripts(SAMPLES / "openai.json")
    scenario, draft = imported(tmp_path, transcript)
    [rule] = scenario.constraints
    assert rule.text == "Always answer with one JSON object and nothing else."
    assert rule.place == "system"
    assert rule.check is not None
    assert rule.check.type_name == "json"
    assert scenario.system == "You are a billing assistant."
    assert [probe.constraint for probe in scenario.probes] == [rule.id]
    assert scenario.session.turns == 2
    assert scenario.tools[0].name == "get_invoice"
    assert draft.suggestions == []
    script = expand(scenario, seed=0, repeat=0)
    assert script.turns[0].calls[0].result == '{"open": 240.5, "currency": "EUR"}'


def test_a_rule_the_user_states_keeps_its_turn(tmp_path: Path) -> None:
    scenario, _ = imported(
        tmp_path,
        session(
            user("Hello"),
            assistant("Hello!"),
            user("From now on answer in at most five words."),
            assistant("I will do that."),
            user("What is new?"),
            assistant("Nothing much."),
        ),
    )
    [rule] = scenario.constraints
    assert rule.turn == 2
    assert rule.reply == "I will do that."
    assert [turn.user for turn in expand(scenario, seed=0, repeat=0).turns] == [
        "Hello",
        "From now on answer in at most five words.",
        "What is new?",
    ]


def test_a_rule_said_among_other_things_keeps_its_message(tmp_path: Path) -> None:
    call = ToolCall("c", "look", "{}")
    asked = "Look it up, and from now on answer in at most nine words."
    scenario, draft = imported(
        tmp_path, session(user(asked), assistant(None, [call]), tool_result("c", "x"), assistant("It is x."))
    )
    assert scenario.items[0].user == asked
    [(entry, why)] = draft.suggestions
    assert entry["check"] == {"type": "count", "unit": "words", "at_most": 9}
    assert why == "its message says or does more, and is left as it is"


def test_a_rule_the_session_does_not_bear_out_is_a_comment(tmp_path: Path) -> None:
    turns = [message for n in range(4) for message in (user(f"q {n}"), assistant("a long answer in prose"))]
    scenario, draft = imported(tmp_path, session(system("Answer in JSON."), *turns))
    assert scenario.constraints == ()
    assert [why for _, why in draft.suggestions] == ["only 0 of 4 recorded replies keep it; is this what it means?"]
    assert "#   - {id: rule-1, text: Answer in JSON" in (tmp_path / "imported.yaml").read_text(encoding="utf-8")
    assert scenario.system == "Answer in JSON."


def test_without_a_rule_a_canary_is_told_and_asked_for(tmp_path: Path) -> None:
    scenario, _ = imported(tmp_path, session(user("BLUE-42 is taken."), assistant("Yes."), user("b"), assistant("B")))
    [fact] = scenario.facts
    assert "BLUE-42" not in fact.values
    assert scenario.session.turns == 3
    assert scenario.probes[0].turns(3) == (0, 1, 2, 3)


def test_a_session_that_only_states_rules_still_has_filler(tmp_path: Path) -> None:
    scenario, _ = imported(tmp_path, session(user("Always answer in at most five words."), assistant("Yes.")))
    assert len(scenario.items) == 1
    assert [fact.id for fact in scenario.facts] == ["canary"]


def test_turns_cut_the_session(tmp_path: Path) -> None:
    turns = [message for n in range(9) for message in (user(f"q {n}"), assistant(f"a {n}"))]
    scenario, _ = imported(tmp_path, session(*turns), turns=4)
    assert [item.user for item in scenario.items] == ["q 0", "q 1", "q 2", "q 3"]


def test_tools_are_declared_by_what_was_seen(tmp_path: Path) -> None:
    def round_of(number: int, arguments: str) -> list[Message]:
        call = ToolCall(f"c{number}", "fs.read file", arguments)
        return [user(f"q {number}"), assistant(None, [call]), tool_result(call.id, f"r {number}"), assistant("a")]

    scenario, _ = imported(
        tmp_path,
        session(*round_of(1, '{"path": "x", "lines": 3}'), *round_of(2, '{"path": "y"}'), *round_of(3, "{torn")),
    )
    [tool] = scenario.tools
    assert tool.name == "fs_read_file"
    assert tool.parameters == {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
        "required": ["path"],
    }
    assert tool.returns == ("r 1", "r 2", "r 3")
    assert scenario.items[2].tool_calls[0].arguments == "{torn"


def test_a_session_too_long_for_a_scenario_goes_beside_it(tmp_path: Path) -> None:
    messages: list[Message] = []
    for number in range(30):
        call = ToolCall("c", "look", "{}")
        messages += [user(f"q {number} \u2028"), assistant(None, [call]), tool_result("c", f"{number} " + "x" * 40_000)]
        messages += [assistant(f"a {number}")]
    scenario, draft = imported(tmp_path, session(*messages))
    assert scenario.filler.transcript == "imported.messages.jsonl"
    assert len(scenario.items) == 30
    assert [item.user for item in scenario.items] == [item["user"] for item in draft.items]


@pytest.mark.parametrize("path", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_every_sample_becomes_a_scenario(tmp_path: Path, path: Path) -> None:
    for transcript in read_transcripts(path):
        scenario, draft = imported(tmp_path, transcript)
        assert scenario.session.turns == draft.turns
        assert len(expand(scenario, seed=0, repeat=0).turns) == draft.turns


@pytest.mark.parametrize(
    ("sentence", "check"),
    [
        ("Always respond in valid JSON.", {"type": "json", "only": False}),
        ("Reply with a single JSON object.", {"type": "json"}),
        ("Respond in French.", {"type": "language", "is": "fr"}),
        ("Never use more words: answer in at most 30 words.", {"type": "count", "unit": "words", "at_most": 30}),
        ("Keep every answer under 50 words.", {"type": "count", "unit": "words", "at_most": 49}),
        ("Answer in exactly two sentences.", {"type": "count", "unit": "sentences", "exactly": 2}),
        ("Always round to two decimal places.", {"type": "decimals", "places": 2}),
        ("Write in lowercase.", {"type": "case", "is": "lower"}),
        ("Always format answers as Markdown code blocks.", {"type": "code_fence"}),
        ("Answer in one fenced code block.", {"type": "code_fence"}),
        ('Start every reply with "Ahoy".', {"type": "starts_with", "text": "Ahoy"}),
        ('End each message with "Over."', {"type": "ends_with", "text": "Over."}),
        ('Never mention "Project X".', {"type": "keyword", "none": ["Project X"]}),
    ],
)
def test_checks_that_follow_from_the_words(sentence: str, check: dict[str, Any]) -> None:
    assert derived(sentence) == check
    assert [rule.check for rule in rules_in(sentence, system=True)] == [check]


@pytest.mark.parametrize(
    "sentence",
    [
        "Always be polite.",
        "Respond in French when the customer writes in French.",
        "Never answer in French or German.",
        "Translate from English and write it in French.",
        "Always use at least two decimals.",
        "Never write in capital letters.",
        "Always write code in code blocks.",
        "Always give examples in code blocks.",
        "Do not answer in code blocks.",
        "The file is under 50 words long.",
    ],
)
def test_no_check_where_the_words_leave_a_choice(sentence: str) -> None:
    assert derived(sentence) in (None, {"type": "count", "unit": "words", "at_most": 49})


def test_questions_and_single_orders_of_a_user_are_no_rules() -> None:
    assert list(rules_in("Do you always answer in JSON?", system=False)) == []
    assert list(rules_in("Answer this in French.", system=False)) == []
    assert [rule.check for rule in rules_in("Hi. From now on answer in French.", system=False)] == [
        {"type": "language", "is": "fr"}
    ]


@pytest.mark.parametrize(("name", "made"), [("a b/c.x", "a-b-c.x"), ("..", "imported"), ("9", "9"), ("é", "imported")])
def test_ids(name: str, made: str) -> None:
    assert scenario_id(name) == made
