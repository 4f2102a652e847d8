"""A comparison on the terminal and in Markdown. No arithmetic: `analysis/compare.py` has done it."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from contextrot.analysis.comparison import METRICS, Comparison, Effect, Row, Tier
from contextrot.report import words
from contextrot.report.markdown import code, text

_STYLE = {Tier.REGRESSION: "bold red", Tier.IMPROVEMENT: "green", Tier.STABLE: "green"}
_SHORT = {"restricted_mean": "session length", "compliance": "compliance", "tool_calls": "tool calls"}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """The verdict first, then a row for each comparison, then what has to be known."""
    if comparison.simulated:
        console.print(Text(words.SIMULATED, style="bold reverse"))
    title = Text(words.clean(f"{comparison.baseline} → {comparison.candidate}"), style="bold")
    if comparison.kind != "runs":
        title = Text(words.clean(f"{comparison.kind} of {comparison.candidate} against {comparison.baseline}"), "bold")
    console.print(title)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("scenario", "strategy", "change (95 %)", "pairs", "verdict"):
        table.add_column(column, overflow="fold")
    several = len({row.model for row in comparison.rows}) > 1
    for row in (*comparison.rows, *comparison.pooled):
        strategy = words.clean(row.strategy) + (f"\n{words.clean(row.model)}" if several else "")
        changes = "\n".join(change_text(effect) for effect in row.effects) or "–"
        table.add_row(
            Text(words.clean(row.scenario) if row.scenario else "all together", style="" if row.scenario else "bold"),
            Text(strategy),
            Text(changes),
            Text(str(row.pairs)),
            Text(tier_text(row), style=_STYLE.get(row.tier, "yellow")),
        )
    console.print(table)
    for sentence in sentences(comparison):
        console.print(Text(sentence, style="dim"))
    console.print(Text(words.clean(comparison.verdict), style="bold"))


def change_text(effect: Effect) -> str:
    """``session length −3.2 turns (−5.3 to −1.7)``; rates in percentage points."""
    if effect.difference is None:
        return f"{_SHORT[effect.metric]} –"
    unit = "turns" if effect.unit == "turns" else "points"
    if effect.low is None or effect.high is None:
        return f"{_SHORT[effect.metric]} {_number(effect.difference, effect)} {unit}"
    low, high = _number(effect.low, effect), _number(effect.high, effect)
    return f"{_SHORT[effect.metric]} {_number(effect.difference, effect)} {unit} ({low} to {high})"


def tier_text(row: Row) -> str:
    """The tier in words, with its reason where that is not plain."""
    named = str(row.tier).replace("_", " ")
    if not row.ranked:
        return f"not ranked: {words.clean(row.reason)}"
    return named if row.tier in (Tier.STABLE, Tier.IMPROVEMENT) else f"{named}: {words.clean(row.reason)}"


def sentences(comparison: Comparison) -> Iterable[str]:
    """What a reader has to know beside the table."""
    for row in (*comparison.rows, *comparison.pooled):
        where = words.clean(f"{row.strategy} in {row.scenario}" if row.scenario else f"{row.strategy}, all together")
        more = [e for e in row.effects if e.tier is Tier.INCONCLUSIVE and e.needed is not None and e.needed > e.pairs]
        if more:
            effect = max(more, key=lambda e: e.needed or 0)
            yield (
                f"{where}: about {effect.needed:,} pairs would show a difference of the margin in "
                f"{METRICS[effect.metric]} four times of five (here {effect.pairs})"
            )
        for side, name in ((row.baseline, comparison.baseline), (row.candidate, comparison.candidate)):
            if side.unfinished:
                label = side.label if comparison.kind != "runs" else name
                yield f"{where}: {side.unfinished} sessions of {words.clean(label)} ended without a result"
        if row.note:
            yield f"{where}: {words.clean(row.note)}"
    yield from map(words.clean, comparison.notes)
    limits = comparison.limits
    yield (
        f"margins: {100 * limits.margin_length:g} % of the baseline's restricted mean, "
        f"{100 * limits.margin_compliance:g} points of compliance; Holm over all rows at {100 * limits.alpha:g} %"
    )


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison as Markdown: verdict, table, notes."""
    lines = [f"# {text(comparison.baseline)} → {text(comparison.candidate)}", "", f"**{text(comparison.verdict)}**", ""]
    if comparison.simulated:
        lines += [words.SIMULATED, ""]
    lines += [
        "| scenario | strategy | model | turns to first failure | change (95 %) | p (Holm) | pairs | verdict |",
        "|---|---|---|---|---|---|--:|---|",
    ]
    for row in (*comparison.rows, *comparison.pooled):
        p = "<br>".join("–" if e.p_adjusted is None else f"{e.p_adjusted:.3f}" for e in row.effects) or "–"
        changes = "<br>".join(text(change_text(effect)) for effect in row.effects) or "–"
        lines.append(
            f"| {code(row.scenario) if row.scenario else '**all together**'} | {code(row.strategy)} "
            f"| {code(row.model)} "
            f"| {text(row.baseline.median)} → {text(row.candidate.median)} | {changes} | {p} | {row.pairs} "
            f"| {text(tier_text(row))} |"
        )
    return "\n".join([*lines, "", *(f"- {text(sentence)}" for sentence in sentences(comparison))]) + "\n"


def _number(value: float, effect: Effect) -> str:
    shown = f"{value:+.1f}" if effect.unit == "turns" else f"{100 * value:+.1f}"
    return shown.replace("-", "−")
