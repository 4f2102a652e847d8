"""CPU per model call, as ratios within one run (DESIGN §11).

    python benchmarks/call_overhead.py [--sessions 50] [--turns 40] [--litellm-calls 200] [--rounds 3]

A mock server in a process of its own answers at once. Every client runs the same conversations: at each turn the whole
history goes out again. Shown is this process's CPU time (`time.process_time`) per call, the best of the rounds, and the
ratio to the bare loop that sends the same bytes. Exit code 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp
import orjson
from aiohttp import web

from contextrot.bench.gate import Gate
from contextrot.bench.matrix import Matrix, load_matrix
from contextrot.bench.runner import new_run_directory, run
from contextrot.config import validated
from contextrot.messages import Message, assistant, system, user
from contextrot.models.base import Call, ModelSpec
from contextrot.models.endpoint import EndpointModel
from contextrot.models.providers import ProviderModel, import_litellm

ANSWER = orjson.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Noted. " * 20}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 40, "total_tokens": 1040},
    }
)
BARE, BARE_LITELLM, BARE_SESSION = "bare aiohttp loop", "bare litellm.acompletion", "bare loop, those bytes"
SESSION = "full session loop"
#: client: what it is compared with, and the bound
BOUNDS = {
    "endpoint": (BARE, 2.0),
    "endpoint + gate": (BARE, 2.0),
    SESSION: (BARE_SESSION, 2.0),
    "contextrot over litellm": (BARE_LITELLM, 1.15),
}
SCENARIO = """
contextrot: 1
id: overhead
title: Nothing but turns
system: You are a support triage assistant.
constraints:
  - {id: sign, text: "End every reply with the word Noted.", place: system, check: {type: ends_with, text: "Noted. "}}
filler: {kind: tickets, tokens_per_turn: 150}
session: {turns: 40, history: live, window: 128000}
"""
Client = Callable[[Sequence[tuple[Message, ...]]], Awaitable[None]]


def serve(ready: Connection, seconds: float) -> None:
    """The mock server: reads the body, waits so long, answers the same completion."""

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        if seconds:
            await asyncio.sleep(seconds)
        return web.Response(body=ANSWER, content_type="application/json")

    async def run() -> None:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        ready.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


@contextmanager
def mock_server(seconds: float = 0.0) -> Iterator[str]:
    """A mock server in a process of its own; gives its base URL."""
    processes = multiprocessing.get_context("spawn")
    ours, theirs = processes.Pipe()
    server = processes.Process(target=serve, args=(theirs, seconds), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}/v1"
    finally:
        server.terminate()


def bare_session() -> aiohttp.ClientSession:
    """What the bare loops send with."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers={"Content-Type": "application/json"})


def recording_bodies(matrix: Matrix) -> list[bytes]:
    """Where the bodies gather that the matrix's endpoint sends from now on."""
    bodies: list[bytes] = []
    [endpoint] = matrix.models
    encode = endpoint.body  # type: ignore[union-attr]
    endpoint.body = lambda call: bodies.append(encode(call)) or bodies[-1]  # type: ignore[union-attr,func-returns-value,method-assign]
    return bodies


def conversations(sessions: int, turns: int) -> list[list[tuple[Message, ...]]]:
    """What each session sends, turn by turn: a ticket of about 600 characters, and the answer that came back."""
    made = []
    for session in range(sessions):
        log: list[Message] = [system("You are a support triage assistant. Answer in JSON.")]
        views = []
        for turn in range(turns):
            log.append(user(f"Ticket {session}-{turn}: " + "the printer on the third floor is out again. " * 13))
            views.append(tuple(log))
            log.append(assistant("Noted. " * 20))
        made.append(views)
    return made


def bare(url: str) -> Client:
    """The least a client can do: the bytes are ready, the answer is read and decoded."""
    session = bare_session()

    async def run(views: Sequence[tuple[Message, ...]]) -> None:
        for view in views:
            async with session.post(url, data=bodies[id(view)]) as response:
                raw = orjson.loads(await response.read())
            assert raw["choices"][0]["message"]["content"]

    bodies: dict[int, bytes] = {}
    run.bodies, run.close = bodies, session.close  # type: ignore[attr-defined]
    return run


async def cpu_per_call(client: Client, plan: Sequence[Sequence[tuple[Message, ...]]]) -> float:
    """Seconds of CPU per call with all sessions at once."""
    calls = sum(map(len, plan))
    started = time.process_time()
    await asyncio.gather(*(client(views) for views in plan))
    return (time.process_time() - started) / calls


async def whole_bench(base: str, sessions: int, turns: int, rounds: int) -> dict[str, float]:
    """The session loop as users run it (scenario, strategy, checks, records on disk), and its bytes sent bare.

    Both sides open their connections anew in each round, as a run does.
    """
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder, "overhead.yaml")
        scenario.write_text(SCENARIO, encoding="utf-8")
        for turn in range(rounds + 1):
            config = validated(
                {
                    "scenarios": [str(scenario)], "models": [f"endpoint/m@{base}"], "strategies": ["full"],
                    "repeats": sessions, "turns": turns, "concurrency": sessions, "controls": False,
                    "out": str(Path(folder, f"run{turn}")),
                }
            )  # fmt: skip
            matrix = load_matrix(config)
            if turn == rounds:  # the last round is not timed: it gathers what goes out
                bodies = recording_bodies(matrix)
            with new_run_directory(config) as directory:
                started = time.process_time()
                await run(matrix, directory)
                ours.append((time.process_time() - started) / (sessions * turns))

    async def replay(session: aiohttp.ClientSession, part: Sequence[bytes]) -> None:
        for body in part:
            async with session.post(f"{base}/chat/completions", data=body) as response:
                assert orjson.loads(await response.read())["choices"][0]["message"]["content"]

    for _ in range(rounds):
        started = time.process_time()
        async with bare_session() as session:
            await asyncio.gather(*(replay(session, bodies[first::sessions]) for first in range(sessions)))
        theirs.append((time.process_time() - started) / len(bodies))
    return {BARE_SESSION: min(theirs), SESSION: min(ours[:rounds])}


async def measure(base: str, sessions: int, turns: int, litellm_calls: int, rounds: int) -> dict[str, float]:
    # Before litellm is imported: a bench of an endpoint does not carry its objects about.
    whole = await whole_bench(base, sessions, turns, rounds)
    endpoint = EndpointModel(ModelSpec(f"endpoint/m@{base}", "m"))
    gate = Gate(endpoint, concurrency=1000)
    provider = ProviderModel(ModelSpec("openai/m", "m", base_url=base))
    await provider.prepare()
    litellm = import_litellm()

    async def direct(views: Sequence[tuple[Message, ...]]) -> None:
        for view in views:
            assert (await endpoint.complete(Call(view))).content

    async def gated(views: Sequence[tuple[Message, ...]]) -> None:
        for view in views:
            assert (await gate.complete(Call(view))).reply.content

    async def through_us(views: Sequence[tuple[Message, ...]]) -> None:
        for view in views:
            assert (await provider.complete(Call(view))).content

    async def through_litellm(views: Sequence[tuple[Message, ...]]) -> None:
        for view in views:
            response = await litellm.acompletion(
                model="openai/m", messages=[message.to_dict() for message in view], base_url=base, api_key="none",
                max_tokens=512, temperature=0.0, seed=0, num_retries=0, max_retries=0, timeout=120, drop_params=True,
            )  # fmt: skip
            assert response.choices[0].message.content

    plan = conversations(sessions, turns)
    few = [views[:turns] for views in conversations(max(1, litellm_calls // turns), turns)]
    loop = bare(f"{base}/chat/completions")
    for views in plan:
        for view in views:
            loop.bodies[id(view)] = endpoint.body(Call(view))  # type: ignore[attr-defined]
    clients: list[tuple[str, Client, Sequence[Sequence[tuple[Message, ...]]]]] = [
        (BARE, loop, plan),
        ("endpoint", direct, plan),
        ("endpoint + gate", gated, plan),
        (BARE_LITELLM, through_litellm, few),
        ("contextrot over litellm", through_us, few),
    ]
    best: dict[str, float] = {}
    for turn in range(rounds + 1):  # the first round warms connections and caches up
        for name, client, what in clients:
            seconds = await cpu_per_call(client, what)
            if turn:
                best[name] = min(best.get(name, seconds), seconds)
    await asyncio.gather(endpoint.close(), provider.close(), loop.close())  # type: ignore[attr-defined]
    return best | whole


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("sessions", 50), ("turns", 40), ("litellm-calls", 200), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    wanted = parser.parse_args()
    with mock_server() as base:
        best = asyncio.run(measure(base, wanted.sessions, wanted.turns, wanted.litellm_calls, wanted.rounds))
    print(f"{wanted.turns} turns × {wanted.sessions} sessions; CPU per call, best of {wanted.rounds}\n")
    print(f"{'client':<28}{'µs a call':>12}{'ratio':>9}{'bound':>9}")
    broken = False
    for name, seconds in best.items():
        base, bound = BOUNDS.get(name, (name, None))
        ratio = seconds / best[base]
        verdict = "" if bound is None else f"{bound:>9.2f}{'' if ratio <= bound else '  BROKEN'}"
        broken = broken or "BROKEN" in verdict
        print(f"{name:<28}{seconds * 1e6:>12.1f}{ratio:>9.2f}{verdict}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
