"""MultiChallenge (Sirdeshmukh et al. 2025): the last turn of a conversation needs what was said before.

`benchmark_questions.jsonl`: ``{QUESTION_ID, AXIS, CONVERSATION: [{role, content}], TARGET_QUESTION, PASS_CRITERIA}``,
the conversation ending with the user message that is to be answered. An answer passes when a judge answers the target
question about it with the criterion (YES or NO).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contextrot.tasks.base import Intake, Option, Raw, register
from contextrot.tasks.files import expect, json_rows
from contextrot.tasks.grading import judged
from contextrot.tasks.history import can_state, scripted, slug, turns_of

_KEYS = ("QUESTION_ID", "AXIS", "CONVERSATION", "TARGET_QUESTION", "PASS_CRITERIA")
_AXES = ("INSTRUCTION_RETENTION", "INFERENCE_MEMORY", "SELF_COHERENCE", "RELIABLE_VERSION_EDITING")
#: Axes that rest on what the user said, which a control can say again.
_OF_THE_USER = _AXES[:2]


@register(
    "multichallenge",
    title="MultiChallenge: instructions kept, memory used, versions edited in the last turn",
    licence="none is named in the copies we have seen; ask its authors before you pass the data on.",
    citation="Sirdeshmukh et al. 2025, MultiChallenge: A Realistic Multi-Turn Conversation Evaluation Benchmark "
    "Challenging to Frontier LLMs.",
    link="https://github.com/ekwinox117/multi-challenge",
    file="benchmark_questions.jsonl",
    options={"axis": Option("all", "which axis", ("all", *_AXES))},
)
def scenarios(path: Path, intake: Intake) -> Iterator[Raw]:
    """One scenario per conversation: all but its last message is the history, the last is asked on a fork."""
    for number, row in enumerate(json_rows(path, name="MultiChallenge", keys=_KEYS), 1):
        where = f"{path}, question {number}"
        conversation = row["CONVERSATION"]
        expect(
            isinstance(conversation, list) and all(isinstance(message, Mapping) for message in conversation),
            where,
            "`CONVERSATION` is not a list of messages",
        )
        axis = str(row["AXIS"])
        if intake.options["axis"] not in ("all", axis):
            intake.leave_out(f"questions of the axis {axis}")
            continue
        raw = _scenario(row, axis, where, intake)
        if raw is not None:
            yield raw


def _scenario(row: Mapping[str, Any], axis: str, where: str, intake: Intake) -> Raw | None:
    turns = turns_of(row["CONVERSATION"])
    expect(bool(turns) and turns[-1].assistant is None, where, "`CONVERSATION` does not end with a user message")
    *history, last = turns
    if not history:
        intake.leave_out("conversations of a single turn")
        return None
    if intake.turns is not None and len(history) > intake.turns:
        intake.leave_out("conversations longer than --turns")
        return None
    criterion = str(row["PASS_CRITERIA"]).strip()
    check = judged(
        f"Asked of the reply, the right answer to this question is {criterion}: {row['TARGET_QUESTION'].strip()}",
        intake,
    )
    if check is None:
        return None
    probe: Raw = {"id": "last-turn", "ask": last.user, "at": len(history), "check": check}
    stated = {number: f"turn-{number}" for number, turn in enumerate(history, 1) if can_state(turn)}
    if axis in _OF_THE_USER and stated:
        probe["facts"] = list(stated.values())
    else:
        stated = {}
        probe["controls"] = False  # it rests on what the assistant said, which a fresh session has not
    return {
        "id": slug("multichallenge", row["QUESTION_ID"]),
        "title": f"MultiChallenge: {axis.lower().replace('_', ' ')}",
        **scripted(history, stated),
        "probes": [probe],
    }
