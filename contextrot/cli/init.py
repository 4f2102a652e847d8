"""`contextrot init`: a scenario, settings and a CI file to start from, or a CI file for what is there already."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from contextrot.cli.output import print_json


class Ci(StrEnum):
    """Where the CI file is for."""

    GITHUB = "github"
    GITLAB = "gitlab"
    NONE = "none"


#: What the CI files install, as it stands in them.
PACKAGE = "contextrot-bench"
_CI_FILES = {Ci.GITHUB: ".github/workflows/contextrot.yml", Ci.GITLAB: ".gitlab-ci.contextrot.yml"}
#: a limit that holds for the starter's scenario and strategies, and need not for others
_FLOOR = "median >= 10 turns [strategy=pinned]; "
_SCENARIO, _SETTINGS = "scenarios/my-first.yaml", "contextrot.yaml"


def init(
    folder: Annotated[Path, typer.Argument(help="where to write")] = Path(),
    ci: Annotated[Ci, typer.Option("--ci", help="which CI file to write")] = Ci.GITHUB,
    package: Annotated[
        str,
        typer.Option("--package", help="what the CI file installs: a version, a path in your repository, a git URL"),
    ] = PACKAGE,
    force: Annotated[
        bool, typer.Option("--force", help="overwrite the CI file and the schemas; with --all everything")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="with --force: overwrite the scenario and the settings too")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="print as JSON what was written")] = False,
) -> None:
    """Write a scenario that runs as it is, settings and a CI file.

    contextrot.yaml and the JSON Schemas for editors lie beside it. What is there already is kept, so that
    `contextrot init --ci gitlab` adds a CI file to a project that has scenarios and settings of its own.
    """
    from contextrot.errors import ConfigError, StoreError

    if everything and not force:
        raise ConfigError("--all belongs to --force: it overwrites the scenario and contextrot.yaml as well")
    starter = _starter()
    own = not everything and _has_own(folder, starter)
    if own:
        starter.pop(_SCENARIO)
    content = starter | _schemas() | _ci_file(ci, package, folder, own=own)
    kept = [
        name
        for name in content
        if (folder / name).exists() and not everything and not (force and name not in (_SCENARIO, _SETTINGS))
    ]
    written = [name for name in content if name not in kept]
    try:
        for name in written:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content[name])
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from error
    where = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    command = f"{where}contextrot validate {_scenarios(folder)} && contextrot bench"
    notes = _notes(ci, package, written, kept, own=own, forced=force)
    if json:
        shown = {"files": [str(folder / name) for name in written], "kept": [str(folder / name) for name in kept]}
        print_json(shown | {"notes": notes, "next": command})
        return
    for word, names in (("wrote", written), ("kept ", kept)):
        for name in names:
            typer.echo(f"{word} {folder / name}")
    for note in notes:
        typer.echo(f"note: {note}")
    typer.echo(f"next: {command}")


def _starter() -> dict[str, bytes]:
    starter = files("contextrot.cli") / "starter"
    return {
        _SCENARIO: (starter / "scenario.yaml").read_bytes(),
        _SETTINGS: (starter / "contextrot.yaml").read_bytes(),
        "results/.gitignore": b"# Runs are not committed; what is to last goes into a baseline file.\n*\n!.gitignore\n",
    }


def _schemas() -> dict[str, bytes]:
    import orjson

    from contextrot.bench.config_schema import config_schema
    from contextrot.scenario import json_schema

    indented = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return {
        "contextrot.schema.json": orjson.dumps(json_schema(), option=indented),
        "contextrot.config.schema.json": orjson.dumps(config_schema(), option=indented),
    }


def _has_own(folder: Path, starter: Mapping[str, bytes]) -> bool:
    """Whether the folder holds scenarios or settings that are not the starter's."""
    there = {str(path.relative_to(folder)) for path in (folder / "scenarios").glob("**/*.y*ml")} | (
        {_SETTINGS} if (folder / _SETTINGS).exists() else set()
    )
    return any(name not in starter or (folder / name).read_bytes() != starter[name] for name in there)


def _ci_file(ci: Ci, package: str, folder: Path, *, own: bool) -> dict[str, bytes]:
    import orjson

    if ci is Ci.NONE:
        return {}
    text = (files("contextrot.cli") / "starter" / f"{ci.value}.yml").read_text(encoding="utf-8")
    if own:
        text = text.replace(_FLOOR, "").replace("validate scenarios", f"validate {_scenarios(folder)}")
    setting = "PACKAGE: "
    # A JSON text is a YAML text too, whatever is in it.
    named = PACKAGE if package == PACKAGE else orjson.dumps(package).decode()
    text = text.replace(setting + PACKAGE, setting + named)
    if package == PACKAGE and (why := _not_from_an_index()):
        text = text.replace(f"  {setting}", f"  # {why}\n  {setting}")
    return {_CI_FILES[ci]: text.encode()}


def _scenarios(folder: Path) -> str:
    """The scenarios of the settings that are there, as arguments; `scenarios` where they name none."""
    import yaml

    try:
        settings = yaml.safe_load((folder / _SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return "scenarios"
    found = settings.get("scenarios") if isinstance(settings, dict) else None
    names = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return shlex.join(map(str, names)) or "scenarios"


def _not_from_an_index() -> str:
    """A sentence on what a runner can install where this contextrot is a checkout; empty for an installed release."""
    from importlib.metadata import PackageNotFoundError, distribution

    import orjson

    try:
        origin = orjson.loads(distribution(PACKAGE).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, orjson.JSONDecodeError):
        origin = {"dir_info": {}}
    if "vcs_info" in origin:
        commit = origin["vcs_info"].get("commit_id", "COMMIT")
        return f"Made from a repository: PACKAGE: git+{origin['url']}@{commit} installs the same."
    if not origin:
        return ""
    return (
        "Made from a checkout: if the index has no contextrot-bench, set PACKAGE to "
        "git+https://HOST/OWNER/contextrot@COMMIT"
    )


def _notes(ci: Ci, package: str, written: list[str], kept: list[str], *, own: bool, forced: bool) -> list[str]:
    notes = []
    file = _CI_FILES.get(ci, "")
    if own and file in written:
        notes.append(
            f"{file} holds runs to a baseline alone; add limits of your own to CONTEXTROT_GATES in it, such as "
            "'median >= 30 turns'"
        )
    if file in written and package == PACKAGE and (why := _not_from_an_index()):
        notes.append(f"{file} has PACKAGE: {PACKAGE}, which pip looks for on the runner's package index. {why}")
    if kept:
        how = "--force --all overwrites it all" if forced else "--force overwrites the CI file and the schemas"
        notes.append(f"what was there is kept; {how}")
    return notes
