"""The check `json`: the reply is JSON, and fits a schema."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, StrictBool, model_validator

from contextrot.checks.base import Check, Facts, fail, passed, register
from contextrot.checks.json_schema import compile_schema, first_fault
from contextrot.checks.markdown import fences, only_fence
from contextrot.checks.strict_json import JsonFault, TrailingText, parse, values_in
from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict


@register
class JsonCheck(Check):
    """The reply is JSON by RFC 8259 (no NaN, no duplicate keys), and fits the schema if one is given.

    With `only: false` the value may stand in prose or in a code fence; of several values one that fits is enough.
    Values inside another value do not count.
    """

    type_name = "json"
    type: Literal["json"] = "json"
    only: StrictBool = Field(default=True, description="The whole reply is the JSON value, without prose or fence.")
    schema_: dict[str, Any] | None = Field(
        default=None, alias="schema", description="JSON Schema (draft 2020-12) the value must fit."
    )

    @cached_property
    def _validator(self) -> Any:
        return None if self.schema_ is None else compile_schema(self.schema_)

    @model_validator(mode="after")
    def _schema_is_sound(self) -> JsonCheck:
        _ = self._validator
        return self

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` with what is wrong: no JSON, text or a fence around it, or where the value does not fit."""
        try:
            return self._whole(reply.text) if self.only else self._anywhere(reply.text)
        except TimeoutError:
            return Verdict(Outcome.TIMEOUT, "a `pattern` of the schema took too long on this reply", reply.text[:200])

    def _whole(self, text: str) -> Verdict:
        try:
            value = parse(text)
        except JsonFault as error:
            return fail(_why_not_json(text, error), text)
        return self._fits(value, text)

    def _anywhere(self, text: str) -> Verdict:
        first: Verdict | None = None
        for candidate in _candidates(text):
            try:
                verdict = self._fits(parse(candidate), candidate)
            except JsonFault as error:
                verdict = fail(f"the reply is not JSON: {error}", candidate)
            if verdict.outcome is not Outcome.FAIL:
                return verdict
            first = first or verdict
        return first or fail("there is no JSON in the reply", text)

    def _fits(self, value: Any, text: str) -> Verdict:
        fault = None if self._validator is None else first_fault(self._validator, value)
        return passed(text) if fault is None else fail(f"the JSON does not fit the schema: {fault}", text)


def _candidates(text: str) -> Iterator[str]:
    """What may be the value: the whole reply when it is one, otherwise each fenced block and each value in the text."""
    if _is_json(text):
        yield text
        return
    yield from (fence.content for fence in fences(text))
    yield from values_in(text)


def _why_not_json(text: str, error: JsonFault) -> str:
    """The reason for a reply that is not one JSON value, by what surrounds the value if there is one."""
    block = only_fence(text)
    if block is not None and _is_json(block.content):
        return "the JSON stands in a code fence; the whole reply must be the JSON value"
    if isinstance(error, TrailingText):
        return f"there is text after the JSON value ({error})"
    if any(_is_json(candidate) for candidate in values_in(text)):
        return "there is text around the JSON; the whole reply must be the JSON value"
    return f"the reply is not JSON: {error}"


def _is_json(text: str) -> bool:
    try:
        parse(text)
    except JsonFault:
        return False
    return True
