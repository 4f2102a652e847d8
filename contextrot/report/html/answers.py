"""The first lines of the page: how long sessions last, why they fail, what to ship, how sure that is. No arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from contextrot.report import words
from contextrot.report.findings import FEW
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
        "Is it rot?": list(_is_it_rot(summary)),
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
        known = _lasting(scene)
        groups = [group for group in known if group.length.followed]
        ends = groups if len(groups) <= MOST_LENGTHS else [groups[0], groups[-1]]
        said = ", ".join(f"{words.length_text(group)}{_with(group, summary)}" for group in ends)
        between = f", and {len(groups) - 2} between them" if len(groups) > MOST_LENGTHS else ""
        lost_sight = [group for group in known if not group.length.followed]
        told = [f"{said}{between}"] if said else []
        told += [f"not ranked{_with(group, summary)}: {words.unfollowed_text(group.length)}" for group in lost_sight]
        yield f"{words.quoted(scene.scenario)}: {'; '.join(told)}" if len(measured) > 1 else "; ".join(told)
    if len(measured) > MOST_SCENARIOS:
        yield f"and {len(measured) - MOST_SCENARIOS} scenarios more, below"


def _lasting(scene: Scene) -> list[Group]:
    """What of a scenario has a length, the longest first."""
    return [group for group in scene.ranked or scene.silent if group.length.n]


def _with(group: Group, summary: Summary) -> str:
    strategies, models = ({getattr(each, name) for each in summary.groups} for name in ("strategy", "model"))
    by = f" with {words.quoted(group.strategy)}" if len(strategies) > 1 else ""
    return by + (f" on {words.quoted(group.model)}" if len(models) > 1 else "")


def _is_it_rot(summary: Summary) -> Iterator[str]:
    """One line a scenario: does compliance fall with the turns, or does a constant error rate explain it?"""
    told = [(scene, said) for scene in scenes(summary) if (said := _patterns(scene, summary))]
    patterns = {group.pattern for scene, _ in told for group in _lasting(scene)}
    if told and patterns <= {"", "few"}:
        yield "too little to tell, in any scenario" if len(told) > 1 else "too little to tell"
        return
    for scene, said in told[:MOST_SCENARIOS]:
        yield f"{words.quoted(scene.scenario)}: {said}" if len(told) > 1 else said
    if len(told) > MOST_SCENARIOS:
        yield f"and {len(told) - MOST_SCENARIOS} scenarios more, below"


def _patterns(scene: Scene, summary: Summary) -> str:
    """``falls with the turns (…) with `full`; too few failures to tell with `pinned```."""
    alike: dict[str, list[str]] = {}
    for group in _lasting(scene):
        if said := words.rot_text(group):
            alike.setdefault(said, []).append(_with(group, summary).removeprefix(" with ").removeprefix(" on "))
    names = {said: [name for name in who if name] for said, who in alike.items()}
    return "; ".join(f"{', '.join(who[:MOST_NAMED])}: {said}" if who else said for said, who in names.items())


def _why(summary: Summary) -> Iterator[str]:
    """What failed and why, all scenarios together; then what the words mean."""
    judged = [group for group in together(summary) if group.compliance["overall"].n or _broke_off(group)]
    failing = [group for group in judged if group.causes.get("fails") or _broke_off(group)]
    failing.sort(key=lambda group: (not _broke_off(group), -group.causes.get("fails", 0)))
    if judged and not failing:
        yield "no check failed"
    for group in failing[:MOST_NAMED]:
        causes = words.causes_text(group)
        checks = f"{causes} of {words.counted(group.compliance['overall'].n, 'check')}" if causes != "–" else ""
        if group.superseded and group.outdated:
            checks += f" ({group.superseded} gave the value from before the change)"
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
    for choice in comparison.choices:
        said = words.clean(choice.sentence)
        for before, who, after in (("ship ", choice.name, ""), ("", choice.longest, " leads so far")):
            if who is not None:
                plain = f"{before}{words.clean(who)}{after}"
                said = said.replace(plain, f"{before}{words.quoted(who)}{after}", 1)
        yield f"{words.quoted(choice.where)}: {said}" if len(comparison.choices) > 1 else said
    silent = list(dict.fromkeys(row.strategy for row in comparison.rows if not row.ranked))
    if not comparison.choices and silent and not any(row.ranked for row in comparison.rows):
        yield f"nothing to choose between: {_some(silent)} left nothing out, so the model was sent what `full` sends"


def _how_sure(summary: Summary, comparison: Comparison | None) -> Iterator[str]:
    """The verdicts that the choice rests on, one line a model."""
    found = against(comparison)
    if comparison is None or not found:
        yield _alone(summary)
        return
    scenarios = len({group.scenario for group in summary.groups})
    over = ""
    if comparison.pooled:
        over = f", over {'both' if scenarios == 2 else f'all {scenarios}'} scenarios together"
    for model, tiers in found.items():
        where = f" on {words.quoted(model)}" if model and len(found) > 1 else ""
        said = "; ".join(f"{what} {_by_reason(reasons)}" for what, reasons in tiers)
        yield f"against {words.quoted(comparison.baseline)}{where}{over}: {said}"


def _alone(summary: Summary) -> str:
    """How sure figures are that nothing is held against."""
    n = [group.length.n for group in summary.groups if group.length.n]
    fewest = words.counted(min(n), "session")
    each = f"{fewest} {'each' if len(n) > 1 else 'in all'}" if min(n) == max(n) else f"{fewest} and more each"
    if min(n) < FEW:
        return f"{each}: an indication, not a measurement; raise --repeats"
    return f"{each}, and nothing to compare: the 95 % intervals beside the figures say how sure they are"


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
            yield f"{where}rotate by turn {rotate} (recommended): up to there 85 % of the ceiling held"
