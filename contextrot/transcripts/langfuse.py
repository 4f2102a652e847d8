"""Traces and observations exported from Langfuse, by the API, the interface or a blob export: JSON or JSONL.

https://langfuse.com/docs/observability/data-model: observations of type GENERATION have `input` (the prompt: messages,
or a map with `messages`), `output` (the reply), `usageDetails` (or `usage`), `model`, `startTime`, `traceId`; traces
have `sessionId` and may hold their `observations`. Exports write input and output as JSON text too, and names in snake
case.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextrot.messages import Message
from contextrot.transcripts.base import Transcript, register
from contextrot.transcripts.forms import Reader, tools_of, usage_of
from contextrot.transcripts.recorded_calls import RecordedCall, conversation
from contextrot.transcripts.source import Source

_TYPES = (
    "GENERATION",
    "SPAN",
    "EVENT",
    "AGENT",
    "TOOL",
    "CHAIN",
    "RETRIEVER",
    "EVALUATOR",
    "EMBEDDING",
    "GUARDRAIL",
)
_MARKS = ("traceId", "trace_id", "parentObservationId", "parent_observation_id")


def _get(raw: Mapping[str, Any], name: str) -> Any:
    """A field by its camel-case name, or as snake case."""
    if name in raw:
        return raw[name]
    return raw.get("".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name))


def _parts(records: Sequence[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every trace and observation of the file, each with its kind."""
    for record in records:
        if not isinstance(record, Mapping):
            continue
        nested = [record[key] for key in ("data", "traces", "observations") if isinstance(record.get(key), list)]
        if isinstance(record.get("trace"), Mapping):
            yield "trace", record["trace"]
        if str(record.get("type") or "").upper() in _TYPES and any(mark in record for mark in _MARKS):
            yield "observation", record
        elif _is_trace(record):
            yield "trace", record
        for inner in nested:
            yield from _parts(inner)


def _is_trace(record: Mapping[str, Any]) -> bool:
    if "id" not in record or ("input" not in record and "observations" not in record):
        return False
    return any(
        key in record for key in ("observations", "sessionId", "session_id", "projectId", "htmlPath", "timestamp")
    )


def _recognises(source: Source) -> bool:
    return next(_parts(source.records), None) is not None


@register("langfuse", "traces exported from Langfuse", _recognises)
def read(source: Source) -> Sequence[Transcript]:
    """One conversation per session, or per trace where no session is named."""
    traces: dict[str, Mapping[str, Any]] = {}
    observed: dict[str, list[Mapping[str, Any]]] = {}
    for kind, record in _parts(source.records):
        if kind == "trace":
            traces[str(record["id"])] = record
        elif str(record.get("type")).upper() == "GENERATION":
            observed.setdefault(str(_get(record, "traceId") or ""), []).append(record)
    groups: dict[tuple[str, bool], list[Mapping[str, Any]]] = {}
    for trace_id in dict.fromkeys((*traces, *observed)):
        trace = traces.get(trace_id, {})
        calls = observed.get(trace_id) or ([trace] if trace else [])
        session = _get(trace, "sessionId") or next((s for call in calls if (s := _get(call, "sessionId"))), None)
        groups.setdefault((str(session or trace_id), bool(session)), []).extend(calls)
    return [
        conversation(map(_call, sorted(group, key=_when)), "langfuse", name, named_thread=is_session)
        for (name, is_session), group in groups.items()
    ]


def _when(record: Mapping[str, Any]) -> str:
    return str(_get(record, "startTime") or record.get("timestamp") or "")


def _call(record: Mapping[str, Any]) -> RecordedCall:
    reader = Reader()
    given, said = _parsed(record.get("input")), _parsed(record.get("output"))
    tools: Any = None
    if isinstance(given, Mapping) and "role" not in given:
        tools = given.get("tools")
        system = given.get("system") or given.get("instructions")
        listed = given.get("messages", given.get("input", given.get("prompt")))
        prompt = list(reader.read({"role": "system", "content": system})) if system else []
        prompt += _messages(reader, listed, "user")
    else:
        prompt = _messages(reader, given, "user")
    model, time = record.get("model"), _get(record, "endTime") or _when(record)
    failed = str(record.get("level")) == "ERROR"
    return RecordedCall(
        prompt=prompt,
        reply=_messages(reader, _said(said), "assistant"),
        usage=usage_of(_get(record, "usageDetails") or record.get("usage")),
        model=model if isinstance(model, str) else None,
        time=time if isinstance(time, str) else None,
        error=str(_get(record, "statusMessage") or "a call failed") if failed else "",
        tools=tools_of(tools),
    )


def _said(output: Any) -> Any:
    """The reply in an output: a message, a response with `choices` or `messages`, or a text."""
    if not isinstance(output, Mapping) or "role" in output or output.get("type") in ("message", "constructor"):
        return output
    choices = output.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return choices[0].get("message")
    for key in ("message", "messages", "output", "content", "completion", "text"):
        if output.get(key):
            return output[key]
    return output


def _messages(reader: Reader, raw: Any, role: str) -> list[Message]:
    if raw is None or raw == "":
        return []
    if isinstance(raw, list) and raw and all(isinstance(one, Mapping) for one in raw):
        blocks = {str(one.get("type")) for one in raw} <= {"text", "tool_use", "thinking"} and not any(
            "role" in o for o in raw
        )
        return reader.all({"role": role, "content": raw}) if blocks else reader.all(raw)
    if isinstance(raw, Mapping) and ("role" in raw or raw.get("type") is not None):
        return reader.all({"role": role, **raw} if "content" in raw and "role" not in raw else raw)
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    return reader.all({"role": role, "content": text})


def _parsed(value: Any) -> Any:
    """A value; one written as JSON text is read."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
