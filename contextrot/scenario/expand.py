"""A scenario into the words of one session: `expand(scenario, seed, repeat) -> Script`.

Nothing here knows a strategy or a model: the same seed and repeat say the same words to each of them, so that sessions
can be compared in pairs. Texts go through byte for byte; `{value}` in a fact's text and reply is the only substitution.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from contextrot.checks import Check, FactState
from contextrot.errors import ScenarioError
from contextrot.scenario.canned import CannedReplies, CannedTools
from contextrot.scenario.filler import generate
from contextrot.scenario.rotation import Question, questions, rotated
from contextrot.scenario.schema import Constraint, Distractor, Fact, HistoryArm, Item, Scenario
from contextrot.scenario.script import Ask, Control, Passive, Script, ScriptTurn, Subject


def expand(
    scenario: Scenario, *, seed: int, repeat: int, turns: int | None = None, history: HistoryArm | None = None
) -> Script:
    """The script of one session.

    `turns` makes the session shorter or longer than the scenario says: statements and probes beyond its end are left
    out. `history` overrides the scenario's history arm. Deterministic in (scenario, seed, repeat, turns, history).

    Raises `ScenarioError` when nothing is left to test, two things would be said at one turn, or a gold history has no
    reply that keeps the rules; also for a scenario with a grid, whose `cells()` are expanded one by one.
    """
    if scenario.grid is not None:
        raise ScenarioError(f"scenario `{scenario.id}` has a grid: expand the scenarios that its cells() gives")
    length = scenario.session.turns if turns is None else turns
    return _Expansion(scenario, seed, repeat, length, history or scenario.session.history).script()


@dataclass(frozen=True, slots=True)
class _Statement:
    """Something said at a turn, with the reply written for it, if any. A distractor is no subject of any probe."""

    turn: int
    text: str
    subject: Subject | None
    reply: str | None
    tags: tuple[str, ...]


class _Expansion:
    """The values drawn for one session, and the script made from them."""

    def __init__(self, scenario: Scenario, seed: int, repeat: int, turns: int, history: HistoryArm) -> None:
        if turns < 1:
            raise ScenarioError(f"a session has at least 1 turn, not {turns}")
        self.scenario, self.seed, self.turns, self.history = scenario, seed, turns, history
        # The cells of a grid say the same words, but for what their axes change.
        self.repeat, self.key = repeat, f"{scenario.family}:{seed}:{repeat}"
        rng = random.Random(self.key)
        self.values = {fact.id: _draw(fact, rng) for fact in scenario.facts}
        apart = random.Random(f"{self.key}:distractors")  # with or without them, all else is the same
        self.mistakable = {other.id: _draw(other, apart) for other in scenario.distractors}
        self.tools = CannedTools(scenario, self.key)
        self.replies = CannedReplies(scenario, history)
        self.items = list(scenario.items)
        if scenario.filler.order == "shuffled":
            rng.shuffle(self.items)
        if scenario.filler.transcript is not None and not self.items:
            raise ScenarioError(
                f"scenario `{scenario.id}` fills its turns from {scenario.filler.transcript}; "
                "read it with load_scenario"
            )

    def script(self) -> Script:
        """Everything put together."""
        scenario = self.scenario
        statements: dict[int, list[_Statement]] = {}
        for statement in self._statements():
            statements.setdefault(statement.turn, []).append(statement)
        forks: dict[int, list[Ask]] = {}
        inline: dict[int, Ask] = {}
        fresh: list[Ask] = []
        for question, turn in self._asked():
            if turn == 0:
                fresh.append(self._ask(question, 0))
            elif question.mode == "fork":
                forks.setdefault(turn, []).append(self._ask(question, turn))
            elif turn in inline or turn in statements:
                raise ScenarioError(
                    f"scenario `{scenario.id}`: with {self.turns} turns the inline probe `{question.id}` falls "
                    f"on turn {turn}, where something else is said"
                )
            else:
                inline[turn] = self._ask(question, turn)
        passive = tuple(self._passive())
        if not (fresh or forks or inline or passive):
            raise ScenarioError(
                f"scenario `{scenario.id}`: with {self.turns} turns no probe is reached, so nothing is tested"
            )
        turns = tuple(self._turns(statements, inline, forks))
        return Script(
            scenario=scenario.id,
            seed=self.seed,
            history=self.history,
            system=self._system(),
            system_states=tuple(self._rule(rule) for rule in scenario.constraints if rule.turn == 0),
            turns=turns,
            fresh=tuple(fresh),
            passive=passive,
            tools=self.tools.tools(),
            controls=tuple(self._controls()),
            max_tool_rounds=scenario.session.max_tool_rounds,
        )

    def _system(self, without: str | None = None) -> str | None:
        """The system prompt with the rules placed there, but for the one named."""
        rules = [rule.text for rule in self.scenario.constraints if rule.turn == 0 and rule.id != without]
        parts = [*([self.scenario.system] if self.scenario.system is not None else []), *rules]
        return "\n\n".join(parts) if parts else None

    def _statements(self) -> Iterator[_Statement]:
        """All that is said in user turns up to the session's end: rules, facts, distractors, as in the file."""
        for rule in self.scenario.constraints:
            if 1 <= rule.turn <= self.turns:
                yield _Statement(rule.turn, rule.text, self._rule(rule), rule.reply, rule.tags)
        for fact in self.scenario.facts:
            for position, turn in enumerate(fact.turns):
                if turn <= self.turns:
                    stated = self._stated(fact, position)
                    reply = _filled(fact.reply, self.values[fact.id][position])
                    yield _Statement(turn, stated.statement, stated, reply, fact.tags)
        for other in self.scenario.distractors:
            for turn, value in zip(sorted(other.turns), self.mistakable[other.id], strict=True):
                if turn <= self.turns:
                    text = other.text.replace("{value}", value)
                    yield _Statement(turn, text, None, _filled(other.reply, value), other.tags)

    def _rule(self, rule: Constraint) -> Subject:
        return Subject(rule.id, "constraint", rule.text, rule.text, rule.turn, rule.pinned)

    def _stated(self, fact: Fact, position: int) -> Subject:
        value = self.values[fact.id][position]
        text = fact.text.replace("{value}", value)
        return Subject(fact.id, "fact", text, value, fact.turns[position], fact.pinned)

    def _facts_at(self, turn: int) -> dict[str, FactState]:
        """Every fact stated so far, its value, those it replaced, and those that distractors have given till now."""
        near = tuple(
            value
            for other in self.scenario.distractors
            for said, value in zip(sorted(other.turns), self.mistakable[other.id], strict=True)
            if said <= turn
        )
        states = {}
        for fact in self.scenario.facts:
            said = sum(1 for stated in fact.turns if stated <= turn)
            if said:
                values = self.values[fact.id][:said]
                states[fact.id] = FactState(values[-1], tuple(values[:-1]), near)
        return states

    def _first_states(self, check: Check) -> dict[str, FactState]:
        """The facts a check looks up, as they are in a fresh session: the first value, nothing superseded."""
        return {name: FactState(self.values[self._fact(name).id][0]) for name in check.fact_ids()}

    def _asked(self) -> Iterator[tuple[Question, int]]:
        """Every probe's question with each turn it is asked at; never before what any of its questions asks for."""
        for probe in self.scenario.probes:
            asked = questions(self.scenario, probe)
            needed = (turn for question in asked for turn in self._stated_at(question))
            said = max((turn for turn in needed if turn > 1), default=1)
            reached = (turn for turn in probe.turns(self.turns) if turn == 0 or turn >= said)
            for place, turn in enumerate(reached):
                yield rotated(asked, place, self.repeat), turn

    def _stated_at(self, question: Question) -> Iterator[int]:
        for rule in self.scenario.constraints:
            if rule.id == question.constraint:
                yield rule.turn
        for name in question.facts:
            yield self._fact(name).at

    def _ask(self, question: Question, turn: int) -> Ask:
        check = question.check
        facts = self._facts_at(turn) if turn else self._first_states(check)
        subjects = self._subjects(question.constraint, question.facts)
        return Ask(
            id=question.id,
            turn=turn,
            text=question.ask if turn else self._with_statements(question.ask, subjects),
            check=check,
            mode=question.mode if turn else "fork",
            subject=self._subject_at(question, turn),
            facts={name: facts[name] for name in check.fact_ids()},
            item=question.item,
        )

    def _subject_at(self, question: Question, turn: int) -> Subject | None:
        """What the question tests at this turn: its rule, else the first fact it rests on, in its current value.

        The other facts it rests on are needed as well: with one of them out of view nobody could answer.
        """
        tested = [self._rule(rule) for rule in self.scenario.constraints if rule.id == question.constraint]
        for name in question.facts:
            fact = self._fact(name)
            tested.append(self._stated(fact, max(0, sum(1 for stated in fact.turns if stated <= turn) - 1)))
        return replace(tested[0], also=tuple(other.evidence for other in tested[1:])) if tested else None

    def _subjects(self, constraint: str | None, facts: Sequence[str]) -> list[Subject]:
        """The rule and the facts (first values) that an answer rests on."""
        rules = [self._rule(rule) for rule in self.scenario.constraints if rule.id == constraint]
        return rules + [self._stated(self._fact(name), 0) for name in facts]

    def _with_statements(self, ask: str, subjects: Sequence[Subject]) -> str:
        """The question with what it rests on right before it. What the system prompt says is not said again."""
        return "\n\n".join([*(subject.statement for subject in subjects if subject.turn > 0), ask])

    def _passive(self) -> Iterator[Passive]:
        for rule in self.scenario.constraints:
            if rule.check is not None and rule.turn <= self.turns:
                yield Passive(self._rule(rule), rule.check)

    def _controls(self) -> Iterator[Control]:
        """Ceiling and floor of every question of a probe, and of every checked rule that has no probe of its own."""
        reached = {question.id for question, _ in self._asked()}
        probed = set()
        for probe in self.scenario.probes:
            if probe.id in reached:
                probed.add(probe.constraint)
                for question in questions(self.scenario, probe) if probe.controls else ():
                    subjects = self._subjects(question.constraint, question.facts)
                    yield from self._pair(probe.id, question.item, question.ask, question.check, subjects)
        for rule in self.scenario.constraints:
            if rule.check is not None and rule.id not in probed and rule.turn <= self.turns:
                yield from self._pair(rule.id, "", self._filler(0).user, rule.check, [self._rule(rule)])

    def _pair(self, name: str, item: str, ask: str, check: Check, subjects: Sequence[Subject]) -> Iterator[Control]:
        ceiling = Control(
            id=name,
            kind="ceiling",
            subject_id=subjects[0].id if subjects else None,
            system=self._system(),
            text=self._with_statements(ask, subjects),
            check=check,
            facts=self._first_states(check),
            evidence=subjects[0].evidence if subjects else None,
            item=item,
        )
        yield ceiling
        if subjects:
            # Only what is tested is left unsaid; the other things the answer rests on are still said.
            text = self._with_statements(ask, subjects[1:])
            yield replace(ceiling, kind="floor", system=self._system(without=subjects[0].id), text=text)

    def _turns(
        self, statements: Mapping[int, list[_Statement]], inline: Mapping[int, Ask], forks: Mapping[int, list[Ask]]
    ) -> Iterator[ScriptTurn]:
        canned = self.history != "live"
        fillers, task = 0, ""  # a statement or an inline probe belongs to the task of the filler before it
        for turn in range(1, self.turns + 1):
            asked = tuple(forks.get(turn, ()))
            said = statements.get(turn)
            if said:
                subjects = tuple(statement.subject for statement in said if statement.subject is not None)
                replies = [statement.reply for statement in said if statement.reply is not None]
                yield ScriptTurn(
                    turn=turn,
                    user="\n\n".join(statement.text for statement in said),
                    origin=_origin(subjects),
                    states=subjects,
                    reply=self.replies.to_statements(turn, replies) if canned else None,
                    forks=asked,
                    tags=frozenset(tag for statement in said for tag in statement.tags),
                    task=task,
                )
            elif turn in inline:
                # The reply to an inline probe is the model's own under every history: it is what is being tested.
                probe = inline[turn]
                yield ScriptTurn(turn, probe.text, "probe", inline=probe, forks=asked, task=task)
            else:
                item = self._filler(fillers)
                task = self._task(item, fillers)
                calls = self.tools.calls(item, fillers) if canned else ()
                yield ScriptTurn(
                    turn=turn,
                    user=item.user,
                    origin="filler",
                    reply=self.replies.to_work(turn, item, fillers, calls) if canned else None,
                    calls=calls,
                    forks=asked,
                    tags=frozenset(item.tags),
                    task=task,
                )
                fillers += 1

    def _filler(self, index: int) -> Item:
        """The `index`-th filler turn. Items start again when they run out, if nothing is to go on then."""
        filler = self.scenario.filler
        if self.items and (filler.then is None or index < len(self.items)):
            return self.items[index % len(self.items)]
        kind = filler.kind or filler.then or "notes"
        user, reply = generate(kind, self.key, index - len(self.items), filler.tokens_per_turn)
        return Item(user=user, assistant=reply)

    def _task(self, item: Item, index: int) -> str:
        every = self.scenario.filler.task_turns
        return f"task-{index // every + 1}" if every else item.task or ""

    def _fact(self, name: str) -> Fact:
        fact = next((fact for fact in self.scenario.facts if fact.id == name), None)
        if fact is None:
            raise ScenarioError(
                f"a check of scenario `{self.scenario.id}` names the fact `{name}`, which does not exist"
            )
        return fact


def _origin(subjects: Sequence[Subject]) -> Literal["constraint", "fact", "distractor"]:
    """Who put a statement's message there: rules before facts before what is only there to distract."""
    if not subjects:
        return "distractor"
    return "constraint" if any(subject.kind == "constraint" for subject in subjects) else "fact"


def _draw(said: Fact | Distractor, rng: random.Random) -> list[str]:
    """One value for every time something is stated, none twice."""
    if len(said.values) < len(said.turns):
        kind = type(said).__name__.lower()
        raise ScenarioError(f"{kind} `{said.id}` is stated {len(said.turns)} times but has {len(said.values)} values")
    return rng.sample(said.values, len(said.turns))


def _filled(reply: str | None, value: str) -> str | None:
    return None if reply is None else reply.replace("{value}", value)
