"""`run.json`: what a run was asked to do, by what versions, and the proof that a resumed run is the same one."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from contextrot.bench.matrix import Matrix
from contextrot.bench.plan import DEFAULT_EMBEDDER, digest
from contextrot.bench.redact import redact_keys
from contextrot.bench.store import FORMAT_VERSION, RunDirectory
from contextrot.config import CAPS
from contextrot.errors import StoreError
from contextrot.models import AgentModel, Model, ModelSpec


def manifest_of(matrix: Matrix, directory: RunDirectory, command: str | None) -> dict[str, Any]:
    """`run.json` for this matrix: a new one, or the recorded one after it is proven to be of the same run."""
    config = matrix.config
    identity = {
        "scenarios": {scenario.id: scenario.content_hash for scenario in matrix.scenarios},
        "strategies": {label: strategy.model_dump(mode="json") for label, strategy in matrix.strategies},
        "models": {model.spec.label: _identity(model.spec) for model in matrix.models},
        "auxiliary": _identity(matrix.auxiliary.spec) if matrix.auxiliary else None,
        "embedder": None if config.embedder.to_spec() == DEFAULT_EMBEDDER else _identity(config.embedder.to_spec()),
        **({"judge": _identity(matrix.judges[None].spec)} if matrix.judges else {}),
        "settings": {
            f"{scenario} × {model}": [s.window, s.max_tokens, s.temperature]
            for (scenario, model), s in matrix.settings.items()
        },
        **{name: getattr(config, name) for name in ("turns", "repeats", "seed", "history", "controls")},
    }
    known = directory.read_manifest()
    if known is not None:
        _refuse_other_run(known.get("identity", {}), identity, directory.path)
        known["config"] = {**known.get("config", {}), **{name: getattr(config, name) for name in CAPS}}
        return known
    return {
        "format_version": FORMAT_VERSION,
        "status": "running",
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "config": redact_keys(config.model_dump(mode="json")),
        "identity": identity,
        "identity_hash": digest(identity),
        "scenarios": [
            {"id": s.id, "family": s.family, "title": s.title, "source": str(s.path), "hash": s.content_hash}
            | {"test_hash": s.test_hash, "texts": s.text_hashes}
            for s in matrix.scenarios
        ],
        "models": [
            {
                "label": model.spec.label,
                "id": model.spec.id,
                "window": model.window,
                "simulated": model.simulated,
                "own_memory": isinstance(model, AgentModel),
                "price": _price(model),
            }
            for model in matrix.models
        ],
        "strategies": [label for label, _ in matrix.strategies],
        "auxiliary": matrix.auxiliary.spec.label if matrix.auxiliary else None,
        "judge": matrix.judges[None].spec.label if matrix.judges else None,
        "embedder": config.embedder.name,
        "simulated": any(m.simulated for m in (*matrix.models, *([matrix.auxiliary] if matrix.auxiliary else []))),
        "versions": _versions(),
        "git_commit": _git_commit(),
    }


def _identity(spec: ModelSpec) -> dict[str, Any]:
    """What `run.json` keeps of a model, so that a resumed run asks the same one."""
    return {
        "id": spec.id,
        "params": redact_keys(spec.params),
        "engine": dict(spec.engine),
        "base_url": spec.base_url,
        "roles": spec.roles,
    }


def _price(model: Model | AgentModel) -> dict[str, float | None] | None:
    price = model.price
    return {"prompt": price.prompt, "completion": price.completion, "cached": price.cached} if price else None


def _refuse_other_run(known: Mapping[str, Any], now: Mapping[str, Any], path: Path) -> None:
    names = sorted(name for name in {*known, *now} if known.get(name) != now.get(name))
    differences = [line for name in names for line in _difference(name, known.get(name), now.get(name))]
    if differences:
        lines = "".join(f"\n  {line}" for line in differences)
        raise StoreError(f"{path} holds another run; start a new one or undo the change:{lines}")


def _difference(name: str, was: Any, now: Any) -> Iterator[str]:
    """How one part of a run differs, in words."""
    if name in ("scenarios", "strategies", "models", "settings"):
        was, now = was or {}, now or {}
        for key in dict.fromkeys((*was, *now)):
            if name != "settings" and key not in now:
                yield f"{name}: {key} was there and is not now"
            elif name != "settings" and key not in was:
                yield f"{name}: {key} was not there and is now"
            elif name == "settings" and key in was and key in now:  # else its scenario or model is told already
                for what, before, after in zip(
                    ("window", "max_tokens", "temperature"), was[key], now[key], strict=True
                ):
                    if before != after:
                        yield f"{key}: {what} was {_told(before)}, is now {_told(after)}"
            elif key in was and key in now and was[key] != now[key]:
                yield f"{name}: {key} is not the same any more{_parts(was[key], now[key])}"
    elif isinstance(was, Mapping) and isinstance(now, Mapping) and was.get("id") == now.get("id"):
        yield f"{name}: {now.get('id')} is not the same any more{_parts(was, now)}"
    else:
        yield f"{name}: was {_told(was)}, is now {_told(now)}"


def _parts(was: Any, now: Any) -> str:
    """`` (base_url was …, is now …)`` for what is known part by part; files are known by their hash alone."""
    if not isinstance(was, Mapping) or not isinstance(now, Mapping):
        return " (its file has changed)"
    parts = [
        f"{key} was {_told(was.get(key))}, is now {_told(now.get(key))}"
        for key in dict.fromkeys((*was, *now))
        if was.get(key) != now.get(key)
    ]
    return f" ({'; '.join(parts)})"


def _told(value: Any) -> str:
    """A value without Python's signs: a model is its id."""
    if value is None or value == {}:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return str(value["id"]) if "id" in value else ", ".join(f"{key} {_told(one)}" for key, one in value.items())
    return ", ".join(map(_told, value)) if isinstance(value, list | tuple) else str(value)


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "platform": f"{sys.platform} {platform.machine()}"}
    for name in ("contextrot-bench", "litellm", "xllamacpp"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _git_commit() -> str | None:
    import subprocess

    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
