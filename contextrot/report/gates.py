"""Verdicts of gates on the terminal and in Markdown. What is printed is what `analysis/gates.py` decided."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.text import Text

from contextrot.analysis.gates import GateOutcome, GateResult, GateVerdict
from contextrot.report import words
from contextrot.report.markdown import code, text

#: a gate that passed in more places takes one line on the terminal
MOST_PASSED = 3
_MARK = {GateOutcome.PASSED: "passed", GateOutcome.FAILED: "FAILED", GateOutcome.NO_VERDICT: "no verdict"}
_STYLE = {GateOutcome.PASSED: "green", GateOutcome.FAILED: "bold red", GateOutcome.NO_VERDICT: "yellow"}


def print_gates(result: GateResult, console: Console) -> None:
    """All verdicts, bad news first, then the sentence that goes with the exit code."""
    if result.simulated:
        console.print(Text(words.SIMULATED, style="bold reverse"))
    for outcome, said in _lines(result):
        line = Text(f"{_MARK[outcome]:<11}", style=_STYLE[outcome])
        line.append(said, style="not bold default")
        console.print(line)
    for note in result.notes:
        console.print(Text(f"! {words.clean(note)}", style="yellow"))
    console.print(Text(f"{words.clean(result.sentence)} (exit {result.exit_code})", style="bold"))


def _lines(result: GateResult) -> list[tuple[GateOutcome, str]]:
    """One line for each verdict; a gate that passed in many places takes one for all of them."""
    passed = Counter(verdict.gate for verdict in result.verdicts if verdict.outcome is GateOutcome.PASSED)
    found: list[tuple[GateOutcome, str]] = []
    told: set[str] = set()
    for verdict in result.verdicts:
        if verdict.outcome is GateOutcome.PASSED and passed[verdict.gate] > MOST_PASSED:
            if verdict.gate not in told:
                told.add(verdict.gate)
                found.append((verdict.outcome, f"{words.clean(verdict.gate)}  in {passed[verdict.gate]} places"))
            continue
        found.append((verdict.outcome, verdict_text(verdict)))
    return found


def verdict_text(verdict: GateVerdict) -> str:
    """A verdict on one line: the gate, where it was held, and why."""
    where = f"  {words.clean(verdict.where)}:" if verdict.scope else ""
    return f"{words.clean(verdict.gate)}{where} {words.clean(verdict.reason)}"


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
