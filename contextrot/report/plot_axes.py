"""Axes and labels of plots: per cent, turns, shares of the window, tokens; names at line ends, or one legend below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from contextrot.analysis.levels import THRESHOLDS
from contextrot.report import words
from contextrot.report.plot_style import FAINT, GREY, MARGIN, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: the least distance of two ticks of an axis of turns, as a share of its length
ROOM = 0.075
#: with more turns than this asked at, ticks are at round numbers
MARKED = 16
#: dashes of a line that is no series: a control, a median
DOTTED = (0, (1, 3))


@dataclass(frozen=True, slots=True)
class End:
    """Where a line ends (data units) and what is written beside it, on one line or two; `look` None for a reference."""

    x: float
    y: float
    text: str
    look: Style | None


def short(name: str, longest: int) -> str:
    """A name on one line, of a long one the beginning and the end: what tells two apart may stand in either."""
    line = words.one_line(name, 200)
    if len(line) <= longest:
        return line
    tail = (longest - 1) // 3
    return f"{line[: longest - 1 - tail]}…{line[-tail:]}"


def per_cent_axis(panel: Axes, label: str) -> None:
    """A y axis from 0 to 100 % whose ends stay visible."""
    panel.set_ylim(-0.03, 1.04)
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    panel.grid(axis="y", color="#E2E2E2", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.set_ylabel(label)


def turns_axis(panel: Axes, last: float, asked: Sequence[float] = ()) -> None:
    """An x axis of turns from 0 to a little beyond the last, with ticks at turns that were asked at.

    As many of them as have room: the last one and, going back, those far enough from the one before.
    """
    from matplotlib.ticker import MaxNLocator

    panel.set_xlim(-0.02 * last, 1.03 * last)
    ticks: list[float] = []
    for turn in sorted({turn for turn in asked if turn <= last}, reverse=True):
        if not ticks or ticks[-1] - turn >= ROOM * last:
            ticks.append(turn)
    if len(ticks) > 1 and len(set(asked)) <= MARKED:
        panel.set_xticks(ticks[::-1], [f"{turn:g}" for turn in ticks[::-1]])
    else:
        panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    panel.set_xlabel("turn")


def window_axis(panel: Axes, used: Sequence[float]) -> None:
    """An x axis of shares of the window, with the levels of the budget monitor as light lines."""
    right = max(1.0, max(used) + 0.05)
    panel.set_xlim(0, right * 1.01)
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    panel.set_xticks(ticks, [f"{100 * tick:.0f} %" for tick in ticks])
    for level, share in THRESHOLDS.items():
        panel.axvline(share, color=FAINT, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        panel.text(share + 0.006, 0.0, level, color=GREY, fontsize=7, rotation=90, ha="left", va="bottom", zorder=0)


def tokens_axis(panel: Axes, last: float) -> None:
    """An x axis of tokens from 0 to the end of the last bin."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    panel.set_xlim(-0.01 * last, 1.02 * last)
    panel.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def reference_line(panel: Axes, name: str, rate: float | None, n: int) -> list[End]:
    """A dotted line at the rate of a control, and its label; nothing where it is not known."""
    if rate is None:
        return []
    panel.axhline(rate, color=GREY, linewidth=0.9, linestyle=DOTTED, zorder=2)
    return [End(panel.get_xlim()[1], rate, f"{name} {words.percent(rate)} (n {n})", None)]


def label_ends(panel: Axes, ends: Sequence[End], *, samples: bool = True) -> None:
    """Write each label right of the axes at the height of its line's end, moved apart where they would overlap.

    A sample of the line stands before its label, so that no reader has to go by colour, unless there is one kind of
    line only. A leader joins a label to its line where the line reaches the right edge.
    """
    low, high = panel.get_ylim()
    gap = 0.06  # of the axes' height: one line of 8-point text
    ordered = sorted(ends, key=lambda end: end.y)
    heights = [(end.y - low) / (high - low) for end in ordered]
    left, right = panel.get_xlim()
    beside: dict[str, Any] = {"transform": panel.transAxes, "clip_on": False, "zorder": 1}
    sizes = [gap * (end.text.count("\n") + 1) for end in ordered]
    if sum(sizes) > 1.06:  # no room for second lines
        ordered = [replace(end, text=end.text.partition("\n")[0]) for end in ordered]
        sizes = [gap] * len(ordered)
    for place, height, end in zip(_apart(heights, sizes), heights, ordered, strict=True):
        colour, ink = (end.look.colour, end.look.ink) if end.look else (GREY, GREY)
        if (right - end.x) / (right - left) < 0.06:
            panel.plot([1.0, 1.02], [height, place], color=colour, linewidth=0.6, alpha=0.6, **beside)
        if not samples:
            panel.text(1.03, place, end.text, transform=panel.transAxes, color=ink, fontsize=7.5, va="center")
            continue
        line = end.look.line() if end.look else {"color": GREY, "linewidth": 0.9, "linestyle": DOTTED}
        panel.plot([1.025, 1.085], [place, place], solid_capstyle="butt", **line, **beside)
        if end.look and end.look.marker:
            marker: dict[str, Any] = {
                "marker": end.look.marker,
                "markersize": 4.5,
                "markerfacecolor": "white",
                "color": colour,
            }
            panel.plot([1.055], [place], **marker, **beside)
        panel.text(1.1, place, end.text, transform=panel.transAxes, color=ink, fontsize=8, va="center")


def _apart(heights: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Ascending heights of labels moved up, and from the top down again, until each has room for its size."""
    gaps = [(one + other) / 2 for one, other in pairwise(sizes)]
    places: list[float] = []
    for index, height in enumerate(heights):
        places.append(max(height, places[-1] + gaps[index - 1]) if places else height)
    for index in range(len(places) - 1, -1, -1):
        places[index] = min(places[index], 1.0 if index == len(places) - 1 else places[index + 1] - gaps[index])
    return places


def stop(panel: Axes, x: float, y: float, look: Style, already: int = 0) -> None:
    """A crossed square where sessions ended, right of what ended there `already`."""
    from matplotlib.transforms import ScaledTranslation

    figure = panel.get_figure(root=True)
    assert figure is not None
    moved = panel.transData + ScaledTranslation(9 * already / 72, 0, figure.dpi_scale_trans)
    for marker, size, inside in (("s", 8, look.colour), ("x", 4.5, "white")):
        panel.plot(
            [x], [y], marker=marker, markersize=size, markeredgecolor="white", markeredgewidth=1, transform=moved,
            markerfacecolor=inside, clip_on=False, linestyle="none", zorder=5,
        )  # fmt: skip


def legend_room(names: Sequence[str], width: float) -> tuple[int, float]:
    """Columns of a legend in a figure of so many inches, and the inches it takes."""
    # 8-point text takes about 4.8 points a letter, a line sample with its margins about 62
    longest = max((len(short(name, 40)) for name in names), default=1)
    columns = max(1, min(len(names), int((width * 72 - 20) / (4.8 * longest + 62))))
    return columns, 0.19 * -(-len(names) // columns) + 0.12


def legend(figure: Figure, drawn: dict[str, Style], columns: int, top: float) -> None:
    """One legend for all panels, its upper edge `top` inches below that of the figure."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker=look.marker, markersize=5, markerfacecolor="white", **look.line())
        for look in drawn.values()
    ]
    where = (MARGIN / figure.get_figwidth(), 1 - top / figure.get_figheight())
    figure.legend(
        handles, [short(name, 40) for name in drawn], loc="upper left", ncols=columns, frameon=False, fontsize=8,
        handlelength=4, borderaxespad=0, borderpad=0, bbox_to_anchor=where,
    )  # fmt: skip
