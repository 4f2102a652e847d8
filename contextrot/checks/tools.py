"""The checks `tool_call` and `no_tool_call`: which tools the reply calls, and with what arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictStr, model_validator

from contextrot.checks.base import Check, Facts, fail, passed, register
from contextrot.checks.json_schema import canonical, compile_schema, first_fault
from contextrot.checks.strict_json import JsonFault, parse
from contextrot.checks.written_calls import is_written_call, writes_call
from contextrot.messages import Reply, ToolCall
from contextrot.outcomes import Outcome, Verdict

ToolName = Annotated[StrictStr, Field(pattern=r"^\S+$")]


class WantedCall(BaseModel):
    """A call the reply has to make: by name, by arguments, or both."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ToolName | None = Field(default=None, description="Name of the tool, exactly.")
    arguments: dict[str, Any] | None = Field(
        default=None,
        description='Arguments the call must have, equal as JSON (10 is 10.0, not "10"); it may have more.',
    )
    schema_: dict[str, Any] | None = Field(
        default=None, alias="schema", description="JSON Schema (draft 2020-12) the arguments must fit."
    )

    @cached_property
    def _validator(self) -> Any:
        return None if self.schema_ is None else compile_schema(self.schema_)

    @model_validator(mode="after")
    def _schema_is_sound(self) -> WantedCall:
        _ = self._validator
        return self

    def fault(self, call: ToolCall) -> str | None:
        """What keeps the call from being this one, or None. Raises `TimeoutError` (a pattern of the schema)."""
        if self.name is not None and call.name != self.name:
            return _name_fault(call.name, self.name)
        try:
            # A tool without parameters is called with nothing at all.
            arguments = parse(call.arguments) if call.arguments.strip() else {}
        except JsonFault as error:
            return f"the arguments of `{call.name}` are not JSON: {error}"
        if not isinstance(arguments, dict):
            return f"the arguments of `{call.name}` are no JSON object"
        if difference := _difference(self.arguments or {}, arguments, ""):
            return f"the arguments of `{call.name}` differ: {difference}"
        misfit = first_fault(self._validator, arguments) if self._validator is not None else None
        return f"the arguments of `{call.name}` do not fit the schema: {misfit}" if misfit else None

    def __str__(self) -> str:
        wanted = json.dumps(self.arguments, ensure_ascii=False, default=str) if self.arguments else "…"
        return f"{self.name or 'any tool'}({wanted})"


@register
class ToolCallCheck(Check):
    """The reply makes a tool call, or several; a call written as text is none.

    One wanted call is given by `name`, `arguments` and `schema`, several by `calls`, each met by a call of its own.
    """

    type_name = "tool_call"
    looks_at_tool_calls = True
    type: Literal["tool_call"] = "tool_call"
    name: ToolName | None = Field(default=None, description="Name of the tool, exactly; any tool when absent.")
    arguments: dict[str, Any] | None = Field(
        default=None,
        description='Arguments the call must have, equal as JSON (10 is 10.0, not "10"); it may have more.',
    )
    schema_: dict[str, Any] | None = Field(
        default=None, alias="schema", description="JSON Schema (draft 2020-12) the arguments must fit."
    )
    calls: tuple[WantedCall, ...] | None = Field(
        default=None, min_length=1, description="Several wanted calls {name, arguments, schema}, in place of one."
    )
    order: Literal["any", "strict"] = Field(
        default="any", description="Whether `calls` have to come in the order given; others may stand between them."
    )
    extra: Literal["allow", "forbid"] = Field(
        default="allow", description="Whether the reply may make other calls too."
    )

    @cached_property
    def _wanted(self) -> tuple[WantedCall, ...]:
        if self.calls is not None:
            return self.calls
        return (WantedCall(name=self.name, arguments=self.arguments, schema=self.schema_),)

    @model_validator(mode="before")
    @classmethod
    def _one_form(cls, raw: Any) -> Any:
        if isinstance(raw, Mapping):
            single = [key for key in ("name", "arguments", "schema") if raw.get(key) is not None]
            if raw.get("calls") is not None and single:
                raise ValueError(f"`calls` and `{single[0]}` are two ways to say it; put {single[0]} into `calls`")
            if raw.get("calls") is None and "order" in raw:
                raise ValueError("`order` needs `calls`, the list of calls whose order it is about")
        return raw

    @model_validator(mode="after")
    def _schema_is_sound(self) -> ToolCallCheck:
        if self.schema_ is not None:
            compile_schema(self.schema_)
        return self

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` with the nearest call's fault: its name, its arguments, or that none was made."""
        calls, wanted = reply.tool_calls, self._wanted
        shown = "; ".join(f"{call.name}({call.arguments})" for call in calls[:10])
        if not calls:
            return fail(_no_call(reply.text, wanted), reply.text)
        try:
            met = _in_order(wanted, calls) if self.order == "strict" else _one_to_one(wanted, calls)
            if missing := [want for index, want in enumerate(wanted) if index not in met]:
                return fail(_why_missing(missing[0], calls, met), shown)
        except TimeoutError:
            return Verdict(Outcome.TIMEOUT, "a `pattern` of the schema took too long on the arguments", shown[:200])
        if self.extra == "forbid" and len(calls) > len(wanted):
            other = next(call for index, call in enumerate(calls) if index not in met.values())
            return fail(
                f"an extra call was made, to `{other.name}`; {len(calls)} calls in place of {len(wanted)}", shown
            )
        return passed(shown)


@register
class NoToolCall(Check):
    """The reply calls no tool.

    A reply that is nothing but a call written as text fails as well: the model meant to call. A call shown within an
    answer does not count.
    """

    type_name = "no_tool_call"
    looks_at_tool_calls = True
    type: Literal["no_tool_call"] = "no_tool_call"

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` naming the tools called."""
        if reply.tool_calls:
            names = ", ".join(f"`{call.name}`" for call in reply.tool_calls[:5])
            return fail(f"the reply makes a tool call: {names}", reply.tool_calls[0].arguments)
        if is_written_call(reply.text):
            return fail("the reply is a tool call written as text", reply.text)
        return passed(reply.text)


def _name_fault(name: str, wanted: str) -> str:
    if not name:
        return f"the call has no tool name; `{wanted}` was wanted"
    return f"the name of the tool called is `{name}`, not `{wanted}`"


def _no_call(text: str, wanted: Sequence[WantedCall]) -> str:
    names = [want.name for want in wanted if want.name]
    if writes_call(text, names):
        return "the call is written as text; no tool call was made"
    return "no tool call was made"


def _why_missing(want: WantedCall, calls: Sequence[ToolCall], met: Mapping[int, int]) -> str:
    """The fault of the call that comes nearest: of the right name and not used for another wanted call."""
    free = [call for index, call in enumerate(calls) if index not in met.values()]
    near = next((call for call in free if want.name in (None, call.name)), free[0] if free else None)
    fault = None if near is None else want.fault(near)
    if fault is None:
        return f"no call of its own, or none in the wanted order, is left for {want}"
    return fault


def _difference(wanted: Any, given: Any, at: str) -> str | None:
    """Where `given` is not `wanted`; objects may have more keys than wanted, lists not more elements."""
    place = f"`{at}`" if at else "the object"
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        for key, inner in wanted.items():
            below = f"{at}.{key}" if at else str(key)
            if key not in given:
                return f"`{below}` is missing"
            if found := _difference(inner, given[key], below):
                return found
        return None
    if isinstance(wanted, (list, tuple)) and isinstance(given, list):
        if len(wanted) != len(given):
            return f"{place} has {len(given)} elements, not {len(wanted)}"
        pairs = enumerate(zip(wanted, given, strict=True))
        return next(filter(None, (_difference(one, two, f"{at}[{index}]") for index, (one, two) in pairs)), None)
    if canonical(wanted) != canonical(given):
        return f"{place} is {_short(given)}, not {_short(wanted)}"
    return None


def _short(value: Any) -> str:
    return f"{json.dumps(value, ensure_ascii=False, default=str):.60}"


def _in_order(wanted: Sequence[WantedCall], calls: Sequence[ToolCall]) -> dict[int, int]:
    """Wanted call → call made, taking the first that fits after the one before."""
    met: dict[int, int] = {}
    at = 0
    for index, want in enumerate(wanted):
        found = next((place for place in range(at, len(calls)) if want.fault(calls[place]) is None), None)
        if found is None:
            break
        met[index], at = found, found + 1
    return met


def _one_to_one(wanted: Sequence[WantedCall], calls: Sequence[ToolCall]) -> dict[int, int]:
    """A largest matching of wanted calls to calls made, each call used once (augmenting paths)."""
    fits = [[place for place, call in enumerate(calls) if want.fault(call) is None] for want in wanted]
    holder: dict[int, int] = {}

    def place_for(index: int, tried: set[int]) -> bool:
        for place in fits[index]:
            if place not in tried:
                tried.add(place)
                if place not in holder or place_for(holder[place], tried):
                    holder[place] = index
                    return True
        return False

    for index in range(len(wanted)):
        place_for(index, set())
    return {index: place for place, index in holder.items()}
