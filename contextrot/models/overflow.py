"""Telling "the prompt is too long for the window" from all other refusals, in the words of the providers.

There is no standard: every provider and engine says it its own way, most as a plain 400. What makes it hard is the
other direction: rate limits, quotas and output caps speak of tokens, limits and lengths as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

#: Error codes and types that mean overflow by themselves, whatever the sentence next to them says.
_CODES = re.compile(
    r"context_length_exceeded|context_window_exceeded|exceed_context_size_error|ContextWindowExceededError"
    r"|max_context_length_exceeded",
    re.I,
)

#: Sentences that count tokens per time, money or requests: never an overflow.
_ALARMS = re.compile(
    r"rate[ _-]?limit|too many requests|throttl|quota|billing|please wait before"
    r"|(tokens?|requests?|input tokens|output tokens) per[ _-]?(second|min|minute|hour|day|month)"
    r"|\b(TPM|TPD|RPM|RPD|ITPM|OTPM)\b|resource.?exhausted|overloaded|window too small",
    re.I,
)

#: One line per way of saying it. `N` stands for a number, with or without separators.
_SENTENCES = tuple(
    re.compile(pattern.replace("N", r"~?[\d,._]+[kKmM]?"), re.I | re.S)
    for pattern in (
        # OpenAI, Azure, vLLM, OpenRouter, DeepSeek, Together: "This model's maximum context length is N tokens.
        # However, …"
        r"maximum context length (is|of) N",
        r"maximum context length for this model",
        # OpenAI (Responses): "Your input exceeds the context window of this model."
        r"exceeds? the (model'?s )?context[ _](window|length|limit)",
        r"context[ _](window|length|limit|size) (has been |was |is )?exceeded",
        r"exceeded? (the )?(max(imum)? )?context (window|length|size)",
        # OpenAI: "Input tokens exceed the configured limit of N tokens. Your messages resulted in N tokens."
        r"input tokens exceed the configured limit",
        # OpenAI: "Invalid 'messages[0].content': string too long. Expected a string with maximum length N"
        r"messages?\[\d+\]\.content\S*: string too long",
        # Anthropic: "prompt is too long: N tokens > N maximum"; "input length and `max_tokens` exceed context limit: N
        # + N > N"
        r"prompt is too long",
        r"input length and .?max_tokens.? exceed context limit",
        # Google: "The input token count (N) exceeds the maximum number of tokens allowed (N)."
        r"input token count.{0,40}exceeds the maximum",
        r"request payload size exceeds the limit",
        # Mistral: "Prompt contains N tokens and N draft tokens, too large for model with N maximum context length"
        r"too large for model with N max",
        r"prompt has too many tokens",
        # Cohere: "too many tokens: total number of tokens … cannot exceed N"; "too many tokens: size limit exceeded by
        # N tokens"
        r"too many tokens: (total number of tokens|size limit exceeded|max tokens)",
        # Groq: "Please reduce the length of the messages or completion."
        r"reduce the length of the (messages|input|prompt|conversation)",
        # Bedrock: "Input is too long for requested model."; "prompt tokens (N) exceed model maximum (N)"
        r"input is too long",
        r"prompt tokens \(N\) exceed model maximum",
        r"too many input tokens",
        # xAI: "This model's maximum prompt length is N but the request contains N tokens."
        r"maximum prompt length is N",
        # Cerebras: "Current length is N while limit is N"
        r"current length is N while limit is N",
        # Moonshot: "Your request exceeded model token limit: N (requested: N)"
        r"exceeded model token limit",
        # vLLM: "The decoder prompt (length N) is longer than the maximum model length of N."; "The prompt (total
        # length N) is too long to fit into the model"; older: "max_tokens must be at least 1, got -N."
        r"prompt \([^)]*length N\) is (longer than the maximum|too long)",
        r"maximum (model|input|sequence) length (is|of) N.{0,60}tokens|tokens.{0,80}maximum (model|input) length",
        r"max_(completion_)?tokens must be at least 1, got -\d",
        # SGLang: "The input (N tokens) is longer than the model's context length (N tokens)."; "Requested token count
        # exceeds the model's maximum context length of N tokens."; "Input length (N tokens) exceeds the maximum
        # allowed length (N tokens)."
        r"longer than the model'?s (maximum )?context length",
        r"input length \(N tokens\) exceeds the maximum allowed length",
        # llama.cpp: "the request exceeds the available context size"; "context shift is disabled"; LM Studio on top of
        # it
        r"exceeds the available context size",
        r"context shift is disabled",
        r"(greater|larger) than the context length",
        r"tokens \(?N?\)? ?exceed(s)? context window of N",
        # Ollama: "input length exceeds the context length"; "prompt too long; exceeded max context length by N tokens"
        r"prompt too long; exceeded",
        # TGI, older Together: "`inputs` tokens + `max_new_tokens` must be <= N"; "`inputs` must have less than N
        # tokens"
        r"inputs. tokens \+ .max_new_tokens. must be <=",
        r"inputs. must have less than N tokens",
        # GitHub Models, Copilot: "prompt token count of N exceeds the limit of N"; "Request body too large for …
        # model. Max size: N"
        r"prompt token count of N exceeds",
        r"request body too large for .{0,60}max size: N tokens",
    )
)


def error_text(body: str | bytes | Mapping[str, Any]) -> str:
    """The sentence, code and type of an error body, without parts that repeat the prompt. Plain text stays as it is.

    Knows OpenAI's ``{"error": {message, code, type}}``, vLLM's ``{"object": "error", "message"}``, FastAPI's
    ``detail``, and Google's list around the object.
    """
    raw: Any = body
    if isinstance(body, (str, bytes)):
        try:
            raw = orjson.loads(body)
        except orjson.JSONDecodeError:
            return body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    if isinstance(raw, list) and raw:
        raw = raw[0]
    if isinstance(raw, str):
        return raw
    if not isinstance(raw, Mapping):
        return str(raw)
    inner = raw.get("error", raw)
    if isinstance(inner, str):
        return inner
    if not isinstance(inner, Mapping):
        inner = raw
    parts = [inner.get(key) for key in ("message", "detail", "msg", "code", "type", "status")]
    metadata = inner.get("metadata")
    if isinstance(metadata, Mapping):  # OpenRouter keeps the upstream provider's own words here
        parts.append(error_text(metadata["raw"]) if isinstance(metadata.get("raw"), (str, bytes, Mapping)) else None)
    detail = parts[1]
    if isinstance(detail, list):  # FastAPI's validation errors repeat the whole input next to each sentence
        parts[1] = "; ".join(str(item.get("msg", item)) if isinstance(item, Mapping) else str(item) for item in detail)
    found = " ".join(str(part) for part in parts if part not in (None, ""))
    return found or orjson.dumps(raw, default=str).decode()


def is_overflow(message_or_body: str | bytes | Mapping[str, Any]) -> bool:
    """True when an error says that the prompt (or prompt plus reply) does not fit the model's context window.

    False for rate limits, quotas, overloads and caps on the reply alone, although all of them speak of tokens.
    """
    text = error_text(message_or_body)
    if _CODES.search(text):
        return True
    if _ALARMS.search(text):
        return False
    return any(sentence.search(text) for sentence in _SENTENCES)
