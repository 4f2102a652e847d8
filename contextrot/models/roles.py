"""The one normaliser of providers' role rules. Views are built without them; a model that has rules names them.

`strict_alternation`: one system message, first; then user and assistant in turn, user first; tool results directly
behind the call they answer. Chat templates of Gemma, Mistral and Llama-2 and Anthropic's API ask for (parts of) it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contextrot.errors import ConfigError
from contextrot.messages import Message

RULES = ("strict_alternation",)
#: Put in front of a history that would begin with the assistant.
OPENING = "[The conversation goes on.]"


def normalise(messages: Sequence[Message], rules: str | None) -> list[Message]:
    """The messages as a provider with these role rules takes them; every text stays, in order of speaking.

    Messages that need no change are the same objects. Raises `ConfigError` for rules that are not known.
    """
    if rules is None:
        return list(messages)
    if rules not in RULES:
        raise ConfigError(f"unknown role rules {rules!r}; known: {', '.join(RULES)}")
    out: list[Message] = []
    for message in messages:
        if message.role == "system":
            out = [_merged(out[0], message)] if out else [message]
    head = len(out)
    for message in _gathered(message for message in messages if message.role != "system"):
        last = out[-1] if len(out) > head else None
        if last is not None and last.role == message.role != "tool" and not last.tool_calls:
            out[-1] = _merged(last, message)
        else:
            out.append(message)
    if len(out) > head and out[head].role == "assistant":
        out.insert(head, Message("user", OPENING))
    return out


def _gathered(messages: Iterable[Message]) -> list[Message]:
    """Every tool result directly behind its call, whatever was said while it was awaited."""
    groups: list[list[Message]] = []
    waiting: dict[str, list[Message]] = {}
    for message in messages:
        group = waiting.pop(message.tool_call_id or "", None) if message.role == "tool" else None
        if group is None:
            group = []
            groups.append(group)
        group.append(message)
        for call in message.tool_calls:
            waiting[call.id] = group
    return [message for group in groups for message in group]


def _merged(first: Message, second: Message) -> Message:
    """Two messages of one role as one: texts with a blank line between, content parts in a row, calls kept."""
    extra = {**second.extra, **first.extra}
    return replace(
        first,
        content=_joined(first.content, second.content),
        tool_calls=(*first.tool_calls, *second.tool_calls),
        extra=extra,
    )


def _joined(first: str | Sequence[Any] | None, second: str | Sequence[Any] | None) -> str | Sequence[Any] | None:
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: str | Sequence[Any]) -> list[Any | Mapping[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
