"""Distractors that could be taken for what is asked: a wrong answer would pass, or the evidence seem to be in view."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from contextrot.checks import Check, FactState, grade
from contextrot.checks.normal import page
from contextrot.messages import Reply, mentions
from contextrot.outcomes import Outcome
from contextrot.scenario.consistency.findings import Finding, Path, fact_named
from contextrot.scenario.consistency.probes import MAX_PAIRS
from contextrot.scenario.schema import Distractor, Scenario


def mistakable_values(scenario: Scenario) -> Iterator[Finding]:
    """Values of distractors that are a fact's in another dress, or that pass a recall check by themselves."""
    for index, other in enumerate(scenario.distractors):
        yield from _says_a_fact(scenario, other, ("distractors", index, "text"))
    recalled = [leaf for check in _checks(scenario) for leaf in check.leaves() if leaf.type_name == "recall"]
    for index, other in enumerate(scenario.distractors):
        for position, value in enumerate(other.values):
            taken_for = _fact_value(scenario, value) or _passes(scenario, recalled, value)
            if taken_for:
                yield Finding(
                    ("distractors", index, "values", position),
                    f"the value `{value}` of distractor `{other.id}` can be taken for {taken_for}; choose another",
                    (("facts",),),
                )


def _says_a_fact(scenario: Scenario, other: Distractor, path: Path) -> Iterator[Finding]:
    """A statement with a fact's value in its words: the value would stand in the prompt though the fact was dropped."""
    for fact in scenario.facts:
        own = next((value for value in fact.values if mentions(other.text, value)), None)
        if own is not None:
            yield Finding(
                path,
                f"the text of distractor `{other.id}` has the value `{own}` of fact `{fact.id}` in it; reword it",
                (("facts",),),
            )


def _fact_value(scenario: Scenario, value: str) -> str:
    """The fact that has this value too, whatever its dress (case, Markdown, quotes, Unicode forms), or a part of it."""
    folded = page(value).folded.strip()
    for fact in scenario.facts:
        for own in fact.values:
            if page(own).folded.strip() == folded or mentions(value, own):
                return f"the value `{own}` of fact `{fact.id}`"
    return ""


def _passes(scenario: Scenario, checks: list[Check], value: str) -> str:
    """What a reply that is just this value would be taken for by one of the recall checks; "" if by none."""
    reply = Reply.from_dict(value)
    for check in checks:
        facts = [fact for name in check.fact_ids() if (fact := fact_named(scenario, name)) is not None]
        if len(facts) < len(check.fact_ids()):
            continue  # told as an unknown name
        for values in islice(product(*(fact.values for fact in facts)), MAX_PAIRS):
            states = {fact.id: FactState(own) for fact, own in zip(facts, values, strict=True)}
            if grade(check, reply, states).outcome is Outcome.PASS:
                return f"the value `{values[0]}` of fact `{facts[0].id}`" if facts else "what a recall check asks for"
    return ""


def _checks(scenario: Scenario) -> Iterator[Check]:
    """The checks of all questions."""
    for probe in scenario.probes:
        for item in probe.items or (None,):
            check = scenario.check_of(probe, item)
            if check is not None:
                yield check
