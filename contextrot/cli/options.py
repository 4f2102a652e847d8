"""The options of `bench` and `doctor`, made from the fields of `BenchConfig`: a setting is declared once."""

from __future__ import annotations

import inspect
import os
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from contextrot.config import BenchConfig, Resolved, flag_of, from_text, resolve

_REPEATABLE = ("models", "strategies", "gates")
_LISTS = ("scenarios", *_REPEATABLE)
#: Settings that are a model: a name, or a mapping with the address, the window and so on.
_MODELS = ("auxiliary", "embedder", "judge")


def _python_type(field: FieldInfo) -> Any:
    """The bare type a flag parses: int, float, bool or text."""
    annotation = field.annotation
    options = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    for option in options:
        bare = typing.get_args(option)[0] if typing.get_origin(option) is Annotated else option
        if bare in (int, float, bool):
            return bare
    return str


def _described(field: FieldInfo) -> str:
    """The field's description, wherever in its annotation it was written."""
    if field.description:
        return field.description
    for option in typing.get_args(field.annotation):
        for extra in getattr(option, "__metadata__", ()):
            if getattr(extra, "description", None):
                return str(extra.description)
    return ""


def _default_text(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if default is None or default == []:
        return ""
    if isinstance(default, list):
        default = ", ".join(_written(entry) for entry in default)
    return f" [default: {_written(default)}]"


def _written(entry: Any) -> str:
    """A model or strategy as it would stand on the command line."""
    import yaml

    if isinstance(entry, dict):
        return yaml.safe_dump(entry, default_flow_style=True, width=1000, sort_keys=False).strip()
    return str(getattr(entry, "id", entry))


def with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command one option for each setting. It receives the settled configuration as `resolved`."""
    own = inspect.signature(command, eval_str=True).parameters
    parameters = [parameter for name, parameter in own.items() if name != "resolved"]
    for name, field in BenchConfig.model_fields.items():
        text = _described(field) + _default_text(field)
        if name == "scenarios":
            option: Any = Annotated[list[str] | None, typer.Argument(help=text, show_default=False)]
        elif name in _REPEATABLE:
            flag = flag_of(name)
            option = Annotated[list[str] | None, typer.Option(flag, help=text + " (repeatable)", show_default=False)]
        elif _python_type(field) is bool:
            flag = "--{0}/--no-{0}".format(name.replace("_", "-"))
            option = Annotated[bool | None, typer.Option(flag, help=text, show_default=False)]
        else:
            kind = _python_type(field)
            option = Annotated[kind | None, typer.Option("--" + name.replace("_", "-"), help=text, show_default=False)]
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option))
    config_option = Annotated[
        Path | None,
        typer.Option(
            "--config", help="configuration file [default: contextrot.yaml if there is one]", show_default=False
        ),
    ]
    parameters.append(
        inspect.Parameter("config_file", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=config_option)
    )

    def run(**given: Any) -> Any:
        file = given.pop("config_file")
        given["resolved"] = settle(given, file)
        return command(**{name: value for name, value in given.items() if name in own})

    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = command.__doc__
    run.__name__ = command.__name__
    return run


def settle(given: dict[str, Any], file: Path | None) -> Resolved:
    """Flags as typer parsed them, with the environment and the file, settled into one configuration."""
    flags: dict[str, Any] = {}
    for name in BenchConfig.model_fields:
        value = given.get(name)
        if value is None or value == []:
            continue
        if name in _LISTS:
            parts = [from_text(name, text) for text in value]
            value = [entry for part in parts for entry in (part if isinstance(part, list) else [part])]
        flags[name] = from_text(name, str(value)) if name in _MODELS else value
    return resolve(flags, os.environ, file=file or _config_from_environment())


def _config_from_environment() -> Path | None:
    named = os.environ.get("CONTEXTROT_CONFIG")
    return Path(named) if named else None
