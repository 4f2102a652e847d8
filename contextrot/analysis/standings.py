"""Where each rule and fact of a session stood in every call, from its records alone.

A session file says what became of every log message in every call (its manifest) and which rule or fact each verdict
was about; it does not say which message states it. That follows: a verdict says how many turns back it was stated.
Pure functions over a `Transcript`; nothing is read from the scenario, so that a report needs the run directory alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from contextrot.analysis.replay_view import Record, Transcript
from contextrot.outcomes import Status

#: purposes of the calls that are columns of the X-ray; helpers and judges work on texts of their own
COLUMN_PURPOSES = frozenset({"turn", "probe", "control"})
#: statuses of a message that was sent as it is
SENT = frozenset({str(Status.VERBATIM), str(Status.RETRIEVED)})
#: what else a cell can say: its message was not sent as it is but what it says stood in another; it stood in the
#: question itself; the message was sent, but not all that the answer needs; what was sent is not known
ELSEWHERE, IN_QUESTION, INCOMPLETE, UNKNOWN = "elsewhere", "question", "incomplete", "unknown"
_WORDS = {
    ELSEWHERE: "in another message",
    IN_QUESTION: "in the question itself",
    INCOMPLETE: "only in part",
    UNKNOWN: "not known",
}
#: cells of a call that was sent what the statement says
IN_PROMPT = SENT | {ELSEWHERE, IN_QUESTION}
#: runs of a band that are told one by one; a strategy that takes back and forth is told in numbers
_MOST_RUNS = 4


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one rule or fact stood.

    kind: `constraint` or `fact`. versions: ``(turn, index in the log)`` of every statement of it, a fact's newest last.
    cells: one per column: a status of the message that states it, or `elsewhere` (not sent as it is, but its text stood
    in another message), `question` (in the probe itself), `incomplete` (sent, but not all the answer needs), `unknown`
    (the agent keeps its own memory), or empty before it is said. words: the same as a sentence.
    """

    id: str
    kind: str
    versions: tuple[tuple[int, int], ...]
    cells: tuple[str, ...]
    words: str


def standings_of(transcript: Transcript, calls: Sequence[Record], verdicts: Sequence[Record]) -> Iterable[Standing]:
    """Every rule and fact that a verdict was about, rules first, each in the order it was first tested.

    `calls` are the columns; a cell for each. Raises `KeyError` or `TypeError` for records that lack parts.
    """
    said = {
        record["turn"]: record
        for record in reversed(transcript.records)  # the first message of a turn is the user's, and it stays
        if record["t"] == "msg" and record["branch"] is None and record["origin"] not in ("reply", "tool")
    }
    about: dict[str, list[Record]] = {}
    for verdict in verdicts:
        if verdict.get("subject"):
            about.setdefault(verdict["subject"], []).append(verdict)
    found = []
    for name, tested in about.items():
        # In the fresh session a statement stands in the question: that says nothing about where it will be said.
        stated = {v["turn"] - v["since_turns"] for v in tested if v["turn"] and v.get("since_turns") is not None}
        versions = tuple((turn, said[turn]["i"]) for turn in sorted(_earlier(stated & said.keys(), said)))
        rule = 0 in stated or any(v["kind"] == "passive" for v in tested)
        if not rule and versions:
            rule = said[versions[0][0]]["origin"] == "constraint"
        statements = {index: _flat(transcript.message(index)) for turn, index in versions if turn}
        visible = {v["call"]: v.get("in_view") for v in tested if v.get("call") is not None}
        cells = tuple(_cell(call, versions, statements, visible.get(call["n"])) for call in calls)
        kind = "constraint" if rule else "fact"
        found.append(Standing(name, kind, versions, cells, _standing_words(versions, cells, calls)))
    return sorted(found, key=lambda standing: standing.kind != "constraint")


def _earlier(stated: set[int], said: Mapping[int, Record]) -> set[int]:
    """The turns of a statement and of the values of the same fact before it, which no probe need have asked for.

    A fact that changes is told in the same words but for the value; a distractor has an origin of its own.
    """
    facts = {turn: _flat(record["message"]) for turn, record in said.items() if record["origin"] == "fact"}
    alike = {
        turn
        for turn, text in facts.items()
        if any(turn < other and _reworded(text, facts[other]) for other in stated & facts.keys())
    }
    return stated | alike


def _flat(message: Record) -> str:
    """The text of a message in one line: a strategy that says it again may break its lines elsewhere."""
    content = message.get("content")
    return " ".join(content.split()) if isinstance(content, str) else ""


def _reworded(one: str, other: str) -> bool:
    """True for texts that differ in one place only, and by less than they share."""
    shortest, longest = sorted((len(one), len(other)))
    before = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), shortest)
    after = next((k for k, (a, b) in enumerate(zip(one[::-1], other[::-1], strict=False)) if a != b), shortest)
    return 2 * min(before + after, shortest) > longest


def _cell(
    call: Record, versions: Sequence[tuple[int, int]], statements: Mapping[int, str], visible: bool | None
) -> str:
    """What became of a statement in one call. `visible`: was its text in what was sent, where a check has looked?"""
    view = call.get("view")
    if view is None:
        return UNKNOWN
    index = next((index for turn, index in reversed(versions) if turn <= call["turn"]), None)
    status = None if index is None else status_of(view, index)
    if index is None or status is None:
        return IN_QUESTION if visible else ""
    if status not in SENT:
        said = index in statements and any(statements[index] in _flat(made) for _, made in view["made"])
        return ELSEWHERE if visible or said else status
    return INCOMPLETE if visible is False else status


def status_of(view: Record, index: int) -> str | None:
    """The status of the log message at `index` in a view; None when it was not said yet."""
    return next((str(status) for status, start, end in view.get("manifest", ()) if start <= index < end), None)


def _standing_words(versions: Sequence[tuple[int, int]], cells: Sequence[str], calls: Sequence[Record]) -> str:
    """``Stated at turn 1; verbatim at turns 1–7, dropped at turns 8–20.``"""
    told = [(cell, call["turn"]) for cell, call in zip(cells, calls, strict=True) if cell]
    runs = [(cell, [turn for _, turn in run]) for cell, run in groupby(told, key=lambda pair: pair[0])]
    if not runs:
        where = "not said before any call"
    elif {cell for cell, _ in told} == {UNKNOWN}:
        where = "what was sent is not known, because the agent keeps its own memory"
    elif len(runs) == 1:
        where = f"{cell_words(runs[0][0])} in every call since" if versions else cell_words(runs[0][0])
    elif len(runs) <= _MOST_RUNS:
        where = ", ".join(f"{cell_words(cell)} {_turns(turns[0], turns[-1])}" for cell, turns in runs)
    else:
        counts: dict[str, int] = {}
        for cell, _ in told:
            counts[cell] = counts.get(cell, 0) + 1
        where = ", ".join(f"{cell_words(cell)} in {n}" for cell, n in counts.items()) + f" of {len(told)} calls"
    stated = [("in the system prompt" if turn == 0 else f"at turn {turn}") for turn, _ in versions]
    if not stated:
        return f"{where[:1].upper()}{where[1:]}."
    changed = f", changed {' and '.join(stated[1:])}" if stated[1:] else ""
    return f"Stated {stated[0]}{changed}; {where}."


def cell_words(cell: str) -> str:
    """What a cell says, as it stands in a sentence."""
    return _WORDS.get(cell, cell)


def _turns(first: int, last: int) -> str:
    return f"at turn {first}" if first == last else f"at turns {first}–{last}"
