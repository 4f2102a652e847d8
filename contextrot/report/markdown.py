"""`report.md`: what was found first, then the figures, the pictures, the controls and how it was run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from contextrot.analysis.figures import Band, Family, Group, Summary
from contextrot.analysis.levels import LEVELS
from contextrot.analysis.rates import Point
from contextrot.report import words
from contextrot.report.findings import control_warnings, findings, needs_example
from contextrot.report.plot_panels import MOST_PANELS
from contextrot.report.states import state_sentences
from contextrot.report.terminal_blocks import by_cell

#: so many turns a line of rates by turn holds at most
MOST_TURNS = 12
#: what Markdown or the HTML inside it would read as more than text
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#])")


def render(summary: Summary, plots: Sequence[tuple[str, str]] = ()) -> str:
    """The report as Markdown. `plots`: title and relative path of each picture."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("contextrot.report"),
        autoescape=False,  # Markdown, not HTML: user text goes through the filters below
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {"text": text, "code": code, "line": words.one_line, "turns": _turns}
    cells = _cells(summary)
    return environment.get_template("report.md.j2").render(
        s=summary,
        simulated=words.SIMULATED,
        cells=cells,
        groups=by_cell(summary),
        several_models=len({group.model for group in summary.groups}) > 1,
        scenarios=len({group.scenario for group in summary.groups}),
        warnings=control_warnings(summary),
        plots=list(plots),
        most_panels=MOST_PANELS,
        how=_how(summary),
        definitions=words.DEFINITIONS,
        rate=words.rate_text,
        causes=words.causes_text,
        note=words.note_text,
        tokens=words.tokens_text,
        cost=words.cost_text,
        percent=words.percent,
        counts=words.counts_text,
        check_error=words.check_error_text,
        turn_counts=_turn_counts,
        length=words.length_text,
        rot=words.rot_text,
        share=words.share_text,
        change=words.change_text,
        reached=words.reached_text,
        trend=words.trend_text,
        threshold=words.threshold_text,
        effective=words.effective_text,
        incidence=words.incidence_text,
        by_position=_by_position,
        needs_example=needs_example,
        bands=_bands,
        nothing={(c.scenario, c.model, c.id) for c in summary.controls if c.tests_nothing},
        mixed=any(group.length.mixed_horizons for group in summary.pooled),
        levels=LEVELS,
        states=state_sentences(summary),
        in_grids={cell.scenario for family in summary.families for cell in family.cells},
        p_value=_p_value,
    )


def text(value: object) -> str:
    """User text inside Markdown: one line, control characters visible, nothing in it with a meaning of its own."""
    return _SPECIAL.sub(r"\\\1", words.one_line(value, 300))


def code(value: object) -> str:
    """User text as a code span that also stands in a table cell."""
    inner = words.one_line(value, 300).replace("|", "\\|")
    longest = max(map(len, re.findall(r"`+", inner)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{inner}{space}{fence}"


def _cells(summary: Summary) -> list[dict[str, Any]]:
    cells: dict[tuple[str | None, str], list[Group]] = {}
    for group in summary.groups:
        cells.setdefault((group.scenario, group.model), []).append(group)
    return [{"groups": groups, "findings": findings(groups)} for groups in cells.values()]


def _how(summary: Summary) -> list[str]:
    """How the run was made, a line of Markdown each."""
    origin, lines = summary.origin, [words.totals_text(summary)]
    if origin.started:
        until = f" to {text(origin.finished)}" if origin.finished else ""
        lines.append(f"from {text(origin.started)}{until} (UTC)")
    for label, asked in origin.models.items():
        answered = ", ".join(map(code, origin.models_returned.get(label, ())))
        lines.append(
            f"model {code(label)}: asked for {code(asked)}" + (f", answered as {answered}" if answered else "")
        )
    windows = dict.fromkeys(f"{code(group.model)}: {words.window_text(group)}" for group in summary.groups)
    lines += windows
    if summary.virtual_window:
        lines.append("a virtual window is smaller than the model's own, so that a session fills it within its turns")
    arms = sorted({arm for group in summary.groups for arm in group.history})
    if arms:
        lines.append(f"assistant turns: {', '.join(map(text, arms))}")
    if "gold" in arms:
        lines.append("gold turns are canned and compliant, so they demonstrate the rule as well")
    if origin.seed is not None:
        lines.append(f"seed {origin.seed}" + (f", repeats {origin.repeats}" if origin.repeats else ""))
    made = [f"{text(name)} {text(number)}" for name, number in origin.versions.items()]
    if origin.git_commit:
        made.append(f"commit {text(origin.git_commit)}")
    return [*lines, ", ".join(made)] if made else lines


def _turns(number: float | None) -> str:
    return "–" if number is None else f"{number:.1f}".removesuffix(".0")


def _by_position(points: Sequence[Point]) -> str:
    """``0: 100 %, 5: 88 % …``: a rate at each turn, thinned out where there are many."""
    step = -(-len(points) // MOST_TURNS)
    return ", ".join(f"{point.label}: {words.percent(point.rate)}" for point in points[::step]) if points else "–"


def _bands(family: Family) -> list[dict[str, Any]]:
    """The two-way table of each model and strategy: bands of occupancy as columns, a row for each band of turns."""
    tables = []
    for model, strategy in dict.fromkeys((band.model, band.strategy) for band in family.bands):
        mine = [band for band in family.bands if (band.model, band.strategy) == (model, strategy)]
        columns = sorted({band.occupancy for band in mine}, key=lambda label: int(label.partition("–")[0]))
        rows: dict[str, dict[str, Band]] = {}
        for band in mine:
            rows.setdefault(band.turns, {})[band.occupancy] = band
        tables.append({"model": model, "strategy": strategy, "columns": columns, "rows": rows})
    return tables


def _turn_counts(turns: dict[str, int]) -> str:
    return ", ".join(f"{turn}: {n}" for turn, n in turns.items()) or "–"


def _p_value(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
