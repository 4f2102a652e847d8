"""What the charts of the page are drawn from: the series of `analysis/series.py` as compact JSON.

Names are stored once and referred to by index; a point is a short list, so that a run of many series stays small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contextrot.analysis.levels import THRESHOLDS
from contextrot.analysis.rates import Point
from contextrot.analysis.series import X, compliance_curves, survival_curves
from contextrot.report import words
from contextrot.report.html.embed import json_text

if TYPE_CHECKING:
    from contextrot.analysis.figures import Group
    from contextrot.analysis.series import Curve, SurvivalCurve, SurvivalStep
    from contextrot.analysis.tables import Run

#: what compliance is drawn against, in the order of the switch
AXES: tuple[X, ...] = ("turn", "occupancy", "tokens")
#: decimals kept of shares and places: beyond what a pixel or a tip shows
_DECIMALS = 5
#: characters of a name that captions and legends hold
_LONGEST_NAME = 300


def page_data(run: Run) -> dict[str, Any]:
    """The JSON of the page (`contextrot.page`): names, survival and compliance series, references and levels.

    A series names its scenario (null: all), model and strategy by index. Steps of `survival` are
    ``[turn, survival, low, high, at_risk, failures, overflows, censored, text]``; points of `compliance`
    ``[x, rate, low, high, n, sessions, undecided, label, text]``, rate null where nothing was decided.
    """
    summary = run.summary
    names = {
        "scenarios": list(dict.fromkeys(str(group.scenario) for group in summary.groups)),
        "models": list(dict.fromkeys(group.model for group in summary.groups)),
        "strategies": list(dict.fromkeys(group.strategy for group in summary.groups)),
    }
    groups = {(group.scenario, group.model, group.strategy): group for group in summary.groups}
    curves = [curve for x in AXES for curve in compliance_curves(run, x) if curve.scenario is not None]
    return {
        "run": words.clean(summary.run),
        "simulated": summary.simulated,
        **{kind: [words.one_line(name, _LONGEST_NAME) or "(no name)" for name in some] for kind, some in names.items()},
        "levels": dict(THRESHOLDS),
        "survival": [
            _place(curve, names)
            | _survival(curve)
            | {"unfollowed": _unfollowed(groups[curve.scenario, curve.model, curve.strategy])}
            for curve in survival_curves(run)
            if curve.scenario is not None
        ],
        "compliance": [_place(curve, names) | _compliance(curve) for curve in curves],
    }


def fitting(data: dict[str, Any], room: int) -> dict[str, Any]:
    """The page's data with as many of its curves as fit into so many bytes; `curves_left_out`: how many do not.

    Survival comes first, then compliance in the order of the switch: what is given up first are the curves over tokens.
    """
    order = {x: place for place, x in enumerate(AXES)}
    every = [("survival", series) for series in data["survival"]]
    every += [("compliance", series) for series in sorted(data["compliance"], key=lambda series: order[series["x"]])]
    kept: dict[str, list[dict[str, Any]]] = {"survival": [], "compliance": []}
    for place, (chart, series) in enumerate(every):
        room -= len(json_text(series).encode()) + 1
        if room < 0:
            return data | kept | {"curves_left_out": len(every) - place}
        kept[chart].append(series)
    return data | kept | {"curves_left_out": 0}


def _place(curve: SurvivalCurve | Curve, names: dict[str, list[str]]) -> dict[str, int]:
    return {
        "scenario": names["scenarios"].index(str(curve.scenario)),
        "model": names["models"].index(curve.model),
        "strategy": names["strategies"].index(curve.strategy),
    }


def _survival(curve: SurvivalCurve) -> dict[str, Any]:
    return {
        "text": curve.text,
        "n": curve.n,
        "median": curve.median,
        "planned": curve.turns_planned,
        "horizon": curve.horizon,
        "steps": [
            [
                *_rounded(s.turn, s.survival, s.low, s.high, s.at_risk, s.failures, s.overflows, s.censored),
                _survived_text(s),
            ]
            for s in curve.steps
        ],
    }


def _unfollowed(group: Group) -> str:
    """Why a curve is no measure of length: too many of its sessions were lost sight of. Empty where it is one."""
    return "" if group.length.followed else words.unfollowed_text(group.length)


def _survived_text(step: SurvivalStep) -> str:
    """``80 % (38–98)``, as rates are written."""
    if step.low is None or step.high is None:
        return words.percent(step.survival)
    return f"{words.percent(step.survival)} ({100 * step.low:.0f}–{100 * step.high:.0f})"


def _compliance(curve: Curve) -> dict[str, Any]:
    return {
        "x": curve.x,
        "kind": curve.kind,
        "n": curve.n,
        "ceiling": _reference("ceiling", curve.ceiling, curve.ceiling_n),
        "floor": _reference("floor", curve.floor, curve.floor_n),
        "estimated": curve.estimated,
        "points": [_point(point) for point in curve.points],
    }


def _point(point: Point) -> list[Any]:
    figures = _rounded(point.x, point.rate, point.low, point.high, point.n, point.sessions, point.undecided)
    return [*figures, point.label, words.rate_text(point)]


def _reference(name: str, rate: float | None, n: int) -> dict[str, Any] | None:
    if rate is None:
        return None
    return {"rate": round(rate, _DECIMALS), "text": f"{name} {words.percent(rate)} (n {n})"}


def _rounded(*values: float | None) -> list[float | None]:
    return [None if value is None else _short(value) for value in values]


def _short(value: float) -> float:
    """Whole numbers as such: half the bytes of a page are digits."""
    rounded = round(float(value), _DECIMALS)
    return int(rounded) if rounded == int(rounded) else rounded
