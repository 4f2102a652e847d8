"""What a run shows, as plain data: the content of summary.json, of every table and plot, and of `--json`.

All arithmetic of the reports is done here; `report/` only arranges and words it (`analysis/figures.py` has the types).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from contextrot.analysis.actions import acting_replies, actions, hallucinated, prompts, saved
from contextrot.analysis.causes import cause_split, controls, superseded
from contextrot.analysis.columns import rows_of_groups
from contextrot.analysis.figures import RUNNING, Control, FirstFailure, Group, Origin, Reference, Spent, Summary
from contextrot.analysis.grids import families
from contextrot.analysis.items import by_item
from contextrot.analysis.lengths import session_length
from contextrot.analysis.levels import by_level, levels_reached
from contextrot.analysis.rates import CheckRate, Point, Rate
from contextrot.analysis.session_files import UNANSWERED
from contextrot.analysis.shipping import ceiling_of, shipping
from contextrot.analysis.tables import SESSION_KINDS

if TYPE_CHECKING:
    import pandas as pd

    from contextrot.analysis.tables import Run
#: format of summary.json; grows when a field changes its meaning or goes away
VERSION = 1
#: the strategy that sends the whole log: what the others save tokens against
FULL = "full"


def summarise(run: Run) -> Summary:
    """All figures of a run. A run without sessions gives a summary without groups."""
    sessions = run.sessions
    is_control = sessions["control"].fillna(False).astype(bool)
    measured = sessions.loc[~is_control]
    table = _controls(run)
    references = _references(table)
    groups = _groups(run, measured, ["scenario", "model", "strategy"], references)
    verdicts = run.verdicts.loc[run.verdicts["kind"].isin(SESSION_KINDS)]
    if len({group.scenario for group in groups}) > 1:
        pooled = _groups(run, measured, ["model", "strategy"])
    else:
        pooled = [replace(group, scenario=None, shipping=None) for group in groups]
    return Summary(
        version=VERSION,
        run=run.path.resolve().name,
        status=run.status,
        simulated=run.simulated,
        virtual_window=bool((sessions["window_source"] == "virtual").any()),
        origin=_origin(run),
        sessions=len(measured),
        control_sessions=int(is_control.sum()),
        ended=_ended(measured),
        calls=int(sessions["calls"].sum()),
        tokens=_add([_known_sum(sessions[name]) for name in ("prompt_tokens", "completion_tokens")]),
        cost=_cost(run.turns),
        groups=groups,
        pooled=pooled,
        controls=table,
        references=references,
        families=families(groups, measured, verdicts, run.turns),
        errors=dict(Counter(map(str, run.errors.values())).most_common(5)),
        check_errors=_check_errors(verdicts),
        problems=list(run.problems),
    )


def _check_errors(verdicts: pd.DataFrame) -> dict[str, int]:
    """What checks said that failed themselves on a reply, the most frequent first."""
    failed = verdicts.loc[(verdicts["outcome"] == "error") & verdicts["reason"].astype(object).fillna("").ne("")]
    said = Counter(f"check `{name}`: {why}" for name, why in zip(failed["id"], failed["reason"], strict=True))
    return dict(said.most_common(3))


def _groups(
    run: Run, sessions: pd.DataFrame, by: list[str], references: Sequence[Reference] | None = None
) -> list[Group]:
    verdicts = run.verdicts
    verdicts = verdicts.loc[verdicts["kind"].isin(SESSION_KINDS)]
    decided = verdicts.loc[verdicts["outcome"].isin(["pass", "fail"])]
    deepest = decided.groupby(decided["scenario"].astype(object))["turn"].max().astype(float).to_dict()
    split = {tuple(row[key] for key in by): row for row in cause_split(run, by).to_dict("records")}
    own = {str(model["label"]) for model in run.config.get("models") or () if model.get("own_memory")}
    full = sessions.loc[sessions["strategy"] == FULL]
    whole = {str(model): rows for model, rows in full.groupby(full["model"].astype(object))}
    asked = prompts(run.turns) if whole else {}
    keyed = list(sessions.groupby(by, observed=True, sort=True))
    number = {name: place for place, (_, rows) in enumerate(keyed) for name in rows["session"]}
    tables = [rows_of_groups(table, number, len(keyed)) for table in (verdicts, run.turns)]
    found = []
    for (key, rows), mine, calls in zip(keyed, *tables, strict=True):
        model, strategy = str(rows["model"].iloc[0]), str(rows["strategy"].iloc[0])
        spared = None if strategy == FULL or model not in whole else saved(asked, rows, whole[model])
        causes = {str(name): int(value) for name, value in split.get(key, {}).items() if name not in by}
        named = dict(zip(by, map(str, key), strict=True))
        group = replace(_group(named, rows, mine, calls, causes, deepest, own), saved=spared)
        if references is not None:  # one scenario
            top = ceiling_of(references, named["scenario"], named["model"])
            group = replace(group, shipping=shipping(rows, mine, acting_replies(rows, mine, calls), top))
        found.append(group)
    return sorted(found, key=_order(run.config, by))


def _group(
    names: dict[str, str],
    sessions: pd.DataFrame,
    verdicts: pd.DataFrame,
    calls: pd.DataFrame,
    causes: dict[str, int],
    deepest: dict[Any, float],
    own_memory: set[str],
) -> Group:
    planned, kinds = sessions["turns_planned"].max(), _kinds(verdicts)
    occupied = calls["occupancy"].dropna()
    undecided = verdicts.loc[~verdicts["outcome"].isin(["pass", "fail"]), "outcome"]
    turn_calls = calls["purpose"].isin(["turn", "probe"])
    reuse = sessions["mean_prefix_reuse"].dropna()
    gone = calls.loc[turn_calls, ["masked", "offloaded", "summarised", "dropped"]].fillna(0).to_numpy()  # not retrieved
    return Group(
        scenario=names.get("scenario"),
        model=names["model"],
        strategy=names["strategy"],
        own_memory=names["model"] in own_memory,
        simulated=bool(sessions["simulated"].any()),
        virtual_window=bool((sessions["window_source"] == "virtual").any()),
        windows=sorted({int(window) for window in sessions["window"].dropna()}),
        history=sorted({str(history) for history in sessions["history"].dropna()}),
        turns_planned=None if planned != planned else int(planned),
        sessions=len(sessions),
        ended=_ended(sessions),
        length=session_length(sessions, verdicts, deepest),
        compliance=_compliance(sessions, verdicts, deepest),
        by_turn={kind: _by_turn(rows) for kind, rows in kinds},
        by_occupancy={kind: _by_occupancy(rows) for kind, rows in kinds},
        by_check=_by_check(verdicts),
        by_item=by_item(verdicts),
        by_level=by_level(verdicts),
        levels=levels_reached(sessions),
        actions=actions(sessions, verdicts, calls),
        hallucinated=hallucinated(verdicts),
        saved=None,
        shipping=None,
        first_failure=_first_failure(sessions),
        causes=causes or dict.fromkeys(("lost", "ignored", "incapable", "unattributed", "fails"), 0),
        superseded=superseded(verdicts),
        undecided={str(name): int(n) for name, n in undecided.astype(object).value_counts().items()},
        spent=_spent(sessions, calls),
        prefix_reuse=float(reuse.mean()) if len(reuse) else None,
        compactions=int(sessions["compactions"].sum()),
        cut=bool(gone.any()),
        max_occupancy=float(occupied.max()) if len(occupied) else None,
        occupancy_estimated=bool((calls["occupancy_source"] == "estimate").any()),
    )


def _first_failure(sessions: pd.DataFrame) -> FirstFailure | None:
    """The earliest, of those after the fresh session where there are any: there something had been kept before."""
    columns = ["session", "first_fail_turn", "repeat"]
    failed = sessions.loc[sessions["event"] == "fail", columns].sort_values(columns[1:], kind="stable")
    if not len(failed):
        return None
    later = failed.loc[failed["first_fail_turn"] > 0]
    row = (later if len(later) else failed).iloc[0]
    return FirstFailure(str(row["session"]), int(row["first_fail_turn"]))


def _kinds(verdicts: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Verdicts per kind, the kinds that occur only."""
    columns = ["session", "outcome", "turn", "occupancy"]
    split = [(kind, verdicts.loc[verdicts["kind"] == kind, columns]) for kind in SESSION_KINDS]
    return [(kind, rows) for kind, rows in split if len(rows)]


def _compliance(sessions: pd.DataFrame, verdicts: pd.DataFrame, deepest: dict[Any, float]) -> dict[str, Rate]:
    planned = sessions.set_index(sessions["session"].astype(object))["turns_planned"].astype(float)
    half = verdicts["session"].astype(object).map(planned).astype(float) / 2
    last = verdicts["scenario"].astype(object).map(deepest).astype(float)
    turn = verdicts["turn"].astype(float)
    parts = {
        "overall": turn >= 0,
        "fresh": turn == 0,
        "after_fresh": turn > 0,
        "at_depth": turn > half,
        "last_turn": turn == last,
    }
    narrow = verdicts[["session", "outcome"]]
    return {name: _rate(narrow.loc[rows]) for name, rows in parts.items()}


def _rate(verdicts: pd.DataFrame) -> Rate:
    from contextrot.analysis.curves import compliance_rows

    rows = compliance_rows(verdicts[["session", "outcome"]].assign(all="all"), "all")
    return Rate(**Rate.fields(rows[0])) if rows else Rate(None, 0, 0, 0, 0, 0, None, None)


def _by_turn(verdicts: pd.DataFrame) -> list[Point]:
    from contextrot.analysis.curves import compliance_rows

    rows = compliance_rows(verdicts[["session", "outcome", "turn"]], "turn")
    return [Point.of(row, float(row["turn"]), str(row["turn"])) for row in rows]


def _by_occupancy(verdicts: pd.DataFrame) -> list[Point]:
    """The curve over bins of a tenth of the window; bins without a decided verdict stay, as gaps."""
    from contextrot.analysis.curves import bin_label, bin_place, compliance_rows, occupancy_bins

    rows = verdicts[["session", "outcome"]].assign(bin=occupancy_bins(verdicts["occupancy"].tolist()))
    return [Point.of(row, bin_place(row["bin"]), bin_label(row["bin"])) for row in compliance_rows(rows, "bin")]


def _by_check(verdicts: pd.DataFrame) -> list[CheckRate]:
    later = verdicts.loc[verdicts["turn"] > 0, ["kind", "id", "subject", "session", "outcome"]]
    found = []
    for (kind, name), rows in later.groupby(["kind", "id"], observed=True, sort=True):
        subject = rows["subject"].dropna()
        rate = _rate(rows)
        values = {slot: getattr(rate, slot) for slot in Rate.__slots__}
        found.append(
            CheckRate(**values, kind=str(kind), id=str(name), subject=str(subject.iloc[0]) if len(subject) else None)
        )
    return found


def _spent(sessions: pd.DataFrame, calls: pd.DataFrame) -> Spent:
    tokens = _add([_known_sum(sessions[name]) for name in ("prompt_tokens", "completion_tokens")])
    cost, n = _cost(calls), len(sessions)
    failed = calls.loc[calls["outcome"] != "ok", "outcome"].astype(object).value_counts()
    return Spent(
        calls=int(sessions["calls"].sum()),
        prompt_tokens=_known_sum(sessions["prompt_tokens"]),
        completion_tokens=_known_sum(sessions["completion_tokens"]),
        cached_tokens=_known_sum(sessions["cached_tokens"]),
        aux_calls=int(sessions["aux_calls"].sum()),
        aux_tokens=_known_sum(sessions["aux_tokens"]),
        cost=cost,
        tokens_per_session=None if tokens is None else tokens / n,
        cost_per_session=None if cost is None else cost / n,
        failed_calls={str(name): int(count) for name, count in failed.items()},
    )


def _controls(run: Run) -> list[Control]:
    verdicts = run.verdicts
    asked = verdicts.loc[verdicts["kind"].isin(SESSION_KINDS), ["id", "kind"]].drop_duplicates()
    named = [verdicts[name].astype(object) for name in ("scenario", "id", "check")]
    types = {(scenario, name): str(check) for scenario, name, check in zip(*named, strict=True)}
    kinds = dict(zip(asked["id"].astype(object), asked["kind"].astype(object), strict=True))
    return [
        Control(
            **{str(name): _plain(value) for name, value in row.items()},
            kind=kinds.get(row["id"], "probe"),
            check=types.get((row["scenario"], row["id"]), ""),
            gateable=not row["tests_nothing"],
        )
        for row in controls(run).to_dict("records")
    ]


def _references(table: Sequence[Control]) -> list[Reference]:
    keys = sorted({(control.scenario, control.model, control.kind) for control in table})
    found = []
    for key in keys:
        rows = [control for control in table if (control.scenario, control.model, control.kind) == key]
        ceiling = [(row.ceiling, row.ceiling_n) for row in rows]
        floor = [(row.floor, row.floor_n) for row in rows]
        found.append(Reference(*key, *_mean(ceiling), *_mean(floor)))
    return found


def _mean(rates: Sequence[tuple[float | None, int]]) -> tuple[float | None, int]:
    n = sum(count for rate, count in rates if rate is not None)
    return (sum(rate * count for rate, count in rates if rate is not None) / n if n else None), n


def _ended(sessions: pd.DataFrame) -> dict[str, int]:
    counts = sessions["ended"].astype(object).replace("", RUNNING).value_counts()
    return {str(name): int(n) for name, n in counts.items()}


def _known_sum(column: pd.Series[Any]) -> int | None:
    """The sum of a token column; None when no session knows it."""
    return None if not len(column) or column.isna().all() else int(column.sum())


def _add(parts: Sequence[int | None]) -> int | None:
    return None if all(part is None for part in parts) else sum(part or 0 for part in parts)


def _cost(calls: pd.DataFrame) -> float | None:
    """USD of the answered calls; None as soon as one has no price, and when there are none."""
    costs = calls.loc[~calls["outcome"].isin(list(UNANSWERED)), "cost"]
    return None if not len(costs) or costs.isna().any() else float(costs.sum())


def _plain(value: Any) -> Any:
    """A numpy scalar as Python's own; NaN as None."""
    value = value.item() if hasattr(value, "item") else value
    return None if value != value else value


def _origin(run: Run) -> Origin:
    config = run.config
    settings = config.get("config") or {}

    def whole(name: str) -> int | None:
        return settings[name] if isinstance(settings.get(name), int) else None

    def text(name: str) -> str | None:
        return str(config[name]) if config.get(name) else None

    return Origin(
        started=text("started"),
        finished=text("finished"),
        command=text("command"),
        git_commit=text("git_commit"),
        versions={str(name): str(number) for name, number in (config.get("versions") or {}).items()},
        seed=whole("seed"),
        repeats=whole("repeats"),
        models={str(model["label"]): str(model.get("id", "")) for model in config.get("models") or ()},
        models_returned={label: sorted(names) for label, names in sorted(run.models_returned.items())},
        titles={str(scenario["id"]): str(scenario.get("title") or "") for scenario in config.get("scenarios") or ()},
        limit=_some(config.get("limit"), ("cap", "value", "completed", "cut", "not_started")),
        rescored=_some(config.get("rescored"), ("from", "at", "version", "graded", "changed")),
    )


def _some(mark: dict[str, Any] | None, names: Sequence[str]) -> dict[str, Any]:
    return {name: mark[name] for name in names if name in mark} if mark else {}


def _order(config: dict[str, Any], by: Sequence[str]) -> Callable[[Group], tuple[Any, ...]]:
    """Sorts groups as the run was configured; what run.json does not name comes after, by name."""
    listed = {
        "scenario": [str(entry["id"]) for entry in config.get("scenarios") or ()],
        "model": [str(entry["label"]) for entry in config.get("models") or ()],
        "strategy": [str(label) for label in config.get("strategies") or ()],
    }

    def place(group: Group) -> tuple[Any, ...]:
        names = [(listed[key], str(getattr(group, key))) for key in by]
        return tuple((known.index(name) if name in known else len(known), name) for known, name in names)

    return place
