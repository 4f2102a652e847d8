"""`contextrot gate RUN`: hold a recorded run to gates; the exit code is the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from contextrot.analysis.evidence import Evidence
    from contextrot.analysis.gates import GateResult
    from contextrot.analysis.tables import Run
    from contextrot.bench.matrix import Matrix
    from contextrot.gate_grammar import Gate


class MissingBaseline(StrEnum):
    """What a baseline means that is not there yet."""

    FAIL = "fail"
    PASS = "pass"


@dataclass(frozen=True)
class Held:
    """Gates that were read and the baseline they need, before anything is spent."""

    gates: list[Gate]
    baseline: Evidence | None
    accept_changed: bool = False
    #: where a baseline will be that is not there yet, and need not be
    missing: str | None = None

    def check_plan(self, matrix: Matrix) -> list[str]:
        """What of the gates is known before the first call: raises, or says which can have no verdict."""
        from contextrot.analysis.gate_plan import check_plan, planned_evidence

        return check_plan(self.gates, planned_evidence(matrix), self.baseline, accept_changed=self.accept_changed)

    def evaluate(self, run: Run) -> GateResult:
        """The verdicts on a run, kept in its folder. What stands in the way of all of them is kept there as well.

        Raises as `gates.evaluate` does.
        """
        from contextrot.analysis.evidence import evidence_of
        from contextrot.analysis.gates import evaluate, refused
        from contextrot.cli.exits import code_for
        from contextrot.errors import BaselineError, NothingMatchedError
        from contextrot.report.gating import keep

        try:
            result = evaluate(run, self.gates, self.baseline, accept_changed=self.accept_changed, missing=self.missing)
        except (BaselineError, NothingMatchedError) as error:
            source = self.baseline.source if self.baseline is not None else None
            texts = [gate.text for gate in self.gates]
            keep(run, refused(evidence_of(run), texts, source, str(error), int(code_for(error))))
            raise
        keep(run, result)
        return result


def held_to(
    gates: Sequence[str | Mapping[str, Any]],
    baseline: str | None,
    *,
    accept_changed: bool = False,
    missing: str = "fail",
) -> Held | None:
    """Gates and baseline of a configuration, ready; None when it has neither.

    missing: ``fail`` or ``pass``, what a baseline means that is not there yet. Raises `ConfigError` for a gate that
    cannot be read, `BaselineError` where one needs a baseline that is not there.
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
    if not drops or baseline is None:
        return Held(parsed, None, accept_changed)
    if missing == "pass" and not Path(baseline).exists():
        return Held(parsed, None, accept_changed, missing=baseline)
    return Held(parsed, load_baseline(baseline), accept_changed)


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
        bool | None,
        typer.Option(
            "--accept-changed/--no-accept-changed",
            help="hold against the baseline although a scenario changed in what it tests",
            show_default=False,
        ),
    ] = None,
    missing_baseline: Annotated[
        MissingBaseline | None,
        typer.Option(
            "--missing-baseline",
            help="a baseline that is not there yet: fail, or pass and do not hold the run to gates that need it "
            "[default: fail]",
            show_default=False,
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", "--md", help="print Markdown")] = False,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Hold a run to gates. Exits 0 when all passed, 1 when one failed, 3 without a verdict, 4 without a baseline."""
    from contextrot.analysis.tables import load_run
    from contextrot.cli.output import console, print_json
    from contextrot.errors import ConfigError
    from contextrot.report.gates import gates_markdown, print_gates

    loaded = load_run(run)
    chosen, against, settings = _settled(loaded, gates, baseline)
    held = held_to(
        chosen,
        against,
        accept_changed=bool(settings.get("accept_changed")) if accept_changed is None else accept_changed,
        missing=str(missing_baseline or settings.get("missing_baseline") or "fail"),
    )
    if held is None:
        raise ConfigError("no gate is given: write one with --gate, or some under gates: in contextrot.yaml")
    result = held.evaluate(loaded)
    if json:
        print_json(result.to_dict())
    elif markdown:
        typer.echo(gates_markdown(result), nl=False)
    else:
        print_gates(result, console())
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _settled(
    run: Run, gates: Sequence[str] | None, baseline: str | None
) -> tuple[list[Any], str | None, dict[str, Any]]:
    """Flags, else contextrot.yaml of this folder (or CONTEXTROT_CONFIG), else what the run was started with.

    With the settings of the file over those of the run.
    """
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
    return chosen, baseline, {**recorded, **file}
