"""Judges at work: who judges for a run, and asking them before a reply is graded. Grading itself stays pure.

A judge's calls are records of the session they belong to (purpose `judge`), so that resume replays them like any other;
they are no part of its log, its views or its occupancy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import orjson

from contextrot.bench.caller import Caller
from contextrot.bench.grading import merge_rounds
from contextrot.checks import grade, open_question
from contextrot.checks.base import Check, FactState
from contextrot.checks.judge import (
    VOTE_TEMPERATURE,
    VOTE_TOKENS,
    Judge,
    Vote,
    decided,
    judge_messages,
    read_vote,
    verdict_of,
)
from contextrot.config import BenchConfig
from contextrot.errors import ConfigError, ContextOverflowError, MissingKeyError, ModelError
from contextrot.messages import Message, Reply
from contextrot.models import AgentModel, Model, ModelSpec, create_model
from contextrot.models.base import Call, Truth
from contextrot.outcomes import Outcome, Verdict
from contextrot.scenario import Scenario


class Panel(Protocol):
    """Casts votes: asks the model of one judge with these messages. Raises `ModelError`."""

    async def vote(self, judge: Judge, messages: Sequence[Message], number: int) -> Reply:
        """The answer of vote `number`, counted from 0."""


class SessionPanel:
    """The panel of one session at one turn: its votes are calls of that session."""

    def __init__(self, caller: Caller, turn: int, branch: str | None) -> None:
        self._caller, self._turn, self._branch = caller, turn, branch

    async def vote(self, judge: Judge, messages: Sequence[Message], number: int) -> Reply:
        """One vote, recorded. Raises the `ModelError` that ended the call, or `ConfigError` for want of a key."""
        gate = self._caller.judges[judge.model]
        try:
            answer = await self._caller.ask(
                messages,
                turn=self._turn,
                branch=self._branch,
                purpose="judge",
                round_=number,
                hint=known_opinion(judge) if gate.model.simulated else None,
                max_tokens=VOTE_TOKENS,
                gate=gate,
                temperature=vote_temperature(number),
            )
        except MissingKeyError as missing:
            raise ConfigError(f"judge: {missing}") from missing
        return answer.reply


async def judged(
    replies: Sequence[Reply], check: Check, facts: Mapping[str, FactState], *, question: str, panel: Panel
) -> Verdict:
    """The check's verdict on what the model answered to `question`; judges are asked where their opinion decides.

    A judge that cannot be asked is the outcome `error`: an outage of the judge ends no session that it only watches.
    """
    reply = merge_rounds(replies, check)
    answers: dict[Check, Verdict] = {}
    if any(leaf.asks for leaf in check.leaves()):
        while (judge := open_question(check.resolve(answers), reply, facts)) is not None:
            assert isinstance(judge, Judge)
            answers[judge] = await _opinion(judge, question, reply, facts, panel)
    return grade(check.resolve(answers), reply, facts)


async def _opinion(judge: Judge, question: str, reply: Reply, facts: Mapping[str, FactState], panel: Panel) -> Verdict:
    messages = judge_messages(judge, question, reply, facts)
    votes: list[Vote] = []
    while not decided(votes, judge.votes):
        try:
            votes.append(read_vote(await panel.vote(judge, messages, len(votes))))
        except ContextOverflowError:
            votes.append(Vote(None, "the reply is too long for the judge's window"))
        except ModelError as error:
            return Verdict(Outcome.ERROR, f"the judge could not be asked: {error}")
    return verdict_of(votes, judge.votes)


def vote_temperature(number: int) -> float:
    """The first vote takes the likeliest words, the others are drawn, so that they can differ."""
    return 0.0 if number == 0 else VOTE_TEMPERATURE


def known_opinion(judge: Judge) -> Truth:
    """What a simulated judge is told: a reply that holds the words that keep to the rubric passes, any other fails."""

    def say(obeyed: tuple[bool, ...]) -> Reply:
        verdict = {"verdict": "pass" if obeyed[0] else "fail", "reason": "simulated"}
        return Reply(orjson.dumps(verdict).decode(), finish_reason="stop")

    return Truth((json.dumps(judge.kept, ensure_ascii=False)[1:-1],), say)


class AgentJudge:
    """A user's own agent as a judge: each vote is put to a fresh one, as one text."""

    simulated = False
    parallel: int | None = None
    count_tokens: Callable[[str], int] | None = None

    def __init__(self, agent: AgentModel) -> None:
        self.spec, self.window, self.price, self._agent = agent.spec, agent.window, agent.price, agent

    async def complete(self, call: Call) -> Reply:
        """What the agent says. Raises `ModelError`."""
        agent = self._agent.new_session()
        try:
            return await agent.feed("\n\n".join(message.text for message in call.messages), call.timeout)
        finally:
            await agent.close()

    async def close(self) -> None:
        """Nothing is held open."""


def judges_in(scenario: Scenario) -> list[Judge]:
    """The judges among a scenario's checks, those inside others too."""
    checks = [rule.check for rule in scenario.constraints]
    for probe in scenario.probes:
        checks += [probe.check, *(item.check for item in probe.items or ())]
    return [leaf for check in checks if check is not None for leaf in check.leaves() if isinstance(leaf, Judge)]


def load_judges(
    config: BenchConfig, scenarios: Iterable[Scenario], models: Iterable[Model | AgentModel]
) -> dict[str | None, Model]:
    """The models that judge, by the name a check gives; None is the bench's own. Empty when no scenario has a judge.

    A judge that is a model of the matrix is that very model. Raises `ConfigError` when one is needed and none is named.
    """
    needed = [(scenario.id, judge) for scenario in scenarios for judge in judges_in(scenario)]
    if not needed:
        return {}
    if config.judge is None:
        raise ConfigError(
            f"scenario {needed[0][0]!r} has a `judge` check, and no judge is named: add --judge MODEL (or `judge:` in "
            "contextrot.yaml; its calls are made on top of the bench's), or leave the scenario out"
        )
    known = [model for model in models if not isinstance(model, AgentModel)]
    judges: dict[str | None, Model] = {}
    own: dict[str | None, ModelSpec] = {
        judge.model: ModelSpec(judge.model, judge.model) for _, judge in needed if judge.model
    }
    for name, spec in {None: config.judge.to_spec(), **own}.items():
        model = next((model for model in known if model.spec == spec), None)
        if model is None:
            model = create_judge(spec)
            known.append(model)
        judges[name] = model
    return judges


def create_judge(spec: ModelSpec) -> Model:
    """The model of a judge. Raises `ConfigError`."""
    model = create_model(spec)
    return AgentJudge(model) if isinstance(model, AgentModel) else model
