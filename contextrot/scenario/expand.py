"""A scenario into the words of one session: `expand(scenario, seed, repeat) -> Script`.

Nothing here knows a strategy or a model: the same seed and repeat say the same words to each of them, so that sessions
can be compared in pairs. Texts go through byte for byte; `{value}` in a fact's text and reply is the only substitution.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from contextrot.checks import Check, FactState, grade
from contextrot.errors import ScenarioError
from contextrot.messages import Reply, Tool, ToolCall
from contextrot.outcomes import Outcome
from contextrot.scenario.filler import generate
from contextrot.scenario.schema import Constraint, Fact, HistoryArm, Item, Probe, Scenario
from contextrot.scenario.script import Ask, CannedCall, Control, Passive, Script, ScriptTurn, Subject

#: What a canned assistant says to a statement that has no `reply` of its own.
ACKNOWLEDGEMENT = "Understood."
#: What a tool without canned results answers.
DEFAULT_RESULT = '{"status": "ok"}'


def expand(
    scenario: Scenario, *, seed: int, repeat: int, turns: int | None = None, history: HistoryArm | None = None
) -> Script:
    """The script of one session.

    `turns` makes the session shorter or longer than the scenario says: statements and probes beyond its end are left
    out. `history` overrides the scenario's history arm. Deterministic in (scenario, seed, repeat, turns, history).

    Raises `ScenarioError` when nothing is left to test, two things would be said at one turn, or a gold history has no
    reply that keeps the rules.
    """
    length = scenario.session.turns if turns is None else turns
    return _Expansion(scenario, seed, repeat, length, history or scenario.session.history).script()


@dataclass(frozen=True, slots=True)
class _Statement:
    """Something said at a turn, with the reply written for it, if any."""

    subject: Subject
    reply: str | None
    tags: tuple[str, ...]


class _Expansion:
    """The values drawn for one session, and the script made from them."""

    def __init__(self, scenario: Scenario, seed: int, repeat: int, turns: int, history: HistoryArm) -> None:
        if turns < 1:
            raise ScenarioError(f"a session has at least 1 turn, not {turns}")
        self.scenario, self.seed, self.turns, self.history = scenario, seed, turns, history
        self.key = f"{scenario.id}:{seed}:{repeat}"
        rng = random.Random(self.key)
        self.values = {fact.id: _draw(fact, rng) for fact in scenario.facts}
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
            statements.setdefault(statement.subject.turn, []).append(statement)
        forks: dict[int, list[Ask]] = {}
        inline: dict[int, Ask] = {}
        fresh: list[Ask] = []
        for probe, turn in self._asked():
            if turn == 0:
                fresh.append(self._ask(probe, 0))
            elif probe.mode == "fork":
                forks.setdefault(turn, []).append(self._ask(probe, turn))
            elif turn in inline or turn in statements:
                raise ScenarioError(
                    f"scenario `{scenario.id}`: with {self.turns} turns the inline probe `{probe.id}` falls "
                    f"on turn {turn}, where something else is said"
                )
            else:
                inline[turn] = self._ask(probe, turn)
        passive = tuple(self._passive())
        if not (fresh or forks or inline or passive):
            raise ScenarioError(
                f"scenario `{scenario.id}`: with {self.turns} turns no probe is reached, so nothing is tested"
            )
        return Script(
            scenario=scenario.id,
            seed=self.seed,
            history=self.history,
            system=self._system(),
            system_states=tuple(self._rule(rule) for rule in scenario.constraints if rule.turn == 0),
            turns=tuple(self._turns(statements, inline, forks)),
            fresh=tuple(fresh),
            passive=passive,
            tools=tuple(
                Tool(tool.name, tool.description, tool.parameters, tool.returns or (DEFAULT_RESULT,))
                for tool in scenario.tools
            ),
            controls=tuple(self._controls()),
            max_tool_rounds=scenario.session.max_tool_rounds,
        )

    def _system(self, without: str | None = None) -> str | None:
        """The system prompt with the rules placed there, but for the one named."""
        rules = [rule.text for rule in self.scenario.constraints if rule.turn == 0 and rule.id != without]
        parts = [*([self.scenario.system] if self.scenario.system is not None else []), *rules]
        return "\n\n".join(parts) if parts else None

    def _statements(self) -> Iterator[_Statement]:
        """All that is said in user turns up to the session's end: rules first, then facts, in the order of the file."""
        for rule in self.scenario.constraints:
            if 1 <= rule.turn <= self.turns:
                yield _Statement(self._rule(rule), rule.reply, rule.tags)
        for fact in self.scenario.facts:
            for position, turn in enumerate(fact.turns):
                if turn <= self.turns:
                    reply = _filled(fact.reply, self.values[fact.id][position]) if fact.reply is not None else None
                    yield _Statement(self._stated(fact, position), reply, fact.tags)

    def _rule(self, rule: Constraint) -> Subject:
        return Subject(rule.id, "constraint", rule.text, rule.text, rule.turn, rule.pinned)

    def _stated(self, fact: Fact, position: int) -> Subject:
        value = self.values[fact.id][position]
        return Subject(fact.id, "fact", _filled(fact.text, value), value, fact.turns[position], fact.pinned)

    def _facts_at(self, turn: int) -> dict[str, FactState]:
        """Every fact stated so far, its value and those it replaced."""
        states = {}
        for fact in self.scenario.facts:
            said = sum(1 for stated in fact.turns if stated <= turn)
            if said:
                values = self.values[fact.id][:said]
                states[fact.id] = FactState(values[-1], tuple(values[:-1]))
        return states

    def _first_states(self, check: Check) -> dict[str, FactState]:
        """The facts a check looks up, as they are in a fresh session: the first value, nothing superseded."""
        return {name: FactState(self.values[self._fact(name).id][0]) for name in check.fact_ids()}

    def _asked(self) -> Iterator[tuple[Probe, int]]:
        """Every probe with each turn it is asked at; never before what it asks for was said."""
        for probe in self.scenario.probes:
            said = max((stated for stated in self._stated_at(probe) if stated > 1), default=1)
            for turn in probe.turns(self.turns):
                if turn == 0 or turn >= said:
                    yield probe, turn

    def _stated_at(self, probe: Probe) -> Iterator[int]:
        for rule in self.scenario.constraints:
            if rule.id == probe.constraint:
                yield rule.turn
        for name in self._check(probe).fact_ids():
            yield self._fact(name).at

    def _ask(self, probe: Probe, turn: int) -> Ask:
        check = self._check(probe)
        facts = self._facts_at(turn) if turn else self._first_states(check)
        text = probe.ask if turn else self._with_statements(probe.ask, self._subjects(probe.constraint, check))
        return Ask(
            id=probe.id,
            turn=turn,
            text=text,
            check=check,
            mode=probe.mode if turn else "fork",
            subject=self._subject_at(probe, check, turn),
            facts={name: facts[name] for name in check.fact_ids()},
        )

    def _subject_at(self, probe: Probe, check: Check, turn: int) -> Subject | None:
        """What the probe tests at this turn: its rule, else the first fact of its check, in its current value."""
        rule = next((rule for rule in self.scenario.constraints if rule.id == probe.constraint), None)
        if rule is not None:
            return self._rule(rule)
        for name in check.fact_ids():
            fact = self._fact(name)
            return self._stated(fact, max(0, sum(1 for stated in fact.turns if stated <= turn) - 1))
        return None

    def _subjects(self, constraint: str | None, check: Check) -> list[Subject]:
        """The rule and the facts (first values) that an answer rests on."""
        rules = [self._rule(rule) for rule in self.scenario.constraints if rule.id == constraint]
        return rules + [self._stated(self._fact(name), 0) for name in check.fact_ids()]

    def _with_statements(self, ask: str, subjects: Sequence[Subject]) -> str:
        """The question with what it rests on right before it. What the system prompt says is not said again."""
        return "\n\n".join([*(subject.statement for subject in subjects if subject.turn > 0), ask])

    def _passive(self) -> Iterator[Passive]:
        for rule in self.scenario.constraints:
            if rule.check is not None and rule.turn <= self.turns:
                yield Passive(self._rule(rule), rule.check)

    def _controls(self) -> Iterator[Control]:
        """Ceiling and floor of every probe, and of every checked rule that has no probe of its own."""
        probed = set()
        asked = {probe.id: probe for probe, _ in self._asked()}
        for probe in asked.values():
            probed.add(probe.constraint)
            yield from self._pair(probe.id, probe.ask, self._check(probe), probe.constraint)
        for rule in self.scenario.constraints:
            if rule.check is not None and rule.id not in probed and rule.turn <= self.turns:
                yield from self._pair(rule.id, self._filler(0).user, rule.check, rule.id)

    def _pair(self, name: str, ask: str, check: Check, constraint: str | None) -> Iterator[Control]:
        subjects = self._subjects(constraint, check)
        ceiling = Control(
            id=name,
            kind="ceiling",
            subject_id=subjects[0].id if subjects else None,
            system=self._system(),
            text=self._with_statements(ask, subjects),
            check=check,
            facts=self._first_states(check),
            evidence=subjects[0].evidence if subjects else None,
        )
        yield ceiling
        if subjects:
            # Only what is tested is left unsaid; the other things the answer rests on are still said.
            text = self._with_statements(ask, subjects[1:])
            yield replace(ceiling, kind="floor", system=self._system(without=constraint), text=text)

    def _turns(
        self, statements: Mapping[int, list[_Statement]], inline: Mapping[int, Ask], forks: Mapping[int, list[Ask]]
    ) -> Iterator[ScriptTurn]:
        canned = self.history != "live"
        fillers, task = 0, ""  # a statement or an inline probe belongs to the task of the filler before it
        for turn in range(1, self.turns + 1):
            asked = tuple(forks.get(turn, ()))
            said = statements.get(turn)
            if said:
                subjects = tuple(statement.subject for statement in said)
                yield ScriptTurn(
                    turn=turn,
                    user="\n\n".join(subject.statement for subject in subjects),
                    origin="constraint" if any(subject.kind == "constraint" for subject in subjects) else "fact",
                    states=subjects,
                    reply=self._acknowledgement(turn, said) if canned else None,
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
                yield ScriptTurn(
                    turn=turn,
                    user=item.user,
                    origin="filler",
                    reply=self._canned(turn, item, fillers) if canned else None,
                    calls=_calls(item) if canned else (),
                    forks=asked,
                    tags=frozenset(item.tags),
                    task=task,
                )
                fillers += 1

    def _filler(self, index: int) -> Item:
        """The `index`-th filler turn. Items start again when they run out."""
        if self.items:
            return self.items[index % len(self.items)]
        kind = self.scenario.filler.kind or "notes"
        user, reply = generate(kind, self.key, index, self.scenario.filler.tokens_per_turn)
        return Item(user=user, assistant=reply)

    def _task(self, item: Item, index: int) -> str:
        every = self.scenario.filler.task_turns
        return f"task-{index // every + 1}" if every else item.task or ""

    def _canned(self, turn: int, item: Item, index: int) -> str:
        scripted = item.assistant or ACKNOWLEDGEMENT
        if self.history == "scripted":
            return scripted
        calls = tuple(ToolCall(f"gold-{n}", call.name, call.arguments) for n, call in enumerate(_calls(item)))
        return self._gold(turn, item.gold, index, Reply(scripted, calls))

    def _acknowledgement(self, turn: int, said: Sequence[_Statement]) -> str:
        written = "\n\n".join(statement.reply for statement in said if statement.reply is not None)
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

    def _check(self, probe: Probe) -> Check:
        check = self.scenario.check_of(probe)
        if check is None:
            raise ScenarioError(f"probe `{probe.id}` of scenario `{self.scenario.id}` has no check")
        return check

    def _fact(self, name: str) -> Fact:
        fact = next((fact for fact in self.scenario.facts if fact.id == name), None)
        if fact is None:
            raise ScenarioError(
                f"a check of scenario `{self.scenario.id}` names the fact `{name}`, which does not exist"
            )
        return fact


def _draw(fact: Fact, rng: random.Random) -> list[str]:
    """One value for every time the fact is stated, none twice."""
    if len(fact.values) < len(fact.turns):
        raise ScenarioError(f"fact `{fact.id}` is stated {len(fact.turns)} times but has {len(fact.values)} values")
    return rng.sample(fact.values, len(fact.turns))


def _filled(text: str, value: str) -> str:
    return text.replace("{value}", value)


def _calls(item: Item) -> tuple[CannedCall, ...]:
    return tuple(
        CannedCall(
            call.name,
            call.arguments if isinstance(call.arguments, str) else orjson.dumps(call.arguments).decode(),
            call.result,
        )
        for call in item.tool_calls
    )
