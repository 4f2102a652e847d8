"""`endpoint/MODEL@http://host:port/v1`: any OpenAI-compatible server, over one small direct client.

A session sends its whole history again at every turn, so the cost of a call must not grow with what was encoded before:
the body is put together from each message's cached bytes, one client session keeps its connections, and the answer is
read once.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson
from yarl import URL

from contextrot.errors import ConfigError, MissingKeyError, ModelTimeoutError, ServerError
from contextrot.messages import Reply, Tool
from contextrot.models.base import Call, ModelSpec, Price
from contextrot.models.failures import brief, failure, is_filtered
from contextrot.models.openai_form import read_completion

#: Read when the model names no variable of its own. Never OPENAI_API_KEY: a key is for the server it was issued by.
DEFAULT_KEY_ENV = "CONTEXTROT_API_KEY"

_ID = re.compile(r"endpoint/(?P<model>.+?)(?:@(?P<url>https?://(?:(?!@https?://).)+))?$", re.I | re.S)
#: Bodies above this go out in pieces, so that writing them does not hold up the other sessions (aiohttp warns at 1
#: MiB).
_LARGE = 1 << 20
#: What servers call the window in their list of models: vLLM, OpenRouter and Together, Groq, Mistral.
_WINDOW_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens")


def parse_id(spec: ModelSpec) -> tuple[str, URL]:
    """Model name and URL of the chat completions from ``endpoint/MODEL@URL``, or from `base_url` where the id has none.

    Model names may hold slashes, colons and ``@``: the URL begins at the last ``@http``. Raises `ConfigError`.
    """
    match = _ID.match(spec.id)
    address = (match["url"] if match else None) or spec.base_url
    if not match or not address:
        raise ConfigError(
            f"{spec.id!r} names no server; write endpoint/MODEL@http://host:port/v1, for example "
            "endpoint/qwen2.5-7b-instruct@http://localhost:8000/v1"
        )
    try:
        url = URL(address)
        host = url.host
    except ValueError as error:
        raise ConfigError(f"{address!r} is not a URL ({error}); write http://host:port/v1") from error
    if not host or url.scheme not in ("http", "https"):
        raise ConfigError(f"{address!r} is not a URL of a server; write http://host:port/v1")
    path = url.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path = (path or "/v1") + "/chat/completions"
    return match["model"], url.with_path(path, keep_query=True)


class EndpointModel:
    """One model on one OpenAI-compatible server. `window` is the user's, else None until `discover` asked for it."""

    simulated = False
    parallel: int | None = None
    count_tokens: Callable[[str], int] | None = None

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.window = spec.window
        self.price: Price | None = spec.price
        self.name, self.url = parse_id(spec)
        if spec.params.get("stream"):
            raise ConfigError(f"{spec.id}: params.stream is not supported; replies are read whole")
        self._where = str(self.url.with_user(None))
        self._session: aiohttp.ClientSession | None = None
        self._key: str | None = None
        self._absent = ""
        self._tools: dict[int, tuple[Sequence[Tool], bytes]] = {}
        self._head = b'{"model":' + orjson.dumps(self.name) + b',"messages":['
        self._own = {"model", "messages", "tools"} & spec.params.keys()
        if self._own:
            raise ConfigError(f"{spec.id}: params may not set {', '.join(sorted(self._own))}; contextrot does")

    def __repr__(self) -> str:
        return f"EndpointModel({self.name!r} at {self._where})"

    async def complete(self, call: Call) -> Reply:
        """Ask once. Raises a `ModelError`; never retries."""
        body = self.body(call)
        session = self._session or self._open()
        started = time.perf_counter()
        try:
            async with asyncio.timeout(call.timeout):
                data: Any = body if len(body) < _LARGE else io.BytesIO(body)
                async with session.post(self.url, data=data) as response:
                    payload = await response.read()
        except TimeoutError as error:
            raise ModelTimeoutError(f"{self._where} gave no answer within {call.timeout:g} s") from error
        except aiohttp.ClientConnectorError as error:
            raise ServerError(self._not_there(error)) from error
        except (aiohttp.ClientError, OSError) as error:
            words = brief(f"{type(error).__name__}: {error}", self._key)
            raise ServerError(f"the connection to {self._where} broke: {words}") from error
        latency = time.perf_counter() - started
        if response.status != 200:
            return self._refused(response.status, response.headers, payload, latency)
        return read_completion(payload, where=self._where, model=self.name, latency=latency)

    def body(self, call: Call) -> bytes:
        """The request body: the messages as they were encoded when they were made, then the settings of this call."""
        params = self.spec.params
        settings = {"temperature": call.temperature, "seed": call.seed & 0x7FFFFFFF}
        if "max_completion_tokens" not in params:
            settings["max_tokens"] = call.max_tokens
        # A parameter set to null by the user is left out: some servers refuse what they do not know.
        tail = orjson.dumps({key: value for key, value in {**settings, **params}.items() if value is not None})
        tools = b',"tools":' + self._encoded(call.tools) if call.tools else b""
        settled = b"".join((b"]", tools, b"," if len(tail) > 2 else b"", tail[1:]))
        # One join for all of it: the messages are most of the body, and are copied once only.
        pieces = [message.wire for message in call.messages] or [b""]
        pieces[0] = self._head + pieces[0]
        pieces[-1] += settled
        return b",".join(pieces)

    async def discover(self) -> int | None:
        """The window in tokens as the server states it (vLLM and gateways in `/v1/models`, llama.cpp in `/props`).

        Sets `window` when the user gave none. None when the server does not say or does not answer.
        """
        if self.window is None:
            self.window = await self._listed_window() or await self._props_window()
        return self.window

    async def prepare(self) -> None:
        """What has to be known before the first call: the window. Raises `ServerError` when no server is there."""
        if await self.discover() is None and self._absent:
            raise ServerError(self._absent)

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _refused(self, status: int, headers: Mapping[str, str], payload: bytes, latency: float) -> Reply:
        """The error for a status other than 200, or the reply that says the provider's filter stopped the prompt."""
        if status == 400 and is_filtered(payload):
            return Reply(finish_reason="content_filter", model=self.name, latency=latency)
        raise failure(
            status,
            payload,
            where=self._where,
            model=self.name,
            headers=headers,
            secret=self._key,
            key_hint=f" ({self.spec.api_key_env or DEFAULT_KEY_ENV})",
        )

    def _encoded(self, tools: Sequence[Tool]) -> bytes:
        known = self._tools.get(id(tools))
        if known is None or known[0] is not tools:
            if len(self._tools) > 256:
                self._tools.clear()
            known = self._tools[id(tools)] = (tools, orjson.dumps([tool.to_dict() for tool in tools]))
        return known[1]

    def _open(self) -> aiohttp.ClientSession:
        self._key = read_key(self.spec)
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=75, ttl_dns_cache=300),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=_proxy(self.url),
            json_serialize=lambda value: orjson.dumps(value).decode(),
        )
        return self._session

    def _not_there(self, error: aiohttp.ClientConnectorError) -> str:
        return f"cannot connect to {self._where}: {error.strerror or error}; is the server up?"

    async def _get(self, url: URL) -> Any:
        session = self._session or self._open()
        try:
            async with asyncio.timeout(10), session.get(url) as response:
                return orjson.loads(await response.read()) if response.status == 200 else None
        except aiohttp.ClientConnectorError as error:
            self._absent = self._not_there(error)
            return None
        except (TimeoutError, aiohttp.ClientError, OSError, orjson.JSONDecodeError):
            return None

    async def _listed_window(self) -> int | None:
        path = self.url.path.removesuffix("/chat/completions") + "/models"
        raw = await self._get(self.url.with_path(path, keep_query=True))
        listed = raw.get("data") if isinstance(raw, Mapping) else raw
        models = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
        own = [entry for entry in models if entry.get("id") == self.name] or (models if len(models) == 1 else [])
        return next((size for entry in own for key in _WINDOW_KEYS if (size := _size(entry.get(key)))), None)

    async def _props_window(self) -> int | None:
        path = re.sub(r"/v1/chat/completions$|/chat/completions$", "", self.url.path) + "/props"
        raw = await self._get(self.url.with_path(path))
        settings = raw.get("default_generation_settings") if isinstance(raw, Mapping) else None
        return _size(settings.get("n_ctx")) if isinstance(settings, Mapping) else None


def missing_key(spec: ModelSpec) -> str | None:
    """A sentence when the model names a variable for its key that is not set; None when all is well."""
    if spec.api_key_env and not os.environ.get(spec.api_key_env, "").strip():
        return (
            f"{spec.label}: the environment variable {spec.api_key_env} holds no API key; set it, or drop api_key_env"
        )
    return None


def read_key(spec: ModelSpec) -> str | None:
    """The API key from the environment, or None when none is meant. Raises `MissingKeyError`."""
    sentence = missing_key(spec)
    if sentence:
        raise MissingKeyError(sentence)
    name = spec.api_key_env or DEFAULT_KEY_ENV
    key = os.environ.get(name, "").strip()
    if not key.isascii() or any(sign.isspace() for sign in key):
        raise MissingKeyError(f"{spec.label}: the key in {name} has blanks or odd signs in it; copy it again")
    return key or None


def _proxy(url: URL) -> str | None:
    """The proxy for this server from the environment, looked up once, not at every call. None on this machine."""
    host = url.host or ""
    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(host):
        return None
    return getproxies().get(url.scheme)


def _size(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
