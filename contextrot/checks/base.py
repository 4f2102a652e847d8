"""The contract of a check, and the registry by `type`. A check is data a user writes; grading is a pure function.

To add one: a file in this folder with a `Check` subclass decorated by `@register`. YAML, JSON Schema, CLI and docs
follow from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict

from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class FactState:
    """What is true of a fact when a probe is asked: its value now, and the values it replaced, oldest first."""

    value: str
    superseded: tuple[str, ...] = ()


Facts = Mapping[str, FactState]


class Check(BaseModel):
    """Base of all checks. Subclasses declare their parameters as fields and implement `grade`."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    #: the word users write in `type:`
    type_name: ClassVar[str] = ""
    #: True when a reply without text but with tool calls is what the check looks at
    reads_tool_calls: ClassVar[bool] = False

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """The verdict on a finished reply that has something to read. Pure: no I/O, no clock, no randomness."""
        raise NotImplementedError

    def fact_ids(self) -> tuple[str, ...]:
        """Ids of the facts this check looks up; the loader proves that they exist."""
        return ()


REGISTRY: dict[str, type[Check]] = {}
C = TypeVar("C", bound=type[Check])


def register(check: C) -> C:
    """Class decorator: make a check known under its `type_name`."""
    REGISTRY[check.type_name] = check
    return check


def fail(reason: str, evidence: Any = "") -> Verdict:
    """A failing verdict; long evidence is cut to what a table can show."""
    return Verdict(Outcome.FAIL, reason, str(evidence)[:200])


def passed(evidence: Any = "", reason: str = "") -> Verdict:
    """A passing verdict."""
    return Verdict(Outcome.PASS, reason, str(evidence)[:200])
