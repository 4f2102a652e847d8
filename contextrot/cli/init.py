"""`contextrot init`: a runnable scenario, a configuration and a CI file to start from."""

from __future__ import annotations

from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer


class Ci(StrEnum):
    """Where the CI file is for."""

    GITHUB = "github"
    GITLAB = "gitlab"
    NONE = "none"


#: What the CI files install, as it stands in them.
PACKAGE = "contextrot-bench"
_CI_FILES = {Ci.GITHUB: ".github/workflows/contextrot.yml", Ci.GITLAB: ".gitlab-ci.contextrot.yml"}


def init(
    folder: Annotated[Path, typer.Argument(help="where to write")] = Path(),
    ci: Annotated[Ci, typer.Option("--ci", help="which CI file to write")] = Ci.GITHUB,
    package: Annotated[
        str,
        typer.Option("--package", help="what the CI file installs: a version, a path in your repository, a git URL"),
    ] = PACKAGE,
    force: Annotated[bool, typer.Option("--force", help="overwrite files that are there")] = False,
) -> None:
    """Write a scenario that runs as it is, settings and a CI file.

    contextrot.yaml and the JSON Schemas for editors lie beside it.
    """
    import orjson

    from contextrot.bench.config_schema import config_schema
    from contextrot.errors import ConfigError, StoreError
    from contextrot.scenario import json_schema

    starter = files("contextrot.cli") / "starter"
    indented = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    content = {
        "scenarios/my-first.yaml": (starter / "scenario.yaml").read_bytes(),
        "contextrot.yaml": (starter / "contextrot.yaml").read_bytes(),
        "contextrot.schema.json": orjson.dumps(json_schema(), option=indented),
        "contextrot.config.schema.json": orjson.dumps(config_schema(), option=indented),
    }
    if ci is not Ci.NONE:
        template = (starter / f"{ci.value}.yml").read_text(encoding="utf-8")
        setting = "PACKAGE: "
        # A JSON text is a YAML text too, whatever is in it.
        named = PACKAGE if package == PACKAGE else orjson.dumps(package).decode()
        content[_CI_FILES[ci]] = template.replace(setting + PACKAGE, setting + named).encode()
    there = [name for name in content if (folder / name).exists()]
    if there and not force:
        raise ConfigError(f"{', '.join(there)} exist already in {folder.resolve()}; --force overwrites them")
    try:
        for name, text in content.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            typer.echo(f"wrote {path}")
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from error
    where = "" if folder == Path() else f"cd {folder} && "
    typer.echo(f"next: {where}contextrot validate scenarios/my-first.yaml && contextrot bench")
