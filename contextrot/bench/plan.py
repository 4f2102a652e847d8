"""What one session is made of: everything `run_session` needs, resolved, hashed and named before the first call."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import orjson

from contextrot.models.base import ModelSpec
from contextrot.scenario.schema import HistoryArm
from contextrot.scenario.script import Script
from contextrot.strategies.base import Strategy


def digest(value: Any) -> str:
    """12 hex digits that identify a JSON value, whatever the order of its keys."""
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=6).hexdigest()


def slug(text: str, longest: int = 48) -> str:
    """A name for files: letters, digits, dot and dash only; a model name's slashes and colons become dashes."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.").lower()[:longest] or "x"


def seed_of(*parts: object) -> int:
    """A 31-bit seed from what identifies a call. Strategy and model stay out of it, so that both sides are paired."""
    raw = blake2b("\x1f".join(map(str, parts)).encode(), digest_size=4).digest()
    return int.from_bytes(raw, "big") >> 1


DEFAULT_EMBEDDER = ModelSpec("wordllama", "wordllama")


def identity_of(spec: ModelSpec) -> list[Any]:
    """What makes a model another one: its name with the parameters that change what it answers."""
    return [spec.id, dict(spec.params), dict(spec.engine), spec.base_url, spec.roles]


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for every call of a session. Tokens; seconds; `window_source` is `model` or `virtual`."""

    window: int
    window_source: str
    max_tokens: int = 512
    temperature: float = 0.0
    timeout: float = 120.0


@dataclass(frozen=True)
class Plan:
    """One session: a script, a strategy (None: the agent has its own memory, or a control session) and a model.

    The script is expanded when it is first asked for, so that thousands of sessions can be named, and found finished,
    before a word of them is made. `expansion` gives the same script every time; the plans of one repeat share it.
    """

    scenario: str
    scenario_hash: str
    turns: int
    history: HistoryArm
    expansion: Callable[[], Script]
    model: ModelSpec
    strategy: Strategy | None
    strategy_label: str
    repeat: int
    seed: int
    settings: Settings
    simulated: bool = False
    control: bool = False
    #: the model that works for the strategy; None: the session's own
    auxiliary: ModelSpec | None = None
    embedder: ModelSpec = DEFAULT_EMBEDDER
    #: the model that judges replies, where a check of the scenario asks for one
    judge: ModelSpec | None = None
    #: what the scenario has in common with the other cells of its grid; "" for a scenario that is no cell
    family: str = ""

    @property
    def script(self) -> Script:
        """What this session says. Raises `ScenarioError` as `expand` does."""
        return self.expansion()

    @cached_property
    def model_hash(self) -> str:
        """Identifies the model with the parameters that change what it answers."""
        return digest(identity_of(self.model))

    @cached_property
    def strategy_hash(self) -> str:
        """Identifies the strategy with its parameters."""
        return digest(self.strategy.model_dump(mode="json") if self.strategy else self.strategy_label)

    @cached_property
    def key(self) -> str:
        """Name of the session's file: readable first, then a hash of all that makes it another session."""
        settings = self.settings
        identity = [
            self.scenario, self.scenario_hash, self.model.label, self.model_hash, self.strategy_label,
            self.strategy_hash, self.repeat, self.seed, self.history, self.turns, settings.window,
            settings.max_tokens, settings.temperature, self.control,
        ]  # fmt: skip
        # The helpers of the strategy, where they are not those that every session has by itself.
        if self.auxiliary is not None and not self.control:
            identity.append({"auxiliary": identity_of(self.auxiliary)})
        if self.embedder != DEFAULT_EMBEDDER and not self.control:
            identity.append({"embedder": identity_of(self.embedder)})
        if self.judge is not None:
            identity.append({"judge": identity_of(self.judge)})
        # A cell's id says at its end what makes it another one.
        longest = 64 if self.family else 40
        names = (slug(self.scenario, longest), slug(self.model.label, 40), slug(self.strategy_label, 40))
        return "--".join((*names, f"r{self.repeat:03d}", digest(identity)))

    def head(self) -> dict[str, Any]:
        """The first record of the session's file."""
        return {
            "t": "head",
            "v": 1,
            "key": self.key,
            "scenario": self.scenario,
            "scenario_hash": self.scenario_hash,
            "family": self.family or self.scenario,
            "model": self.model.label,
            "model_id": self.model.id,
            "strategy": self.strategy_label,
            "strategy_hash": self.strategy_hash,
            "repeat": self.repeat,
            "seed": self.seed,
            "history": self.history,
            "turns": self.turns,
            "window": self.settings.window or None,
            "window_source": self.settings.window_source,
            "simulated": self.simulated,
            "control": self.control,
            "auxiliary": None if self.auxiliary is None or self.control else self.auxiliary.label,
            "embedder": None if self.control else self.embedder.id,
            "judge": None if self.judge is None else self.judge.label,
        }
