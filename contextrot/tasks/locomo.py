"""LoCoMo (Maharana et al. 2024): questions over very long dialogues of two people.

`locomo10.json`: a list of ``{sample_id, conversation: {speaker_a, speaker_b, session_1: [{speaker, dia_id, text,
blip_caption?}], session_1_date_time, …}, qa: [{question, answer, evidence: ["D1:3"], category,
adversarial_answer?}]}``.
Categories as in its `task_eval/evaluation.py`: 1 several answers, 2 time, 3 open domain, 4 one hop, 5 never said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextrot.tasks.base import Intake, Option, Raw, register
from contextrot.tasks.files import expect, json_rows
from contextrot.tasks.grading import answered, listed
from contextrot.tasks.history import Turn, distances, scripted, slug

_SESSION = re.compile(r"session_(\d+)")
_DIALOG = re.compile(r"D(\d+):(\d+)")
_NEVER_SAID = 5


@register(
    "locomo",
    title="LoCoMo: questions over months of dialogue between two people",
    licence="CC BY-NC 4.0 (not for commercial use).",
    citation="Maharana et al. 2024, Evaluating Very Long-Term Conversational Memory of LLM Agents.",
    link="https://github.com/snap-research/locomo",
    file="locomo10.json",
    options={"questions": Option("10", "the most questions of one dialogue, spread over it")},
)
def scenarios(path: Path, intake: Intake) -> Iterator[Raw]:
    """One scenario per dialogue: the user passes on its lines one by one, questions are asked after their evidence."""
    for number, row in enumerate(json_rows(path, name="LoCoMo", keys=("conversation", "qa")), 1):
        where = f"{path}, dialogue {number}"
        expect(isinstance(row["conversation"], Mapping), where, "`conversation` is not an object of sessions")
        expect(isinstance(row["qa"], list), where, "`qa` is not a list of questions")
        raw = _scenario(number, row, where, intake)
        if raw is not None:
            yield raw


def _scenario(number: int, row: Mapping[str, Any], where: str, intake: Intake) -> Raw | None:
    lines = list(_lines(row["conversation"], where))
    lines = lines[: intake.turns]
    expect(bool(lines), where, "`conversation` has no session with a line of dialogue")
    place = {dialog: turn for turn, (dialog, _) in enumerate(lines, 1)}
    probes: list[Raw] = []
    stated: dict[int, str] = {}
    asked = [_probe(index, question, place, len(lines), where, intake) for index, question in enumerate(row["qa"], 1)]
    for probe, turns in _spread([found for found in asked if found is not None], int(intake.options["questions"])):
        if turns:
            probe["facts"] = [_name(lines[turn - 1][0]) for turn in turns]
        probes.append(probe)
        stated |= {turn: _name(lines[turn - 1][0]) for turn in turns}
    if not probes:
        intake.leave_out("dialogues without a question left")
        return None
    talk = row["conversation"]
    first, second = (talk.get(key, "one person") for key in ("speaker_a", "speaker_b"))
    parts = scripted([Turn(text, "Noted.") for _, text in lines], stated)
    return {
        "id": slug("locomo", row.get("sample_id", number)),
        "title": f"LoCoMo: the dialogue of {first} and {second}",
        "system": f"The user passes on what {first} and {second} said to each other, line by line, with the date. "
        "Keep it in mind and answer the user's questions about it.",
        **parts,
        "probes": probes,
    }


def _lines(talk: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    """All lines as (dia_id, text), sessions by number. Each says when and by whom it was said."""
    sessions = sorted((int(found[1]), key) for key in talk if (found := _SESSION.fullmatch(key)))
    for _, key in sessions:
        when = talk.get(f"{key}_date_time")
        expect(isinstance(talk[key], list), where, f"`{key}` is not a list of lines")
        for line in talk[key]:
            good = isinstance(line, Mapping) and isinstance(line.get("text"), str) and "dia_id" in line
            expect(good, where, f"a line of `{key}` has no `text` or `dia_id`")
            shown = f" [shares a picture: {line['blip_caption']}]" if line.get("blip_caption") else ""
            date = f"[{when}] " if when else ""
            yield (
                next(_named(str(line["dia_id"])), ""),
                f"{date}{line.get('speaker', 'someone')}: {line['text']}{shown}",
            )


def _probe(
    index: int, question: Any, place: Mapping[str, int], last: int, where: str, intake: Intake
) -> tuple[Raw, list[int]] | None:
    """The probe of one question and the turns it rests on; None (counted) when it cannot be asked here."""
    good = isinstance(question, Mapping) and isinstance(question.get("question"), str)
    expect(good, where, f"question {index} of `qa` has no `question`")
    category, ask = question.get("category"), question["question"]
    probe: Raw = {"id": f"question-{index}", "ask": ask}
    if category == _NEVER_SAID:
        invented = question.get("adversarial_answer")
        check: Raw | None = {"type": "abstain"} | ({"invented": [str(invented)]} if invented else {})
        return probe | {"at": last, "check": check}, []
    if question.get("answer") is None:
        intake.leave_out("questions without an answer")
        return None
    turns = [place.get(name, 0) for evidence in question.get("evidence") or () for name in _named(str(evidence))]
    if not turns:
        intake.leave_out("questions that name no evidence")
        return None
    if not all(turns):
        intake.leave_out("questions whose evidence is not in the dialogue, or comes after --turns")
        return None
    answer = str(question["answer"])
    answer = answer.split(";")[0].strip() if category == 3 else answer
    rubric = f"The reply gives this answer, in whatever words.\nQuestion: {ask}\nRight answer: {answer}"
    check = (listed if category == 1 else answered)(answer, rubric, intake)
    if check is None:
        return None
    turns = sorted(set(turns))
    return probe | {"at": distances(turns[-1], last), "check": check}, turns


def _spread(found: Sequence[tuple[Raw, list[int]]], most: int) -> Iterator[tuple[Raw, list[int]]]:
    """At most so many of the questions, evenly from all of them."""
    step = max(1.0, len(found) / most)
    for position in range(min(most, len(found))):
        yield found[int(position * step)]


def _named(text: str) -> Iterator[str]:
    """The lines that a text names, as `D1:3`; some entries write `D1:03`, or several in one text."""
    for session, line in _DIALOG.findall(text):
        yield f"D{int(session)}:{int(line)}"


def _name(dialog: str) -> str:
    return slug(dialog.replace(":", "."))
