"""A session's embedding model: asked when a strategy first wants it, and recorded where asking costs money.

What runs in this process is computed anew when a run is resumed. A provider's vectors stand in the session's file, so
that nothing is paid for twice and a replay finds the very same neighbours.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from contextrot.bench.budget import Meter
from contextrot.bench.gate import Throttle
from contextrot.bench.store import Record, SessionFile
from contextrot.errors import ConfigError, MissingKeyError, ModelError
from contextrot.models.base import ModelSpec

if TYPE_CHECKING:
    from contextrot.models.embedders import Backend, Embedded, SessionEmbedder

#: Embedding models that run in this process: they cost nothing and give the same vectors each time.
_IN_PROCESS = ("wordllama", "sentence-transformers/")


def missing_key(spec: ModelSpec) -> str | None:
    """A sentence when the embedding model cannot be asked for want of an API key, else None. May import litellm."""
    if spec.id.startswith(_IN_PROCESS):
        return None
    from contextrot.models import missing_key as of_provider

    return of_provider(spec)


class RecordedEmbedder:
    """`Request.embedder` of one session. Each text is embedded once; nothing is imported before the first.

    `turn` and `branch` say where in the session it is asked; the session keeps them up to date.
    """

    def __init__(self, spec: ModelSpec, file: SessionFile, throttle: Throttle, meter: Meter | None = None) -> None:
        self.turn = 0
        self.branch: str | None = None
        self._spec, self._file, self._throttle, self._meter = spec, file, throttle, meter
        self._made: SessionEmbedder | None = None

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector of unit length a text. Raises `ModelError`."""
        return await self._embedder().embed(texts)

    async def similarities(self, queries: Sequence[str], texts: Sequence[str]) -> Any:
        """The cosine of each text to the query nearest to it, as `SessionEmbedder` computes it."""
        return await self._embedder().similarities(queries, texts)

    def _embedder(self) -> SessionEmbedder:
        if self._made is None:
            from contextrot.models.embedders import create_embedder

            self._made = create_embedder(self._spec)
            if not self._spec.id.startswith(_IN_PROCESS):
                self._made.backend = _Recorded(self, self._made.backend)
        return self._made


class _Recorded:
    """A backend whose answers are records of the session: read back while a run is resumed, asked for otherwise."""

    def __init__(self, session: RecordedEmbedder, backend: Backend) -> None:
        self.price = backend.price
        self._session, self._backend, self._calls = session, backend, 0

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors of these texts. Raises the `ModelError` that ended the call, also when that is on record."""
        session = self._session
        digest = blake2b("\x1f".join(texts).encode("utf-8", "replace"), digest_size=12).hexdigest()
        known = session._file.recorded_embed(digest)
        record = await self._ask(texts) if known is None else known
        number, self._calls = self._calls, self._calls + 1
        place = {"t": "embed", "n": number, "turn": session.turn, "branch": session.branch, "hash": digest}
        session._file.emit(place | record)
        if record["error"] is not None:
            raise ModelError(record["error"])
        return _revived(record, len(texts))

    async def _attempt(self, texts: Sequence[str]) -> Embedded:
        """One attempt, within the caps of the run."""
        meter = self._session._meter
        if meter is None or not meter.budget.capped:
            return await self._backend.embed(texts)
        return await meter.embed(list(texts), lambda: self._backend.embed(texts), lambda got: got.tokens)

    async def _ask(self, texts: Sequence[str]) -> Record:
        """One call, as its record keeps it."""
        import numpy as np

        session = self._session
        record: Record = {"model": session._spec.id, "texts": len(texts), "width": None, "vectors": None}
        record |= {"tokens": None, "cost": None}
        before = time.perf_counter()
        error = None
        try:
            got, attempts, waited = await session._throttle.through(lambda: self._attempt(texts))
        except MissingKeyError as missing:
            raise ConfigError(str(missing)) from missing
        except ModelError as failed:
            error, attempts, waited = session._file.redact.text(str(failed)), failed.attempts, 0.0
        else:
            vectors = np.ascontiguousarray(got.vectors, "<f4")
            record["width"] = vectors.shape[1] if vectors.ndim == 2 else 0
            record["vectors"] = base64.b64encode(vectors.tobytes()).decode()
            record["tokens"] = got.tokens
            record["cost"] = None if self.price is None or got.tokens is None else self.price * got.tokens
        latency = time.perf_counter() - before - waited
        return record | {"latency": latency, "attempts": attempts, "error": error}


def _revived(record: Record, texts: int) -> Embedded:
    """The vectors of a record, to the bit."""
    import numpy as np

    from contextrot.models.embedders import Embedded

    numbers = np.frombuffer(base64.b64decode(record["vectors"]), "<f4").astype(np.float32)
    width = record["width"]
    shape = (len(numbers) // width, width) if width else (0, texts)
    return Embedded(numbers.reshape(shape), record["tokens"])
