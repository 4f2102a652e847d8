"""A completion as servers really send it becomes a reply; what is no completion never does."""

import orjson
import pytest
from fault_server import completion

from contextrot.errors import ContextOverflowError, ModelError, RateLimitError, ServerError
from contextrot.messages import Usage
from contextrot.models.openai_form import read_completion, reply_of, usage_of


def message(**parts):
    return completion(choices=[{"index": 0, "message": {"role": "assistant", **parts}, "finish_reason": "stop"}])


def test_a_plain_completion():
    reply = read_completion(orjson.dumps(completion("hello")))
    assert (reply.content, reply.finish_reason, reply.model) == ("hello", "stop", "served-name")
    assert reply.usage == Usage(prompt_tokens=11, completion_tokens=3)


def test_tool_calls_with_no_content():
    call = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"when": "Fri'}}
    reply = reply_of(message(content=None, tool_calls=[call]))
    assert reply.content is None
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [("c1", "book", '{"when": "Fri')]


def test_arguments_sent_as_an_object_become_text():
    reply = reply_of(message(tool_calls=[{"function": {"name": "book", "arguments": {"when": 1}}}]))
    assert reply.tool_calls[0].arguments == '{"when":1}'


def test_content_in_parts_with_thoughts_among_them():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "let me see"}]},
        {"type": "text", "text": "BLUE"},
        {"type": "text", "text": "-42"},
    ]
    reply = reply_of(message(content=parts))
    assert (reply.content, reply.reasoning) == ("BLUE-42", "let me see")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_is_kept_apart_from_the_reply(key):
    reply = reply_of(message(content="4", **{key: "2 + 2"}))
    assert (reply.content, reply.reasoning) == ("4", "2 + 2")


def test_a_refusal_is_kept_as_one():
    assert reply_of(message(content=None, refusal="I cannot")).refusal == "I cannot"


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage()),
        ({"prompt_tokens": None, "completion_tokens": 4}, Usage(completion_tokens=4)),
        ({"prompt_tokens": "9", "completion_tokens": True}, Usage()),
        ({"prompt_tokens": 9, "completion_tokens": 0}, Usage(9, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}}, Usage(9, 1, 5)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": None}, Usage(9, 1)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 0}, Usage(9, 1, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "cache_read_input_tokens": 7}, Usage(9, 1, 7)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.5}, Usage(9, 1, None, 0.5)),
    ],
)
def test_usage_that_is_not_stated_is_none_and_never_zero(usage, expected):
    assert usage_of({"usage": usage}) == expected


def test_llama_cpp_says_in_its_timings_what_came_from_the_cache():
    raw = {"usage": {"prompt_tokens": 9, "completion_tokens": 1}, "timings": {"cache_n": 6, "prompt_n": 3}}
    assert usage_of(raw).cached_tokens == 6


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", ServerError),
        (b"Upstream is on fire, please stand by.", ServerError),
        (b"<html><body>502 Bad Gateway</body></html>", ServerError),
        (b'{"choices": [{"message": {"role": "assistant", "content": "BLUE', ServerError),
        (b'"Internal server error"', ServerError),
        (b"null", ServerError),
        (b"[]", ServerError),
        (b"{}", ServerError),
        (b'{"choices": []}', ServerError),
        (b'{"choices": null}', ServerError),
        (b'{"choices": [null]}', ServerError),
        (b'{"choices": [{"text": "old form"}]}', ServerError),
        (b'{"error": {"message": "the model crashed", "type": "server_error"}}', ServerError),
        (b'{"error": {"message": "upstream", "code": 502}}', ServerError),
        (b'{"error": {"message": "slow down", "code": 429}}', RateLimitError),
        (b'{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}', RateLimitError),
        (b'{"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}', ContextOverflowError),
        (b"Error: prompt is too long: 9 tokens > 8 maximum", ContextOverflowError),
        (b'{"object": "error", "message": "The input (9 tokens) is longer than the model\'s context length (8)"}',
         ContextOverflowError),
        (b'{"choices": [{"message": {"content": ""}, "finish_reason": "error", "error": {"code": 500}}]}',
         ServerError),
    ],
)  # fmt: skip
def test_what_is_no_completion_is_an_error_and_never_a_reply(body, error):
    with pytest.raises(error) as raised:
        read_completion(body, where="http://h/v1", model="m")
    assert isinstance(raised.value, ModelError)
    assert "http://h/v1" in str(raised.value)
