"""OpenAI chat messages: a list, ``{"messages": []}``, one message a line, or one conversation a line (fine-tuning).

A record may hold the reply beside the request, as logs of requests do: ``{"messages": [], "response": {"choices":
[]}}``, the same under `request` and `body`, or ``{"input": …, "output": []}`` of the Responses API.

https://platform.openai.com/docs/api-reference/chat/create and …/docs/guides/fine-tuning (`messages`, `tools`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextrot.messages import Message
from contextrot.transcripts.base import Draft, Transcript, register
from contextrot.transcripts.forms import Reader, tools_of, usage_of
from contextrot.transcripts.source import Source


def conversations(source: Source) -> Iterator[Mapping[str, Any]]:
    """Every conversation as a map with `messages`; bare messages are gathered into one."""
    bare: list[Any] = []
    for record in map(_opened, source.records):
        if isinstance(record, Mapping) and isinstance(record.get("messages"), list):
            yield record
        elif isinstance(record, list):
            yield {"messages": record}
        else:
            bare.append(record)
    if any(_is_message(one) for one in bare):
        yield {"messages": bare}


def _opened(record: Any) -> Any:
    """A logged request as a map with `messages` and, where it is there, `response`; anything else as it is."""
    if not isinstance(record, Mapping) or "messages" in record or "role" in record:
        return record
    request = _body(record.get("request"))
    if isinstance(request, Mapping) and "response" in record:
        return _opened({**request, "response": record["response"]})
    asked, inner = record.get("input"), _body(record.get("response"))
    said: Mapping[str, Any] = inner if isinstance(inner, Mapping) and "output" in inner else record
    if not isinstance(said.get("output"), list) or not isinstance(asked, (str, list)) or not asked:
        return record
    messages = [{"role": "user", "content": asked}] if isinstance(asked, str) else list(asked)
    if isinstance(record.get("instructions"), str):
        messages.insert(0, {"role": "system", "content": record["instructions"]})
    return {"id": record.get("id"), "model": record.get("model"), "messages": messages, "response": said}


def _body(value: Any) -> Any:
    """What an HTTP request or response of a log holds."""
    return value["body"] if isinstance(value, Mapping) and isinstance(value.get("body"), Mapping) else value


def _replies(record: Mapping[str, Any]) -> tuple[list[Any], Mapping[str, Any]]:
    """The messages of the reply that is recorded beside the request, and what is recorded of it (usage, model, …)."""
    response = _body(record.get("response", record.get("completion")))
    if isinstance(response, str):
        return [{"role": "assistant", "content": response}], {}
    if not isinstance(response, Mapping):
        return [], {}
    choices = response.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        message = choices[0].get("message")
        found = [{"role": "assistant", **message}] if isinstance(message, Mapping) else []
        return found, {**response, "finish_reason": choices[0].get("finish_reason")}
    if isinstance(response.get("output"), list):
        return response["output"], response
    if "content" in response:
        return [{**response, "role": "assistant"}], response
    return [], response


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
    _add_replies(draft, reader, record)
    return draft.done()


def _add_replies(draft: Draft, reader: Reader, record: Mapping[str, Any]) -> None:
    """The reply beside the request, unless the messages end with it already. One that cannot be read is counted."""
    raw, said = _replies(record)
    messages = [message for one in raw for message in reader.read(one)]
    if not messages:
        reader.left_out["response that cannot be read"] += record.get("response") is not None
        return
    text = "\n".join(message.text for message in messages if message.text)
    calls = tuple(call for message in messages for call in message.tool_calls)
    reply = Message("assistant", text or None if calls else text, calls)
    last = draft.message(len(draft) - 1) if len(draft) else None
    same = last is not None and last.role == "assistant" and last.text == text
    index = len(draft) - 1 if same else draft.add(reply, _time(said))
    model, finish = said.get("model") or record.get("model"), said.get("finish_reason") or said.get("stop_reason")
    draft.call(
        index,
        usage_of(said.get("usage") or record.get("usage")),
        model if isinstance(model, str) else None,
        finish if isinstance(finish, str) else None,
    )


def _time(raw: Any) -> object:
    return raw.get("timestamp") or raw.get("created_at") if isinstance(raw, Mapping) else None


@register("openai", "OpenAI chat messages", _recognises)
def read(source: Source) -> Sequence[Transcript]:
    """Every conversation of the file."""
    return [read_conversation(record, "openai") for record in conversations(source)]
