"""A dumped scenario reads back as it was, every text byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrot.scenario import load_scenario
from contextrot.scenario.dump import dump_scenario, one_line
from contextrot.yaml_source import parse_yaml

#: What YAML would read as something else, or lay out anew.
AWKWARD = [
    "no", "Yes", "0123", "12:30", "2024-03-05", "1e3", "null", "~", "", " ", "\n", "\n\n", "a\n", "a\n\n",
    "\na", " a\nb", "a\n b\n\n  c\n", "a \nb", "\ta\n\tb", "a\tb", "a\r\nb\r\n", "a\rb", "a\u0085b", "a\u2028b",
    "\ufeffa", "\u0000\u001b[0m\u007f", "? a", "- a", "-", "?", ": a", "a: b", "a:", "a #b", "#a", "'a'",
    "\"a\"", "say \"a\"\\n", "[a]", "{a: b}", "{value}", "*a", "&a", "!a", "%a", "@a", "`a`", "|", ">", "---",
    "a\n---\nb\n...\n", "<<", "👩\u200d👩\u200d👧 ok", "naïve", "日本語: はい",
    "\uffff", "trailing  ", "a\n\n\n", "x\n   \ny", "\n  x", "a\\\nb", "a\n\\ b",
]  # fmt: skip

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(AWKWARD)
lines = st.lists(texts, max_size=5).map("\n".join)
scalars = (
    lines
    | st.booleans()
    | st.none()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(lines, inner, max_size=4), max_leaves=12
)


def read_back(text: str) -> Any:
    root, faults = parse_yaml(text)
    assert root is not None
    assert faults == []
    return root.data()


@given(st.dictionaries(lines, trees, max_size=4))
@settings(max_examples=300, deadline=None)
def test_any_data_reads_back_as_it_was(raw: dict[str, Any]) -> None:
    back = read_back(dump_scenario(raw))
    assert back == raw
    assert repr(back) == repr(raw)  # 1 is not 1.0, and true is not 1


@given(trees)
@settings(max_examples=200, deadline=None)
def test_any_data_reads_back_from_one_line(raw: Any) -> None:
    written = one_line(raw)
    assert "\n" not in written
    assert repr(read_back(f"a: {written}")) == repr({"a": raw})


@given(lines)
@settings(max_examples=200, deadline=None)
def test_other_readers_of_yaml_see_the_same_text(text: str) -> None:
    for written in (dump_scenario({"a": [text]}), one_line({"a": [text]})):
        assert yaml.safe_load(written) == {"a": [text]}


@pytest.mark.parametrize("text", AWKWARD, ids=ascii)
def test_awkward_texts_in_every_place(text: str) -> None:
    raw = {"a": text, "b": [text, [text], {"c": text}], text or "k": {"d": [text]}, "e": [{"f": [1, text]}], "z": "end"}
    assert read_back(dump_scenario(raw)) == raw


def test_awkward_texts_reach_a_scenario_through_its_file(tmp_path: Path) -> None:
    said = [text for text in AWKWARD if text.strip()]
    raw = {
        "contextrot": 1,
        "id": "round-trip",
        "filler": {"items": [{"user": text, "assistant": text} for text in said]},
        "session": {"turns": 3, "history": "scripted"},
        "probes": [{"id": "p", "ask": "a\r\nb\tc ", "at": [1, 3], "check": {"type": "regex", "matches": "no"}}],
    }
    path = tmp_path / "round-trip.yaml"
    path.write_bytes(dump_scenario(raw).encode())
    scenario = load_scenario(path)
    assert [item.user for item in scenario.items] == said
    assert [item.assistant for item in scenario.items] == said
    assert scenario.probes[0].ask == "a\r\nb\tc "


def test_readable_text_is_a_literal_block_and_small_maps_stay_on_one_line() -> None:
    raw = {
        "system": "Be brief.\n\n- one\n  two\n",
        "probes": [{"at": [1, 5], "check": {"type": "recall", "value": "a b"}}],
    }
    assert dump_scenario(raw) == (
        "system: |\n  Be brief.\n\n  - one\n    two\nprobes: [{at: [1, 5], check: {type: recall, value: a b}}]\n"
    )


def test_blanks_that_editors_strip_are_quoted_line_by_line() -> None:
    assert dump_scenario({"a": "one  \n two\n"}) == 'a: "one  \\n\\\n  \\ two\\n"\n'


@pytest.mark.parametrize(
    ("value", "said"),
    [(float("inf"), "inf"), (10**20, "digits"), ("\ud800", "surrogate"), ({1: "a"}, "key 1"), ({"a"}, "set")],
)
def test_what_a_file_cannot_hold_is_refused(value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        dump_scenario({"a": value})
