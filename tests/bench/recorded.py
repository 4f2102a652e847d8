"""What a session's file says, and a bench against a scriptable server. Used by the tests beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web
from fault_server import Behaviour, FaultServer, answer, completion, error
from small_bench import bench, session_lines

from contextrot.messages import Message
from contextrot.tokens import TokenCounter

Record = dict[str, Any]
Body = dict[str, Any]

#: vLLM's words for a prompt over the window
TOO_LONG = (
    "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please reduce "
    "the length of the input messages."
)


def write(folder: Path, text: str) -> Path:
    """A scenario file in `folder`."""
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def ask(server: FaultServer, out: Path, scenario: Path, **settings: Any) -> dict[str, Any]:
    """One session under `full`, one call at a time, no controls, no second attempt, unless `settings` say otherwise."""
    values = {
        "models": [{"id": f"endpoint/served@{server.url}", "window": 4096}],
        "strategies": ["full"],
        "repeats": 1,
        "controls": False,
        "concurrency": 1,
        "max_attempts": 1,
        "window": None,
        "max_tokens": 100,
        **settings,
    }
    return bench(out, scenario, **values)


def sessions(out: Path) -> dict[str, list[Record]]:
    """Every session's records, by key."""
    return {key: [orjson.loads(line) for line in lines] for key, lines in session_lines(out).items()}


def session(out: Path, containing: str = "") -> list[Record]:
    """The records of the only session whose key contains these words."""
    (records,) = (records for key, records in sessions(out).items() if containing in key)
    return records


def of(records: list[Record], t: str, /, **wanted: Any) -> list[Record]:
    """The records of one type in which each of the fields has this value."""
    return [r for r in records if r["t"] == t and all(r[name] == value for name, value in wanted.items())]


def verdicts(out: Path, containing: str = "") -> list[tuple[str, int, str]]:
    """(id, turn, outcome) of every verdict of one session, in order."""
    return [(r["id"], r["turn"], r["outcome"]) for r in of(session(out, containing), "verdict")]


def ending(out: Path, containing: str = "") -> tuple[str, int]:
    """How the session ended, and at which turn."""
    end = session(out, containing)[-1]
    return end["ended"], end["turn"]


def texts(body: Body) -> list[str]:
    """What the messages of a request say."""
    return [message["content"] for message in body["messages"]]


def last(body: Body) -> str:
    """What the last message of a request says."""
    return str(body["messages"][-1]["content"])


def replies(speak: Callable[[Body], Any]) -> Behaviour:
    """A server whose reply follows from the request: text, or the top-level keys of a completion."""

    async def behave(request: web.Request) -> web.StreamResponse:
        said = speak(orjson.loads(await request.read()))
        raw = completion(**said) if isinstance(said, Mapping) else completion(said)
        return await answer(200, raw)(request)

    return behave


def counts(ratio: float, window: int) -> Behaviour:
    """A server that counts `ratio` times our estimate, and refuses a prompt over its window in vLLM's words."""
    counter = TokenCounter()

    async def behave(request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        tokens = round(ratio * sum(counter.message(Message.from_dict(raw)) for raw in body["messages"]))
        if tokens > window:
            return await error(400, TOO_LONG)(request)
        usage = {"prompt_tokens": tokens, "completion_tokens": 3, "total_tokens": tokens + 3}
        return await answer(200, completion("fine", usage=usage))(request)

    return behave


def calling(*calls: tuple[str, str, str], text: str | None = None) -> dict[str, Any]:
    """The keys of a completion that calls tools: (id, name, arguments) each."""
    made = [{"id": id_, "type": "function", "function": {"name": name, "arguments": args}} for id_, name, args in calls]
    message = {"role": "assistant", "content": text, "tool_calls": made}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
