"""Why a check failed, decided over the whole run; and what the controls say about the questions themselves.

The session loop records `lost` or `ignored` from the view alone. Whether the model could ever do it is known only once
the ceiling control was asked, so the final cause is decided here.

The rule for `incapable`: the ceiling control (the rule stated right before the probe, in a fresh session) of the same
scenario, model and id passes in less than half of its decided repeats. A rate and not the repeat's own control: values
are drawn anew for each repeat, and one unlucky draw of a model that can do it would turn its rot into inability. A
model that fails the control more often than not cannot be said to have forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from contextrot.outcomes import Cause

if TYPE_CHECKING:
    import pandas as pd

    from contextrot.analysis.tables import Run

#: below this ceiling rate a model is held to be incapable; at or above this floor rate a probe tests nothing
CONTROL_SHARE = 0.5

#: column of `cause_split` for failures that test nothing stated in the session (a tool call nobody asked a rule for)
UNATTRIBUTED = "unattributed"


def controls(run: Run) -> pd.DataFrame:
    """What the control questions showed, one row per scenario, model and id (of a probe or constraint).

    ceiling, floor: rates (share 0-1, missing when nothing was decided), ceiling_n, floor_n: decided controls,
    ceiling_undecided, floor_undecided: the others. incapable: the ceiling is below one half. tests_nothing: the floor
    is at one half or above, so the reply passes without the rule ever being stated.
    """
    return _controls(run.verdicts)


def _controls(verdicts: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    keys = ["scenario", "model", "id"]
    asked = verdicts.loc[verdicts["kind"].isin(["ceiling", "floor"])]
    sides = []
    for side in ("ceiling", "floor"):
        rows = asked.loc[asked["kind"] == side]
        decided = rows.loc[rows["outcome"].isin(["pass", "fail"])]
        by = [decided[key].astype(object) for key in keys]
        passed = (decided["outcome"] == "pass").groupby(by)
        total = rows.groupby([rows[key].astype(object) for key in keys]).size()
        table = pd.DataFrame({side: passed.mean(), f"{side}_n": passed.size()}).reindex(total.index)
        table[f"{side}_n"] = table[f"{side}_n"].fillna(0)
        table[f"{side}_undecided"] = total - table[f"{side}_n"]
        sides.append(table)
    frame = sides[0].join(sides[1], how="outer")
    for column in frame.columns:
        frame[column] = frame[column].astype(float) if column in ("ceiling", "floor") else frame[column].fillna(0)
    counts = [column for column in frame.columns if column not in ("ceiling", "floor")]
    frame[counts] = frame[counts].astype("int64")
    frame["incapable"] = frame["ceiling"] < CONTROL_SHARE
    frame["tests_nothing"] = frame["floor"] >= CONTROL_SHARE
    return frame.rename_axis(keys).reset_index()


def final_causes(verdicts: pd.DataFrame) -> pd.Series[Any]:
    """The final cause of every verdict (`lost`, `ignored`, `incapable`), empty where there is nothing to explain.

    `verdicts` holds the causes as recorded and the controls of the run. Verdicts of controls have no cause.
    """
    import pandas as pd

    failed = (verdicts["outcome"] == "fail") & verdicts["kind"].isin(["probe", "passive"])
    causes = verdicts["cause"].astype(object).where(failed & verdicts["cause"].notna(), "")
    table = _controls(verdicts)
    hopeless = pd.MultiIndex.from_frame(table.loc[table["incapable"], ["scenario", "model", "id"]])
    if len(hopeless):
        asked = pd.MultiIndex.from_arrays([verdicts[key].astype(object) for key in ("scenario", "model", "id")])
        causes = causes.mask(failed & asked.isin(hopeless), str(Cause.INCAPABLE))
    kinds = ["", *map(str, Cause)]
    return causes.astype(pd.CategoricalDtype([*kinds, *sorted(set(causes) - set(kinds))]))


def cause_split(run: Run, by: Sequence[str] = ("model", "strategy")) -> pd.DataFrame:
    """How many failed checks of the sessions have which cause.

    Columns: those of `by`, lost, ignored, incapable, unattributed, and fails, their sum. Every
    group that had a decided check is listed, with zeros when none failed.
    """
    import pandas as pd

    rows = run.verdicts
    rows = rows.loc[rows["kind"].isin(["probe", "passive"]) & rows["outcome"].isin(["pass", "fail"])]
    names = [*map(str, Cause), UNATTRIBUTED]
    cause = rows["cause"].astype(object).replace("", UNATTRIBUTED).where(rows["outcome"] == "fail")
    frame = pd.DataFrame({key: rows[key].astype(object) for key in by})
    for name in names:
        frame[name] = (cause == name).astype("int64")
    frame["fails"] = (rows["outcome"] == "fail").astype("int64")
    return frame.groupby(list(by), as_index=False, sort=False)[[*names, "fails"]].sum()
