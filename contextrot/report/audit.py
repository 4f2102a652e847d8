"""An audit on the terminal: what was found first, then the figures it rests on, on one screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from contextrot.analysis.audit import Audit, Kept, Third
from contextrot.analysis.survival import Survival, median_text
from contextrot.report.layout import READABLE, hanging
from contextrot.report.palette import DID, QUIET, SENT, WARN
from contextrot.report.words import clean, counted, one_line, percent, tokens_text
from contextrot.strategies.monitor import BudgetMonitor

#: rows of the plot of occupancy
_ROWS = 5
_BLOCKS, _PLAIN = " ▁▂▃▄▅▆▇█", " .:#"


def print_audit(one: Audit, console: Console) -> None:
    """Print one session: a verdict in sentences, the plot of occupancy, and the figures."""
    head = Text(one_line(one.name, 60), style="bold")
    head.append(f"  {one.format}{f', {clean(one.model)}' if one.model else ''}", style=f"not bold {QUIET}")
    console.print(head)
    found = [(sentence, WARN if bad else "", "!" if bad else "-") for sentence, bad in findings(one)]
    console.print(
        hanging((Text(f" {mark}", style=style), Text(sentence, style=style)) for sentence, style, mark in found)
    )
    if one.rules:
        console.print(Text("   One session (n = 1): what was seen, without an interval.", style=QUIET))
    console.print()
    _print_figures(one, console)
    _print_plot(one, console)
    for error in one.errors[:3]:
        console.print(Text(f"  error: {one_line(error, 90)}", style=WARN))
    for note in one.notes:
        console.print(Text(f"  {one_line(note, 200)}", style=QUIET))


def findings(one: Audit) -> Iterable[tuple[str, bool]]:
    """What the session shows, each as a sentence, and whether it is bad news."""
    for rule in one.rules:
        yield _rule(rule)
    if one.trend in ("falls", "rises"):
        first, last = one.thirds[0], one.thirds[-1]
        yield (
            f"Tool use {one.trend}: {percent(first.rate)} of the turns of the first third called a tool, "
            f"{percent(last.rate)} of the last (p = {one.trend_p:.2g}).",
            one.trend == "falls",
        )
    if one.repeats:
        same = f", {one.unchanged} of them with the very same result" if one.unchanged else ""
        yield (
            f"{one.repeats} of {counted(one.tool_calls, 'tool call')} "
            f"({percent(one.repeat_rate)}) repeat an action that had already succeeded{same}.",
            one.unchanged > 0,
        )
    elif one.tool_calls:
        yield f"No action that had succeeded was done again ({counted(one.tool_calls, 'tool call')}).", False
    yield from _occupancy(one)
    if one.errors:
        yield f"{counted(len(one.errors), 'call')} failed.", True


def _rule(rule: Kept) -> tuple[str, bool]:
    if not rule.decided:
        return f"{clean(rule.id)}: no reply could tell whether it was kept.", False
    kept = f"{clean(rule.id)} was kept in {rule.passed} of {counted(rule.decided, 'turn')}"
    if rule.first_failure is None:
        return f"{kept}.", False
    turn, why = rule.first_failure
    return f"{kept}; first broken at turn {turn}: {one_line(why, 80)}.", True


def _occupancy(one: Audit) -> Iterable[tuple[str, bool]]:
    peak = one.peak
    if peak is None:
        return
    what = "" if peak.recorded else " (estimated)"
    if one.window:
        share = peak.tokens / one.window
        yield (
            f"The window was fullest at turn {peak.turn}: {percent(share)} of {one.window:,} tokens{what}.",
            BudgetMonitor().level(share) == "ROTATE",
        )
    else:
        yield (
            f"The longest prompt was {peak.tokens:,} tokens{what}, at turn {peak.turn}; "
            "--window N puts that into relation.",
            False,
        )
    if one.compactions:
        recorded = sum(one_.recorded for one_ in one.compactions)
        inferred = len(one.compactions) - recorded
        parts = [f"{recorded} recorded"] if recorded else []
        parts += [f"{inferred} inferred from shorter prompts"] if inferred else []
        turns = ", ".join(str(one_.turn) for one_ in one.compactions[:8])
        yield f"{counted(len(one.compactions), 'compaction')} ({', '.join(parts)}) at turn {turns}.", False


def _print_figures(one: Audit, console: Console) -> None:
    pace = f"{one.steps_per_turn or 0:.1f} a turn, at most {max(one.steps, default=0)}"
    rows = [
        (
            "turns",
            f"{counted(one.turns, 'turn')}, {counted(one.calls, 'model call')}: {pace}",
        ),
        ("tools", _tools(one.tool_calls, one.tool_errors, one.thirds)),
    ]
    if one.cached_share is not None:
        rows.append(("cached", f"{percent(one.cached_share)} of the prompt tokens came from the provider's cache"))
    for repeated in one.repeated:
        turns = ", ".join(map(str, repeated.turns[:6])) + ("…" if len(repeated.turns) > 6 else "")
        said = one_line(f"{repeated.tool} {repeated.arguments}", 44)
        rows.append(("again", f"{repeated.times} × {said}  (turn {turns})"))
    grid = Table.grid(padding=(0, 1))
    for name, text in rows:
        grid.add_row(Text(f"  {name:<6}", style=QUIET), Text(text))
    console.print(grid)


def _tools(calls: int, errors: int, thirds: Sequence[Third]) -> str:
    if not calls:
        return "no tool was called"
    text = f"{counted(calls, 'call')}, {errors:,} failed"
    if thirds:
        text += "; turns with a call: " + ", ".join(f"{percent(t.rate)} ({t.first}–{t.last})" for t in thirds)
    return text


def _print_plot(one: Audit, console: Console) -> None:
    """Occupancy by turn in columns; with more turns than columns each column is the fullest of its turns."""
    if len(one.occupancy) < 2:
        return
    unicode = console.encoding.lower().startswith("utf")
    signs = _BLOCKS if unicode else _PLAIN
    label = 9
    columns = min(one.turns, max(10, min(console.width, READABLE) - label - 2))
    heights = [0] * columns
    for turn, tokens, _ in one.occupancy:
        column = (turn - 1) * columns // one.turns
        heights[column] = max(heights[column], tokens)
    top = max(one.window or 0, max(heights)) if one.window else max(heights)
    what = "recorded" if one.occupancy[0].recorded else "estimated"
    of = "share of the window" if one.window else "prompt tokens"
    console.print()
    console.print(Text(f"  {of} by turn ({what})", style=QUIET))
    levels = len(signs) - 1
    for row in range(_ROWS - 1, -1, -1):
        line = "".join(
            signs[max(0, min(levels, round((height / top * _ROWS - row) * levels)))] if top else " "
            for height in heights
        )
        at = top * (row + 1) / _ROWS
        mark = percent(at / one.window) if one.window else tokens_text(at)
        text = Text(f"{mark if row in (_ROWS - 1, _ROWS // 2) else '':>{label - 1}} ", style=QUIET)
        text.append(line.rstrip(), style=SENT)
        console.print(text, no_wrap=True, crop=True)
    marks = [" "] * columns
    for compacted in one.compactions:
        marks[min(columns - 1, max(0, compacted.turn - 1) * columns // one.turns)] = "C"
    if any(mark == "C" for mark in marks):
        console.print(Text(" " * label + "".join(marks).rstrip() + "  C: compaction", style=DID), no_wrap=True)
    axis = f"1{one.turns:>{max(1, columns - 1)}}" if columns > 3 else "1"
    console.print(Text(" " * label + axis, style=QUIET), no_wrap=True)


def _broken(one: Audit, most: int = 3) -> str:
    """Every rule that was broken and when first; `kept` when none was."""
    found = sorted((rule.first_failure[0], rule.id) for rule in one.rules if rule.first_failure)
    if not found:
        return "kept" if any(rule.decided for rule in one.rules) else "no reply could tell"
    more = [f"{len(found) - most} more"] if len(found) > most else []
    return "broke " + ", ".join([*(f"{clean(name)} at turn {turn}" for turn, name in found[:most]), *more])


def _peak(one: Audit, share_only: bool) -> str:
    """The fullest prompt: a share where every session's window is known, else tokens throughout."""
    assert one.peak is not None
    share = percent(one.peak.tokens / one.window) if one.window else ""
    if share_only:
        return share
    return f"{tokens_text(one.peak.tokens)} tokens" + (f" ({share})" if share else "")


def print_several(audits: Sequence[Audit], survival: Survival | None, console: Console) -> None:
    """Print several sessions: the length over all of them first, then a line each."""
    n = len(audits)
    if survival is None:
        console.print(
            Text(f"{n} sessions; no rule was applied (--scenario or --check), so no length to failure.", "bold")
        )
    else:
        console.print(Text(f"{n} sessions, turns to the first broken rule: {median_text(survival)}", style="bold"))
    console.print(Text("The session is the unit: turns of one session are not independent.", style=QUIET))
    console.print()
    shares = all(one.window for one in audits)
    for one in audits:
        facts = [counted(one.turns, "turn")]
        facts += [_broken(one)] if one.rules else []
        facts += [f"{percent(one.repeat_rate)} repeats" if one.tool_calls else "no tools"]
        facts += [f"peak {_peak(one, shares)}"] if one.peak is not None else []
        facts += [counted(len(one.compactions), "compaction")] if one.compactions else []
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=max(26, min(console.width, READABLE) // 3), overflow="fold")
        grid.add_row(Text(f"  {one_line(one.name, 80)}", style="bold"), Text(", ".join(facts)))
        console.print(grid)
        for note in one.notes[:2]:
            console.print(Text(f"    {one_line(note, 160)}", style=QUIET))
