"""Runs as evidence, with a truth that is set: used by the tests of comparisons, baselines and gates beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextrot.analysis.evidence import Evidence, SessionEvidence

TURNS = 40
PROBED = range(0, TURNS + 1, 2)


def session(fails_at: int | None = None, repeat: int = 0, **fields: Any) -> SessionEvidence:
    """A session that passes every second turn until it fails for good."""
    verdicts = tuple((turn, "f" if fails_at is not None and turn >= fails_at else "p") for turn in PROBED)
    known: dict[str, Any] = {
        "scenario": "tickets", "model": "agent", "strategy": "pinned", "repeat": repeat, "seed": 0, "turns": TURNS,
        "window": 8000, "history": "scripted", "ended": "completed", "last_turn": TURNS, "checks": {"code": verdicts},
        "tokens": 1000, "cost": 0.01, "calls": 10, "fired": True,
    }  # fmt: skip
    return SessionEvidence(**known | fields)


def group(fails: Sequence[int | None], **fields: Any) -> list[SessionEvidence]:
    """One session for each turn of a first failure, as repeats."""
    return [session(turn, repeat, **fields) for repeat, turn in enumerate(fails)]


def evidence(sessions: Sequence[SessionEvidence], source: str = "run", **fields: Any) -> Evidence:
    """A finished run of these sessions."""
    known: dict[str, Any] = {
        "hashes": dict.fromkeys({s.scenario for s in sessions}, "h1"),
        "repeats": max((s.repeat for s in sessions), default=0) + 1,
        "status": "completed",
        "spent": {
            "tokens": sum(s.tokens or 0 for s in sessions),
            "cost": sum(s.cost or 0.0 for s in sessions),
            "calls": sum(s.calls for s in sessions),
        },
    }
    return Evidence(source, tuple(sessions), **known | fields)


def floors(*names: str) -> Mapping[tuple[str, str], frozenset[str]]:
    """These checks pass without their rule being stated."""
    return {("tickets", "agent"): frozenset(names)}
