"""What a baseline file may hold, field by field, and what is said of one that was edited by hand or broke on its way.

A wrong type in a committed file must never reach a comparison: a text where a number stands would be taken for a fault
of contextrot, a repeat listed twice would pair one session with two. Keys that this version does not know are passed
over: newer versions of the same format add some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contextrot.analysis.figures import RUNNING
from contextrot.errors import BaselineError
from contextrot.outcomes import Ended

#: faults named at most; the rest are counted
MOST_FAULTS = 5
#: the largest number, as other readers of JSON hold it exactly
_LARGEST = 2**53 - 1
_END = f"^({'|'.join((*map(str, Ended), RUNNING))})$"
_VERDICTS = r"^([0-9]{1,9}[pfu]( [0-9]{1,9}[pfu])*)?$"
_TURNS = r"^[0-9]{1,9}( [0-9]{1,9})*$"
#: what a text has to look like, for the sentence about one that does not
_WANTED = {
    _END: f"should be one of {', '.join((*map(str, Ended), RUNNING))}",
    _VERDICTS: "should be turns with p, f or u, as in 0p 5p 10f",
    _TURNS: "should be turns, as in 10 15",
}

Count = Annotated[int, Field(ge=0, le=_LARGEST)]
Whole = Annotated[int, Field(ge=-_LARGEST, le=_LARGEST)]
#: ``0p 5p 10f 15u``: turn and letter
Verdicts = Annotated[str, Field(pattern=_VERDICTS)]
Turns = Annotated[str, Field(pattern=_TURNS)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, allow_inf_nan=False)


class SessionRow(_Part):
    """One session. last_turn: turns; cost: USD; called: replies with a tool call, of so many replies."""

    repeat: Count
    ended: Annotated[str, Field(pattern=_END)]
    last_turn: Count | None
    tokens: Count | None
    cost: Annotated[float, Field(ge=0)] | None
    calls: Count
    checks: dict[str, Verdicts]
    no_room: dict[str, Turns] = {}
    called: tuple[Count, Count] = (0, 0)
    fired: bool = False


class GroupRows(_Part):
    """Sessions that share a scenario, model, strategy and how they were run."""

    scenario: str
    model: str
    strategy: str
    seed: Whole | None
    turns: Count | None
    window: Count | None
    history: str
    sessions: list[SessionRow]


class BaselineFile(_Part):
    """The whole file. floors: scenario, model, and the checks that pass there without their rule being stated."""

    contextrot_baseline: int
    versions: dict[str, str]
    git_commit: str | None
    simulated: bool
    repeats: Count | None
    scenarios: dict[str, str]
    tests: dict[str, str] = {}
    texts: dict[str, dict[str, str]] = {}
    floors: list[tuple[str, str, list[str]]]
    groups: list[GroupRows]


def read(content: bytes, where: Path) -> BaselineFile:
    """The file as data. Raises `BaselineError` with a sentence that names the file and each field that is wrong."""
    try:
        found = BaselineFile.model_validate_json(content)
    except ValidationError as error:
        faults = [
            f"{_place(fault['loc'])}: {_said(fault['msg'], fault['input'], fault.get('ctx', {}))}"
            for fault in error.errors()
        ]
    else:
        faults = _twice(found)
        if not faults:
            return found
    more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
    raise BaselineError(
        f"{where} is damaged: {'; '.join(faults[:MOST_FAULTS])}{more}; take back the edit, or set the baseline anew"
    )


def _twice(found: BaselineFile) -> list[str]:
    """Repeats that are listed more than once for a scenario, model and strategy."""
    listed = Counter(
        (group.strategy, group.model, group.scenario, row.repeat) for group in found.groups for row in group.sessions
    )
    return [
        f"repeat {repeat} of {strategy} on {model} in {scenario} is listed {times} times"
        for (strategy, model, scenario, repeat), times in listed.items()
        if times > 1
    ]


def _place(parts: tuple[int | str, ...]) -> str:
    """``groups[0].sessions[2].tokens``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".") or "the file"


def _said(message: str, value: object, context: Mapping[str, object]) -> str:
    message = _WANTED.get(str(context.get("pattern")), message)
    shown = "" if isinstance(value, dict | list) else f", not {value!r:.60}"
    return message[:1].lower() + message[1:] + shown
