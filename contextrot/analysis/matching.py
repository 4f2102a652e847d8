"""Which sessions may be compared with which: same scenario, script, seed and repeat, and why others may not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from contextrot.analysis.evidence import Evidence, SessionEvidence, names
from contextrot.errors import BaselineError, ConfigError
from contextrot.outcomes import Ended

Pair = tuple[SessionEvidence, SessionEvidence]
Key = tuple[str, str, str]
_KINDS = ("scenario", "model", "strategy")
#: `Evidence.status` of a run that is still to be made
PLANNED = "planned"


@dataclass(frozen=True, slots=True)
class Matched:
    """The pairs of one comparison, baseline first. `scenario` None: pooled over scenarios.

    labels: how the sides are called where they differ (the model or strategy); baseline, candidate: all sessions of
    either side, paired or not; planned: how many each side should have had. without: scenario → checks that decide
    nothing, because they pass their floor control on either side or were asked on one side alone.
    """

    scenario: str | None
    model: str
    strategy: str
    labels: tuple[str, str]
    pairs: tuple[Pair, ...]
    baseline: tuple[SessionEvidence, ...]
    candidate: tuple[SessionEvidence, ...]
    planned: tuple[int | None, int | None]
    without: Mapping[str, frozenset[str]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Matching:
    """All rows of a comparison. incompatible: groups both runs have and that may not be compared, a sentence each."""

    rows: list[Matched]
    pooled: list[Matched]
    notes: list[str]
    incompatible: list[str] = field(default_factory=list)
    reference: str = ""


def match_runs(baseline: Evidence, candidate: Evidence, *, accept_changed: bool = False) -> Matching:
    """Pair the sessions of two runs by scenario, model, strategy and repeat.

    A model (or strategy) that alone changed its name, one on each side, is the change that is looked at, and is paired.
    What is not on both sides is noted, checks too: they are paired by their ids. Raises `BaselineError` when nothing
    remains: different scenario files (unless `accept_changed`), seeds, turns, windows or histories cannot be paired.
    """
    for run, word in ((baseline, "baseline"), (candidate, "candidate")):
        if not run.sessions:
            raise BaselineError(f"the {word} {run.source} holds no sessions")
    first, second = baseline.groups(), candidate.groups()
    renamed, notes = _renamed(first, second)
    rows, incompatible, used = [], [], set()
    for key, sessions in second.items():
        was = _before(key, renamed)
        theirs = first.get(was)
        if theirs is None:
            notes.append(f"{_named(key)} is not in {baseline.source}: not compared")
            continue
        used.add(was)
        why, note = _differs(theirs, sessions, baseline, candidate, accept_changed=accept_changed)
        if why:
            incompatible.append(f"{_named(key)}: {why}")
            continue
        gone, come = _only(theirs, sessions), _only(sessions, theirs)
        if gone and come and not _checks(theirs) & _checks(sessions):
            incompatible.append(f"{_named(key)}: no check is on both sides ({names(gone)}, now {names(come)})")
            continue
        notes += [
            f"{_named(key)}: what {names(checks)} said is only in {run.source}: not compared"
            for checks, run in ((gone, baseline), (come, candidate))
            if checks
        ]
        labels = [_label(was), _label(key)] if was != key else [baseline.source, candidate.source]
        row = _matched(key, (labels[0], labels[1]), theirs, sessions, baseline, candidate, note)
        rows.append(replace(row, without={key[0]: row.without[key[0]] | gone | come}))
    notes += [f"{_named(key)} is only in {baseline.source}: not compared" for key in first if key not in used]
    if not rows:
        raise BaselineError(_nothing(baseline, candidate, incompatible))
    notes += [f"not compared: {sentence}" for sentence in incompatible]
    return Matching(rows, _pooled(rows), list(dict.fromkeys(notes)), incompatible)


def match_within(run: Evidence, by: str, reference: str | None) -> Matching:
    """Pair each strategy (or model) of a run with the reference one, in each scenario and repeat.

    Raises `ConfigError` when the reference is not in the run, or there is nothing beside it.
    """
    at = _KINDS.index(by)
    groups = run.groups()
    found = list(dict.fromkeys(key[at] for key in groups))
    if not found:
        raise BaselineError(f"{run.source} holds no sessions")
    # Groups stand in the order of the run, so the first is the one that the user named first.
    chosen = reference or ("full" if by == "strategy" and "full" in found else found[0])
    if chosen not in found:
        close = [name for name in found if name.startswith(chosen)]
        if len(close) != 1:
            raise ConfigError(f"{run.source} has no {by} {chosen!r}; it has {names(found)}")
        (chosen,) = close
    if len(found) < 2:
        raise ConfigError(f"{run.source} has one {by} only, {chosen}; name a second run to compare it with")
    rows, notes = [], []
    for key, sessions in groups.items():
        if key[at] == chosen:
            continue
        was = (*key[:at], chosen, *key[at + 1 :])
        theirs = groups.get((was[0], was[1], was[2]))
        if theirs is None:
            notes.append(f"{_named(key)}: {chosen} was not run there: not compared")
            continue
        why, note = _differs(theirs, sessions, run, run, accept_changed=True)
        if why:
            notes.append(f"{_named(key)}: {why}: not compared")
            continue
        rows.append(_matched(key, (chosen, key[at]), theirs, sessions, run, run, note))
    if not rows:
        raise BaselineError(f"nothing in {run.source} can be compared with {chosen}: {'; '.join(notes)}")
    return Matching(rows, _pooled(rows), notes, reference=chosen)


def _matched(
    key: Key,
    labels: tuple[str, str],
    theirs: Sequence[SessionEvidence],
    sessions: Sequence[SessionEvidence],
    baseline: Evidence,
    candidate: Evidence,
    note: str,
) -> Matched:
    scenario, model, strategy = key
    before = {session.repeat: session for session in theirs}
    pairs = [(before[s.repeat], s) for s in sessions if s.repeat in before]
    floors = baseline.floors.get((scenario, theirs[0].model), frozenset()) | candidate.floors.get(
        (scenario, model), frozenset()
    )
    return Matched(
        scenario=scenario,
        model=model,
        strategy=strategy,
        labels=labels,
        pairs=tuple(pairs),
        baseline=tuple(theirs),
        candidate=tuple(sessions),
        planned=(baseline.repeats, candidate.repeats),
        without={scenario: frozenset(floors)},
        note=note,
    )


def _checks(sessions: Sequence[SessionEvidence]) -> frozenset[str]:
    return frozenset(name for session in sessions for name in session.checks)


def _only(side: Sequence[SessionEvidence], other: Sequence[SessionEvidence]) -> frozenset[str]:
    """Checks of one side that the other does not have; none where no session of the other came to its end."""
    finished = any(session.ended == Ended.COMPLETED for session in other)
    return _checks(side) - _checks(other) if finished else frozenset()


def _pooled(rows: Sequence[Matched]) -> list[Matched]:
    """Rows of one model and strategy over several scenarios as one; none where there is one scenario."""
    together: dict[tuple[str, str], list[Matched]] = {}
    for row in rows:
        together.setdefault((row.model, row.strategy), []).append(row)
    pooled = []
    for (model, strategy), parts in together.items():
        if len(parts) < 2:
            continue
        planned = [
            None
            if any(part.planned[side] is None for part in parts)
            else sum(part.planned[side] or 0 for part in parts)
            for side in (0, 1)
        ]
        pooled.append(
            Matched(
                scenario=None,
                model=model,
                strategy=strategy,
                labels=parts[0].labels,
                pairs=tuple(pair for part in parts for pair in part.pairs),
                baseline=tuple(s for part in parts for s in part.baseline),
                candidate=tuple(s for part in parts for s in part.candidate),
                planned=(planned[0], planned[1]),
                without={name: checks for part in parts for name, checks in part.without.items()},
            )
        )
    return pooled


def _renamed(first: Mapping[Key, object], second: Mapping[Key, object]) -> tuple[dict[tuple[int, str], str], list[str]]:
    """(kind, new name) → old name, where exactly one model or strategy is only here and one only there."""
    found, notes = {}, []
    for at in (1, 2):
        old, new = ({key[at] for key in side} for side in (first, second))
        gone, come = sorted(old - new), sorted(new - old)
        if len(gone) == len(come) == 1:
            found[at, come[0]] = gone[0]
            notes.append(f"{_KINDS[at]} {gone[0]} is compared with {come[0]}, which stands in its place")
    return found, notes


def _before(key: Key, renamed: Mapping[tuple[int, str], str]) -> Key:
    return key[0], renamed.get((1, key[1]), key[1]), renamed.get((2, key[2]), key[2])


def _differs(
    theirs: Sequence[SessionEvidence],
    mine: Sequence[SessionEvidence],
    baseline: Evidence,
    candidate: Evidence,
    *,
    accept_changed: bool,
) -> tuple[str, str]:
    """Why two groups may not be paired (empty when they may), and what a reader has to know when they are."""
    for name, word in (
        ("seed", "seed"), ("turns", "number of turns"), ("window", "window"), ("history", "history"),
    ):  # fmt: skip
        old, new = ({getattr(session, name) for session in side} for side in (theirs, mine))
        if name == "window" and (theirs[0].model != mine[0].model or (candidate.status == PLANNED and None in new)):
            continue  # two models have the windows they have; of a planned session it may not be known yet
        if old != new:
            return f"another {word} ({_values(old)}, now {_values(new)})", ""
    scenario = mine[0].scenario
    old_hash, new_hash = baseline.hashes.get(scenario, ""), candidate.hashes.get(scenario, "")
    if old_hash != new_hash:
        old_test, new_test = baseline.tests.get(scenario, ""), candidate.tests.get(scenario, "")
        if old_test and old_test == new_test:
            texts = _texts(baseline.texts.get(scenario, {}), candidate.texts.get(scenario, {}))
            return "", f"the scenario's texts changed ({texts}), so that their change is part of the difference"
        if not accept_changed:
            return (
                f"the scenario changed in what it tests (was {old_hash[:8] or 'unknown'}, now "
                f"{new_hash[:8] or 'unknown'}); set a new baseline, or accept it with --accept-changed",
                "",
            )
        return "", "the scenario changed in what it tests, so that its change is part of the difference"
    return "", ""


def _texts(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Which texts differ: ``system, rule json-reply``."""
    changed = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    return ", ".join(changed) or "in the order of its parts"


def _nothing(baseline: Evidence, candidate: Evidence, incompatible: Sequence[str]) -> str:
    if incompatible:
        return f"{candidate.source} cannot be compared with {baseline.source}:\n  " + "\n  ".join(incompatible)
    return (
        f"{candidate.source} and {baseline.source} have nothing in common: "
        f"{names(map(_named, candidate.groups()))} against {names(map(_named, baseline.groups()))}"
    )


def _named(key: Key) -> str:
    return f"{key[2]} on {key[1]} in {key[0]}"


def _label(key: Key) -> str:
    return f"{key[2]} on {key[1]}"


def _values(values: set[object]) -> str:
    return ", ".join(sorted(map(str, values)))
