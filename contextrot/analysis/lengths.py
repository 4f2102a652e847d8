"""Session length of one group of sessions: the survival estimate with what led to it (DESIGN §8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from contextrot.analysis.figures import CUT_SHORT, FEWEST_FAILURES, Length

if TYPE_CHECKING:
    import pandas as pd

    from contextrot.analysis.survival import Survival

#: outcomes that are no verdict although the check was reached and could have told something
_OPEN = ("truncated", "empty", "filtered", "overflow", "timeout", "error", "inconclusive")


def session_length(sessions: pd.DataFrame, verdicts: pd.DataFrame, deepest: dict[Any, float]) -> Length:
    """How long the sessions lasted. `deepest`: scenario → the last turn at which anything was decided there."""
    import pandas as pd

    from contextrot.analysis.survival import kaplan_meier, median_text

    columns = ["session", "duration", "event", "first_fail_turn", "last_pass_turn"]
    known = sessions.loc[sessions["duration"].notna(), columns]
    columns = ["session", "turn", "outcome", "cause", "subject", "id"]
    decided = verdicts.loc[verdicts["outcome"].isin(["pass", "fail"]), columns]
    durations = known["duration"].astype(int).tolist()
    ended = (known["event"].astype(object) != "").astype(int).tolist()
    failed = known.loc[known["event"] == "fail"]
    horizons = {deepest[name] for name in sessions["scenario"].unique() if name in deepest}
    horizon = min(horizons, default=None)
    turns = sorted({int(turn) for turn in decided["turn"]})
    # An overflow can come at any turn, not only where something is asked.
    survival = kaplan_meier(durations, ended, times=sorted({*turns, *durations}) or None, horizon=horizon)
    last_pass = failed["last_pass_turn"].dropna()
    at_fail = decided.loc[decided["outcome"] == "fail"].merge(
        failed[["session", "first_fail_turn"]].rename(columns={"first_fail_turn": "turn"}), on=["session", "turn"]
    )
    why = pd.Series(
        [causes.pop() if len(causes) == 1 else "mixed" for _, causes in _sets(at_fail["session"], at_fail["cause"])],
        dtype=object,
    ).replace("", "unattributed")
    on = at_fail["subject"].astype(object).where(at_fail["subject"].notna(), at_fail["id"].astype(object))
    lost_sight = _unfollowed(sessions, known, verdicts)
    subjects = at_fail.assign(on=on)[["session", "on"]].drop_duplicates()["on"].value_counts(sort=False)
    return Length(
        median=_number(survival.median),
        low=_number(survival.low),
        high=_number(survival.high),
        text=median_text(survival),
        n=survival.n,
        unknown=len(sessions) - len(known),
        censored=survival.n - survival.events,
        events={kind: int((known["event"] == kind).sum()) for kind in ("fail", "overflow", "over_budget")},
        horizon=_number(survival.horizon),
        restricted_mean=_number(survival.restricted_mean),
        restricted_mean_se=_number(survival.restricted_mean_se),
        last_pass=float(last_pass.median()) if len(last_pass) else None,
        first_fail_turns=_counted(failed["first_fail_turn"]),
        first_causes={str(cause): int(n) for cause, n in why.value_counts().items()},
        first_subjects={
            str(name): int(n) for name, n in sorted(subjects.items(), key=lambda pair: (-pair[1], pair[0]))
        },
        broke_off_turns=_counted(known.loc[known["event"].isin(["overflow", "over_budget"]), "duration"]),
        kept_turns=_counted(known.loc[known["event"].astype(object) == "", "duration"]),
        hazard_p=_hazard(durations, (known["event"] == "fail").astype(int).tolist(), turns),
        mixed_horizons=len(horizons) > 1,
        unfollowed=_counted(lost_sight["duration"]),
        unfollowed_why={str(name): int(n) for name, n in lost_sight["outcome"].astype(object).value_counts().items()},
        steps=_steps(survival),
    )


def _unfollowed(sessions: pd.DataFrame, known: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """`duration` and `outcome` of the sessions without an event that were lost sight of.

    Checks after their last decided one were asked, and the outcome is that of the first of these. What broke off is
    told apart: a session that was cut short was not asked.
    """
    whole = sessions.loc[~sessions["ended"].astype(object).isin(["", *CUT_SHORT]), "session"]
    held = known.loc[(known["event"].astype(object) == "") & known["session"].isin(whole), ["session", "duration"]]
    columns = ["session", "turn", "outcome"]
    asked = verdicts.loc[verdicts["outcome"].isin(_OPEN), columns].merge(held, on="session")
    after = asked.loc[asked["turn"].astype(int) > asked["duration"].astype(int)]
    return after.sort_values("turn", kind="stable").drop_duplicates("session")


def _hazard(durations: list[int], failed: list[int], turns: list[int]) -> float | None:
    """p-value of "failures come at one constant rate" over the turns after the fresh one; None when not testable.

    Of fewer than 5 failures there is no spread to speak of.
    """
    from contextrot.analysis.survival import constant_hazard_test

    later = [turn for turn in turns if turn > 0]
    if sum(failed) < FEWEST_FAILURES or not later:
        return None
    test = constant_hazard_test(durations, failed, times=later)
    return None if test.method == "none" else float(test.p_value)


def _counted(turns: pd.Series[Any]) -> dict[str, int]:
    return {str(turn): int(n) for turn, n in turns.astype(int).value_counts().sort_index().items()}


def _sets(keys: Iterable[Any], values: Iterable[Any]) -> Iterable[tuple[Any, set[str]]]:
    sets: dict[Any, set[str]] = {}
    for key, value in zip(keys, values, strict=True):
        sets.setdefault(key, set()).add(str(value))
    return sets.items()


def _steps(survival: Survival) -> list[dict[str, float]]:
    return [{str(name): float(value) for name, value in row.items()} for row in survival.table.to_dict("records")]


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)
