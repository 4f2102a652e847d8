"""A run: the sessions of a matrix, side by side, into one run directory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from contextrot.bench.agents import AgentSession
from contextrot.bench.budget import Budget, Meter, Spent, recorded
from contextrot.bench.caller import Caller, Listener
from contextrot.bench.controls import ControlSession
from contextrot.bench.embedding import RecordedEmbedder
from contextrot.bench.gate import Gate, Throttle
from contextrot.bench.hints import Hints
from contextrot.bench.manifest import manifest_of
from contextrot.bench.matrix import Matrix, settle
from contextrot.bench.plan import Plan, slug
from contextrot.bench.session import Session
from contextrot.bench.store import FINAL_ENDS, RunDirectory
from contextrot.config import BenchConfig
from contextrot.errors import ConfigError, ModelError, ScenarioError, StoreError
from contextrot.messages import Usage
from contextrot.models import AgentModel, Model, ModelSpec
from contextrot.models.base import Price
from contextrot.outcomes import Ended
from contextrot.strategies import load_strategy
from contextrot.tokens import TokenCounter


class Progress(Listener, Protocol):
    """Hears how a run goes on. `cli/progress.py` shows it; tests and the Python API may pass their own."""

    def on_start(self, sessions: int, finished: int) -> None:
        """The matrix is known: how many sessions it has, how many of them a resumed run has already."""

    def on_session(self, key: str, ended: Ended) -> None:
        """One session ended."""

    def on_wait(self, model: str, seconds: float, reason: str) -> None:
        """A model's gate waits before it asks again."""


class Silent:
    """Shows nothing."""

    def on_start(self, sessions: int, finished: int) -> None:
        """Ignore."""

    def on_session(self, key: str, ended: Ended) -> None:
        """Ignore."""

    def on_call(self, usage: Usage, *, asked: bool) -> None:
        """Ignore."""

    def on_wait(self, model: str, seconds: float, reason: str) -> None:
        """Ignore."""


async def run(
    matrix: Matrix, directory: RunDirectory, progress: Progress | None = None, *, command: str | None = None
) -> dict[str, Any]:
    """Run every session that is not finished yet and return the manifest (`run.json`).

    A session that goes wrong is data; what stops the run is the directory (`StoreError`) or a cancellation, after which
    the same call on the same directory goes on where this one stopped.
    """
    try:
        await settle(matrix)
        return await _run_settled(matrix, directory, progress or Silent(), command)
    finally:
        for model in (*matrix.models, *([matrix.auxiliary] if matrix.auxiliary else []), *matrix.judges.values()):
            await model.close()


async def _run_settled(
    matrix: Matrix, directory: RunDirectory, progress: Progress, command: str | None
) -> dict[str, Any]:
    manifest = manifest_of(matrix, directory, command)
    plans = list(matrix.plans())
    todo = deque(plan for plan in plans if _is_open(plan, matrix, directory))
    if todo and (rescored := manifest.get("rescored")):
        raise StoreError(
            f"{directory.path} was rescored from {rescored.get('from')} with other checks than its sessions were run "
            f"with, and {len(todo)} of them are not finished: resume {rescored.get('from')} and rescore it then"
        )
    sessions, finished = len(plans), len(plans) - len(todo)
    del plans  # a plan holds its script from its first use on: it must not outlive its session
    manifest["sessions"] = sessions
    if not todo and manifest.get("status") == "completed":
        progress.on_start(sessions, sessions)
        return manifest
    budget = Budget(matrix.config)
    if budget.capped:
        budget.spent = recorded(directory.path / "sessions", matrix.prices()).most(Spent(**manifest.get("spent", {})))
    manifest["status"] = "running"
    manifest.pop("limit", None)
    directory.write_manifest(manifest)
    progress.on_start(sessions, finished)
    try:
        cut = await _run_all(matrix, todo, directory, progress, budget)
        manifest["status"] = "completed"
        if budget.reached:
            manifest["status"] = "limited"
            manifest["limit"] = {
                "cap": budget.reached,
                "value": budget.caps[budget.reached],
                "completed": sessions - cut - len(todo),
                "cut": cut,
                "not_started": len(todo),
            }
    except BaseException as error:
        stopped = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
        manifest["status"] = "interrupted" if stopped else "failed"
        raise
    finally:
        if budget.capped:
            manifest["spent"] = budget.to_dict()
        manifest["finished"] = datetime.now(UTC).isoformat(timespec="seconds")
        directory.write_manifest(manifest)
    return manifest


def _is_open(plan: Plan, matrix: Matrix, directory: RunDirectory) -> bool:
    """True for a session that is still to be run, or in which a judge could not be asked.

    A session of an agent with its own memory cannot be replayed: it is not run anew for the sake of a vote.
    """
    if directory.ended(plan.key) not in FINAL_ENDS:
        return True
    own_memory = any(isinstance(model, AgentModel) and model.spec == plan.model for model in matrix.models)
    return bool(matrix.judges) and not own_memory and directory.lacks_votes(plan.key)


async def _run_all(
    matrix: Matrix, todo: deque[Plan], directory: RunDirectory, progress: Progress, budget: Budget
) -> int:
    """Run the sessions, and take each from `todo` when it starts; returns how many a cap cut short.

    Once a cap has ended a session no other is begun: what is left serves those under way.
    """
    config, cut = matrix.config, 0
    hints = Hints()
    by_label = {model.spec.label: model for model in matrix.models}

    def gate(model: Model) -> Gate:
        told = _told(progress, model.spec.label)
        return Gate(
            model,
            concurrency=config.concurrency,
            max_attempts=config.max_attempts,
            meter=meter(model.spec, model.price),
            on_wait=told,
        )

    def meter(spec: ModelSpec, price: Price | None) -> Meter:
        return Meter(budget, spec.label, price, spec.params)

    gates = {label: gate(model) for label, model in by_label.items() if not isinstance(model, AgentModel)}
    helper = gate(matrix.auxiliary) if matrix.auxiliary else None
    judges = {
        name: gates[model.spec.label] if model in matrix.models else gate(model)
        for name, model in matrix.judges.items()
    }
    throttle = Throttle(
        concurrency=config.concurrency,
        max_attempts=config.max_attempts,
        on_wait=_told(progress, config.embedder.name),
    )
    counters = {
        label: TokenCounter(None if isinstance(model, AgentModel) else model.count_tokens)
        for label, model in by_label.items()
    }

    embeds = meter(config.embedder.to_spec(), matrix.prices().get(config.embedder.to_spec().label))

    async def worker() -> None:
        nonlocal cut
        while todo and not budget.reached:
            plan = todo.popleft()
            label = plan.model.label
            file = directory.session(plan.key).open()
            try:
                model = by_label[label]
                if isinstance(model, AgentModel):
                    asker = (
                        Caller(plan, judges[None], file, counters[label], progress, None, judges) if judges else None
                    )
                    agent = AgentSession(plan, model, file, progress, asker, meter(plan.model, model.price))
                    file.discard()
                    file.emit(plan.head())
                    ended = await (agent.controls() if plan.control else agent.run())
                else:
                    caller = Caller(plan, gates[label], file, counters[label], progress, helper, judges)
                    embedder = RecordedEmbedder(plan.embedder, file, throttle, embeds)
                    file.emit(plan.head())
                    kind = ControlSession if plan.control else Session
                    ended = await kind(caller, plan.strategy or load_strategy("full"), hints, embedder).run()
            finally:
                file.close()
            cut += ended is Ended.LIMIT
            progress.on_session(plan.key, ended)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(config.concurrency, len(todo))):
                group.create_task(worker())
    except* StoreError as errors:
        raise _first(errors) from None
    except* (ConfigError, ModelError, ScenarioError) as errors:
        raise _first(errors) from None
    return cut


def _told(progress: Progress, label: str) -> Callable[[float, str], None]:
    return lambda seconds, reason: progress.on_wait(label, seconds, reason)


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def new_run_directory(config: BenchConfig) -> RunDirectory:
    """The folder `config.out` names, or a new one under results/ named after the time and what is benched."""
    if config.out:
        return RunDirectory.at(Path(config.out))
    names = [slug(Path(name).stem, 24) for name in config.scenarios[:2]]
    names += [slug(entry.label or entry.id, 24) for entry in config.models[:2]]
    return RunDirectory.create(Path("results"), "-".join(names))
