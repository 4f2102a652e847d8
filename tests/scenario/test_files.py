"""Bytes, not only text: encodings, sizes, missing files; and transcripts as filler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrot.errors import ScenarioError
from contextrot.scenario import Scenario, expand, load_scenario
from contextrot.scenario.loader import parse_scenario

TEXT = """contextrot: 1
id: x
title: Größe
tools: [{name: log, description: Log.}]
session: {turns: 5, history: scripted}
probes: [{id: p, ask: hi, at: 1, check: {type: json}}]
"""


def problems(path: Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    return str(caught.value)


def told_of(text: str) -> list[str] | None:
    """The problems of a text, None when it loads; any other exception is a crash."""
    try:
        parse_scenario(text)
    except ScenarioError as error:
        return error.problems
    return None


def test_a_byte_order_mark_is_fine(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_bytes(TEXT.encode("utf-8-sig"))
    assert load_scenario(tmp_path / "s.yaml").title == "Größe"


def test_crlf_lines_are_counted_like_lf_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(TEXT.replace("turns: 5", "turns: five").replace("\n", "\r\n").encode())
    assert problems(path).startswith(f"{path}:5: ")


@pytest.mark.parametrize(
    ("raw", "line", "word"),
    [
        (TEXT.encode("latin-1"), 3, "not UTF-8"),
        (TEXT.encode("utf-16"), 1, "UTF-16"),
        (TEXT.encode() + b"# " + b"x" * 1_000_000, 1, "larger than 1 MB"),
        (TEXT.encode() + b"source: \x07\n", 7, "#x0007"),
        (TEXT.encode() + b"source: a\x00b\n", 7, "#x0000"),
    ],
)
def test_bytes_that_are_no_scenario_are_refused_with_a_line(raw: bytes, line: int, word: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(raw)
    told = problems(path)
    assert told.startswith(f"{path}:{line}: ")
    assert word in told


def test_missing_files_and_folders_are_sentences(tmp_path: Path) -> None:
    assert "no such file" in problems(tmp_path / "none.yaml")
    assert "a folder" in problems(tmp_path)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from(list("abAB01:{}[]&*!|>'\"%@`#-?,. \n\t<~\\")), max_size=60))
def test_no_text_makes_the_loader_crash(text: str) -> None:
    for whole in (text, TEXT + text, TEXT.replace("Größe", text)):
        told = told_of(whole)
        assert told is None or all(problem.startswith("scenario.yaml:") for problem in told)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 50) | st.sampled_from(["x", "f", "end", "json", "live", "{value}", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "text", "at", "type", "check"]), inner)
    ),
    max_leaves=6,
)
KEYS = ["contextrot", "id", "title", "system", "constraints", "facts", "tools", "filler", "session", "probes", "tags"]


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), json_values))
def test_no_shape_makes_the_loader_crash(raw: dict[str, Any]) -> None:
    sound = {
        "contextrot": 1,
        "id": "x",
        "session": {"turns": 5},
        "probes": [{"id": "p", "ask": "?", "at": 1, "check": {"type": "json"}}],
    }
    for whole in (raw, sound | raw):
        told = told_of(json.dumps(whole, indent=1))
        assert told is None or len(told) > 0


TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Log the visit."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "log", "arguments": '{"what": "visit"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "done"},
    {"role": "assistant", "content": "It is logged."},
    {"role": "user", "content": [{"type": "text", "text": "Thanks!"}]},
]


@pytest.mark.parametrize(
    "text",
    [json.dumps(TALK), json.dumps({"messages": TALK}, indent=2), "\n".join(json.dumps(one) for one in TALK) + "\n"],
    ids=["list", "map", "jsonl"],
)
def test_a_transcript_fills_the_turns(text: str, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(text, encoding="utf-8")
    (tmp_path / "s.yaml").write_text(TEXT + "filler: {transcript: talk.json}\n", encoding="utf-8")
    scenario = load_scenario(tmp_path / "s.yaml")
    script = expand(scenario, seed=1, repeat=0)
    assert [turn.user for turn in script.turns] == ["Log the visit.", "Thanks!"] * 2 + ["Log the visit."]
    assert script.turns[0].reply == "It is logged."
    assert [(call.name, call.arguments, call.result) for call in script.turns[0].calls] == [
        ("log", '{"what": "visit"}', "done")
    ]
    before = scenario.content_hash
    (tmp_path / "talk.json").write_text(text.replace("Thanks!", "Thank you!"), encoding="utf-8")
    assert load_scenario(tmp_path / "s.yaml").content_hash != before


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[{", "not JSON"),
        ('{"role": "user", "content": "a"}\n{"role": ', "line 2"),
        ("[1]", "message 0"),
        ('[{"role": "nobody", "content": "x"}]', "message 0"),
        ('[{"role": "assistant", "content": "x"}]', "no user message"),
        (json.dumps(TALK[:3]), "no result"),
        (json.dumps(TALK).replace('"log"', '"file"'), "`file`"),
    ],
)
def test_a_transcript_that_is_none_is_refused_at_its_line(text: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(text, encoding="utf-8")
    path = tmp_path / "s.yaml"
    path.write_text(TEXT + "filler: {transcript: talk.json}\n", encoding="utf-8")
    told = problems(path)
    assert told.startswith(f"{path}:7: ")
    assert word in told


def test_a_transcript_scenario_built_without_its_file_is_refused_when_expanded() -> None:
    raw = {"contextrot": 1, "id": "x", "filler": {"transcript": "t.json"}, "session": {"turns": 2}}
    probe = {"id": "p", "ask": "?", "at": 1, "check": {"type": "json"}}
    with pytest.raises(ScenarioError, match="load_scenario"):
        expand(Scenario.model_validate(raw | {"probes": [probe]}), seed=1, repeat=0)
