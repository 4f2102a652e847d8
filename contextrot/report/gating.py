"""What gates said of a run, kept in its folder: the reports repeat it and decide nothing themselves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

import orjson

from contextrot.analysis.cases import Case
from contextrot.analysis.gates import GateOutcome, GateResult, GateVerdict
from contextrot.analysis.tables import Run
from contextrot.bench.store import RunDirectory
from contextrot.errors import ConfigError
from contextrot.gate_grammar import FLOORS, parse_gate

#: the file in the run directory; it holds what `contextrot gate --json` prints
FILE = "gates.json"


def keep(run: Run, result: GateResult) -> None:
    """Write what gates said into the run directory, in place of what they said before.

    Raises `StoreError` when the folder cannot be written.
    """
    RunDirectory(run.path).write(FILE, orjson.dumps(result.to_dict(), option=orjson.OPT_INDENT_2) + b"\n")


def kept(run: Run) -> GateResult | None:
    """What the gates said when they were last asked; None where the run was held to none, or the file is damaged."""
    try:
        content: dict[str, Any] = orjson.loads((run.path / FILE).read_bytes())
        verdicts = [GateVerdict(**entry | {"outcome": GateOutcome(entry["outcome"])}) for entry in content["verdicts"]]
        return GateResult(**content | {"verdicts": verdicts})
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None


def title(verdict: GateVerdict) -> str:
    """The gate, and what of the run it was held against."""
    return f"{verdict.gate} · {verdict.where}" if verdict.scope else verdict.gate


def responsible(case: Case, verdicts: Sequence[GateVerdict]) -> list[GateVerdict]:
    """The failed gates on whose account a case counts as failed: it has failed checks, and lies in what they look at.

    A ceiling of tokens, calls or cost is broken by no check.
    """
    if not case.fails:
        return []
    return [
        gate for gate in verdicts if gate.outcome is GateOutcome.FAILED and _of_checks(gate) and _covers(gate, case)
    ]


def _of_checks(gate: GateVerdict) -> bool:
    try:
        return parse_gate(gate.gate).metric in FLOORS
    except ConfigError:
        return False


def _covers(gate: GateVerdict, case: Case) -> bool:
    names = {"scenario": case.scenario, "model": case.model, "strategy": case.strategy}
    return all(
        names[key] == wanted or fnmatchcase(names[key], wanted) or names[key].startswith(f"{wanted}(")
        for key, wanted in gate.scope.items()
        if key in names
    )


def out_of_date(run: Run) -> bool:
    """True when sessions were run after the gates were last asked: what they said is of less than is there now."""
    finished = str(run.config.get("finished") or "")
    try:
        return (run.path / FILE).stat().st_mtime < datetime.fromisoformat(finished).timestamp()
    except (OSError, ValueError):
        return False
