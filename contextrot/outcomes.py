"""The words for what happened: to a reply, to a session, to a message of the log, and why (DESIGN §2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What a check says of one reply. Only `PASS` and `FAIL` enter a rate; the others keep their own denominators."""

    PASS = "pass"
    FAIL = "fail"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    FILTERED = "filtered"
    OVERFLOW = "overflow"
    TIMEOUT = "timeout"
    ERROR = "error"
    INCONCLUSIVE = "inconclusive"
    NOT_EXERCISED = "not_exercised"
    NOT_RUN = "not_run"

    @property
    def decided(self) -> bool:
        """True for `pass` and `fail`, the two outcomes that count in a rate."""
        return self in (Outcome.PASS, Outcome.FAIL)


class Ended(StrEnum):
    """How a session ended."""

    COMPLETED = "completed"
    OVERFLOW = "overflow"
    OVER_BUDGET = "over_budget"
    LIMIT = "limit"
    ERROR = "error"
    CANCELLED = "cancelled"


class Cause(StrEnum):
    """Why a check failed, decided from the view's manifest and the ceiling control, never by a judge."""

    LOST = "lost"
    IGNORED = "ignored"
    INCAPABLE = "incapable"


class Status(StrEnum):
    """What became of one log message in a view."""

    VERBATIM = "verbatim"
    MASKED = "masked"
    OFFLOADED = "offloaded"
    SUMMARISED = "summarised"
    RETRIEVED = "retrieved"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A check's answer: the outcome, a sentence why, and the piece of the reply it rests on."""

    outcome: Outcome
    reason: str = ""
    evidence: str = ""
