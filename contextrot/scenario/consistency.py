"""What takes two parts of a scenario to see: names that do not exist, probes never reached, rules nobody tests.

`contradictions` also runs on files that have other faults; the loader leaves out what rests on a part that is already
known to be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from contextrot.checks import Check, FactState, grade
from contextrot.messages import Reply
from contextrot.outcomes import Outcome
from contextrot.scenario.problems import did_you_mean
from contextrot.scenario.schema import Constraint, Every, Fact, Probe, Scenario, ToolSpec

Path = tuple[Any, ...]
#: Pairs of values of one fact that are tried against a recall check; the rest of a long list is taken on trust.
_MAX_PAIRS = 400


@dataclass(frozen=True, slots=True)
class Finding:
    """What cannot be meant: where it shows, a sentence, and other places the finding rests on."""

    path: Path
    sentence: str
    rests_on: tuple[Path, ...] = ()


def contradictions(scenario: Scenario) -> Iterator[Finding]:
    """Everything in the scenario that cannot be meant, in no particular order."""
    yield from _duplicates(scenario)
    for index, rule in enumerate(scenario.constraints):
        yield from _constraint(scenario, rule, ("constraints", index))
    for index, fact in enumerate(scenario.facts):
        yield from _fact(scenario, fact, ("facts", index))
    for index, tool in enumerate(scenario.tools):
        yield from _parameters(tool, ("tools", index, "parameters"))
    for index, probe in enumerate(scenario.probes):
        yield from _probe(scenario, probe, ("probes", index))
    yield from _inline_clashes(scenario)
    yield from _filler(scenario)
    yield from _gold(scenario)
    if not scenario.probes and not any(rule.check for rule in scenario.constraints):
        yield Finding(("probes",), "nothing is tested: add a probe, or a constraint with a check", ((),))


def _duplicates(scenario: Scenario) -> Iterator[Finding]:
    groups: list[tuple[str, list[tuple[Path, str]]]] = [
        (
            "constraint or fact",
            [(("constraints", i, "id"), rule.id) for i, rule in enumerate(scenario.constraints)]
            + [(("facts", i, "id"), fact.id) for i, fact in enumerate(scenario.facts)],
        ),
        ("probe", [(("probes", i, "id"), probe.id) for i, probe in enumerate(scenario.probes)]),
        ("tool", [(("tools", i, "name"), tool.name) for i, tool in enumerate(scenario.tools)]),
    ]
    for kind, named in groups:
        seen: set[str] = set()
        for path, name in named:
            if name in seen:
                yield Finding(
                    path, f"a second {kind} is called `{name}` (duplicate {path[-1]}); give it another {path[-1]}"
                )
            seen.add(name)


def _constraint(scenario: Scenario, rule: Constraint, path: Path) -> Iterator[Finding]:
    turns = scenario.session.turns
    if rule.check is None and not any(probe.constraint == rule.id for probe in scenario.probes):
        yield Finding(
            path,
            f"constraint `{rule.id}` has neither a check nor a probe that names it, so nothing tests it",
            (("probes",),),
        )
    if rule.turn > turns:
        yield Finding(
            (*path, "place"), f"constraint `{rule.id}` is stated at turn {rule.turn}, but session.turns is {turns}"
        )
    if rule.turn == 0 and rule.reply is not None:
        yield Finding(
            (*path, "reply"), "a rule in the system prompt is never acknowledged; remove `reply` or change `place`"
        )
    if rule.check is None:
        return
    yield from _names(scenario, rule.check, (*path, "check"))
    if rule.check.fact_ids():
        yield Finding(
            (*path, "check"),
            f"the check of constraint `{rule.id}` is made on every reply and cannot look up a fact; "
            f"give it to a probe: {{constraint: {rule.id}, check: …}}",
        )
    else:
        for gold in rule.golds:
            verdict = grade(rule.check, Reply.from_dict(gold))
            if verdict.outcome is Outcome.FAIL:
                yield Finding(
                    (*path, "gold"), f"the gold reply of `{rule.id}` fails the rule's own check: {verdict.reason}"
                )


def _fact(scenario: Scenario, fact: Fact, path: Path) -> Iterator[Finding]:
    turns = scenario.session.turns
    if "{value}" not in fact.text:
        yield Finding(
            (*path, "text"), f"the text of fact `{fact.id}` has no {{value}} in it, so its value is never said"
        )
    seen: dict[str, str] = {}
    for index, value in enumerate(fact.values):
        key = " ".join(value.casefold().split())
        if key in seen:
            yield Finding(
                (*path, "values", index), f"fact `{fact.id}` has the value `{value}` twice; the values must differ"
            )
        seen[key] = value
    if len(seen) < len(fact.turns):
        yield Finding(
            (*path, "changes"),
            f"fact `{fact.id}` is stated {len(fact.turns)} times with a new value each, "
            f"but has {len(seen)} value{'s' if len(seen) > 1 else ''}; add values or remove changes",
        )
    for before, after in zip(fact.turns, fact.changes, strict=False):
        if after <= before:
            yield Finding(
                (*path, "changes"), f"changes of fact `{fact.id}` must come after turn {before}, in ascending order"
            )
            break
    late = [turn for turn in fact.turns if turn > turns]
    if late:
        key = "at" if fact.at > turns else "changes"
        yield Finding((*path, key), f"fact `{fact.id}` is stated at turn {late[0]}, but session.turns is {turns}")


def _probe(scenario: Scenario, probe: Probe, path: Path) -> Iterator[Finding]:
    rule = next((rule for rule in scenario.constraints if rule.id == probe.constraint), None)
    if probe.constraint is not None and rule is None:
        names = (rule.id for rule in scenario.constraints)
        yield Finding(
            (*path, "constraint"),
            f"probe `{probe.id}` names the constraint `{probe.constraint}`, which does not exist"
            f"{did_you_mean(probe.constraint, names)}",
            (("constraints", "*"),),
        )
    check = scenario.check_of(probe)
    if check is None and probe.constraint is None:
        yield Finding(path, f"probe `{probe.id}` has no check; add one, or name the `constraint` whose check it uses")
    elif check is None and rule is not None:
        yield Finding(
            path,
            f"neither probe `{probe.id}` nor its constraint `{rule.id}` has a check; add one to either",
            (("constraints", scenario.constraints.index(rule)),),
        )
    if probe.check is not None:
        yield from _names(scenario, probe.check, (*path, "check"))
    if any(rule.id == probe.id and probe.constraint != rule.id for rule in scenario.constraints):
        yield Finding(
            (*path, "id"),
            f"probe `{probe.id}` has the name of a constraint it does not test; results go by name, so rename it",
        )
    yield from _schedule(scenario, probe, path)
    yield from _too_early(scenario, probe, rule, check, path)
    if check is not None:
        for name in check.fact_ids():
            fact = _fact_named(scenario, name)
            if fact is not None and getattr(check, "type_name", "") == "recall":
                yield from _ambiguous_values(fact, check, probe, ("facts", scenario.facts.index(fact), "values"))


def _parameters(tool: ToolSpec, path: Path) -> Iterator[Finding]:
    """The parameters of a tool are a JSON Schema of an object that needs nothing from outside the file."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if tool.parameters.get("type", "object") != "object":
        yield Finding(path, f"the parameters of tool `{tool.name}` must be a JSON Schema with `type: object`")
    try:
        Draft202012Validator.check_schema(tool.parameters)
    except SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        yield Finding(path, f"the parameters of tool `{tool.name}` are not a JSON Schema: {where}: {error.message}")
        return
    for ref in _refs(tool.parameters):
        if not _resolves(tool.parameters, ref):
            yield Finding(
                path, f"the parameters of tool `{tool.name}` refer to `{ref}`, which is not in them; nothing is fetched"
            )


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            if key in ("$ref", "$dynamicRef") and isinstance(child, str):
                yield child
            else:
                yield from _refs(child)
    elif isinstance(value, (list, tuple)):
        for child in value:
            yield from _refs(child)


def _resolves(schema: Mapping[str, Any], ref: str) -> bool:
    """True for a JSON pointer (`#/$defs/name`) that leads somewhere inside the schema."""
    place: Any = schema
    if not ref.startswith("#"):
        return False
    for part in filter(None, ref[1:].split("/")):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(place, Mapping) or key not in place:
            return False
        place = place[key]
    return True


def _schedule(scenario: Scenario, probe: Probe, path: Path) -> Iterator[Finding]:
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
        if isinstance(mark, int) and mark > turns:
            yield Finding(
                (*path, "at"),
                f"probe `{probe.id}` is asked at turn {mark}, but session.turns is {turns}: it is never reached",
            )
    asked = [turns if mark == "end" else mark for mark in marks]
    twice = sorted({turn for turn in asked if asked.count(turn) > 1}, key=str)
    if twice:
        yield Finding((*path, "at"), f"probe `{probe.id}` is asked twice at turn {twice[0]}; name each turn once")


def _too_early(
    scenario: Scenario, probe: Probe, rule: Constraint | None, check: Check | None, path: Path
) -> Iterator[Finding]:
    """A probe of what was not said yet. Turn 0 is exempt: there the statement stands right before the question."""
    stated: list[tuple[str, str, int]] = [("constraint", rule.id, rule.turn)] if rule else []
    for name in check.fact_ids() if check else ():
        fact = _fact_named(scenario, name)
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
    for value in fact.values[:_MAX_PAIRS]:
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
        if count >= _MAX_PAIRS:
            return
        facts = {fact.id: FactState(now, (before,))}
        right = grade(check, Reply.from_dict(now), facts).outcome is Outcome.PASS
        wrong = grade(check, Reply.from_dict(before), facts).outcome is Outcome.PASS
        if wrong or not right:
            yield Finding(
                path, f"a reply cannot tell the values `{now}` and `{before}` of fact `{fact.id}` apart; change one"
            )
            return


def _inline_clashes(scenario: Scenario) -> Iterator[Finding]:
    """An inline probe is the user message of its turn, so it shares the turn with nothing that is said."""
    taken: dict[int, str] = {}
    for rule in scenario.constraints:
        if rule.turn:
            taken[rule.turn] = f"states constraint `{rule.id}`"
    for fact in scenario.facts:
        for turn in fact.turns:
            taken[turn] = f"states fact `{fact.id}`"
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


def _filler(scenario: Scenario) -> Iterator[Finding]:
    tools = [tool.name for tool in scenario.tools]
    for index, item in enumerate(scenario.filler.items or ()):
        for position, call in enumerate(() if isinstance(item, str) else item.tool_calls):
            if call.name not in tools:
                yield Finding(
                    ("filler", "items", index, "tool_calls", position, "name"),
                    f"the filler calls the tool `{call.name}`, which this scenario does not have"
                    f"{did_you_mean(call.name, tools) or '; define it under `tools`'}",
                )
    if scenario.filler.transcript is not None and scenario.session.history != "live":
        called = {call.name for item in scenario.items for call in item.tool_calls}
        for name in sorted(called - set(tools)):
            yield Finding(
                ("filler", "transcript"),
                f"the transcript calls the tool `{name}`, which this scenario does not have; define it under `tools`",
            )


def _gold(scenario: Scenario) -> Iterator[Finding]:
    """A gold history needs a compliant reply for every filler turn: of the item, or of the rule."""
    if scenario.session.history != "gold":
        return
    written = scenario.filler.items or ()
    if written and all(not isinstance(item, str) and item.gold for item in written):
        return
    if any(rule.gold for rule in scenario.constraints):
        return
    for index, rule in enumerate(scenario.constraints):
        if rule.check is not None:
            yield Finding(
                ("constraints", index),
                f"history is gold, but there is no reply that keeps constraint `{rule.id}`: add `gold: <a reply>` "
                "to the constraint or to every filler item",
            )


def _names(scenario: Scenario, check: Check, path: Path) -> Iterator[Finding]:
    """Facts and tools a check speaks of must exist."""
    facts = [fact.id for fact in scenario.facts]
    for name in check.fact_ids():
        if name not in facts:
            hint = did_you_mean(name, facts) or "; this scenario has no facts"
            yield Finding(path, f"the check names the fact `{name}`, which does not exist{hint}", (("facts", "*"),))
    tools = [tool.name for tool in scenario.tools]
    for name in _tools_named(check):
        if name not in tools:
            hint = did_you_mean(name, tools) or "; this scenario has no tools"
            yield Finding(path, f"the check names the tool `{name}`, which does not exist{hint}", (("tools", "*"),))


def _tools_named(check: Check) -> Iterator[str]:
    """Names of tools anywhere in a check, `calls` and nested checks included."""
    if getattr(check, "type_name", "") == "tool_call":
        for part in (check, *(getattr(check, "calls", None) or ())):
            name = getattr(part, "name", None)
            if isinstance(name, str):
                yield name
    for field in type(check).model_fields:
        value = getattr(check, field)
        for part in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(part, Check):
                yield from _tools_named(part)


def _fact_named(scenario: Scenario, name: str) -> Fact | None:
    return next((fact for fact in scenario.facts if fact.id == name), None)
