"""The plots of a run: compliance by turn and by occupancy, session length, and why checks failed; SVG and PNG.

One panel per scenario and model, one series per strategy. A bin in which nothing was decided is a gap in the line.
Figures are made without pyplot, so that nothing global is touched and any thread may draw.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from contextrot.analysis.figures import Group, Summary
from contextrot.analysis.levels import THRESHOLDS
from contextrot.analysis.rates import Point
from contextrot.report import plot_style as style
from contextrot.report import words
from contextrot.report.markdown import MOST_PANELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: greys and hatches of the cause split, from passed to unattributed
_CAUSES = {
    "passed": ("#E8E8E8", ""),
    "lost": ("#0072B2", "////"),
    "ignored": ("#E69F00", ".."),
    "incapable": ("#7A7A7A", "xx"),
    "unattributed": ("#CC79A7", "--"),
}
TITLES = {
    "by-turn": "Compliance by turn",
    "by-occupancy": "Compliance by occupancy of the window",
    "survival": "Sessions without a failure",
    "causes": "Why checks failed",
}


def render(summary: Summary, kinds: Sequence[str] = ("svg", "png")) -> dict[str, bytes]:
    """Every plot that has something to show, as file name → content (`by-turn.svg`, `by-turn.png`, …)."""
    import matplotlib

    files: dict[str, bytes] = {}
    with matplotlib.rc_context(style.RC), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # an exotic label is no reason for noise
        for name, figure in draw(summary).items():
            for kind in kinds:
                buffer = io.BytesIO()
                metadata = {"Date": None, "Title": TITLES[name]} if kind == "svg" else {"Title": TITLES[name]}
                figure.savefig(buffer, format=kind, dpi=144, metadata=metadata)
                files[f"{name}.{kind}"] = buffer.getvalue()
    return files


def draw(summary: Summary) -> dict[str, Figure]:
    """The figures by name; those without a decided check are left out."""
    drawings: dict[str, Callable[[Summary], Figure | None]] = {
        "by-turn": _by_turn,
        "by-occupancy": _by_occupancy,
        "survival": _survival,
        "causes": _causes,
    }
    figures = {name: drawing(summary) for name, drawing in drawings.items()}
    return {name: figure for name, figure in figures.items() if figure is not None}


def _panels(summary: Summary) -> list[list[Group]]:
    cells: dict[tuple[str | None, str], list[Group]] = {}
    for group in summary.groups:
        cells.setdefault((group.scenario, group.model), []).append(group)
    return list(cells.values())[:MOST_PANELS]


def _names(summary: Summary) -> list[str]:
    return list(dict.fromkeys(group.strategy for group in summary.groups))


def _by_turn(summary: Summary) -> Figure | None:
    return _curves(summary, "by-turn", lambda group, kind: group.by_turn.get(kind, []), "turn")


def _by_occupancy(summary: Summary) -> Figure | None:
    estimated = any(group.occupancy_estimated for group in summary.groups)
    label = "tokens of the prompt ÷ window" + (" (partly estimated)" if estimated else "")
    return _curves(summary, "by-occupancy", lambda group, kind: group.by_occupancy.get(kind, []), label)


def _curves(
    summary: Summary, name: str, points: Callable[[Group, str], Sequence[Point]], x_label: str
) -> Figure | None:
    panels = [
        (groups, kind)
        for groups in _panels(summary)
        for kind in ("probe", "passive")
        if any(point.n for group in groups for point in points(group, kind))
    ]
    if not panels:
        return None
    names = _names(summary)
    drawn = style.styles(names)
    crowded = max(len(groups) for groups, _ in panels) > style.LABELLED
    figure, axes = style.grid(summary, TITLES[name], len(panels))
    for panel, (groups, kind) in zip(axes, panels, strict=True):
        style.per_cent_axis(panel, "checks passed")
        xs = sorted({point.x for group in groups for point in points(group, kind)})
        if name == "by-occupancy":
            _share_axis(panel, [point.x for group in groups for point in points(group, kind) if point.n])
            _thresholds(panel)
            panel.set_xlabel(x_label)
        else:
            style.whole_turns(panel, max(xs[-1], 1.0), xs)
        ends = _references(panel, summary, groups[0], kind)
        shown = []
        for group in groups:
            known = {point.x: point for point in points(group, kind) if point.n}
            if not known:
                continue
            shown += [point.n for point in known.values()]
            rates = [math.nan if x not in known else known[x].rate or 0.0 for x in xs]
            look = drawn[group.strategy]
            panel.plot(xs, rates, marker=look.marker, markersize=5, markerfacecolor="white", zorder=3, **look.line())
            if not crowded:
                low = [known[x].low if x in known else None for x in xs]
                high = [known[x].high if x in known else None for x in xs]
                _band(panel, xs, low, high, look.colour)
            last = known[max(known)]
            decided = [point.n for point in known.values()]
            n = f"{min(decided)}" if min(decided) == max(decided) else f"{min(decided)}–{max(decided)}"
            text = f"{words.one_line(group.strategy, 28)} (n {n})"
            ends.append(style.End(last.x, last.rate or 0.0, text, look))
        kinds = {"probe": "probes", "passive": "standing rules on live replies"}
        counts = f"{min(shown)}" if min(shown) == max(shown) else f"{min(shown)}–{max(shown)}"
        style.panel_title(panel, groups, summary, kinds[kind], f"decided checks per point: {counts}")
        style.label_ends(panel, [end for end in ends if end.look is None] if crowded else ends)
    if crowded:
        style.legend_below(figure, names, drawn)
    return figure


def _share_axis(panel: Axes, used: Sequence[float]) -> None:
    right = max(1.0, max(used) + 0.05)
    panel.set_xlim(0, right * 1.01)
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    panel.set_xticks(ticks, [f"{100 * tick:.0f} %" for tick in ticks])


def _thresholds(panel: Axes) -> None:
    """Where the budget monitor warns and rotates, as light lines."""
    for level, share in THRESHOLDS.items():
        panel.axvline(share, color="#C8C8C8", linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        panel.text(
            share + 0.006, 0.0, level, color=style.GREY, fontsize=7, rotation=90, ha="left", va="bottom", zorder=0
        )


def _references(panel: Axes, summary: Summary, group: Group, kind: str) -> list[style.End]:
    """Draw ceiling and floor as dotted lines; return their labels for the right margin."""
    ends = []
    for line in summary.references:
        if (line.scenario, line.model, line.kind) != (group.scenario, group.model, kind):
            continue
        for name, rate, n in (("ceiling", line.ceiling, line.ceiling_n), ("floor", line.floor, line.floor_n)):
            if rate is not None:
                panel.axhline(rate, color=style.GREY, linewidth=0.9, linestyle=(0, (1, 3)), zorder=2)
                text = f"{name} {words.percent(rate)} (n {n})"
                ends.append(style.End(panel.get_xlim()[1], rate, text, None))
    return ends


def _band(
    panel: Axes, xs: Sequence[float], low: Sequence[float | None], high: Sequence[float | None], colour: str
) -> None:
    import numpy as np

    panel.fill_between(
        xs,
        np.array(low, dtype=float),
        np.array(high, dtype=float),
        color=colour,
        alpha=0.1,
        linewidth=0,
        zorder=1,
    )


def _survival(summary: Summary) -> Figure | None:
    panels = [groups for groups in _panels(summary) if any(group.length.n for group in groups)]
    if not panels:
        return None
    names = _names(summary)
    drawn = style.styles(names)
    most = max(len(groups) for groups in panels)
    crowded = most > style.LABELLED
    figure, axes = style.grid(summary, TITLES["survival"], len(panels), extra_height=0.35 + 0.15 * most)
    for panel, groups in zip(axes, panels, strict=True):
        style.per_cent_axis(panel, "sessions still well")
        end = max([float(group.turns_planned or 0) for group in groups] + [_last(group) for group in groups] + [1.0])
        style.whole_turns(panel, end, _asked_turns(groups))
        panel.axhline(0.5, color=style.GREY, linewidth=0.8, linestyle=(0, (1, 3)))
        style.panel_title(panel, groups, summary)
        ends = []
        for group in groups:
            if not group.length.n:
                continue
            look = drawn[group.strategy]
            x, y = _stairs(panel, group, look, band=not crowded)
            median = "> " + f"{group.length.horizon:g}" if group.length.median is None else f"{group.length.median:g}"
            text = f"{words.one_line(group.strategy, 28)}, median {median}"
            ends.append(style.End(x, y, text, replace(look, marker="")))
        if not crowded:
            style.label_ends(panel, ends)
        _at_risk(panel, groups, drawn)
    if crowded:
        style.legend_below(figure, names, {name: replace(look, marker="") for name, look in drawn.items()})
    return figure


def _asked_turns(groups: Sequence[Group]) -> list[float]:
    """Turns at which probes were asked; without probes, those at which standing rules were checked."""
    kinds = [[point.x for group in groups for point in group.by_turn.get(kind, ())] for kind in ("probe", "passive")]
    return sorted(set(kinds[0] or kinds[1]))


def _last(group: Group) -> float:
    return max((row["time"] for row in group.length.steps), default=0.0)


def _stairs(panel: Axes, group: Group, look: style.Style, *, band: bool) -> tuple[float, float]:
    """The survival curve from turn 0 on, with a tick where sessions were censored; returns its last point."""
    steps = group.length.steps
    times = [0.0] + [row["time"] for row in steps]
    share = [1.0] + [row["survival"] for row in steps]
    panel.plot(times, share, drawstyle="steps-post", zorder=3, **look.line())
    if band:
        low, high = [1.0] + [row["low"] for row in steps], [1.0] + [row["high"] for row in steps]
        panel.fill_between(times, low, high, step="post", color=look.colour, alpha=0.1, linewidth=0, zorder=1)
    cut = [row for row in steps if row["censored"]]
    panel.plot(
        [row["time"] for row in cut], [row["survival"] for row in cut], linestyle="none", marker="|", markersize=9,
        markeredgewidth=1.4, color=look.colour, zorder=4,
    )  # fmt: skip
    return times[-1], share[-1]


def _at_risk(panel: Axes, groups: Sequence[Group], drawn: dict[str, style.Style]) -> None:
    """Below the axis, how many sessions were still observed at each tick: what the curve rests on."""
    ticks = [tick for tick in panel.get_xticks() if 0 <= tick <= panel.get_xlim()[1]]
    offset = -38.0  # points below the axis, under its label
    where = panel.get_xaxis_transform()
    panel.annotate(
        "sessions at risk", (0, 0), xytext=(0, offset), xycoords=("axes fraction", "axes fraction"),
        textcoords="offset points", fontsize=7.5, color=style.GREY, ha="left", va="center",
    )  # fmt: skip
    for row, group in enumerate(groups, 1):
        look = drawn[group.strategy]
        down = offset - 10.5 * row
        for tick in ticks:
            panel.annotate(
                str(_risk(group, tick)), (tick, 0), xytext=(0, down), xycoords=where, textcoords="offset points",
                fontsize=7.5, color=look.colour, ha="center", va="center",
            )  # fmt: skip
        panel.annotate(
            words.one_line(group.strategy, 24), (0, 0), xytext=(-10, down), xycoords="axes fraction",
            textcoords="offset points", fontsize=7.5, color=look.colour, ha="right", va="center",
        )  # fmt: skip


def _risk(group: Group, turn: float) -> int:
    """Sessions at risk at a turn, looked up in the survival table."""
    return int(next((row["at_risk"] for row in group.length.steps if row["time"] >= turn), 0))


def _causes(summary: Summary) -> Figure | None:
    panels = [groups for groups in _panels(summary) if any(group.compliance["overall"].n for group in groups)]
    if not panels:
        return None
    from matplotlib.patches import Patch

    most = max(len(groups) for groups in panels)
    figure, axes = style.grid(summary, TITLES["causes"], len(panels), extra_height=0.3 * most - 1.9)
    used: set[str] = set()
    for panel, groups in zip(axes, panels, strict=True):
        style.panel_title(panel, groups, summary)
        panel.set_xlim(0, 1)
        panel.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        panel.set_xlabel("share of decided checks, all turns")
        panel.set_yticks(range(len(groups)), [words.one_line(group.strategy, 28) for group in groups])
        panel.set_ylim(len(groups) - 0.5, -0.6)
        for row, group in enumerate(groups):
            used |= _bar(panel, row, group)
    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white" if hatch else "#999999", label=name)
        for name, (colour, hatch) in _CAUSES.items()
        if name in used
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8)
    return figure


def _bar(panel: Axes, row: int, group: Group) -> set[str]:
    """One strategy's checks as a stacked bar, with the counts beside it; returns the causes it shows."""
    decided = group.compliance["overall"]
    counts = {"passed": decided.passes} | {name: n for name, n in group.causes.items() if name != "fails"}
    counts = {name: n for name, n in counts.items() if n}
    start = 0.0
    for name, n in counts.items():
        colour, hatch = _CAUSES[name]
        width = n / decided.n
        panel.barh(row, width, left=start, height=0.62, color=colour, hatch=hatch, edgecolor="white", linewidth=0.8)
        start += width
    text = ", ".join(f"{name} {n}" for name, n in counts.items()) or "nothing decided"
    if group.undecided:
        text += f"; undecided: {words.counts_text(group.undecided)}"
    panel.text(1.02, row, text, transform=panel.get_yaxis_transform(), va="center", fontsize=8)
    return set(counts)
