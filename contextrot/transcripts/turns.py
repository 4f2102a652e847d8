"""The turns of a transcript as filler items, and the tools it used as declarations with the results it saw."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextrot.actions import Done, done
from contextrot.transcripts.base import Transcript

#: Results of a tool that are kept as canned ones, and the characters they may have together.
_RESULTS, _RESULT_CHARACTERS = 5, 8000


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user said, the tool rounds that followed, and the last text of the answer (None: there was none)."""

    number: int
    user: str
    assistant: str | None = None
    calls: tuple[Done, ...] = ()


def turns_of(transcript: Transcript, last: int | None = None) -> list[Turn]:
    """The turns in order, up to turn `last`; a turn whose user said nothing readable is left out."""
    calls: dict[int, list[Done]] = {}
    for call in done(transcript.messages, transcript.turn_of):
        calls.setdefault(call.turn, []).append(call)
    found = []
    spoken: dict[int, str] = {}
    answers: dict[int, str] = {}
    for message, turn in zip(transcript.messages, transcript.turn_of, strict=True):
        if message.role == "user":
            spoken[turn] = message.text
        elif message.role == "assistant" and message.text.strip():
            answers[turn] = message.text
    for turn, text in spoken.items():
        if text.strip() and (last is None or turn <= last):
            answered = tuple(call for call in calls.get(turn, ()) if call.result is not None)
            found.append(Turn(turn, text, answers.get(turn), answered))
    return found


def tool_names(transcript: Transcript) -> dict[str, str]:
    """Every tool declared or called, by its own name, and the name a scenario can give it."""
    own = [tool.name for tool in transcript.tools]
    own += [call.name for message in transcript.messages for call in message.tool_calls]
    names: dict[str, str] = {}
    for name in dict.fromkeys(own):
        base = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:60].strip("_") or "tool"
        number, wanted = 2, base
        while wanted in names.values():
            wanted, number = f"{base}_{number}", number + 1
        names[name] = wanted
    return names


def tools_of(transcript: Transcript, turns: Sequence[Turn], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The tools as a scenario declares them: those the record declares, and those that the turns call."""
    used: dict[str, list[Done]] = {}
    for turn in turns:
        for call in turn.calls:
            used.setdefault(call.call.name, []).append(call)
    declared = {tool.name: tool for tool in transcript.tools}
    found = []
    for name in dict.fromkeys([*declared, *used]):
        calls = used.get(name, [])
        tool = declared.get(name)
        described = tool.description if tool else ""
        parameters = tool.parameters if tool and _is_sound(tool.parameters) else _inferred(calls)
        entry: dict[str, Any] = {
            "name": names[name],
            "description": described if described.strip() else f"`{name}`, a tool of the recorded session.",
            "parameters": dict(parameters),
        }
        results = _results(calls)
        if results:
            entry["returns"] = results
        found.append(entry)
    return found


def _is_sound(parameters: Mapping[str, Any]) -> bool:
    """True for a JSON Schema of an object that needs nothing from elsewhere."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if parameters.get("type") != "object" or '"$ref"' in json.dumps(parameters, default=str):
        return False
    try:
        Draft202012Validator.check_schema(parameters)
    except SchemaError:
        return False
    return True


def _inferred(calls: Sequence[Done]) -> dict[str, Any]:
    """A JSON Schema that fits the arguments seen: types by key, required where every call had the key."""
    seen: list[Mapping[str, Any]] = []
    for call in calls:
        try:
            value = json.loads(call.call.arguments or "{}")
        except (ValueError, RecursionError):
            continue
        if isinstance(value, Mapping):
            seen.append(value)
    properties: dict[str, Any] = {}
    for key in dict.fromkeys(key for value in seen for key in value):
        kinds = list(dict.fromkeys(_json_type(value[key]) for value in seen if key in value))
        properties[key] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    required = [key for key in properties if all(key in value for value in seen)]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


def _results(calls: Sequence[Done]) -> list[str]:
    kept: list[str] = []
    for result in dict.fromkeys(call.result for call in calls):
        if result is not None and len(kept) < _RESULTS and len("".join(kept)) + len(result) <= _RESULT_CHARACTERS:
            kept.append(result)
    return kept
