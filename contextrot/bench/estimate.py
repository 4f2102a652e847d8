"""What a bench would take before it is run: calls, tokens and cost, by a rehearsal of its real sessions.

A few repeats of every scenario are replayed under every strategy by the session loop itself, against stand-ins
(`rehearsal.py`), and what they take is scaled to all repeats. What a strategy sends, when it compacts and what a prompt
cache could spare follow from its true views; how long a real model's replies are is an assumption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

from contextrot.bench.agents import AgentSession
from contextrot.bench.caller import Caller
from contextrot.bench.controls import ControlSession
from contextrot.bench.gate import Gate
from contextrot.bench.hints import Hints
from contextrot.bench.line import Line
from contextrot.bench.matrix import CONTROL, OWN_MEMORY, Matrix, settings_of
from contextrot.bench.plan import Plan
from contextrot.bench.rehearsal import AgentStandIn, Amount, Ledger, RehearsedEmbedder, StandIn
from contextrot.bench.runner import Silent
from contextrot.bench.session import Session
from contextrot.config import CAPS
from contextrot.errors import ContextrotError
from contextrot.models import AgentModel, Model, prepare
from contextrot.models.base import Price
from contextrot.models.extractive import ExtractiveModel
from contextrot.models.simulated import SimulatedModel
from contextrot.outcomes import Outcome, Verdict
from contextrot.scenario.script import Ask, Passive
from contextrot.strategies import load_strategy
from contextrot.tokens import TokenCounter

#: Tokens of a reply where nobody says: two or three paragraphs' worth is rare in a bench, a line is as well.
REPLY_TOKENS = 150
#: Repeats that are rehearsed; the others say the same at other words.
REHEARSED = 3
#: Purposes of calls, in the order they are shown.
PURPOSES = ("turn", "probe", "control", "auxiliary", "judge", "embedding")
#: labels under which no strategy is applied that could ever fire
_NOTHING_TO_DO = ("full", CONTROL, OWN_MEMORY)


class Cost(NamedTuple):
    """USD: what is known, and the models whose price is not (then the whole is not known either)."""

    known: float
    unknown: tuple[str, ...]

    @property
    def total(self) -> float | None:
        """The cost, or None where a part of it is not known."""
        return None if self.unknown else self.known


@dataclass(frozen=True, slots=True)
class Row:
    """What one model × strategy would take over all scenarios and repeats; `controls` stands for no strategy.

    calls: by purpose. amounts: by the label of the model asked. untold: models (agents) whose tokens nobody knows.
    ended: how its sessions would end (`completed`, `overflow`, …). fires: whether the strategy ever does anything to a
    prompt; None where none is applied that could (`full`, controls, an agent's own memory). fullest: the largest share
    of the window that a prompt of its turns and probes takes.
    """

    model: str
    strategy: str
    sessions: int
    calls: Mapping[str, float]
    amounts: Mapping[str, Amount]
    untold: frozenset[str]
    ended: Mapping[str, int]
    prices: Mapping[str, Price | None] = field(repr=False)
    fires: bool | None = None
    fullest: float = 0.0

    @property
    def amount(self) -> Amount:
        """Calls and tokens of all models together."""
        total = Amount()
        for amount in self.amounts.values():
            total = total.plus(amount)
        return total

    @property
    def tokens(self) -> int | None:
        """Tokens of prompts and replies; None where an agent does not tell."""
        return None if self.untold else round(self.amount.prompt + self.amount.completion)

    def cost(self, *, caching: bool) -> Cost:
        """USD with or without the provider's prompt cache; without a price of its own a cached token costs the full."""
        known, unknown = 0.0, set(self.untold)
        for label, amount in self.amounts.items():
            price = self.prices.get(label)
            if price is None:
                unknown.add(label)
            elif label not in self.untold:
                cached = round(amount.cached) if caching else 0
                known += price.cost(round(amount.prompt), round(amount.completion), cached)
        return Cost(known, tuple(sorted(unknown)))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; what is not known is null."""
        amount, plain, cached = self.amount, self.cost(caching=False), self.cost(caching=True)
        told = not self.untold
        return {
            "model": self.model,
            "strategy": self.strategy,
            "sessions": self.sessions,
            "calls": {name: round(self.calls.get(name, 0)) for name in PURPOSES} | {"total": round(amount.calls)},
            "prompt_tokens": round(amount.prompt) if told else None,
            "cached_tokens": round(amount.cached) if told else None,
            "completion_tokens": round(amount.completion) if told else None,
            "tokens": self.tokens,
            "cost": {
                "without_caching": plain.total,
                "with_caching": cached.total,
                "known_without_caching": plain.known,
                "known_with_caching": cached.known,
                "unknown": list(plain.unknown),
            },
            "ended": dict(self.ended),
            "fires": self.fires,
        }


@dataclass(frozen=True)
class Estimate:
    """What a bench would take. `rehearsed` of `repeats` were replayed; `reply_tokens` is None if nothing is assumed.

    turns: of its shortest and its longest scenario.
    """

    rows: list[Row]
    repeats: int
    rehearsed: int
    reply_tokens: int | None
    caps: Mapping[str, float]
    notes: tuple[str, ...] = ()
    turns: tuple[int, int] = (0, 0)

    @property
    def silent(self) -> list[Row]:
        """Rows whose strategy never does anything, so that they send what `full` sends."""
        return [row for row in self.rows if row.fires is False]

    def scaled(self, repeats: int) -> Estimate:
        """The same bench with so many repeats."""
        factor = repeats / self.repeats
        rows = [
            replace(
                row,
                sessions=round(row.sessions * factor),
                calls={name: n * factor for name, n in row.calls.items()},
                amounts={label: amount.times(factor) for label, amount in row.amounts.items()},
                ended={name: round(n * factor) for name, n in row.ended.items()},
            )
            for row in self.rows
        ]
        return replace(self, rows=rows, repeats=repeats)

    @property
    def total(self) -> Row:
        """All rows together."""
        amounts: dict[str, Amount] = {}
        for row in self.rows:
            for label, amount in row.amounts.items():
                amounts[label] = amounts.get(label, Amount()).plus(amount)
        return Row(
            model="all",
            strategy="all",
            sessions=sum(row.sessions for row in self.rows),
            calls=_added(row.calls for row in self.rows),
            amounts=amounts,
            untold=frozenset().union(*(row.untold for row in self.rows)),
            ended=_added(row.ended for row in self.rows),
            prices=self.rows[0].prices if self.rows else {},
        )

    def over(self) -> dict[str, float]:
        """The caps that the bench would run into, each with what it would take instead. Without caching, to be safe."""
        total = self.total
        needs = {
            "max_calls": total.amount.calls,
            "max_total_tokens": total.amount.prompt + total.amount.completion,
            "max_cost": total.cost(caching=False).known,
        }
        return {name: needs[name] for name, cap in self.caps.items() if needs[name] > cap}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "estimate": True,
            "repeats": self.repeats,
            "rehearsed_repeats": self.rehearsed,
            "reply_tokens": self.reply_tokens,
            "rows": [row.to_dict() for row in self.rows],
            "total": self.total.to_dict(),
            "caps": {name: {"cap": cap, "would_stop": name in self.over()} for name, cap in self.caps.items()},
            "notes": list(self.notes),
        }


def _added(counts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for count in counts:
        for name, value in count.items():
            total[name] = total.get(name, 0) + value
    return total


async def estimate(
    matrix: Matrix, *, reply_tokens: int | None = None, rehearsed: int = REHEARSED, cost_cap: float | None = None
) -> Estimate:
    """What this bench would take. Nothing is sent, but that an endpoint is asked for a window nobody stated.

    reply_tokens: length of every reply; None: `REPLY_TOKENS` for real models, while simulated ones answer themselves.
    cost_cap: of the configuration whose matrix this is, where the matrix goes without because a price is not known.
    Raises `ConfigError` for a window that is not known, `ScenarioError` for a script that cannot be.
    """
    config = matrix.config
    notes = [note for model in matrix.models for note in await _look(model)]
    try:
        stage = _stage(matrix, reply_tokens, min(rehearsed, config.repeats))
        found: dict[tuple[str, str], list[Ledger]] = {}
        for plan in stage.matrix.plans():
            found.setdefault((plan.model.label, plan.strategy_label), []).append(await stage.rehearse(plan))
    finally:
        for model in (*matrix.models, *([matrix.auxiliary] if matrix.auxiliary else []), *matrix.judges.values()):
            await model.close()
    factor = config.repeats / stage.matrix.config.repeats
    prices = matrix.prices()
    assumed = any(not _answers_itself(model, reply_tokens) for model in matrix.models)
    lengths = [config.turns or scenario.session.turns for scenario in matrix.scenarios]
    return Estimate(
        rows=[_row(model, strategy, ledgers, factor, prices) for (model, strategy), ledgers in found.items()],
        repeats=config.repeats,
        rehearsed=stage.matrix.config.repeats,
        reply_tokens=(reply_tokens or REPLY_TOKENS) if assumed else None,
        caps={name: value for name in CAPS if (value := getattr(config, name)) is not None}
        | ({} if cost_cap is None else {"max_cost": cost_cap}),
        notes=tuple(notes),
        turns=(min(lengths), max(lengths)),
    )


def _row(model: str, strategy: str, ledgers: list[Ledger], factor: float, prices: Mapping[str, Price | None]) -> Row:
    amounts: dict[str, Amount] = {}
    for ledger in ledgers:
        for label, amount in ledger.amounts.items():
            amounts[label] = amounts.get(label, Amount()).plus(amount)
    calls = _added(ledger.purposes for ledger in ledgers)
    return Row(
        model=model,
        strategy="controls" if strategy == CONTROL else strategy,
        sessions=round(len(ledgers) * factor),
        calls={name: count * factor for name, count in calls.items()},
        amounts={label: amount.times(factor) for label, amount in amounts.items()},
        untold=frozenset().union(*(ledger.untold for ledger in ledgers)),
        ended={name: round(n * factor) for name, n in Counter(ledger.ended for ledger in ledgers).items()},
        prices=prices,
        fires=None if strategy in _NOTHING_TO_DO else any(ledger.fired for ledger in ledgers),
        fullest=max((ledger.fullest for ledger in ledgers), default=0.0),
    )


async def _look(model: Model | AgentModel) -> list[str]:
    """Learn a window that is not known yet without fetching anything; what could not be learnt comes back as a note."""
    if isinstance(model, SimulatedModel):
        model.latency = 0.0
    if isinstance(model, AgentModel):
        return [f"{model.spec.label}: what an agent sends to its own model is not known; its calls are messages to it"]
    if not model.spec.id.startswith(("local/", "endpoint/")) or (
        model.window is not None and model.spec.id.startswith("endpoint/")
    ):
        return []
    try:
        await prepare(model, fetch=False)
    except ContextrotError as error:
        model.count_tokens = None
        return [f"{model.spec.label}: its window and tokens are not known here ({error})"]
    return []


def _answers_itself(model: Model | AgentModel | None, reply_tokens: int | None) -> bool:
    """Whether the model itself can be asked: it costs nothing, and nobody wants its replies to be of another length."""
    return isinstance(model, ExtractiveModel) or (isinstance(model, SimulatedModel) and reply_tokens is None)


class _Rehearsed(Session):
    """A session whose replies are made up: that they keep no rule is no news to its strategy."""

    def _write_verdict(self, line: Line, tested: Ask | Passive, verdict: Verdict, *rest: Any) -> None:
        super()._write_verdict(line, tested, Verdict(Outcome.PASS), *rest)


@dataclass
class _Stage:
    """The matrix with stand-ins in it, and the gates to them."""

    matrix: Matrix
    reply_tokens: int
    answers: dict[str, Gate]
    helpers: dict[str, Gate]
    judges: dict[str | None, Gate]
    agents: dict[str, AgentStandIn]
    own: frozenset[str]
    hints: Hints = field(default_factory=Hints)

    async def rehearse(self, plan: Plan) -> Ledger:
        """One session, replayed to its end."""
        ledger, label = Ledger(plan), plan.model.label
        if label in self.agents:
            model = cast(AgentModel, self.agents[label])
            asker = None
            if self.judges:
                asker = Caller(plan, self.judges[None], ledger, TokenCounter(), Silent(), None, self.judges)
            agent = AgentSession(plan, model, ledger, Silent(), asker)
            await (agent.controls() if plan.control else agent.run())
            return ledger
        gate = self.answers[label]
        counter = TokenCounter(gate.model.count_tokens)
        caller = Caller(plan, gate, ledger, counter, Silent(), self.helpers.get(label), self.judges)
        kind = ControlSession if plan.control else Session if label in self.own else _Rehearsed
        strategy = plan.strategy or load_strategy("full")
        await kind(caller, strategy, self.hints, RehearsedEmbedder(plan, ledger)).run()
        return ledger


def _stage(matrix: Matrix, reply_tokens: int | None, repeats: int) -> _Stage:
    length = reply_tokens or REPLY_TOKENS
    config = matrix.config.model_copy(update={"repeats": repeats})
    settings = {
        (scenario.id, model.spec.label): settings_of(config, scenario, model)
        for scenario in matrix.scenarios
        for model in matrix.models
    }
    answers: dict[str, Gate] = {}
    helpers: dict[str, Gate] = {}
    models: list[Any] = []
    own = set()
    agents = {model.spec.label: AgentStandIn(model, length) for model in matrix.models if isinstance(model, AgentModel)}
    for model in matrix.models:
        if isinstance(model, AgentModel):
            models.append(model)
            continue
        itself = _answers_itself(model, reply_tokens)
        stand_in = StandIn(model, "answers", length, own=itself)
        models.append(stand_in)
        label = model.spec.label
        answers[label] = Gate(stand_in)
        if itself:
            own.add(label)
        helper = matrix.auxiliary or model
        if matrix.auxiliary is not None or not itself:
            helpers[label] = Gate(StandIn(helper, "helps", length, own=_answers_itself(helper, None)))
    judges = {
        name: Gate(StandIn(judge, "judges", length, own=_answers_itself(judge, None)))
        for name, judge in matrix.judges.items()
    }
    stage = replace(matrix, config=config, models=models, settings=settings)
    return _Stage(stage, length, answers, helpers, judges, agents, frozenset(own))
