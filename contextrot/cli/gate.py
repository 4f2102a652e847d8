"""`contextrot gate RUN`: hold a recorded run to gates; the exit code is the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from contextrot.analysis.evidence import Evidence
    from contextrot.analysis.gates import GateResult
    from contextrot.analysis.tables import Run
    from contextrot.gate_grammar import Gate


@dataclass(frozen=True)
class Held:
    """Gates that were read and the baseline they need, before anything is spent."""

    gates: list[Gate]
    baseline: Evidence | None

    def evaluate(self, run: Run, *, accept_changed: bool = False) -> GateResult:
        """The verdicts on a run."""
        from contextrot.analysis.gates import evaluate

        return evaluate(run, self.gates, self.baseline, accept_changed=accept_changed)


def held_to(gates: Sequence[str | Mapping[str, Any]], baseline: str | None) -> Held | None:
    """Gates and baseline of a configuration, ready; None when it has neither.

    Raises `ConfigError` for a gate that cannot be read, `BaselineError` where one needs a baseline that is not there.
    """
    if not gates and baseline is None:
        return None
    from contextrot.analysis.baseline import load_baseline
    from contextrot.errors import BaselineError
    from contextrot.gate_grammar import DEFAULT_DROPS, parse_gates

    parsed = parse_gates(list(gates) or list(DEFAULT_DROPS))
    drops = [gate for gate in parsed if gate.needs_baseline]
    if drops and baseline is None:
        raise BaselineError(f"gate {drops[0].text!r} needs a baseline: give one with --baseline")
    return Held(parsed, load_baseline(baseline) if drops and baseline is not None else None)


def gate(
    run: Annotated[Path, typer.Argument(help="a run directory")],
    gates: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            help="'median >= 30 turns', 'rmst: -10%', … (repeatable) [default: those of contextrot.yaml, or the run's]",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="baseline file or run directory", show_default=False)
    ] = None,
    accept_changed: Annotated[
        bool, typer.Option("--accept-changed", help="hold against the baseline although a scenario file changed")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", "--md", help="print Markdown")] = False,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Hold a run to gates. Exits 0 when all passed, 1 when one failed, 3 without a verdict, 4 without a baseline."""
    from contextrot.analysis.tables import load_run
    from contextrot.cli.output import console, print_json
    from contextrot.errors import ConfigError
    from contextrot.report.gates import gates_markdown, print_gates
    from contextrot.report.gating import keep

    loaded = load_run(run)
    held = held_to(*_settled(loaded, gates, baseline))
    if held is None:
        raise ConfigError("no gate is given: write one with --gate, or some under gates: in contextrot.yaml")
    result = held.evaluate(loaded, accept_changed=accept_changed)
    keep(loaded, result)
    if json:
        print_json(result.to_dict())
    elif markdown:
        typer.echo(gates_markdown(result), nl=False)
    else:
        print_gates(result, console())
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _settled(run: Run, gates: Sequence[str] | None, baseline: str | None) -> tuple[list[Any], str | None]:
    """Flags, else contextrot.yaml of this folder (or CONTEXTROT_CONFIG), else what the run was started with."""
    import os

    from contextrot.config import CONFIG_FILE, read_config_file

    path = Path(os.environ.get("CONTEXTROT_CONFIG") or CONFIG_FILE)
    file = read_config_file(path)[0] if path.is_file() else {}
    recorded = run.config.get("config") or {}
    named = file.get("gates") or recorded.get("gates") or []
    chosen = list(gates) if gates else named if isinstance(named, list) else [named]
    if baseline is None and (gates is None or any(":" in text for text in gates)):
        against = file.get("baseline") or recorded.get("baseline")
        baseline = None if against is None else str(against)
    return chosen, baseline
