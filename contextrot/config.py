"""`BenchConfig`: the one object behind contextrot.yaml, CONTEXTROT_* variables, flags, the Python API and run.json.

A setting is declared once, here; the command line's options, `contextrot doctor` and the docs are made from the fields.
Precedence: flag > environment > file > default.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from contextrot.errors import ConfigError
from contextrot.gate_grammar import parse_gates
from contextrot.models.base import ModelSpec, Price
from contextrot.models.engine import engine_label, read_engine
from contextrot.yaml_source import Fault, Node, UnreadableError, parse_yaml, split_labels

CONFIG_FILE = "contextrot.yaml"
ENV_PREFIX = "CONTEXTROT_"
#: Variables with our prefix that are not settings of a bench.
_OTHER_VARIABLES = frozenset(
    {"CONTEXTROT_CACHE", "CONTEXTROT_CONFIG", "CONTEXTROT_API_KEY", "CONTEXTROT_BROWSER", "CONTEXTROT_CHROMIUM"}
)


#: Caps on a whole run, in the order in which they are checked. They are no part of what makes a run another one.
CAPS = ("max_calls", "max_total_tokens", "max_cost")


class PriceEntry(BaseModel):
    """USD per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    prompt: Annotated[float, Field(ge=0, description="USD per million prompt tokens")]
    completion: Annotated[float, Field(ge=0, description="USD per million completion tokens")]
    cached: Annotated[float, Field(ge=0, description="USD per million cached prompt tokens")] | None = None


class ModelEntry(BaseModel):
    """A model of the matrix with its own settings. A bare name in `models:` is an entry with only `id`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: Annotated[str, Field(min_length=1, description="model name, e.g. openai/gpt-4.1-mini or local/smollm2-135m")]
    label: Annotated[
        str, Field(description="name in tables and plots; default: the id, with the engine settings behind it")
    ] = ""
    window: Annotated[int, Field(ge=1, description="context window in tokens, where it is not known")] | None = None
    price: PriceEntry | None = None
    params: Annotated[dict[str, Any], Field(description="sent to the provider as they are")] = {}
    base_url: str | None = None
    api_key_env: Annotated[str, Field(description="name of the variable that holds the key")] | None = None
    engine: Annotated[
        dict[str, Any],
        Field(description="settings of a local/ engine, e.g. '{kv_cache: q4_0}'; each makes another model"),
    ] = {}
    roles: Annotated[Literal["strict_alternation"], Field(description="role rules of the chat template")] | None = None

    @model_validator(mode="after")
    def _engine_can_work(self) -> ModelEntry:
        if self.engine and not self.id.startswith("local/"):
            raise ValueError(
                f"{self.id} has engine settings, but only local/ models take them; a server's are set where it is "
                "started: give each of its variants a label of its own (docs/guides/engine-variants.md)"
            )
        try:
            read_engine(self.engine, self.id)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def name(self) -> str:
        """The name in tables: the label, or the id with the engine settings that were given."""
        if self.label or not self.engine:
            return self.label or self.id
        return f"{self.id} ({engine_label(self.engine)})"

    def to_spec(self) -> ModelSpec:
        """The value the models' room works with."""
        price = None if self.price is None else Price(self.price.prompt, self.price.completion, self.price.cached)
        return ModelSpec(
            id=self.id,
            label=self.name,
            window=self.window,
            price=price,
            params=self.params,
            base_url=self.base_url,
            api_key_env=self.api_key_env,
            engine=self.engine,
            roles=self.roles,
        )


class BenchConfig(BaseModel):
    """Everything a bench depends on besides the scenario files themselves."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    scenarios: Annotated[
        list[str], Field(min_length=1, description="scenario files, folders, shipped ids or suites to replay")
    ] = ["quick"]
    models: Annotated[
        list[ModelEntry],
        Field(
            min_length=1,
            description="models: provider/model, endpoint/MODEL@URL, local/…, sim/…, python:module:factory",
        ),
    ] = [ModelEntry(id="local/smollm2-135m")]
    strategies: Annotated[
        list[str | dict[str, Any]],
        Field(
            min_length=1, description="context strategies: names, or mappings such as '{type: fifo, keep: {turns: 4}}'"
        ),
    ] = ["full", {"type": "fifo", "keep": {"turns": 6}}, {"type": "pinned", "keep": {"turns": 6}}]
    turns: Annotated[int, Field(ge=1, description="turns of a session, instead of the scenario's own")] | None = None
    repeats: Annotated[int, Field(ge=1, description="sessions for each scenario × strategy × model")] = 5
    seed: Annotated[
        int, Field(ge=0, description="draws fact values and filler; the same seed replays the same script")
    ] = 0
    window: (
        Annotated[int, Field(ge=64, description="virtual window in tokens, smaller than the model's own")] | None
    ) = None
    history: (
        Annotated[
            Literal["live", "scripted", "gold"],
            Field(description="who writes the assistant turns, instead of the scenario's own choice"),
        ]
        | None
    ) = None
    max_tokens: (
        Annotated[
            int,
            Field(
                ge=1, description="longest reply in tokens; reserved in the window (a cap on the run: max_total_tokens)"
            ),
        ]
        | None
    ) = None
    temperature: Annotated[float, Field(ge=0, le=2, description="sampling temperature")] = 0.0
    auxiliary: (
        Annotated[
            ModelEntry,
            Field(
                description="model that writes summaries and notes for strategies, e.g. extractive; default: the "
                "session's own"
            ),
        ]
        | None
    ) = None
    embedder: Annotated[
        ModelEntry,
        Field(description="embedding model for strategies that retrieve: wordllama (offline) or provider/model"),
    ] = ModelEntry(id="wordllama")
    judge: (
        Annotated[
            ModelEntry,
            Field(description="model that `judge` checks ask about replies; its calls cost on top. default: none"),
        ]
        | None
    ) = None
    max_cost: (
        Annotated[float, Field(gt=0, description="USD the whole run may cost; needs a known price of every model")]
        | None
    ) = None
    max_total_tokens: (
        Annotated[int, Field(ge=1, description="tokens the whole run may take, prompts and replies together")] | None
    ) = None
    max_calls: Annotated[int, Field(ge=1, description="calls the whole run may make, each attempt counted")] | None = (
        None
    )
    timeout: Annotated[float, Field(gt=0, description="seconds to wait for one call")] = 120.0
    max_attempts: Annotated[int, Field(ge=1, le=20, description="times a call is asked when the provider fails")] = 6
    concurrency: Annotated[int, Field(ge=1, le=1024, description="sessions in flight at once")] = 8
    controls: Annotated[bool, Field(description="ask each probe's ceiling and floor control")] = True
    gates: Annotated[
        list[str | dict[str, Any]],
        Field(description="what the run must keep to, e.g. 'median >= 30 turns' or 'rmst: -10%'"),
    ] = []
    baseline: (
        Annotated[str, Field(description="baseline file or run directory that gates such as 'rmst: -10%' hold against")]
        | None
    ) = None
    missing_baseline: Annotated[
        Literal["fail", "pass"],
        Field(
            description="a baseline that is not there yet: fail, or pass and do not hold the run to gates that need it"
        ),
    ] = "fail"
    accept_changed: Annotated[
        bool, Field(description="compare with the baseline although a scenario changed in what it tests")
    ] = False
    out: Annotated[str, Field(description="folder of the run; default: a new one under results/")] | None = None

    @field_validator("scenarios", "strategies", "models", "gates", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any, info: ValidationInfo) -> Any:
        entries = [value] if isinstance(value, (str, dict)) else value
        if info.field_name != "models" or not isinstance(entries, (list, tuple)):
            return entries
        return [{"id": entry} if isinstance(entry, str) else entry for entry in entries]

    @field_validator("gates")
    @classmethod
    def _gates_can_be_read(cls, value: list[str | dict[str, Any]]) -> list[str | dict[str, Any]]:
        try:
            parse_gates(value)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("auxiliary", "embedder", "judge", mode="before")
    @classmethod
    def _a_name_is_a_model(cls, value: Any) -> Any:
        return {"id": value} if isinstance(value, str) else value

    @field_validator("models")
    @classmethod
    def _labels_differ(cls, value: list[ModelEntry]) -> list[ModelEntry]:
        labels = [entry.name for entry in value]
        for label in labels:
            if labels.count(label) > 1:
                raise ValueError(f"two models are called {label!r}; give each its own label")
        return value


class Resolved(BaseModel):
    """A configuration with where each setting came from: `flag`, a variable's name, `file:line` or `default`."""

    model_config = ConfigDict(frozen=True)
    config: BenchConfig
    sources: dict[str, str]


def resolve(
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
    *,
    file: Path | None = None,
) -> Resolved:
    """Settle every setting. `flags` holds only what was given; `file` is read when it is named or lies in this folder.

    Raises `ConfigError` naming every faulty setting and where it was set.
    """
    values: dict[str, Any] = {}
    sources = dict.fromkeys(BenchConfig.model_fields, "default")
    problems: list[str] = []
    path = file or (Path(CONFIG_FILE) if Path(CONFIG_FILE).is_file() else None)
    if path is not None:
        content, lines = read_config_file(path)
        for name, value in content.items():
            if name not in BenchConfig.model_fields:
                problems.append(f"{path}:{lines[name]}: {_unknown(name)}")
                continue
            values[name], sources[name] = value, f"{path}:{lines[name]}"
    for variable, text in sorted(environ.items()):
        if not variable.startswith(ENV_PREFIX) or variable in _OTHER_VARIABLES:
            continue
        name = variable[len(ENV_PREFIX) :].lower()
        if name not in BenchConfig.model_fields:
            problems.append(f"{variable}: {_unknown(name)}")
            continue
        values[name], sources[name] = from_text(name, text), variable
    for name, value in flags.items():
        values[name], sources[name] = value, flag_of(name)
    try:
        config = BenchConfig(**values)
    except ValidationError as error:
        problems += _faults(error, sources)
    if problems:
        raise ConfigError("\n".join(problems))
    return Resolved(config=config, sources=sources)


def read_yaml_file(path: Path) -> tuple[Node | None, list[Fault]]:
    """The tree of a YAML file that is no scenario, and its faults. Raises `ConfigError` when there is no reading it."""
    try:
        return parse_yaml(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text") from error
    except UnreadableError as error:
        raise ConfigError(f"{path}:{error.fault.line}: {error.fault.sentence}") from error


def read_config_file(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """The settings of a configuration file and the line of each. Raises `ConfigError` with every fault of its YAML."""
    root, faults = read_yaml_file(path)
    if faults:
        raise ConfigError("\n".join(f"{path}:{fault.line}: {fault.sentence}" for fault in faults))
    if root is None or (root.kind == "scalar" and root.value is None):
        return {}, {}
    if root.kind != "map":
        raise ConfigError(f"{path}:{root.line}: a configuration is a map of `setting: value` lines")
    return root.data(), dict(root.keys)


def validated(values: Mapping[str, Any]) -> BenchConfig:
    """A configuration from values alone, as the Python API takes them. Raises `ConfigError` naming every fault."""
    unknown = [_unknown(name) for name in values if name not in BenchConfig.model_fields]
    if unknown:
        raise ConfigError("\n".join(unknown))
    try:
        return BenchConfig(**values)
    except ValidationError as error:
        raise ConfigError("\n".join(_faults(error, {}))) from error


def _faults(error: ValidationError, sources: Mapping[str, str]) -> list[str]:
    """One line a fault: where it was set, which part of the setting, what is wrong."""
    lines = []
    for fault in error.errors():
        name = str(fault["loc"][0]) if fault["loc"] else ""
        inner = ".".join(str(part) for part in fault["loc"])
        where = sources.get(name)
        message = fault["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        what = f"{inner} should be {message}" if fault["msg"].startswith("Input should be ") else f"{inner}: {message}"
        if not isinstance(fault["input"], dict | list | BaseModel):
            what += f", not {fault['input']!r}"
        lines.append((f"{where}: " if where else "") + what)
    return lines


def flag_of(name: str) -> str:
    """The flag of a setting. Repeatable ones read better in the singular; scenarios are the command's arguments."""
    return {"models": "--model", "strategies": "--strategy", "gates": "--gate", "scenarios": "SCENARIOS"}.get(
        name, f"--{name.replace('_', '-')}"
    )


def from_text(name: str, text: str) -> Any:
    """The value of a setting written as text (a flag or a variable): lists may be separated by commas.

    A text that is the path of something on this disk is that path, whatever signs are in it.
    """
    import yaml

    is_list = name in ("scenarios", "models", "strategies", "gates")
    if name in ("scenarios", "models") and os.path.exists(text.removeprefix("local/") if name == "models" else text):
        return [text]
    if text.lstrip().startswith(("{", "[")):
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"{name}: {text!r} is not valid YAML: {error}") from error
    if name == "gates":
        # A comma may stand in a number or a scope; in a variable gates are kept apart by semicolons.
        return [part.strip() for part in text.split(";") if part.strip()]
    if is_list:
        if name == "strategies":  # may be labels, as tables show them: `pinned(keep=3 turns, …)`
            return split_labels(text)
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _unknown(name: str) -> str:
    same_words = [field for field in BenchConfig.model_fields if sorted(field.split("_")) == sorted(name.split("_"))]
    close = same_words or difflib.get_close_matches(name, BenchConfig.model_fields, 1)
    return f"unknown setting {name!r}" + (f"; did you mean {close[0]!r}?" if close else "")
