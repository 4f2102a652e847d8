"""Reading an OpenAI-style chat completion, as all servers that claim the form really send it.

Used for endpoints, for llama.cpp in this process and for litellm's answers. What the server did not say stays None;
what is no completion at all (an error with status 200, HTML, a cut body) becomes an error, never a reply that gets
graded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from contextrot.characters import parse_json, to_json
from contextrot.errors import ServerError
from contextrot.messages import Reply, ToolCall, Usage
from contextrot.models.failures import brief, failure
from contextrot.models.overflow import error_text


def read_completion(body: bytes, *, where: str = "the server", model: str = "the model", latency: float = 0.0) -> Reply:
    """The reply in a response body that took `latency` seconds.

    Raises `ServerError` or `ContextOverflowError` when it holds none.
    """
    try:
        raw = parse_json(body)
    except orjson.JSONDecodeError as error:
        if not body.strip():
            raise ServerError(f"{where} sent an empty answer") from error
        text = body.decode("utf-8", "replace")
        if text.lstrip()[:1] in ("{", "["):
            raise ServerError(f"{where} sent an answer that is cut off or not JSON: {brief(text)}") from error
        raise _in_200(text, where, model) from error
    return reply_of(raw, where=where, model=model, latency=latency)


def reply_of(raw: Any, *, where: str = "the server", model: str = "the model", latency: float = 0.0) -> Reply:
    """The reply in a decoded completion that took `latency` seconds.

    Raises `ServerError` or `ContextOverflowError` when it holds none.
    """
    if not isinstance(raw, Mapping):
        raise _in_200(raw if isinstance(raw, str) else to_json(raw, default=str), where, model)
    choices = raw.get("choices")
    if raw.get("error") or not isinstance(choices, list) or not choices:
        raise _in_200(to_json(raw, default=str), where, model)
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise ServerError(f"{where} sent a completion without a message")
    finish = choice.get("finish_reason")
    if choice.get("error") or finish == "error":
        raise _in_200(to_json(choice.get("error") or choice, default=str), where, model)
    content, thoughts, refusal = _content(message.get("content"))
    name = raw.get("model")
    return Reply(
        content=content,
        tool_calls=_tool_calls(message.get("tool_calls")),
        finish_reason=finish if isinstance(finish, str) else None,
        reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")) or thoughts,
        refusal=_text(message.get("refusal")) or refusal,
        usage=usage_of(raw),
        model=name if isinstance(name, str) else None,
        latency=latency,
    )


def usage_of(raw: Mapping[str, Any]) -> Usage:
    """Tokens and cost as the completion states them; what it does not state is None, never 0.

    Cached tokens in the words of OpenAI (`prompt_tokens_details`), DeepSeek (`prompt_cache_hit_tokens`), Anthropic
    through litellm (`cache_read_input_tokens`) and llama.cpp (`timings.cache_n`).
    """
    usage = raw.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    # A prompt has at least one token: servers that do not count fill in zeros.
    prompt = _count(usage.get("prompt_tokens")) or None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    for key in ("prompt_cache_hit_tokens", "cache_read_input_tokens"):
        cached = _count(usage.get(key)) if cached is None else cached
    timings = raw.get("timings")
    if cached is None and isinstance(timings, Mapping):
        cached = _count(timings.get("cache_n"))
    completion = _count(usage.get("completion_tokens"))
    cost = usage.get("cost")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion if prompt else completion or None,
        cached_tokens=cached if prompt else None,
        cost=float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None,
    )


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0 or value != int(value):
        return None
    return int(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _content(content: Any) -> tuple[str | None, str | None, str | None]:
    """Text, thoughts and refusal of a content: a string, nothing, or a list of parts (Mistral, Anthropic gateways)."""
    if content is None or isinstance(content, str):
        return content, None, None
    if not isinstance(content, list):
        return to_json(content, default=str).decode(), None, None
    texts: list[str] = []
    thoughts: list[str] = []
    refusals: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            texts += [text for text in (part.get("text"),) if isinstance(text, str)]
            refusals += [text for text in (part.get("refusal"),) if isinstance(text, str)]
            thinking = part.get("thinking")
            if thinking is not None:
                thoughts.append(_content(thinking)[0] or "")
    return "".join(texts), "".join(thoughts) or None, "".join(refusals) or None


def _tool_calls(raw: Any) -> tuple[ToolCall, ...]:
    """The tool calls as they came. Missing and repeated ids are named by the session, which knows the call's number."""
    return tuple(ToolCall.from_dict(call) for call in raw) if isinstance(raw, list) else ()


def _in_200(body: str | bytes, where: str, model: str) -> Exception:
    """The error for a 200 that holds no completion: by the code inside it, else it is the server's fault."""
    try:
        raw = orjson.loads(body)
    except orjson.JSONDecodeError:
        raw = None
    inner = raw.get("error") if isinstance(raw, Mapping) and isinstance(raw.get("error"), Mapping) else raw
    code = inner.get("code") if isinstance(inner, Mapping) else None
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    if isinstance(code, int) and 400 <= code <= 599:
        return failure(code, body, where=where, model=model)
    if isinstance(code, str) and "rate_limit" in code:
        return failure(429, body, where=where, model=model)
    known = failure(400, body, where=where, model=model)
    if known.outcome == "overflow":
        return known
    return ServerError(f"{where} answered without a completion: {brief(error_text(body)) or 'nothing'}")
