"""What GitHub Actions shows of a run: the step summary, and annotations on the lines of the scenario files.

Both are limited by GitHub (a summary of 1 MiB a step; ten annotations of a kind a step), so that the summary ends
before and the worst ten come first. Formats: docs.github.com, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from contextrot.analysis.cases import SESSION, Case, cases
from contextrot.analysis.gates import GateOutcome
from contextrot.analysis.tables import Run
from contextrot.bench.store import RunDirectory
from contextrot.errors import StoreError
from contextrot.report import markdown
from contextrot.report.gates import gates_first
from contextrot.report.gating import kept, responsible, title
from contextrot.report.junit import what_failed
from contextrot.report.words import one_line
from contextrot.yaml_source import UnreadableError, parse_yaml

#: bytes a summary has at most; GitHub refuses more than 1,048,576 a step
MOST_BYTES = 900_000
#: annotations at most
MOST_ANNOTATIONS = 10
#: characters of one annotation at most
LONGEST = 500
#: the copy of the summary in the run directory, an artefact like the others
FILE = "step-summary.md"
_TITLES = {GateOutcome.FAILED: "failed", GateOutcome.NO_VERDICT: "without a verdict"}
_CUT = "\n\n*The rest is left out, because a summary has a limit: see report.md in the artefacts of this run.*\n"


def step_summary(run: Run, room: int = MOST_BYTES) -> str:
    """The summary as Markdown, of `room` bytes at most: what the gates said first, then the report without pictures."""
    text = gates_first(run, markdown.render(run.summary))
    if len(text.encode()) <= room:
        return text
    if room < len(_CUT.encode()):
        return ""
    whole = text.encode()[: room - len(_CUT.encode())].decode(errors="ignore")
    return whole[: whole.rfind("\n") + 1] + _CUT


def write_step_summary(run: Run, environ: Mapping[str, str] | None = None) -> list[Path]:
    """Write the summary into the run directory, and append it to the file that $GITHUB_STEP_SUMMARY names, if it does.

    Raises `StoreError` when either cannot be written.
    """
    named = (os.environ if environ is None else environ).get("GITHUB_STEP_SUMMARY")
    folder, written = RunDirectory(run.path), [run.path / FILE]
    folder.write(FILE, step_summary(run).encode())
    if named:
        target = Path(named)
        try:
            room = MOST_BYTES - (target.stat().st_size if target.exists() else 0)
            with target.open("ab") as file:
                file.write(folder.redact.line(step_summary(run, max(0, room)).encode()))
        except OSError as error:
            raise StoreError(f"cannot write the step summary to {target}: {error.strerror or error}") from error
        written.append(target)
    return written


def annotate(run: Run, environ: Mapping[str, str] | None = None) -> list[str]:
    """Workflow commands, ten at most: gates that failed or have no verdict, then checks that failed, the worst first.

    Gates that could not be held at all (an unfit baseline, a scope that matches nothing) are errors. That there is no
    baseline yet is a notice, with the command that makes one.

    A failed check stands on the line of its constraint or probe, once for all strategies under which it failed. Where
    the run was held to gates only those show that a failed gate covers, as errors; without gates all do, as warnings.
    """
    environ = os.environ if environ is None else environ
    result = kept(run)
    verdicts = result.verdicts if result is not None else []
    lines = []
    for verdict in verdicts:
        if verdict.outcome in _TITLES:
            level = "warning" if verdict.outcome is GateOutcome.NO_VERDICT and verdict.code == 3 else "error"
            named = {"title": f"contextrot: gate {_TITLES[verdict.outcome]}"}
            lines.append(_command(level, named, f"{title(verdict)}: {verdict.reason}"))
    if result is not None and any(verdict.outcome is GateOutcome.NOT_HELD for verdict in verdicts):
        lines += [_command("notice", {"title": "contextrot: no baseline yet"}, note) for note in result.notes]
    # At least half of the room is for the lines of the scenarios: a gate held against many cells says little more.
    gated = any(verdict.outcome is not GateOutcome.NOT_HELD for verdict in verdicts)
    level = "error" if gated else "warning"
    places = _by_place([case for case in cases(run) if not gated or responsible(case, verdicts)])
    shown = lines[: max(MOST_ANNOTATIONS - len(places), MOST_ANNOTATIONS // 2)]
    for group in places[: MOST_ANNOTATIONS - len(shown)]:
        shown.append(_command(level, _where(group[0], environ), _sentence(group, run.simulated)))
    return shown


def line_of(path: Path, kind: str, name: str) -> int | None:
    """The line (1-based) on which a scenario file states a constraint (kind `passive`) or probe, or None."""
    try:
        root, _ = parse_yaml(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, UnreadableError):
        return None
    listed = root.children.get("probes" if kind == "probe" else "constraints") if root is not None else None
    for node in listed.children.values() if listed is not None else ():
        identity = node.children.get("id")
        if identity is not None and identity.value == name:
            return identity.line
    return None


def _by_place(found: Sequence[Case]) -> list[list[Case]]:
    """Cases with failed checks, those of one check in one file together; the worst first, within and among them."""
    groups: dict[tuple[str, str, str], list[Case]] = {}
    for case in found:
        if case.fails and case.kind != SESSION:
            groups.setdefault((case.source or case.scenario, case.kind, case.id), []).append(case)
    worst_first = [sorted(group, key=_rate, reverse=True) for group in groups.values()]
    return sorted(worst_first, key=lambda group: _rate(group[0]), reverse=True)


def _rate(case: Case) -> float:
    return case.fails / case.decided


def _sentence(group: Sequence[Case], simulated: bool) -> str:
    several = len({case.scenario for case in group}) > 1 or len({case.model for case in group}) > 1
    parts = []
    for case in group:
        name = f"{case.scenario} × {case.model} × {case.strategy}" if several else case.strategy
        parts.append(f"{name}: {what_failed(case)}")
    return ("SIMULATED. " if simulated else "") + "; ".join(parts)


def _where(case: Case, environ: Mapping[str, str]) -> dict[str, str]:
    """File and line, if the scenario lies in the workspace: GitHub takes paths from its root."""
    named = {"title": f"contextrot: {'rule' if case.kind == 'passive' else case.kind} {case.id} in {case.scenario}"}
    path = Path(case.source)
    if not case.source or not path.is_file():
        return named
    try:
        relative = path.resolve().relative_to(Path(environ.get("GITHUB_WORKSPACE") or ".").resolve())
    except ValueError:
        return named
    line = line_of(path, case.kind, case.id)
    return {"file": relative.as_posix(), **({"line": str(line)} if line else {}), **named}


def _command(level: str, properties: Mapping[str, str], message: str) -> str:
    """``::error file=…,line=…,title=…::message``, escaped as the runner reads it (actions/toolkit, command.ts)."""
    named = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{level} {named}::{_data(one_line(message, LONGEST))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text, LONGEST)).replace(":", "%3A").replace(",", "%2C")
