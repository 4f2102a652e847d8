"""Sessions needed until the gates of a bench catch a drop: each gate for each model and strategy it is held against.

`planning.py` does the arithmetic; here is which drops the run will be held to, and how long its sessions last today.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from contextrot.analysis.evidence import Evidence, SessionEvidence, names
from contextrot.analysis.gate_verdicts import fits
from contextrot.analysis.planning import Lengths, Planned, assumed, observed, plan_drop
from contextrot.errors import ConfigError
from contextrot.gate_grammar import CEILINGS, DEFAULT_DROPS, Gate, parse_gates

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Need:
    """What one gate needs for one model x strategy (`who`, empty where lengths are assumed).

    scenarios: whose sessions are pooled; a side has `planned.pairs` sessions over all of them. planned: None where
    nothing can be planned, and `why` is the sentence. instead: the same for a gate of half the drop, where no number of
    sessions makes this one catch it.
    """

    who: str
    gate: Gate
    scenarios: tuple[str, ...]
    planned: Planned | None
    why: str = ""
    instead: tuple[Gate, Planned] | None = None


def gates_to_plan(gates: Sequence[Gate]) -> tuple[list[Gate], str]:
    """The drops a run will be held to, one of the session length among them, and a note where none was asked for.

    Without any gate those of a baseline without gates.
    """
    drops = [gate for gate in gates if gate.kind == "drop"] or ([] if gates else parse_gates(DEFAULT_DROPS))
    if any(gate.metric == "rmst" for gate in drops):
        return drops, ""
    return [*drops, *parse_gates(DEFAULT_DROPS[:1])], (
        f"no gate of yours asks for a drop of the session length; planned for {DEFAULT_DROPS[0]!r} beside them"
    )


def count_tests(gates: Iterable[Gate], keys: Collection[Key], tools: Collection[str]) -> int:
    """Drops that are tested: each gate against each (scenario, model, strategy) in its scope, and over scenarios.

    tools: scenarios in which a tool can be called. As `gate_drops.drops` counts them for Holm's correction.
    """
    return sum(len(_rows(gate, keys, tools)) for gate in gates)


def needs(
    drop: float,
    gates: Sequence[Gate],
    planned: Evidence,
    *,
    run: Evidence | None = None,
    median: float | None = None,
    tools: Collection[str] = (),
) -> list[Need]:
    """What every gate on the session length needs to catch a true drop (share) of it.

    planned: the sessions of the bench (`gate_plan.planned_evidence`). run: whose lengths are today's; of it only what
    is planned counts. Without one lengths are assumed, with that `median` (turns) or half a session. Raises
    `ConfigError` where the run has nothing that is planned.
    """
    keys = list(planned.groups())
    tests = max(1, count_tests(gates, keys, tools))
    lengths = [gate for gate in gates if gate.kind == "drop" and gate.metric == "rmst"]
    if run is None:
        turns = {session.scenario: _last_asked(session) for session in planned.sessions}
        found = []
        for gate in lengths:
            for scenarios in dict.fromkeys(row for row, _, _ in _rows(gate, keys, tools, whole_only=True)):
                today = [assumed(median or max(1.0, turns[name] / 2), turns[name]) for name in scenarios]
                found.append(_need(drop, "", gate, scenarios, today, tests))
        return found
    return list(_of_run(drop, lengths, planned, run, tests))


def _of_run(drop: float, gates: Sequence[Gate], planned: Evidence, run: Evidence, tests: int) -> Iterator[Need]:
    groups = _asked_for(run, planned)
    turns = {session.scenario: session.turns or 0 for session in planned.sessions}
    for gate in gates:
        for scenarios, model, strategy in _rows(gate, list(groups), (), whole_only=True):
            who = f"{model} × {strategy}" + (f" in {scenarios[0]}" if "scenario" in gate.scope else "")
            try:
                today = [_today(groups[name, model, strategy], run, turns[name]) for name in scenarios]
                yield _need(drop, who, gate, scenarios, today, tests)
            except ValueError as error:
                yield Need(who, gate, scenarios, None, _sentence(error))


def _need(drop: float, who: str, gate: Gate, scenarios: tuple[str, ...], today: Sequence[Lengths], tests: int) -> Need:
    try:
        found = plan_drop(drop, today, limit=gate.limit, in_turns=gate.unit == "turns", tests=tests)
    except ValueError as error:
        return Need(who, gate, scenarios, None, _sentence(error))
    if found.caught_at_all:
        return Need(who, gate, scenarios, found)
    text = f"rmst: -{100 * drop / 2:.10g}%"
    lower = replace(gate, text=text, limit=drop / 2, unit="%")
    return Need(who, gate, scenarios, found, instead=(lower, plan_drop(drop, today, limit=drop / 2, tests=tests)))


def _today(sessions: Sequence[SessionEvidence], run: Evidence, turns: int) -> Lengths:
    """Lengths of the sessions of one scenario, model and strategy, up to the last turn at which anything was asked."""
    first = sessions[0]
    if (first.turns or 0) < turns:
        raise ValueError(f"Its sessions have {first.turns} turns; how they would go on to turn {turns} is not known.")
    without = run.floors.get((first.scenario, first.model), frozenset())
    lasted = [found for session in sessions if (found := session.lasted(without)) is not None]
    if not lasted:
        raise ValueError("Nothing was decided in any of its sessions.")
    asked = [
        turn
        for other in run.sessions
        if other.scenario == first.scenario
        for name, verdicts in other.checks.items()
        if name not in without
        for turn, letter in verdicts
        if letter in "pf"
    ]
    horizon = min(turns, max(asked, default=turns))
    return observed([float(at) for at, _, _ in lasted], [event for _, event, _ in lasted], float(horizon))


def _last_asked(session: SessionEvidence) -> float:
    """The last turn at which a planned session is asked something: lengths end there."""
    asked = [turn for verdicts in session.checks.values() for turn, _ in verdicts]
    return float(max(asked, default=0) or session.turns or 0)


def _asked_for(run: Evidence, planned: Evidence) -> dict[Key, list[SessionEvidence]]:
    """The groups of the run that are planned. Another model may take its place, another strategy or scenario not."""
    groups, wanted = run.groups(), list(planned.groups())
    models = {key[1] for key in wanted}
    if not models & {key[1] for key in groups}:
        models = {key[1] for key in groups}
    rest = {(key[0], key[2]) for key in wanted}
    found = {key: part for key, part in groups.items() if key[1] in models and (key[0], key[2]) in rest}
    if not found:
        there = [f"{names(key[at] for key in groups)}" for at in (0, 2)]
        raise ConfigError(
            f"--from {run.source}: nothing in it is planned here; it has scenarios {there[0]} under {there[1]}"
        )
    return found


def _rows(
    gate: Gate, keys: Collection[Key], tools: Collection[str], *, whole_only: bool = False
) -> list[tuple[tuple[str, ...], str, str]]:
    """(scenarios, model, strategy) that a gate is held against; several scenarios are pooled, besides each of them.

    whole_only: of those the widest, all scenarios together where they are pooled.
    """
    if gate.kind != "drop" or gate.metric in CEILINGS:
        return []
    apart: list[tuple[tuple[str, ...], str, str]] = []
    together: dict[tuple[str, str], list[str]] = {}
    for scenario, model, strategy in keys:
        if gate.metric == "tool_calls" and scenario not in tools:
            continue
        if fits(gate, (scenario, model, strategy)):
            apart.append(((scenario,), model, strategy))
        if "scenario" not in gate.scope and fits(gate, ("", model, strategy)):
            together.setdefault((model, strategy), []).append(scenario)
    pooled = [(tuple(found), *who) for who, found in together.items() if len(found) > 1]
    if whole_only and pooled:
        covered = {(model, strategy) for _, model, strategy in pooled}
        return [*pooled, *(row for row in apart if row[1:] not in covered)]
    return apart if whole_only else [*apart, *pooled]


def _sentence(error: ValueError) -> str:
    text = str(error).rstrip(".")
    return text[:1].lower() + text[1:]
