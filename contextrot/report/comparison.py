"""A comparison on the terminal and in Markdown. No arithmetic: `analysis/compare.py` has done it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from contextrot.analysis.comparison import METRICS, Comparison, Effect, Row, Tier
from contextrot.report import words
from contextrot.report.layout import aligned, hanging, new_table
from contextrot.report.markdown import code, text
from contextrot.report.palette import BAD, GOOD, QUIET, SIMULATED, WARN
from contextrot.report.terminal import WIDE
from contextrot.report.terminal_blocks import strategy_text

_STYLE = {Tier.REGRESSION: BAD, Tier.IMPROVEMENT: GOOD, Tier.STABLE: GOOD}
_SHORT = {"restricted_mean": "session length", "compliance": "compliance", "tool_calls": "tool calls"}
#: columns of a verdict on a narrow screen: `inconclusive`
VERDICT = 12


def print_comparison(comparison: Comparison, console: Console) -> None:
    """A row for each comparison, then what has to be known, and the verdict last, where the eye falls."""
    if comparison.simulated:
        console.print(Text(words.SIMULATED, style=SIMULATED))
    title = f"{comparison.baseline} → {comparison.candidate}"
    if comparison.kind != "runs":
        title = f"{comparison.kind} of {comparison.candidate} against {comparison.baseline}"
    console.print(Text(words.clean(title), style="bold"))
    narrow = console.width < WIDE
    rows = (*comparison.rows, *comparison.pooled)
    if rows:
        console.print()
        for part in _narrow_tables(rows, console.width) if narrow else [_table(rows)]:
            console.print(part)
        console.print()
    told = [*(_reasons(rows) if narrow else ()), *sentences(comparison)]
    console.print(hanging((Text("-", style=QUIET), Text(sentence, style=QUIET)) for sentence in told))
    # one strategy against another is a choice and nothing that went well or wrong
    style = {0: GOOD, 1: BAD}.get(comparison.exit_code, WARN) if comparison.kind == "runs" else ""
    console.print(Text(words.clean(comparison.verdict), style=f"bold {style}".strip()))
    for sentence in choices(comparison):
        console.print(Text(sentence, style="bold"))


def _table(rows: Sequence[Row]) -> Table:
    """Figures of one unit under each other."""
    table = new_table(narrow=False)
    several = len({row.model for row in rows}) > 1
    for name in ["scenario", "strategy", *(["model"] if several else [])]:
        table.add_column(name, overflow="fold")
    figures = _figures(rows)
    for heading, _ in figures:
        table.add_column(heading)
    table.add_column(_pairs_heading(rows), justify="right")
    table.add_column("verdict", overflow="fold")
    columns = [aligned(cells) for _, cells in figures]
    for number, row in enumerate(rows):
        table.add_row(
            _scenario(row),
            Text(words.clean(row.strategy)),
            *([Text(words.clean(row.model))] if several else []),
            *(Text(column[number]) for column in columns),
            Text(_pairs(row)),
            Text(tier_text(row), style=_STYLE.get(row.tier, WARN)),
        )
    return table


def _narrow_tables(rows: Sequence[Row], width: int) -> Iterable[Table | Text]:
    """The same on a narrow screen: a scenario is a line of its own, as is an interval.

    So is the name of a strategy where the longest has no room beside its figures: no name is broken.
    """
    several = len({row.model for row in rows}) > 1
    models = [f" on {words.clean(row.model)}" if several else "" for row in rows]
    names = [_set_in(strategy_text(row.strategy, narrow=True)) + on for row, on in zip(rows, models, strict=True)]
    figures = [(heading, [_broken(cell) for cell in cells]) for heading, cells in _figures(rows)]
    columns = [*figures, (_pairs_heading(rows), [_pairs(row) for row in rows])]
    sizes = [_widest([heading, *cells]) for heading, cells in columns]
    gap = 2  # between columns: the table's padding and the place of its rule
    beside = min(_widest(["strategy", *names]), width) + sum(sizes) + gap * (len(sizes) + 1) + VERDICT <= width
    first = _widest(["strategy", *names]) if beside else 2

    def table(*, heading: bool) -> Table:
        made = new_table(narrow=True)
        made.show_header = heading
        made.add_column("strategy" if beside else "", width=first, no_wrap=True)
        for (title, _), size in zip(columns, sizes, strict=True):
            made.add_column(title, justify="right", width=size, no_wrap=True)
        made.add_column("verdict", width=max(VERDICT, width - first - sum(sizes) - gap * (len(sizes) + 1)))
        return made

    yield table(heading=True)
    above: str | None = ""
    for number, row in enumerate(rows):
        if row.scenario != above:
            yield _scenario(row)
        above = row.scenario
        if not beside:
            yield Text(names[number])
        cells = [Text(cells[number]) for _, cells in columns]
        line = table(heading=False)
        line.add_row(Text(names[number] if beside else ""), *cells, Text(_tier(row), style=_STYLE.get(row.tier, WARN)))
        yield line


def _figures(rows: Sequence[Row]) -> list[tuple[str, list[str]]]:
    """The columns of what was measured: heading, and a cell for each row."""
    columns = []
    for name in METRICS:
        effects = [next((effect for effect in row.effects if effect.metric == name), None) for row in rows]
        unit = next((_unit(effect.unit) for effect in effects if effect is not None), None)
        if unit is not None:
            cells = ["–" if effect is None else _change(effect) for effect in effects]
            columns.append((f"{_SHORT[name]},\n{unit} (95 %)", cells))
    return columns


def _pairs_heading(rows: Sequence[Row]) -> str:
    return "pairs\n(needed)" if any(_open(row) for row in rows) else "pairs"


def _scenario(row: Row) -> Text:
    return Text(words.clean(row.scenario) if row.scenario else "all together", style="bold")


def _widest(cells: Iterable[str]) -> int:
    """Columns of the widest line of several cells."""
    return max(cell_len(line) for cell in cells for line in cell.split("\n"))


def _set_in(lines: str) -> str:
    return " " + lines.replace("\n", "\n ")


def _broken(cell: str) -> str:
    return cell.replace(" (", "\n(").replace(" ", "\u00a0")


def _tier(row: Row) -> str:
    return str(row.tier).replace("_", " ") if row.ranked else "not ranked"


def _reasons(rows: Iterable[Row]) -> Iterable[str]:
    """Why the verdicts are what they are, each reason once with the number of rows it is of."""
    counts = Counter(text for row in rows if ":" in (text := tier_text(row)))
    for text, n in counts.items():
        yield f"{text} ({n} rows)" if n > 1 else text


def _open(row: Row) -> int | None:
    """How many pairs would settle what the row leaves open, where that is known and more than there are."""
    needed = [e.needed or 0 for e in row.effects if e.tier is Tier.INCONCLUSIVE and (e.needed or 0) > e.pairs]
    return max(needed, default=None)


def change_text(effect: Effect) -> str:
    """``session length −3.2 turns (−5.3 to −1.7)``; rates in percentage points."""
    if effect.difference is None:
        return f"{_SHORT[effect.metric]} –"
    number, bracket, interval = _change(effect).partition(" (")
    return f"{_SHORT[effect.metric]} {number} {_unit(effect.unit)}{bracket}{interval}"


def _change(effect: Effect) -> str:
    """``−3.2 (−5.3 to −1.7)``, in turns or percentage points; a dash where nothing can be compared."""
    if effect.difference is None:
        return "–"
    number = _number(effect.difference, effect)
    if effect.low is None or effect.high is None:
        return number
    return f"{number} ({_number(effect.low, effect)} to {_number(effect.high, effect)})"


def _unit(unit: str) -> str:
    return "turns" if unit == "turns" else "points"


def tier_text(row: Row) -> str:
    """The tier in words, with its reason where that is not plain."""
    named = str(row.tier).replace("_", " ")
    if not row.ranked:
        return f"not ranked: {words.clean(row.reason)}"
    return named if row.tier in (Tier.STABLE, Tier.IMPROVEMENT) else f"{named}: {words.clean(row.reason)}"


def choices(comparison: Comparison) -> Iterable[str]:
    """Inside one run: which strategy or model to ship and why, one line for each model or strategy there is."""
    several = len(comparison.choices) > 1
    for choice in comparison.choices:
        yield words.clean(f"{choice.where}: {choice.sentence}" if several else choice.sentence)


def _spent(row: Row) -> str:
    """``2,310 → 1,870 tokens a session, $0.0012 → $0.0010``; nothing where nothing is known."""
    sides = (row.baseline, row.candidate)
    parts = []
    if any(side.tokens is not None for side in sides):
        shown = ("?" if side.tokens is None else f"{side.tokens:,.0f}" for side in sides)
        parts.append(f"{' → '.join(shown)} tokens a session")
    if any(side.cost for side in sides):
        parts.append(" → ".join("?" if side.cost is None else f"${side.cost:,.4g}" for side in sides))
    return ", ".join(parts)


def sentences(comparison: Comparison) -> Iterable[str]:
    """What a reader has to know beside the table and why its verdicts are what they are."""
    several = len({row.model for row in comparison.rows}) > 1
    for row in (*comparison.rows, *comparison.pooled):
        name = f"{row.strategy} on {row.model}" if several else row.strategy
        where = words.clean(f"{name} in {row.scenario}" if row.scenario else f"{name}, all together")
        for side, name in ((row.baseline, comparison.baseline), (row.candidate, comparison.candidate)):
            if side.unfinished:
                label = side.label if comparison.kind != "runs" else name
                yield f"{where}: {side.unfinished} sessions of {words.clean(label)} ended without a result"
        if row.note:
            yield f"{where}: {words.clean(row.note)}"
        if spent := _spent(row):
            yield f"{where}: {spent}"
    if any(_open(row) for row in (*comparison.rows, *comparison.pooled)):
        yield "needed: pairs that would show a difference of the margin four times of five"
    yield from map(words.clean, comparison.notes)
    limits = comparison.limits
    yield (
        f"margins: {100 * limits.margin_length:g} % of the baseline's restricted mean, "
        f"{100 * limits.margin_compliance:g} points of compliance; Holm over all rows at {100 * limits.alpha:g} %"
    )


def _pairs(row: Row) -> str:
    """``8``, or ``8 (196)`` where so many would settle what is open."""
    needed = _open(row)
    return f"{row.pairs:,} ({needed:,})" if needed else f"{row.pairs:,}"


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison as Markdown: verdict, table, notes."""
    lines = [f"# {text(comparison.baseline)} → {text(comparison.candidate)}", "", f"**{text(comparison.verdict)}**", ""]
    lines += [line for choice in choices(comparison) for line in (f"**{text(choice)}**", "")]
    if comparison.simulated:
        lines += [words.SIMULATED, ""]
    lines += [
        "| scenario | strategy | model | first failure, turns | change (95 %) | p (Holm) | pairs (needed) | verdict |",
        "|---|---|---|---|---|---|--:|---|",
    ]
    for row in (*comparison.rows, *comparison.pooled):
        p = "<br>".join("–" if e.p_adjusted is None else f"{e.p_adjusted:.3f}" for e in row.effects) or "–"
        changes = "<br>".join(text(change_text(effect)) for effect in row.effects) or "–"
        lines.append(
            f"| {code(row.scenario) if row.scenario else '**all together**'} | {code(row.strategy)} "
            f"| {code(row.model)} "
            f"| {text(row.baseline.median)} → {text(row.candidate.median)} | {changes} | {p} | {_pairs(row)} "
            f"| {text(tier_text(row))} |"
        )
    return "\n".join([*lines, "", *(f"- {text(sentence)}" for sentence in sentences(comparison))]) + "\n"


def _number(value: float, effect: Effect) -> str:
    shown = f"{value:+.1f}" if effect.unit == "turns" else f"{100 * value:+.1f}"
    return shown.replace("-", "−")
