"""What a comparison is made of: its limits, tiers, sides, effects and rows (`analysis/compare.py` makes them)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from contextrot.analysis.paired import FEWEST_PAIRS

if TYPE_CHECKING:
    from contextrot.analysis.choice import Choice

#: what a difference is taken of, with what it is called
METRICS = {
    "restricted_mean": "restricted mean session length",
    "compliance": "compliance after turn 0",
    "tool_calls": "tool-call rate",
}


class Tier(StrEnum):
    """What a comparison came to."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    STABLE = "stable"
    INCONCLUSIVE = "inconclusive"
    INSUFFICIENT_DATA = "insufficient_data"


@dataclass(frozen=True, slots=True)
class Limits:
    """When a difference is one. Shares are 0-1.

    margins: the smallest effect that matters: of the restricted mean as a share of the baseline's, of rates in points.
    alpha: false alarms allowed over the whole comparison. min_pairs: fewer are `insufficient_data`. max_unfinished:
    share of sessions (or of verdicts) on a side that may be without a result. level: of the intervals.
    """

    margin_length: float = 0.10
    margin_compliance: float = 0.05
    margin_tool_calls: float = 0.10
    alpha: float = 0.05
    level: float = 0.95
    min_pairs: int = FEWEST_PAIRS
    max_unfinished: float = 0.2
    resamples: int = 1999
    flips: int = 1999
    seed: int = 0

    def margin(self, metric: str, baseline: float | None) -> float:
        """The margin of a metric in its own unit: turns, or a share."""
        if metric == "restricted_mean":
            return self.margin_length * (baseline or 0.0)
        return self.margin_compliance if metric == "compliance" else self.margin_tool_calls


@dataclass(frozen=True, slots=True)
class Effect:
    """The difference in one metric, candidate minus baseline, in turns (restricted mean) or as a share (rates).

    p_adjusted: Holm over all effects of the comparison. needed: pairs with which a difference of the margin would be
    seen four times of five, None where no spread is known. reason: a sentence why the tier is what it is.
    """

    metric: str
    unit: str
    baseline: float | None
    candidate: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    pairs: int
    margin: float
    method: str
    tier: Tier
    needed: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Side:
    """What one side of a row brought: sessions, those without a result, and its median length in words.

    tokens, cost (USD): mean of its sessions, None where not all know theirs.
    """

    label: str
    sessions: int
    unfinished: int
    ended: dict[str, int]
    median: str
    fired: bool
    tokens: float | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: a strategy on a model in a scenario; `scenario` None: pooled over scenarios, pairs as they are.

    logrank_p: two-sided, unpaired, stratified by scenario; None where there is nothing to test. ranked: False for a
    strategy that never fired, which sent what `full` sends. note: what a reader has to know beside the figures.
    """

    scenario: str | None
    model: str
    strategy: str
    baseline: Side
    candidate: Side
    pairs: int
    horizon: float | None
    effects: list[Effect]
    logrank_p: float | None
    tier: Tier
    ranked: bool
    reason: str
    note: str = ""

    def effect(self, metric: str) -> Effect | None:
        """The effect in a metric, None where it was not measured."""
        return next((effect for effect in self.effects if effect.metric == metric), None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows, worst news first in `tier`. kind: what is compared, `runs`, `strategies` or `models`.

    notes: what was left out or is not the same on both sides, a sentence each. exit_code: 1 for a confirmed regression
    between runs, 3 when nothing could be told, else 0; the strategies of one run are ranked and never fail.
    choices: inside one run, which strategy (or model) to ship on each model (or with each strategy).
    """

    kind: str
    baseline: str
    candidate: str
    simulated: bool
    rows: list[Row]
    pooled: list[Row]
    limits: Limits
    tier: Tier
    exit_code: int
    verdict: str
    notes: list[str]
    choices: list[Choice] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: what `--json` prints."""
        return asdict(self)


def overall(tiers: Sequence[Tier]) -> Tier:
    """One tier for several: a regression anywhere is one, an improvement needs that nothing else got worse."""
    for found in (Tier.REGRESSION, Tier.IMPROVEMENT):
        if found in tiers:
            return found
    known = [tier for tier in tiers if tier is not Tier.INSUFFICIENT_DATA]
    if not known:
        return Tier.INSUFFICIENT_DATA
    return Tier.STABLE if all(tier is Tier.STABLE for tier in tiers) else Tier.INCONCLUSIVE
