"""`contextrot tasks list` and `contextrot tasks import`: public benchmarks as scenario files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextrot.cli.exits import guarded
from contextrot.cli.output import console, print_json

if TYPE_CHECKING:
    from contextrot.tasks.base import Task

app = typer.Typer(
    help="Public benchmarks as scenarios: list them, import them.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("list")
@guarded
def list_(json: Annotated[bool, typer.Option("--json", help="print JSON")] = False) -> None:
    """List the benchmarks that can be imported, with licence and options."""
    from contextrot.tasks import REGISTRY

    tasks = sorted(REGISTRY.values(), key=lambda task: task.name)
    if json:
        print_json(
            [
                {
                    "name": task.name, "title": task.title, "reads": task.file, "sample": task.sample is not None,
                    "licence": task.licence, "citation": task.citation, "link": task.link,
                    "options": {
                        name: {"default": option.default, "meaning": option.meaning, "choices": list(option.choices)}
                        for name, option in task.options.items()
                    },
                }
                for task in tasks
            ]
        )  # fmt: skip
        return
    _print(tasks)


def _print(tasks: list[Task]) -> None:
    """A paragraph each: too much for the columns of a table."""
    from rich.text import Text

    from contextrot.report.layout import hanging

    rows = []
    for task in tasks:
        rows.append((Text(task.name, style="bold"), Text(task.title)))
        facts = [f"reads {task.file}", f"licence of the data: {task.licence}"]
        for name, option in task.options.items():
            values = " | ".join(option.choices) if option.choices else "a number"
            facts.append(f"--option {name}={values}: {option.meaning} [default: {option.default}]")
        rows += [(Text(), Text(fact)) for fact in facts]
    out = console()
    out.print(hanging(rows))
    out.print("next: contextrot tasks import NAME PATH")


@app.command("import")
@guarded
def import_(
    name: Annotated[str, typer.Argument(help="a benchmark of `contextrot tasks list`")],
    path: Annotated[Path | None, typer.Argument(help="its file or folder on this machine", show_default=False)] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="folder to write to [default: NAME]", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", help="the most scenarios to write")] = 10,
    turns: Annotated[
        int | None, typer.Option("--turns", help="the most user turns of a session", show_default=False)
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="use the small sample that comes with contextrot")] = False,
    judged: Annotated[
        bool, typer.Option("--judged/--no-judged", help="with questions that only a judge model can grade")
    ] = True,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="KEY=VALUE, a setting of the benchmark", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="overwrite files that are there")] = False,
    json: Annotated[bool, typer.Option("--json", help="print as JSON what was written")] = False,
) -> None:
    """Turn a public benchmark into scenario files.

    Each is checked as `contextrot validate` does.
    """
    from contextrot.errors import ConfigError, NothingMatchedError, ScenarioError
    from contextrot.tasks import task, write

    wanted = task(name)
    if sample:
        if path is not None:
            raise ConfigError("--sample takes the sample that comes with contextrot; leave out PATH")
        if wanted.sample is None:
            raise ConfigError(f"no sample of {name} comes with contextrot; it reads {wanted.file}")
        path = wanted.sample
    found = wanted.read(path, limit=limit, turns=turns, judged=judged, **_options(option or []))
    folder = out or Path(name)
    written: list[str] = []
    refused: list[str] = []
    for raw in found.scenarios:
        try:
            written.append(str(write(raw, folder, force=force)))
            if not json:
                typer.echo(f"wrote {written[-1]}")
        except ScenarioError as error:
            refused.append(error.problems[0])
    for reason, count in found.left_out.items():
        typer.echo(f"left out: {count} × {reason}", err=True)
    for problem in refused:
        typer.echo(f"left out, not a valid scenario: {problem}", err=True)
    if not written:
        raise NothingMatchedError(f"{name}: none of {len(found.scenarios)} scenarios is valid; nothing was written")
    with_judge = any('"judge"' in repr(raw).replace("'", '"') for raw in found.scenarios)
    more = " --judge MODEL" if with_judge else ""
    command = f"contextrot bench {shlex.quote(str(folder))} --model MODEL{more}"
    if json:
        left_out = {"left_out": dict(found.left_out), "refused": refused}
        data = {"name": wanted.name, "licence": wanted.licence, "citation": wanted.citation, "link": wanted.link}
        print_json({**data, "files": written, **left_out, "judge": with_judge, "next": command})
        return
    typer.echo(f"{wanted.citation}\n{wanted.link}\nlicence of the data: {wanted.licence}")
    typer.echo(f"next: {command}")


def _options(given: list[str]) -> dict[str, str]:
    from contextrot.errors import ConfigError

    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--option {text}: write KEY=VALUE")
        found[key.strip()] = value.strip()
    return found
