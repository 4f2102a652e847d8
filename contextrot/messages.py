"""Messages, replies and usage: pure values shared by every floor. Identity (turn, pin, origin) belongs to the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, cast

from contextrot.characters import to_json, whole

Role = Literal["system", "user", "assistant", "tool"]
ROLES: frozenset[str] = frozenset({"system", "user", "assistant", "tool"})
_KNOWN = frozenset({"role", "content", "tool_calls", "tool_call_id"})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool. `arguments` is the JSON text as the model wrote it (it may be malformed; `characters.py`)."""

    id: str
    name: str
    arguments: str = "{}"

    def __post_init__(self) -> None:
        for name in ("id", "name", "arguments"):
            text = getattr(self, name)
            if isinstance(text, str) and not text.isascii():
                object.__setattr__(self, name, whole(text))

    @classmethod
    def from_dict(cls, raw: Any) -> ToolCall:
        """Read an OpenAI-style call; missing or null parts become empty strings, object arguments become JSON text.

        A call whose `name` and `arguments` (or `input`) stand beside its id is read as well.
        """
        raw = raw if isinstance(raw, Mapping) else {}
        function = raw.get("function") if isinstance(raw.get("function"), Mapping) else {}
        if "function" not in raw and isinstance(raw.get("name"), str):
            function = {"name": raw["name"], "arguments": raw.get("arguments", raw.get("input"))}
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else to_json(arguments).decode()
        return cls(id=str(raw.get("id") or ""), name=str(function.get("name") or ""), arguments=arguments)

    def to_dict(self) -> dict[str, Any]:
        """The OpenAI form."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True)
class Message:
    """One message in OpenAI chat form.

    `content` is text, a list of content parts, or None. `extra` holds keys this class does not know (``name``,
    ``reasoning_content`` …), so that a message handed in comes out as it was. Never mutated after construction.
    """

    role: Role
    content: str | Sequence[Any] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Message:
        """Read an OpenAI-style dict. Raises `ValueError` for a role that is not one of the four."""
        role = raw.get("role")
        if role == "developer":
            role = "system"
        if role not in ROLES:
            raise ValueError(f"a message has the role {role!r}; it must be one of {', '.join(sorted(ROLES))}")
        return cls(
            role=cast(Role, role),
            content=raw.get("content"),
            tool_calls=tuple(ToolCall.from_dict(call) for call in raw.get("tool_calls") or ()),
            tool_call_id=raw.get("tool_call_id"),
            extra={key: value for key, value in raw.items() if key not in _KNOWN},
        )

    def to_dict(self) -> dict[str, Any]:
        """The OpenAI form, a fresh dict."""
        content = self.content if self.content is None or isinstance(self.content, str) else list(self.content)
        raw: dict[str, Any] = {"role": self.role, "content": content}
        if self.tool_calls:
            raw["tool_calls"] = [call.to_dict() for call in self.tool_calls]
        if self.tool_call_id is not None:
            raw["tool_call_id"] = self.tool_call_id
        raw.update(self.extra)
        return raw

    @property
    def text(self) -> str:
        """The readable text: the content itself, or the text parts of a list of parts, joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        if self.content is None:
            return ""
        return "\n".join(
            str(part["text"]) for part in self.content if isinstance(part, Mapping) and part.get("text") is not None
        )

    @cached_property
    def wire(self) -> bytes:
        """The message as JSON bytes, encoded once however often the session sends it."""
        return to_json(self.to_dict())

    @cached_property
    def digest(self) -> bytes:
        """16 bytes that identify the content; views are hashed over these, not over the text again."""
        return blake2b(self.wire, digest_size=16).digest()


def mentions(text: str, evidence: str) -> bool:
    """True when the evidence stands in the text as words of its own: `BLUE-4` is not in `BLUE-42`."""
    start = text.find(evidence)
    while start >= 0:
        end = start + len(evidence)
        left = start > 0 and evidence[:1].isalnum() and text[start - 1].isalnum()
        right = end < len(text) and evidence[-1:].isalnum() and text[end].isalnum()
        if not left and not right:
            return True
        start = text.find(evidence, start + 1)
    return False


def system(text: str) -> Message:
    """A system message."""
    return Message("system", text)


def user(text: str) -> Message:
    """A user message."""
    return Message("user", text)


def assistant(text: str | None, tool_calls: Sequence[ToolCall] = ()) -> Message:
    """An assistant message, with or without tool calls."""
    return Message("assistant", text, tuple(tool_calls))


def tool_result(call_id: str, text: str) -> Message:
    """The result of one tool call."""
    return Message("tool", text, tool_call_id=call_id)


class Usage(NamedTuple):
    """Tokens as the provider counted them, and the price in USD. None means the provider did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None


NOT_COUNTED = Usage()
#: types of content parts that hold reasoning, which is not part of a reply
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})


def _kind(part: Any) -> Any:
    return part.get("type") if isinstance(part, Mapping) else None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool offered to the model: JSON Schema parameters, and the canned results the bench answers with, in turn."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    returns: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The OpenAI form, without the canned results."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered. `latency` is in seconds; `model` is the name the provider returned.

    Its texts are whole characters, whoever made it (`characters.py`).
    """

    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    usage: Usage = NOT_COUNTED
    model: str | None = None
    latency: float = 0.0

    def __post_init__(self) -> None:
        for name in ("content", "finish_reason", "reasoning", "refusal", "model"):
            text = getattr(self, name)
            if isinstance(text, str) and not text.isascii():
                object.__setattr__(self, name, whole(text))

    @classmethod
    def from_dict(cls, raw: str | Mapping[str, Any]) -> Reply:
        """A reply as users write it: plain text, or ``{content, tool_calls, finish_reason, reasoning, refusal}``.

        Content parts, the older `function_call`, `stop_reason` and enum members as finish reasons are read as well.
        """
        if isinstance(raw, str):
            return cls(content=raw, finish_reason="stop")
        content, calls = raw.get("content"), raw.get("tool_calls") or raw.get("function_call")
        parts = [] if content is None or isinstance(content, (str, Mapping)) else list(content)
        if isinstance(content, Mapping):
            content = to_json(content).decode()
        elif content is not None and not isinstance(content, str):
            content = Message("assistant", [part for part in parts if _kind(part) not in _THOUGHTS]).text
        listed = list(calls) if isinstance(calls, (list, tuple)) else [calls] if isinstance(calls, Mapping) else []
        listed += [part for part in parts if _kind(part) == "tool_use"]
        if "function_call" in raw and not raw.get("tool_calls"):
            listed = [{"function": call} for call in listed]
        finish = raw.get("finish_reason") or raw.get("stop_reason")
        refusals = [str(part["refusal"]) for part in parts if isinstance(part, Mapping) and part.get("refusal")]
        return cls(
            content=content,
            tool_calls=tuple(ToolCall.from_dict(call) for call in listed),
            finish_reason=None if finish is None else str(finish).rpartition(".")[2],
            reasoning=raw.get("reasoning") or raw.get("reasoning_content"),
            refusal=raw.get("refusal") or "".join(refusals) or None,
        )

    @property
    def text(self) -> str:
        """The content, or the empty string."""
        return self.content or ""

    def to_message(self) -> Message:
        """The assistant message this reply adds to the log. Reasoning is kept in the record, not sent back."""
        content = self.content if self.content is not None or self.tool_calls else ""
        return Message("assistant", content, self.tool_calls)
