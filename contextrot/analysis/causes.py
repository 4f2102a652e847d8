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

    from contextrot.analysis.figures import Summary
    from contextrot.analysis.tables import Run

#: below this ceiling rate a model is held to be incapable; at or above this floor rate a probe tests nothing
CONTROL_SHARE = 0.5

#: column of `cause_split` for failures that test nothing stated in the session (a tool call nobody asked a rule for)
UNATTRIBUTED = "unattributed"

#: what the reason of a `recall` check says of a reply that gives a value from before a change
_OLD_VALUE = "a superseded value"


def superseded(verdicts: pd.DataFrame) -> int:
    """How many of the `ignored` failures gave the value from before a change: what was said last was not taken up."""
    rows = verdicts.loc[(verdicts["outcome"] == "fail") & (verdicts["cause"] == str(Cause.IGNORED)), "reason"]
    return int(rows.astype(object).fillna("").astype(str).str.contains(_OLD_VALUE, regex=False).sum())


def controls(run: Run) -> pd.DataFrame:
    """What the control questions showed, one row per scenario, model and id (of a probe or constraint).

    ceiling, floor: rates (share 0-1, missing when nothing was decided), ceiling_n, floor_n: decided controls,
    ceiling_undecided, floor_undecided: the others. incapable: the ceiling is below one half. tests_nothing: the floor
    is at one half or above, so the reply passes without the rule ever being stated.
    """
    return _controls(run.verdicts)


def gateable(summary: Summary) -> dict[tuple[str, str], list[str]]:
    """The checks that may decide a gate: (scenario, model) → ids of probes and passive checks, sorted.

    All that were asked, less those that pass their floor control: what passes without its rule ever being stated says
    nothing about keeping it. What the model cannot do stays in (another model could, and becoming unable is a
    regression), and so does what has no floor: a run without controls, or a probe that says itself all it asks for.
    """
    nothing = {(control.scenario, control.model, control.id) for control in summary.controls if not control.gateable}
    found: dict[tuple[str, str], set[str]] = {}
    for group in summary.groups:
        key = (str(group.scenario), group.model)
        asked = {check.id for check in group.by_check}
        found.setdefault(key, set()).update(name for name in asked if (*key, name) not in nothing)
    return {key: sorted(names) for key, names in found.items()}


def _controls(verdicts: pd.DataFrame, keys: Sequence[str] = ("scenario", "model", "id")) -> pd.DataFrame:
    import pandas as pd

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
    return frame.rename_axis(list(keys)).reset_index()


def final_causes(verdicts: pd.DataFrame) -> pd.Series[Any]:
    """The final cause of every verdict (`lost`, `ignored`, `incapable`), empty where there is nothing to explain.

    `verdicts` holds the causes as recorded and the controls of the run. Verdicts of controls have no cause.
    """
    import pandas as pd

    failed = (verdicts["outcome"] == "fail") & verdicts["kind"].isin(["probe", "passive"])
    causes = verdicts["cause"].astype(object).where(failed & verdicts["cause"].notna(), "")
    # Each question of a probe in rotation has a ceiling of its own: a model may be able to answer one and not another.
    keys = [key for key in ("scenario", "model", "id", "item") if key in verdicts]
    table = _controls(verdicts, keys)
    hopeless = pd.MultiIndex.from_frame(table.loc[table["incapable"], keys])
    if len(hopeless):
        asked = pd.MultiIndex.from_arrays([verdicts[key].astype(object) for key in keys])
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
