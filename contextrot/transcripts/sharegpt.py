"""ShareGPT data sets: ``{"conversations": [{"from": "human", "value": "…"}, …]}``, one a line or in a list.

`from` is human, gpt, system, tool, function_call or observation (LLaMA-Factory, data/README.md, "Sharegpt Format");
`role`/`content` in place of `from`/`value` is read as well. A `function_call` holds ``{"name": …, "arguments": …}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from contextrot.messages import Message, ToolCall
from contextrot.transcripts.base import Draft, Transcript, register
from contextrot.transcripts.forms import Reader, tools_of
from contextrot.transcripts.source import Source

_USERS = (
    "human",
    "user",
)
_ASSISTANTS = (
    "gpt",
    "assistant",
    "chatgpt",
    "bing",
    "bard",
    "model",
)
_RESULTS = (
    "tool",
    "observation",
    "function",
    "function_response",
)


def _turns(record: Any) -> list[Mapping[str, Any]]:
    listed = record.get("conversations", record.get("conversation")) if isinstance(record, Mapping) else None
    return [turn for turn in listed if isinstance(turn, Mapping)] if isinstance(listed, list) else []


def _recognises(source: Source) -> bool:
    return any("from" in turn or "role" in turn for record in source.records[:20] for turn in _turns(record))


@register("sharegpt", "ShareGPT conversations", _recognises)
def read(source: Source) -> Sequence[Transcript]:
    """Every conversation of the data set."""
    return [_conversation(record) for record in source.records if _turns(record)]


def _conversation(record: Mapping[str, Any]) -> Transcript:
    reader, draft = Reader(), Draft("sharegpt", str(record.get("id") or ""))
    draft.left_out = reader.left_out
    draft.tools = tools_of(_parsed(record.get("tools")))
    if isinstance(record.get("system"), str) and record["system"].strip():
        draft.add(Message("system", record["system"]))
    for turn in _turns(record):
        who = str(turn.get("from", turn.get("role")) or "")
        value = turn.get("value", turn.get("content"))
        text = reader.text(value)
        if who in _USERS:
            draft.add(Message("user", text))
        elif who in _ASSISTANTS:
            draft.call(draft.add(Message("assistant", text)))
        elif who == "system":
            draft.add(Message("system", text))
        elif who == "function_call":
            draft.call(draft.add(Message("assistant", None, _called(reader, text))))
        elif who in _RESULTS:
            [message] = reader.read({"role": "tool", "content": text, "name": turn.get("name")})
            draft.add(message)
        else:
            reader.left_out[f"entry of type {who or 'unknown'}"] += 1
    return draft.done()


def _called(reader: Reader, text: str) -> tuple[ToolCall, ...]:
    """The calls in a `function_call` turn; a text that is no JSON is the call of a tool of no known name."""
    parsed = _parsed(text)
    calls = []
    for one in parsed if isinstance(parsed, list) else [parsed]:
        call = ToolCall.from_dict(one) if isinstance(one, Mapping) else ToolCall("", "function", text)
        name = call.name or "function"
        calls.append(ToolCall(reader.opened("", name), name, call.arguments or "{}"))
    return tuple(calls)


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
