"""The matrix: scenario × strategy × model × repeat, as sessions run side by side into one run directory."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from contextrot.bench.agents import AgentSession
from contextrot.bench.budget import Budget, Meter, Spent, recorded, refuse_unpriced
from contextrot.bench.caller import Caller, Listener
from contextrot.bench.controls import ControlSession
from contextrot.bench.embedding import RecordedEmbedder, missing_key
from contextrot.bench.gate import Gate, Throttle
from contextrot.bench.hints import Hints
from contextrot.bench.judging import judges_in, load_judges
from contextrot.bench.plan import DEFAULT_EMBEDDER, Plan, Settings, digest, slug
from contextrot.bench.redact import redact_keys
from contextrot.bench.session import Session
from contextrot.bench.store import FINAL_ENDS, FORMAT_VERSION, RunDirectory
from contextrot.config import CAPS, BenchConfig
from contextrot.errors import ConfigError, MissingKeyError, ModelError, ScenarioError, StoreError
from contextrot.messages import Usage
from contextrot.models import AgentModel, Model, ModelSpec, create_model, prepare
from contextrot.models.base import Price
from contextrot.outcomes import Ended
from contextrot.scenario import Scenario, expand, load_scenarios
from contextrot.scenario.script import Script
from contextrot.strategies import Strategy, load_strategy, strategy_label
from contextrot.tokens import TokenCounter

#: Longest reply when neither the scenario nor the user says: enough for a JSON object with a sentence in it.
DEFAULT_MAX_TOKENS = 512
OWN_MEMORY = "own memory"
CONTROL = "control"


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


@dataclass(frozen=True)
class Matrix:
    """A configuration with everything it names loaded and checked: what a run is made of, before its first call."""

    config: BenchConfig
    scenarios: list[Scenario]
    strategies: list[tuple[str, Strategy]]
    models: list[Model | AgentModel]
    #: the model that works for the strategies; None: each session's own
    auxiliary: Model | None = None
    #: the models that judge replies, by the name a check gives; None is the bench's own
    judges: dict[str | None, Model] = field(default_factory=dict)
    settings: dict[tuple[str, str], Settings] = field(default_factory=dict)

    def plans(self) -> Iterator[Plan]:
        """Every session, repeats outermost: when a run is cut short, what is there is balanced."""
        # The first repeat is expanded here: it tells what has controls, and a fault of the script shows before a call.
        controlled = {s.id: bool(self._expand(s, 0).controls) and self.config.controls for s in self.scenarios}
        for repeat in range(self.config.repeats):
            for scenario in self.scenarios:
                expansion = cache(partial(self._expand, scenario, repeat))
                for model in self.models:
                    kinds: list[tuple[str, Strategy | None]] = list(self.strategies)
                    if isinstance(model, AgentModel):
                        kinds = [(OWN_MEMORY, None)]
                    if controlled[scenario.id]:
                        kinds = [(CONTROL, None), *kinds]
                    for label, strategy in kinds:
                        yield Plan(
                            scenario=scenario.id,
                            scenario_hash=scenario.content_hash,
                            turns=self.config.turns or scenario.session.turns,
                            history=self.config.history or scenario.session.history,
                            expansion=expansion,
                            model=model.spec,
                            strategy=strategy,
                            strategy_label=label,
                            repeat=repeat,
                            seed=self.config.seed,
                            settings=self.settings[scenario.id, model.spec.label],
                            simulated=model.simulated or (label != CONTROL and self._simulated_helper),
                            control=label == CONTROL,
                            auxiliary=self.auxiliary.spec if self.auxiliary else None,
                            embedder=self.config.embedder.to_spec(),
                            judge=self.judges[None].spec if self.judges and judges_in(scenario) else None,
                            family=scenario.family if scenario.family != scenario.id else "",
                        )

    def prices(self) -> dict[str, Price | None]:
        """What each model asks for (USD per million tokens), by label; None where it is not known.

        That of a provider's embedding model is among them.
        """
        models = [*self.models, *([self.auxiliary] if self.auxiliary else []), *self.judges.values()]
        prices = {model.spec.label: model.price for model in models}
        spec = self.config.embedder.to_spec()
        if spec != DEFAULT_EMBEDDER:
            from contextrot.models.embedders import create_embedder

            per_token = create_embedder(spec).backend.price
            prices[spec.label] = None if per_token is None else Price(per_token * 1_000_000, 0.0)
        return prices

    @property
    def _simulated_helper(self) -> bool:
        """What a simulated model summarised is as little real as what one answered."""
        return self.auxiliary is not None and self.auxiliary.simulated

    def _expand(self, scenario: Scenario, repeat: int) -> Script:
        config = self.config
        return expand(scenario, seed=config.seed, repeat=repeat, turns=config.turns, history=config.history)


def load_matrix(config: BenchConfig) -> Matrix:
    """Load scenarios, strategies and models of a configuration; nothing is sent.

    Raises `ScenarioError` or `ConfigError` with every fault found.
    """
    scenarios = _cells(load_scenarios(config.scenarios), config)
    strategies = [load_strategy(raw) for raw in config.strategies]
    labelled = [(strategy_label(strategy), strategy) for strategy in strategies]
    for kind, names in (("scenario", [s.id for s in scenarios]), ("strategy", [label for label, _ in labelled])):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(f"the {kind} {twice[0]!r} is named twice; each cell of the matrix needs its own name")
    models = [create_model(entry.to_spec()) for entry in config.models]
    matrix = Matrix(config, scenarios, labelled, models, _helper(config), load_judges(config, scenarios, models))
    if config.max_cost is not None:
        refuse_unpriced(config, matrix.prices())
    return matrix


def _cells(scenarios: list[Scenario], config: BenchConfig) -> list[Scenario]:
    """Every scenario to run: the cells of those with a grid. Raises `ConfigError` for a setting that a grid crosses.

    A setting that overrode an axis would run every cell of it alike under names that say otherwise.
    """
    for scenario in scenarios:
        crossed = scenario.grid.axes if scenario.grid is not None else {}
        for name in ("turns", "history"):
            if name in crossed and getattr(config, name) is not None:
                raise ConfigError(
                    f"{name}: the grid of scenario {scenario.id!r} crosses `{name}` ({scenario.path}), so it cannot be "
                    f"set to {getattr(config, name)} for all; leave the setting out, or the axis"
                )
    return [cell for scenario in scenarios for cell in scenario.cells()]


def _helper(config: BenchConfig) -> Model | None:
    """The auxiliary model, if the configuration names one. Raises `ConfigError`, also for an unusable `embedder`."""
    if config.embedder.to_spec() != DEFAULT_EMBEDDER:
        from contextrot.models.embedders import create_embedder

        create_embedder(config.embedder.to_spec())
    if config.auxiliary is None:
        return None
    helper = None if config.auxiliary.id.startswith("python:") else create_model(config.auxiliary.to_spec())
    if helper is None or isinstance(helper, AgentModel):
        raise ConfigError(f"auxiliary: {config.auxiliary.id} is an agent; summaries are written by a model")
    return helper


async def settle(matrix: Matrix) -> None:
    """Ask each model what has to be known before the first call: weights there, key there, window known."""
    for model in matrix.models:
        await prepare(model)
        for scenario in matrix.scenarios:
            matrix.settings[scenario.id, model.spec.label] = settings_of(matrix.config, scenario, model)
    for judge in matrix.judges.values():
        if judge not in matrix.models:
            await prepare(judge)
    sentence = missing_key(matrix.config.embedder.to_spec())
    if sentence:
        raise MissingKeyError(sentence)
    if matrix.auxiliary is not None:
        await prepare(matrix.auxiliary)
        window, largest = matrix.auxiliary.window, max(settings.window for settings in matrix.settings.values())
        if window is not None and window < largest:
            raise ConfigError(
                f"auxiliary: the window of {matrix.auxiliary.spec.label} ({window:,} tokens) is smaller than that of "
                f"the sessions it is to summarise ({largest:,}); choose another, or set a smaller --window"
            )


def settings_of(config: BenchConfig, scenario: Scenario, model: Model | AgentModel) -> Settings:
    """What holds for every call of a session of this model. Raises `ConfigError` for a window that is not known."""
    own = model.window
    wanted = config.window or scenario.session.window
    if isinstance(model, AgentModel):
        # Its memory is its own: a window matters only for occupancy, where the agent says how long its prompts are.
        return Settings(own or wanted or 0, "model", config.max_tokens or DEFAULT_MAX_TOKENS, 0.0, config.timeout)
    if own is None and wanted is None:
        raise ConfigError(
            f"the context window of {model.spec.label} is not known; set it: --window N, or "
            f"models: [{{id: {model.spec.id}, window: N}}]"
        )
    window = min(filter(None, (own, wanted)))
    virtual = own is None or window < own
    max_tokens = config.max_tokens or scenario.session.max_tokens or min(DEFAULT_MAX_TOKENS, window // 4)
    if max_tokens >= window:
        raise ConfigError(
            f"max_tokens ({max_tokens}) leaves no room for a prompt in a window of {window} tokens; "
            "it is the longest reply: a cap on the whole run is max_total_tokens"
        )
    return Settings(window, "virtual" if virtual else "model", max_tokens, config.temperature, config.timeout)


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
    manifest = _manifest(matrix, directory, command)
    plans = list(matrix.plans())
    todo = deque(plan for plan in plans if directory.ended(plan.key) not in FINAL_ENDS)
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


def _manifest(matrix: Matrix, directory: RunDirectory, command: str | None) -> dict[str, Any]:
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
    differences = [
        f"\n  {name}: was {known.get(name)!r}, is now {now.get(name)!r}"
        for name in sorted({*known, *now})
        if known.get(name) != now.get(name)
    ]
    if differences:
        raise StoreError(f"{path} holds another run; start a new one or undo the change:" + "".join(differences))


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


def new_run_directory(config: BenchConfig) -> RunDirectory:
    """The folder `config.out` names, or a new one under results/ named after the time and what is benched."""
    if config.out:
        return RunDirectory.at(Path(config.out))
    names = [slug(Path(name).stem, 24) for name in config.scenarios[:2]]
    names += [slug(entry.label or entry.id, 24) for entry in config.models[:2]]
    return RunDirectory.create(Path("results"), "-".join(names))
