"""Halves of surrogate pairs: what cannot be stored becomes U+FFFD, and nothing else is touched."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextrot.characters import parse_json, to_json, whole, whole_value
from contextrot.messages import Message, Reply, ToolCall


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("plain", "plain"),
        ("naïve 😀", "naïve 😀"),
        ("\ud83d", "\ufffd"),
        ("a\ude00b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),  # two halves that stand together are the character
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_halves_are_replaced(text: str, stored: str) -> None:
    assert whole(text) == stored
    assert Reply(content=text, reasoning=text, refusal=text).content == stored
    assert ToolCall(text, text, text) == ToolCall(stored, stored, stored)
    assert orjson.loads(Message("user", text).wire) == {"role": "user", "content": stored}
    assert whole_value({text: [text, 1, None]}) == {stored: [stored, 1, None]}


@given(st.text(st.characters(exclude_categories=())))
def test_everything_can_be_stored_and_stays_as_it_is_then(text: str) -> None:
    stored = whole(text)
    assert whole(stored) == stored
    assert parse_json(json.dumps([text]).encode()) == [stored]
    assert orjson.loads(to_json([text])) == [stored]
    if all(not 0xD800 <= ord(sign) <= 0xDFFF for sign in text):
        assert stored == text


def test_what_is_no_json_is_none_however_it_is_read() -> None:
    for raw in (b"", b"{", b'{"a": "\xff"}', b"[" * 100_000, b'"\\ud800'):
        with pytest.raises(orjson.JSONDecodeError):
            parse_json(raw)
    assert parse_json(b"[NaN, -Infinity, 1]") == [None, None, 1]
    with pytest.raises(TypeError):
        to_json({"a": object()})
