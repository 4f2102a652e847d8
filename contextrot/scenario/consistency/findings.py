"""What the consistency checks of a scenario have in common: a finding, and names that must exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from contextrot.checks import Check
from contextrot.scenario.problems import did_you_mean
from contextrot.scenario.schema import Fact, Scenario

Path = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What cannot be meant: where it shows, a sentence, and other places the finding rests on.

    `about` is where the cause stands when it shows elsewhere (in a cell of the grid); its line is told too.
    """

    path: Path
    sentence: str
    rests_on: tuple[Path, ...] = ()
    about: Path | None = None


def unknown_names(scenario: Scenario, check: Check, path: Path) -> Iterator[Finding]:
    """Facts and tools a check speaks of must exist."""
    yield from unknown_facts(scenario, check.fact_ids(), "the check", path)
    tools = [tool.name for tool in scenario.tools]
    for name in tools_named(check):
        if name not in tools:
            hint = did_you_mean(name, tools) or "; this scenario has no tools"
            yield Finding(path, f"the check names the tool `{name}`, which does not exist{hint}", (("tools", "*"),))


def unknown_facts(scenario: Scenario, names: Sequence[str], who: str, path: Path) -> Iterator[Finding]:
    """Facts that `who` names must exist."""
    facts = [fact.id for fact in scenario.facts]
    for name in names:
        if name not in facts:
            hint = did_you_mean(name, facts) or "; this scenario has no facts"
            if any(other.id == name for other in scenario.distractors):
                hint = "; it is a distractor, which is never asked for"
            yield Finding(path, f"{who} names the fact `{name}`, which does not exist{hint}", (("facts", "*"),))


def tools_named(check: Check) -> Iterator[str]:
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
                yield from tools_named(part)


def fact_named(scenario: Scenario, name: str) -> Fact | None:
    """The fact of this id, if there is one."""
    return next((fact for fact in scenario.facts if fact.id == name), None)
