"""What a picture says, in one sentence: its title. It claims no more than the intervals in the picture allow.

A curve is said to fall where its slope over the turns has a 95 % interval below 0, or the interval of a later point
lies below the first's; two lengths to differ where their intervals do not touch, which is stricter than a paired test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from contextrot.analysis.rates import Point
from contextrot.analysis.series import Curve, SurvivalCurve
from contextrot.report import words
from contextrot.report.findings import WORTH_A_WORD
from contextrot.report.plot_panels import MANY, Line, Panel, panel_word

C = TypeVar("C", Curve, SurvivalCurve)
#: up to this many lines are named in a title
NAMED = 3
#: a curve that is nowhere above this share has nothing left to lose
LOW = 0.5


def length_claim(lines: Sequence[Line[SurvivalCurve]]) -> str:
    """How long sessions last, and which line lasts longest where that is clear."""
    known = [line for line in lines if line.curve.n]
    if len(known) == 1:
        return _one_length(known[0].curve)
    ranked = sorted(known, key=lambda line: line.curve.restricted_mean or 0.0)
    worst, best = ranked[0], ranked[-1]
    ended = sum(n for line in known for n in line.curve.events.values())
    horizon = max((line.curve.horizon or 0.0) for line in known)
    if not ended:
        return f"No session failed up to turn {horizon:g}"
    medians = {line.curve.median for line in known}
    if medians == {None}:
        of = "both" if len(known) == 2 else f"all {len(known)}"
        return f"In {of} at least half of the sessions last to turn {horizon:g}"
    if len(medians) == 1:
        of = "both" if len(known) == 2 else f"all {len(known)}"
        return f"No clear difference in length: the median session ends at turn {worst.curve.median:g} in {of}"
    if _longer(best.curve, worst.curve):
        top, bottom = ([line for line in known if _alike(line.curve, end.curve)] for end in (best, worst))
        verb = "lasts" if len(top) == 1 else "last"
        return (
            f"{_listed(top, len(known))} {verb} longest ({_median(best)}), "
            f"{_listed(bottom, len(known))} shortest ({_median(worst)})"
        )
    return (
        f"No clear difference in length: {_name(worst)} {_median(worst)}, {_name(best)} {_median(best)}, "
        "and their intervals overlap"
    )


def compliance_claim(lines: Sequence[Line[Curve]], place: str) -> str:
    """Which lines fall and which hold. `place`: what a point's label is of (`turn`)."""
    known = [line for line in lines if line.curve.n]
    if len(known) == 1:
        return _one_course(known[0].curve, place)
    kinds: dict[str, list[Line[Curve]]] = {"falls": [], "low": [], "unclear": [], "holds": []}
    for line in known:
        kinds[_course(line.curve)].append(line)
    verbs = {
        "falls": ("falls", "fall", _to(kinds["falls"])),
        "low": ("fails", "fail", " from the start"),
        "unclear": ("drops within its interval", "drop within their intervals", ""),
        "holds": ("holds", "hold", ""),
    }
    if all(point.low is None for line in known for point in line.curve.points):
        verbs["unclear"] = ("drops", "drop", ", but one session has no interval")
    parts = []
    for kind, found in kinds.items():
        if found:
            one, more, rest = verbs[kind]
            parts.append(f"{_listed(found, len(known))} {one if len(found) == 1 else more}{rest}")
    return _upper("; ".join(parts))


def length_claims(panels: Sequence[Panel[SurvivalCurve]]) -> str:
    """The same over several panels: which line is clearly the shortest in how many of them."""
    parts, what = [[line for line in panel.lines if line.curve.n] for panel in panels], panel_word(panels)
    if all(len(lines) < 2 for lines in parts):
        medians = [line.curve.median for lines in parts for line in lines]
        reached = [median for median in medians if median is not None]
        if not reached:
            return f"At least half of the sessions last to the end in all {len(panels)} {what}"
        if len(reached) == len(medians):
            return f"The median session ends between turn {min(reached):g} and turn {max(reached):g}"
        beyond = f"in {len(medians) - len(reached)} of {len(panels)} {what} not by the last turn checked"
        return f"The median session ends at turn {min(reached):g} at the earliest, and {beyond}"
    shortest: list[str] = []
    for lines in parts:
        ranked = sorted(lines, key=lambda line: line.curve.restricted_mean or 0.0)
        if ranked and _longer(ranked[-1].curve, ranked[0].curve):
            shortest.append(ranked[0].name)
    if not shortest:
        return f"No clear difference in length in any of {len(panels)} {what}"
    counts = ", ".join(f"{words.one_line(name, 40)} in {n}" for name, n in Counter(shortest).most_common(NAMED))
    return f"Clearly shortest sessions: {counts} of {len(panels)} {what}"


def compliance_claims(panels: Sequence[Panel[Curve]]) -> str:
    """The same over several panels: which lines fall in how many of those they are in."""
    courses: dict[str, list[str]] = {}
    for panel in panels:
        for line in panel.lines:
            if line.curve.n:
                courses.setdefault(line.name, []).append(_course(line.curve))
    falling = {name: sum(course == "falls" for course in found) for name, found in courses.items()}
    some = sorted((name for name, n in falling.items() if n), key=lambda name: -falling[name])
    what = panel_word(panels)
    if not some:
        return f"No clear fall in any of {len(panels)} {what}"
    if len(courses) == 1:
        return f"Compliance falls in {falling[some[0]]} of {len(courses[some[0]])} {what}"
    if len(some) > NAMED:
        return f"{len(some)} of {len(courses)} lines fall in at least one of {len(panels)} {what}"
    listed = ", ".join(f"{words.one_line(name, 40)} in {falling[name]} of {len(courses[name])}" for name in some)
    others = len(courses) - len(some)
    rest = "" if not others else "; the others show no clear fall" if others > 1 else "; the other shows no clear fall"
    return f"Compliance falls: {listed} {what}{rest}"


def _one_length(curve: SurvivalCurve) -> str:
    ended = sum(curve.events.values())
    if not ended:
        return f"No session failed up to turn {curve.horizon or 0:g} ({words.counted(curve.n, 'session')})"
    if curve.median is None:
        return f"{ended} of {curve.n} sessions end by turn {curve.horizon or 0:g}; the median session lasts longer"
    if curve.median == 0:
        return f"At least half of the sessions fail in the fresh session ({curve.n} sessions)"
    _, bracket, interval = curve.text.partition(" (")
    return f"The median session ends at turn {curve.median:g}{bracket}{interval}"


def _longer(best: SurvivalCurve, worst: SurvivalCurve) -> bool:
    """Are two curves apart: the intervals of their medians, or those of the shares still well where both end?

    A bound that is not known touches everything.
    """
    if best.low is not None and worst.high is not None and best.low > worst.high:
        return True
    over, under = best.steps[-1].low, worst.steps[-1].high
    return over is not None and under is not None and over > under


def _alike(one: SurvivalCurve, other: SurvivalCurve) -> bool:
    return (one.median, one.restricted_mean) == (other.median, other.restricted_mean)


def _median(line: Line[SurvivalCurve]) -> str:
    curve = line.curve
    return f"median > {curve.horizon or 0:g}" if curve.median is None else f"median {curve.median:g}"


def _decided(curve: Curve) -> list[Point]:
    return [point for point in curve.points if point.n]


def _course(curve: Curve) -> str:
    """What a curve does after its first point.

    `falls`: its slope over the turns lies below 0, or the interval of a later point below the first's. `low`: no point
    is above a half. `unclear`: a drop that is worth a word, but within the intervals. Else `holds`.
    """
    points = _decided(curve)
    first, lowest = points[0], _lowest(points)
    drop = (first.rate or 0.0) - (lowest.rate or 0.0)
    below = first.low is not None and any(p.high is not None and p.high < first.low for p in points[1:])
    if below or (curve.trend is not None and curve.trend.falls and drop > WORTH_A_WORD):
        return "falls"
    if all((point.rate or 0.0) <= LOW for point in points):
        return "low"
    return "unclear" if drop > WORTH_A_WORD else "holds"


def _lowest(points: Sequence[Point]) -> Point:
    return min(points, key=lambda point: point.rate or 0.0)


def _one_course(curve: Curve, place: str) -> str:
    points = _decided(curve)
    first, lowest = points[0], _lowest(points)
    at_first = f"{words.percent(first.rate)} of checks passed at {place} {first.label}"
    if len(points) == 1:
        return at_first
    course = _course(curve)
    fall = f"from {words.percent(first.rate)} to {words.percent(lowest.rate)} at {place} {lowest.label}"
    if course == "falls":
        return f"Compliance falls {fall}"
    if course == "unclear":
        known = any(point.low is not None for point in points)
        doubt = "within its intervals" if known else "but one session has no interval"
        return f"Compliance drops {fall}, {doubt}"
    if course == "low":
        return f"Checks fail from the start: {at_first}"
    low, high = words.percent(lowest.rate), words.percent(max(point.rate or 0.0 for point in points))
    return f"Compliance stays at {low}" if low == high else f"Compliance stays between {low} and {high}"


def _to(lines: Sequence[Line[Curve]]) -> str:
    if not lines:
        return ""
    ends = [_lowest(_decided(line.curve)).rate or 0.0 for line in lines]
    low, high = words.percent(min(ends)), words.percent(max(ends))
    return f" to {low}" if low == high else f" to {low.removesuffix(' %')}–{high}"


def _listed(lines: Sequence[Line[C]], of: int) -> str:
    """``a``, ``a and b``; of many ``7 of 12``; ``all 12``."""
    if len(lines) == of and of > 1:
        return "both" if of == 2 else f"all {of}"
    if len(lines) > NAMED or of >= MANY:
        return f"{len(lines)} of {of}"
    names = [_name(line) for line in lines]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _name(line: Line[C]) -> str:
    return words.one_line(line.name, 40)


def _upper(text: str) -> str:
    """A sentence starts with a capital, unless with a name."""
    return text[0].upper() + text[1:] if text.startswith(("all ", "both ")) else text
