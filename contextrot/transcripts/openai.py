"""OpenAI chat messages: a list, ``{"messages": []}``, one message a line, or one conversation a line (fine-tuning).

https://platform.openai.com/docs/api-reference/chat/create and …/docs/guides/fine-tuning (`messages`, `tools`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextrot.transcripts.base import Draft, Transcript, register
from contextrot.transcripts.forms import Reader, tools_of, usage_of
from contextrot.transcripts.source import Source


def conversations(source: Source) -> Iterator[Mapping[str, Any]]:
    """Every conversation as a map with `messages`; bare messages are gathered into one."""
    bare: list[Any] = []
    for record in source.records:
        if isinstance(record, Mapping) and isinstance(record.get("messages"), list):
            yield record
        elif isinstance(record, list):
            yield {"messages": record}
        else:
            bare.append(record)
    if any(_is_message(one) for one in bare):
        yield {"messages": bare}


def _is_message(raw: Any) -> bool:
    return isinstance(raw, Mapping) and isinstance(raw.get("role"), str) and ("content" in raw or "tool_calls" in raw)


def _recognises(source: Source) -> bool:
    first = next(iter(conversations(source)), None)
    return first is not None and any(_is_message(one) for one in first["messages"])


def read_conversation(record: Mapping[str, Any], format: str) -> Transcript:
    """One conversation in the forms that `forms.Reader` knows, with the usage a recorder put beside a message."""
    reader, draft = Reader(), Draft(format, str(record.get("id") or record.get("title") or ""))
    draft.left_out = reader.left_out
    draft.tools = tools_of(record.get("tools") or record.get("functions"))
    model = record.get("model")
    draft.model = model if isinstance(model, str) else None
    system = record.get("system")
    if system:
        for message in reader.read({"role": "system", "content": system}):
            draft.add(message)
    for raw in record["messages"]:
        for message in reader.read(raw):
            index = draft.add(message, _time(raw))
            if message.role == "assistant":
                name, finish = raw.get("model"), raw.get("finish_reason") or raw.get("stop_reason")
                draft.call(
                    index,
                    usage_of(raw.get("usage")),
                    name if isinstance(name, str) else None,
                    finish if isinstance(finish, str) else None,
                )
    return draft.done()


def _time(raw: Any) -> object:
    return raw.get("timestamp") or raw.get("created_at") if isinstance(raw, Mapping) else None


@register("openai", "OpenAI chat messages", _recognises)
def read(source: Source) -> Sequence[Transcript]:
    """Every conversation of the file."""
    return [read_conversation(record, "openai") for record in conversations(source)]
