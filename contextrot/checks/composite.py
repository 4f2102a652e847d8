"""Checks made of checks: `all_of`, `any_of` and `not`, by three-valued logic (Kleene).

`pass` is true, `fail` is false, every other outcome is unknown: it decides nothing, and it is what the whole comes to
when the parts that are known do not decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationInfo, WithJsonSchema, model_validator

from contextrot.checks.base import Check, Facts, RefusalOk, fail, passed, register
from contextrot.checks.grading import REFUSED, declines, graded, is_shown
from contextrot.checks.loading import CHECK_MARK, load_check
from contextrot.errors import ConfigError
from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict

#: Levels of checks inside checks; far above any rule a person can follow.
MAX_DEPTH = 8


def _read_parts(raw: Any, info: ValidationInfo) -> Any:
    """Every part of a list, or all that is wrong with them, each fault behind the place of its part."""
    if not isinstance(raw, (list, tuple)):
        raise ValueError(f"must be a list of checks, not {raw!r:.60}")  # noqa: TRY004  (pydantic tells ValueErrors)
    if not raw:
        raise ValueError("is empty, so that the check tests nothing; name at least two checks")
    return tuple(_read(enumerate(raw), info))


def _read_part(raw: Any, info: ValidationInfo) -> Any:
    return next(_read([("", raw)], info))


def _read(parts: Iterable[tuple[int | str, Any]], info: ValidationInfo) -> Iterator[Check]:
    base: Path | None = (info.context or {}).get("base_dir")
    made: list[Check] = []
    faults: list[str] = []
    for place, raw in parts:
        try:
            made.append(load_check(raw, base_dir=base))
        except ConfigError as error:
            faults += [f".{place} {line}" if place != "" else f". {line}" for line in str(error).splitlines()]
    if faults:
        raise ValueError("\n".join(faults))
    yield from made


Part = Annotated[SerializeAsAny[Check], BeforeValidator(_read_part), WithJsonSchema(CHECK_MARK)]
Parts = Annotated[
    tuple[SerializeAsAny[Check], ...],
    BeforeValidator(_read_parts),
    WithJsonSchema({"type": "array", "items": CHECK_MARK, "minItems": 2}),
]


def graded_part(part: Check, reply: Reply, facts: Facts) -> Verdict:
    """The verdict of one part on a reply that was found fit to read for the whole."""
    if not part.reads_tool_calls and not is_shown(reply.text):
        return Verdict(Outcome.NOT_EXERCISED, "the reply only calls tools; there is no text to check")
    return graded(part, reply, facts)


class _Composite(Check):
    """What checks made of checks share."""

    @property
    def reads_tool_calls(self) -> bool:
        """True when a part does."""
        return any(part.reads_tool_calls for part in self.parts())

    def fact_ids(self) -> tuple[str, ...]:
        """The facts of all parts, each once."""
        return tuple(dict.fromkeys(name for part in self.parts() for name in part.fact_ids()))

    def open_question(self, reply: Reply, facts: Facts) -> Check | None:
        """The first question of the parts, as long as what is known of them does not decide."""
        if self.grade(reply, facts).outcome.decided:
            return None
        open_ = (part.open_question(reply, facts) for part in self.parts())
        return next((question for question in open_ if question is not None), None)

    @model_validator(mode="after")
    def _not_too_deep(self) -> _Composite:
        level: list[Check] = [self]
        for _ in range(MAX_DEPTH + 1):
            level = [inner for check in level for inner in check.parts()]
        if level:
            raise ValueError(f"has checks inside checks more than {MAX_DEPTH} levels deep")
        return self


class _Several(_Composite):
    """What `all_of` and `any_of` share."""

    checks: Parts = Field(description="The checks, each as it would be written alone; at least two that differ.")

    def parts(self) -> tuple[Check, ...]:
        """The checks."""
        return self.checks

    @property
    def takes_refusals(self) -> bool:
        """True when every part does."""
        return all(part.takes_refusals for part in self.checks)

    @model_validator(mode="after")
    def _several(self) -> _Several:
        if len(self.checks) < 2:
            raise ValueError(f"`checks` has one entry; write the `{self.checks[0].type_name}` check alone")
        for place, part in enumerate(self.checks):
            if part in self.checks[:place]:
                raise ValueError(f"`checks.{place}` is the same check a second time; remove it")
        return self

    def resolve(self, answers: Mapping[Check, Verdict]) -> Check:
        """The same over resolved parts."""
        return self.model_copy(update={"checks": tuple(part.resolve(answers) for part in self.checks)})

    def _named(self, place: int) -> str:
        """What a part is called in a reason: its type, with its number where another is of that type."""
        kinds = [part.kind for part in self.checks]
        return f"`{kinds[place]}`" + (f" ({place + 1})" if kinds.count(kinds[place]) > 1 else "")


@register
class AllOf(_Several):
    """Every one of several checks passes.

    One failure decides, whatever the others say; without one, a part that cannot tell leaves the whole open.
    """

    type_name = "all_of"
    type: Literal["all_of"] = "all_of"

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` with the first failing part and how many fail; an unknown part's own outcome when none does."""
        verdicts = [graded_part(part, reply, facts) for part in self.checks]
        failed = [place for place, verdict in enumerate(verdicts) if verdict.outcome is Outcome.FAIL]
        if failed:
            first = verdicts[failed[0]]
            more = f" ({len(failed)} of {len(verdicts)} fail)" if len(failed) > 1 else ""
            return fail(f"{self._named(failed[0])}: {first.reason}{more}", first.evidence)
        for place, verdict in enumerate(verdicts):
            if verdict.outcome is not Outcome.PASS:
                return Verdict(verdict.outcome, f"{self._named(place)}: {verdict.reason}", verdict.evidence)
        return passed(next((verdict.evidence for verdict in verdicts if verdict.evidence), ""))


@register
class AnyOf(_Several):
    """At least one of several checks passes.

    One pass decides, whatever the others say; without one, a part that cannot tell leaves the whole open.
    """

    type_name = "any_of"
    type: Literal["any_of"] = "any_of"

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`pass` with the part that passes; `fail` with the reason of every part."""
        verdicts = [graded_part(part, reply, facts) for part in self.checks]
        for place, verdict in enumerate(verdicts):
            if verdict.outcome is Outcome.PASS:
                return passed(verdict.evidence, f"{self._named(place)} passes")
        for place, verdict in enumerate(verdicts):
            if verdict.outcome is not Outcome.FAIL:
                return Verdict(verdict.outcome, f"{self._named(place)}: {verdict.reason}", verdict.evidence)
        reasons = "; ".join(f"{self._named(place)}: {verdict.reason}" for place, verdict in enumerate(verdicts))
        return fail(f"none of {len(verdicts)} passes: {reasons:.600}", verdicts[0].evidence)


@register
class Not(_Composite):
    """Another check fails.

    What the other cannot tell stays open. A reply that declines the request fails, also where it fails the other check:
    not doing something is not doing the opposite. Where declining is what the rule wants, say `refusal_ok: true`.
    """

    type_name = "not"
    type: Literal["not"] = "not"
    check: Part = Field(description="The check that must fail.")
    refusal_ok: RefusalOk = False

    def parts(self) -> tuple[Check, ...]:
        """The one check."""
        return (self.check,)

    def walk(self, wanted: bool = True) -> Iterator[tuple[Check, bool]]:
        """This check, and the one inside it with what is wanted turned round."""
        yield self, wanted
        yield from self.check.walk(not wanted)

    def resolve(self, answers: Mapping[Check, Verdict]) -> Check:
        """The same over the resolved check."""
        return self.model_copy(update={"check": self.check.resolve(answers)})

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` with what passes; `pass` with why the other check fails."""
        verdict = graded_part(self.check, reply, facts)
        named = f"`{self.check.kind}`"
        if verdict.outcome is Outcome.PASS:
            why = f" ({verdict.reason})" if verdict.reason else ""
            return fail(f"{named} passes, which it must not{why}", verdict.evidence)
        if verdict.outcome is not Outcome.FAIL:
            return Verdict(verdict.outcome, f"{named}: {verdict.reason}", verdict.evidence)
        if not self.refusal_ok and declines(reply):
            return fail(f"{REFUSED}, so that {named} does not count as avoided", reply.text)
        return passed(verdict.evidence, verdict.reason)
