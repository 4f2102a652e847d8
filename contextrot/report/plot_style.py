"""How plots look: one style per series in every figure, a heading that says what was found and how it was measured.

Colours are those of Okabe and Ito (2008), told apart by colour-blind readers; line style and marker tell the series
apart in greyscale. Lines that lie on one another stay visible: the earlier a series, the broader its line.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe–Ito without the yellow, which vanishes on white; sky blue last of the blues, as it is near the grey of a print
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: the same, dark enough for text on white (4.5:1 and more)
INKS = ("#005F94", "#A64900", "#00714F", "#97457A", "#866000", "#1F6E9E", "#000000")
_DASHES: tuple[Any, ...] = ("-", (0, (3, 1.4)), (0, (1, 1)), (0, (5, 1.4, 1, 1.4)), (0, (6, 2)), (0, (3, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "*", "p")
GREY = "#6B6B6B"
#: what stands back: lines without a name, grids
FAINT = "#C4C4C4"
#: up to this many lines a panel has interval bands; more would cover each other
BANDED = 3
#: up to this many it has interval bars at a few places; more share nothing but their lines
BARRED = 8
RC: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "axes.edgecolor": "#8A8A8A",
    "axes.linewidth": 0.8,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "svg.fonttype": "none",  # text stays text: searchable, readable by a screen reader
    "pdf.fonttype": 42,
    "svg.hashsalt": "contextrot",  # the same run gives the same file
    "text.parse_math": False,  # a label with a dollar sign is a label
}
#: sizes in inches
ONE_WIDTH, PANEL_WIDTH, NARROW_WIDTH, PANEL_HEIGHT = 8.4, 6.2, 4.3, 3.3
MARGIN = 0.18
#: points of a line of the heading
_TITLE, _SUBTITLE, _CAPTION = 12.0, 8.5, 7.5


@dataclass(frozen=True, slots=True)
class Style:
    """How one series is drawn, the same in every panel."""

    colour: str
    ink: str
    dash: Any
    marker: str
    width: float

    def line(self) -> dict[str, Any]:
        """Keywords of `Axes.plot`."""
        return {"color": self.colour, "linestyle": self.dash, "linewidth": self.width}


#: a line among many that has no name
NAMELESS = Style(FAINT, GREY, "-", "", 0.8)


@dataclass(frozen=True, slots=True)
class Heading:
    """The words around a figure: what was found, how it was measured, and how to read the picture."""

    title: str
    subtitle: str
    caption: str


def styles(names: Sequence[str]) -> dict[str, Style]:
    """A style for each series name, in order."""
    many = len(names)
    return {
        name: Style(
            COLOURS[place % len(COLOURS)],
            INKS[place % len(INKS)],
            _DASHES[place % len(_DASHES)],
            _MARKERS[place % len(_MARKERS)],
            1.4 + (1.5 * (many - 1 - place) / (many - 1) if many > 1 else 0.6),
        )
        for place, name in enumerate(names)
    }


def band(look: Style, of: int) -> dict[str, Any]:
    """Keywords of `Axes.fill_between` for one of `of` intervals: the more there are the lighter, with a thin edge."""
    from matplotlib.colors import to_rgba

    light = {1: 0.12, 2: 0.09}.get(of, 0.06)
    return {"facecolor": to_rgba(look.colour, light), "edgecolor": to_rgba(look.colour, 0.4), "linewidth": 0.5}


def bars(panel: Axes, bounds: Sequence[tuple[float, float, float]], look: Style, place: int, of: int) -> None:
    """Intervals (x, low, high) as upright bars in the middle and at the end, a little aside of those of other lines."""
    left, right = panel.get_xlim()
    aside = (place - (of - 1) / 2) * 0.006 * (right - left)
    for x, low, high in dict.fromkeys((bounds[len(bounds) // 2], bounds[-1])):
        panel.vlines(x + aside, low, high, color=look.colour, linewidth=1.1, alpha=0.55, zorder=2)


def columns_of(panels: int) -> int:
    """How many panels stand side by side."""
    return 1 if panels == 1 else 2 if panels <= 4 else 3


def grid(heading: Heading, panels: int, *, extra_height: float = 0.0, legend: float = 0.0) -> tuple[Figure, list[Axes]]:
    """A figure with its heading and `panels` axes.

    `extra_height`: inches a panel needs beside its axes; `legend`: inches kept free for a legend under the heading.
    """
    from matplotlib.figure import Figure

    columns = columns_of(panels)
    rows = math.ceil(panels / columns)
    width = {1: ONE_WIDTH, 2: 2 * PANEL_WIDTH, 3: 3 * NARROW_WIDTH}[columns]
    title = _wrapped(heading.title, width, _TITLE, bold=True)
    subtitle = _wrapped(heading.subtitle, width, _SUBTITLE)
    caption = _wrapped(heading.caption, width, _CAPTION)
    top = heading_height(heading, width) + legend + 0.08
    bottom = MARGIN / 2 + _inches(caption, _CAPTION) + 0.04
    height = (PANEL_HEIGHT + extra_height) * rows + top + bottom
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(  # type: ignore[union-attr]
        w_pad=0.1, h_pad=0.08, hspace=0.05, rect=(0, bottom / height, 1, 1 - (top + bottom) / height)
    )  # type: ignore[call-arg]
    left = MARGIN / width
    figure.text(left, 1 - MARGIN / height, title, fontsize=_TITLE, weight="bold", va="top", linespacing=1.15)
    under = MARGIN + _inches(title, _TITLE) + 0.05
    for place, line in enumerate(subtitle.split("\n")):
        down = (under + place * _inches(" ", _SUBTITLE)) / height
        figure.text(left, 1 - down, line, fontsize=_SUBTITLE, color=GREY, va="top")
    if caption:
        figure.text(left, MARGIN / 2 / height, caption, fontsize=_CAPTION, color=GREY, va="bottom", linespacing=1.2)
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for unused in axes[panels:]:
        unused.remove()
    for panel in axes[:panels]:
        panel.spines[["top", "right"]].set_visible(False)
    return figure, axes[:panels]


def watermark(panel: Axes) -> None:
    """Mark a panel of which any figure is of a simulated model."""
    panel.text(
        0.5, 0.5, "SIMULATED", transform=panel.transAxes, ha="center", va="center", rotation=18, fontsize=26,
        color="#000000", alpha=0.05, zorder=0.5, weight="bold",
    )  # fmt: skip


def panel_titles(panels: Sequence[Axes], said: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Say above each panel what it shows, and in grey, line by line, what else to know; all titles at one height."""
    letters = {1: 110, 2: 78, 3: 54}[columns_of(len(panels))]  # of a line, so that a note stays over its own panel
    notes = [[line for note in more for line in textwrap.wrap(note, letters)] for _, more in said]
    rows = max(map(len, notes))
    for panel, (title, _), lines in zip(panels, said, notes, strict=True):
        shown = "\n".join(textwrap.wrap(title, letters * 4 // 5))
        panel.set_title(shown, loc="left", pad=7 + 10.5 * rows, weight="bold" if title else "normal")
        for place, line in enumerate(lines):
            panel.annotate(
                line, (0, 1), xytext=(0, 6 + 10.5 * (rows - 1 - place)), xycoords="axes fraction",
                textcoords="offset points", fontsize=8, color=GREY, ha="left", va="bottom",
            )  # fmt: skip


def _wrapped(text: str, width: float, points: float, *, bold: bool = False) -> str:
    """Text broken into lines that fit a figure of so many inches."""
    letter = points / 72 * (0.62 if bold else 0.55)
    return "\n".join(textwrap.wrap(text, int((width - 2 * MARGIN) / letter)))


def _inches(text: str, points: float) -> float:
    return (text.count("\n") + 1) * points * 1.3 / 72 if text else 0.0


def heading_height(heading: Heading, width: float) -> float:
    """Inches of title and subtitle at the head of a figure of so many inches, the margin included."""
    title, subtitle = _wrapped(heading.title, width, _TITLE, bold=True), _wrapped(heading.subtitle, width, _SUBTITLE)
    return MARGIN + _inches(title, _TITLE) + 0.05 + _inches(subtitle, _SUBTITLE) + 0.04
