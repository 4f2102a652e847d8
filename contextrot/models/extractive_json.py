"""JSON of a given schema, filled with sentences of a transcript: what `extractive` answers where JSON is asked for.

Which sentences go where is told by the names a schema uses: questions, decisions with their reasons, next steps, keys
and values. What the notes so far hold of the same name is kept and brought up to date.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextrot.models.salience import Sentence, ranked, sentences
from contextrot.tokens import estimate

#: Most entries of a list or mapping that are tried first.
_MOST = 24
_NOT_STATED = "not stated"
_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": int | float,
    "null": type(None),
}


def fill(schema: Mapping[str, Any], transcript: str, notes: str, room: int) -> str:
    """JSON text that fits the schema, with as much of the transcript as `room` tokens allow.

    Keywords that restrict beyond types, required keys and enums (patterns, lengths) are not looked at.
    """
    try:
        before = json.loads(notes) if notes else None
    except ValueError:
        before = None
    found = [sentence for sentence in sentences(transcript) if sentence.speaker != "call"]
    parts = before.values() if isinstance(before, dict) else ()
    known = {key for part in parts if isinstance(part, dict) for key in part}
    most = _MOST
    while True:
        value = _Filling(schema, found, most, room, frozenset(known)).value(schema, "", before)
        text = json.dumps(value, ensure_ascii=False)
        if most == 0 or estimate(text) <= room:
            return text
        most = most * 3 // 4


@dataclass(frozen=True, slots=True)
class _Filling:
    """One try: the sentences at hand, how many entries a list may have, tokens in all, keys the notes know."""

    root: Mapping[str, Any]
    found: list[Sentence]
    most: int
    room: int
    known: frozenset[str]

    def value(self, schema: Any, name: str, before: Any) -> Any:
        """A value for the part of the schema that stands under `name`."""
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return before if before in schema["enum"] else schema["enum"][0]
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), "null")
        if kind == "object":
            return self._object(schema, before if _is(before, dict) else {})
        if kind == "array":
            return self._array(schema, name, before if _is(before, list) else [])
        if kind == "string":
            return self._string(schema, name, before if _is(before, str) else "")
        if kind == "boolean":
            return before if _is(before, bool) else False
        if kind in ("integer", "number"):
            return before if _is(before, int | float) else schema.get("minimum", 0)
        return None

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        for _ in range(20):
            if not isinstance(schema, Mapping):
                return {}
            choices = next((schema[key] for key in ("anyOf", "oneOf", "allOf") if schema.get(key)), None)
            if "$ref" in schema:
                schema = self._at(str(schema["$ref"]))
            elif choices and "type" not in schema and "properties" not in schema:
                schema = choices[0]
            else:
                return schema
        return {}

    def _at(self, reference: str) -> Any:
        place: Any = self.root
        for part in reference.removeprefix("#").strip("/").split("/"):
            place = place.get(part, {}) if part and isinstance(place, Mapping) else place
        return place

    def _object(self, schema: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
        properties = schema.get("properties", {})
        filled = {name: self.value(part, name, before.get(name)) for name, part in properties.items()}
        further = schema.get("additionalProperties")
        if properties or further is False:
            return filled
        pairs = {key: value for key, value in before.items() if self._fits(further, value)}
        for key, value in self._pairs() if self._takes_text(further) else ():
            pairs.pop(key, None)
            pairs[key] = value
        return dict(list(pairs.items())[-self.most :]) if self.most else {}

    def _fits(self, schema: Any, value: Any) -> bool:
        """Whether a value from the notes may stand here, as far as types, enums and required keys tell."""
        schema = self._resolved(schema)
        kinds = schema.get("type", list(_TYPES))
        if "enum" in schema and value not in schema["enum"]:
            return False
        if not any(_is(value, _TYPES[kind]) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
            return False
        if isinstance(value, dict):
            parts, further = schema.get("properties", {}), schema.get("additionalProperties")
            return set(schema.get("required", ())) <= value.keys() and all(
                self._fits(parts.get(key, further), inner) for key, inner in value.items()
            )
        return not isinstance(value, list) or all(self._fits(schema.get("items"), inner) for inner in value)

    def _takes_text(self, schema: Any) -> bool:
        kind = self._resolved(schema).get("type", "string")
        return kind == "string" or "string" in kind

    def _array(self, schema: Mapping[str, Any], name: str, before: list[Any]) -> list[Any]:
        items = self._resolved(schema.get("items", {}))
        properties = items.get("properties", {})
        new: list[Any]
        if {"key", "value"} <= properties.keys():
            new = [self._operation(items, key, value) for key, value in self._pairs()]
        elif properties:
            new = [self._entry(items, sentence) for sentence in self._fitting(name)]
        elif self._takes_text(items):
            new = [sentence.text for sentence in self._fitting(name)]
        else:
            new = []
        before = [item for item in before if self._fits(items, item)]
        merged = [*before, *(item for item in new if item not in before)]
        return merged[-self.most :] if self.most else []

    def _operation(self, items: Mapping[str, Any], key: str, value: str) -> dict[str, Any]:
        """An entry of a list of operations on keys: an update where the notes know the key."""
        entry = {"key": key, "value": value}
        for name, part in items["properties"].items():
            if name not in entry:
                wanted = "update" if key in self.known else "create"
                entry[name] = self.value(part, name, wanted)
        return entry

    def _entry(self, items: Mapping[str, Any], sentence: Sentence) -> dict[str, Any]:
        """An object about one sentence: what its properties are called says what they hold."""
        entry: dict[str, Any] = {}
        for name, part in items["properties"].items():
            if "reason" in name or "why" in name or "because" in name:
                entry[name] = sentence.reason or _NOT_STATED
            elif self._takes_text(part) and "enum" not in part:
                entry[name] = sentence.text
            else:
                entry[name] = self.value(part, name, None)
        return entry

    def _string(self, schema: Mapping[str, Any], name: str, before: str) -> str:
        if "next" in name or "step" in name:
            steps = [sentence.text for sentence in self.found if sentence.step]
            text = steps[-1] if steps else before
        else:
            text = self._digest(before)
        return text or (_NOT_STATED if schema.get("minLength") else "")

    def _digest(self, before: str) -> str:
        """The best sentences, as many as a third of the room allows, on top of what was there."""
        said = (f"[{one.speaker}]\n{one.text}" for one in self.found if one.speaker != "tool")
        material = sentences("\n".join(said), before)
        left = self.room // 3
        chosen: dict[int, str] = {}
        for sentence in ranked(material)[: self.most]:
            if (tokens := estimate(sentence.text)) <= left:
                chosen[sentence.place] = sentence.text
                left -= tokens
        return " ".join(chosen[place] for place in sorted(chosen))

    def _pairs(self) -> list[tuple[str, str]]:
        """Keys and values that were said, in their order; a later one of the same key stands for both."""
        best = ranked([sentence for sentence in self.found if sentence.pair])[: self.most]
        pairs = [sentence.pair for sentence in sorted(best, key=lambda sentence: sentence.place)]
        return list(dict(pair for pair in pairs if pair).items())

    def _fitting(self, name: str) -> list[Sentence]:
        """The sentences that belong into a list of that name, in their order."""
        if "question" in name:
            fitting = [sentence for sentence in self.found if sentence.question]
        elif "decision" in name:
            fitting = [sentence for sentence in self.found if sentence.decision]
        elif "step" in name or "todo" in name or "next" in name:
            fitting = [sentence for sentence in self.found if sentence.step]
        else:
            fitting = [sentence for sentence in self.found if not sentence.question]
        return sorted(ranked(fitting)[: self.most], key=lambda sentence: sentence.place)


def _is(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
