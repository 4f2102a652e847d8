"""The litellm path: the same faulty server, the same errors. litellm is imported once for this file."""

import time

import pytest
from fault_server import answer, completion, cut, error, hang, ok, reset, running, slow

from contextrot.errors import (
    ConfigError,
    ContextOverflowError,
    MissingKeyError,
    ModelError,
    ModelTimeoutError,
    RateLimitError,
    ServerError,
)
from contextrot.messages import Tool, ToolCall, assistant, tool_result, user
from contextrot.models.base import Call, ModelSpec, Price
from contextrot.models.providers import KEY_NAMES, ProviderModel, missing_key

VLLM_WORDS = (
    "This model's maximum context length is 512 tokens. However, your request has 900 input tokens. "
    "Please reduce the length of the input messages."
)
CALL = Call(messages=(user("hello"),), timeout=10)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for names in KEY_NAMES.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def server():
    async with running() as server:
        yield server


@pytest.fixture
async def model(server):
    model = ProviderModel(ModelSpec("openai/x", "x", base_url=server.url))
    yield model
    await model.close()


async def test_a_reply_with_usage_tools_and_settings(server, model):
    call = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"when": "Fri"}'}}
    choice = {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 1,
        "total_tokens": 101,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    server.plays(ok(choices=[{**choice, "finish_reason": "tool_calls"}], usage=usage))
    tool = Tool("book", "Book a slot", {"type": "object", "properties": {}})
    messages = (user("hi"), assistant(None, [ToolCall("c0", "book")]), tool_result("c0", "booked"), user("again"))
    reply = await model.complete(Call(messages, (tool,), max_tokens=7, temperature=0.5, seed=3))
    assert [(made.id, made.name, made.arguments) for made in reply.tool_calls] == [("c1", "book", '{"when": "Fri"}')]
    assert (reply.content, reply.finish_reason) == (None, "tool_calls")
    assert (reply.usage.prompt_tokens, reply.usage.cached_tokens) == (100, 64)
    sent = server.seen[0]
    assert (sent["model"], sent["max_tokens"], sent["temperature"], sent["seed"]) == ("x", 7, 0.5, 3)
    plain = [{key: value for key, value in message.to_dict().items() if value is not None} for message in messages]
    assert sent["messages"] == plain
    assert sent["tools"] == [tool.to_dict()]


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (error(429, "slow down", {"Retry-After": "3"}), RateLimitError),
        (error(429, "Request too large for x on tokens per min (TPM): Limit 30000, Requested 40000.",
               code="rate_limit_exceeded"), ModelError),
        (error(500, "boom"), ServerError),
        (error(503, "loading"), ServerError),
        (answer(200, b"\x00\xff\x13garbage"), ServerError),
        (answer(200, "The upstream model is not available."), ServerError),
        (answer(200, {"error": {"message": "it broke", "code": 500}}), ServerError),
        (answer(200, completion(choices=[])), ServerError),
        (cut(), ServerError),
        (reset(), ServerError),
        (error(400, VLLM_WORDS, code=400), ContextOverflowError),
        (error(400, "the request exceeds the available context size", type="exceed_context_size_error"),
         ContextOverflowError),
        (error(401, "no key"), MissingKeyError),
        (error(400, "unknown parameter seed"), ModelError),
        (error(404, "model not found"), ModelError),
    ],
)  # fmt: skip
async def test_every_fault_becomes_the_error_that_says_what_to_do(server, model, behaviour, expected):
    server.plays(behaviour)
    with pytest.raises(ModelError) as raised:
        await model.complete(CALL)
    assert type(raised.value) is expected, str(raised.value)
    assert len(server.seen) == 1, "neither litellm nor the client library asks twice"
    assert "litellm." not in str(raised.value)


async def test_the_wish_to_wait_is_kept(server, model):
    server.plays(error(429, "slow down", {"Retry-After": "3"}))
    with pytest.raises(RateLimitError) as raised:
        await model.complete(CALL)
    assert raised.value.retry_after == 3


@pytest.mark.parametrize("behaviour", [hang(), slow(30)], ids=["no answer", "half an answer"])
async def test_the_time_limit_is_ours(server, model, behaviour):
    await model.complete(CALL)
    server.plays(behaviour)
    started = time.perf_counter()
    with pytest.raises(ModelTimeoutError, match=r"0\.3 s"):
        await model.complete(Call((user("hello"),), timeout=0.3))
    assert time.perf_counter() - started < 3
    assert len(server.seen) == 2


async def test_usage_that_is_missing_stays_unknown(server, model):
    server.plays(ok(usage=None))
    usage = (await model.complete(CALL)).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (None, None, None)


async def test_a_prompt_stopped_by_the_providers_filter_is_a_reply_that_says_so(server, model):
    server.plays(error(400, "The response was filtered by our content management policy", code="content_filter"))
    assert (await model.complete(CALL)).finish_reason == "content_filter"


async def test_the_named_key_is_sent_and_never_shown(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret-1")
    model = ProviderModel(ModelSpec("openai/x", "x", base_url=server.url, api_key_env="MY_KEY"))
    server.plays(ok(), error(401, "Incorrect API key provided: sk-secret-1"))
    await model.complete(CALL)
    assert server.headers[0]["Authorization"] == "Bearer sk-secret-1"
    with pytest.raises(ModelError) as raised:
        await model.complete(CALL)
    assert "sk-secret-1" not in str(raised.value)
    assert "sk-secret" not in repr(model)


async def test_parameters_of_the_user_are_sent_and_null_removes_one(server):
    spec = ModelSpec("openai/x", "x", base_url=server.url, params={"top_p": 0.5, "seed": None})
    await ProviderModel(spec).complete(CALL)
    assert server.seen[0]["top_p"] == 0.5
    assert "seed" not in server.seen[0]


async def test_a_parameter_the_provider_does_not_take_is_refused_before_the_first_call(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    spec = ModelSpec("anthropic/claude-3-5-haiku-20241022", "c", params={"logit_bias": {"1": 1}})
    with pytest.raises(ConfigError, match="logit_bias"):
        await ProviderModel(spec).prepare()


async def test_an_unknown_provider_is_a_sentence_with_what_was_meant():
    with pytest.raises(ConfigError, match="anthropic"):
        await ProviderModel(ModelSpec("antropic/claude", "c")).prepare()
    with pytest.raises(ModelError, match="anthropic"):
        await ProviderModel(ModelSpec("antropic/claude", "c")).complete(CALL)


async def test_a_missing_key_is_a_sentence_before_the_first_call():
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        await ProviderModel(ModelSpec("openai/gpt-4o", "gpt")).complete(CALL)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ModelSpec("openai/gpt-4o", "gpt"), "OPENAI_API_KEY"),
        (ModelSpec("gemini/gemini-2.5-pro", "g"), "GEMINI_API_KEY or GOOGLE_API_KEY"),
        (ModelSpec("openai/gpt-4o", "gpt", api_key_env="NOT_SET_HERE"), "NOT_SET_HERE"),
        (ModelSpec("ai21/jamba-1.5-mini", "j"), "AI21_API_KEY"),
        (ModelSpec("ollama/llama3", "o"), None),
        (ModelSpec("openai/x", "x", base_url="http://h/v1"), None),
    ],
)
def test_which_key_is_missing(spec, words, monkeypatch):
    monkeypatch.delenv("AI21_API_KEY", raising=False)
    sentence = missing_key(spec)
    assert sentence is None if words is None else words in (sentence or "")


def test_a_key_that_is_set_is_not_missed(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert missing_key(ModelSpec("openai/gpt-4o", "gpt")) is None


def test_the_table_of_keys_says_what_litellm_says(monkeypatch):
    """One name of each group, set, satisfies litellm as well; otherwise the table would promise too much."""
    from contextrot.models.providers import import_litellm

    litellm = import_litellm()
    models = {"azure": "gpt-4o", "openrouter": "openai/gpt-4o"}
    for provider, names in KEY_NAMES.items():
        if provider == "azure":  # wants an address and a version besides
            continue
        with monkeypatch.context() as patched:
            patched.setenv(names[0], "x")
            found = litellm.validate_environment(model=f"{provider}/{models.get(provider, 'some-model')}")
        assert not found["missing_keys"], (provider, found)


@pytest.mark.parametrize(
    ("model_id", "window", "price"),
    [
        ("openai/gpt-4o", 128_000, Price(2.5, 10.0, 1.25)),
        ("gpt4all/unknown", None, None),
        ("openai/no-such-model", None, None),
        ("anthropic/gpt-4o", None, None),
    ],
)
def test_window_and_price_are_those_of_the_list_or_unknown(model_id, window, price):
    model = ProviderModel(ModelSpec(model_id, "m"))
    assert (model.window, model.price) == (window, price)


def test_what_the_user_says_of_window_and_price_wins():
    model = ProviderModel(ModelSpec("openai/gpt-4o", "m", window=8000, price=Price(1, 1)))
    assert (model.window, model.price) == (8000, Price(1, 1))
