"""Anthropic messages: a request body or a list of messages whose content is blocks, the system prompt beside them.

https://docs.anthropic.com/en/api/messages: `system` is text or text blocks; `tool_use` blocks stand in assistant
messages, `tool_result` blocks in user messages; `thinking` and `image` blocks are read past.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextrot.transcripts.base import Transcript, register
from contextrot.transcripts.openai import conversations, read_conversation
from contextrot.transcripts.source import Source

_BLOCKS = (
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
)


def _recognises(source: Source) -> bool:
    """By its blocks, its `input_schema`s, or a system prompt beside messages that know only user and assistant."""
    for record in conversations(source):
        messages = [one for one in record["messages"] if isinstance(one, Mapping)]
        if any(_has_blocks(one.get("content")) for one in messages):
            return True
        tools = record.get("tools")
        if isinstance(tools, list) and any(isinstance(one, Mapping) and "input_schema" in one for one in tools):
            return True
        return (
            "system" in record
            and bool(messages)
            and {str(one.get("role")) for one in messages} <= {"user", "assistant"}
        )
    return False


def _has_blocks(content: Any) -> bool:
    return isinstance(content, list) and any(isinstance(b, Mapping) and b.get("type") in _BLOCKS for b in content)


@register("anthropic", "Anthropic messages", _recognises)
def read(source: Source) -> Sequence[Transcript]:
    """Every conversation of the file."""
    return [read_conversation(record, "anthropic") for record in conversations(source)]
