"""Write docs/cli.md from the command line itself: `python docs/generate_cli.py`.

A test compares the file with what this makes, so that the page says what the code does.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from contextrot.cli import app
from contextrot.config import BenchConfig

#: Options that are settings: told once, for all commands that take them. Scenarios are an argument.
SETTINGS = (BenchConfig.model_fields.keys() | {"config_file"}) - {"scenarios"}
PAGE = Path(__file__).parent / "cli.md"
INTRODUCTION = """\
# Command line

<!-- Made by docs/generate_cli.py from the code; a change here would be undone. -->

Every command and option, as `contextrot COMMAND --help` prints them. What they do together is in
[reference.md](reference.md): [models](reference.md#models), [caps](reference.md#what-a-bench-takes-plan-and-the-caps),
[gates](reference.md#comparisons-gates-and-baselines), [exit codes](reference.md#exit-codes),
[settings](reference.md#settings).
"""


def page() -> str:
    """The whole page."""
    return INTRODUCTION + "".join(_sections())


def _sections() -> Iterator[str]:
    for name, command in _commands(typer.main.get_command(app), "contextrot"):
        yield f"\n## {name}\n\n"
        summary, _, rest = inspect.cleandoc(command.help or "").partition("\n\n")
        yield f"*{' '.join(summary.split())}*\n"
        if rest:
            yield f"\n{rest.strip()}\n"
        shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        arguments = [parameter for parameter in shown if parameter.param_type_name == "argument"]
        options = [parameter for parameter in shown if parameter.param_type_name == "option"]
        own = [option for option in options if option.name not in SETTINGS] if _takes_settings(command) else options
        usage = " ".join([name, *(["[OPTIONS]"] if options else []), *map(_placeholder, arguments)])
        yield f"\n```text\n{usage}\n```\n"
        yield from _table("argument", arguments)
        yield from _table("option", own)
        if own is not options:
            yield "\nAnd every [setting](#settings).\n"
    yield "\n## Settings\n\nOf `doctor`, `plan` and `bench`. [Where else they can stand](reference.md#settings).\n"
    bench = typer.main.get_command(app).commands["bench"]
    yield from _table("option", [parameter for parameter in bench.params if parameter.name in SETTINGS])


def _table(title: str, parameters: list[Any]) -> Iterator[str]:
    if parameters:
        yield f"\n| {title} | meaning |\n|---|---|\n"
        yield from (f"| {_written(row)} | {_meaning(row)} |\n" for row in parameters)


def _takes_settings(command: Any) -> bool:
    return {parameter.name for parameter in command.params} >= SETTINGS


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The commands that do something, those of groups under the group's name, in the order of `--help`."""
    for word, inner in getattr(command, "commands", {}).items():
        if getattr(inner, "commands", None):
            yield from _commands(inner, f"{name} {word}")
        elif not inner.hidden:
            yield f"{name} {word}", inner


def _placeholder(argument: Any) -> str:
    name = argument.name.rstrip("_").upper() + ("…" if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _written(parameter: Any) -> str:
    """The argument, or all spellings of an option with what it takes."""
    if parameter.param_type_name == "argument":
        return f"`{_placeholder(parameter)}`"
    spellings = [*parameter.opts, *parameter.secondary_opts]
    if parameter.is_flag:
        return ", ".join(f"`{spelling}`" for spelling in spellings)
    return ", ".join(f"`{spelling} {_takes(parameter)}`" for spelling in spellings)


def _takes(option: Any) -> str:
    if option.metavar:
        return str(option.metavar)
    kind = getattr(_annotation(option), "__name__", "")
    return {"int": "N", "float": "X", "Path": "PATH"}.get(kind, "VALUE")


def _annotation(parameter: Any) -> Any:
    """What typer parses: a Python type since 0.20, a kind of click's before."""
    return parameter.type_descriptor.annotation if hasattr(parameter, "type_descriptor") else parameter.type


def _choices(parameter: Any) -> list[str]:
    annotation = _annotation(parameter)
    if typing.get_origin(annotation) is list:
        [annotation] = typing.get_args(annotation)
    if inspect.isclass(annotation) and issubclass(annotation, Enum):
        return [str(choice.value) for choice in annotation]
    return [str(choice) for choice in getattr(annotation, "choices", ())]


def _meaning(parameter: Any) -> str:
    text = " ".join((parameter.help or "").split()).replace("|", "\\|").replace("<", "&lt;")
    if choices := _choices(parameter):
        text += f" ({' · '.join(f'`{choice}`' for choice in choices)})"
    notes = ["required"] if parameter.required and parameter.param_type_name == "option" else []
    default = parameter.default
    if parameter.show_default and default not in (None, False, (), []) and not callable(default):
        shown = parameter.opts[0] if default is True else getattr(default, "value", default)
        notes.append(f"default: `{shown}`")
    return text + (f" ({'; '.join(notes)})" if notes else "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
