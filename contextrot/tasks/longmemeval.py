"""LongMemEval (Wu et al. 2024): one question over a history of many dated chat sessions.

Files `longmemeval_s.json`, `_m.json`, `_oracle.json`: a list of ``{question_id, question_type, question, answer,
question_date, haystack_session_ids, haystack_dates, haystack_sessions: [[{role, content, has_answer?}]],
answer_session_ids}``; a `question_id` that ends in `_abs` asks for what was never said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from contextrot.tasks.base import Intake, Option, Raw, register
from contextrot.tasks.files import expect, json_rows
from contextrot.tasks.grading import answered, judged
from contextrot.tasks.history import Turn, can_state, distances, scripted, slug, turns_of

_KEYS = ("question_id", "question_type", "question", "answer", "haystack_sessions")
_TYPES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "temporal-reasoning",
    "knowledge-update",
    "multi-session",
    "abstention",
)


@register(
    "longmemeval",
    title="LongMemEval: a question over many dated chat sessions",
    licence="MIT.",
    citation="Wu et al. 2024, LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory.",
    link="https://github.com/xiaowu0162/LongMemEval",
    file="longmemeval_s.json, longmemeval_m.json or longmemeval_oracle.json",
    options={"type": Option("all", "which questions", ("all", *_TYPES))},
)
def scenarios(path: Path, intake: Intake) -> Iterator[Raw]:
    """One scenario per question: its sessions are the scripted history, the question is asked after the evidence."""
    for number, row in enumerate(json_rows(path, name="LongMemEval", keys=_KEYS), 1):
        where = f"{path}, question {number}"
        sessions = row["haystack_sessions"]
        expect(isinstance(sessions, list) and bool(sessions), where, "`haystack_sessions` is not a list of sessions")
        expect(
            all(isinstance(s, list) and all(isinstance(m, Mapping) for m in s) for s in sessions),
            where,
            "a session of `haystack_sessions` is not a list of messages",
        )
        kind = "abstention" if str(row["question_id"]).endswith("_abs") else str(row["question_type"])
        if intake.options["type"] not in ("all", kind):
            intake.leave_out(f"questions of the type {kind}")
            continue
        raw = _scenario(row, kind, sessions, intake)
        if raw is not None:
            yield raw


def _scenario(row: Mapping[str, Any], kind: str, sessions: Sequence[Any], intake: Intake) -> Raw | None:
    question = str(row["question"])
    check = {"type": "abstain"} if kind == "abstention" else _check(kind, question, row["answer"], intake)
    if check is None:
        return None
    turns = _history(row, sessions, intake.turns)
    if not turns:
        intake.leave_out("questions whose evidence alone is longer than --turns")
        return None
    date = f"Today is {row['question_date']}.\n\n" if row.get("question_date") else ""
    probe: Raw = {"id": "question", "ask": date + question, "at": len(turns), "check": check}
    stated: dict[int, str] = {}
    if kind != "abstention":
        marked = [number for number, turn in enumerate(turns, 1) if turn.evidence or turn.told]
        probe["at"] = distances(max(marked, default=1), len(turns))
        stated = {n: f"evidence-{n}" for n in marked if turns[n - 1].evidence and can_state(turns[n - 1])}
        if stated:
            probe["facts"] = list(stated.values())
        if not stated or any(turn.told for turn in turns):
            probe["controls"] = False  # what the assistant said cannot be restated as the user's words
    return {
        "id": slug("longmemeval", row["question_id"]),
        "title": f"LongMemEval {kind}: {question}",
        **scripted(turns, stated),
        "probes": [probe],
    }


def _history(row: Mapping[str, Any], sessions: Sequence[Any], most: int | None) -> list[Turn]:
    """The sessions in order, each opened by its date; empty when what must stay is longer than `most` turns.

    With `most`, sessions of evidence stay and others are taken, earliest first, while they fit.
    """
    dates = row.get("haystack_dates") or []
    ids = row.get("haystack_session_ids") or []
    answers = set(row.get("answer_session_ids") or [])
    dated: list[tuple[bool, list[Turn]]] = []
    for index, session in enumerate(sessions):
        turns = turns_of(session)
        if turns and index < len(dates):
            turns[0] = replace(turns[0], user=f"[{dates[index]}]\n\n{turns[0].user}")
        needed = any(turn.evidence or turn.told for turn in turns) or (index < len(ids) and ids[index] in answers)
        dated.append((needed, turns))
    if most is not None:
        room = most - sum(len(turns) for needed, turns in dated if needed)
        if room < 0:
            return []
        kept = []
        for needed, turns in dated:
            if not needed:
                if len(turns) > room:
                    continue
                room -= len(turns)
            kept.append((needed, turns))
        dated = kept
    return [turn for _, turns in dated for turn in turns]


def _check(kind: str, question: str, answer: object, intake: Intake) -> Raw | None:
    """What a right reply is, by the type of question; the rubrics say what the benchmark's own judge is told."""
    asked = f"Question: {question}\nRight answer: {answer}"
    if kind == "single-session-preference":
        return judged(
            "The reply makes use of what the user said about themselves, as described here; it need not cover all of "
            f"it.\nQuestion: {question}\nWanted: {answer}",
            intake,
        )
    if kind == "temporal-reasoning":
        wanted = "The reply gives this answer, in whatever words; a count of days, weeks or months may be off by one."
    elif kind == "knowledge-update":
        wanted = "The reply gives this answer as what holds now; it may also say what held before."
    else:
        wanted = "The reply gives this whole answer, in whatever words; a part of it is not enough."
    return answered(answer, f"{wanted}\n{asked}", intake)
