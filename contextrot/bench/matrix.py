"""The matrix: scenario × strategy × model × repeat, with everything it names loaded, checked and planned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial

from contextrot.bench.budget import refuse_unpriced
from contextrot.bench.embedding import missing_key
from contextrot.bench.judging import judges_in, load_judges
from contextrot.bench.plan import DEFAULT_EMBEDDER, Plan, Settings
from contextrot.config import BenchConfig
from contextrot.errors import ConfigError, MissingKeyError
from contextrot.models import AgentModel, Model, create_model, prepare
from contextrot.models.base import Price
from contextrot.scenario import Scenario, expand, load_scenarios
from contextrot.scenario.script import Script
from contextrot.strategies import Strategy, load_strategy, strategy_label

#: Longest reply when neither the scenario nor the user says: enough for a JSON object with a sentence in it.
DEFAULT_MAX_TOKENS = 512
OWN_MEMORY = "own memory"
CONTROL = "control"


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
