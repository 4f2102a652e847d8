"""The first lines of the page: how long sessions last, why they fail, what to ship, how sure that is. No arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from contextrot.analysis.comparison import Tier
from contextrot.report import words
from contextrot.report.html.verdict import against, scenes, together

if TYPE_CHECKING:
    from contextrot.analysis.comparison import Comparison
    from contextrot.analysis.figures import Group, Summary
    from contextrot.report.html.verdict import Scene

#: scenarios, and strategies or models, that an answer names
MOST_SCENARIOS = 3
MOST_NAMED = 4
#: reasons that the names of one verdict are given by
MOST_REASONS = 2
#: lengths of one scenario
MOST_LENGTHS = 3
_MEANS = {
    "lost": "Lost: no longer in the prompt.",
    "ignored": "Ignored: in the prompt, and not honoured.",
    "incapable": "Incapable: beyond the model whatever the length.",
}
_BROKE_OFF = {"overflow": "filled their window", "over_budget": "could not be cut to their budget"}


def answers(summary: Summary, comparison: Comparison | None) -> dict[str, list[str]]:
    """Question → sentences, names in backticks. A question that this run cannot answer is left out."""
    if not summary.measured:
        return {}
    found = {
        "How long": list(_how_long(summary)),
        "Why they fail": list(_why(summary)),
        "What to ship": list(_ship(comparison)) if comparison else [],
        "How sure": list(_how_sure(summary, comparison)),
    }
    if comparison is None:
        found["Session budget"] = list(_budget(summary))
    return {question: sentences for question, sentences in found.items() if sentences}


def _how_long(summary: Summary) -> Iterator[str]:
    """One line a scenario: what held longest, and what shortest."""
    measured = [scene for scene in scenes(summary) if _lasting(scene)]
    for scene in measured[:MOST_SCENARIOS]:
        groups = _lasting(scene)
        ends = groups if len(groups) <= MOST_LENGTHS else [groups[0], groups[-1]]
        said = ", ".join(f"{words.length_text(group)}{_with(group, summary)}" for group in ends)
        between = f", and {len(groups) - 2} between them" if len(groups) > MOST_LENGTHS else ""
        yield f"{words.quoted(scene.scenario)}: {said}{between}" if len(measured) > 1 else f"{said}{between}"
    if len(measured) > MOST_SCENARIOS:
        yield f"and {len(measured) - MOST_SCENARIOS} scenarios more, below"


def _lasting(scene: Scene) -> list[Group]:
    """What of a scenario has a length, the longest first."""
    return [group for group in scene.ranked or scene.silent if group.length.n]


def _with(group: Group, summary: Summary) -> str:
    strategies, models = ({getattr(each, name) for each in summary.groups} for name in ("strategy", "model"))
    by = f" with {words.quoted(group.strategy)}" if len(strategies) > 1 else ""
    return by + (f" on {words.quoted(group.model)}" if len(models) > 1 else "")


def _why(summary: Summary) -> Iterator[str]:
    """What failed and why, all scenarios together; then what the words mean."""
    judged = [group for group in together(summary) if group.compliance["overall"].n or _broke_off(group)]
    failing = [group for group in judged if group.causes.get("fails") or _broke_off(group)]
    failing.sort(key=lambda group: -group.causes.get("fails", 0))
    if judged and not failing:
        yield "no check failed"
    for group in failing[:MOST_NAMED]:
        causes = words.causes_text(group)
        checks = f"{causes} of {words.counted(group.compliance['overall'].n, 'check')}" if causes != "–" else ""
        who = _with(group, summary).removeprefix(" with ").removeprefix(" on ").replace("` on `", "` on `")
        said = ", ".join(filter(None, (checks, _broke_off(group))))
        yield f"{who}: {said}" if who else said
    if len(failing) > MOST_NAMED:
        yield f"and {len(failing) - MOST_NAMED} more, under Causes"
    means = [sentence for cause, sentence in _MEANS.items() if any(group.causes.get(cause) for group in failing)]
    if means:
        yield " ".join(means)


def _broke_off(group: Group) -> str:
    """``3 of 10 sessions filled their window``."""
    ends: Iterable[tuple[int, str]] = ((group.length.events.get(kind, 0), said) for kind, said in _BROKE_OFF.items())
    return ", ".join(f"{n} of {words.counted(group.length.n, 'session')} {said}" for n, said in ends if n)


def _ship(comparison: Comparison) -> Iterator[str]:
    """What `analysis/choice.py` came to, for each model or strategy there is; or that there was nothing to choose."""
    told = [row for row in (*comparison.rows, *comparison.pooled) if row.tier is not Tier.INSUFFICIENT_DATA]
    for choice in comparison.choices:
        said = words.clean(choice.sentence)
        if choice.name is not None:
            said = said.replace(f"ship {words.clean(choice.name)}", f"ship {words.quoted(choice.name)}", 1)
        if choice.name is not None and not told:
            said = f"provisional, as no comparison has enough data yet: {said}"
        yield f"{words.quoted(choice.where)}: {said}" if len(comparison.choices) > 1 else said
    silent = list(dict.fromkeys(row.strategy for row in comparison.rows if not row.ranked))
    if not comparison.choices and silent and not any(row.ranked for row in comparison.rows):
        yield f"nothing to choose between: {_some(silent)} left nothing out, so the model was sent what `full` sends"


def _how_sure(summary: Summary, comparison: Comparison | None) -> Iterator[str]:
    """The verdicts that the choice rests on, one line a model."""
    if comparison is None:
        return
    found = against(comparison)
    scenarios = len({group.scenario for group in summary.groups})
    over = ""
    if comparison.pooled:
        over = f", over {'both' if scenarios == 2 else f'all {scenarios}'} scenarios together"
    for model, tiers in found.items():
        where = f" on {words.quoted(model)}" if model and len(found) > 1 else ""
        said = "; ".join(f"{what} {_by_reason(reasons)}" for what, reasons in tiers)
        yield f"against {words.quoted(comparison.baseline)}{where}{over}: {said}"


def _by_reason(reasons: dict[str, list[str]]) -> str:
    """``a`, `b` (10 pairs: …), `c` (…) and 12 more``: of many reasons the ones of most names."""
    most_first = sorted(reasons.items(), key=lambda item: -len(item[1]))
    said = ", ".join(f"{_some(names)} ({why})" for why, names in most_first[:MOST_REASONS])
    rest = [name for _, names in most_first[MOST_REASONS:] for name in names]
    return f"{said} and {len(rest)} more" if rest else said


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(words.quoted, names[:MOST_NAMED])) + more


def _budget(summary: Summary) -> Iterator[str]:
    """How long a session may be where there is nothing to choose from."""
    known = [group for group in summary.groups if group.shipping and len(group.shipping.thresholds) > 1]
    for group in known[:MOST_SCENARIOS]:
        rotate = words.threshold_text(group.shipping.thresholds[1]) if group.shipping else "–"
        where = f"{words.quoted(group.scenario)}: " if len(summary.groups) > 1 else ""
        if rotate != "–":
            yield f"{where}rotate at turn {rotate}: up to there 85 % of the ceiling held"
