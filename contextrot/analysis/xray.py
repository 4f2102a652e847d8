"""The X-ray of one session: its calls, where each rule and fact stood, and in words why the first check failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextrot.analysis.replay_view import Record, Transcript
from contextrot.analysis.standings import (
    COLUMN_PURPOSES,
    IN_PROMPT,
    IN_QUESTION,
    INCOMPLETE,
    UNKNOWN,
    Standing,
    cell_words,
    standings_of,
)
from contextrot.analysis.tables import SESSION_KINDS
from contextrot.outcomes import Cause, Ended

if TYPE_CHECKING:
    from contextrot.analysis.tables import Run

#: checks whose answer rests on several facts; a record names the first of them
_OF_SEVERAL = frozenset({"recall_list"})
#: turns that are named one by one
_MOST_TURNS = 5
#: characters of a check's reason that open the X-ray; the whole of it stands with the verdict
_LONGEST_REASON = 200

#: (turn, number of the graded call, kind, id) of a verdict → its final cause
Causes = Mapping[tuple[int, int | None, str, str], str]


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
    standings = () if transcript.head.get("control") else tuple(standings_of(transcript, calls, verdicts))
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
        if verdict.get("check") in _OF_SEVERAL and standing is not None and at is not None:
            first = _lost_words("the first of its facts", standing, calls, at)
            apart = "" if standing.cells[at] == INCOMPLETE else "not all it rests on was sent; "
            return f"lost: {apart}{first}"
        return f"lost: {_lost_words(what, standing, calls, at)}"
    if cause == Cause.IGNORED:
        if standing is None:
            return "ignored: what it needed stood in the prompt"
        cell = standing.cells[at] if at is not None else ""
        how = f", {cell_words(cell)}" if cell not in ("", UNKNOWN) else ""
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
    now = f"{cell_words(cell)} " if cell else "missing "
    last = next((k for k in range(at - 1, -1, -1) if standing.cells[k] in IN_PROMPT), None)
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
