"""Runs exported from LangSmith, as JSON or JSONL: runs of type `llm` with their prompt and their generations.

https://docs.langchain.com/langsmith/run-data-format: `inputs.messages` (a list, or a batch of one list) in LangChain's
serialised form or OpenAI's; `outputs.generations[0][0].message`, or an OpenAI response with `choices`, or `messages`.
Runs of one thread have its id in their metadata (`thread_id`, `session_id` or `conversation_id`), those of one trace
its `trace_id`. Runs may be nested in `child_runs` and wrapped in ``{"runs": []}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextrot.messages import Message, Usage
from contextrot.transcripts.base import Transcript, register
from contextrot.transcripts.forms import Reader, tools_of, usage_of
from contextrot.transcripts.recorded_calls import RecordedCall, conversation
from contextrot.transcripts.source import Source

_THREADS = ("thread_id", "session_id", "conversation_id")


def _runs(records: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """Every run, also those inside others."""
    for record in records:
        if not isinstance(record, Mapping):
            continue
        if "run_type" in record or ("inputs" in record and "trace_id" in record):
            yield record
        for key in ("runs", "child_runs", "traces", "data"):
            if isinstance(record.get(key), list):
                yield from _runs(record[key])


def _recognises(source: Source) -> bool:
    return next(_runs(source.records), None) is not None


@register("langsmith", "runs exported from LangSmith", _recognises)
def read(source: Source) -> Sequence[Transcript]:
    """One conversation per thread, or per trace where no thread is named."""
    runs = list(_runs(source.records))
    wanted = [run for run in runs if run.get("run_type") == "llm"] or [run for run in runs if _prompt(run) is not None]
    groups: dict[tuple[str, bool], list[Mapping[str, Any]]] = {}
    for run in wanted:
        groups.setdefault(_group(run), []).append(run)
    return [
        conversation(map(_call, sorted(group, key=_when)), "langsmith", name, named_thread=is_thread)
        for (name, is_thread), group in groups.items()
    ]


def _metadata(run: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = run.get("extra")
    found = extra.get("metadata") if isinstance(extra, Mapping) else None
    found = found if isinstance(found, Mapping) else run.get("metadata")
    return found if isinstance(found, Mapping) else {}


def _group(run: Mapping[str, Any]) -> tuple[str, bool]:
    metadata = _metadata(run)
    thread = next((str(metadata[key]) for key in _THREADS if metadata.get(key)), "")
    return (thread, True) if thread else (str(run.get("trace_id") or run.get("id") or ""), False)


def _when(run: Mapping[str, Any]) -> tuple[str, str]:
    return str(run.get("start_time") or ""), str(run.get("dotted_order") or "")


def _prompt(run: Mapping[str, Any]) -> Any:
    inputs = run.get("inputs")
    if not isinstance(inputs, Mapping):
        return None
    return inputs.get("messages", inputs.get("input") if isinstance(inputs.get("input"), list) else None)


def _call(run: Mapping[str, Any]) -> RecordedCall:
    reader = Reader()
    inputs, raw = run.get("inputs"), _prompt(run)
    system = inputs.get("system") if isinstance(inputs, Mapping) else None
    prompt = [*(reader.read({"role": "system", "content": system}) if system else ()), *reader.all(raw or [])]
    reply, usage = _reply(reader, run.get("outputs"), len(prompt))
    if usage.prompt_tokens is None:
        usage = usage_of(run)
    extra = run.get("extra")
    found = extra.get("invocation_params") if isinstance(extra, Mapping) else None
    parameters: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    metadata = _metadata(run)
    model = metadata.get("ls_model_name") or parameters.get("model") or parameters.get("model_name")
    time = run.get("end_time") or run.get("start_time")
    return RecordedCall(
        prompt=prompt,
        reply=reply,
        usage=usage,
        model=model if isinstance(model, str) else None,
        time=time if isinstance(time, str) else None,
        error=str(run.get("error") or ""),
        tools=tools_of(parameters.get("tools")),
    )


def _reply(reader: Reader, outputs: Any, known: int) -> tuple[list[Message], Usage]:
    """What the model said, and the usage written beside it. `known` messages of a whole state are the prompt."""
    if not isinstance(outputs, Mapping):
        return [], Usage()
    generations = outputs.get("generations")
    while isinstance(generations, list) and generations:
        generations = generations[0]
    if isinstance(generations, Mapping):
        raw = generations.get("message") or {"role": "assistant", "content": generations.get("text")}
        return reader.all(raw), _usage_beside(raw, outputs)
    choices = outputs.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return reader.all(choices[0].get("message") or []), _usage_beside({}, outputs)
    messages = outputs.get("messages", outputs.get("message", outputs.get("output")))
    if isinstance(messages, list):
        said = reader.all(messages)
        return (said[known:] if len(said) > known else said[-1:]), Usage()
    if isinstance(messages, Mapping):
        return reader.all(messages), _usage_beside(messages, outputs)
    if isinstance(messages, str):
        return [Message("assistant", messages)], Usage()
    if outputs.get("role") == "assistant" or outputs.get("type") == "constructor":
        return reader.all(outputs), _usage_beside(outputs, outputs)
    return [], _usage_beside({}, outputs)


def _usage_beside(message: Any, outputs: Mapping[str, Any]) -> Usage:
    found = message.get("kwargs") if isinstance(message, Mapping) else None
    inner: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    llm = outputs.get("llm_output")
    places = [
        inner.get("usage_metadata"),
        message.get("usage_metadata") if isinstance(message, Mapping) else None,
        outputs.get("usage_metadata"),
        outputs.get("usage"),
        llm.get("token_usage") if isinstance(llm, Mapping) else None,
    ]
    return next((usage for place in places if (usage := usage_of(place)).prompt_tokens is not None), Usage())
