"""The X-ray of one session: call by call, where each rule and fact stood, and why the first check failed.

A session file says what became of every log message in every call (its manifest) and which rule or fact each verdict
was about; it does not say which message states it. That follows: a verdict says how many turns back it was stated.
Pure functions over a `Transcript`; nothing is read from the scenario, so that a report needs the run directory alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from contextrot.analysis.replay_view import Record, Transcript
from contextrot.analysis.tables import SESSION_KINDS
from contextrot.outcomes import Cause, Ended, Status

if TYPE_CHECKING:
    from contextrot.analysis.tables import Run

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
_IN_PROMPT = SENT | {ELSEWHERE, IN_QUESTION}
#: runs of a band that are told one by one; a strategy that takes back and forth is told in numbers
_MOST_RUNS = 4
#: turns that are named one by one
_MOST_TURNS = 5
#: characters of a check's reason that open the X-ray; the whole of it stands with the verdict
_LONGEST_REASON = 200

#: (turn, number of the graded call, kind, id) of a verdict → its final cause
Causes = Mapping[tuple[int, int | None, str, str], str]


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


@dataclass(frozen=True, slots=True)
class Xray:
    """One session. columns: numbers of its calls in order, without helpers' and judges'. why: how it went, in words.

    failed_turn, failed_call: the first check that failed; None when none did. The call is None for a reply that was
    not graded by its call.
    """

    columns: tuple[int, ...]
    standings: tuple[Standing, ...]
    why: str
    failed_turn: int | None = None
    failed_call: int | None = None


def causes_by_session(run: Run) -> dict[str, dict[tuple[int, int | None, str, str], str]]:
    """The final causes of a run's failed checks by session; a record itself cannot know `incapable`."""
    import pandas as pd

    rows = run.verdicts
    rows = rows.loc[rows["cause"].astype(object).fillna("") != ""]
    found: dict[str, dict[tuple[int, int | None, str, str], str]] = {}
    columns = (rows[name] for name in ("session", "turn", "call", "kind", "id", "cause"))
    for session, turn, call, kind, name, cause in zip(*columns, strict=True):
        number = None if pd.isna(call) else int(call)
        found.setdefault(str(session), {})[int(turn), number, str(kind), str(name)] = str(cause)
    return found


def xray(transcript: Transcript, causes: Causes | None = None) -> Xray:
    """The X-ray of a session. `causes` are the final ones (`causes_by_session`); else those of the records.

    Raises `KeyError` or `TypeError` for records that lack what their kind has to have.
    """
    calls = [record for record in transcript.records if record["t"] == "call" and record["purpose"] in COLUMN_PURPOSES]
    verdicts = [record for record in transcript.records if record["t"] == "verdict"]
    # A control says by its kind where its statement stands: in the question, or nowhere.
    standings = () if transcript.head.get("control") else tuple(_standings(transcript, calls, verdicts))
    failed = [v for v in verdicts if v["outcome"] == "fail" and v["kind"] in SESSION_KINDS]
    first = min((verdict["turn"] for verdict in failed), default=None)
    return Xray(
        columns=tuple(call["n"] for call in calls),
        standings=standings,
        why=_why(transcript, calls, verdicts, standings, [v for v in failed if v["turn"] == first], causes),
        failed_turn=first,
        failed_call=next((v["call"] for v in failed if v["turn"] == first), None),
    )


def cause_of(verdict: Record, causes: Causes | None) -> str | None:
    """The final cause of a verdict record, or what was recorded where the run was not asked."""
    if causes is None:
        return verdict.get("cause")
    return causes.get((verdict["turn"], verdict.get("call"), verdict["kind"], verdict["id"]))


def _standings(transcript: Transcript, calls: Sequence[Record], verdicts: Sequence[Record]) -> Iterable[Standing]:
    """Every rule and fact that a verdict was about, rules first, each in the order it was first tested."""
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
        where = f"{_said(runs[0][0])} in every call since" if versions else _said(runs[0][0])
    elif len(runs) <= _MOST_RUNS:
        where = ", ".join(f"{_said(cell)} {_turns(turns[0], turns[-1])}" for cell, turns in runs)
    else:
        counts: dict[str, int] = {}
        for cell, _ in told:
            counts[cell] = counts.get(cell, 0) + 1
        where = ", ".join(f"{_said(cell)} in {n}" for cell, n in counts.items()) + f" of {len(told)} calls"
    stated = [("in the system prompt" if turn == 0 else f"at turn {turn}") for turn, _ in versions]
    if not stated:
        return f"{where[:1].upper()}{where[1:]}."
    changed = f", changed {' and '.join(stated[1:])}" if stated[1:] else ""
    return f"Stated {stated[0]}{changed}; {where}."


def _said(cell: str) -> str:
    return _WORDS.get(cell, cell)


def _turns(first: int, last: int) -> str:
    return f"at turn {first}" if first == last else f"at turns {first}–{last}"


def _why(
    transcript: Transcript,
    calls: Sequence[Record],
    verdicts: Sequence[Record],
    standings: Sequence[Standing],
    failed: Sequence[Record],
    causes: Causes | None,
) -> str:
    """What a reader should know first: the first failure and its cause, or how far the session held."""
    if transcript.head.get("control"):
        return _controls_words(verdicts)
    ending = _ending(transcript)
    if not failed:
        passed = [v["turn"] for v in verdicts if v["kind"] in SESSION_KINDS and v["outcome"] == "pass"]
        held = "Nothing was decided in this session."
        if passed:
            checks = f"{len(passed)} check{'' if len(passed) == 1 else 's'}"
            held = f"Nothing failed: {checks} passed, the last at turn {max(passed)}."
        return " ".join(part for part in (held, _undecided_words(verdicts), ending) if part)
    first = failed[0]
    name = first["id"] if first.get("subject") in (None, first["id"]) else f"{first['id']} ({first['subject']})"
    cause = cause_of(first, causes)
    standing = next((one for one in standings if one.id == first.get("subject")), None)
    told = f"Failed first at turn {first['turn']}: {name}, {_cause_words(first, cause, standing, calls)}."
    reason = " ".join(str(first.get("reason") or "").split())
    if reason:
        told += f" The check says: {reason[:_LONGEST_REASON]}{'…' if len(reason) > _LONGEST_REASON else ''}."
    others = list(dict.fromkeys(v["id"] for v in failed[1:] if v["id"] != first["id"]))
    if others:
        told += f" At the same turn failed {', '.join(others)}."
    return f"{told} {ending}".strip()


def _undecided_words(verdicts: Sequence[Record]) -> str:
    """``2 were undecided: truncated at turns 14, 16.``; probes the session never came to are told by its end."""
    turns: dict[str, list[int]] = {}
    for verdict in verdicts:
        if verdict["kind"] in SESSION_KINDS and verdict["outcome"] not in ("pass", "fail", "not_run", "not_exercised"):
            turns.setdefault(verdict["outcome"].replace("_", " "), []).append(verdict["turn"])
    n = sum(map(len, turns.values()))
    if not n:
        return ""
    parts = [
        f"{outcome} at turn{'' if len(at) == 1 else 's'} {', '.join(map(str, at[:_MOST_TURNS]))}"
        + (f" and {len(at) - _MOST_TURNS} more" if len(at) > _MOST_TURNS else "")
        for outcome, at in turns.items()
    ]
    return f"{n} {'was' if n == 1 else 'were'} undecided: {'; '.join(parts)}."


def _cause_words(verdict: Record, cause: str | None, standing: Standing | None, calls: Sequence[Record]) -> str:
    what = "what it tests" if standing is None else "the rule" if standing.kind == "constraint" else "the fact"
    at = next((k for k, call in enumerate(calls) if call["n"] == verdict.get("call")), None)
    if cause == Cause.LOST:
        return f"lost: {_lost_words(what, standing, calls, at)}"
    if cause == Cause.IGNORED:
        if standing is None:
            return "ignored: what it needed stood in the prompt"
        cell = standing.cells[at] if at is not None else ""
        how = f", {_said(cell)}" if cell not in ("", UNKNOWN) else ""
        return f"ignored: {what} stood in the prompt{how}{_distance(verdict)}"
    if cause == Cause.INCAPABLE:
        return (
            "incapable: the model fails this in a fresh session as well, with the statement right before the question"
        )
    if calls and at is not None and calls[at].get("view") is None:
        return "cause not known: the agent keeps its own memory and does not say what its model was sent"
    return "cause not known: the check is tied to no rule or fact"


def _lost_words(what: str, standing: Standing | None, calls: Sequence[Record], at: int | None) -> str:
    if standing is None or at is None:
        return f"{what} was no longer in the prompt"
    cell = standing.cells[at]
    if cell == INCOMPLETE:
        return f"{what} was sent, but not all that the answer rests on"
    now = f"{_said(cell)} " if cell else "missing "
    last = next((k for k in range(at - 1, -1, -1) if standing.cells[k] in _IN_PROMPT), None)
    if last is None or standing.cells[last] == IN_QUESTION:
        return f"{what} was {now.strip()}, and no call before it was sent {what} either"
    place = f"{what} was last sent at turn {calls[last]['turn']} (call {calls[last]['n']})"
    return f"{place}, {now}since" if last + 1 < at else f"{place} and is {now}here"


def _distance(verdict: Record) -> str:
    turns, tokens = verdict.get("since_turns"), verdict.get("since_tokens")
    if not turns:
        return ""
    said = f"{turns} turn{'' if turns == 1 else 's'}"
    return f", {said}{f' and {tokens:,} tokens' if tokens else ''} after it was stated"


def _ending(transcript: Transcript) -> str:
    end = transcript.end
    if end is None:
        return "The session has not come to its end."
    if end["ended"] == Ended.COMPLETED:
        return ""
    words = {
        Ended.OVERFLOW: "the prompt no longer fitted the window",
        Ended.OVER_BUDGET: "the strategy could not fit what must stay",
        Ended.LIMIT: "a limit of the run stopped it",
        Ended.ERROR: "an error stopped it",
        Ended.CANCELLED: "it was cancelled",
    }
    return f"It ended at turn {end['turn']}: {words.get(end['ended'], end['ended'])}."


def _controls_words(verdicts: Sequence[Record]) -> str:
    """``Control questions, each in a session of its own: ceiling 3 of 4 passed, floor 0 of 4.``"""
    parts = []
    for kind in ("ceiling", "floor"):
        decided: list[Any] = [v["outcome"] for v in verdicts if v["kind"] == kind and v["outcome"] in ("pass", "fail")]
        if decided:
            parts.append(f"{kind} {decided.count('pass')} of {len(decided)} passed")
    return f"Control questions, each in a session of its own: {', '.join(parts) or 'none was decided'}."
