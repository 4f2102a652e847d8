"""Sessions that call tools, written record by record. Used by the tests beside it and by those of the reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from run_writer import SessionWriter


def made(name: str, arguments: dict[str, Any] | str, id: str) -> dict[str, Any]:
    """A tool call, OpenAI style."""
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text}}


class Actor:
    """Writes the turns of one session; ids of calls are numbered through."""

    def __init__(self, folder: Path, key: str, **head: Any) -> None:
        self.writer = SessionWriter(folder, key, **head)
        self.ids = 0

    def act(
        self,
        turn: int,
        *actions: tuple[str, dict[str, Any] | str],
        result: str | None = '{"status": "ok"}',
        branch: str | None = None,
    ) -> int:
        """One call of the model that makes these tool calls, with the same result for each; None: no result came."""
        calls = []
        for name, arguments in actions:
            self.ids += 1
            calls.append(made(name, arguments, f"c{self.ids}"))
        reply = {"content": None if calls else "Done.", "tool_calls": calls, "finish_reason": "stop"}
        number = self.writer.call(turn, branch=branch, reply=reply)
        self.writer.reply(turn, number, branch=branch)
        for call in calls:
            if result is not None:
                answer = {"role": "tool", "tool_call_id": call["id"], "content": result}
                self.writer._message(turn, branch, "tool", {"message": answer})
        return number

    def probe(self, turn: int, *, calls: bool, outcome: str | None = None, check: str = "tool_call") -> None:
        """A fork probe that asks for a booking, with or without a call in the reply."""
        branch = f"book@{turn}"
        actions = [("book", {"day": "Friday"})] if calls else []
        self.act(turn, *actions, branch=branch)
        verdict = outcome or ("pass" if calls else "fail")
        cause = "ignored" if verdict == "fail" else None
        self.writer.verdict(turn, verdict, branch=branch, id="book", subject=None, check=check, cause=cause)


def booking(folder: Path, repeat: int, called_at: set[int], probed: tuple[int, ...] = (3, 6, 12, 18, 24)) -> None:
    """A session of 24 turns in which the probes of `called_at` got their booking and the others a text."""
    actor = Actor(folder, f"booking--full--r{repeat:03d}", strategy="full", scenario="booking", repeat=repeat)
    for turn in probed:
        actor.probe(turn, calls=turn in called_at)
    actor.writer.end(24)
