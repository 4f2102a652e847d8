"""What a session's tool calls were and which of them had been done before; told while its file is read, line by line.

Only calls of the model are actions. The calls of a written history are read as well: to do again what the log says was
done is a repeat. What a fork does stays in the fork, as its messages do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextrot.actions import Done, first_done
from contextrot.messages import Message, ToolCall


def asks_action(verdict: Mapping[str, Any]) -> bool:
    """Whether a verdict's check wants an action: what is asked for once more is done once more with good reason.

    Runs made before that was recorded tell it by the type of the check.
    """
    asks = verdict.get("asks_action")
    return asks if isinstance(asks, bool) else verdict.get("check") == "tool_call"


def abstained(verdict: Mapping[str, Any]) -> bool | None:
    """Whether a reply that had to say that it does not know said so; None where it had not to, or that is open."""
    if "abstained" in verdict:
        return verdict["abstained"]  # type: ignore[no-any-return]
    decided = {"pass": True, "fail": False}
    return decided.get(str(verdict.get("outcome"))) if verdict.get("check") == "abstain" else None


class SessionActions:
    """The tool calls of one session, on its main line and on its branches, in the order of the records."""

    def __init__(self) -> None:
        self._lines: dict[str | None, list[Done]] = {None: []}
        self._open: dict[str | None, dict[str, int]] = {None: {}}
        #: places in a line of the calls the model itself made there
        self._own: dict[str | None, list[int]] = {}
        self._steps = 0
        self._asked: set[tuple[str | None, int]] = set()

    @property
    def called(self) -> bool:
        """True when any tool was called, by the model or in the written history."""
        return self._steps > 0

    def call(self, turn: int, branch: str | None, calls: Sequence[Any], *, own: bool = True) -> None:
        """The calls of one assistant message, OpenAI style. `own`: the model made them, not the written history."""
        self._steps += 1
        line = self._line(branch)
        for raw in calls:
            call = ToolCall.from_dict(raw)
            self._open[branch][call.id] = len(line)
            if own:
                self._own.setdefault(branch, []).append(len(line))
            line.append(Done(call, self._steps, turn=turn))

    def result(self, branch: str | None, message: Mapping[str, Any]) -> None:
        """The result of a call, a message of role `tool`."""
        line, open_ = self._line(branch), self._open[branch]
        place = open_.pop(str(message.get("tool_call_id")), None)
        if place is not None:
            mark = message.get("is_error")
            answered = Message.from_dict(message).text
            line[place] = line[place]._replace(result=answered, failed=mark if isinstance(mark, bool) else None)

    def verdict(self, record: Mapping[str, Any]) -> None:
        """A verdict: what its probe asked for is no repeat."""
        if record.get("kind") == "probe" and asks_action(record):
            self._asked.add((record.get("branch"), int(record.get("turn") or 0)))

    def counts(self) -> tuple[int, int]:
        """How many actions the model took, and how many of them it had already done with success before."""
        total = repeated = 0
        for branch, own in self._own.items():
            line = self._lines[branch]
            again = first_done(line)
            total += len(own)
            repeated += sum(again[at] is not None and (branch, line[at].turn) not in self._asked for at in own)
        return total, repeated

    def _line(self, branch: str | None) -> list[Done]:
        """The calls of a line; a fork begins with what the main line had done when the fork was made."""
        if branch not in self._lines:
            self._lines[branch] = self._lines[None].copy()
            self._open[branch] = self._open[None].copy()
        return self._lines[branch]
