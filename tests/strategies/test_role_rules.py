"""The normaliser of provider role rules."""

from __future__ import annotations

from itertools import pairwise

import pytest
from histories import Said, histories
from hypothesis import given
from hypothesis import strategies as st

from contextrot.errors import ConfigError
from contextrot.messages import Message, ToolCall, assistant, system, tool_result, user
from contextrot.models.roles import OPENING, normalise


@given(history=histories(), cut=st.integers(0, 6))
def test_one_system_first_then_alternation_with_every_text(history: list[Said], cut: int) -> None:
    first = next(k for k in range(cut, len(history) + cut) if k >= len(history) or history[k].message.role != "tool")
    messages = [said.message for said in history[first:]]
    known = {call.id for message in messages for call in message.tool_calls}
    messages = [message for message in messages if message.role != "tool" or message.tool_call_id in known]
    out = normalise(messages, "strict_alternation")
    assert normalise(out, "strict_alternation") == out
    # every text once, nothing added but the opening
    said = sorted(message.text for message in messages if message.text)
    heard = sorted(text for message in out for text in message.text.split("\n\n") if text and text != OPENING)
    assert heard == said
    # a single leading system
    assert all(message.role != "system" for message in out[1:])
    rest = out[1:] if out and out[0].role == "system" else out
    if not rest:
        return
    assert rest[0].role == "user"
    for before, after in pairwise(rest):
        assert before.role != after.role or before.role == "tool"
    # results directly behind the round they belong to
    waiting: set[str | None] = set()
    for message in rest:
        if message.role == "tool":
            assert message.tool_call_id in waiting
            waiting.discard(message.tool_call_id)
        else:
            assert not waiting
            waiting = {call.id for call in message.tool_calls}
    # the last user's text is last among what users said
    users = [message.text for message in messages if message.role == "user"]
    if users:
        assert [message.text for message in rest if message.role == "user"][-1].endswith(users[-1])


def test_without_rules_nothing_happens() -> None:
    messages = [assistant("a"), system("s"), system("t")]
    assert normalise(messages, None) == messages


def test_what_needs_no_change_is_the_same_object() -> None:
    messages = [system("s"), user("a"), assistant("b", [ToolCall("c", "f")]), tool_result("c", "r"), user("d")]
    assert all(a is b for a, b in zip(normalise(messages, "strict_alternation"), messages, strict=True))


def test_content_parts_stay_parts() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    [merged] = normalise([user("look"), Message("user", [picture], extra={"name": "ann"})], "strict_alternation")
    assert merged.content == [{"type": "text", "text": "look"}, picture]
    assert merged.extra == {"name": "ann"}


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown role rules 'x'"):
        normalise([], "x")
