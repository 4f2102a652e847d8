"""The direct client against llama.cpp's own HTTP server, with the embedded model behind it."""

import gc
from pathlib import Path

import pytest

from contextrot.errors import ContextOverflowError
from contextrot.messages import assistant, system, user
from contextrot.models.base import Call, ModelSpec
from contextrot.models.endpoint import EndpointModel
from contextrot.models.weights import ensure

pytestmark = pytest.mark.real
WINDOW = 512


@pytest.fixture(scope="module")
def address():
    import xllamacpp

    weights = ensure("smollm2-135m")
    params = xllamacpp.CommonParams()
    params.model.path = str(Path(weights))
    params.n_ctx = WINDOW
    params.n_parallel = 1
    params.cpuparams.n_threads = 2
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server
    gc.collect()


@pytest.fixture
async def model(address):
    model = EndpointModel(ModelSpec(f"endpoint/smollm2-135m@{address}/v1", "smollm2"))
    yield model
    await model.close()


async def test_it_answers_counts_its_tokens_and_says_what_came_from_its_cache(model):
    opening = (system("You are brief."), user("Say hello."))
    first = await model.complete(Call(opening, max_tokens=12, seed=1))
    assert first.text
    assert first.finish_reason in ("stop", "length")
    assert first.usage.prompt_tokens > 10
    assert 0 < first.usage.completion_tokens <= 12
    more = (*opening, assistant(first.text), user("And once more."))
    second = await model.complete(Call(more, max_tokens=4, seed=1))
    assert second.usage.prompt_tokens > first.usage.prompt_tokens
    assert (second.usage.cached_tokens or 0) > 0


async def test_the_same_call_gives_the_same_reply(model):
    call = Call((user("Name a colour."),), max_tokens=8, seed=3)
    assert (await model.complete(call)).content == (await model.complete(call)).content


async def test_its_window_is_asked_for(model):
    assert await model.discover() == WINDOW


async def test_a_prompt_over_its_window_is_an_overflow(model):
    with pytest.raises(ContextOverflowError, match="window"):
        await model.complete(Call((user("word " * 900),), max_tokens=4))
