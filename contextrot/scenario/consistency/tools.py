"""What cannot be meant about tools: parameters that are no JSON Schema, canned rounds of tools that are not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from contextrot.scenario.consistency.findings import Finding, Path
from contextrot.scenario.problems import did_you_mean
from contextrot.scenario.schema import Scenario, ToolSpec


def wrong_parameters(tool: ToolSpec, path: Path) -> Iterator[Finding]:
    """The parameters of a tool are a JSON Schema of an object that needs nothing from outside the file."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if tool.parameters.get("type", "object") != "object":
        yield Finding(path, f"the parameters of tool `{tool.name}` must be a JSON Schema with `type: object`")
    try:
        Draft202012Validator.check_schema(tool.parameters)
    except SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        yield Finding(path, f"the parameters of tool `{tool.name}` are not a JSON Schema: {where}: {error.message}")
        return
    for ref in _refs(tool.parameters):
        if not _resolves(tool.parameters, ref):
            yield Finding(
                path, f"the parameters of tool `{tool.name}` refer to `{ref}`, which is not in them; nothing is fetched"
            )


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            if key in ("$ref", "$dynamicRef") and isinstance(child, str):
                yield child
            else:
                yield from _refs(child)
    elif isinstance(value, (list, tuple)):
        for child in value:
            yield from _refs(child)


def _resolves(schema: Mapping[str, Any], ref: str) -> bool:
    """True for a JSON pointer (`#/$defs/name`) that leads somewhere inside the schema."""
    place: Any = schema
    if not ref.startswith("#"):
        return False
    for part in filter(None, ref[1:].split("/")):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(place, Mapping) or key not in place:
            return False
        place = place[key]
    return True


def unknown_tools(scenario: Scenario) -> Iterator[Finding]:
    """Canned tool rounds of the filler that call what this scenario does not have."""
    tools = [tool.name for tool in scenario.tools]
    for index, item in enumerate(scenario.filler.items or ()):
        for position, call in enumerate(() if isinstance(item, str) else item.tool_calls):
            if call.name not in tools:
                yield Finding(
                    ("filler", "items", index, "tool_calls", position, "name"),
                    f"the filler calls the tool `{call.name}`, which this scenario does not have"
                    f"{did_you_mean(call.name, tools) or '; define it under `tools`'}",
                )
    several = isinstance(scenario.filler.tool_calls, tuple)
    for index, regular in enumerate(scenario.filler.calls):
        if regular.name not in tools:
            at = ("filler", "tool_calls", *((index,) if several else ()), "name")
            yield Finding(
                at,
                f"the filler calls the tool `{regular.name}`, which this scenario does not have"
                f"{did_you_mean(regular.name, tools) or '; define it under `tools`'}",
                (("tools", "*"),),
            )
    if scenario.filler.transcript is not None and scenario.session.history != "live":
        called = {call.name for item in scenario.items for call in item.tool_calls}
        for name in sorted(called - set(tools)):
            yield Finding(
                ("filler", "transcript"),
                f"the transcript calls the tool `{name}`, which this scenario does not have; define it under `tools`",
            )


def never_called(scenario: Scenario) -> Iterator[Finding]:
    """Regular tool rounds that a session of this length never comes to."""
    turns = scenario.session.turns
    several = isinstance(scenario.filler.tool_calls, tuple)
    for index, call in enumerate(scenario.filler.calls):
        if call.every > turns:
            yield Finding(
                ("filler", "tool_calls", *((index,) if several else ()), "every"),
                f"the filler calls `{call.name}` on every {call.every}th filler turn, but session.turns is {turns}: "
                "it never does",
            )
