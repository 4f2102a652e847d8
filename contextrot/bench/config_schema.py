"""The JSON Schema of contextrot.yaml: what `BenchConfig` takes, with the parameters of every registered strategy."""

from __future__ import annotations

from typing import Any

from contextrot.config import BenchConfig
from contextrot.strategies import strategies_schema


def config_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a configuration file, self-contained: what editors use.

    A setting that is a list may be one value, and a model may be its name alone, as the loader has it.
    """
    schema = BenchConfig.model_json_schema()
    strategies = strategies_schema()
    definitions = schema.pop("$defs") | strategies.pop("$defs")
    properties = schema["properties"]
    properties["strategies"]["items"] = strategies
    properties["models"]["items"] = _named(properties["models"]["items"])
    for name in ("auxiliary", "embedder", "judge"):
        properties[name] = _named(properties[name])
    for name in ("scenarios", "models", "strategies"):
        several = properties[name]
        described = {key: several.pop(key) for key in ("description", "title", "default") if key in several}
        properties[name] = described | {"anyOf": [several["items"], several]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "contextrot.yaml",
        "$defs": definitions,
    }


def _named(entry: dict[str, Any]) -> dict[str, Any]:
    """A model as a mapping, or its name alone."""
    return {"anyOf": [{"type": "string", "minLength": 1}, *entry.pop("anyOf", [entry])]}
