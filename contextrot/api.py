"""`cr.bench(...)`: the bench as one Python call, the same code as the command line's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextrot.analysis.tables import Run, load_run, write_tables
from contextrot.bench.matrix import load_matrix
from contextrot.bench.runner import Progress, new_run_directory, run
from contextrot.config import BenchConfig
from contextrot.config import validated as validated_config


def bench(
    scenarios: str | Path | Sequence[str | Path],
    *,
    models: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]] | None = None,
    strategies: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]] | None = None,
    turns: int | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    window: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Run:
    """Run a bench and return its tables. Arguments are the settings of contextrot.yaml; None means the default.

    An `out` folder that holds the same run already is resumed; a finished one is loaded without a call.
    Raises `ConfigError`, `ScenarioError`, `MissingKeyError` before the first call, `StoreError` for the folder.
    """
    names = [scenarios] if isinstance(scenarios, (str, Path)) else list(scenarios)
    given = {
        "scenarios": [str(name) for name in names],
        "models": models,
        "strategies": strategies,
        "turns": turns,
        "repeats": repeats,
        "seed": seed,
        "window": window,
        "out": None if out is None else str(out),
        **settings,
    }
    config: BenchConfig = validated_config({name: value for name, value in given.items() if value is not None})
    matrix = load_matrix(config)
    with new_run_directory(config) as directory:
        _wait_for(run(matrix, directory, progress))
    loaded = load_run(directory.path)
    write_tables(loaded)
    return loaded


def _wait_for(work: Coroutine[Any, Any, Any]) -> None:
    """Run to the end, also where an event loop runs already (a notebook): then in a thread with a loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    failed: list[BaseException] = []

    def target() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=target, name="contextrot-bench")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
