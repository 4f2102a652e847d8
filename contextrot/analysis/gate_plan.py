"""What is known of gates before the first call: what would be compared with what, so that nothing is paid in vain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from contextrot.analysis.comparison import Limits
from contextrot.analysis.evidence import Evidence, SessionEvidence
from contextrot.analysis.gate_limits import FEWEST_SESSIONS, known_turn
from contextrot.analysis.gate_verdicts import fits, in_scope, value_text
from contextrot.analysis.matching import PLANNED, Matching, match_runs
from contextrot.errors import BaselineError
from contextrot.gate_grammar import CEILINGS, Gate

if TYPE_CHECKING:
    from contextrot.bench.matrix import Matrix
    from contextrot.models import AgentModel, Model
    from contextrot.scenario import Scenario


def check_plan(
    gates: Sequence[Gate],
    planned: Evidence,
    baseline: Evidence | None = None,
    *,
    limits: Limits | None = None,
    accept_changed: bool = False,
) -> list[str]:
    """Sentences on gates that can have no verdict, whatever the planned sessions find.

    Raises what `evaluate` would raise of a run that was made as planned: `NothingMatchedError` for a scope or turn that
    is not in it, `BaselineError` for sessions that cannot be compared with those of the baseline.
    """
    limits = limits or Limits()
    told: list[str] = []
    for gate in gates:
        groups = in_scope(gate, planned)
        if gate.turn is not None:
            known_turn(gate, [session for sessions in groups.values() for session in sessions])
        if gate.kind == "floor":
            told += _floor(gate, [session for sessions in groups.values() for session in sessions], planned)
    relative = [gate for gate in gates if gate.needs_baseline]
    if relative and baseline is not None:
        matching = match_runs(baseline, planned, accept_changed=accept_changed)
        if matching.incompatible:
            raise BaselineError("the baseline does not fit:\n  " + "\n  ".join(matching.incompatible))
        for gate in relative:
            told += _drop(gate, matching, limits)
    return list(dict.fromkeys(told))


def _floor(gate: Gate, sessions: Sequence[SessionEvidence], planned: Evidence) -> Iterator[str]:
    repeats = planned.repeats or 0
    if repeats < FEWEST_SESSIONS:
        yield f"gate {gate.text!r} will have no verdict: it takes {FEWEST_SESSIONS} sessions, --repeats is {repeats}"
    shortest = min((session.turns or 0 for session in sessions), default=0)
    if gate.unit == "turns" and gate.limit > shortest:
        limit = value_text(gate.limit, gate)
        yield f"gate {gate.text!r} cannot be passed: no session of {shortest} turns shows {limit}"


def _drop(gate: Gate, matching: Matching, limits: Limits) -> Iterator[str]:
    rows = [row for row in matching.rows if fits(gate, (row.scenario or "", row.model, row.strategy))]
    if not rows:
        raise BaselineError(f"gate {gate.text!r}: what it is held against is not in the baseline")
    fewest = min(len(row.pairs) for row in rows)
    if gate.metric not in CEILINGS and fewest < limits.min_pairs:
        theirs = min(len(row.baseline) for row in rows)
        yield (
            f"gate {gate.text!r} will have no verdict: it takes {limits.min_pairs} pairs of sessions, there will be "
            f"{fewest} (--repeats {len(rows[0].candidate)}, {theirs} in the baseline)"
        )


def planned_evidence(matrix: Matrix) -> Evidence:
    """The sessions of a matrix before they are run: what identifies them, and the turns at which something is asked.

    A window that only the model itself can tell is None. Raises `ScenarioError` as `expand` does.
    """
    from contextrot.bench.matrix import OWN_MEMORY
    from contextrot.models import AgentModel

    config = matrix.config
    sessions = []
    for scenario in matrix.scenarios:
        checks = _asked(scenario, matrix)
        for model in matrix.models:
            own = isinstance(model, AgentModel)
            sessions += [
                SessionEvidence(
                    scenario=scenario.id,
                    model=model.spec.label,
                    strategy=strategy,
                    repeat=repeat,
                    seed=config.seed,
                    turns=config.turns or scenario.session.turns,
                    window=_window(scenario, model, matrix),
                    history=config.history or scenario.session.history,
                    ended=PLANNED,
                    last_turn=None,
                    checks=checks,
                )
                for strategy in ([OWN_MEMORY] if own else [label for label, _ in matrix.strategies])
                for repeat in range(config.repeats)
            ]
    return Evidence(
        source="this bench",
        sessions=tuple(sessions),
        hashes={scenario.id: scenario.content_hash for scenario in matrix.scenarios},
        tests={scenario.id: scenario.test_hash for scenario in matrix.scenarios},
        texts={scenario.id: scenario.text_hashes for scenario in matrix.scenarios},
        repeats=config.repeats,
        status=PLANNED,
    )


def _window(scenario: Scenario, model: Model | AgentModel, matrix: Matrix) -> int | None:
    from contextrot.bench.matrix import settings_of
    from contextrot.errors import ConfigError

    try:
        return settings_of(matrix.config, scenario, model).window or None
    except ConfigError:
        return None  # the model has not been asked yet; the run says so if it does not know either


def _asked(scenario: Scenario, matrix: Matrix) -> dict[str, tuple[tuple[int, str], ...]]:
    """Check → the turns it is asked at, as undecided. Questions in rotation are one probe, so any repeat will do."""
    from contextrot.scenario import expand

    config = matrix.config
    script = expand(scenario, seed=config.seed, repeat=0, turns=config.turns, history=config.history)
    asked = [(ask.id, 0) for ask in script.fresh]
    answered = {0} if script.fresh else set()
    for turn in script.turns:
        probes = [ask for ask in (turn.inline, *turn.forks) if ask is not None]
        asked += [(ask.id, turn.turn) for ask in probes]
        if probes or script.history == "live":
            answered.add(turn.turn)
    for rule in script.passive:
        asked += [(rule.id, turn) for turn in answered if turn >= rule.subject.turn]
    names = dict.fromkeys(name for name, _ in asked)
    return {name: tuple(sorted({(turn, "u") for other, turn in asked if other == name})) for name in names}
