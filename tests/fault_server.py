"""A real OpenAI-compatible HTTP server on a loopback port that does what a test tells it to, request by request."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

Behaviour = Callable[[web.Request], Awaitable[web.StreamResponse]]


def completion(text: str | None = "fine", **changes: Any) -> dict[str, Any]:
    """A well-formed chat completion; `changes` replace its top-level keys (None removes one)."""
    raw = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-name",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }
    raw.update(changes)
    return {key: value for key, value in raw.items() if value is not None}


def ok(text: str | None = "fine", **changes: Any) -> Behaviour:
    return answer(200, completion(text, **changes))


def answer(status: int, body: Any, headers: dict[str, str] | None = None) -> Behaviour:
    """A fixed answer. `body` is bytes, text, or anything JSON can hold."""
    payload = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else orjson.dumps(body)
    kind = "application/json" if not isinstance(body, str) else "text/html"

    async def behave(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=payload, headers={"Content-Type": kind, **(headers or {})})

    return behave


def error(status: int, message: str, headers: dict[str, str] | None = None, **more: Any) -> Behaviour:
    return answer(
        status, {"error": {"message": message, "type": "error", "param": None, "code": None, **more}}, headers
    )


def slow(seconds: float, text: str = "late") -> Behaviour:
    """Headers at once, the body in two pieces with a pause between."""

    async def behave(request: web.Request) -> web.StreamResponse:
        payload = orjson.dumps(completion(text))
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(payload)
        await response.prepare(request)
        await response.write(payload[:20])
        await asyncio.sleep(seconds)
        await response.write(payload[20:])
        return response

    return behave


def hang() -> Behaviour:
    async def behave(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(30)
        return web.Response()

    return behave


def cut() -> Behaviour:
    """Half a body under a Content-Length that promised all of it, then the connection is gone."""

    async def behave(request: web.Request) -> web.StreamResponse:
        payload = orjson.dumps(completion("you will never read this to its end"))
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(payload)
        await response.prepare(request)
        await response.write(payload[: len(payload) // 2])
        assert request.transport is not None
        request.transport.close()
        return response

    return behave


def reset() -> Behaviour:
    """The connection is gone before a byte was answered."""

    async def behave(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return behave


@dataclass
class FaultServer:
    """`script` holds what the next requests get; the last one repeats. `seen` holds the bodies that came in."""

    url: str = ""
    script: list[Behaviour] = field(default_factory=lambda: [ok()])
    pages: dict[str, Any] = field(default_factory=dict)
    seen: list[dict[str, Any]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def plays(self, *script: Behaviour) -> None:
        self.script = list(script)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.raw.append(body)
        self.seen.append(orjson.loads(body))
        self.headers.append(dict(request.headers))
        behaviour = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return await behaviour(request)

    async def page(self, request: web.Request) -> web.StreamResponse:
        if request.path not in self.pages:
            raise web.HTTPNotFound
        return web.json_response(self.pages[request.path])


@asynccontextmanager
async def running() -> AsyncIterator[FaultServer]:
    """A server for one test; `url` ends in ``/v1``."""
    server = FaultServer()
    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/chat/completions", server.chat)
    app.router.add_post("/v1/embeddings", server.chat)
    app.router.add_get("/{page:.*}", server.page)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    server.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()


@contextmanager
def serving() -> Iterator[FaultServer]:
    """The same server in a thread of its own, for tests that ask it from another process."""
    started, stop = threading.Event(), asyncio.Event()
    found: list[tuple[FaultServer, asyncio.AbstractEventLoop]] = []

    async def serve() -> None:
        async with running() as server:
            found.append((server, asyncio.get_running_loop()))
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(30)
    server, loop = found[0]
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
