"""A recorded conversation as the scripted history of a scenario, and the turns that answers rest on as its facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextrot.tasks.base import Raw

#: The only substitution of the format; a canned reply that says it by chance could not be kept as it is.
_PLACEHOLDER = "{value}"


@dataclass(frozen=True, slots=True)
class Turn:
    """One user message and what the assistant answered (None: nothing was recorded)."""

    user: str
    assistant: str | None = None
    #: does a question rest on what the user says here
    evidence: bool = False
    #: does a question rest on what the assistant says here
    told: bool = False


def turns_of(messages: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """User turns from messages with `role` and `content`; neighbours of one role become one message.

    Texts are not touched. An assistant's message before any user's has no turn to stand in and is left out, as are
    system messages and messages without text. `has_answer: true` on a message marks its turn.
    """
    turns: list[Turn] = []
    last = ""
    for message in messages:
        role, text = str(message.get("role", "")), message.get("content")
        if role not in ("user", "assistant") or not isinstance(text, str) or not text.strip():
            continue
        marked = message.get("has_answer") is True
        if role == "user" and last != "user":
            turns.append(Turn(text, None, marked))
        elif role == "user":
            turns[-1] = Turn(f"{turns[-1].user}\n\n{text}", None, turns[-1].evidence or marked)
        elif turns:
            before = turns[-1]
            said = text if before.assistant is None else f"{before.assistant}\n\n{text}"
            turns[-1] = Turn(before.user, said, before.evidence, before.told or marked)
        else:
            continue
        last = role
    return turns


def can_state(turn: Turn) -> bool:
    """True when the turn can be a fact of a scenario, byte for byte."""
    return _PLACEHOLDER not in (turn.assistant or "")


def scripted(turns: Sequence[Turn], stated: Mapping[int, str]) -> Raw:
    """The parts `facts`, `filler` and `session` of a scenario whose history is these turns.

    `stated` maps a turn (1 = the first) to the id of the fact that is its user message; the other turns are filler.
    """
    facts: list[Raw] = []
    items: list[Raw] = []
    for number, turn in enumerate(turns, 1):
        if number in stated:
            fact: Raw = {"id": stated[number], "text": _PLACEHOLDER, "values": [turn.user], "at": number}
            facts.append(fact | ({"reply": turn.assistant} if turn.assistant else {}))
        else:
            items.append({"user": turn.user} | ({"assistant": turn.assistant} if turn.assistant else {}))
    parts: Raw = {"facts": facts} if facts else {}
    if items:
        parts["filler"] = {"items": items}
    return parts | {"session": {"turns": len(turns), "history": "scripted"}}


def distances(first: int, last: int) -> list[int]:
    """The turns to ask at: right after what is asked for, half way to the end, and at the end."""
    return sorted({first, (first + last) // 2, last})


def slug(*parts: object) -> str:
    """Words as a name of a scenario, fact or probe: letters, digits, `-`, `_` and `.`, at most 64."""
    joined = "-".join(str(part) for part in parts)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", joined).strip("-._") or "x"
    return name[:64].rstrip("-._")
