"""`contextrot doctor`: what would be used and where it was set, before anything is sent."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextrot.cli.output import print_json, print_table
from contextrot.config import ModelEntry, Resolved

if TYPE_CHECKING:
    from contextrot.models.base import ModelSpec

_KEY_NAME = re.compile(r"(API_KEY|_TOKEN|ACCESS_KEY_ID|SECRET_ACCESS_KEY)$")
_PACKAGES = ("contextrot-bench", "litellm", "xllamacpp", "huggingface_hub", "matplotlib", "statsmodels")


def doctor(resolved: Resolved, json: Annotated[bool, typer.Option("--json", help="print JSON")] = False) -> None:
    """Show each setting with its source, keys, and the models.

    Of keys only which are present; of models what is known of window and price.
    """
    report: dict[str, Any] = {
        "settings": [
            {"setting": name, "value": _plain(getattr(resolved.config, name)), "source": source}
            for name, source in resolved.sources.items()
        ],
        # Names only: a key's value is never read further than to see that it is not empty.
        "keys": sorted(name for name, value in os.environ.items() if value and _KEY_NAME.search(name)),
        "models": [
            _model(entry)
            for entry in (*resolved.config.models, resolved.config.auxiliary, resolved.config.judge)
            if entry
        ],
        "embedder": _embedder(resolved.config.embedder.to_spec()),
        "versions": _versions(),
    }
    if json:
        print_json(report)
        return
    _print(report)


def _print(report: dict[str, Any]) -> None:
    """What was set first and the defaults after it; what is not ready last, where the eye falls."""
    rows = [[row["setting"], _written(row["value"]), row["source"]] for row in report["settings"]]
    print_table("Settings", ["setting", "value", "from"], sorted(rows, key=lambda row: row[2] == "default"))
    keys = ", ".join(report["keys"]) or "none"
    typer.echo(f"\nKeys in the environment (values are never shown): {keys}")
    versions = ", ".join(f"{name} {text}" for name, text in report["versions"].items())
    typer.echo(f"Versions: {versions}\n")
    rows = [
        [
            row["model"],
            "unknown: set window" if row["window"] is None else f"{row['window']:,}",
            *("unknown" if row["price"] is None else f"{row['price'][name]:g}" for name in ("prompt", "completion")),
            row["state"],
        ]
        for row in report["models"]
    ]
    heads = ["model", "window,\ntokens", "USD per\nmillion in", "USD per\nmillion out", "state"]
    print_table(
        "", heads, [*rows, [report["embedder"]["model"], "–", "–", "–", report["embedder"]["state"]]], heads[1:4]
    )


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [getattr(entry, "id", entry) for entry in value]
    return getattr(value, "id", value)


def _written(value: Any) -> str:
    """A setting as it would stand in contextrot.yaml; a dash where it is not set."""
    import yaml

    if value is None or value == []:
        return "–"
    if isinstance(value, list | dict):
        return yaml.safe_dump(value, default_flow_style=True, width=1000, sort_keys=False, allow_unicode=True).strip()
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _model(entry: ModelEntry) -> dict[str, Any]:
    """What is known of a model without asking it anything that costs money; None where it is not known."""
    import asyncio

    from contextrot.errors import ContextrotError
    from contextrot.models import create_model, missing_key, prepare

    row: dict[str, Any] = {"model": entry.label or entry.id, "window": None, "price": None, "state": "ready"}
    try:
        model = create_model(entry.to_spec())
    except ContextrotError as error:
        return row | {"state": str(error)}

    async def look() -> str:
        try:
            # A server is asked for its window; weights are not loaded and litellm is not imported for a look.
            if entry.id.startswith("endpoint/"):
                await prepare(model)
            elif entry.id.startswith("local/"):
                await prepare(model, fetch=False)
        except ContextrotError as error:
            return str(error)
        finally:
            await model.close()
        return missing_key(model.spec) or ("key set, not asked" if _needs_key(entry.id) else "ready")

    row["state"] = asyncio.run(look())
    price = model.price
    usd = {"prompt": price.prompt, "completion": price.completion} if price else None
    return row | {"window": model.window or None, "price": usd}


def _embedder(spec: ModelSpec) -> dict[str, str]:
    """The model of `retrieval`: whether it can be asked, as far as that shows without asking."""
    from contextrot.bench.embedding import missing_key
    from contextrot.errors import ContextrotError
    from contextrot.models.embedders import create_embedder

    try:
        create_embedder(spec)
    except ContextrotError as error:
        return {"model": spec.label, "state": str(error)}
    return {"model": spec.label, "state": missing_key(spec) or "ready"}


def _needs_key(model_id: str) -> bool:
    return not model_id.startswith(("endpoint/", "local/", "sim/", "python:"))


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions
