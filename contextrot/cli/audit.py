"""`contextrot audit TRANSCRIPT …`: a recorded session measured as it is, without a call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contextrot.analysis.audit import RuleToCheck


def audit(
    transcripts: Annotated[list[Path], typer.Argument(help="transcript files; several are compared, a session each")],
    scenario: Annotated[
        str | None, typer.Option("--scenario", help="apply the checks of this scenario's constraints (file or id)")
    ] = None,
    check: Annotated[
        list[str] | None,
        typer.Option("--check", help="apply a check to every answer, as YAML: '{type: json}' (repeatable)"),
    ] = None,
    since: Annotated[int, typer.Option("--from", min=1, help="the turn --check applies from")] = 1,
    window: Annotated[
        int | None, typer.Option("--window", min=1, help="the model's context window in tokens", show_default=False)
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="name the format instead of recognising it", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Measure recorded sessions as they are, without a call.

    Rules kept, tool use, repeated actions, occupancy, compactions.
    """
    from dataclasses import replace

    from contextrot.analysis.audit import as_data, rules_of, sessions_survival, without_secrets
    from contextrot.analysis.audit import audit as measure
    from contextrot.cli.output import console, print_json
    from contextrot.errors import ConfigError
    from contextrot.report.audit import print_audit, print_several
    from contextrot.scenario import load_scenario
    from contextrot.scenario.library import resolve
    from contextrot.transcripts import read_transcripts
    from contextrot.transcripts.redaction import Scrubber

    rules = []
    for path in resolve(scenario) if scenario is not None else ():
        rules += rules_of(load_scenario(path))
    if scenario is not None and not rules:
        raise ConfigError(f"{scenario} has no constraint with a check, so there is nothing to apply to a transcript")
    rules += _given(check or [], since)
    read = []
    for path in transcripts:
        for one in read_transcripts(path, format):
            of_file = len(transcripts) == 1 or one.name.startswith(path.name)
            read.append(one if of_file else replace(one, name=f"{path.name}: {one.name}"))
    longest = max(one.turns for one in read)
    if check and since > longest:
        raise ConfigError(f"--from {since} is past the last turn ({longest})")
    scrubber = Scrubber()
    audits = [without_secrets(measure(one, rules, window=window), scrubber) for one in read]
    survival = sessions_survival(audits) if len(audits) > 1 else None
    if json:
        length = None
        if survival is not None:
            length = {"median": survival.median, "low": survival.low, "high": survival.high, "n": survival.n}
        print_json({"sessions": [as_data(one) for one in audits], "turns_to_first_failure": length})
    elif len(audits) == 1:
        print_audit(audits[0], console())
    else:
        print_several(audits, survival, console())


def _given(checks: list[str], since: int) -> list[RuleToCheck]:
    """The checks given as YAML, each under the name of its type."""
    import yaml

    from contextrot.analysis.audit import RuleToCheck
    from contextrot.checks import load_check
    from contextrot.errors import ConfigError

    found = []
    for number, text in enumerate(checks, 1):
        try:
            raw = yaml.safe_load(text)
        except yaml.YAMLError:
            raise ConfigError(f"--check {text!r} is not YAML; write it as in a scenario: '{{type: json}}'") from None
        loaded = load_check(raw)
        if loaded.fact_ids():
            raise ConfigError(f"--check {text!r} looks up a fact, and a transcript states none; use another check")
        found.append(RuleToCheck(f"{loaded.type_name}{f'-{number}' if len(checks) > 1 else ''}", loaded, since))
    return found
