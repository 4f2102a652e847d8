"""Which question a probe asks at which turn: one, or several in rotation (a Latin square over turns and repeats)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from contextrot.checks import Check
from contextrot.errors import ScenarioError
from contextrot.scenario.schema import Probe, Scenario


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a probe with what grades it. `item` is its name in the rotation, "" when there is only one.

    `facts` are all that the answer rests on: those its check looks up, then those that only the probe names.
    """

    id: str
    item: str
    ask: str
    check: Check
    constraint: str | None
    mode: Literal["fork", "inline"]
    facts: tuple[str, ...] = ()


def questions(scenario: Scenario, probe: Probe) -> tuple[Question, ...]:
    """The questions of a probe in the order of the file, items with what they leave to the probe filled in.

    Raises `ScenarioError` for a question without words or without a check.
    """
    found = []
    for item in probe.items or (None,):
        check = scenario.check_of(probe, item)
        ask = item.ask if item is not None and item.ask is not None else probe.ask
        if check is None or ask is None:
            missing, of_item = "check" if check is None else "ask", f", item `{item.id}`," if item is not None else ""
            raise ScenarioError(f"probe `{probe.id}`{of_item} of scenario `{scenario.id}` has no {missing}")
        name = item.id if item is not None else ""
        facts = tuple(dict.fromkeys((*check.fact_ids(), *probe.facts)))
        found.append(Question(probe.id, name, ask, check, probe.constraint, probe.mode, facts))
    return tuple(found)


def rotated(asked: Sequence[Question], place: int, repeat: int) -> Question:
    """The question for a probe's turn number `place` (0 = the first it is asked at) in this repeat.

    Over n repeats in a row (n = number of questions) every question is asked once at every turn, so that neither a
    turn nor a question has the other's share in a rate. With other numbers of repeats the shares differ by one.
    """
    return asked[(place + repeat) % len(asked)]
