"""Scenario files: read, checked as a whole, every fault listed as ``path:line: sentence`` (DESIGN §4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from contextrot.errors import ScenarioError
from contextrot.scenario.consistency import contradictions
from contextrot.scenario.expand import expand
from contextrot.scenario.library import resolve
from contextrot.scenario.mending import Where, mend, rests_on
from contextrot.scenario.problems import faults_of, unclear_scalars
from contextrot.scenario.schema import Scenario
from contextrot.scenario.transcript import read_transcript
from contextrot.yaml_source import Fault, Node, UnreadableError, parse_yaml

#: Bytes above which a scenario file is refused.
MAX_BYTES = 1_000_000


def load_scenario(path: str | Path) -> Scenario:
    """Read one scenario file.

    Raises `ScenarioError` whose `problems` are all faults of the file, by line.
    """
    name = str(path)
    try:
        text = _read(Path(path))
    except UnreadableError as error:
        raise ScenarioError(_located(name, [error.fault])) from None
    except OSError as error:
        raise ScenarioError(f"{name}: {_why(error)}") from None
    return parse_scenario(text, path)


def load_scenarios(names: Iterable[str | Path]) -> list[Scenario]:
    """Read scenarios by path, folder, suite or shipped id, in that order, each file once.

    Raises `ScenarioError` with the problems of all files, and for two files with one scenario id.
    """
    paths: dict[Path, Path] = {}  # by where they lead, so that a file named twice is read once
    problems: list[str] = []
    for name in names:
        try:
            for path in resolve(name):
                paths.setdefault(path.resolve(), path)
        except ScenarioError as error:
            problems += error.problems
    scenarios: dict[str, Scenario] = {}
    for path in paths.values():
        try:
            scenario = load_scenario(path)
        except ScenarioError as error:
            problems += error.problems
            continue
        if scenario.id in scenarios:
            other = scenarios[scenario.id].path
            problems.append(f"{path}: the scenario id `{scenario.id}` is also used by {other}; give one another id")
        scenarios[scenario.id] = scenario
    if problems:
        raise ScenarioError(problems)
    return list(scenarios.values())


def parse_scenario(text: str, path: str | Path = "scenario.yaml") -> Scenario:
    """A scenario from YAML text; `path` is named in errors and is where relative paths start from.

    Raises `ScenarioError` like `load_scenario`.
    """
    try:
        root, faults = parse_yaml(text)
    except UnreadableError as error:
        raise ScenarioError(_located(str(path), [error.fault])) from None
    if root is None or (root.kind == "scalar" and root.value is None):
        raise ScenarioError(_located(str(path), [Fault(1, "the file is empty; `contextrot init` writes an example")]))
    if root.kind != "map":
        kind = "a list" if root.kind == "list" else "a text"
        raise ScenarioError(
            _located(str(path), [Fault(root.line, f"a scenario is a map of `key: value` lines, this is {kind}")])
        )
    scenario, found = _build(root, Path(path))
    if scenario is None or faults or found:
        raise ScenarioError(_located(str(path), [*faults, *found]))
    return scenario


def _build(root: Node, path: Path) -> tuple[Scenario | None, list[Fault]]:
    """The scenario, and all faults of its parts and of their agreement.

    A faulty part is mended with a stand-in and the rest is looked at again, so that one run tells all faults of a file.
    """
    data = root.data()
    faults: list[Fault] = []
    wrong: set[Where] = set()
    for where, fault in unclear_scalars(root):
        faults.append(fault)
        wrong.update(mend(data, where))
    scenario: Scenario | None = None
    for attempt in range(4):
        try:
            scenario = Scenario.model_validate(data, context={"base_dir": path.parent})
            break
        except ValidationError as error:
            for where, fault in faults_of(error, root, Scenario):
                if attempt == 0:  # what a later attempt finds follows from what was mended
                    faults.append(fault)
                wrong.update(mend(data, where))
    if scenario is None:
        return None, faults
    scenario._path = path
    for where, sentence in _with_transcript(scenario):
        faults.append(Fault(root.line_of(where), sentence))
        wrong.add(where)
    for finding in contradictions(scenario):
        if not any(rests_on(where, wrong) for where in (finding.path, *finding.rests_on)):
            cause = f" (line {root.line_of(finding.about)})" if finding.about is not None else ""
            faults.append(Fault(root.line_of(finding.path), finding.sentence + cause))
    if not faults:
        faults += _gold_faults(scenario, root)
    return scenario, faults


def _gold_faults(scenario: Scenario, root: Node) -> Iterator[Fault]:
    """Turns of a gold history without a reply that keeps the rules: only writing the session out tells."""
    crossed = scenario.grid is not None and scenario.grid.history is not None
    line = root.line_of(("grid", "history") if crossed else ("session", "history"))
    for cell in scenario.cells():
        if cell.session.history == "gold":
            try:
                expand(cell, seed=0, repeat=0)
            except ScenarioError as error:
                yield from (Fault(line, problem) for problem in error.problems)


def _with_transcript(scenario: Scenario) -> Iterator[tuple[Where, str]]:
    """Read the transcript a scenario names into it; yields what is wrong with it."""
    name = scenario.filler.transcript
    if name is None:
        return
    base = scenario.base_dir.resolve()
    target = (base / name).resolve()
    if not target.is_relative_to(base):
        yield (
            ("filler", "transcript"),
            f"the transcript {name} is outside the scenario's folder; put it beside the file",
        )
        return
    try:
        scenario._transcript = read_transcript(target)
    except (ValueError, OSError) as error:
        yield ("filler", "transcript"), _why(error) if isinstance(error, OSError) else str(error)


def _read(path: Path) -> str:
    """The text of a scenario file. Raises `OSError`, or `UnreadableError` for what is not a text of sensible size."""
    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise UnreadableError(
            1, f"the file is larger than {MAX_BYTES // 1_000_000} MB; move long turns to a transcript"
        )
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableError(1, "the file is UTF-16; save it as UTF-8")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UnreadableError(line, "this line is not UTF-8; save the file as UTF-8") from None


def _why(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if isinstance(error, IsADirectoryError):
        return "this is a folder, not a scenario file"
    return f"the file cannot be read ({(error.strerror or str(error)).lower()})"


def _located(name: str, faults: Iterable[Fault]) -> list[str]:
    """Faults as ``path:line: sentence``, by line, each once."""
    ordered = sorted(dict.fromkeys(faults), key=lambda fault: fault.line)
    return [f"{name}:{fault.line}: {fault.sentence}" for fault in ordered]
