"""The canned side of a session: what the assistant says and calls in scripted and gold histories, and tool results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from contextrot.checks import grade
from contextrot.errors import ScenarioError
from contextrot.messages import Reply, Tool, ToolCall
from contextrot.outcomes import Outcome
from contextrot.scenario.schema import GeneratedReturns, HistoryArm, Item, Scenario, ToolSpec
from contextrot.scenario.script import CannedCall
from contextrot.scenario.tool_output import generate_output

#: What a canned assistant says to a statement that has no `reply` of its own.
ACKNOWLEDGEMENT = "Understood."
#: What a tool without canned results answers.
DEFAULT_RESULT = '{"status": "ok"}'
#: Different results that a tool with generated ones has for the calls of a live model; they are used in turn.
GENERATED_RESULTS = 8


class CannedTools:
    """The results of one session's tools, by the number of the call. `key` names the session."""

    def __init__(self, scenario: Scenario, key: str) -> None:
        self.scenario, self.key = scenario, key
        self.used: Counter[str] = Counter()

    def calls(self, item: Item, index: int) -> tuple[CannedCall, ...]:
        """The tool rounds of the `index`-th filler turn (from 0): the item's own, then the regular ones due."""
        own = [CannedCall(call.name, _text(call.arguments), call.result) for call in item.tool_calls]
        due = [call for call in self.scenario.filler.calls if (index + 1) % call.every == 0]
        return (*own, *(CannedCall(call.name, _text(call.arguments), self._next(call.name)) for call in due))

    def tools(self) -> tuple[Tool, ...]:
        """The tools as offered to the model; its calls of generated ones go on where the canned ones stopped."""
        return tuple(
            Tool(tool.name, tool.description, tool.parameters, tuple(self._results(tool)))
            for tool in self.scenario.tools
        )

    def _results(self, tool: ToolSpec) -> Sequence[str]:
        if not isinstance(tool.returns, GeneratedReturns):
            return tool.returns or (DEFAULT_RESULT,)
        start = self.used[tool.name]
        return [self._result(tool, number) for number in range(start, start + GENERATED_RESULTS)]

    def _next(self, name: str) -> str:
        tool = next((tool for tool in self.scenario.tools if tool.name == name), None)
        if tool is None:
            raise ScenarioError(f"the filler of scenario `{self.scenario.id}` calls the unknown tool `{name}`")
        number, self.used[name] = self.used[name], self.used[name] + 1
        return self._result(tool, number)

    def _result(self, tool: ToolSpec, number: int) -> str:
        """What the tool answers to its call `number` (from 0)."""
        made = tool.returns
        if isinstance(made, GeneratedReturns):
            return generate_output(made.kind, f"{self.key}:{tool.name}", number, made.tokens)
        texts = made or (DEFAULT_RESULT,)
        return texts[number % len(texts)]


class CannedReplies:
    """What the assistant says where nobody is asked. `history` is `scripted` or `gold`."""

    def __init__(self, scenario: Scenario, history: HistoryArm) -> None:
        self.scenario, self.history = scenario, history

    def to_work(self, turn: int, item: Item, index: int, calls: Sequence[CannedCall]) -> str:
        """The reply to the `index`-th filler turn, which stands at `turn` and had these tool rounds."""
        scripted = item.assistant or ACKNOWLEDGEMENT
        if self.history == "scripted":
            return scripted
        made = tuple(ToolCall(f"gold-{n}", call.name, call.arguments) for n, call in enumerate(calls))
        return self._gold(turn, item.gold, index, Reply(scripted, made))

    def to_statements(self, turn: int, replies: Sequence[str]) -> str:
        """The reply to what is stated at `turn`, from the replies written for its statements."""
        written = "\n\n".join(replies)
        if self.history == "scripted":
            return written or ACKNOWLEDGEMENT
        return self._gold(turn, written or None, turn, Reply(ACKNOWLEDGEMENT))

    def _gold(self, turn: int, own: str | None, index: int, scripted: Reply) -> str:
        """The first reply that breaks no rule in force: the turn's own, a rule's `gold`, else the scripted one."""
        rules = [rule for rule in self.scenario.constraints if rule.turn <= turn]
        golds = [rule.golds[index % len(rule.golds)] for rule in rules if rule.golds]
        broken = ""
        for text in (own, *golds, scripted.text):
            if text is None:
                continue
            reply = replace(scripted, content=text, finish_reason="stop")
            verdicts = ((rule.id, grade(rule.check, reply)) for rule in rules if rule.check)
            failed = next((name for name, verdict in verdicts if verdict.outcome is Outcome.FAIL), None)
            if failed is None:
                return text
            broken = broken or failed
        raise ScenarioError(
            f"a gold history needs a reply at turn {turn} of `{self.scenario.id}` that keeps constraint `{broken}`: "
            "add `gold: <a reply>` to the constraint or to every filler item"
        )


def _text(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
