"""Engine settings: what is refused, what it is called, and that llama.cpp really does what each of them says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any
from urllib.request import Request, urlopen

import pytest

from contextrot.config import BenchConfig, ModelEntry, validated
from contextrot.errors import ConfigError, ContextOverflowError
from contextrot.messages import Message, Reply, assistant, system, user
from contextrot.models.base import Call, ModelSpec
from contextrot.models.engine import Engine, engine_label, read_engine, room_for_reply
from contextrot.models.local import LocalModel

real = pytest.mark.real
EMBEDDED = "local/smollm2-135m"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"kvcache": "q4_0"}, "engine has no 'kvcache' (did you mean 'kv_cache'?)"),
        ({"kv_cache": "q4"}, "engine.kv_cache must be one of f16, q8_0, q4_0, not 'q4' (did you mean 'q4_0'?)"),
        ({"kv_cache": 8}, "engine.kv_cache must be one of"),
        ({"kv_cache": ["q4_0"]}, "engine.kv_cache must be one of"),
        ({"flash_attention": "yes"}, "engine.flash_attention must be one of auto, on, off"),
        ({"context_shift": 1}, "engine.context_shift must be true or false, not 1"),
        ({"prefix_reuse": None}, "engine.prefix_reuse must be true or false, not None"),
        ({"kv_cache": "q8_0", "flash_attention": "off"}, "engine.kv_cache q8_0 needs flash attention"),
        ({"threads": 0}, "whole number from 1 to 512"),
    ],
)
def test_settings_that_cannot_work_are_refused(raw: dict[str, Any], said: str) -> None:
    for build in (
        lambda: read_engine(raw, EMBEDDED),
        lambda: LocalModel(ModelSpec(EMBEDDED, "m", engine=raw)),
        lambda: validated({"models": [{"id": EMBEDDED, "engine": raw}]}),
    ):
        with pytest.raises(ConfigError) as error:
            build()
        assert said in str(error.value)


def test_every_fault_is_named_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        read_engine({"kv_cache": "q4", "thread": 2}, "local/m")
    assert [line.partition(": ")[0] for line in str(error.value).splitlines()] == ["local/m", "local/m"]


def test_nothing_given_is_llama_cpps_own_way() -> None:
    assert read_engine({}) == Engine(None, "f16", "auto", context_shift=False, prefix_reuse=True)


def test_both_readings_of_on_and_off_in_yaml_are_understood() -> None:
    assert read_engine({"flash_attention": True}) == read_engine({"flash_attention": "on"})
    assert read_engine({"prefix_reuse": "off"}) == read_engine({"prefix_reuse": False})
    assert engine_label({"prefix_reuse": "off", "kv_cache": "q4_0"}) == "kv_cache=q4_0, prefix_reuse=false"


def test_two_engines_of_one_model_are_two_models_of_the_matrix() -> None:
    entries: list[Any] = [EMBEDDED, {"id": EMBEDDED, "engine": {"kv_cache": "q4_0"}}]
    labels = [entry.to_spec().label for entry in BenchConfig(models=entries).models]
    assert labels == [EMBEDDED, f"{EMBEDDED} (kv_cache=q4_0)"]
    assert ModelEntry(id=EMBEDDED, label="mine", engine={"threads": 1}).to_spec().label == "mine"
    with pytest.raises(ConfigError, match="two models are called"):
        validated({"models": [entries[1], entries[1]]})


def test_only_local_models_have_an_engine() -> None:
    with pytest.raises(ConfigError, match="only local/ models take them"):
        validated({"models": [{"id": "endpoint/m@http://h/v1", "engine": {"kv_cache": "q4_0"}}]})


def test_a_shifting_engine_leaves_less_of_the_window_free() -> None:
    assert room_for_reply({}, 2048, 512) == 512
    assert room_for_reply({"context_shift": False}, 2048, 512) == 512
    assert room_for_reply({"context_shift": True}, 2048, 512) == 256
    assert room_for_reply({"context_shift": True}, 2048, 100) == 100


SYSTEM = system("You are a friendly office assistant. You answer in one short sentence.")


def told(turns: int = 3) -> list[Message]:
    """A conversation in which a fact was stated and some turns went by, ending in the question for it."""
    log = [SYSTEM, user("For later: our project code is BLUE-42."), assistant("Noted, the project code is BLUE-42.")]
    for turn in range(turns):
        log += [user(f"The printer on floor {turn} is out of paper."), assistant("I will let the office know.")]
    return [*log, user("What is our project code?")]


async def replies(engine: dict[str, Any], calls: Sequence[Call], **fields: Any) -> list[Reply]:
    model = LocalModel(ModelSpec(EMBEDDED, "m", **{"window": 1024, "engine": engine, **fields}))
    try:
        return [await model.complete(call) for call in calls]
    finally:
        await model.close()


@real
async def test_prefix_reuse_off_computes_every_prompt_from_its_first_token() -> None:
    calls = [Call(told(3), max_tokens=16), Call(told(3), max_tokens=16), Call(told(4), max_tokens=16)]
    on = [reply.usage for reply in await replies({}, calls)]
    off = [reply.usage for reply in await replies({"prefix_reuse": False}, calls)]
    assert [usage.cached_tokens or 0 for usage in off] == [0, 0, 0]
    assert [(usage.cached_tokens or 0) > 0.7 * (usage.prompt_tokens or 0) for usage in on] == [False, True, True]
    assert [usage.prompt_tokens for usage in on] == [usage.prompt_tokens for usage in off]


@real
@pytest.mark.parametrize(
    "engine", [{"kv_cache": "q8_0"}, {"kv_cache": "q4_0"}, {"flash_attention": "on"}, {"flash_attention": "off"}]
)
async def test_every_engine_recalls_a_fact_at_short_range(engine: dict[str, Any]) -> None:
    [reply] = await replies(engine, [Call(told(), max_tokens=16)])
    assert "BLUE-42" in reply.text


async def certainties(engine: dict[str, Any]) -> list[float]:
    """Log-probabilities of the first tokens of a reply: the finest view of what an engine computes."""
    model = LocalModel(ModelSpec(EMBEDDED, "m", window=512, engine=engine))
    try:
        await model.prepare()
        body = {"messages": [m.to_dict() for m in told()], "temperature": 0, "max_tokens": 4, "logprobs": True}
        address = model._server.listening_address + "/v1/chat/completions"
        with urlopen(Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})) as answer:
            tokens = json.load(answer)["choices"][0]["logprobs"]["content"]
        return [token["logprob"] for token in tokens]
    finally:
        await model.close()


@real
async def test_caches_and_attention_of_each_kind_compute_in_their_own_way() -> None:
    f16 = await certainties({})
    assert f16 == await certainties({"kv_cache": "f16", "flash_attention": "on"})
    others = [await certainties(e) for e in ({"kv_cache": "q8_0"}, {"kv_cache": "q4_0"}, {"flash_attention": "off"})]
    assert all(other != f16 for other in others)


MEASURE = """
import asyncio, json, sys
from contextrot.models.base import ModelSpec
from contextrot.models.local import LocalModel

def used():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) / 1024

async def main():
    model = LocalModel(ModelSpec("local/smollm2-135m", "m", window=8192, engine=json.loads(sys.argv[1])))
    import xllamacpp
    before = used()
    await model.prepare()
    print(used() - before)

asyncio.run(main())
"""


@real
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_quantised_cache_takes_less_memory() -> None:
    def loaded(kind: str) -> float:
        command = [sys.executable, "-c", MEASURE, json.dumps({"kv_cache": kind})]
        return float(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)

    # 189, 100 and 53 MB of keys and values; the rest is the same
    f16, q8, q4 = loaded("f16"), loaded("q8_0"), loaded("q4_0")
    assert f16 - q8 > 60
    assert q8 - q4 > 25


@real
async def test_context_shift_lets_a_reply_outgrow_the_window_but_not_a_prompt() -> None:
    endless = Call([user("Count from one to one thousand in words.")], max_tokens=300)
    fields = {"window": 256, "params": {"ignore_eos": True}}
    [cut] = await replies({}, [endless], **fields)
    [whole] = await replies({"context_shift": True}, [endless], **fields)
    assert (cut.usage.prompt_tokens or 0) + (cut.usage.completion_tokens or 0) <= 256
    assert whole.usage.completion_tokens == 300
    for engine in ({}, {"context_shift": True}):
        with pytest.raises(ContextOverflowError):
            await replies(engine, [Call(told(30), max_tokens=4)], **fields)
