"""What takes two parts of a scenario to see: names that do not exist, probes never reached, rules nobody tests.

`contradictions` also runs on files that have other faults; the loader leaves out what rests on a part that is already
known to be wrong. What depends on lengths, places and histories (`timing.py`) is asked of every cell of a grid
(`grid.py`), the rest once a file.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextrot.checks import grade
from contextrot.messages import Reply
from contextrot.outcomes import Outcome
from contextrot.scenario.consistency.distractors import mistakable_values
from contextrot.scenario.consistency.findings import Finding, Path, unknown_names
from contextrot.scenario.consistency.grid import grid_findings
from contextrot.scenario.consistency.probes import probe_findings
from contextrot.scenario.consistency.timing import timing
from contextrot.scenario.consistency.tools import unknown_tools, wrong_parameters
from contextrot.scenario.schema import Constraint, Distractor, Fact, Scenario


def contradictions(scenario: Scenario) -> Iterator[Finding]:
    """Everything in the scenario that cannot be meant, in no particular order."""
    yield from _standing(scenario)
    if scenario.grid is None:
        yield from timing(scenario)
    else:
        yield from grid_findings(scenario)


def _standing(scenario: Scenario) -> Iterator[Finding]:
    """What cannot be meant whatever the length and history of a session."""
    yield from _duplicates(scenario)
    for index, rule in enumerate(scenario.constraints):
        yield from _constraint(scenario, rule, ("constraints", index))
    for index, fact in enumerate(scenario.facts):
        yield from _fact(fact, ("facts", index))
    for index, other in enumerate(scenario.distractors):
        yield from _distractor(other, ("distractors", index))
    yield from mistakable_values(scenario)
    for index, tool in enumerate(scenario.tools):
        yield from wrong_parameters(tool, ("tools", index, "parameters"))
    for index, probe in enumerate(scenario.probes):
        yield from probe_findings(scenario, probe, ("probes", index))
    yield from unknown_tools(scenario)
    if not scenario.probes and not any(rule.check for rule in scenario.constraints):
        yield Finding(("probes",), "nothing is tested: add a probe, or a constraint with a check", ((),))


def _duplicates(scenario: Scenario) -> Iterator[Finding]:
    groups: list[tuple[str, list[tuple[Path, str]]]] = [
        (
            "constraint, fact or distractor" if scenario.distractors else "constraint or fact",
            [(("constraints", i, "id"), rule.id) for i, rule in enumerate(scenario.constraints)]
            + [(("facts", i, "id"), fact.id) for i, fact in enumerate(scenario.facts)]
            + [(("distractors", i, "id"), other.id) for i, other in enumerate(scenario.distractors)],
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
    if rule.check is None and not any(probe.constraint == rule.id for probe in scenario.probes):
        yield Finding(
            path,
            f"constraint `{rule.id}` has neither a check nor a probe that names it, so nothing tests it",
            (("probes",),),
        )
    if rule.check is None:
        return
    yield from unknown_names(scenario, rule.check, (*path, "check"))
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


def _fact(fact: Fact, path: Path) -> Iterator[Finding]:
    yield from _values(fact, path)
    distinct = len({_plain(value) for value in fact.values})
    if distinct < len(fact.turns):
        yield Finding(
            (*path, "changes"),
            f"fact `{fact.id}` is stated {len(fact.turns)} times with a new value each, "
            f"but has {distinct} value{'s' if distinct > 1 else ''}; add values or remove changes",
        )


def _values(said: Fact | Distractor, path: Path) -> Iterator[Finding]:
    """A statement without a place for its value, or with a value twice."""
    kind = type(said).__name__.lower()
    if "{value}" not in said.text:
        yield Finding(
            (*path, "text"), f"the text of {kind} `{said.id}` has no {{value}} in it, so its value is never said"
        )
    seen: set[str] = set()
    for index, value in enumerate(said.values):
        if _plain(value) in seen:
            yield Finding(
                (*path, "values", index), f"{kind} `{said.id}` has the value `{value}` twice; the values must differ"
            )
        seen.add(_plain(value))


def _plain(value: str) -> str:
    return " ".join(value.casefold().split())


def _distractor(other: Distractor, path: Path) -> Iterator[Finding]:
    yield from _values(other, path)
    distinct = len({_plain(value) for value in other.values})
    if len(set(other.turns)) < len(other.turns):
        yield Finding((*path, "at"), f"distractor `{other.id}` is stated twice at one turn; name each turn once")
    elif distinct < len(other.turns):
        yield Finding(
            (*path, "at"),
            f"distractor `{other.id}` is stated {len(other.turns)} times with a new value each, "
            f"but has {distinct} value{'s' if distinct > 1 else ''}; add values or remove turns",
        )
