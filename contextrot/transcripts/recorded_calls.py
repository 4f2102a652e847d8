"""From the calls a tracer recorded, each with its whole prompt, to the conversation they were calls of.

The prompt of a call holds the conversation so far, so of calls in a row only the longest says it all; what the others
add is where each reply stands and what it cost. A prompt that no longer begins as the one before it (cut by a window,
or compacted) is joined where the last messages of both agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from contextrot.actions import same_action
from contextrot.messages import NOT_COUNTED, Message, Tool, Usage
from contextrot.transcripts.base import Draft, Transcript

_Key = tuple[str, str, tuple[str, ...]]


class RecordedCall(NamedTuple):
    """One call: the prompt, the reply, and what the tracer wrote beside them."""

    prompt: Sequence[Message]
    reply: Sequence[Message]
    usage: Usage = NOT_COUNTED
    model: str | None = None
    time: str | None = None
    error: str = ""
    tools: tuple[Tool, ...] = ()


@dataclass(slots=True)
class _Line:
    """A conversation as far as it is known, and its calls by the place of their replies."""

    messages: list[Message]
    keys: list[_Key]
    calls: dict[int, RecordedCall] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)


def conversation(calls: Iterable[RecordedCall], format: str, name: str, *, named_thread: bool) -> Transcript:
    """The main conversation of calls in order of time: the one with most messages; the others are counted in a note.

    `named_thread`: the tracer says that the calls are of one session. Then a call whose prompt is a question alone goes
    on where the last one ended, if both have the same system prompt.
    """
    draft = Draft(format, name)
    lines: list[_Line] = []
    for call in calls:
        if call.error:
            draft.errors.append(call.error[:200])
        draft.tools = draft.tools or call.tools
        if call.prompt or call.reply:
            _take_in(lines, call, alone=named_thread)
    if not lines:
        return draft.done()
    main = max(lines, key=lambda line: len(line.messages))
    cuts = set(main.cuts)
    for index, message in enumerate(main.messages):
        if index in cuts:
            draft.compacted(trigger="the prompt no longer held the beginning")
        said = main.calls.get(index)
        draft.add(message, said.time if said else None)
        if said:
            draft.call(index, said.usage, said.model)
    if len(lines) > 1:
        draft.left_out["shorter conversation of the same trace (helpers, sub-agents)"] += len(lines) - 1
    return draft.done()


def _take_in(lines: list[_Line], call: RecordedCall, *, alone: bool) -> None:
    prompt, reply = list(call.prompt), list(call.reply)
    keys = [_key(message) for message in prompt]
    for line in sorted(lines, key=lambda line: -len(line.messages)):
        start = _goes_on(line, keys)
        if start is None and alone and _is_question(prompt) and _same_system(line.messages, prompt):
            start = sum(1 for message in prompt if message.role == "system")
        elif start is None:
            start = _joins(line, keys)
            if start is not None:
                line.cuts.append(len(line.messages))
        if start is None:
            continue
        _append(line, prompt[start:], reply, call)
        return
    line = _Line([], [])
    _append(line, prompt, reply, call)
    lines.append(line)


def _append(line: _Line, prompt: Sequence[Message], reply: Sequence[Message], call: RecordedCall) -> None:
    for message in (*prompt, *reply):
        line.messages.append(message)
        line.keys.append(_key(message))
    if reply:
        line.calls[len(line.messages) - len(reply)] = call


def _goes_on(line: _Line, keys: list[_Key]) -> int | None:
    """Where a prompt goes on after the conversation, if it begins with the whole of it."""
    known = len(line.keys)
    return known if keys[:known] == line.keys else None


def _joins(line: _Line, keys: list[_Key]) -> int | None:
    """Where a shortened prompt goes on: after the place where it holds the last two messages of the conversation."""
    tail = line.keys[-2:]
    if len(tail) < 2:
        return None
    for end in range(len(keys), 1, -1):
        if keys[end - 2 : end] == tail:
            return end
    return None


def _is_question(prompt: Sequence[Message]) -> bool:
    spoken = [message.role for message in prompt if message.role != "system"]
    return spoken == ["user"]


def _same_system(known: Sequence[Message], prompt: Sequence[Message]) -> bool:
    def system(messages: Sequence[Message]) -> list[str]:
        return [message.text.strip() for message in messages if message.role == "system"]

    return system(known) == system(prompt)


def _key(message: Message) -> _Key:
    """What makes two messages the same, whatever ids a tracer gave them."""
    return message.role, message.text.strip(), tuple(map(same_action, message.tool_calls))
