"""Gates: what a run must keep to, and the one place that says whether it did (DESIGN §9).

`evaluate` makes the verdicts, the sentence and the exit code together, so that what is printed and what the caller's
shell sees cannot differ. How a gate decides:

- A floor (`median >= 30`) passes when the estimate meets it, fails when the whole interval lies below it, and has no
  verdict between the two: an estimate below the limit that more sessions could lift is neither good news nor bad.
- A ceiling (`cost <= 1.50`) is counted, not estimated: over it is failed.
- A drop (`rmst: -10%`) fails when a regression is confirmed: the interval excludes 0, the p-value holds after Holm's
  correction over all drops, and the effect reaches the limit. It passes otherwise, if the interval rules out a drop
  five times the limit. A drop that the interval shows and Holm does not confirm is no verdict, and so are fewer pairs
  than could confirm any.
- `proven` turns the burden round: the interval must rule out that the limit is broken.
- Sessions that ended in errors, are missing, or were not decided never help: too many of them are no verdict. A
  scenario, model or strategy of the configuration without any session is no verdict; one that the configuration leaves
  out, and the baseline has, is a note.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from contextrot.analysis.comparison import Limits
from contextrot.analysis.evidence import Evidence, evidence_of
from contextrot.analysis.gate_drops import drops
from contextrot.analysis.gate_limits import ceiling, floor
from contextrot.analysis.gate_verdicts import GateOutcome, GateResult, GateVerdict, fits, nothing, refused, scope_of
from contextrot.analysis.matching import match_runs
from contextrot.errors import BaselineError, ConfigError
from contextrot.gate_grammar import DEFAULT_DROPS, Gate, parse_gate, parse_gates

if TYPE_CHECKING:
    from contextrot.analysis.tables import Run

__all__ = ["GateOutcome", "GateResult", "GateVerdict", "evaluate", "refused"]


def evaluate(
    run: Run | Evidence,
    gates: Sequence[Gate | str | Mapping[str, Any]] = (),
    baseline: Run | Evidence | None = None,
    *,
    limits: Limits | None = None,
    accept_changed: bool = False,
    missing: str | None = None,
) -> GateResult:
    """Hold a run to gates. Without gates but with a baseline: `rmst: -10%` and `compliance: -5pp`.

    A gate without a scope is held against every scenario × model × strategy (a drop over several scenarios also
    against all of them together). Checks that pass their floor control are left out (`causes.gateable`).
    accept_changed: hold against the baseline also where a scenario changed in what it tests. missing: where a baseline
    will be that is not there yet; gates that need it are then not held, and are listed as such.

    Raises `ConfigError` for gates that cannot be read or none at all, `BaselineError` when a gate needs a baseline that
    is missing or incompatible, `NothingMatchedError` when a gate's scope or turn is nowhere in the run.
    """
    limits = limits or Limits()
    parsed = [gate if isinstance(gate, Gate) else parse_gate(gate) for gate in gates]
    now = run if isinstance(run, Evidence) else evidence_of(run)
    before = baseline if baseline is None or isinstance(baseline, Evidence) else evidence_of(baseline)
    if not parsed:
        if before is None and missing is None:
            raise ConfigError("no gate is given: write one with --gate, or some under gates: in contextrot.yaml")
        parsed = parse_gates(DEFAULT_DROPS)
    relative = [gate for gate in parsed if gate.needs_baseline]
    if relative and before is None and missing is None:
        raise BaselineError(f"gate {relative[0].text!r} needs a baseline: give one with --baseline")
    verdicts, notes = [*_state(now), *_unmeasured(parsed, now)], list[str]()
    if now.sessions:
        for gate in parsed:
            if not gate.needs_baseline:
                verdicts += ceiling(gate, now, limits) if gate.kind == "ceiling" else floor(gate, now, limits)
        if relative and before is not None:
            matching = match_runs(before, now, accept_changed=accept_changed)
            verdicts += drops(relative, matching, now, limits)
            notes = list(
                dict.fromkeys([*matching.notes, *(f"{row.scenario}: {row.note}" for row in matching.rows if row.note)])
            )
        if relative and before is None and missing is not None:
            verdicts += [_not_held(gate) for gate in relative]
            notes = [
                f"there is no baseline at {missing} yet; make one of a run you trust and commit it: "
                f"contextrot baseline set RUN --out {shlex.quote(missing)}"
            ]
    simulated = now.simulated or (before is not None and before.simulated)
    code, sentence = _conclusion(verdicts)
    order = (GateOutcome.FAILED, GateOutcome.NO_VERDICT, GateOutcome.NOT_HELD, GateOutcome.PASSED)
    verdicts.sort(key=lambda verdict: order.index(verdict.outcome))
    return GateResult(now.source, before.source if before else None, verdicts, code, sentence, notes, simulated)


def _conclusion(verdicts: Sequence[GateVerdict]) -> tuple[int, str]:
    """The exit code and the sentence that goes with it."""
    codes = {verdict.code for verdict in verdicts}
    code = next((code for code in (1, 4, 3) if code in codes), 0)
    if not verdicts:
        return 3, "no verdict: nothing was measured"
    counts = {outcome: sum(verdict.outcome is outcome for verdict in verdicts) for outcome in GateOutcome}
    parts = [
        f"{n} {word}"
        for n, word in (
            (counts[GateOutcome.FAILED], "failed"),
            (counts[GateOutcome.NO_VERDICT], "without a verdict"),
            (counts[GateOutcome.NOT_HELD], "not held"),
            (counts[GateOutcome.PASSED], "passed"),
        )
        if n
    ]
    if code == 0 and not counts[GateOutcome.PASSED]:
        return 0, f"there is no baseline yet: {', '.join(parts)}"
    head = {0: "gates passed", 1: "a gate failed", 3: "no verdict", 4: "the baseline does not fit"}[code]
    return code, f"{head}: {', '.join(parts)}"


def _not_held(gate: Gate) -> GateVerdict:
    return GateVerdict(
        gate.text, dict(gate.scope), GateOutcome.NOT_HELD, "not held: there is no baseline yet", None, gate.limit, None,
        None, 0, "", 0,
    )  # fmt: skip


def _unmeasured(gates: Sequence[Gate], run: Evidence) -> list[GateVerdict]:
    """What a run that says it is complete was to measure and did not: no gate that covers it may pass.

    What the configuration leaves out is no part of the run: a strategy that only the baseline has is a note.
    """
    if not run.sessions or run.status not in ("", "completed"):
        return []
    measured = run.groups()
    missing = [key for key in run.cells if key not in measured]
    return [
        nothing(gate.text, scope_of(key), "it was to be measured, and no session of it is in the run", limit=gate.limit)
        for key in missing
        for gate in gates
        if fits(gate, key)
    ]


def _state(run: Evidence) -> list[GateVerdict]:
    """What of the run itself stands in the way of any verdict."""
    if not run.sessions:
        return [nothing("run", {}, f"{run.source} holds no sessions")]
    if run.status not in ("", "completed"):
        return [nothing("run", {}, f"the run is {run.status}: what is missing of it could change every verdict")]
    return []
