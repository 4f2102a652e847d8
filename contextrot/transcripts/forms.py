"""Messages in the forms of the field into ours: OpenAI chat and Responses items, Anthropic blocks, LangChain objects.

Sources: the OpenAI API reference (chat completions, Responses items), Anthropic's Messages API (content blocks), and
`langchain_core.messages` as `dumps` and `message_to_dict` write them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import orjson

from contextrot.messages import Message, Role, Tool, ToolCall, Usage

_ROLES: dict[str, Role] = {
    "system": "system", "developer": "system",
    "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "gpt": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip
_TEXTS = (
    "text",
    "input_text",
    "output_text",
)
_THOUGHTS = (
    "thinking",
    "redacted_thinking",
    "reasoning",
    "summary_text",
    "reasoning_text",
)
_IMAGES = (
    "image",
    "image_url",
    "input_image",
    "document",
    "file",
    "input_file",
    "input_audio",
    "audio",
)
_CALLS = (
    "function_call",
    "custom_tool_call",
    "local_shell_call",
)
_OUTPUTS = (
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
)
#: Items and blocks that neither speak nor call a tool of the user's.
_SILENT = (
    "reasoning",
    "ghost_snapshot",
    "item_reference",
    "compaction",
    "compaction_summary",
)


class Reader:
    """Turns raw messages into ours. `left_out` counts what has no place in a text transcript, by a word for it."""

    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()
        self._made = 0
        self._open: list[tuple[str, str]] = []

    def all(self, raw: Any) -> list[Message]:
        """Every message of a list, of a batch of one list (LangChain), or of a single message."""
        if isinstance(raw, (list, tuple)):
            return [message for one in raw for message in self.all(one)]
        return list(self.read(raw))

    def read(self, raw: Any) -> Iterator[Message]:
        """The messages one raw entry stands for: tool results in a user message are messages of their own."""
        raw = _plain(raw)
        kind = raw.get("type") if isinstance(raw, Mapping) else None
        if not isinstance(raw, Mapping):
            self.left_out[f"entry that is no message ({type(raw).__name__})"] += 1
        elif kind in _CALLS:
            yield Message("assistant", None, (self._item_call(raw),))
        elif kind in _OUTPUTS:
            yield self._result(raw.get("call_id"), raw.get("output"), raw.get("name"))
        elif kind in _SILENT or kind == "web_search_call":
            if kind == "web_search_call":
                self.left_out["search made by the provider"] += 1
        elif str(raw.get("role") or kind) in _ROLES:
            yield from self._message(raw, _ROLES[str(raw.get("role") or kind)])
        else:
            self.left_out[f"entry of type {raw.get('role') or kind or 'unknown'}"] += 1

    def _message(self, raw: Mapping[str, Any], role: Role) -> Iterator[Message]:
        content = raw.get("content")
        blocks = content if isinstance(content, list) else []
        if role == "tool":
            yield self._result(raw.get("tool_call_id"), content, raw.get("name"), raw.get("status") == "error")
            return
        if role == "user":
            for block in blocks:
                if isinstance(block, Mapping) and block.get("type") == "tool_result":
                    yield self.result_block(block)
        text = self.text(content)
        if role != "assistant":
            if text or not blocks:
                yield Message(role, text)
            return
        calls = [self._block_call(block) for block in blocks if _kind(block) == "tool_use"]
        if not calls:
            calls = [self._chat_call(call) for call in _chat_calls(raw)]
        yield Message("assistant", text or None if calls else text, tuple(calls))

    def result_block(self, block: Mapping[str, Any]) -> Message:
        """An Anthropic `tool_result` block as a message."""
        return self._result(block.get("tool_use_id"), block.get("content"), None, block.get("is_error"))

    def text(self, content: Any) -> str:
        """The text of a content: itself, or its text blocks by line; pictures and files become a word in brackets."""
        if content is None or isinstance(content, str):
            return content or ""
        parts = []
        for block in content if isinstance(content, (list, tuple)) else [content]:
            kind = _kind(block)
            if isinstance(block, str):
                parts.append(block)
            elif kind in _TEXTS or (kind is None and isinstance(block, Mapping) and "text" in block):
                parts.append(str(block.get("text") or ""))
            elif kind == "refusal":
                parts.append(str(block.get("refusal") or ""))
            elif kind in _IMAGES:
                self.left_out["picture or file"] += 1
                parts.append(f"[{str(kind).removeprefix('input_').removesuffix('_url')}]")
            elif kind in ("tool_use", "tool_result") or kind in _THOUGHTS:
                continue
            elif kind is None:
                parts.append(orjson.dumps(block, default=str).decode())
            else:
                self.left_out[f"block of type {kind}"] += 1
        return "\n".join(parts)

    def _result(self, call_id: Any, content: Any, name: Any = None, failed: Any = None) -> Message:
        text = ""
        if isinstance(content, Mapping) and "content" in content:  # the older payload of a failed call
            failed = failed or content.get("success") is False
            content = content["content"]
        if isinstance(content, (str, list)) or content is None:
            text = self.text(content)
        else:
            text = orjson.dumps(content, default=str).decode()
        known = str(call_id or "") or self._oldest(str(name or ""))
        self._open = [entry for entry in self._open if entry[0] != known]
        return Message("tool", text, tool_call_id=known, extra={"is_error": True} if failed else {})

    def _oldest(self, name: str) -> str:
        """The call an unnamed result belongs to: the oldest of that name that waits, else the oldest."""
        for call_id, called in self._open:
            if called == name:
                return call_id
        return self._open[0][0] if self._open else ""

    def opened(self, call_id: Any, name: str) -> str:
        """The id of a call, made where there is none; its result may come without an id too."""
        known = str(call_id or "")
        if not known:
            self._made += 1
            known = f"call-{self._made}"
        self._open.append((known, name))
        return known

    def _block_call(self, block: Mapping[str, Any]) -> ToolCall:
        name = str(block.get("name") or "")
        return ToolCall(self.opened(block.get("id"), name), name, _json(block.get("input") or {}))

    def _chat_call(self, raw: Mapping[str, Any]) -> ToolCall:
        if "args" in raw and "function" not in raw:  # LangChain
            raw = {"id": raw.get("id"), "name": raw.get("name"), "arguments": raw.get("args")}
        call = ToolCall.from_dict(raw)
        return ToolCall(self.opened(call.id, call.name), call.name, call.arguments or "{}")

    def _item_call(self, raw: Mapping[str, Any]) -> ToolCall:
        kind, name = raw["type"], str(raw.get("name") or "shell")
        if kind == "custom_tool_call":
            arguments = _json({"input": raw.get("input")})
        elif kind == "local_shell_call":
            arguments = _json(raw.get("action") or {})
        else:
            arguments = raw.get("arguments") or "{}"
        return ToolCall(self.opened(raw.get("call_id") or raw.get("id"), name), name, _json(arguments))


def _plain(raw: Any) -> Any:
    """LangChain's serialised messages as a flat map with a role; anything else as it is."""
    if not isinstance(raw, Mapping):
        return raw
    if raw.get("type") == "constructor" and isinstance(raw.get("kwargs"), Mapping):
        path = raw.get("id")
        cls = str(path[-1]) if isinstance(path, list) and path else ""
        kind = cls.removesuffix("Chunk").removesuffix("Message").lower()
        inner = raw["kwargs"]
        return {**inner, "role": inner.get("role", kind) if kind == "chat" else kind}
    if isinstance(raw.get("data"), Mapping) and "content" in raw["data"]:
        return {**raw["data"], "role": raw.get("type")}
    if isinstance(raw.get("kwargs"), Mapping) and "content" in raw["kwargs"]:
        return {**raw["kwargs"], "role": raw.get("type")}
    return raw


def _chat_calls(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    inner = raw.get("additional_kwargs")
    extra: Mapping[str, Any] = inner if isinstance(inner, Mapping) else {}
    calls = raw.get("tool_calls") or extra.get("tool_calls")
    if not calls:
        one = raw.get("function_call") or extra.get("function_call")
        calls = [{"function": one}] if isinstance(one, Mapping) else []
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, (list, tuple)) else []


def _kind(block: Any) -> Any:
    return block.get("type") if isinstance(block, Mapping) else None


def _json(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def usage_of(raw: Any) -> Usage:
    """Tokens of a call in any provider's words, the prompt with all that was read from or written to a cache in it."""
    if not isinstance(raw, Mapping):
        return Usage()
    if "cache_read_input_tokens" in raw or "cache_creation_input_tokens" in raw:  # Anthropic counts these beside input
        cached = _number(raw, "cache_read_input_tokens")
        fresh = (_number(raw, "input_tokens") or 0) + (_number(raw, "cache_creation_input_tokens") or 0)
        return Usage(fresh + (cached or 0), _number(raw, "output_tokens"), cached)
    details: Any = next(
        (raw[key] for key in ("prompt_tokens_details", "input_tokens_details", "input_token_details") if raw.get(key)),
        {},
    )
    cached = _number(raw, "cached_input_tokens", "cached_tokens", "input_cached_tokens", "input_cache_read")
    if cached is None and isinstance(details, Mapping):
        cached = _number(details, "cached_tokens", "cache_read")
    return Usage(
        _number(raw, "prompt_tokens", "input_tokens", "promptTokens", "inputTokens", "input"),
        _number(raw, "completion_tokens", "output_tokens", "completionTokens", "outputTokens", "output"),
        cached,
    )


def _number(raw: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = raw.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
            return int(value)
    return None


def tools_of(raw: Any) -> tuple[Tool, ...]:
    """Declared tools in OpenAI's or Anthropic's form; what is neither is passed over."""
    found = []
    for one in raw if isinstance(raw, Sequence) and not isinstance(raw, str) else ():
        if not isinstance(one, Mapping):
            continue
        inner = one["function"] if isinstance(one.get("function"), Mapping) else one
        name = inner.get("name")
        schema = inner.get("parameters", inner.get("input_schema"))
        if isinstance(name, str) and name:
            parameters = cast("Mapping[str, Any]", schema) if isinstance(schema, Mapping) else {}
            found.append(Tool(name, str(inner.get("description") or ""), dict(parameters)))
    return tuple(found)
