"""Verdicts of gates on the terminal and in Markdown. What is printed is what `analysis/gates.py` decided."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.text import Text

from contextrot.analysis.gates import GateOutcome, GateResult, GateVerdict
from contextrot.analysis.tables import Run
from contextrot.report import words
from contextrot.report.gating import kept
from contextrot.report.layout import hanging
from contextrot.report.markdown import code, text
from contextrot.report.palette import BAD, GOOD, SIMULATED, WARN

#: a gate that passed in more places takes one line on the terminal
MOST_PASSED = 3
_MARK = {
    GateOutcome.PASSED: "passed",
    GateOutcome.FAILED: "FAILED",
    GateOutcome.NO_VERDICT: "no verdict",
    GateOutcome.NOT_HELD: "not held",
}
_STYLE = {
    GateOutcome.PASSED: GOOD,
    GateOutcome.FAILED: BAD,
    GateOutcome.NO_VERDICT: WARN,
    GateOutcome.NOT_HELD: WARN,
}


def print_gates(result: GateResult, console: Console, *, told_simulated: bool = False) -> None:
    """All verdicts, bad news first, then the sentence that goes with the exit code.

    told_simulated: the screen has said already that the run is simulated.
    """
    if result.simulated and not told_simulated:
        console.print(Text(words.SIMULATED, style=SIMULATED))
    console.print(hanging((Text(_MARK[outcome], style=_STYLE[outcome]), said) for outcome, said in _lines(result)))
    if result.notes:
        console.print(hanging((Text("!", style=WARN), Text(words.clean(note), style=WARN)) for note in result.notes))
    style = GOOD if result.exit_code == 0 else BAD if result.exit_code == 1 else WARN
    console.print(Text(f"{words.clean(result.sentence)} (exit {result.exit_code})", style=f"bold {style}"))


def _lines(result: GateResult) -> list[tuple[GateOutcome, Text]]:
    """One line for each verdict; a gate that passed in many places takes one for all of them."""
    passed = Counter(verdict.gate for verdict in result.verdicts if verdict.outcome is GateOutcome.PASSED)
    found: list[tuple[GateOutcome, Text]] = []
    told: set[str] = set()
    for verdict in result.verdicts:
        if verdict.outcome is GateOutcome.PASSED and passed[verdict.gate] > MOST_PASSED:
            if verdict.gate not in told:
                told.add(verdict.gate)
                found.append((verdict.outcome, _said(verdict.gate, f"in {passed[verdict.gate]} places")))
            continue
        where = f"{verdict.where}: " if verdict.scope else ""
        found.append((verdict.outcome, _said(verdict.gate, f"{where}{verdict.reason}")))
    return found


def verdict_text(verdict: GateVerdict) -> str:
    """A verdict on one line: the gate, where it was held, and why."""
    where = f"  {words.clean(verdict.where)}:" if verdict.scope else ""
    return f"{words.clean(verdict.gate)}{where} {words.clean(verdict.reason)}"


def _said(gate: str, rest: str) -> Text:
    return Text.assemble((words.clean(gate), "bold"), "  ", words.clean(rest))


def gates_first(run: Run, report: str) -> str:
    """A report in Markdown with what the gates last said of the run above it; as it is where they were never asked."""
    result = kept(run)
    return report if result is None else f"{gates_markdown(result)}\n{report}"


def gates_markdown(result: GateResult) -> str:
    """The verdicts as a Markdown section."""
    lines = ["## Gates", "", f"**{text(result.sentence)}**", ""]
    if result.simulated:
        lines += [words.SIMULATED, ""]
    lines += ["| | gate | where | why |", "|---|---|---|---|"]
    lines += [
        f"| {_MARK[v.outcome]} | {code(v.gate)} | {text(v.where) if v.scope else '–'} | {text(v.reason)} |"
        for v in result.verdicts
    ]
    lines += ["", *(f"- {text(note)}" for note in result.notes)] if result.notes else []
    return "\n".join(lines) + "\n"
