"""What a picture of compliance says in one sentence: its title, and the notes of its panels.

A curve is said to fall where the trend of the report (`analysis/trend.py`) has a 95 % interval below 0, or the interval
of a later point lies below the first's. A curve whose sessions ran out of window ends, and does not hold.
`plot_lengths.py` does the same for session lengths.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextrot.analysis.rates import Point
from contextrot.analysis.series import Curve
from contextrot.analysis.trend import Trend
from contextrot.report import words
from contextrot.report.findings import WORTH_A_WORD
from contextrot.report.plot_panels import Line, Panel, panel_word
from contextrot.report.plot_phrases import NAMED, listed, upper, window_full

#: a curve that is nowhere above this share has nothing left to lose
LOW = 0.5


def compliance_claim(lines: Sequence[Line[Curve]], place: str) -> str:
    """Which lines fall, end and hold. `place`: what a point's label is of (`turn`)."""
    known = [line for line in lines if line.curve.n]
    if len(known) == 1:
        return _one_course(known[0].curve, place)
    kinds: dict[str, list[Line[Curve]]] = {
        "falls": [],
        "over turns": [],
        "low": [],
        "ends": [],
        "unclear": [],
        "holds": [],
    }
    for line in known:
        kinds[_course(line.curve)].append(line)
    full = f": {window_full([line.curve for line in kinds['ends']])}"
    verbs = {
        "falls": (" falls", " fall", _to(kinds["falls"])),
        "over turns": (" falls", " fall", " over the turns"),
        "low": (" fails", " fail", " from the start"),
        "ends": ("", "", full),
        "unclear": (" drops within its interval", " drop within their intervals", ""),
        "holds": (" holds", " hold", ""),
    }
    if all(point.low is None for line in known for point in line.curve.points):
        verbs["unclear"] = (" drops", " drop", ", but one session has no interval")
    parts: list[str] = []
    for kind, found in kinds.items():
        if found:
            one, more, rest = verbs[kind]
            last = parts and kind == "holds" and 2 < len(found) <= NAMED
            names = f"the other {len(found)}" if last else listed(found, len(known))
            parts.append(f"{names}{one if len(found) == 1 else more}{rest}")
    return upper("; ".join(parts))


def compliance_claims(panels: Sequence[Panel[Curve]]) -> str:
    """The same over several panels: which lines fall, and which run out of window, in how many of those they are in."""
    courses: dict[str, list[str]] = {}
    ended: dict[str, int] = {}
    for panel in panels:
        for line in panel.lines:
            if line.curve.n:
                courses.setdefault(line.name, []).append(_course(line.curve))
                ended[line.name] = ended.get(line.name, 0) + bool(line.curve.broke_off)
    falling = {name: sum(course in ("falls", "over turns") for course in found) for name, found in courses.items()}
    some = sorted((name for name, n in falling.items() if n), key=lambda name: -falling[name])
    what, full = panel_word(panels), _windows(ended, courses)
    if not some:
        return f"No clear fall in any of {len(panels)} {what}{full}"
    if len(courses) == 1:
        return f"Compliance falls in {falling[some[0]]} of {len(courses[some[0]])} {what}{full}"
    if len(some) > NAMED:
        lines = f"All {len(some)}" if len(some) == len(courses) else f"{len(some)} of {len(courses)}"
        return f"{lines} lines fall in at least one of {len(panels)} {what}{full}"
    counts = ", ".join(f"{words.one_line(name, 40)} in {falling[name]} of {len(courses[name])}" for name in some)
    others = len(courses) - len(some)
    rest = "" if not others else "; the others show no clear fall" if others > 1 else "; the other shows no clear fall"
    return f"Compliance falls: {counts} {what}{rest}{full}"


def _windows(ended: dict[str, int], courses: dict[str, list[str]]) -> str:
    """``; window full: full in 2 of 4``: where sessions of which lines ran out of window or budget."""
    some = sorted((name for name, n in ended.items() if n), key=lambda name: -ended[name])
    if not some:
        return ""
    if len(courses) == 1:
        return f"; sessions run out of window in {ended[some[0]]}"
    if len(some) > NAMED:
        return f"; sessions of {len(some)} of {len(courses)} lines run out of window"
    counts = ", ".join(f"{words.one_line(name, 40)} in {ended[name]} of {len(courses[name])}" for name in some)
    return f"; sessions run out of window: {counts}"


def _decided(curve: Curve) -> list[Point]:
    return [point for point in curve.points if point.n]


def _course(curve: Curve) -> str:
    """What a curve does after its first point.

    `falls`: the interval of a later point lies below the first's, or the trend is clear and there is a drop at all.
    `over turns`: the trend is clear, but not to be seen along another axis than that of turns. `low`: no point is above
    a half. `ends`: sessions ran out of window. `unclear`: a drop that is worth a word, but within the intervals. Else
    `holds`.
    """
    points = _decided(curve)
    drop = _drop(points)
    if _falls_by_intervals(points) or (_clear_trend(curve) is not None and drop > 0):
        return "falls"
    if _clear_trend(curve) is not None and curve.x != "turn" and (curve.rate or 0.0) < 1:
        return "over turns"
    if all((point.rate or 0.0) <= LOW for point in points):
        return "low"
    if curve.broke_off:
        return "ends"
    return "unclear" if drop > WORTH_A_WORD else "holds"


def _falls_by_intervals(points: Sequence[Point]) -> bool:
    first = points[0]
    return first.low is not None and any(p.high is not None and p.high < first.low for p in points[1:])


def _clear_trend(curve: Curve) -> Trend | None:
    """The slope over the turns where it lies below 0: the curve's own, or that of all checks of its group."""
    own = curve.trend if curve.trend is not None and curve.trend.per_turn is not None else curve.group_trend
    return own if own is not None and own.falls else None


def _drop(points: Sequence[Point]) -> float:
    """How far below its first point a curve gets."""
    return (points[0].rate or 0.0) - (_lowest(points).rate or 0.0)


def _lowest(points: Sequence[Point]) -> Point:
    return min(points, key=lambda point: point.rate or 0.0)


def _one_course(curve: Curve, place: str) -> str:
    points = _decided(curve)
    first, lowest = points[0], _lowest(points)
    at_first = f"{words.percent(first.rate)} of checks passed at {place} {first.label}"
    full = f"; {window_full([curve])} sessions" if curve.broke_off else ""
    course = _course(curve)
    if course == "over turns":
        return f"Compliance falls over the turns{_slope(curve, points)}{full}"
    if len(points) == 1:
        return at_first + full
    fall = f"from {words.percent(first.rate)} to {words.percent(lowest.rate)} at {place} {lowest.label}"
    if course == "falls":
        return f"Compliance falls {fall}{_slope(curve, points)}{full}"
    if course == "low":
        return f"Checks fail from the start: {at_first}{full}"
    if _drop(points) > WORTH_A_WORD:
        known = any(point.low is not None for point in points)
        doubt = "within its intervals" if known else "but one session has no interval"
        return f"Compliance drops {fall}, {doubt}{full}"
    low, high = words.percent(lowest.rate), words.percent(max(point.rate or 0.0 for point in points))
    stays = f"at {low}" if low == high else f"between {low} and {high}"
    until = f" up to {place} {points[-1].label}" if sum(curve.broke_off.values()) == curve.sessions else ""
    return f"Compliance stays {stays}{until}{full}"


def _slope(curve: Curve, points: Sequence[Point]) -> str:
    """Why a curve is said to fall although its intervals overlap."""
    trend = _clear_trend(curve)
    if trend is None or _falls_by_intervals(points):
        return ""
    slope, _, rest = words.trend_text(trend).partition(" (")
    return f": {slope} points per 10 turns, {rest.removesuffix(')').rpartition(', ')[2]}"


def _to(lines: Sequence[Line[Curve]]) -> str:
    if not lines:
        return ""
    ends = [_lowest(_decided(line.curve)).rate or 0.0 for line in lines]
    low, high = words.percent(min(ends)), words.percent(max(ends))
    return f" to {low}" if low == high else f" to {low.removesuffix(' %')}–{high}"
