"""Tool calls that a model writes into its text in place of making them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from contextrot.checks.markdown import only_fence
from contextrot.checks.strict_json import JsonFault, parse, values_in

#: how models mark calls when nobody parses them: Hermes and Qwen, Mistral, Llama, DeepSeek, Anthropic's tags
_MARK = re.compile(
    r"<\|?(?:tool_call|tool_calls|function_call|function_calls|python_tag|tool▁call▁begin|tool▁calls▁begin)(?:_begin)?\|?>"
    r"|<｜tool▁calls?▁begin｜>|\[TOOL_CALLS\]|<function=|<invoke name=|<tool_use>",
    re.IGNORECASE,
)
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "kwargs")
_NAMES = ("name", "function", "tool", "tool_name", "action", "recipient_name")


def writes_call(text: str, names: Sequence[str]) -> bool:
    """True when the text holds something that reads as a call, of one of `names` if any are given."""
    if _MARK.search(text):
        return True
    for name in names:
        if re.search(rf"(?<![\w.]){re.escape(name)}\s{{0,3}}\(", text):
            return True
    return any(not names or called in names for value in _values(text) for called in _calls_in(value))


def is_written_call(text: str) -> bool:
    """True when the whole text is a call: a mark at its start, or JSON that names a tool and its arguments."""
    text = text.strip()
    if _MARK.match(text):
        return True
    block = only_fence(text)
    body = text if block is None else block.content
    try:
        value = parse(body)
    except JsonFault:
        return False
    parts = value if isinstance(value, list) else [value]
    return bool(parts) and all(any(True for _ in _calls_in(part)) for part in parts)


def _values(text: str) -> Iterator[Any]:
    for candidate in islice(values_in(text), 1000):
        try:
            yield parse(candidate)
        except JsonFault:
            continue


def _calls_in(value: Any) -> Iterator[str]:
    """Names of the tools that a JSON value calls: an object with a name and arguments, or a wrapper around such."""
    if isinstance(value, list):
        for part in value:
            yield from _calls_in(part)
        return
    if not isinstance(value, Mapping):
        return
    for key in ("tool_calls", "function_call", "tool_call", "function"):
        if isinstance(value.get(key), (Mapping, list)):
            yield from _calls_in(value[key])
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    has_arguments = any(isinstance(value.get(key), (Mapping, str)) for key in _ARGUMENTS if key in value)
    if name and re.fullmatch(r"[\w.:/-]{1,128}", name) and (has_arguments or value.get("type") == "function"):
        yield name.rsplit(".", 1)[-1]
