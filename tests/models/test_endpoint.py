"""The direct client against a real HTTP server that misbehaves on purpose."""

import asyncio
import time

import orjson
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
from contextrot.messages import Message, Tool, ToolCall, assistant, system, tool_result, user
from contextrot.models.base import Call, ModelSpec
from contextrot.models.endpoint import EndpointModel, missing_key, parse_id

VLLM_WORDS = (
    "This model's maximum context length is 512 tokens. However, your request has 900 input tokens. "
    "Please reduce the length of the input messages."
)
CALL = Call(messages=(user("hello"),), timeout=5)
HELLO = {"role": "user", "content": "hello"}


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("CONTEXTROT_API_KEY", raising=False)


@pytest.fixture
async def server():
    async with running() as server:
        yield server


@pytest.fixture
async def model(server):
    model = EndpointModel(ModelSpec(f"endpoint/org/m@{server.url}", "m"))
    yield model
    await model.close()


async def test_a_reply_with_its_usage_and_its_latency(server, model):
    server.plays(slow(0.1, "BLUE-42"))
    reply = await model.complete(CALL)
    assert (reply.content, reply.usage.prompt_tokens, reply.model) == ("BLUE-42", 11, "served-name")
    assert 0.1 <= reply.latency < 2


async def test_the_request_holds_the_conversation_byte_for_byte(server, model):
    messages = (
        system("Ünïcode ✓ {braces}"),
        user("hi"),
        assistant(None, [ToolCall("c1", "book", '{"when": "Fri"}')]),
        tool_result("c1", "booked"),
        Message("user", [{"type": "text", "text": "and?"}]),
    )
    tool = Tool("book", "Book a slot", {"type": "object"}, returns=("secret result",))
    await model.complete(Call(messages, (tool,), max_tokens=7, temperature=0.5, seed=2**40 + 5))
    sent = server.seen[0]
    assert sent["model"] == "org/m"
    assert sent["messages"] == [message.to_dict() for message in messages]
    assert sent["tools"] == [tool.to_dict()]
    assert (sent["max_tokens"], sent["temperature"], sent["seed"]) == (7, 0.5, 5)
    assert b"secret result" not in server.raw[0]
    assert messages[0].wire in server.raw[0]


async def test_parameters_of_the_user_come_last_and_null_removes_one(server):
    spec = ModelSpec(f"endpoint/m@{server.url}", "m", params={"temperature": 1, "seed": None, "top_k": 3})
    model = EndpointModel(spec)
    await model.complete(CALL)
    await model.close()
    assert server.seen[0] == {"model": "m", "messages": [HELLO], "max_tokens": 512, "temperature": 1, "top_k": 3}


async def test_a_newer_name_for_max_tokens_replaces_the_older(server):
    model = EndpointModel(ModelSpec(f"endpoint/m@{server.url}", "m", params={"max_completion_tokens": 9}))
    await model.complete(CALL)
    await model.close()
    assert "max_tokens" not in server.seen[0]


async def test_a_body_of_several_megabytes_arrives_whole(server, model):
    await model.complete(Call((user("x" * 3_000_000),)))
    assert len(server.seen[0]["messages"][0]["content"]) == 3_000_000


async def test_connections_are_kept_and_shared(server, model):
    server.plays(slow(0.05))
    started = time.perf_counter()
    await asyncio.gather(*(model.complete(CALL) for _ in range(40)))
    assert time.perf_counter() - started < 1.5
    assert len({id(model._session)}) == 1


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (error(429, "slow down", {"Retry-After": "3"}), RateLimitError),
        (error(500, "boom"), ServerError),
        (error(529, "Overloaded"), ServerError),
        (answer(200, b"\x00\xff\x13garbage"), ServerError),
        (answer(200, "The upstream model is not available."), ServerError),
        (answer(200, {"error": {"message": "it broke", "code": 500}}), ServerError),
        (answer(200, '{"choices": [{"message"'), ServerError),
        (answer(200, completion(choices=[])), ServerError),
        (cut(), ServerError),
        (reset(), ServerError),
        (error(400, VLLM_WORDS), ContextOverflowError),
        (answer(413, ""), ContextOverflowError),
        (error(401, "no key"), MissingKeyError),
        (error(400, "unknown parameter seed"), ModelError),
        (error(404, "model not found"), ModelError),
    ],
)  # fmt: skip
async def test_every_fault_becomes_the_error_that_says_what_to_do(server, model, behaviour, expected):
    server.plays(behaviour)
    with pytest.raises(ModelError) as raised:
        await model.complete(CALL)
    assert type(raised.value) is expected
    assert "127.0.0.1" in str(raised.value)
    assert len(server.seen) == 1, "the client never asks twice on its own"


async def test_after_a_fault_the_same_client_goes_on(server, model):
    server.plays(cut(), error(500, "boom"), ok("well again"))
    for _ in range(2):
        with pytest.raises(ServerError):
            await model.complete(CALL)
    assert (await model.complete(CALL)).content == "well again"


async def test_the_wish_to_wait_is_kept(server, model):
    server.plays(error(429, "slow down", {"Retry-After": "3"}))
    with pytest.raises(RateLimitError) as raised:
        await model.complete(CALL)
    assert raised.value.retry_after == 3


@pytest.mark.parametrize("behaviour", [hang(), slow(30)], ids=["no answer", "half an answer"])
async def test_the_time_limit_covers_the_whole_call(server, model, behaviour):
    server.plays(behaviour)
    started = time.perf_counter()
    with pytest.raises(ModelTimeoutError, match=r"0\.2 s"):
        await model.complete(Call((user("hello"),), timeout=0.2))
    assert time.perf_counter() - started < 2


async def test_usage_that_is_missing_stays_unknown(server, model):
    server.plays(ok(usage=None))
    usage = (await model.complete(CALL)).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (None, None, None)


async def test_cached_tokens_are_read(server, model):
    usage = {"prompt_tokens": 100, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 64}}
    server.plays(ok(usage=usage))
    assert (await model.complete(CALL)).usage.cached_tokens == 64


async def test_a_prompt_stopped_by_the_providers_filter_is_a_reply_that_says_so(server, model):
    server.plays(error(400, "The response was filtered by our content management policy", code="content_filter"))
    reply = await model.complete(CALL)
    assert (reply.content, reply.finish_reason) == (None, "content_filter")


async def test_a_server_that_is_not_there(unused_tcp_port):
    model = EndpointModel(ModelSpec(f"endpoint/m@http://127.0.0.1:{unused_tcp_port}/v1", "m"))
    for asking in (model.complete(CALL), model.prepare()):
        with pytest.raises(ServerError, match="cannot connect"):
            await asking
    await model.close()


async def test_the_key_goes_out_in_the_header_and_nowhere_else(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", " sk-secret-1\n")
    model = EndpointModel(ModelSpec(f"endpoint/m@{server.url}", "m", api_key_env="MY_KEY"))
    server.plays(ok(), error(401, "Incorrect API key provided: sk-secret-1"))
    await model.complete(CALL)
    assert server.headers[0]["Authorization"] == "Bearer sk-secret-1"
    with pytest.raises(ModelError, match="MY_KEY") as raised:
        await model.complete(CALL)
    await model.close()
    assert "sk-secret" not in str(raised.value)
    assert "sk-secret" not in repr(model)
    assert b"sk-secret" not in server.raw[0]


async def test_no_key_is_sent_unless_one_is_meant_for_it(server, model, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another")
    await model.complete(CALL)
    assert "Authorization" not in server.headers[0]


async def test_a_key_that_is_named_but_not_set_is_a_sentence_before_the_call(server, monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    spec = ModelSpec(f"endpoint/m@{server.url}", "m", api_key_env="MY_KEY")
    assert "MY_KEY" in (missing_key(spec) or "")
    with pytest.raises(MissingKeyError, match="MY_KEY"):
        await EndpointModel(spec).complete(CALL)
    assert server.seen == []


async def test_the_window_comes_from_vllms_list_of_models(server, model):
    server.pages["/v1/models"] = {"data": [{"id": "other", "max_model_len": 1}, {"id": "org/m", "max_model_len": 4096}]}
    assert await model.discover() == model.window == 4096


async def test_the_window_comes_from_llama_cpps_properties(server, model):
    server.pages["/v1/models"] = {"data": [{"id": "file.gguf", "meta": {"n_ctx_train": 8192}}]}
    server.pages["/props"] = {"default_generation_settings": {"n_ctx": 2048}}
    assert await model.discover() == 2048


async def test_a_window_of_the_users_wins_and_an_unknown_one_stays_unknown(server, model):
    assert await model.discover() is None
    own = EndpointModel(ModelSpec(f"endpoint/m@{server.url}", "m", window=99))
    assert await own.discover() == 99


@pytest.mark.parametrize(
    ("model_id", "name", "url"),
    [
        ("endpoint/m@http://h:1/v1", "m", "http://h:1/v1/chat/completions"),
        ("endpoint/org/m@q4@http://h:1/v1/", "org/m@q4", "http://h:1/v1/chat/completions"),
        ("endpoint/m:7b@https://h", "m:7b", "https://h/v1/chat/completions"),
        ("endpoint/m@https://h/x/chat/completions?api-version=2", "m", "https://h/x/chat/completions?api-version=2"),
        ("endpoint/a@http://b@http://h:1/v1", "a@http://b", "http://h:1/v1/chat/completions"),
    ],
)
def test_the_id_is_split_at_the_last_url(model_id, name, url):
    found, address = parse_id(ModelSpec(model_id, "x"))
    assert (found, str(address)) == (name, url)


def test_the_url_may_stand_in_base_url():
    assert str(parse_id(ModelSpec("endpoint/m", "x", base_url="http://h/v1"))[1]) == "http://h/v1/chat/completions"


@pytest.mark.parametrize(
    "model_id", ["endpoint/", "endpoint/m", "endpoint/@http://h", "endpoint/m@http://", "endpoint/m@http://h:port"]
)
def test_an_id_without_a_server_is_a_sentence(model_id):
    with pytest.raises(ConfigError, match="http://"):
        EndpointModel(ModelSpec(model_id, "x"))


@pytest.mark.parametrize("key", ["messages", "stream", "model"])
def test_parameters_that_are_contextrots_own_are_refused(key):
    with pytest.raises(ConfigError, match=key):
        EndpointModel(ModelSpec("endpoint/m@http://h/v1", "x", params={key: True}))


def test_a_password_in_the_url_is_not_shown():
    assert "hunter2" not in repr(EndpointModel(ModelSpec("endpoint/m@http://u:hunter2@h/v1", "x")))


def test_the_body_is_json_whatever_the_model_is_called():
    model = EndpointModel(ModelSpec('endpoint/a"b\\c@http://h/v1', "x"))
    assert orjson.loads(model.body(CALL))["model"] == 'a"b\\c'


async def test_half_a_character_in_an_answer_is_no_fault_of_the_server(server, model):
    """JSON can escape half of a surrogate pair; a strict reader calls the whole answer no JSON."""
    body = orjson.dumps(completion("cut CUT off")).replace(b"CUT", rb"\ud83d")
    server.plays(answer(200, body))
    reply = await model.complete(CALL)
    assert (reply.content, reply.usage.prompt_tokens) == ("cut \ufffd off", 11)
    assert orjson.loads(reply.to_message().wire)["content"] == "cut \ufffd off"
    server.plays(answer(200, body[:-4]))
    with pytest.raises(ServerError, match="cut off or not JSON"):
        await model.complete(CALL)


async def test_a_number_that_json_has_not_is_not_said(server, model):
    body = orjson.dumps(completion("fine")).replace(b'"prompt_tokens":11', b'"prompt_tokens":NaN')
    server.plays(answer(200, body))
    reply = await model.complete(CALL)
    assert (reply.content, reply.usage.prompt_tokens) == ("fine", None)
