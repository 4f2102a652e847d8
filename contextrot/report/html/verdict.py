"""The top of the page: per scenario what held longest, what was found, and how strategies compare. No arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextrot.analysis.comparison import Comparison, Row, Tier
from contextrot.analysis.figures import Group, Summary
from contextrot.errors import ContextrotError
from contextrot.report import words
from contextrot.report.findings import findings

if TYPE_CHECKING:
    from contextrot.analysis.tables import Run

#: what a tier says of a strategy (or model) against the one it is held against
_AGAINST = {
    Tier.IMPROVEMENT: "better with",
    Tier.STABLE: "the same, within the margin, with",
    Tier.REGRESSION: "worse with",
    Tier.INCONCLUSIVE: "not to be told apart with",
    Tier.INSUFFICIENT_DATA: "too little data for",
}


@dataclass(frozen=True, slots=True)
class Scene:
    """One scenario: its groups that may be ranked, the longest sessions first, and what was found in it.

    silent: strategies that never left anything out: they sent what `full` sends, so they are not ranked.
    findings: plain sentences by model, the one with the longest sessions first.
    """

    scenario: str
    title: str
    ranked: list[Group]
    silent: list[Group]
    findings: dict[str, list[str]]


def scenes(summary: Summary) -> list[Scene]:
    """The scenarios in the order they were run."""
    found = []
    for scenario in dict.fromkeys(str(group.scenario) for group in summary.groups):
        groups = [group for group in summary.groups if group.scenario == scenario]
        longest_first = sorted(groups, key=_lasts)
        models = dict.fromkeys(group.model for group in longest_first)
        found.append(
            Scene(
                scenario=scenario,
                title=summary.origin.titles.get(scenario, ""),
                ranked=[group for group in longest_first if not is_silent(group)],
                silent=[group for group in groups if is_silent(group)],
                findings={model: findings([g for g in groups if g.model == model]) for model in models},
            )
        )
    return found


def is_silent(group: Group) -> bool:
    """True for a strategy that never left anything out of a prompt: there is nothing of it to rank."""
    return not group.cut and not group.own_memory and group.strategy != "full" and bool(group.spent.calls)


def _lasts(group: Group) -> tuple[bool, float, float]:
    """Sort key: the longest sessions first, and of those that last the same the better at depth.

    What could not be followed comes last: nobody knows how long it lasts.
    """
    return (
        not group.length.followed,
        -(group.length.restricted_mean or 0.0),
        -(group.compliance["at_depth"].rate or 0.0),
    )


def side_by_side(run: Run) -> Comparison | None:
    """The strategies of the run in pairs, or its models where there is one strategy; None where nothing compares."""
    from contextrot.analysis.compare import compare

    strategies, models = ({getattr(group, name) for group in run.summary.groups} for name in ("strategy", "model"))
    if not run.summary.measured or max(len(strategies), len(models)) < 2:
        return None
    try:
        return compare(run, by="strategy" if len(strategies) > 1 else "model")
    except ContextrotError:
        return None


def together(summary: Summary) -> list[Group]:
    """The strategies over all scenarios, the longest sessions first; the best at depth first where lengths differ."""
    if any(group.length.mixed_horizons for group in summary.pooled):
        return sorted(summary.pooled, key=lambda group: -(group.compliance["at_depth"].rate or 0.0))
    return sorted(summary.pooled, key=_lasts)


def against(comparison: Comparison | None) -> dict[str, list[tuple[str, dict[str, list[str]]]]]:
    """Which strategies did better, the same or worse than the reference, all scenarios together; by model.

    The names of a tier come by what their verdict rests on. Where models are compared they are named instead, under an
    empty name.
    """
    found: dict[str, list[tuple[str, dict[str, list[str]]]]] = {}
    if comparison is None:
        return found
    by_model = comparison.kind == "models"
    rows = [row for row in comparison.pooled or comparison.rows if row.ranked]
    for where in dict.fromkeys("" if by_model else row.model for row in rows):
        mine = [row for row in rows if by_model or row.model == where]
        tiers = {tier: _by_reason([row for row in mine if row.tier is tier], by_model) for tier in _AGAINST}
        found[where] = [(_AGAINST[tier], reasons) for tier, reasons in tiers.items() if reasons]
    return found


def _by_reason(rows: list[Row], by_model: bool) -> dict[str, list[str]]:
    """``10 pairs: compliance after turn 0 rose`` → the names of which that is said."""
    found: dict[str, list[str]] = {}
    for row in rows:
        pairs = words.counted(row.pairs, "pair")
        reason = words.one_line(row.reason, 200).partition(" (")[0]
        why = reason if reason.startswith(pairs) else f"{pairs}: {reason}" if reason else pairs
        found.setdefault(why, []).append(row.model if by_model else row.strategy)
    return found
