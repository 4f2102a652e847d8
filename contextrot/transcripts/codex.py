"""Sessions of the Codex CLI: rollout files ``~/.codex/sessions/…/rollout-*.jsonl``, a ``{type, payload}`` a line.

From codex-rs/protocol: `session_meta` (instructions), `turn_context` (model), `response_item` (what the model is sent
and says: message, function_call, function_call_output, custom_tool_call, local_shell_call, reasoning), `compacted`,
and `event_msg`, of which `token_count` holds the usage of the call before it. Its input tokens include the cached.
The first rollouts had the response items bare, one a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from contextrot.messages import Message
from contextrot.transcripts.base import Draft, Transcript, register
from contextrot.transcripts.forms import Reader, usage_of
from contextrot.transcripts.source import Source

_LINES = (
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
)
_ITEMS = (
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
    "custom_tool_call",
)
#: What the program puts before the user's words, as user messages of their own.
_CONTEXT = re.compile(
    r"\s*(?:<(?:user_instructions|environment_context|ENVIRONMENT_CONTEXT|turn_aborted|permissions instructions|skill|"
    r"user_shell_command|subagent_notification|collaboration_mode|INSTRUCTIONS)\b|# AGENTS\.md instructions)"
)
#: Events that say again, for the screen, what response items say, or that mark the time.
_ECHOES = (
        "user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "token_count",
        "task_started", "task_complete", "turn_started", "turn_complete", "agent_reasoning_section_break",
        "context_compacted", "exec_command_begin", "exec_command_end", "mcp_tool_call_begin", "mcp_tool_call_end",
        "patch_apply_begin", "patch_apply_end", "web_search_begin", "web_search_end", "thread_name_updated",
        "item_started", "item_completed", "entered_review_mode", "exited_review_mode",)  # fmt: skip


def _recognises(source: Source) -> bool:
    maps = source.maps[:50]
    if any(record.get("type") in _LINES and isinstance(record.get("payload"), Mapping) for record in maps):
        return True
    bare = [record for record in maps if record.get("type") in _ITEMS]
    return any(record.get("type") != "message" for record in bare) and len(bare) * 2 > len(maps)


@register("codex", "a session of the Codex CLI", _recognises)
def read(source: Source) -> Sequence[Transcript]:
    """The conversation of the rollout."""
    return [_Rollout(source).read()]


class _Rollout:
    def __init__(self, source: Source) -> None:
        self.draft = Draft("codex")
        self.reader = Reader()
        self.draft.left_out = self.reader.left_out
        self.records = source.maps
        self.answer: int | None = None  # the place of the answer under way
        self.counted: object = None
        self.model: str | None = None

    def read(self) -> Transcript:
        for record in self.records:
            payload, time = record.get("payload"), record.get("timestamp")
            kind = record.get("type")
            if not isinstance(payload, Mapping):
                if kind in _ITEMS:
                    self._item(record, time)
                continue
            if kind == "session_meta":
                self._meta(payload)
            elif kind == "turn_context":
                model = payload.get("model")
                self.model = model if isinstance(model, str) else self.model
            elif kind == "response_item":
                self._item(payload, time)
            elif kind == "compacted":
                self.draft.compacted(summary=self.reader.text(_content(payload.get("message"))))
                self.answer = None
            elif kind == "event_msg":
                self._event(payload)
            else:
                self.reader.left_out[f"entry of type {kind}"] += 1
        return self.draft.done()

    def _meta(self, payload: Mapping[str, Any]) -> None:
        base = payload.get("base_instructions")
        text = base.get("text") if isinstance(base, Mapping) else payload.get("instructions")
        if isinstance(text, str) and text.strip() and not len(self.draft):
            self.draft.add(Message("system", text))

    def _item(self, payload: Mapping[str, Any], time: object) -> None:
        kind = payload.get("type")
        if kind == "message" and payload.get("role") != "assistant" and self._is_context(payload):
            self.reader.left_out["message of the program itself"] += 1
            return
        for message in self.reader.read(payload):
            if message.role != "assistant":
                self.answer = None
                self.draft.add(message, time)
            elif self.answer is None:
                self.answer = self.draft.add(message, time)
                self.draft.call(self.answer, model=self.model)
            else:
                # Text and calls between two results are one answer of the model, written item by item.
                before = self.draft.message(self.answer)
                text = "\n".join(part for part in (before.text, message.text) if part)
                self.draft.replace(
                    self.answer, Message("assistant", text or None, (*before.tool_calls, *message.tool_calls))
                )

    def _is_context(self, payload: Mapping[str, Any]) -> bool:
        return payload.get("role") != "user" or _CONTEXT.match(self.reader.text(payload.get("content"))) is not None

    def _event(self, payload: Mapping[str, Any]) -> None:
        kind = payload.get("type")
        if kind == "token_count":
            self._usage(payload)
        elif kind in ("error", "stream_error"):
            self.draft.errors.append(str(payload.get("message") or kind)[:200])
        elif kind == "turn_aborted":
            self.reader.left_out["interruption by the user"] += 1
        elif kind not in _ECHOES:
            self.reader.left_out[f"event of type {kind}"] += 1

    def _usage(self, payload: Mapping[str, Any]) -> None:
        info = payload.get("info")
        if not isinstance(info, Mapping):
            return
        window = info.get("model_context_window")
        self.draft.window = window if isinstance(window, int) and window > 0 else self.draft.window
        last, total = info.get("last_token_usage"), info.get("total_token_usage")
        # The same figures come again with every news of rate limits.
        if total is not None and total == self.counted:
            return
        self.counted = total
        place = self._last_answer()
        if place is not None and isinstance(last, Mapping):
            self.draft.call(place, usage_of(last), self.model)
            self.answer = None  # counted when the answer is complete: what comes next is another

    def _last_answer(self) -> int | None:
        for place in range(len(self.draft) - 1, -1, -1):
            role = self.draft.message(place).role
            if role == "assistant":
                return place
            if role == "user":
                return None
        return None


def _content(message: Any) -> Any:
    return message.get("content") if isinstance(message, Mapping) else message
