"""Notes that are a JSON value and not prose: how a strategy asks for them, and how an answer is read.

The helper's answer has to be one JSON value that fits the form's schema, alone or in the one code block that is all of
the answer. JSON that stands somewhere in prose is not taken: a helper that repeats its prompt would answer with the
schema, or with what a tool returned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from contextrot.checks.json_schema import compile_schema, first_fault
from contextrot.checks.markdown import only_fence
from contextrot.checks.reasoning import answer_of
from contextrot.checks.strict_json import JsonFault, parse
from contextrot.log import Log
from contextrot.strategies.base import Event

#: Stands between a prompt and the JSON Schema of the answer. `models/extractive.py` finds the schema by its shape.
SCHEMA_LEAD = "Answer with one JSON value and nothing else. It has to fit this JSON Schema:"


class Rejected(ValueError):
    """Why an answer was not taken: a clause that follows "your last answer could not be used:"."""


@dataclass(frozen=True, slots=True)
class Source:
    """What the helper read for one answer: unit numbers of the log, ascending, the last perhaps in part."""

    log: Log
    units: Sequence[int]


class Folded(NamedTuple):
    """New notes as JSON text, and what the record should say of how they came about."""

    text: str
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """How notes are written down as JSON.

    schema: what the answer has to fit. fold: the new notes, from the old notes (JSON text, "" at first), the answer and
    what was read for it; it may raise `Rejected`. show: the old notes as the helper sees them.
    """

    schema: Mapping[str, Any]
    fold: Callable[[str, Any, Source], Folded]
    show: Callable[[str], str] = str

    def request(self) -> str:
        """The end of the prompt: what to answer with."""
        return f"{SCHEMA_LEAD}\n{dump(self.schema)}"

    def read(self, text: str) -> Any:
        """The JSON value of an answer. Raises `Rejected`."""
        answer = answer_of(text)
        if answer is None:
            raise Rejected("it was reasoning without an answer")
        block = only_fence(answer)
        try:
            value = parse(answer if block is None else block.content)
        except JsonFault as error:
            raise Rejected(f"it was not one JSON value ({error})") from None
        try:
            fault = first_fault(validator(dump(self.schema)), value)
        except TimeoutError:
            fault = "a pattern of the schema took too long on it"
        if fault is not None:
            raise Rejected(f"the JSON did not fit the schema: {fault}")
        return value


def dump(value: Any) -> str:
    """JSON text on one line, characters as they are."""
    return json.dumps(value, ensure_ascii=False, default=float)


@lru_cache(maxsize=64)
def validator(schema: str) -> Any:
    """A compiled schema, by its JSON text. Raises `SchemaFault` (a `ValueError`) that names every fault."""
    return compile_schema(json.loads(schema))


def one_line(text: object) -> str:
    """A helper's text as one line, so that it cannot open a section of its own among the notes."""
    return " ".join(str(text).split())
