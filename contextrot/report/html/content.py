"""What the templates of the page are given: the figures of the summary, arranged, and words for them. No arithmetic."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from contextrot.analysis.comparison import Row
from contextrot.analysis.figures import Group, Summary
from contextrot.analysis.levels import LEVELS
from contextrot.report import words
from contextrot.report.comparison import change_text as effect_text
from contextrot.report.comparison import sentences, tier_text
from contextrot.report.findings import alerts, control_warnings, needs_example, next_step
from contextrot.report.gating import kept, out_of_date
from contextrot.report.html.answers import answers
from contextrot.report.html.reading import READING
from contextrot.report.html.vendored import FOLDER, Vendored, listed
from contextrot.report.html.verdict import is_silent, scenes, side_by_side, together
from contextrot.report.states import state_sentences
from contextrot.report.terminal_blocks import by_cell

if TYPE_CHECKING:
    from markupsafe import Markup

    from contextrot.analysis.tables import Run

#: rows of one scenario that the verdict holds (the table of strategies has all), and sentences that it shows at once
MOST_RANKED = 8
MOST_FOUND = 5
#: tables of more rows than this scroll inside the page
MOST_ROWS = 16
#: on the bars, so that no cause is told by its colour alone
LETTERS = {"lost": "L", "ignored": "I", "incapable": "X", "unattributed": "?"}
#: where a bracket may be broken over lines
_BREAKS = re.compile(r"(?<=[,;]) ")
#: a name of so many characters is not broken over lines
SHORT = 32
#: nor is a part of a bracket of so many
SHORT_PART = 22
#: what was set off in backticks by `words.quoted`
_CODE = re.compile(r"`([^`]+)`")


def context(run: Run) -> dict[str, Any]:
    """All that the templates read but for the inlined files, the data of the charts and the sessions."""
    summary = run.summary
    comparison = side_by_side(run)
    rows = [*comparison.rows, *comparison.pooled] if comparison else []
    return {
        "s": summary,
        "run_path": words.clean(shlex.quote(str(run.path))),
        "scenes": scenes(summary),
        "several": _several(summary),
        "mixed": any(group.length.mixed_horizons for group in summary.pooled),
        "comparison": comparison,
        "compared": {(row.scenario, row.model, row.strategy): row for row in rows},
        "comparison_notes": list(sentences(comparison)) if comparison else [],
        "gates": kept(run),
        "gates_out_of_date": out_of_date(run),
        "warnings": [*alerts(summary.groups), *control_warnings(summary)],
        "states": state_sentences(summary),
        "next_step": next_step(summary, run.path),
        "levels": LEVELS,
        "letters": LETTERS,
        "answers": answers(summary, comparison),
        "together": together(summary),
        "places": _places(summary),
        "asked_otherwise": lambda label: summary.origin.models.get(label, label) != label,
        "windows": named(list(dict.fromkeys(map(_window, summary.groups)))),
        "arms": sorted({arm for group in summary.groups for arm in group.history}),
        "nothing": {(c.scenario, c.model, c.id) for c in summary.controls if c.tests_nothing},
        "groups": by_cell(summary),
        "named": named,
        "reading": READING,
        "most_ranked": MOST_RANKED,
        "most_found": MOST_FOUND,
        "most_rows": MOST_ROWS,
        "w": words,
        "silent": is_silent,
    }


def _several(summary: Summary) -> dict[str, int]:
    """How many scenarios, models and strategies there are."""
    return {
        "scenarios": len({group.scenario for group in summary.groups}),
        "models": len({group.model for group in summary.groups}),
        "strategies": len({group.strategy for group in summary.groups}),
    }


def _places(summary: Summary) -> dict[str, dict[str, int]]:
    """Scenarios, models and strategies in the order they were run: where each stands is its number in the charts."""
    return {
        f"{kind}s" if kind != "strategy" else "strategies": {
            str(name): place for place, name in enumerate(dict.fromkeys(getattr(g, kind) for g in summary.groups))
        }
        for kind in ("scenario", "model", "strategy")
    }


def _window(group: Group) -> str:
    return words.window_text(group).removeprefix("window ").removesuffix(" (virtual)")


def libraries() -> list[tuple[Vendored, str]]:
    """What ships inside the page, with the text of its licence."""
    return [(entry, (FOLDER / entry.licence_file).read_text(encoding="utf-8")) for entry in listed()]


# Filters: text of models and users becomes text, our own sentences may set names off.


def prose(sentence: object) -> Markup:
    """A sentence of ours as HTML: what stands in backticks is a name; everything is escaped."""
    from markupsafe import Markup, escape

    parts = _CODE.split(words.clean(sentence))
    return Markup("").join(
        Markup('<code class="name">{}</code>').format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def name(value: object) -> Markup:
    """A name of the user's, set off and isolated from the direction of the text around it."""
    from markupsafe import Markup

    return Markup('<code class="name">{}</code>').format(words.one_line(value, 300))


def short(value: object) -> Markup:
    """A name in running text: one that is not too long is kept on one line."""
    from markupsafe import Markup

    shown = words.one_line(value, 300)
    return Markup('<span class="short">{}</span>' if len(shown) <= SHORT else "{}").format(shown)


def figure(value: str) -> Markup:
    """``25 % (6–64, n 48)``: the figure first, what it rests on smaller behind it."""
    from markupsafe import Markup, escape

    head, bracket, rest = words.clean(value).partition(" (")
    if not bracket:
        return Markup('<span class="figure">{}</span>').format(head)
    parts = [(part, len(part) <= SHORT_PART) for part in _BREAKS.split(f"({rest}")]
    whole = Markup(" ").join(
        Markup('<span class="short">{}</span>').format(p) if kept else escape(p) for p, kept in parts
    )
    return Markup('<span class="figure">{}</span> <span class="rests">{}</span>').format(head, whole)


def turns(number: float | None) -> str:
    """Turns with one decimal where there is one."""
    return "–" if number is None else f"{number:.1f}".removesuffix(".0")


def p_value(p: float | None) -> str:
    """A p-value, or a dash."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def length_order(group: Group) -> str:
    """What a table sorts session lengths by: medians, then what was not reached; empty (last) for nothing known."""
    length = group.length
    if not length.n:
        return ""
    if length.median is None:
        return f"{1e9 + (length.restricted_mean or 0.0):.4f}"
    return f"{length.median:g}"


def order(value: float | None) -> str:
    """A figure as a table sorts by it; empty for unknown, which comes last whichever way it is sorted."""
    return "" if value is None else f"{value:.9g}"


def comparison_text(row: Row) -> str:
    """Against the reference: the tier, and the differences it rests on."""
    return "; ".join([tier_text(row), *(effect_text(effect) for effect in row.effects)])


FILTERS: dict[str, Callable[..., Any]] = {
    "prose": prose,
    "name": name,
    "short": short,
    "note": words.note_text,
    "text": lambda value: words.one_line(value, 300),
    "figure": figure,
    "turns": turns,
    "p_value": p_value,
    "length_order": length_order,
    "order": order,
    "effect": effect_text,
    "tier": tier_text,
    "compared": comparison_text,
    "needs_example": needs_example,
    "capitalize_first": lambda value: value[:1].upper() + value[1:],
}


def named(values: Iterable[str], most: int = 4) -> str:
    """Names in a row, of many the first with how many more there are."""
    values = list(values)
    shown = ", ".join(words.one_line(value, 60) for value in values[:most]) or "–"
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"
