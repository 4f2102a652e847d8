"""How plots look: one style per series in every figure, labels beside the lines, titles that say what was measured.

Colours are those of Okabe and Ito (2008), told apart by colour-blind readers; line style and marker tell the series
apart in greyscale. Lines that lie on one another stay visible: the earlier a series, the broader its line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextrot.analysis.figures import Group, Summary
from contextrot.report import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe–Ito without the yellow, which vanishes on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", (0, (3, 1.4)), (0, (1, 1)), (0, (5, 1.4, 1, 1.4)), (0, (6, 2)), (0, (3, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "*", "p")
GREY = "#6B6B6B"
#: up to this many series are labelled beside their line and get an interval band; more share a legend below
LABELLED = 5
RC: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "svg.fonttype": "none",  # text stays text: searchable, readable by a screen reader
    "svg.hashsalt": "contextrot",  # the same run gives the same file
    "text.parse_math": False,  # a label with a dollar sign is a label
}
PANEL_WIDTH, PANEL_HEIGHT = 5.8, 3.2  # inches
#: the least distance of two ticks of an axis of turns, as a share of its length
ROOM = 0.075
#: with more turns than this asked at, ticks are at round numbers
MARKED = 16


@dataclass(frozen=True, slots=True)
class Style:
    """How one series is drawn, the same in every panel."""

    colour: str
    dash: Any
    marker: str
    width: float

    def line(self) -> dict[str, Any]:
        """Keywords of `Axes.plot`."""
        return {"color": self.colour, "linestyle": self.dash, "linewidth": self.width}


def styles(names: Sequence[str]) -> dict[str, Style]:
    """A style for each series name, in order."""
    many = len(names)
    return {
        name: Style(
            COLOURS[place % len(COLOURS)],
            _DASHES[place % len(_DASHES)],
            _MARKERS[place % len(_MARKERS)],
            1.4 + (1.8 * (many - 1 - place) / (many - 1) if many > 1 else 0.6),
        )
        for place, name in enumerate(names)
    }


def grid(summary: Summary, title: str, panels: int, extra_height: float = 0.0) -> tuple[Figure, list[Axes]]:
    """A figure with its heading and `panels` axes. `extra_height`: inches a panel needs beside its axes."""
    from matplotlib.figure import Figure

    columns = 1 if panels == 1 else 2 if panels <= 6 else 3
    columns = min(columns, panels)
    rows = math.ceil(panels / columns)
    width = PANEL_WIDTH * columns if columns > 1 else 7.6
    figure = Figure(figsize=(width, (PANEL_HEIGHT + extra_height) * rows + 0.9), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1, hspace=0.04)  # type: ignore[union-attr, call-arg]
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for unused in axes[panels:]:
        unused.remove()
    figure.suptitle(f"{title}\n{_subtitle(summary, columns)}", x=0.02, ha="left", fontsize=10.5)
    for panel in axes[:panels]:
        panel.spines[["top", "right"]].set_visible(False)
        if summary.simulated:
            panel.text(
                0.5, 0.5, "SIMULATED", transform=panel.transAxes, ha="center", va="center", rotation=18, fontsize=30,
                color="#000000", alpha=0.06, zorder=5, weight="bold",
            )  # fmt: skip
    return figure, axes[:panels]


def _subtitle(summary: Summary, columns: int) -> str:
    groups = summary.groups
    models = list(dict.fromkeys(group.model for group in groups))
    windows = sorted({window for group in groups for window in group.windows})
    sizes = " / ".join(f"{window:,}" for window in windows) or "unknown"
    parts = [words.one_line(", ".join(models), 40 * columns)]
    parts.append(f"window {sizes} tokens" + (" (virtual)" if summary.virtual_window else ""))
    parts.append(f"{summary.sessions} session" + ("" if summary.sessions == 1 else "s"))
    if summary.origin.started:
        parts.append(summary.origin.started[:10])
    if summary.simulated:
        parts.append("SIMULATED")
    return " · ".join(parts)


def panel_title(panel: Axes, groups: Sequence[Group], summary: Summary, *more: str) -> None:
    """Say above a panel what it shows: scenario (and model when there are several), and in grey what else to know."""
    several = len({group.model for group in summary.groups}) > 1
    title = words.one_line(groups[0].scenario, 34 if several else 60)
    if several:
        title += f" · {words.one_line(groups[0].model, 30)}"
    panel.set_title(title, loc="left", pad=19 if more else 6)
    if more:
        panel.annotate(
            " · ".join(more), (0, 1), xytext=(0, 6), xycoords="axes fraction", textcoords="offset points", fontsize=8,
            color=GREY, ha="left", va="bottom",
        )  # fmt: skip


def per_cent_axis(panel: Axes, label: str) -> None:
    """A y axis from 0 to 100 % whose ends stay visible."""
    panel.set_ylim(-0.03, 1.04)
    panel.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    panel.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.set_ylabel(label)


@dataclass(frozen=True, slots=True)
class End:
    """Where a line ends (data units) and what is written beside it; `look` None for a reference line."""

    x: float
    y: float
    text: str
    look: Style | None


def label_ends(panel: Axes, ends: Sequence[End]) -> None:
    """Write each label right of the axes at the height of its line's end, moved apart where they would overlap.

    A sample of the line stands before its label, so that no reader has to go by colour. A leader joins a label to its
    line where the line reaches the right edge.
    """
    if not ends:
        return
    low, high = panel.get_ylim()
    gap = 0.062  # of the axes' height: one line of 8-point text
    ordered = sorted(ends, key=lambda end: end.y)
    heights = [(end.y - low) / (high - low) for end in ordered]
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + gap) if places else height)
    for index in range(len(places) - 1, -1, -1):  # pushed out at the top: back down, keeping the distances
        places[index] = min(places[index], 1.0 if index == len(places) - 1 else places[index + 1] - gap)
    left, right = panel.get_xlim()
    beside: dict[str, Any] = {"transform": panel.transAxes, "clip_on": False, "zorder": 1}
    for place, height, end in zip(places, heights, ordered, strict=True):
        colour = end.look.colour if end.look else GREY
        if (right - end.x) / (right - left) < 0.06:
            panel.plot([1.0, 1.02], [height, place], color=colour, linewidth=0.6, alpha=0.6, **beside)
        line = end.look.line() if end.look else {"color": GREY, "linewidth": 0.9, "linestyle": (0, (1, 3))}
        panel.plot([1.025, 1.085], [place, place], solid_capstyle="butt", **line, **beside)
        if end.look and end.look.marker:
            panel.plot(
                [1.055],
                [place],
                marker=end.look.marker,
                markersize=4.5,
                markerfacecolor="white",
                color=colour,
                **beside,
            )
        panel.text(1.1, place, end.text, transform=panel.transAxes, color=colour, fontsize=8, va="center")


def whole_turns(panel: Axes, last: float, asked: Sequence[float] = ()) -> None:
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


def legend_below(figure: Figure, names: Sequence[str], drawn: dict[str, Style]) -> None:
    """One legend for all panels, below them."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker=drawn[name].marker, markersize=5, markerfacecolor="white", **drawn[name].line())
        for name in names
    ]
    labels = [words.one_line(name, 32) for name in names]
    # 8-point text takes about 4.8 points a letter, a line sample with its margins about 62
    columns = int(figure.get_figwidth() * 72 / (4.8 * max(map(len, labels)) + 62))
    figure.legend(
        handles, labels, loc="outside lower center", ncols=max(1, min(columns, len(labels))), frameon=False, fontsize=8,
        handlelength=4,
    )  # fmt: skip
