"""The shipped scenarios, and names into files: a path, a folder, a suite, or a shipped id."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from contextrot.errors import ScenarioError
from contextrot.scenario.problems import did_you_mean
from contextrot.yaml_source import UnreadableError, parse_yaml

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Shipped:
    """A scenario that comes with contextrot."""

    suite: str
    id: str
    path: Path
    title: str


def library_dir() -> Path:
    """The folder of shipped scenarios: inside the package when installed, `scenarios/` in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_scenarios"
    return installed if installed.is_dir() else package.parent / "scenarios"


def suites() -> tuple[str, ...]:
    """Names of the shipped suites."""
    folder = library_dir()
    if not folder.is_dir():
        return ()
    return tuple(sorted(child.name for child in folder.iterdir() if child.is_dir() and _files(child)))


def shipped() -> list[Shipped]:
    """All shipped scenarios, by suite and id."""
    return [
        Shipped(suite, path.stem, path, _title(path)) for suite in suites() for path in _files(library_dir() / suite)
    ]


def resolve(name: str | Path) -> list[Path]:
    """The scenario files a user means by `name`: a file, all files of a folder, a suite, a shipped id, in that order.

    Raises `ScenarioError` for a name that is none of these.
    """
    path = Path(name)
    if path.is_dir():
        found = _files(path) or [file for child in sorted(path.iterdir()) if child.is_dir() for file in _files(child)]
        if not found:
            raise ScenarioError(f"{name}: the folder holds no scenario file (*.yaml)")
        return found
    if path.is_file():
        return [path]
    if str(name) in suites():
        return _files(library_dir() / str(name))
    by_id = {entry.id: entry.path for entry in shipped()}
    if str(name) in by_id:
        return [by_id[str(name)]]
    if path.suffix in _SUFFIXES or len(path.parts) > 1:
        raise ScenarioError(f"{name}: there is no such file")
    raise ScenarioError(
        f"`{name}` is neither a file, a folder, a suite nor a shipped scenario{did_you_mean(name, [*suites(), *by_id])}"
    )


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix in _SUFFIXES and file.is_file())


def _title(path: Path) -> str:
    """The title line of a file, without checking the rest."""
    try:
        root, _ = parse_yaml(path.read_text(encoding="utf-8-sig"))
    except (UnreadableError, OSError, UnicodeDecodeError):
        return ""
    title = root.children.get("title") if root is not None else None
    return title.text if title is not None else ""
