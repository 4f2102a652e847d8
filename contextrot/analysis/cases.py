"""A run as test cases: one for each scenario × model × strategy × constraint or probe. What CI systems count.

JUnit files and annotations are made of these (`report/junit.py`, `report/github.py`). A case is no verdict of its own:
what passes and what fails a build is decided by gates, and by them alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextrot.analysis.tables import SESSION_KINDS

if TYPE_CHECKING:
    import pandas as pd

    from contextrot.analysis.tables import Run

#: the kind of a case that stands for sessions in which nothing was ever checked
SESSION = "session"
#: outcomes that say something went wrong, not that nothing could be told
WRONG = frozenset({"error", "timeout"})


@dataclass(frozen=True, slots=True)
class Failure:
    """The earliest failed check of a case: where, why and on what evidence. cause: `lost`, `ignored`, … or empty."""

    session: str
    turn: int
    cause: str
    reason: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Case:
    """One constraint or probe under one scenario, model and strategy, over all sessions and turns.

    kind: `probe`, `passive` (a constraint, checked on every reply) or `session` (nothing was ever checked; `undecided`
    then counts how the sessions ended). passes, fails: decided checks. undecided: the others by outcome. seconds: time
    of the calls that were graded, shared by the checks on one reply. source: the scenario file as the user named it.
    """

    scenario: str
    model: str
    strategy: str
    kind: str
    id: str
    passes: int
    fails: int
    undecided: dict[str, int]
    first: Failure | None
    causes: dict[str, int]
    seconds: float
    source: str

    @property
    def decided(self) -> int:
        """Checks that enter a rate."""
        return self.passes + self.fails

    @property
    def wrong(self) -> bool:
        """True when nothing was decided and something went wrong, rather than not coming up."""
        return not self.decided and bool(WRONG & self.undecided.keys())


def cases(run: Run) -> list[Case]:
    """The cases of a run, in the order in which it was configured."""
    sources = {str(entry["id"]): str(entry.get("source") or "") for entry in run.config.get("scenarios") or ()}
    sessions = run.sessions.loc[~run.sessions["control"].fillna(False).astype(bool)]
    verdicts = run.verdicts.loc[run.verdicts["kind"].isin(SESSION_KINDS)]
    seconds = _seconds(verdicts, run.turns)
    names = ["scenario", "model", "strategy"]
    found: list[Case] = []
    for key, rows in verdicts.groupby([*names, "kind", "id"], observed=True, sort=True):
        found.append(_case(tuple(map(str, key)), rows, float(seconds.loc[rows.index].sum()), sources))
    checked = {(case.scenario, case.model, case.strategy) for case in found}
    for key, rows in sessions.groupby(names, observed=True, sort=True):
        scenario, model, strategy = map(str, key)
        if (scenario, model, strategy) not in checked:
            ended = Counter(str(end) or "running" for end in rows["ended"].astype(object))
            found.append(_unchecked(scenario, model, strategy, dict(ended), sources.get(scenario, "")))
    return sorted(found, key=lambda case: _place(run, case))


def _case(key: tuple[str, ...], rows: pd.DataFrame, seconds: float, sources: dict[str, str]) -> Case:
    outcomes = Counter(map(str, rows["outcome"].astype(object)))
    passes, fails = outcomes.pop("pass", 0), outcomes.pop("fail", 0)
    failed = rows.loc[rows["outcome"] == "fail"].sort_values(["turn", "repeat"], kind="stable")
    causes = Counter(str(cause) for cause in failed["cause"].astype(object) if cause)
    first = _failure(failed.iloc[0]) if len(failed) else None
    scenario, model, strategy, kind, name = key
    return Case(
        scenario, model, strategy, kind, name, passes, fails, dict(outcomes), first, dict(causes.most_common()),
        seconds, sources.get(scenario, ""),
    )  # fmt: skip


def _unchecked(scenario: str, model: str, strategy: str, ended: dict[str, int], source: str) -> Case:
    return Case(scenario, model, strategy, SESSION, SESSION, 0, 0, ended, None, {}, 0.0, source)


def _failure(row: Any) -> Failure:
    texts = {name: "" if row[name] is None or row[name] != row[name] else str(row[name]) for name in _TEXTS}
    return Failure(turn=int(row["turn"]), **texts)


_TEXTS = ("session", "cause", "reason", "evidence")


def _seconds(verdicts: pd.DataFrame, turns: pd.DataFrame) -> pd.Series[float]:
    """Each verdict's share of the time its call took; 0 where no call was made."""
    import pandas as pd

    took = turns[["session", "call", "latency"]].copy()
    took["session"] = took["session"].astype(object)
    asked = pd.DataFrame({"session": verdicts["session"].astype(object), "call": verdicts["call"]})
    shared = asked.groupby(["session", "call"], dropna=False)["call"].transform("size")
    latency = asked.merge(took, on=["session", "call"], how="left")["latency"].fillna(0.0)
    latency.index = asked.index
    return latency / shared.fillna(1).clip(lower=1)


def _place(run: Run, case: Case) -> tuple[Any, ...]:
    listed = (
        ([str(entry["id"]) for entry in run.config.get("scenarios") or ()], case.scenario),
        ([str(entry["label"]) for entry in run.config.get("models") or ()], case.model),
        ([str(label) for label in run.config.get("strategies") or ()], case.strategy),
    )
    order = (names.index(name) if name in names else len(names) for names, name in listed)
    return (*order, case.scenario, case.model, case.strategy, case.kind, case.id)
