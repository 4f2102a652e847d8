"""Embedding models: from texts to unit vectors, each text embedded once a session, every call reported.

`create_embedder` gives one session its embedder; what is heavy (weights, a tokenizer) is loaded at the first text and
shared by all sessions of the process. Nothing here retries: a `ModelError` goes to whoever asked.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, overload
from weakref import WeakKeyDictionary

from contextrot.characters import whole
from contextrot.errors import ConfigError, ServerError
from contextrot.models.base import ModelKind, ModelSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]

#: Texts sent in one call at most: Cohere takes 96, Gemini 100, OpenAI 2,048.
BATCH = 96
#: Vectors are kept in steps of 1/2048. Products and sums of such numbers are exact in 32-bit floats while the vectors
#: are of length one, so that a similarity is the same bits on every machine, in whatever order it is summed; what the
#: rounding changes is below 0.001.
_STEPS = 2048
#: Stands for a text without a word: providers refuse it, and its mean vector would be 0 divided by 0.
_BLANK = "."


KINDS = (
    ModelKind("wordllama", "the embedded default: 256 numbers a text, offline, in this process", "wordllama"),
    ModelKind(
        "sentence-transformers/NAME",
        "a Sentence Transformers model, by name or folder (extra: sentence-transformers)",
        "sentence-transformers/all-MiniLM-L6-v2",
    ),
    ModelKind("provider/model", "any embedding model litellm reaches", "openai/text-embedding-3-small"),
)


@dataclass(frozen=True, slots=True)
class EmbeddingCall:
    """One call of an embedding model, for whoever counts. tokens, cost (USD): None when not known. latency: seconds."""

    model: str
    texts: int
    tokens: int | None
    cost: float | None
    latency: float


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a backend gives back: one row a text, of any length above 0, and the tokens that took."""

    vectors: Floats
    tokens: int | None


class Backend(Protocol):
    """An embedding model. `embed` raises a `ModelError` subclass and nothing else; it never retries."""

    #: USD per token, None when not known
    price: float | None

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Vectors for at most `BATCH` texts, none of them blank."""
        ...


class Corpus(Sequence[str]):
    """An append-only list of texts. An embedder remembers how far it has come with it (and no longer than it lives)."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._texts = list(texts)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._texts[index]

    def __len__(self) -> int:
        return len(self._texts)

    def append(self, text: str) -> None:
        """Add a text."""
        self._texts.append(text)


class SessionEmbedder:
    """An embedding model with the vectors of one session, by text: a strategy's `Request.embedder`.

    Memory: four bytes a number, 1 KB a text for the embedded default. `on_call` hears of every call of the model.
    """

    def __init__(self, name: str, backend: Backend, on_call: Callable[[EmbeddingCall], None] | None = None) -> None:
        self.name = name
        self.backend = backend
        self._on_call = on_call
        # By the text itself: Python keeps a string's hash, while a digest would be computed anew at every look-up.
        self._row: dict[str, int] = {}
        self._matrix: Floats | None = None
        self._rows_of: WeakKeyDictionary[Corpus, Rows] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"SessionEmbedder({self.name!r}, {len(self._row)} texts)"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 (to 0.001) a text, in order. Raises `ModelError`."""
        rows = await self._rows(texts)
        return [] if self._matrix is None else self._matrix[rows].tolist()

    async def similarities(self, queries: Sequence[str], texts: Sequence[str]) -> Floats:
        """The cosine of each text to the query nearest to it. Raises `ModelError`.

        New texts are embedded, all others cost one product each: about 0.2 ms for 4,000 of the embedded default. A
        `Corpus` is looked up only as far as it has grown since the last time.
        """
        import numpy as np

        asked = await self._rows(queries)
        rows = await self._rows(texts)
        if self._matrix is None or not len(asked) or not len(rows):
            return np.zeros(len(texts), np.float32)
        # All rows at once: picking those of the texts first would copy the matrix, which costs more than the products.
        # And `vecdot`, for `@` shares so small a product among threads that wait for each other on a busy machine.
        every = self._matrix[: len(self._row)]
        best: Floats = np.vecdot(every, every[asked[0]])
        for row in asked[1:]:
            np.maximum(best, np.vecdot(every, every[row]), out=best)
        return best[rows]

    async def _rows(self, texts: Sequence[str]) -> Rows:
        """The matrix rows of these texts; what is new is embedded first."""
        import numpy as np

        known = self._rows_of.get(texts) if isinstance(texts, Corpus) else None
        start = 0 if known is None else len(known)
        fresh = [text if text.strip() else _BLANK for text in texts[start:]]
        await self._embed_new(fresh)
        rows: Rows = np.fromiter((self._row[text] for text in fresh), np.int64, len(fresh))
        if known is not None:
            rows = np.concatenate((known, rows)) if fresh else known
        if isinstance(texts, Corpus):
            self._rows_of[texts] = rows
        return rows

    async def _embed_new(self, texts: Sequence[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._row]
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            before = time.perf_counter()
            got = await self.backend.embed([whole(text) for text in batch])
            latency = time.perf_counter() - before
            if self._on_call is not None:
                price = self.backend.price
                cost = None if price is None or got.tokens is None else price * got.tokens
                self._on_call(EmbeddingCall(self.name, len(batch), got.tokens, cost, latency))
            self._add(batch, got.vectors)

    def _add(self, texts: Sequence[str], vectors: Floats) -> None:
        import numpy as np

        width = self._matrix.shape[1] if self._matrix is not None else None
        usable = vectors.ndim == 2 and len(vectors) == len(texts) and width in (None, vectors.shape[1])
        if not usable or not np.isfinite(vectors).all():
            raise ServerError(f"{self.name} sent vectors that cannot be used: {vectors.shape} for {len(texts)} texts")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        lengths[lengths == 0] = 1.0  # a vector of zeros is like nothing, itself included
        used = len(self._row)
        if self._matrix is None or used + len(texts) > len(self._matrix):
            grown = np.empty((max(64, 2 * used, used + len(texts)), vectors.shape[1]), np.float32)
            if self._matrix is not None:
                grown[:used] = self._matrix[:used]
            self._matrix = grown
        self._matrix[used : used + len(texts)] = np.round(vectors / lengths * _STEPS) / _STEPS
        self._row.update((text, used + number) for number, text in enumerate(texts))


def describe() -> tuple[ModelKind, ...]:
    """The ways of naming an embedding model: form, what it is, an example."""
    return KINDS


def create_embedder(
    model: str | ModelSpec = "wordllama", *, on_call: Callable[[EmbeddingCall], None] | None = None
) -> SessionEmbedder:
    """A session's embedder, by name or with its own address, key and parameters. Connects to nothing, loads nothing.

    Raises `ConfigError` for a name that cannot work or an extra that is not installed.
    """
    spec = model if isinstance(model, ModelSpec) else ModelSpec(model, model)
    return SessionEmbedder(spec.id, _backend(spec), on_call)


def _backend(spec: ModelSpec) -> Backend:
    from contextrot.models import embedding_backends as backends

    prefix, slash, rest = spec.id.partition("/")
    if spec.id == "wordllama":
        return backends.WordLlamaBackend()
    if prefix == "sentence-transformers" and rest:
        if importlib.util.find_spec("sentence_transformers") is None:
            install = "pip install 'contextrot-bench[sentence-transformers]'"
            raise ConfigError(f"{spec.id} needs the extra sentence-transformers: {install}")
        return backends.SentenceTransformersBackend(rest)
    if not slash or not rest or prefix in ("local", "sim", "endpoint", "wordllama", "sentence-transformers"):
        raise ConfigError(f"{spec.id!r} is not an embedding model; write {', '.join(_forms())}{_hint(spec.id)}")
    return backends.ProviderBackend(spec)


def _forms() -> Iterator[str]:
    for kind in KINDS:
        yield kind.form if kind.form == kind.example else f"{kind.form} (such as {kind.example})"


def _hint(name: str) -> str:
    """What someone meant who wrote a chat server's address or a model's bare name."""
    if name.startswith("endpoint/"):
        bare, _, url = name.removeprefix("endpoint/").partition("@")
        return f"; for a server of your own: the model openai/{bare} with base_url {url or 'http://host:port/v1'}"
    for kind in KINDS[1:]:
        if name and name == kind.example.rpartition("/")[2]:
            return f"; did you mean {kind.example!r}?"
    return ""
