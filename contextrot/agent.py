"""An agent to test: a model of the matrix with a context strategy before it, fed one text at a time.

What the pytest plugin's `make_agent` gives out. The strategy runs in `Memory`, the very code that the bench measures
and that ships in a user's own agent; the model is any of the matrix.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from contextrot.bench.gate import Gate
from contextrot.bench.hints import Hints
from contextrot.bench.plan import seed_of
from contextrot.callbacks import Embedding, Summarizer
from contextrot.checks import load_check
from contextrot.checks.base import Check
from contextrot.checks.grading import grade
from contextrot.config import ModelEntry
from contextrot.errors import ConfigError, MissingKeyError
from contextrot.memory import Memory
from contextrot.messages import Message, Reply, Tool, mentions
from contextrot.models.base import Call, Model, Truth
from contextrot.models.callables import AgentModel
from contextrot.models.registry import create_model, missing_key, prepare
from contextrot.outcomes import Outcome
from contextrot.strategies import Strategy
from contextrot.transcripts.rules import rules_in

#: The window of an agent where nobody sets one, in tokens: fifty short turns fill it.
WINDOW = 1024
#: Longest reply where nobody sets one: a quarter of the window, as in a bench, at most this many tokens.
LONGEST_REPLY = 512
#: Times in one turn that the strategy's own tools are answered before what was said so far has to do.
MAX_ROUNDS = 8
T = TypeVar("T")


class Models:
    """Models that several agents share, each made once and asked through the bench's retry layer.

    They live on an event loop of their own, in a thread, so that plain functions, notebooks and async tests may all
    ask. Use as a context manager, or `close` it.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="contextrot-models", daemon=True)
        self._thread.start()
        self._gates: dict[str, Gate] = {}

    def get(self, model: str | Mapping[str, Any]) -> Model:
        """The model of a name, or of a mapping as in contextrot.yaml, ready to be asked.

        Raises `ConfigError`, `MissingKeyError` or `ModelError` where it cannot be.
        """
        entry = ModelEntry(id=model) if isinstance(model, str) else ModelEntry(**model)
        key = entry.model_dump_json()
        if key not in self._gates:
            made = create_model(entry.to_spec())
            if isinstance(made, AgentModel):
                raise ConfigError(
                    f"{entry.id} is an agent with a memory of its own, to which no context strategy applies; "
                    "import it and feed it, or name it under `models` of a bench"
                )
            if sentence := missing_key(entry.to_spec()):
                raise MissingKeyError(sentence)
            self.wait(prepare(made))
            self._gates[key] = Gate(made)
        return self._gates[key].model

    def ask(self, model: Model, call: Call) -> Reply:
        """What the model answers, asked as often as the bench would. Raises a `ModelError`."""
        gate = next(gate for gate in self._gates.values() if gate.model is model)
        return self.wait(gate.complete(call)).reply

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run on the models' loop to the end."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Let go of connections and weights."""
        for gate in self._gates.values():
            self.wait(gate.model.close())
        self._gates.clear()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Models:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Told:
    """A standing rule the agent was told: its sentence, the turn (0: the system prompt), the check its words leave."""

    text: str
    turn: int
    check: Check | None


class Agent:
    """One session with a model under a context strategy. `feed` is a turn; the rest says what went on.

    pin_rules: messages that state a standing rule ("always …", "from now on …"; `transcripts/rules.py`) are marked as
    the constraints of a scenario are: strategies that honour pins never evict them, those that copy rules know them,
    and plain ones treat them like any other message. False: no message is marked. A simulated model keeps, of the rules
    whose words leave one check, those it can read in the prompt, with the probability its name says.
    """

    def __init__(
        self,
        models: Models,
        context_strategy: str | Mapping[str, Any] | Strategy,
        model: str | Mapping[str, Any],
        *,
        window: int | None = None,
        max_tokens: int | None = None,
        system: str | None = None,
        pin_rules: bool = True,
        seed: int = 0,
        temperature: float = 0.0,
        summarizer: Summarizer | None = None,
        embedder: Embedding | None = None,
    ) -> None:
        self._models = models
        self.model = models.get(model)
        self.window = min(filter(None, (window or WINDOW, self.model.window)))
        self.max_tokens = max_tokens or min(LONGEST_REPLY, self.window // 4)
        self.seed = seed
        self.temperature = temperature
        self._pin_rules = pin_rules
        # A simulated model cannot summarise; one that is real writes its own summaries, as in a bench.
        own: Summarizer = "extractive" if self.model.simulated else self._summarise
        self.memory = Memory(
            context_strategy,
            self.window,
            summarizer=summarizer or own,
            embedder=embedder,
            max_tokens=self.max_tokens,
            roles=self.model.spec.roles,
            counter=self.model.count_tokens,
        )
        self.turn = 0
        #: the rules it was told, in order
        self.rules: list[Told] = []
        #: the prompt of the last call, as OpenAI-style dicts
        self.messages: list[dict[str, Any]] = []
        #: the last reply, whole
        self.reply: Reply | None = None
        #: whether the strategy ever left something out of a prompt, or put something in; if not, nothing tested it
        self.fired = False
        self._hints = Hints()
        self._calls = 0
        if system is not None:
            self._learn(system, system=True)
            self.memory.add("system", system)

    def __repr__(self) -> str:
        return f"Agent({self.strategy!r}, {self.model.spec.label!r}, turn={self.turn})"

    @property
    def strategy(self) -> str:
        """The name of the context strategy."""
        return self.memory.strategy.type_name

    @property
    def tokens(self) -> int:
        """Tokens of the last prompt: the model's own count where it gives one."""
        return self.memory.tokens

    def feed(self, text: str) -> str:
        """Say something and return what is answered.

        Raises `BudgetError` when what must stay in view does not fit, `ModelError` when the model cannot be asked.
        """
        self.turn += 1
        stated = self._learn(text, system=False)
        marked = stated if self._pin_rules else []
        self.memory.add("user", text, pinned=bool(marked) and self.memory.strategy.wants_pins(), standing=marked)
        for _ in range(MAX_ROUNDS):
            reply = self._answer()
            self.memory.add(reply.to_message())
            if not reply.tool_calls:
                break
            for call in reply.tool_calls:
                result = self.memory.answer(call)
                text = f"there is no tool {call.name}" if result is None else result
                self.memory.add({"role": "tool", "tool_call_id": call.id, "content": text})
        return reply.text

    def view(self, query: str | None = None) -> list[dict[str, Any]]:
        """What would be sent now: the log as the strategy cuts it, with `query` behind it, which is not remembered."""
        return self.memory.messages(query)

    def sees(self, text: str) -> bool:
        """Whether a text stood in the last prompt, word for word: a rule that did not was lost, not ignored."""
        parts = (Message.from_dict(message).text for message in self.messages)
        wanted = " ".join(text.split())
        return any(mentions(" ".join(part.split()), wanted) for part in parts)

    def describe(self) -> str:
        """One line: strategy, model, turns, how full the window was."""
        simulated = " (SIMULATED)" if self.model.simulated else ""
        return (
            f"{self.strategy} on {self.model.spec.label}{simulated}: {self.turn} turns, last prompt {self.tokens:,} of "
            f"{self.window:,} tokens"
        )

    def report(self) -> str:
        """Several lines: the same, and for every rule it was told whether it was still in the last prompt, and kept."""
        return "\n".join(
            [self.describe(), *(f'  turn {rule.turn}: "{rule.text}" {self._fate(rule)}' for rule in self.rules)]
        )

    def _fate(self, rule: Told) -> str:
        """What became of a rule by the last reply, in words: lost, ignored, kept, or only where it stood."""
        outcome = grade(rule.check, self.reply).outcome if rule.check is not None and self.reply is not None else None
        if not self.sees(rule.text):
            return "was not in the last prompt" + (", yet kept" if outcome is Outcome.PASS else ": it was lost")
        words = {None: "", Outcome.PASS: " and was kept", Outcome.FAIL: " and was ignored"}
        return "was in the last prompt" + words.get(outcome, f" (the reply: {outcome})")

    def _learn(self, text: str, *, system: bool) -> list[str]:
        """Note the rules of a text; returns their sentences."""
        found = list(rules_in(text, system=system))
        known = {rule.text for rule in self.rules}
        for rule in found:
            if rule.text not in known:
                check = None if rule.check is None else load_check(rule.check)
                self.rules.append(Told(rule.text, self.turn, check))
        return [rule.text for rule in found]

    def _answer(self) -> Reply:
        self.messages = self.memory.messages()
        self.fired |= len(self.messages) > len(self.memory) or any(s != "verbatim" for s in self.memory.manifest)
        tools = tuple(_tool(raw) for raw in self.memory.tools)
        reply = self._ask([Message.from_dict(raw) for raw in self.messages], self.max_tokens, tools, self._hint())
        self.memory.observe(reply.usage.prompt_tokens)
        self.reply = reply
        return reply

    def _hint(self) -> Truth | None:
        rules = [(rule.text, rule.check) for rule in self.rules if rule.check is not None]
        if not self.model.simulated or not rules:
            return None
        return self._hints.build([text for text, _ in rules], [check for _, check in rules], {})

    def _summarise(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """The agent's own model as the strategy's helper, as in a bench that names no other."""
        reply = self._ask([Message.from_dict(raw) for raw in messages], self.max_tokens)
        return {"content": reply.content, "finish_reason": reply.finish_reason}

    def _ask(
        self, messages: list[Message], max_tokens: int, tools: tuple[Tool, ...] = (), hint: Truth | None = None
    ) -> Reply:
        self._calls += 1
        call = Call(
            messages,
            tools,
            max_tokens=max_tokens,
            temperature=self.temperature,
            seed=seed_of(self.seed, "agent", self._calls),
            session=f"agent-{id(self)}",
            hint=hint,
        )
        return self._models.ask(self.model, call)


def _tool(raw: Mapping[str, Any]) -> Tool:
    function = raw["function"]
    return Tool(function["name"], function.get("description", ""), function.get("parameters", {}))
