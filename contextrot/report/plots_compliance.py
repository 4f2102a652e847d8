"""Pictures of compliance: the share of checks passed against turn, occupancy, or tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from contextrot.analysis.rates import Point
from contextrot.analysis.series import Curve
from contextrot.report import plot_axes as axes
from contextrot.report import plot_style as style
from contextrot.report.plot_claims import compliance_claim
from contextrot.report.plot_labels import Labels
from contextrot.report.plot_panels import KINDS, Line, Panel, spread
from contextrot.report.plot_phrases import window_full

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

X_LABELS = {
    "turn": "turn",
    "occupancy": "tokens of the prompt ÷ window",
    "tokens": "tokens of the prompt",
    "since": "tokens since the rule was stated",
}
#: a line has at most so many markers
MARKERS = 20
#: how a point is called in a title: `at turn 8`
PLACES = {"turn": "turn", "occupancy": "occupancy", "tokens": "prompt tokens", "since": "tokens since the rule"}


def draw(panels: Sequence[Panel[Curve]], x: str, heading: style.Heading) -> Figure:
    """One panel each, with the controls as dotted lines. What is drawn are the points of the curves, gaps as gaps."""
    labels = Labels.of(panels)
    figure, rooms = style.grid(heading, len(panels), legend=labels.room)
    last = max((_right(point, x) for panel in panels for line in panel.lines for point in line.curve.points), default=1)
    for room, panel in zip(rooms, panels, strict=True):
        axes.per_cent_axis(room, "checks passed")
        if panel.simulated:
            style.watermark(room)
        _x_axis(room, panel, x, last)
        ends = _controls(room, panel)
        for line in panel.lines:
            look = labels.look(panel, line)
            points = {point.x: point for point in line.curve.points if point.n}
            _line(room, panel, line, look)
            _interval(room, panel, line, look)
            if line.name in panel.named:
                shown = points[max(points)]
                full = window_full([line.curve])
                said = f"{labels.name(line)} (n {shown.n})" + (f"\n{full}" if full else "")
                ends.append(axes.End(shown.x, shown.rate or 0.0, said, look))
        _stops(room, [(line, labels.look(panel, line)) for line in panel.lines if line.name in panel.named])
        axes.label_ends(room, [end for end in ends if end.look is None or labels.beside], samples=labels.beside)
    style.panel_titles(rooms, [(panel.title, _notes(panel, x, len(panels))) for panel in panels])
    labels.legend(figure, heading)
    return figure


def caption(panels: Sequence[Panel[Curve]]) -> str:
    """How the picture is to be read."""
    most = max(len(panel.lines) for panel in panels)
    curves = [line.curve for panel in panels for line in panel.lines]
    measured = any(point.low is not None for curve in curves for point in curve.points)
    intervals = interval_words(most) if measured else "one session has no interval"
    parts = ["Points: share of decided checks passed", intervals]
    if any(curve.ceiling is not None or curve.floor is not None for curve in curves):
        parts.append("ceiling, floor: the same question in a fresh session, the rule right before it, or never stated")
    if any(curve.broke_off for curve in curves):
        parts.append("squares with a cross: sessions ended here, their window (or budget) full")
    if any(panel.crowded for panel in panels):
        parts.append("named are the lines with the most and the fewest checks passed, the others are grey")
    return "; ".join(parts) + "."


def interval_words(most: int) -> str:
    """How intervals are shown where a panel has `most` lines."""
    if most <= style.BANDED:
        return "bands: 95 % intervals over sessions"
    if most <= style.BARRED:
        return "upright bars: 95 % intervals over sessions, in the middle and at the end of each line"
    return f"intervals are left out, as {most} would cover each other: --json has them"


def _right(point: Point, x: str) -> float:
    """Where on the axis a point ends."""
    if x not in ("tokens", "since"):
        return point.x
    return float(point.label.partition("–")[2].replace(",", ""))


def _x_axis(room: Axes, panel: Panel[Curve], x: str, last: float) -> None:
    points = [point for line in panel.lines for point in line.curve.points]
    if x == "turn":
        axes.turns_axis(room, max(1.0, *(point.x for point in points)), sorted({point.x for point in points}))
        return
    if x == "occupancy":
        axes.window_axis(room, [point.x for point in points if point.n])
    else:
        axes.tokens_axis(room, last)
    notes = [bin_words(points, x)]
    if any(line.curve.estimated for line in panel.lines):
        notes.append("our estimate" if x == "since" else "partly estimated")
    room.set_xlabel(f"{X_LABELS[x]} ({', '.join(notes)})")


def bin_words(points: Sequence[Point], x: str) -> str:
    """``bins of 200 tokens, drawn at their middle``: a point stands for a range of the axis."""
    if x == "occupancy":
        return "bins of a tenth, drawn at their middle"
    left, _, right = points[0].label.replace(",", "").partition("–")
    return f"bins of {float(right) - float(left):,.0f} tokens, drawn at their middle"


def _controls(room: Axes, panel: Panel[Curve]) -> list[axes.End]:
    """Ceiling and floor, where all lines of the panel have the same."""
    found = {(line.curve.ceiling, line.curve.ceiling_n, line.curve.floor, line.curve.floor_n) for line in panel.lines}
    if len(found) != 1:
        return []
    ceiling, ceiling_n, floor, floor_n = found.pop()
    return [
        *axes.reference_line(room, "ceiling", ceiling, ceiling_n),
        *axes.reference_line(room, "floor", floor, floor_n),
    ]


def _line(room: Axes, panel: Panel[Curve], line: Line[Curve], look: style.Style) -> None:
    """The line over every place at which its checks were asked of anyone here: where it has no point, it breaks."""
    xs, rates = over_places(panel, line, "rate")
    every, front = -(-len(xs) // MARKERS), 3 if line.name in panel.named else 1.5
    room.plot(
        xs, rates, label=line.name, marker=look.marker, markersize=5, markevery=every, markerfacecolor="white",
        zorder=front, **look.line(),
    )  # fmt: skip


def _stops(room: Axes, lines: Sequence[tuple[Line[Curve], style.Style]]) -> None:
    """A crossed square where sessions of a line ended as their window was full; several at one place stand in a row."""
    taken: dict[tuple[float, float], int] = {}
    for line, look in lines:
        for point in stops(line.curve):
            place = (point.x, point.rate or 0.0)
            axes.stop(room, *place, look, taken.get(place, 0))
            taken[place] = taken.get(place, 0) + 1


def stops(curve: Curve) -> list[Point]:
    """The points after which sessions ran out of window: over turns the last before it, else the last of the curve."""
    points = [point for point in curve.points if point.n]
    if not curve.broke_off:
        return []
    if curve.x != "turn" or not curve.broke_off_turns:
        return points[-1:]
    before = [[point for point in points if point.x <= int(turn)] for turn in curve.broke_off_turns]
    return list({found[-1].x: found[-1] for found in before if found}.values())


def over_places(panel: Panel[Curve], line: Line[Curve], name: str) -> tuple[list[float], list[float]]:
    """The places of all lines asked the same, and what the line's points have there (NaN: no point)."""
    same = [other.curve for other in panel.lines if _asked_together(other, line)]
    xs = sorted({point.x for curve in same for point in curve.points})
    known = {point.x: getattr(point, name) for point in line.curve.points if point.n}
    return xs, [math.nan if known.get(x) is None else known[x] for x in xs]


def _asked_together(one: Line[Curve], other: Line[Curve]) -> bool:
    a, b = one.curve, other.curve
    return (one.source.run, a.scenario, a.kind, a.check) == (other.source.run, b.scenario, b.kind, b.check)


def _interval(room: Axes, panel: Panel[Curve], line: Line[Curve], look: style.Style) -> None:
    """Few lines have bands, which break where the line does; a point that stands alone has a bar."""
    place, of = panel.lines.index(line), len(panel.lines)
    if of > style.BANDED:
        known = [p for p in line.curve.points if p.n]
        bounds = [(p.x, p.low, p.high) for p in known if p.low is not None and p.high is not None]
        if of <= style.BARRED and bounds:
            style.bars(room, bounds, look, place, of)
        return
    xs, low = over_places(panel, line, "low")
    high = over_places(panel, line, "high")[1]
    room.fill_between(xs, low, high, zorder=1, **style.band(look, of))
    gaps = [True, *map(math.isnan, low), True]
    for x, bottom, top, left, right in zip(xs, low, high, gaps, gaps[2:], strict=False):
        if left and right and not math.isnan(bottom):
            room.vlines(x, bottom, top, color=look.colour, linewidth=1.1, alpha=0.55, zorder=2)


def _notes(panel: Panel[Curve], x: str, panels: int) -> list[str]:
    kinds = {KINDS[line.curve.kind] for line in panel.lines}
    counts = [point.n for line in panel.lines for point in line.curve.points if point.n]
    what = f"{', '.join(sorted(kinds))} · decided checks per point: {spread(counts)}"
    return [what] if panels == 1 else [compliance_claim(panel.lines, PLACES[x]), what]
