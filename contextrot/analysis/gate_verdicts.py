"""What a gate comes to, as data and in words. `analysis/gates.py` says how it is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from contextrot.analysis.evidence import Evidence, SessionEvidence, names
from contextrot.errors import NothingMatchedError
from contextrot.gate_grammar import Gate


class GateOutcome(StrEnum):
    """What became of a gate. `NO_VERDICT` is neither good news nor bad, and never a pass.

    `NOT_HELD`: it needs a baseline, there is none yet, and the user said that this is no fault (a first run in CI).
    """

    PASSED = "passed"
    FAILED = "failed"
    NO_VERDICT = "no_verdict"
    NOT_HELD = "not_held"


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """One gate on one part of the run. Values are in the gate's unit: turns, shares (0-1), tokens, USD, calls.

    gate: as it was written. scope: scenario, model and strategy; a part that is missing was pooled. value, low, high:
    what was measured with its interval; of a drop the difference. limit: in the unit of value. n: sessions, or pairs.
    code: the exit code this verdict alone would give.
    """

    gate: str
    scope: dict[str, str]
    outcome: GateOutcome
    reason: str
    value: float | None
    limit: float
    low: float | None
    high: float | None
    n: int
    unit: str
    code: int

    @property
    def where(self) -> str:
        """The scope as a sentence names it."""
        where = self.scope.get("strategy", "all strategies")
        where += f" on {self.scope['model']}" if "model" in self.scope else ""
        return where + (f" in {self.scope['scenario']}" if "scenario" in self.scope else "")


@dataclass(frozen=True, slots=True)
class GateResult:
    """All verdicts with the exit code: 1 one failed, 4 not comparable, 3 no verdict, else 0.

    notes: sentences on what was not compared, and on what changed with what is held to the gates. simulated: some model
    of either run was. Where the gates could not be held at all (`refused`) it is the code of the error.
    """

    run: str
    baseline: str | None
    verdicts: list[GateVerdict]
    exit_code: int
    sentence: str
    notes: list[str]
    simulated: bool

    @property
    def passed(self) -> bool:
        """True when every gate passed."""
        return self.exit_code == 0

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: what `--json` prints."""
        return asdict(self)


def nothing(gate: str, scope: dict[str, str], reason: str, *, code: int = 3, limit: float = 0.0) -> GateVerdict:
    """No verdict, with the sentence why."""
    return GateVerdict(gate, scope, GateOutcome.NO_VERDICT, reason, None, limit, None, None, 0, "", code)


def refused(run: Evidence, gates: Sequence[str], baseline: str | None, sentence: str, code: int) -> GateResult:
    """What is kept of a run whose gates could not be held: the sentence of the error and its exit code, for every gate.

    So that a report of the run, made later, does not look as if nothing had been asked of it.
    """
    verdicts = [nothing(gate, {}, sentence, code=code) for gate in gates or ("gates",)]
    return GateResult(
        run.source, baseline, verdicts, code, f"the gates could not be held: {sentence}", [], run.simulated
    )


def fits(gate: Gate, key: Sequence[str]) -> bool:
    """Is this (scenario, model, strategy) in the gate's scope? A name, its beginning up to a bracket, or a pattern."""
    for kind, name in zip(("scenario", "model", "strategy"), key, strict=True):
        wanted = gate.scope.get(kind)
        if wanted is None or name == wanted or fnmatchcase(name, wanted):
            continue
        if kind == "strategy" and name.startswith(f"{wanted}("):
            continue
        return False
    return True


def in_scope(gate: Gate, run: Evidence) -> dict[tuple[str, str, str], list[SessionEvidence]]:
    """The groups of the run that a gate is held against. Raises `NothingMatchedError` when there are none."""
    found = {key: sessions for key, sessions in run.groups().items() if fits(gate, key)}
    if not found:
        wanted = ", ".join(f"{kind}={name}" for kind, name in gate.scope.items())
        there = "; ".join(
            f"{kind}: {names(key[at] for key in run.groups())}"
            for at, kind in enumerate(("scenario", "model", "strategy"))
            if kind in gate.scope
        )
        raise NothingMatchedError(f"gate {gate.text!r}: nothing in {run.source} is {wanted} ({there})")
    return found


def scope_of(key: Sequence[str]) -> dict[str, str]:
    """The (scenario, model, strategy) of a group as the scope of a verdict."""
    return dict(zip(("scenario", "model", "strategy"), key, strict=True))


def value_text(value: float | None, gate: Gate) -> str:
    """A value in the gate's unit; an infinite median was not reached."""
    if value is None:
        return "not known"
    if value == float("inf"):
        return "not reached"
    if gate.unit == "share":
        return f"{100 * value:.1f} %"
    if gate.unit == "USD":
        return f"${value:,.4g}" + (" per session" if gate.per_session else "")
    if gate.unit == "turns":
        return f"{value:.1f}".removesuffix(".0") + " turns"
    return f"{value:,.0f} {gate.unit}" + (" per session" if gate.per_session else "")


def span_text(low: float | None, high: float | None, gate: Gate) -> str:
    """The interval of a value: ``95 % 17–31``, ``95 % ≥ 17``, ``no interval``."""

    def end(value: float | None) -> str:
        return "?" if value is None else f"{100 * value:.0f} %" if gate.unit == "share" else f"{value:.3g}"

    if low is None and high is None:
        return "no interval"
    if high is None:
        return f"95 % ≥ {end(low)}"
    return f"95 % ≤ {end(high)}" if low is None else f"95 % {end(low)}–{end(high)}"


def change_text(value: float, gate: Gate, *, sign: bool = True) -> str:
    """A difference in turns or percentage points."""
    turns = gate.metric == "rmst"
    text = f"{value:+.1f}" if turns else f"{100 * value:+.1f}"
    text = text if sign else text.lstrip("+-")
    return text.replace("-", "−") + (" turns" if turns else " points")
