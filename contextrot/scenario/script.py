"""A scenario expanded for one repeat: which words are said at which turn. The same seed gives the same script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from contextrot.checks.base import Check, FactState
from contextrot.messages import Tool

SubjectKind = Literal["constraint", "fact"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a probe or a passive check tests: a standing rule, or one value of a fact.

    `statement` is the text as it reaches the model. `evidence` is what must be found in a view for the model to be able
    to comply: the rule's own text, or the fact's current value. `turn` is where the statement stands (0 = system).
    `also` are the values of other facts the answer rests on, without which nobody could give it.
    """

    id: str
    kind: SubjectKind
    statement: str
    evidence: str
    turn: int
    pinned: bool = False
    also: tuple[str, ...] = ()

    @property
    def needed(self) -> tuple[str, ...]:
        """Every text that must be in view."""
        return (self.evidence, *self.also)


@dataclass(frozen=True, slots=True)
class Ask:
    """A probe at one turn. `subject` is None when nothing stated in the session is tested (a tool call, say).

    `item` names which of a probe's questions in rotation it is; "" for a probe with one question.
    """

    id: str
    turn: int
    text: str
    check: Check
    mode: Literal["fork", "inline"]
    subject: Subject | None
    facts: Mapping[str, FactState] = field(default_factory=dict)
    item: str = ""

    @property
    def kind(self) -> str:
        """What verdicts call it."""
        return "probe"

    @property
    def subject_id(self) -> str | None:
        """The rule or fact under test."""
        return self.subject.id if self.subject is not None else None

    @property
    def bare(self) -> str:
        """The question where it states nothing; "" in the fresh session, where it opens with the statement."""
        return self.text if self.turn else ""


@dataclass(frozen=True, slots=True)
class CannedCall:
    """A tool round written in advance, for scripted and gold histories: the call and its result."""

    name: str
    arguments: str
    result: str


@dataclass(frozen=True, slots=True)
class ScriptTurn:
    """One turn: what the user says, and what the canned assistant would say.

    `states` are the subjects whose statement opens this user message; what a distractor says follows them and is no
    subject. `reply` and `calls` are None/empty under a live history. `inline` is set when the user message is a probe
    that stays in the session; its reply is always the model's. `task` is what the whole turn belongs to, replies, tool
    rounds and forks included; "" for the session as a whole.
    """

    turn: int
    user: str
    origin: Literal["constraint", "fact", "distractor", "filler", "probe"]
    states: tuple[Subject, ...] = ()
    reply: str | None = None
    calls: tuple[CannedCall, ...] = ()
    inline: Ask | None = None
    forks: tuple[Ask, ...] = ()
    tags: frozenset[str] = frozenset()
    task: str = ""


@dataclass(frozen=True, slots=True)
class Passive:
    """A constraint's own check, applied to every live reply from the turn it was stated on."""

    subject: Subject
    check: Check

    @property
    def kind(self) -> str:
        """What verdicts call it."""
        return "passive"

    @property
    def id(self) -> str:
        """The rule's id, its verdicts' as well."""
        return self.subject.id

    @property
    def subject_id(self) -> str:
        """The rule itself."""
        return self.subject.id

    @property
    def facts(self) -> Mapping[str, FactState]:
        """A rule looks up no fact."""
        return {}

    @property
    def item(self) -> str:
        """A rule has no questions in rotation."""
        return ""

    @property
    def bare(self) -> str:
        """A rule asks nothing."""
        return ""


@dataclass(frozen=True, slots=True)
class Control:
    """One control question, asked in a session of its own: `text` already holds the statement for a ceiling.

    `evidence` is the subject's, as in `Subject`: found in a ceiling's prompt, absent from a floor's. `item` is the
    question's name when the probe has several in rotation.
    """

    id: str
    kind: Literal["ceiling", "floor"]
    subject_id: str | None
    system: str | None
    text: str
    check: Check
    facts: Mapping[str, FactState] = field(default_factory=dict)
    evidence: str | None = None
    item: str = ""

    @property
    def branch(self) -> str:
        """Name of the branch it is asked on: the kind, the probe or rule, and the item if there is one."""
        return f"{self.kind}:{self.id}/{self.item}" if self.item else f"{self.kind}:{self.id}"

    @property
    def subject(self) -> None:
        """None: in a session of its own a statement has no distance, and no strategy could have dropped it."""
        return

    @property
    def bare(self) -> str:
        """The question where it states nothing: a floor's; "" for a ceiling."""
        return self.text if self.kind == "floor" else ""


#: What a verdict can be about. All three say `kind`, `id`, `item`, `check`, `facts`, `subject`, `subject_id`, `bare`.
Tested = Ask | Passive | Control


@dataclass(frozen=True, slots=True)
class Script:
    """Everything one session says. `system` is the system prompt with the constraints placed there, or None.

    `fresh` are the probes of turn 0 (asked in the fresh session, their statement right before them).
    `turns[k].turn == k+1`.
    """

    scenario: str
    seed: int
    history: Literal["live", "scripted", "gold"]
    system: str | None
    system_states: tuple[Subject, ...]
    turns: tuple[ScriptTurn, ...]
    fresh: tuple[Ask, ...]
    passive: tuple[Passive, ...]
    tools: tuple[Tool, ...]
    controls: tuple[Control, ...]
    max_tool_rounds: int = 8
