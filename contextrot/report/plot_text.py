"""The series of a picture on the terminal: a row each, its figures at the places of the axis, and its shape.

A table and not a canvas of dots: on a terminal without colours the lines of a canvas cannot be told apart, and the
figures are what one wants to read off. Between 80 and 200 columns there are more places, not other ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from contextrot.analysis.rates import Point
from contextrot.analysis.series import Curve, SurvivalCurve
from contextrot.report import words
from contextrot.report.layout import READABLE, new_table
from contextrot.report.palette import BAD, GOOD, QUIET, SENT, SIMULATED, WARN
from contextrot.report.plot_axes import short
from contextrot.report.plot_claims import compliance_claim
from contextrot.report.plot_lengths import length_claim
from contextrot.report.plot_panels import KINDS, Panel, Source
from contextrot.report.plot_subtitle import measured
from contextrot.report.plots_compliance import PLACES, X_LABELS
from contextrot.report.plots_survival import count_at

C = TypeVar("C", Curve, SurvivalCurve)
BLOCKS = "▁▂▃▄▅▆▇█"
#: letters of the widest name, and of a column with the shape of a line
NAME, SHAPE = 28, 24
#: from this many columns on a figure has its interval beside it
ROOMY = 140


def opening(sources: Sequence[Source[Curve]] | Sequence[Source[SurvivalCurve]]) -> Text:
    """What was measured, and a warning where it was simulated."""
    said = (measured(sources), QUIET)
    if any(source.curve.simulated for source in sources):
        return Text.assemble((words.SIMULATED, SIMULATED), "\n", said)
    return Text.assemble(said)


def compliance_text(
    panels: Sequence[Panel[Curve]], x: str, *, width: int, blocks: bool = True
) -> Iterable[RenderableType]:
    """Per panel a table of per cent passed, with what it says. `blocks`: can the terminal show block characters?"""
    for panel in panels:
        places = _places(panel)
        yield from _opening(panel.title, compliance_claim(panel.lines, PLACES[x]))
        kinds = sorted({KINDS[line.curve.kind] for line in panel.lines})
        bins = "" if x == "turn" else " in bins"
        yield Text(f"% of decided checks passed, by {X_LABELS[x]}{bins}; {', '.join(kinds)}", style=QUIET)
        rates = {line.name: {p.x: p for p in line.curve.points if p.n} for line in panel.lines}
        shapes = {name: [known[x].rate if x in known else None for x in places] for name, known in rates.items()}
        extra = {line.name: f"{line.curve.n:,}" for line in panel.lines}
        roomy = width >= ROOMY and len(places) <= 8
        cells = {name: {x: _rate(point, roomy) for x, point in known.items()} for name, known in rates.items()}
        yield _table(panel, places, cells, extra, "n", width, shapes if blocks else None)
        controls = _controls(panel)
        if controls:
            yield Text(controls, style=QUIET)


def survival_text(
    panels: Sequence[Panel[SurvivalCurve]], *, width: int, blocks: bool = True
) -> Iterable[RenderableType]:
    """Per panel the share of sessions still well after each turn, the median, and how many were at risk."""
    for panel in panels:
        asked = {turn for line in panel.lines for turn in line.curve.asked}
        turns = sorted(asked | {step.turn for line in panel.lines for step in line.curve.steps})
        places = {turn: f"{turn:g}" for turn in turns}
        yield from _opening(panel.title, length_claim(panel.lines))
        yield Text("% of sessions still well after a turn (Kaplan–Meier)", style=QUIET)
        shares = {line.name: {turn: _share_at(line.curve, turn) for turn in turns} for line in panel.lines}
        cells = {
            name: {turn: _coloured(share) for turn, share in known.items() if share is not None}
            for name, known in shares.items()
        }
        medians = {line.name: _median(line.curve) for line in panel.lines}
        shapes = {name: list(known.values()) for name, known in shares.items()}
        yield _table(panel, places, cells, medians, "median", width, shapes if blocks else None)
        yield Text("sessions at risk before a turn", style=QUIET)
        risk = {
            line.name: {turn: Text(str(count_at(line.curve, "at risk", turn))) for turn in turns}
            for line in panel.lines
        }
        ends = {line.name: words.counts_text({k: n for k, n in line.curve.events.items() if n}) for line in panel.lines}
        yield _table(panel, places, risk, ends, "ended by", width, None)


def _opening(title: str, claim: str) -> Iterable[RenderableType]:
    yield Text()
    if title:
        yield Text(words.clean(title), style="bold")
    yield Text(words.clean(claim))


def _places(panel: Panel[Curve]) -> dict[float, str]:
    """Places on the axis with their labels, those at which something was decided."""
    found = {point.x: point.label for line in panel.lines for point in line.curve.points if point.n}
    return dict(sorted(found.items()))


def _table(
    panel: Panel[C],
    places: Mapping[float, str],
    cells: Mapping[str, Mapping[float, Text]],
    extra: Mapping[str, str],
    extra_name: str,
    width: int,
    shapes: Mapping[str, Sequence[float | None]] | None,
) -> Table:
    """One row a line, of the places as many as have room: the first, the last, and evenly those between."""
    names = {line.name: short(line.name, NAME) for line in panel.lines}
    figures = [text.cell_len for row in cells.values() for text in row.values()]
    wide = max([len(label) for label in places.values()] + figures)
    narrow = width < READABLE
    gap = 2 if narrow else 3  # between columns: the table's padding and the place of its rule
    shaped = shapes is not None and len(places) > 2
    taken = max(map(len, names.values())) + max(map(len, (*extra.values(), extra_name))) + gap
    taken += min(SHAPE, len(places)) + gap if shaped else 0
    shown = _thinned(list(places), max(2, (width - taken) // (wide + gap)))
    table = new_table(narrow=narrow)
    table.add_column("", no_wrap=True)
    if shaped:
        table.add_column("", no_wrap=True)
    for place in shown:
        table.add_column(places[place], justify="right", no_wrap=True)
    table.add_column(extra_name, justify="right", no_wrap=True)
    for line in panel.lines:
        row = [Text(names[line.name])]
        if shaped and shapes is not None:
            row.append(Text(_shape(shapes[line.name]), style=SENT))
        row += [cells[line.name].get(place, Text("–", style=QUIET)) for place in shown]
        table.add_row(*row, Text(extra[line.name], style=QUIET))
    return table


def _thinned(places: Sequence[float], most: int) -> list[float]:
    """At most so many of the places, the first and the last among them."""
    if len(places) <= most:
        return list(places)
    step = -(-(len(places) - 1) // (most - 1))
    kept = list(places[::step])
    return kept if kept[-1] == places[-1] else [*kept[: most - 1], places[-1]]


def _shape(shares: Sequence[float | None]) -> str:
    """A line of blocks, a gap as a space; of many places every so-manyth."""
    step = -(-len(shares) // SHAPE)
    return "".join(" " if share is None else BLOCKS[min(7, int(share * 8))] for share in shares[::step])


def _rate(point: Point, roomy: bool) -> Text:
    text = _coloured(point.rate or 0.0)
    if roomy and point.low is not None and point.high is not None:
        text.append(f" ({100 * point.low:.0f}–{100 * point.high:.0f})", style=QUIET)
    return text


def _coloured(share: float) -> Text:
    """A share as whole per cent without its sign, in the colour of how much it is."""
    style = GOOD if share >= 0.85 else WARN if share >= 0.5 else BAD
    return Text(words.percent(share).removesuffix(" %").replace(" ", ""), style=style)


def _share_at(curve: SurvivalCurve, turn: float) -> float | None:
    """Share still well after a turn; None beyond the last turn at which anyone was seen well."""
    last = curve.steps[-1]
    if turn > last.turn and last.survival:
        return None
    return next((step.survival for step in reversed(curve.steps) if step.turn <= turn), 1.0)


def _median(curve: SurvivalCurve) -> str:
    if curve.median is None:
        return f"> {curve.horizon or 0:g}"
    known = curve.low is not None and curve.high is not None
    return f"{curve.median:g}" + (f" ({curve.low:g}–{curve.high:g})" if known else "")


def _controls(panel: Panel[Curve]) -> str:
    """Ceiling and floor where all lines have the same."""
    found = {(c.ceiling, c.ceiling_n, c.floor, c.floor_n) for c in (line.curve for line in panel.lines)}
    if len(found) != 1:
        return ""
    ceiling, ceiling_n, floor, floor_n = found.pop()
    known = [("ceiling", ceiling, ceiling_n), ("floor", floor, floor_n)]
    return ", ".join(f"{name} {words.percent(rate)} (n {n})" for name, rate, n in known if rate is not None)
