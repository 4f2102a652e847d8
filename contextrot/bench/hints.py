"""What simulated models are told about a call: which texts they have to find in the prompt, and how to answer then.

Real models never see a hint. Replies are built from the checks' own parameters and verified by grading them, so that a
simulated model works on any scenario without an answer key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextrot.checks.base import Check, FactState
from contextrot.checks.examples import example_for
from contextrot.messages import Reply
from contextrot.models.base import Evidence, Truth
from contextrot.scenario.script import Ask, Passive


class Hints:
    """Builds hints, each distinct example reply once: sessions of a bench share the checks of their scenario."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], tuple[tuple[Check, ...], Reply | None]] = {}

    def of(self, ask: Ask | None, passive: Sequence[Passive]) -> Truth | None:
        """The hint for a turn on which these checks look at the reply; None when none does."""
        checks: list[Check] = [] if ask is None else [ask.check]
        evidence: list[Evidence] = [] if ask is None else [ask.subject.needed if ask.subject else None]
        checks += [p.check for p in passive]
        evidence += [p.subject.evidence for p in passive]
        if not checks:
            return None
        return self.build(evidence, checks, dict(ask.facts) if ask else {}, ask.bare if ask else "")

    def build(
        self,
        evidence: Sequence[Evidence],
        checks: Sequence[Check],
        facts: Mapping[str, FactState],
        question: str = "",
    ) -> Truth:
        """The hint for these checks: the evidence for each, None where nothing stated is needed."""

        def reply(obeyed: tuple[bool, ...]) -> Reply | None:
            key = (*map(id, checks), obeyed, *((name, state) for name, state in facts.items()))
            known = self._made.get(key)
            if known is None:
                # The checks are kept beside the reply: an id may be given anew once its object is gone.
                known = (tuple(checks), example_for(list(zip(checks, obeyed, strict=True)), facts))
                self._made[key] = known
            return known[1]

        kinds = (frozenset(part.type_name for part, wanted in check.walk() if wanted) for check in checks)
        return Truth(tuple(evidence), reply, tuple(kinds), question)
