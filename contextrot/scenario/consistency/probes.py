"""What cannot be meant about probes: turns that never come, questions before their answer, values alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from contextrot.checks import Check, FactState, grade
from contextrot.messages import Reply
from contextrot.outcomes import Outcome
from contextrot.scenario.consistency.findings import Finding, Path, fact_named, unknown_facts, unknown_names
from contextrot.scenario.problems import did_you_mean
from contextrot.scenario.schema import Constraint, Every, Fact, Probe, ProbeItem, Scenario

#: Pairs of values of one fact that are tried against a recall check; the rest of a long list is taken on trust.
MAX_PAIRS = 400


def probe_findings(scenario: Scenario, probe: Probe, path: Path) -> Iterator[Finding]:
    """What a probe says that cannot be meant, whatever the length of the session."""
    rule = next((rule for rule in scenario.constraints if rule.id == probe.constraint), None)
    if probe.constraint is not None and rule is None:
        names = (rule.id for rule in scenario.constraints)
        yield Finding(
            (*path, "constraint"),
            f"probe `{probe.id}` names the constraint `{probe.constraint}`, which does not exist"
            f"{did_you_mean(probe.constraint, names)}",
            (("constraints", "*"),),
        )
    yield from unknown_facts(scenario, probe.facts, f"probe `{probe.id}`", (*path, "facts"))
    yield from _duplicate_items(probe, path)
    for item, place in _items(probe, path):
        check = scenario.check_of(probe, item)
        name = f"item `{item.id}` of probe `{probe.id}`" if item is not None else f"probe `{probe.id}`"
        if item is not None and item.ask is None and probe.ask is None:
            yield Finding(place, f"{name} has no `ask`; give it one, or the probe one for all its items")
        if check is None and probe.constraint is None:
            yield Finding(place, f"{name} has no check; add one, or name the `constraint` whose check it uses")
        elif check is None and rule is not None:
            yield Finding(
                place,
                f"neither {name} nor its constraint `{rule.id}` has a check; add one to either",
                (("constraints", scenario.constraints.index(rule)),),
            )
        own = item.check if item is not None else probe.check
        if own is not None:
            yield from unknown_names(scenario, own, (*place, "check"))
        for fact_id in check.fact_ids() if check is not None else ():
            fact = fact_named(scenario, fact_id)
            for part in check.leaves() if check is not None and fact is not None else ():
                if fact is not None and part.type_name == "recall" and fact_id in part.fact_ids():
                    yield from _ambiguous_values(fact, part, probe, ("facts", scenario.facts.index(fact), "values"))
    if probe.items and probe.check is not None:
        yield from unknown_names(scenario, probe.check, (*path, "check"))
    if any(rule.id == probe.id and probe.constraint != rule.id for rule in scenario.constraints):
        yield Finding(
            (*path, "id"),
            f"probe `{probe.id}` has the name of a constraint it does not test; results go by name, so rename it",
        )


def probe_timing(scenario: Scenario, probe: Probe, path: Path, longest: int | None) -> Iterator[Finding]:
    """Whether each turn of a probe comes, and after what it asks for was said. `longest` as in `_schedule`."""
    rule = next((rule for rule in scenario.constraints if rule.id == probe.constraint), None)
    yield from _schedule(scenario, probe, path, longest)
    told: set[str] = set()
    for item, _ in _items(probe, path):
        # Rotation brings every item to every turn, so one that is too early makes the probe so.
        for finding in _too_early(scenario, probe, rule, scenario.check_of(probe, item), path):
            if finding.sentence not in told:
                yield finding
            told.add(finding.sentence)


def _items(probe: Probe, path: Path) -> Iterator[tuple[ProbeItem | None, Path]]:
    """The questions of a probe with where they stand: its items, or the probe itself."""
    if not probe.items:
        yield None, path
    for index, item in enumerate(probe.items or ()):
        yield item, (*path, "items", index)


def _duplicate_items(probe: Probe, path: Path) -> Iterator[Finding]:
    seen: set[str] = set()
    for item, place in _items(probe, path):
        if item is not None and item.id in seen:
            yield Finding(
                (*place, "id"), f"a second item of probe `{probe.id}` is called `{item.id}` (duplicate id); rename it"
            )
        seen.add(item.id if item is not None else "")


def _schedule(scenario: Scenario, probe: Probe, path: Path, longest: int | None) -> Iterator[Finding]:
    """Turns that are never reached. In a cell of a grid over turns (`longest` is its largest) single ones may be."""
    turns = scenario.session.turns
    if isinstance(probe.at, Every):
        start, step = probe.at.from_, probe.at.every
        if start > turns or (start == 0 and step > turns):
            first = start or step
            yield Finding(
                (*path, "at"),
                f"probe `{probe.id}` would be asked at turn {first}, but session.turns is {turns}: it is never reached",
            )
        return
    marks: Sequence[int | str] = probe.at if isinstance(probe.at, tuple) else (probe.at,)
    for mark in marks:
        if isinstance(mark, int) and mark > (longest or turns):
            limit = f"the longest session of the grid has {longest}" if longest else f"session.turns is {turns}"
            yield Finding(
                (*path, "at"), f"probe `{probe.id}` is asked at turn {mark}, but {limit}: it is never reached"
            )
    if longest and not probe.turns(turns):
        first = min(mark for mark in marks if isinstance(mark, int))
        if first <= longest:
            yield Finding(
                (*path, "at"),
                f"probe `{probe.id}` is first asked at turn {first}, but session.turns is {turns}: it is never reached",
            )
    # In a grid the end of a cell may fall on another mark: it is asked once there.
    asked = [turns if mark == "end" and not longest else mark for mark in marks]
    twice = sorted({turn for turn in asked if asked.count(turn) > 1}, key=str)
    if twice:
        yield Finding((*path, "at"), f"probe `{probe.id}` is asked twice at turn {twice[0]}; name each turn once")


def _too_early(
    scenario: Scenario, probe: Probe, rule: Constraint | None, check: Check | None, path: Path
) -> Iterator[Finding]:
    """A probe of what was not said yet. Turn 0 is exempt: there the statement stands right before the question."""
    stated: list[tuple[str, str, int]] = [("constraint", rule.id, rule.turn)] if rule else []
    for name in dict.fromkeys((*(check.fact_ids() if check else ()), *probe.facts)):
        fact = fact_named(scenario, name)
        if fact is not None:
            stated.append(("fact", fact.id, fact.at))
    for kind, name, turn in stated:
        early = next((asked for asked in probe.turns(scenario.session.turns) if 1 <= asked < turn), None)
        if early is not None:
            hint = f"; add `from: {turn}`" if isinstance(probe.at, Every) else ""
            yield Finding(
                (*path, "at"),
                f"probe `{probe.id}` asks at turn {early} for {kind} `{name}`, first stated at turn {turn}{hint}",
            )


def _ambiguous_values(fact: Fact, check: Check, probe: Probe, path: Path) -> Iterator[Finding]:
    """Values a recall check cannot tell apart once one replaced the other, or cannot find even when said alone."""
    for value in fact.values[:MAX_PAIRS]:
        verdict = grade(check, Reply.from_dict(value), {fact.id: FactState(value)})
        if verdict.outcome is not Outcome.PASS:
            yield Finding(
                path,
                f"the value `{value}` of fact `{fact.id}` does not pass the check of probe `{probe.id}` even when the "
                f"reply is just that value: {verdict.reason}",
            )
            return
    if not fact.changes:
        return
    for count, (now, before) in enumerate(permutations(fact.values, 2)):
        if count >= MAX_PAIRS:
            return
        facts = {fact.id: FactState(now, (before,))}
        right = grade(check, Reply.from_dict(now), facts).outcome is Outcome.PASS
        wrong = grade(check, Reply.from_dict(before), facts).outcome is Outcome.PASS
        if wrong or not right:
            yield Finding(
                path, f"a reply cannot tell the values `{now}` and `{before}` of fact `{fact.id}` apart; change one"
            )
            return


def inline_clashes(scenario: Scenario) -> Iterator[Finding]:
    """An inline probe is the user message of its turn, so it shares the turn with nothing that is said."""
    taken: dict[int, str] = {}
    for rule in scenario.constraints:
        if rule.turn:
            taken[rule.turn] = f"states constraint `{rule.id}`"
    for fact in scenario.facts:
        for turn in fact.turns:
            taken[turn] = f"states fact `{fact.id}`"
    for other in scenario.distractors:
        for turn in other.turns:
            taken[turn] = f"states distractor `{other.id}`"
    for index, probe in enumerate(scenario.probes):
        if probe.mode != "inline":
            continue
        for turn in probe.turns(scenario.session.turns):
            if turn == 0:
                continue
            if turn in taken:
                yield Finding(
                    ("probes", index, "at"),
                    f"the inline probe `{probe.id}` takes turn {turn}, but that turn already {taken[turn]}; "
                    "move it, or use `mode: fork`",
                )
            taken.setdefault(turn, f"asks the inline probe `{probe.id}`")
