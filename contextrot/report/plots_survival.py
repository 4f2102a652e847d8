"""Pictures of session length: the share of sessions still well after each turn, and how many it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from contextrot.analysis.series import SurvivalCurve
from contextrot.report import plot_axes as axes
from contextrot.report import plot_style as style
from contextrot.report.plot_labels import Labels
from contextrot.report.plot_lengths import length_claim
from contextrot.report.plot_panels import Line, Panel
from contextrot.report.plot_phrases import ended_by_window
from contextrot.report.plots_compliance import interval_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: points from the axis down to the first row of numbers, and from row to row
FIRST_ROW, ROW = 38.0, 10.5


def draw(panels: Sequence[Panel[SurvivalCurve]], heading: style.Heading) -> Figure:
    """One panel each: step curves with a tick where sessions were censored, and the numbers at risk below."""
    labels = Labels.of(panels, markers=False)
    rows = max(len(_rows(panel, labels)) for panel in panels)
    figure, rooms = style.grid(heading, len(panels), extra_height=0.3 + ROW / 72 * rows, legend=labels.room)
    for room, panel in zip(rooms, panels, strict=True):
        axes.per_cent_axis(room, "sessions still well")
        if panel.simulated:
            style.watermark(room)
        axes.turns_axis(room, _end(panel), sorted({turn for line in panel.lines for turn in line.curve.asked}))
        room.axhline(0.5, color=style.GREY, linewidth=0.8, linestyle=axes.DOTTED)
        ends, stopped = [], Counter[tuple[float, float]]()
        for place, line in enumerate(panel.lines):
            look = labels.look(panel, line)
            named = line.name in panel.named
            x, y = _stairs(room, line.name, line.curve, look, place, len(panel.lines), named=named)
            if named:
                full = ended_by_window([line.curve])
                said = f"{labels.name(line)}, {_median(line.curve)}" + (f"\n{full}" if full else "")
                ends.append(axes.End(x, y, said, look))
                for step in line.curve.steps:
                    if step.overflows:
                        axes.stop(room, step.turn, step.survival, look, stopped[step.turn, step.survival])
                        stopped[step.turn, step.survival] += 1
        if labels.beside:
            axes.label_ends(room, ends)
        _numbers(room, _rows(panel, labels))
    several = len(panels) > 1
    style.panel_titles(rooms, [(panel.title, [length_claim(panel.lines)] if several else []) for panel in panels])
    labels.legend(figure, heading)
    return figure


def caption(panels: Sequence[Panel[SurvivalCurve]]) -> str:
    """How the picture is to be read."""
    curves = [line.curve for panel in panels for line in panel.lines]
    parts = ["Kaplan–Meier: a session ends at its first failed check"]
    if any(curve.events["overflow"] or curve.events["over_budget"] for curve in curves):
        parts[0] += " or when its window (or budget) is full: squares with a cross"
    if any(curve.censored for curve in curves):
        parts.append("small upright ticks: sessions last seen well there")
    parts.append(interval_words(max(len(panel.lines) for panel in panels)))
    if any(curve.mixed_horizons for curve in curves):
        parts.append("sessions of different length are pooled")
    if any(panel.crowded for panel in panels):
        parts.append("named are the longest and the shortest, the others are grey")
    return "; ".join(parts) + "."


def _median(curve: SurvivalCurve) -> str:
    return f"median > {curve.horizon:g}" if curve.median is None else f"median {curve.median:g}"


def _end(panel: Panel[SurvivalCurve]) -> float:
    planned = [float(line.curve.turns_planned or 0) for line in panel.lines]
    return max(1.0, *planned, *(step.turn for line in panel.lines for step in line.curve.steps))


def _stairs(
    room: Axes, name: str, curve: SurvivalCurve, look: style.Style, place: int, of: int, *, named: bool
) -> tuple[float, float]:
    """The survival curve from turn 0 on, with its interval and censor ticks; returns its last point."""
    steps = curve.steps
    times = [0.0] + [step.turn for step in steps]
    share = [1.0] + [step.survival for step in steps]
    room.plot(times, share, label=name, drawstyle="steps-post", zorder=3 if named else 1.5, **look.line())
    bounds = [(s.turn, s.low, s.high) for s in steps if s.low is not None and s.high is not None]
    if of <= style.BANDED:
        # Where nothing had happened yet at the first step, its bounds are those of the time before as well.
        start = (0.0, *bounds[0][1:]) if bounds and steps[0].survival == 1 else (0.0, 1.0, 1.0)
        xs, low, high = zip(start, *bounds, strict=True)
        room.fill_between(xs, low, high, step="post", zorder=1, **style.band(look, of))
    elif of <= style.BARRED and bounds:
        style.bars(room, bounds, look, place, of)
    if named:
        cut = [step for step in steps if step.censored]
        room.plot(
            [step.turn for step in cut], [step.survival for step in cut], linestyle="none", marker="|", markersize=9,
            markeredgewidth=1.4, color=look.colour, zorder=4,
        )  # fmt: skip
    return times[-1], share[-1]


def _rows(panel: Panel[SurvivalCurve], labels: Labels) -> list[tuple[str, style.Style | None, Line[SurvivalCurve]]]:
    """What stands below the axis: sessions at risk of each named line; of a line alone, also what became of them."""
    if len(panel.lines) > 1:
        named = [line for line in panel.lines if line.name in panel.named]
        return [("at risk", labels.look(panel, line), line) for line in named]
    (line,) = panel.lines
    overflowed = any(step.overflows for step in line.curve.steps)
    kinds = ["at risk", "failed", *(["overflowed"] if overflowed else []), "last seen well"]
    return [(kind, None, line) for kind in kinds]


def _numbers(room: Axes, rows: Sequence[tuple[str, style.Style | None, Line[SurvivalCurve]]]) -> None:
    """The rows below the axis, at its ticks: each with a sample of its line, or with its name."""
    from matplotlib.transforms import ScaledTranslation

    ticks = [tick for tick in room.get_xticks() if 0 <= tick <= room.get_xlim()[1]]
    figure = room.get_figure(root=True)
    assert figure is not None
    small: dict[str, Any] = {"fontsize": 7.5, "va": "center", "textcoords": "offset points"}
    left: dict[str, Any] = {"xycoords": "axes fraction", **small}
    room.annotate(
        "sessions at risk" if rows[0][1] else "sessions", (0, 0), xytext=(0, -FIRST_ROW), ha="left", color=style.GREY,
        **left,
    )  # fmt: skip
    for place, (kind, look, line) in enumerate(rows, 1):
        down = -FIRST_ROW - ROW * place
        colour = look.ink if look else "#333333"
        for tick in ticks:
            room.annotate(
                str(count_at(line.curve, kind, tick)), (tick, 0), xytext=(0, down), color=colour, ha="center",
                xycoords=room.get_xaxis_transform(), **small,
            )  # fmt: skip
        if look:
            moved = room.transAxes + ScaledTranslation(0, down / 72, figure.dpi_scale_trans)
            room.plot([-0.105, -0.04], [0, 0], transform=moved, clip_on=False, solid_capstyle="butt", **look.line())
        else:
            room.annotate(kind, (0, 0), xytext=(-10, down), ha="right", color=colour, **left)


def count_at(curve: SurvivalCurve, kind: str, turn: float) -> int:
    """Sessions at risk at a turn, or that had failed, overflowed, or been last seen well by its end."""
    if kind == "at risk":
        return next((step.at_risk for step in curve.steps if step.turn >= turn), 0)
    names = {"failed": "failures", "overflowed": "overflows", "last seen well": "censored"}
    return sum(getattr(step, names[kind]) for step in curve.steps if step.turn <= turn)
