"""Reference answers as checks: by code where a short answer can be found in a reply, else by a judge with a rubric."""

from __future__ import annotations

import re

from contextrot.checks import grade, load_check
from contextrot.errors import ConfigError
from contextrot.messages import Reply
from contextrot.outcomes import Outcome
from contextrot.tasks.base import Intake, Raw

#: Longer reference answers are said in other words by a right reply, which code cannot see.
MAX_WORDS = 6
MAX_CHARACTERS = 60
ONLY_A_JUDGE = "questions that only a judge model can grade (--no-judged)"

_OR = re.compile(r"(?P<value>[^()]+?)\s*\(or (?P<other>[^()]+)\)\.?")
_YES_NO = re.compile(r"(?:yes|no|true|false|likely|unlikely|maybe)\b", re.IGNORECASE)


def answered(answer: object, rubric: str, intake: Intake) -> Raw | None:
    """The check for a reference answer: `recall` when code can find it in a reply, else a judge with `rubric`.

    None when only a judge could grade it and none is wanted; that is counted.
    """
    text = str(answer).strip()
    found = _OR.fullmatch(text)
    values = [found["value"], found["other"]] if found else [text.rstrip(".")]
    if all(map(_findable, values)):
        return {"type": "recall", "value": values[0]} | ({"aliases": values[1:]} if found else {})
    return judged(rubric, intake)


def listed(answer: object, rubric: str, intake: Intake) -> Raw | None:
    """Like `answered`, for an answer that is a list with commas: each of its parts must be named."""
    parts = [part.strip() for part in str(answer).rstrip(".").split(",")]
    if len(parts) > 1 and all(map(_findable, parts)) and not any(part.startswith("and ") for part in parts):
        return {"type": "recall_list", "values": list(dict.fromkeys(parts))}
    return answered(answer, rubric, intake)


def judged(rubric: str, intake: Intake) -> Raw | None:
    """A judge with this rubric, or None (counted) when no judge is wanted."""
    if not intake.judged:
        intake.leave_out(ONLY_A_JUDGE)
        return None
    return {"type": "judge", "rubric": rubric}


def _findable(value: str) -> bool:
    """True for a short answer that `recall` finds when a reply is just that. A yes or no says too little."""
    if not value or len(value) > MAX_CHARACTERS or len(value.split()) > MAX_WORDS or _YES_NO.match(value):
        return False
    try:
        return grade(load_check({"type": "recall", "value": value}), Reply(value)).outcome is Outcome.PASS
    except ConfigError:
        return False
