"""The plots of a run as its report shows them: compliance by turn and by occupancy, session length, causes.

One panel per scenario and model, one series per strategy. `contextrot plot` draws the same kinds of picture of a choice
of series (`render_one`). Figures are made without pyplot, so that nothing global is touched and any thread may draw.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from contextrot.analysis.figures import Group, Summary
from contextrot.analysis.series import Curve, SurvivalCurve, compliance_of, survival_of
from contextrot.bench.store import RunDirectory
from contextrot.errors import StoreError
from contextrot.report import plot_style as style
from contextrot.report import plots_causes, plots_compliance, plots_survival, words
from contextrot.report.plot_claims import compliance_claim, compliance_claims
from contextrot.report.plot_lengths import length_claim, length_claims
from contextrot.report.plot_panels import MOST_PANELS, Panel, Source, arrange
from contextrot.report.plot_subtitle import how, measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

C = TypeVar("C", Curve, SurvivalCurve)
TITLES = {
    "by-turn": "Compliance by turn",
    "by-occupancy": "Compliance by occupancy of the window",
    "survival": "Sessions without a failure",
    "causes": "Why checks failed",
}


def render(summary: Summary, kinds: Sequence[str] = ("svg", "png")) -> dict[str, bytes]:
    """Every plot that has something to show, as file name → content (`by-turn.svg`, `by-turn.png`, …)."""
    import matplotlib

    with matplotlib.rc_context(style.RC):
        figures = draw(summary)
        return {f"{name}.{kind}": _saved(fig, kind, TITLES[name]) for name, fig in figures.items() for kind in kinds}


def render_one(panels: Sequence[Panel[Curve]] | Sequence[Panel[SurvivalCurve]], x: str, kind: str) -> bytes:
    """One picture of chosen series, as `svg`, `png` or `pdf`. `x` is of compliance; survival is over turns."""
    import matplotlib

    with matplotlib.rc_context(style.RC):
        figure = draw_one(panels, x)
        return _saved(figure, kind, figure.texts[0].get_text().replace("\n", " "))


def save(path: Path, content: bytes) -> None:
    """Write a picture, its folder as well where that is missing. Raises `StoreError` when that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {path.parent}: {error.strerror or error}") from None
    RunDirectory(path.parent).write(path.name, content)


def draw(summary: Summary) -> dict[str, Figure]:
    """The figures of a report by name; those without a decided check are left out."""
    drawings: dict[str, Callable[[Summary], Figure | None]] = {
        "by-turn": lambda summary: _curves(summary, "turn"),
        "by-occupancy": lambda summary: _curves(summary, "occupancy"),
        "survival": _survival,
        "causes": _causes,
    }
    figures = {name: drawing(summary) for name, drawing in drawings.items()}
    return {name: figure for name, figure in figures.items() if figure is not None}


def draw_one(panels: Sequence[Panel[Curve]] | Sequence[Panel[SurvivalCurve]], x: str) -> Figure:
    """The figure of `render_one`; of many panels the first."""
    more = f" Of {len(panels)} panels the first {MOST_PANELS} are drawn." if len(panels) > MOST_PANELS else ""
    if isinstance(panels[0].lines[0].curve, SurvivalCurve):
        return _draw_survival(panels[:MOST_PANELS], more)  # type: ignore[arg-type]
    return _draw_compliance(panels[:MOST_PANELS], x, more)  # type: ignore[arg-type]


def _draw_compliance(panels: Sequence[Panel[Curve]], x: str, more: str = "") -> Figure:
    place = plots_compliance.PLACES[x]
    title = compliance_claim(panels[0].lines, place) if len(panels) == 1 else compliance_claims(panels)
    return plots_compliance.draw(panels, x, _heading(title, panels, plots_compliance.caption(panels) + more))


def _draw_survival(panels: Sequence[Panel[SurvivalCurve]], more: str = "") -> Figure:
    title = length_claim(panels[0].lines) if len(panels) == 1 else length_claims(panels)
    return plots_survival.draw(panels, _heading(title, panels, plots_survival.caption(panels) + more))


def _saved(figure: Figure, kind: str, title: str) -> bytes:
    buffer = io.BytesIO()
    metadata: dict[str, str | None] = {"Title": title}
    # Without a date of its own, the same run gives the same file.
    metadata |= {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # an exotic label is no reason for noise
        figure.savefig(buffer, format=kind, dpi=144, metadata=metadata)
    return buffer.getvalue()


def _sources(summary: Summary, curves: Sequence[C]) -> list[Source[C]]:
    """The series of a report: those of the scenarios and models that have a panel; pools have none."""
    cells = list(dict.fromkeys((group.scenario, group.model) for group in summary.groups))[:MOST_PANELS]
    date = (summary.origin.started or "")[:10]
    return [Source(summary.run, date, curve) for curve in curves if (curve.scenario, curve.model) in cells]


def _curves(summary: Summary, x: Literal["turn", "occupancy"]) -> Figure | None:
    panels = arrange(_sources(summary, compliance_of(summary, x)))
    return _draw_compliance(panels, x) if panels else None


def _survival(summary: Summary) -> Figure | None:
    panels = arrange(_sources(summary, survival_of(summary)))
    return _draw_survival(panels) if panels else None


def _causes(summary: Summary) -> Figure | None:
    cells: dict[tuple[str | None, str], list[Group]] = {}
    for group in summary.groups:
        if group.compliance["overall"].n:
            cells.setdefault((group.scenario, group.model), []).append(group)
    shown = dict(list(cells.items())[:MOST_PANELS])
    if not shown:
        return None
    several = len({model for _, model in shown}) > 1
    panels = [(_cell_title(*cell, several), groups) for cell, groups in shown.items()]
    title = plots_causes.claim(panels[0][1]) if len(panels) == 1 else TITLES["causes"]
    groups = [group for groups in shown.values() for group in groups]
    date = (summary.origin.started or "")[:10]
    said = how(groups, sum(group.sessions for group in groups), [date])
    return plots_causes.draw(panels, style.Heading(title, said, plots_causes.CAPTION))


def _cell_title(scenario: str | None, model: str, several: bool) -> str:
    return words.one_line(scenario, 60) + (f" · {words.one_line(model, 30)}" if several else "")


def _heading(title: str, panels: Sequence[Panel[C]], caption: str) -> style.Heading:
    sources = [line.source for panel in panels for line in panel.lines]
    return style.Heading(title, measured(sources), caption)
