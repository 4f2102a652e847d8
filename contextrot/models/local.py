"""`local/NAME` and `local/PATH.gguf`: real inference in this process, by llama.cpp's own server (package `xllamacpp`).

The server listens on a free port of the loopback address and is asked through the same direct client as any endpoint,
so that a call can time out or be cancelled and the server stops working on it.

One slot works at a time; llama.cpp keeps the states of other conversations in memory (`cache_ram_mib`) and takes back
the one that shares the longest prefix with a prompt. Eight sessions in turn, 16 turns each, on SmolLM2-135M: 7.7 k of
59 k prompt tokens computed, as with a slot for each of them, with a sixth of the memory (0.47 against 2.9 GB at a
window of 8,192); and since nothing is computed side by side, a session's replies do not depend on its neighbours.

The embedded model `local/smollm2-135m` is SmolLM2-135M-Instruct, Q4_1: trained context 8,192 tokens, sha256
b179c952…10db53 (`weights.py`); on two cores it loads in 0.3 s, reads 450 and writes 150 tokens a second.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from contextrot.errors import ConfigError, ContextOverflowError, ModelError
from contextrot.messages import Message, Reply, Tool
from contextrot.models import weights
from contextrot.models.base import Call, ModelSpec, Price
from contextrot.models.endpoint import EndpointModel
from contextrot.models.engine import engine_label, read_engine
from contextrot.models.gguf import read_head

#: Largest window taken without being asked for, in tokens: llama.cpp allocates the memory of the whole window at once.
LARGEST_DEFAULT_WINDOW = 32_768


class LocalModel:
    """A GGUF model in this process. `window` is known after `prepare`; weights are loaded with the first call.

    `parallel` is 1: two calls at once share the same cores and come out no sooner. `spec.engine` holds the settings of
    `engine.py`; two specs of one file that differ in them are two models.
    """

    simulated = False
    parallel: int | None = 1

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.window: int | None = spec.window
        #: nobody bills for tokens computed here
        self.price: Price | None = spec.price or Price(0.0, 0.0)
        self.count_tokens: Callable[[str], int] | None = self._count_tokens
        self._engine = read_engine(spec.engine, spec.id)
        self._name = spec.id.removeprefix("local/")
        if not self._name:
            raise ConfigError("local/ names no model; write local/smollm2-135m or local/PATH.gguf")
        if not _is_file(self._name):
            weights.find(self._name)
        self._path: Path | None = None
        self._server: Any = None
        self._client: _Loopback | None = None
        self._counter: HTTPConnection | None = None
        self._loading = asyncio.Lock()

    def __repr__(self) -> str:
        return f"LocalModel({self._name!r})"

    async def prepare(self, *, fetch: bool = True) -> None:
        """Find the file and its window and load it; `fetch=False` only looks at what is here.

        Raises `ConfigError` for a file or window that cannot work, `ModelError` when weights cannot be had or loaded.
        """
        self._find(await asyncio.to_thread(self._file, fetch))
        if fetch:
            await self._load()

    async def complete(self, call: Call) -> Reply:
        """Ask once. Raises a `ModelError`; never retries."""
        client = self._client or await self._load()
        reply = await client.complete(call)
        prompt = reply.usage.prompt_tokens or 0
        if self.window and prompt > self.window:  # llama.cpp rounds a window up to the next 256
            raise ContextOverflowError(
                f"the prompt has {prompt:,} tokens, the window of {self.spec.id} {self.window:,}"
            )
        return replace(reply, model=self.spec.id)

    async def close(self) -> None:
        """Stop the server and free the weights. A call that is under way is given up."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        if self._counter is not None:
            self._counter.close()
            self._counter = None
        if self._server is not None:
            holder = [self._server]
            self._server = None
            await asyncio.to_thread(holder.clear)

    def _file(self, fetch: bool) -> Path:
        if _is_file(self._name):
            return Path(self._name).expanduser()
        if fetch:
            return weights.ensure(self._name)
        here = weights.installed().get(self._name)
        if here is None:
            raise ModelError(f"the weights of {self._name} are not here; run `contextrot models pull {self._name}`")
        return here

    def _find(self, path: Path) -> None:
        """Take the window from the file: as trained, or a smaller one the user set."""
        trained = read_head(path).context_length
        wanted = self.spec.window
        if wanted is not None and wanted > trained:
            raise ConfigError(f"{self.spec.id} was trained for {trained:,} tokens; a window of {wanted:,} is too large")
        self.window = wanted or min(trained, LARGEST_DEFAULT_WINDOW)
        self._path = path

    async def _load(self) -> _Loopback:
        async with self._loading:
            if self._client is None:
                if self._path is None:
                    self._find(await asyncio.to_thread(self._file, True))
                await asyncio.to_thread(self._start)
                reuse = self._engine.prefix_reuse
                self._client = _Loopback(self.spec, self._server.listening_address, reuse)
            return self._client

    def _start(self) -> None:
        """Load the file into a server. llama.cpp does not say why it failed, so the sentence names what it can be."""
        if self._server is not None:
            return
        # Read when the OpenMP library is loaded. By default its threads wait busily, and beside any other busy process
        # two of them write 1–3 tokens a second where passive ones write 50–70.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = self.window
        params.n_parallel = 1
        self._engine.configure(params)
        # Never more threads than there are CPUs for, as each step waits for the slowest of them.
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._engine.threads or min(_cpus(), 16)
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.ui = False
        params.verbosity = -1  # below errors: what goes wrong is told by our own sentences
        try:
            with _signal_handlers_kept():
                self._server = xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelError(
                f"llama.cpp cannot load {self._path}: the file is cut off or corrupt, of an architecture this version "
                f"of xllamacpp does not know, or there is not enough memory for a window of {self.window:,} tokens"
                + (f" (or it cannot do {engine_label(self.spec.engine)})" if self.spec.engine else "")
            ) from error

    def count_prompt(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> int:
        """Tokens of a whole prompt, with what the model's own chat template puts around and before the messages."""
        body: dict[str, Any] = {"messages": [message.to_dict() for message in messages]}
        if tools:
            body["tools"] = [tool.to_dict() for tool in tools]
        prompt = self._post("/apply-template", body)["prompt"]
        return len(self._post("/tokenize", {"content": prompt, "add_special": True})["tokens"])

    def _count_tokens(self, text: str) -> int:
        """Tokens of a text by the model's own tokenizer. Loads the model when that has not happened yet."""
        return len(self._post("/tokenize", {"content": text, "add_special": False})["tokens"])

    def _post(self, path: str, value: Mapping[str, Any]) -> Any:
        """Ask the server something that takes no inference; it is started when it is not running yet."""
        if self._server is None:
            if self._path is None:
                self._find(self._file(True))
            self._start()
        body = orjson.dumps(value)
        for _attempt in (1, 2):  # a connection that was idle may have been closed by the server
            if self._counter is None:
                address = urlsplit(self._server.listening_address)
                self._counter = HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=30)
            try:
                self._counter.request("POST", path, body, {"Content-Type": "application/json"})
                response = self._counter.getresponse()
                answer = orjson.loads(response.read())
                if response.status == 200:
                    return answer
            except (OSError, HTTPException, ValueError):
                self._counter.close()
                self._counter = None
        raise ModelError(f"the tokenizer of {self.spec.id} does not answer")


class _Loopback(EndpointModel):
    """The direct client, asking the server in this process; its sentences name the model, not a port."""

    def __init__(self, spec: ModelSpec, address: str, prefix_reuse: bool) -> None:
        params = {"cache_prompt": prefix_reuse, **spec.params}
        super().__init__(replace(spec, id=f"endpoint/local@{address}/v1", params=params))
        self._where = "llama.cpp in this process"
        self.name = spec.id


def _is_file(name: str) -> bool:
    return name.lower().endswith(".gguf") or Path(name).expanduser().is_file()


def _cpus() -> int:
    """CPUs this process may use: of the machine, by affinity, by the quota of a container (cgroup v2)."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        count = min(count, max(1, round(int(quota) / int(period))))
    return count


@contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """Undo what the server does at start: it takes SIGINT and SIGTERM for itself, and Ctrl-C would no longer be ours.

    Kept at the level of the C library, which works from any thread; `signal.signal` would not. POSIX only: there is
    no `sigaction` elsewhere.
    """
    sigaction = getattr(ctypes.CDLL(None), "sigaction", None) if os.name == "posix" else None
    if sigaction is None:
        yield
        return
    kept = {number: ctypes.create_string_buffer(512) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, action in kept.items():
        sigaction(int(number), None, action)
    try:
        yield
    finally:
        for number, action in kept.items():
            sigaction(int(number), action, None)
