"""What depends on the length of a session, its places and its history: asked of every cell of a grid."""

from __future__ import annotations

from collections.abc import Iterator

from contextrot.scenario.consistency.findings import Finding, Path
from contextrot.scenario.consistency.probes import inline_clashes, probe_timing
from contextrot.scenario.consistency.tools import never_called
from contextrot.scenario.schema import Constraint, Fact, Scenario


def timing(scenario: Scenario, longest: int | None = None) -> Iterator[Finding]:
    """What cannot be meant in a session of this length, with these places and this history.

    `longest` is given for a cell of a grid over turns: the turns of the longest one. Single turns of probes, changes
    and distractors up to there may lie beyond a shorter cell's end; they are left out of it.
    """
    for index, rule in enumerate(scenario.constraints):
        yield from _placed(scenario, rule, ("constraints", index))
    for index, fact in enumerate(scenario.facts):
        yield from _stated(scenario, fact, ("facts", index), longest)
    for index, other in enumerate(scenario.distractors):
        late = max(other.turns)
        if late > (longest or scenario.session.turns):
            yield Finding(
                ("distractors", index, "at"),
                f"distractor `{other.id}` is stated at turn {late}, but {_limit(scenario, longest)}",
            )
    for index, probe in enumerate(scenario.probes):
        yield from probe_timing(scenario, probe, ("probes", index), longest)
    yield from inline_clashes(scenario)
    yield from never_called(scenario)
    yield from _gold(scenario)


def _limit(scenario: Scenario, longest: int | None) -> str:
    return f"the longest session of the grid has {longest}" if longest else f"session.turns is {scenario.session.turns}"


def _placed(scenario: Scenario, rule: Constraint, path: Path) -> Iterator[Finding]:
    turns = scenario.session.turns
    if rule.turn > turns:
        yield Finding(
            (*path, "place"), f"constraint `{rule.id}` is stated at turn {rule.turn}, but session.turns is {turns}"
        )
    if rule.turn == 0 and rule.reply is not None:
        yield Finding(
            (*path, "reply"), "a rule in the system prompt is never acknowledged; remove `reply` or change `place`"
        )


def _stated(scenario: Scenario, fact: Fact, path: Path, longest: int | None) -> Iterator[Finding]:
    turns = scenario.session.turns
    for before, after in zip(fact.turns, fact.changes, strict=False):
        if after <= before:
            yield Finding(
                (*path, "changes"), f"changes of fact `{fact.id}` must come after turn {before}, in ascending order"
            )
            break
    if fact.at > turns:
        yield Finding((*path, "at"), f"fact `{fact.id}` is stated at turn {fact.at}, but session.turns is {turns}")
        return
    late = next((turn for turn in fact.changes if turn > (longest or turns)), None)
    if late is not None:
        limit = _limit(scenario, longest)
        yield Finding((*path, "changes"), f"fact `{fact.id}` is stated at turn {late}, but {limit}")


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
