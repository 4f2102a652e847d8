"""A conversation as filler, in a file beside the scenario: OpenAI-style messages read into items, and items written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextrot.messages import Message
from contextrot.scenario.schema import CannedToolCall, Item

#: Bytes above which a transcript is refused.
MAX_BYTES = 20_000_000


def read_transcript(path: Path) -> tuple[Item, ...]:
    """The turns of a conversation file, one item per user message.

    JSON is a list of messages, or a map with `messages`; JSONL is one message a line. What stands between two user
    messages becomes the canned side: tool calls with their results, and the last text as the reply. System messages,
    and all before the first user message, are left out: the scenario has its own.

    Raises `ValueError` with a sentence for anything else.
    """
    if not path.is_file():
        raise ValueError(f"the transcript {path.name} does not exist beside the scenario")
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"the transcript {path.name} is larger than {MAX_BYTES // 1_000_000} MB")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"the transcript {path.name} is not UTF-8 text; save it as UTF-8") from None
    items = _items(_messages(text, path.name), path.name)
    if not items:
        raise ValueError(f"the transcript {path.name} has no user message with text, so it cannot fill a turn")
    return items


def write_transcript(items: Sequence[Mapping[str, Any]]) -> bytes:
    """Items as a scenario writes them (`user`, `tool_calls`, `assistant`) as JSON Lines: what `read_transcript` reads.

    Ids of calls are made anew, as results are found by them.
    """
    # ASCII only: the reader splits lines at every sign that ends one, of which JSON escapes only some.
    return b"".join(json.dumps(message).encode("ascii") + b"\n" for message in _written(items))


def _written(items: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    number = 0
    for item in items:
        yield {"role": "user", "content": item["user"]}
        for call in item.get("tool_calls", ()):
            number += 1
            function = {"name": call["name"], "arguments": call["arguments"]}
            made = {"id": f"call-{number}", "type": "function", "function": function}
            yield {"role": "assistant", "content": None, "tool_calls": [made]}
            yield {"role": "tool", "tool_call_id": made["id"], "content": call["result"]}
        if "assistant" in item:
            yield {"role": "assistant", "content": item["assistant"]}


def _messages(text: str, name: str) -> list[Message]:
    raw: list[Any] = []
    if text.lstrip().startswith("[") or not _is_jsonl(text):
        try:
            whole = json.loads(text)
        except ValueError as error:
            raise ValueError(f"the transcript {name} is not JSON: {error}") from None
        raw = whole.get("messages", []) if isinstance(whole, dict) and "role" not in whole else whole
        raw = [raw] if isinstance(raw, dict) else raw
    else:
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    raw.append(json.loads(line))
                except ValueError as error:
                    raise ValueError(f"line {number} of the transcript {name} is not JSON: {error}") from None
    messages = []
    for position, one in enumerate(raw if isinstance(raw, list) else [raw]):
        try:
            messages.append(Message.from_dict(one))
        except (ValueError, AttributeError, TypeError):
            raise ValueError(
                f"message {position} of the transcript {name} is not an OpenAI-style message with a role and content"
            ) from None
    return messages


def _is_jsonl(text: str) -> bool:
    """True when the first line is a JSON value of its own and more lines follow."""
    first, _, rest = text.strip().partition("\n")
    try:
        json.loads(first)
    except ValueError:
        return False
    return bool(rest.strip())


def _items(messages: list[Message], name: str) -> tuple[Item, ...]:
    results = {message.tool_call_id: message.text for message in messages if message.role == "tool"}
    turns: list[tuple[str, list[Message]]] = []
    for message in messages:
        if message.role == "user" and message.text.strip():
            turns.append((message.text, []))
        elif message.role == "assistant" and turns:
            turns[-1][1].append(message)
    items = []
    for said, answers in turns:
        calls = [call for answer in answers for call in answer.tool_calls]
        missing = next((call for call in calls if call.id not in results), None)
        if missing is not None:
            raise ValueError(f"the transcript {name} has no result for the tool call {missing.id or missing.name!r}")
        texts = [answer.text for answer in answers if answer.text.strip()]
        items.append(
            Item(
                user=said,
                assistant=texts[-1] if texts else None,
                tool_calls=tuple(
                    CannedToolCall(name=call.name, arguments=call.arguments, result=results[call.id]) for call in calls
                ),
            )
        )
    return tuple(items)
