"""The embedding models themselves: wordllama in this process, Sentence Transformers, and any provider over litellm.

Each library is imported at the first text, because that costs from half a second (wordllama) to many (torch).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from contextrot.errors import ConfigError, ModelError, ModelTimeoutError, ServerError
from contextrot.models.base import ModelSpec
from contextrot.models.embedders import Embedded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Seconds an embedding call may take: it computes nothing that takes longer.
TIMEOUT = 60.0


class WordLlamaBackend:
    """WordLlama (MIT, with its weights): 256-dimensional static word vectors, averaged; half a millisecond a passage.

    It never waits, so that it can be used without an event loop. Its weights (16 MB) come with its wheel.
    """

    price: float | None = 0.0

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The mean vector of each text's tokens."""
        import numpy as np

        model = _wordllama()
        # wordllama's own `embed` pads a batch to its longest text (a gigabyte for one long log among 64 messages), and
        # does not say how many tokens there were.
        vocabulary = model.embedding
        vectors = np.empty((len(texts), vocabulary.shape[1]), np.float32)
        tokens = 0
        for row, encoding in enumerate(model.tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            ids = np.minimum(encoding.ids, len(vocabulary) - 1)
            vectors[row] = vocabulary[ids].mean(axis=0)
            tokens += len(ids)
        return Embedded(vectors, tokens)


@cache
def _wordllama() -> Any:
    """The model, loaded once in a process from the files of its own package; nothing is downloaded."""
    with _root_logger_untouched():
        import wordllama

    # Version 0.4.0.post1 looks for its tokenizer in the folder `tokenizer` of its package, but ships `tokenizers`;
    # as a cache folder the package is right.
    folder = Path(wordllama.__file__).parent
    try:
        model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    except FileNotFoundError as error:
        raise ModelError(
            f"the installed wordllama has no weights in its package ({error}); "
            "install it again: pip install --force-reinstall 'wordllama>=0.4.0.post1'"
        ) from error
    model.tokenizer.no_padding()
    return model


@contextmanager
def _root_logger_untouched() -> Iterator[None]:
    """wordllama configures the root logger when it is imported; that is the application's affair, not a library's."""
    root = logging.getLogger()
    guard = logging.NullHandler()
    root.addHandler(guard)
    try:
        yield
    finally:
        root.removeHandler(guard)


class SentenceTransformersBackend:
    """A model of the Sentence Transformers library: a name on the Hugging Face hub, or a folder on this machine.

    A bare name is one of the library's own (``all-MiniLM-L6-v2``: 384 numbers a text, of which it reads the first 256
    tokens). A name that is not on this machine yet is downloaded at the first text.
    """

    price: float | None = 0.0

    def __init__(self, name: str) -> None:
        folder = Path(name).expanduser()
        if folder.is_dir():
            self.path = str(folder)
        elif folder.is_absolute() or name.startswith((".", "~")):
            raise ConfigError(f"sentence-transformers/{name}: there is no folder {folder}")
        else:
            self.path = name if "/" in name else f"sentence-transformers/{name}"

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Encoded on a thread: a batch takes tens of milliseconds, in which other sessions go on."""
        return await asyncio.to_thread(self._encode, list(texts))

    def _encode(self, texts: list[str]) -> Embedded:
        try:
            model = _sentence_transformer(self.path)
            vectors = model.encode(texts, convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False)
            cut = {"truncation": True, "max_length": model.max_seq_length} if model.max_seq_length else {}
            ids = model.tokenizer(texts, **cut)["input_ids"]
        except Exception as error:
            raise ModelError(f"the embedding model {self.path} failed ({type(error).__name__}): {error}") from error
        return Embedded(vectors, sum(map(len, ids)))


@cache
def _sentence_transformer(path: str) -> Any:
    """The model, loaded once in a process."""
    import sentence_transformers

    return sentence_transformers.SentenceTransformer(path)


class ProviderBackend:
    """An embedding model behind litellm, asked over the same key, address and error sentences as its chat models."""

    def __init__(self, spec: ModelSpec) -> None:
        from contextrot.models.providers import ProviderModel, known_model

        self._model = ProviderModel(spec)
        self._litellm: ModuleType | None = None
        per_token = known_model(spec.id).get("input_cost_per_token")
        listed = float(per_token) if isinstance(per_token, int | float) else None
        self.price: float | None = spec.price.prompt / 1_000_000 if spec.price is not None else listed

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Ask once. Raises a `ModelError`; never retries."""
        spec = self._model.spec
        litellm = self._litellm
        if litellm is None:
            litellm = self._litellm = await self._prepare()
        try:
            async with asyncio.timeout(TIMEOUT):
                response = await litellm.aembedding(input=list(texts), **self._settings())
        except TimeoutError as error:
            raise ModelTimeoutError(f"{spec.id} gave no answer within {TIMEOUT:g} s") from error
        except Exception as error:
            raise self._model.failure(litellm, error, TIMEOUT) from error
        usage = getattr(response, "usage", None)
        return Embedded(self._vectors(response), getattr(usage, "prompt_tokens", None) or None)

    async def _prepare(self) -> ModuleType:
        from contextrot.errors import MissingKeyError
        from contextrot.models.providers import import_litellm, missing_key, unknown_provider

        spec = self._model.spec
        sentence = missing_key(spec)
        if sentence:
            raise MissingKeyError(sentence)
        litellm = await asyncio.to_thread(import_litellm)
        try:
            litellm.get_llm_provider(model=spec.id, api_base=spec.base_url)
        except Exception as error:
            raise ModelError(unknown_provider(self._model.provider, litellm)) from error
        return litellm

    def _settings(self) -> dict[str, Any]:
        spec = self._model.spec
        settings: dict[str, Any] = {
            "model": spec.id,
            "timeout": TIMEOUT,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            **spec.params,
        }
        if spec.base_url:
            settings["api_base"] = spec.base_url
        key = os.environ.get(spec.api_key_env or "", "").strip()
        if key:
            settings["api_key"] = key
        elif spec.base_url and "api_key" not in settings and self._model.secret() is None:
            settings["api_key"] = "not-needed"  # a server of one's own; the client library insists on some key
        return settings

    def _vectors(self, response: Any) -> NDArray[np.float32]:
        """The vectors in the order of the texts, which a server may give in another and number."""
        import numpy as np

        rows = [row if isinstance(row, dict) else vars(row) for row in getattr(response, "data", None) or ()]
        rows.sort(key=lambda row: row.get("index") or 0)
        try:
            return np.array([row["embedding"] for row in rows], np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise ServerError(f"{self._model.spec.id} sent no vectors: {error}") from error
