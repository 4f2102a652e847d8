"""The cells of a `grid:` side by side, so that turn, occupancy and what else was crossed can be told apart.

A cell is a scenario of its own; its id says where it stands (`scenario/grid.py`). Nothing is fitted: the tables are
the cells as they are, compliance by turn within bands of occupancy, and the arms of `mode` and `history` in pairs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from contextrot.analysis.curves import compliance
from contextrot.analysis.difference import rate_difference
from contextrot.analysis.figures import Arm, Band, Cell, Family, Group, PooledItem
from contextrot.analysis.items import by_item
from contextrot.analysis.rates import Rate
from contextrot.analysis.session_files import UNANSWERED

if TYPE_CHECKING:
    import pandas as pd

#: axes whose values are compared in pairs, with the value that comes first
ARMS = {"mode": "fork", "history": "live"}
#: words of a cell's id, long and short, by axis; what fits none is a kind of filler
_WORDS: dict[str, re.Pattern[str]] = {
    "turns": re.compile(r"(?:turns-|t)(\d+)"),
    "tokens_per_turn": re.compile(r"(?:tokens-|k)(\d+)"),
    "place": re.compile(r"(at-?\d+|system|sys|first_user|first)"),
    "history": re.compile(r"(live|scripted|scr|gold)"),
    "mode": re.compile(r"(fork|inline|inl)"),
}
_LONG = {"sys": "system", "first": "first_user", "scr": "scripted", "inl": "inline"}
_TURN_BANDS = ((0.0, 1 / 3), (1 / 3, 2 / 3), (2 / 3, 1.0))
_OCCUPANCY_WIDTH = 0.2


def cell_values(scenario: str, family: str) -> dict[str, str]:
    """Axis → value from a cell's id: ``x.turns-20.system`` of the family ``x`` is turns 20, place system.

    An id without a suffix has no values.
    """
    if scenario == family or not scenario.startswith(f"{family}."):
        return {}
    values = {}
    for word in scenario[len(family) + 1 :].split("."):
        axis, found = next(
            ((axis, match[1]) for axis, pattern in _WORDS.items() if (match := pattern.fullmatch(word))),
            ("filler", word),
        )
        values[axis] = re.sub(r"^at(?=\d)", "at-", _LONG.get(found, found))
    return values


def families(
    groups: Sequence[Group], sessions: pd.DataFrame, verdicts: pd.DataFrame, calls: pd.DataFrame
) -> list[Family]:
    """The grids of a run: every family of more than one scenario. `sessions` and `verdicts` hold no controls."""
    of = dict(zip(sessions["scenario"].astype(object), sessions["family"].astype(object), strict=True))
    found = []
    for family in dict.fromkeys(of[group.scenario] for group in groups if group.scenario in of):
        names = [name for name in of if of[name] == family]
        if family is not None and len(names) > 1:
            mine = [group for group in groups if group.scenario in names]
            found.append(_family(str(family), names, mine, sessions, verdicts, calls))
    return found


def _family(
    family: str,
    names: list[Any],
    groups: Sequence[Group],
    sessions: pd.DataFrame,
    verdicts: pd.DataFrame,
    calls: pd.DataFrame,
) -> Family:
    values = {name: cell_values(str(name), family) for name in names}
    axes: dict[str, list[str]] = {}
    for group in groups:
        for axis, value in values[group.scenario].items():
            if value not in axes.setdefault(axis, []):
                axes[axis].append(value)
    axes = {axis: known for axis, known in axes.items() if len(known) > 1}
    ends = _ends(calls.loc[calls["scenario"].isin(names)])
    sessions = sessions.loc[sessions["scenario"].isin(names)]
    verdicts = verdicts.loc[verdicts["scenario"].isin(names)]
    order = list(dict.fromkeys((group.model, group.strategy) for group in groups))
    cells = [_cell(group, {axis: values[group.scenario].get(axis, "") for axis in axes}, ends) for group in groups]
    return Family(
        family=family,
        axes=axes,
        cells=sorted(cells, key=lambda cell: [_place(axes[axis], cell.values[axis]) for axis in axes]),
        bands=_bands(groups, sessions, verdicts),
        items=_items(groups, verdicts),
        arms=[
            arm for axis in ARMS if axis in axes for arm in _arms(axis, axes[axis], values, sessions, verdicts, order)
        ],
    )


def _place(values: Sequence[str], value: str) -> tuple[float, int]:
    """Numbers by size, words as they came."""
    digits = re.search(r"\d+$", value)
    return (float(digits[0]) if digits else -1.0, values.index(value) if value in values else -1)


def _cell(group: Group, values: dict[str, str], ends: pd.DataFrame) -> Cell:
    mine = (group.scenario, group.model, group.strategy)
    last = ends.loc[[mine]] if mine in ends.index else ends.iloc[:0]

    def mean(column: str) -> float | None:
        known = last[column].dropna()
        return float(known.mean()) if len(known) else None

    return Cell(
        scenario=str(group.scenario),
        values=values,
        model=group.model,
        strategy=group.strategy,
        sessions=group.sessions,
        length=group.length.text,
        median=group.length.median,
        at_depth=group.compliance["at_depth"],
        occupancy_end=mean("occupancy"),
        tokens_end=mean("prompt_tokens"),
    )


def _ends(calls: pd.DataFrame) -> pd.DataFrame:
    """The last prompt of every session that a turn or a probe had answered, by scenario, model, strategy."""
    answered = calls.loc[calls["purpose"].isin(["turn", "probe"]) & ~calls["outcome"].isin(list(UNANSWERED))]
    last = answered.loc[~answered["session"].duplicated(keep="last")]
    keys = [last[name].astype(object) for name in ("scenario", "model", "strategy")]
    return last[["occupancy", "prompt_tokens"]].astype(float).set_index(keys).sort_index()


def _bands(groups: Sequence[Group], sessions: pd.DataFrame, verdicts: pd.DataFrame) -> list[Band]:
    """Compliance by thirds of the longest planned session × fifths of the window; empty bands are left out."""
    longest = int(sessions["turns_planned"].max()) if sessions["turns_planned"].notna().any() else 0
    rows = verdicts.loc[verdicts["occupancy"].notna()]
    found = []
    for model, strategy in dict.fromkeys((group.model, group.strategy) for group in groups):
        mine = rows.loc[(rows["model"] == model) & (rows["strategy"] == strategy)]
        for turns, in_turns in _turn_bands(mine["turn"].astype(float), longest):
            for occupancy, in_occupancy in _occupancy_bands(mine["occupancy"].astype(float)):
                part = mine.loc[in_turns & in_occupancy, ["session", "outcome"]]
                if not len(part):
                    continue
                row = compliance(part.assign(all="all"), "all").iloc[0].to_dict()
                found.append(Band(**Rate.fields(row), model=model, strategy=strategy, turns=turns, occupancy=occupancy))
    return found


def _items(groups: Sequence[Group], verdicts: pd.DataFrame) -> list[PooledItem]:
    found = []
    for model, strategy in dict.fromkeys((group.model, group.strategy) for group in groups):
        mine = verdicts.loc[(verdicts["model"] == model) & (verdicts["strategy"] == strategy)]
        found += [PooledItem(**asdict(item), model=model, strategy=strategy) for item in by_item(mine)]
    return found


def _turn_bands(turns: pd.Series[float], longest: int) -> list[tuple[str, pd.Series[bool]]]:
    bands = [("0", turns == 0)]
    for low, high in _TURN_BANDS:
        first, last = int(low * longest) + 1, int(high * longest + 1e-9)
        if first <= last:
            bands.append((f"{first}–{last}" if last > first else f"{first}", (turns >= first) & (turns <= last)))
    return bands


def _occupancy_bands(occupancy: pd.Series[float]) -> list[tuple[str, pd.Series[bool]]]:
    bands = []
    for number in range(round(1 / _OCCUPANCY_WIDTH)):
        low, high = number * _OCCUPANCY_WIDTH, (number + 1) * _OCCUPANCY_WIDTH
        inside = (occupancy >= low - 1e-9) & ((occupancy < high - 1e-9) | (high > 1 - 1e-9))
        bands.append((f"{100 * low:.0f}–{100 * high:.0f} %", inside))
    return bands


def _arms(
    axis: str,
    known: Sequence[str],
    values: dict[Any, dict[str, str]],
    sessions: pd.DataFrame,
    verdicts: pd.DataFrame,
    order: Sequence[tuple[str, str]],
) -> list[Arm]:
    """Every other value of the axis against the one that comes first, sessions paired by all that is otherwise alike.

    `order` has the models and strategies as they follow in the table. Probes alone: the standing rules are checked on
    live replies, which only some arms have.
    """
    first = ARMS[axis] if ARMS[axis] in known else known[0]
    rows = verdicts.loc[(verdicts["turn"] > 0) & (verdicts["kind"] == "probe")]
    decided = rows.loc[rows["outcome"].isin(["pass", "fail"])]
    counts = (decided["outcome"] == "pass").groupby(decided["session"].astype(object)).agg(["sum", "size"])
    tested = {
        name: (float(a), float(n)) for name, a, n in zip(counts.index, counts["sum"], counts["size"], strict=True)
    }
    found = []
    for model, strategy in order:
        mine = sessions.loc[(sessions["model"] == model) & (sessions["strategy"] == strategy)]
        sides: dict[str, dict[Any, tuple[float, float]]] = {value: {} for value in known}
        for name, scenario, repeat in zip(mine["session"], mine["scenario"], mine["repeat"], strict=True):
            others = dict(values[scenario])
            value = others.pop(axis, "")
            if value in sides and name in tested:
                sides[value][(*sorted(others.items()), int(repeat))] = tested[name]
        for second in known:
            pairs = [key for key in sides[first] if key in sides[second]]
            if second != first and pairs:
                change = rate_difference([sides[first][key] for key in pairs], [sides[second][key] for key in pairs])
                found.append(Arm(axis, first, second, model, strategy, change))
    return found
