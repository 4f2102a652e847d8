"""What a comparison needs of each session, as plain data: from a run, or from a committed baseline file.

A baseline must pair with sessions of another day, and which checks count is decided only then (what passes its floor
control on either side is left out). So the decided checks are kept by turn, and the duration is worked out from them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contextrot.analysis.figures import CUT_SHORT, RUNNING
from contextrot.outcomes import Ended

if TYPE_CHECKING:
    import pandas as pd

    from contextrot.analysis.tables import Run

#: one letter for what a check said: passed, failed, undecided, or never asked because the window was full
_LETTER = {"pass": "p", "fail": "f", "overflow": "w"}
_UNDECIDED, _NO_ROOM = "u", "w"
#: ends of a session that are a result: the window was full
WINDOW_ENDS = (str(Ended.OVERFLOW), str(Ended.OVER_BUDGET))
#: strategies that act without leaving anything out of a view
_ADDS = ("re_anchor",)


@dataclass(frozen=True, slots=True)
class SessionEvidence:
    """One session. Turns are whole numbers; tokens and cost (USD) are None where they are not known.

    checks: id of a probe or passive check → ``(turn, letter)``, p passed, f failed, u undecided (an error, an empty or
    truncated reply, …), w not asked because the window had no room left. called: replies with a tool call, of so
    many replies (to probes that ask for an action, where there are any). fired: did the strategy ever do anything to a
    view?
    """

    scenario: str
    model: str
    strategy: str
    repeat: int
    seed: int | None
    turns: int | None
    window: int | None
    history: str
    ended: str
    last_turn: int | None
    checks: Mapping[str, tuple[tuple[int, str], ...]]
    called: tuple[int, int] = (0, 0)
    tokens: int | None = None
    cost: float | None = None
    calls: int = 0
    fired: bool = False

    @property
    def cut_short(self) -> bool:
        """True when it ended by an error, a limit, a cancellation or not at all: it says nothing from there on."""
        return self.ended in CUT_SHORT

    def lasted(self, without: Collection[str] = ()) -> tuple[int, int, str] | None:
        """(turns, event 0/1, kind of event) to the first failure of the checks that count; None: nothing was decided.

        As `tables.first_failures` does it: any failed check fails its turn, overflow and over_budget are events too.
        """
        decided: dict[int, bool] = {}
        for name, verdicts in self.checks.items():
            if name not in without:
                for turn, letter in verdicts:
                    if letter in "pf":
                        decided[turn] = decided.get(turn, False) or letter == "f"
        failed = min((turn for turn, fails in decided.items() if fails), default=None)
        if failed is not None:
            return failed, 1, "fail"
        if self.ended in WINDOW_ENDS and self.last_turn is not None:
            return self.last_turn, 1, self.ended
        return (max(decided), 0, "") if decided else None

    def unfollowed(self, without: Collection[str] = ()) -> bool:
        """True where nothing failed up to the last decided turn, and checks after it were asked but not decided.

        How long such a session lasted is not known: it is censored for a reason that may be the failure itself.
        """
        found = self.lasted(without)
        if found is None or found[1] or self.cut_short:
            return False
        return any(
            letter == _UNDECIDED and turn > found[0]
            for name, verdicts in self.checks.items()
            if name not in without
            for turn, letter in verdicts
        )

    def passed(
        self, without: Collection[str] = (), turn: int | None = None, apart: Collection[tuple[str, int]] = ()
    ) -> tuple[int, int]:
        """(passes, decided) of the checks that count, after the fresh session or at one `turn`.

        apart: ``(check, turn)`` that are left out, because another session was not asked them.
        """
        letters = Counter(
            letter
            for name, verdicts in self.checks.items()
            if name not in without
            for at, letter in verdicts
            if (at > 0 if turn is None else at == turn) and (name, at) not in apart
        )
        return letters["p"], letters["p"] + letters["f"]

    def undecided(self, without: Collection[str] = ()) -> tuple[int, int]:
        """(undecided, asked) verdicts of the checks that count. What the window left no room for was not asked."""
        letters = [letter for name, verdicts in self.checks.items() if name not in without for _, letter in verdicts]
        return letters.count(_UNDECIDED), len(letters) - letters.count(_NO_ROOM)

    def asked(self, without: Collection[str] = ()) -> frozenset[tuple[str, int]]:
        """``(check, turn)`` of the checks that count and were asked, whatever came of it."""
        return self._where("pfu", without)

    def no_room(self, without: Collection[str] = ()) -> frozenset[tuple[str, int]]:
        """``(check, turn)`` of the checks that count and were not asked because the window had no room left."""
        return self._where(_NO_ROOM, without)

    def missed(self, others: Collection[tuple[str, int]], without: Collection[str] = ()) -> frozenset[tuple[str, int]]:
        """Which of the ``(check, turn)`` that another session was asked this one had no room for."""
        missed = self.no_room(without)
        if self.ended in WINDOW_ENDS and self.last_turn is not None:
            asked, end = self.asked(without), self.last_turn
            missed |= {place for place in others if place[1] >= end and place[0] not in without} - asked
        return missed & frozenset(others)

    def _where(self, letters: str, without: Collection[str]) -> frozenset[tuple[str, int]]:
        return frozenset(
            (name, at)
            for name, verdicts in self.checks.items()
            if name not in without
            for at, letter in verdicts
            if letter in letters
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sessions of a run, with what identifies it. `source` is how it is called in sentences.

    hashes: scenario → hash of its content. tests: scenario → hash of what is measured in it (`Scenario.test_hash`).
    texts: scenario → part → short hash of what the model is told. Runs of older versions have neither. floors:
    (scenario, model) → checks that pass without their rule being stated, which decide nothing. repeats: planned for
    each scenario × model × strategy, None when not recorded.
    spent: tokens, cost (USD) and calls of the whole run, controls included; None where not all of it is known.
    cells: every (scenario, model, strategy) the run was configured to measure; empty where that is not recorded.
    """

    source: str
    sessions: tuple[SessionEvidence, ...]
    hashes: Mapping[str, str] = field(default_factory=dict)
    tests: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    floors: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    repeats: int | None = None
    simulated: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    git_commit: str | None = None
    status: str = ""
    spent: Mapping[str, float | None] = field(default_factory=dict)
    cells: Collection[tuple[str, str, str]] = ()

    def groups(self) -> dict[tuple[str, str, str], list[SessionEvidence]]:
        """Sessions of each (scenario, model, strategy), in the order of the run."""
        found: dict[tuple[str, str, str], list[SessionEvidence]] = {}
        for session in self.sessions:
            found.setdefault((session.scenario, session.model, session.strategy), []).append(session)
        return found


def evidence_of(run: Run) -> Evidence:
    """The evidence of a run directory. Controls are no sessions; they only say which checks decide nothing."""
    from contextrot.analysis.actions import called_of
    from contextrot.analysis.causes import controls

    sessions = run.sessions
    sessions = sessions.loc[~sessions["control"].fillna(False).astype(bool)]
    checks, standing = _checks(run.verdicts)
    called = called_of(sessions, run.verdicts, run.turns)
    fired = _fired(run.turns)
    floors: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in controls(run).to_dict("records"):
        if row["tests_nothing"]:
            floors[str(row["scenario"]), str(row["model"])].add(str(row["id"]))
    own = {str(model["label"]) for model in run.config.get("models") or () if model.get("own_memory")}
    found = []
    for row in sessions.to_dict("records"):
        name, strategy = str(row["session"]), str(row["strategy"])
        ended, last_turn = str(row["ended"] or RUNNING), _whole(row["last_turn"])
        turns, history = _whole(row["turns_planned"]), str(row["history"] or "")
        asked = with_window(checks.get(name, {}), ended, last_turn)
        if history == "live" and ended in WINDOW_ENDS:
            asked = _with_rules(asked, standing, range(last_turn or 0, (turns or 0) + 1))
        found.append(
            SessionEvidence(
                scenario=str(row["scenario"]),
                model=str(row["model"]),
                strategy=strategy,
                repeat=int(row["repeat"]),
                seed=_whole(row["seed"]),
                turns=turns,
                window=_whole(row["window"]),
                history=history,
                ended=ended,
                last_turn=last_turn,
                checks=asked,
                called=called.get(name, (0, 0)),
                tokens=_sum(_whole(row["prompt_tokens"]), _whole(row["completion_tokens"])),
                cost=None if row["cost"] != row["cost"] or row["cost"] is None else float(row["cost"]),
                calls=int(row["calls"]),
                fired=name in fired
                or bool(row["compactions"])
                or strategy.startswith(_ADDS)
                or str(row["model"]) in own,
            )
        )
    settings, scenarios = run.config.get("config") or {}, run.config.get("scenarios") or ()
    repeats = settings.get("repeats")
    return Evidence(
        source=run.path.resolve().name,
        sessions=_in_order(found, run.config),
        hashes={str(s["id"]): str(s.get("hash") or "") for s in scenarios},
        tests={str(s["id"]): str(s["test_hash"]) for s in scenarios if s.get("test_hash")},
        texts={str(s["id"]): dict(s["texts"]) for s in scenarios if s.get("texts")},
        floors={key: frozenset(names) for key, names in floors.items()},
        repeats=repeats if isinstance(repeats, int) else None,
        simulated=run.simulated,
        versions={str(name): str(value) for name, value in (run.config.get("versions") or {}).items()},
        git_commit=run.config.get("git_commit"),
        status=run.status,
        spent=_spent(run.sessions),
        cells=_cells(run.config),
    )


def with_window(
    checks: Mapping[str, tuple[tuple[int, str], ...]], ended: str, last_turn: int | None
) -> dict[str, tuple[tuple[int, str], ...]]:
    """The checks of a session; where the window ended it, what it never came to was not asked, and is not undecided."""
    if ended not in WINDOW_ENDS or last_turn is None:
        return dict(checks)
    return {
        name: tuple((at, _NO_ROOM if letter == _UNDECIDED and at >= last_turn else letter) for at, letter in verdicts)
        for name, verdicts in checks.items()
    }


def _in_order(sessions: Iterable[SessionEvidence], config: Mapping[str, Any]) -> tuple[SessionEvidence, ...]:
    """Scenarios, models and strategies as the configuration names them, so that the first of a run is the user's."""
    named = {
        "scenario": [str(entry["id"]) for entry in config.get("scenarios") or ()],
        "model": [str(entry["label"]) for entry in config.get("models") or ()],
        "strategy": [str(label) for label in config.get("strategies") or ()],
    }
    places = {kind: {name: place for place, name in enumerate(found)} for kind, found in named.items()}

    def place(session: SessionEvidence) -> tuple[Any, ...]:
        keys = ((kind, getattr(session, kind)) for kind in places)
        return (*((places[kind].get(name, len(places[kind])), name) for kind, name in keys), session.repeat)

    return tuple(sorted(sessions, key=place))


def _cells(config: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """The matrix as run.json records it. An agent with a memory of its own is under no strategy."""
    from contextrot.bench.matrix import OWN_MEMORY

    strategies = [str(label) for label in config.get("strategies") or ()]
    return tuple(
        (str(scenario["id"]), str(model["label"]), strategy)
        for scenario in config.get("scenarios") or ()
        for model in config.get("models") or ()
        for strategy in ([OWN_MEMORY] if model.get("own_memory") else strategies)
    )


def _with_rules(
    checks: Mapping[str, tuple[tuple[int, str], ...]], standing: Collection[str], turns: Iterable[int]
) -> dict[str, tuple[tuple[int, str], ...]]:
    """A standing rule is checked at every turn of a live session: at those that had no room it was not asked."""
    rest = tuple((turn, _NO_ROOM) for turn in turns)
    return {name: tuple(sorted(v + rest)) if name in standing else v for name, v in checks.items()}


def _checks(verdicts: pd.DataFrame) -> tuple[dict[str, dict[str, tuple[tuple[int, str], ...]]], frozenset[str]]:
    """The verdicts of each session by check, and which checks are of standing rules on live replies."""
    from contextrot.analysis.tables import SESSION_KINDS

    rows = verdicts.loc[verdicts["kind"].isin(SESSION_KINDS)]
    found: defaultdict[str, defaultdict[str, list[tuple[int, str]]]] = defaultdict(lambda: defaultdict(list))
    for session, name, turn, outcome in zip(
        rows["session"].astype(object), rows["id"].astype(object), rows["turn"].astype(int),
        rows["outcome"].astype(object), strict=True,
    ):  # fmt: skip
        found[str(session)][str(name)].append((int(turn), _LETTER.get(str(outcome), _UNDECIDED)))
    standing = frozenset(map(str, rows.loc[rows["kind"] == "passive", "id"].astype(object)))
    checks = {
        session: {name: tuple(sorted(verdict)) for name, verdict in sorted(by_name.items())}
        for session, by_name in found.items()
    }
    return checks, standing - frozenset(map(str, rows.loc[rows["kind"] == "probe", "id"].astype(object)))


def _fired(calls: pd.DataFrame) -> set[str]:
    """Sessions in which a view ever held less than the whole log."""
    rows = calls.loc[calls["purpose"].isin(["turn", "probe"])]
    gone = rows[["masked", "offloaded", "summarised", "dropped"]].fillna(0).to_numpy(dtype=float)
    return set(map(str, rows["session"].astype(object).to_numpy()[gone.any(axis=1)]))


def _spent(sessions: pd.DataFrame) -> dict[str, float | None]:
    """Of all sessions, controls included. One unknown price makes the cost unknown."""
    tokens = [sessions[name] for name in ("prompt_tokens", "completion_tokens")]
    cost = sessions["cost"] + sessions["embed_cost"].fillna(0).where(sessions["embed_calls"].fillna(0) > 0, 0)
    return {
        "tokens": None if any(column.isna().any() for column in tokens) else float(sum(c.sum() for c in tokens)),
        "cost": None if not len(sessions) or cost.isna().any() else float(cost.sum()),
        "calls": float(sessions["calls"].sum()),
    }


def _whole(value: Any) -> int | None:
    import pandas as pd

    return None if value is None or pd.isna(value) else int(value)


def _sum(*parts: int | None) -> int | None:
    return None if all(part is None for part in parts) else sum(part or 0 for part in parts)


def names(values: Iterable[str]) -> str:
    """Names as a sentence lists them."""
    return ", ".join(sorted(set(values)))
