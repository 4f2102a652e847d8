"""A line of conversation, and what is worked out along it: the helper a strategy asks, the prefix two views share."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence

from contextrot.bench.caller import Caller
from contextrot.log import Log
from contextrot.messages import Message, Reply
from contextrot.strategies.base import State, View


class Line:
    """A line of conversation: the main one, or the branch a fork probe is asked on. Log, strategy state, last view."""

    def __init__(self, log: Log, branch: str | None = None) -> None:
        self.log, self.branch = log, branch
        self.state: State = {}
        self.sent: View | None = None
        self.tools_used: Counter[str] = Counter()
        #: what the turn under way belongs to
        self.task = ""
        #: tokens of the log when the model was asked: what it answers is no distance between statement and question
        self.asked_at = 0
        #: asks of the helper model in the turn under way, over all its tool rounds: no two of them share a seed
        self.helped = 0

    def fork(self, branch: str) -> Line:
        """A branch that can be thrown away without a trace."""
        line = Line(self.log.fork(), branch)
        line.state, line.sent, line.tools_used = copy.deepcopy(self.state), self.sent, self.tools_used.copy()
        line.task = self.task
        return line


class Helper:
    """Lets a strategy ask the helper model; every such call is a record of this session."""

    def __init__(self, caller: Caller, turn: int, line: Line) -> None:
        self.caller, self.turn, self.line = caller, turn, line

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        """One answer of the helper model. Raises the `ModelError` that ended the call."""
        self.line.helped += 1
        answer = await self.caller.ask(
            messages,
            turn=self.turn,
            branch=self.line.branch,
            purpose="auxiliary",
            round_=self.line.helped,
            max_tokens=max_tokens,
        )
        return answer.reply


def prefix_reuse(previous: View | None, view: View) -> float | None:
    """Share of the view that repeats the beginning of the previous one: the predictor of cache hits. In messages."""
    if previous is None or not view.messages:
        return None
    shared = len(previous.messages)
    # The usual case, the same view with more behind it, is told by one comparison of the same objects.
    if view.messages[:shared] == previous.messages:
        return shared / len(view.messages)
    shared = 0
    for old, new in zip(previous.messages, view.messages, strict=False):
        if old is not new and old.digest != new.digest:
            break
        shared += 1
    return shared / len(view.messages)
