"""How the lines of a picture are named: beside their ends where there is room, else in one legend above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from contextrot.report import plot_axes as axes
from contextrot.report import plot_style as style
from contextrot.report.plot_panels import Line, Panel, line_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: up to so many panels of up to so many lines have names at the line ends
ROOMY = ((2, 12), (4, 6))
#: a legend of more names than this is a list that nobody reads
LEGEND = 24


@dataclass(frozen=True, slots=True)
class Labels:
    """The look of each named line of a picture; `beside`: are names at line ends? `room`: inches of the legend;

    `wide`: is there room for long names?
    """

    looks: dict[str, style.Style]
    beside: bool
    wide: bool
    columns: int
    room: float

    @classmethod
    def of(cls, panels: Sequence[Panel[Any]], *, markers: bool = True) -> Labels:
        """Styles for the named lines of all panels; without `markers` for lines that have steps instead of points."""
        set_off = {name for panel in panels for name in panel.named}
        names = [name for name in line_names(panels) if name in set_off]
        looks = style.styles(names)
        if not markers:
            looks = {name: replace(look, marker="") for name, look in looks.items()}
        most = max(len(panel.named) for panel in panels)
        beside = (
            any(panel.crowded for panel in panels)
            or len(names) > LEGEND
            or any(len(panels) <= many and most <= lines for many, lines in ROOMY)
        )
        width = {1: style.ONE_WIDTH, 2: 2 * style.PANEL_WIDTH, 3: 3 * style.NARROW_WIDTH}[style.columns_of(len(panels))]
        columns, room = axes.legend_room(names, width)
        alone = len(names) == 1 and len(panels) > 1  # then the panels' titles say it all
        return cls(looks, beside and not alone, len(panels) == 1, columns, 0.0 if beside or alone else room)

    def look(self, panel: Panel[Any], line: Line[Any]) -> style.Style:
        """How a line is drawn: grey where it has no name in its panel."""
        return self.looks[line.name] if line.name in panel.named else style.NAMELESS

    def legend(self, figure: Figure, heading: style.Heading) -> None:
        """Draw the legend, if there is one."""
        if self.room:
            top = style.heading_height(heading, figure.get_figwidth())
            axes.legend(figure, self.looks, self.columns, top)

    def name(self, line: Line[Any]) -> str:
        """What is written beside a line's end."""
        return axes.short(line.name, 34 if self.wide else 26)
