"""The contract of a check, and the registry by `type`. A check is data a user writes; grading is a pure function.

To add one: a file in this folder with a `Check` subclass decorated by `@register`. YAML, JSON Schema, CLI and docs
follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class FactState:
    """What is true of a fact when a probe is asked: its value now, and the values it replaced, oldest first.

    `near` are values that belong to something else said so far (a scenario's distractors): giving one is a mix-up.
    """

    value: str
    superseded: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


Facts = Mapping[str, FactState]
#: the field `refusal_ok` of the checks that can forbid something: a reply that declines keeps them by doing nothing
RefusalOk = Annotated[
    StrictBool,
    Field(description="Whether a reply that declines the request may pass, where the check only forbids something."),
]


class Check(BaseModel):
    """Base of all checks. Subclasses declare their parameters as fields and implement `grade`."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    #: the word users write in `type:`
    type_name: ClassVar[str] = ""
    #: True for a type of check that looks at the tool calls of a reply
    looks_at_tool_calls: ClassVar[bool] = False

    @property
    def reads_tool_calls(self) -> bool:
        """True when a reply without text but with tool calls is what the check looks at."""
        return self.looks_at_tool_calls

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """The verdict on a finished reply that has something to read. Pure: no I/O, no clock, no randomness."""
        raise NotImplementedError

    @property
    def kind(self) -> str:
        """What the check is called in reasons and tables: its type."""
        return self.type_name

    @property
    def kept_by_silence(self) -> bool:
        """True when a reply that says nothing at all would pass: the check only forbids something."""
        return False

    @property
    def takes_refusals(self) -> bool:
        """True when a reply that declines the request is graded like any other: `refusal_ok` of those that have it."""
        return bool(getattr(self, "refusal_ok", False))

    def fact_ids(self) -> tuple[str, ...]:
        """Ids of the facts this check looks up; the loader proves that they exist."""
        return ()

    def parts(self) -> tuple[Check, ...]:
        """The checks this one is made of; none for most."""
        return ()

    def walk(self, wanted: bool = True) -> Iterator[tuple[Check, bool]]:
        """This check and all that it is made of, each with whether it is `wanted`: False for what has to fail."""
        yield self, wanted
        for part in self.parts():
            yield from part.walk(wanted)

    def leaves(self) -> Iterator[Check]:
        """The checks at the bottom, which are made of no others; this one, if it is one of them."""
        return (check for check, _ in self.walk() if not check.parts())

    def resolve(self, answers: Mapping[Check, Verdict]) -> Check:
        """This check with an answer in the place of every question that has one.

        What a pure function cannot settle (a judge's opinion) is asked before grading; `answers` holds what came back.
        """
        return Settled(of=self.type_name, verdict=answers[self]) if self.asks and self in answers else self

    def open_question(self, reply: Reply, facts: Facts) -> Check | None:
        """The part that has to be asked about for the verdict on this reply, if the rest does not decide it already."""
        return self if self.asks else None

    #: True for a check that somebody has to be asked about; `open_question` and `resolve` deal with it
    asks: ClassVar[bool] = False


class Settled(Check):
    """A verdict that was reached before grading, in the place of the check it is about. Users cannot write one."""

    type_name = "settled"
    looks_at_tool_calls = True
    of: str
    verdict: Verdict

    @property
    def kind(self) -> str:
        """The type of the check it stands for."""
        return self.of

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """The verdict."""
        return self.verdict


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
