"""The picture of causes: of all decided checks, how many passed, and why the others failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from contextrot.analysis.figures import Group
from contextrot.report import plot_style as style
from contextrot.report import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: greys and hatches of the cause split, from passed to unattributed
CAUSES = {
    "passed": ("#E8E8E8", ""),
    "lost": ("#0072B2", "////"),
    "ignored": ("#E69F00", ".."),
    "incapable": ("#7A7A7A", "xx"),
    "unattributed": ("#CC79A7", "--"),
}
CAPTION = (
    "lost: the rule or fact was no longer in the prompt; ignored: it was; incapable: the model fails it right after "
    "being told as well; unattributed: what was sent does not say. Shares are of decided checks, all turns."
)


def draw(panels: Sequence[tuple[str, Sequence[Group]]], heading: style.Heading) -> Figure:
    """A stacked bar per strategy in each panel (title, groups)."""
    from matplotlib.patches import Patch

    most = max(len(groups) for _, groups in panels)
    figure, rooms = style.grid(heading, len(panels), extra_height=0.3 * most - 1.9, legend=0.28)
    used: set[str] = set()
    style.panel_titles(rooms, [(title, []) for title, _ in panels])
    for room, (_, groups) in zip(rooms, panels, strict=True):
        room.set_xlim(0, 1)
        if any(group.simulated for group in groups):
            style.watermark(room)
        room.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        room.set_yticks(range(len(groups)), [words.one_line(group.strategy, 28) for group in groups])
        room.set_ylim(len(groups) - 0.5, -0.6)
        for row, group in enumerate(groups):
            used |= _bar(room, row, group)
    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white" if hatch else "#999999", label=name)
        for name, (colour, hatch) in CAUSES.items()
        if name in used
    ]
    top = style.heading_height(heading, figure.get_figwidth()) / figure.get_figheight()
    figure.legend(
        handles=handles, loc="upper left", ncols=len(handles), frameon=False, fontsize=8, borderaxespad=0, borderpad=0,
        bbox_to_anchor=(style.MARGIN / figure.get_figwidth(), 1 - top),
    )  # fmt: skip
    return figure


def claim(groups: Sequence[Group]) -> str:
    """Why checks mostly failed under which strategy, where failures have one main cause each."""
    mostly: dict[str, list[str]] = {}
    for group in groups:
        causes = {name: n for name, n in group.causes.items() if name != "fails" and n}
        if causes:
            mostly.setdefault(max(causes, key=lambda name: causes[name]), []).append(words.one_line(group.strategy, 40))
    if not mostly:
        return "No check failed"
    parts = []
    for cause, names in mostly.items():
        shown = " and ".join(names) if len(names) <= 2 else f"{len(names)} of {len(groups)} strategies"
        parts.append(f"mostly {cause} under {shown}" if len(groups) > 1 else f"mostly {cause}")
    return f"Failed checks were {', '.join(parts)}"


def _bar(room: Axes, row: int, group: Group) -> set[str]:
    """One strategy's checks as a stacked bar, with the counts beside it; returns the causes it shows."""
    decided = group.compliance["overall"]
    counts = {"passed": decided.passes} | {name: n for name, n in group.causes.items() if name != "fails"}
    counts = {name: n for name, n in counts.items() if n}
    start = 0.0
    for name, n in counts.items():
        colour, hatch = CAUSES[name]
        width = n / decided.n
        room.barh(row, width, left=start, height=0.62, color=colour, hatch=hatch, edgecolor="white", linewidth=0.8)
        start += width
    text = ", ".join(f"{name} {n}" for name, n in counts.items()) or "nothing decided"
    if group.undecided:
        text += f"; undecided: {words.counts_text(group.undecided)}"
    room.text(1.02, row, text, transform=room.get_yaxis_transform(), va="center", fontsize=8)
    return set(counts)
