"""Which strategy (or model) of a run to ship: of those that are not worse than the longest-lasting, the cheapest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextrot.analysis.comparison import Limits
from contextrot.analysis.evidence import Evidence, SessionEvidence
from contextrot.analysis.gate_limits import total_of
from contextrot.analysis.matching import Matched, match_within
from contextrot.analysis.measures import measure, too_much_missing
from contextrot.errors import BaselineError, ConfigError

#: so many names a sentence holds at most
MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Choice:
    """What to ship, over all scenarios of a run.

    among: ``strategy`` or ``model``. where: the model (or strategy) that the choice is made on. name: what to ship;
    None where the sessions cannot tell. longest: what lasts longest by the estimate. as_good: what is shown not to be
    worse than that by the margin, itself included. open: what could be as good and would be cheaper, but too few
    sessions were run to tell. left_out: what never fired. tokens, cost (USD): per session of each, None: not known.
    """

    among: str
    where: str
    name: str | None
    longest: str
    as_good: list[str]
    open: list[str]
    left_out: list[str]
    tokens: dict[str, float | None]
    cost: dict[str, float | None]
    sentence: str


def choose(run: Evidence, among: str, limits: Limits) -> list[Choice]:
    """One choice for each model (among strategies) or strategy (among models) of a run that has several to choose from.

    Lengths are compared in pairs with the longest-lasting, over all scenarios together; what is worse by less than the
    margin, with the whole interval, counts as good unless its compliance is confirmed to be worse by more than the
    margin of compliance. Of those the cheapest is to be shipped (by cost where it is
    known of all and is not 0, else by tokens). A strategy that never fired sent what `full` sends and is left out.
    """
    other = "model" if among == "strategy" else "strategy"
    found: list[Choice] = []
    for where in dict.fromkeys(str(getattr(session, other)) for session in run.sessions):
        sessions = tuple(session for session in run.sessions if getattr(session, other) == where)
        options: dict[str, list[SessionEvidence]] = {}
        for session in sessions:
            options.setdefault(str(getattr(session, among)), []).append(session)
        silent = [name for name, mine in options.items() if among == "strategy" and _silent(name, mine)]
        kept = {name: mine for name, mine in options.items() if name not in silent}
        if len(kept) > 1:
            part = Evidence(
                run.source, tuple(s for mine in kept.values() for s in mine), floors=run.floors, repeats=run.repeats
            )
            if (choice := _choice(part, among, where, kept, silent, limits)) is not None:
                found.append(choice)
    return found


def _silent(name: str, sessions: Sequence[SessionEvidence]) -> bool:
    return name != "full" and not any(session.fired for session in sessions)


def _choice(
    run: Evidence,
    among: str,
    where: str,
    options: Mapping[str, Sequence[SessionEvidence]],
    silent: list[str],
    limits: Limits,
) -> Choice | None:
    first = next(iter(options))
    found = _against(run, among, first, limits)
    ahead = {name: (one.length, one.compliance) for name, one in found.items()}
    if not ahead:
        return None
    longest = max([first, *ahead], key=lambda name: ahead.get(name, (0.0, 0.0)))
    against = _against(run, among, longest, limits)
    as_good, unsure = [longest], []
    for name in options:
        if name == longest:
            continue
        one = against.get(name)
        if one is None or one.low is None or one.high is None:
            unsure.append(name)
        elif one.worse:
            continue  # it may last as long, and keeps less all the same
        elif one.low >= -one.margin:
            as_good.append(name)
        elif one.high >= 0:
            unsure.append(name)
    return _named(among, where, longest, as_good, unsure, options, silent)


@dataclass(frozen=True, slots=True)
class _Against:
    """An option against another: difference of the restricted mean with its interval and margin (turns).

    compliance: difference (share); worse: confirmed to keep less by more than the margin of compliance.
    """

    length: float
    low: float | None
    high: float | None
    margin: float
    compliance: float
    worse: bool


def _against(run: Evidence, among: str, reference: str, limits: Limits) -> dict[str, _Against]:
    try:
        matching = match_within(run, among, reference)
    except (BaselineError, ConfigError):
        return {}
    rows = {(row.strategy if among == "strategy" else row.model): row for row in (*matching.rows, *matching.pooled)}
    found = {name: _difference(row, limits) for name, row in rows.items()}
    return {name: one for name, one in found.items() if one is not None}


def _difference(pairs: Matched, limits: Limits) -> _Against | None:
    found = measure("restricted_mean", pairs, limits)
    estimate = None if found is None else found.mean.estimate
    if found is None or estimate is None:
        return None
    mean, margin = found.mean, limits.margin("restricted_mean", found.baseline)
    told = mean.pairs >= limits.min_pairs and not too_much_missing(pairs, limits)
    rates = measure("compliance", pairs, limits)
    kept = rates.mean if rates is not None else None
    points = kept.estimate if kept is not None and kept.estimate is not None else 0.0
    worse = kept is not None and kept.high is not None and kept.high < 0 and points <= -limits.margin_compliance
    low, high = (mean.low, mean.high) if told else (None, None)
    return _Against(estimate, low, high, margin, round(points, 9), worse)


def _named(
    among: str,
    where: str,
    longest: str,
    as_good: list[str],
    unsure: list[str],
    options: Mapping[str, Sequence[SessionEvidence]],
    silent: list[str],
) -> Choice:
    """The cheapest of what is as good, and what stands in the way of saying so."""
    tokens, cost = (
        {name: per_session(metric, mine) for name, mine in options.items()} for metric in ("tokens", "cost")
    )
    priced = all(value is not None for value in cost.values()) and any(cost.values())
    spent = cost if priced else tokens
    dear = float("inf")
    known = {name: dear if value is None else value for name, value in spent.items()}
    chosen = min(as_good, key=lambda name: (known[name], tokens[name] or dear))
    cheaper = [name for name in unsure if known[name] < known[chosen]]
    # What lasts longest by the estimate alone is no choice while all others might be as good.
    name = None if len(as_good) == 1 and cheaper else chosen
    sentence = _sentence(name, chosen, longest, as_good, cheaper, unsure)
    if name is not None and spent[name] is not None:
        sentence += f" ({_spent(spent[name], priced=priced)} a session)"
    if cheaper:
        listed = _some([f"{one} ({_spent(spent[one], priced=priced)})" for one in cheaper])
        less = "costs less" if priced else "takes fewer tokens"
        open_ = "" if name is None else "inconclusive: "
        sentence += f"; {open_}{listed} {less} a session and may last as long, which more sessions would tell"
    if silent:
        sentence += f"; left out, because it never fired: {_some(silent)}"
    return Choice(among, where, name, longest, as_good, cheaper, silent, tokens, cost, sentence)


def _sentence(
    name: str | None, chosen: str, longest: str, as_good: list[str], cheaper: list[str], unsure: list[str]
) -> str:
    if name is None:
        return f"inconclusive: {chosen} has the longest sessions so far"
    others = [one for one in as_good if one != name]
    if name != longest:
        return f"ship {name}: its sessions are not shorter by the margin than those of {longest}, and it takes less"
    if others:
        return f"ship {name}: no sessions are longer, and it takes less than what lasts as long, {_some(others)}"
    if len(unsure) > len(cheaper):
        return f"ship {name}: it has the longest sessions, and nothing that may last as long takes less"
    return f"ship {name}: its sessions are longer than all others"


def per_session(metric: str, sessions: Sequence[SessionEvidence]) -> float | None:
    """Mean tokens, cost (USD) or calls of a session; None as soon as one does not know its own."""
    total = total_of(metric, sessions)
    return None if total is None else total / len(sessions)


def _some(names: Sequence[str]) -> str:
    """The names in a row; of many the first, and how many more there are."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _spent(value: float | None, *, priced: bool) -> str:
    if value is None:
        return "not known"
    return f"${value:,.4g}" if priced else f"{value:,.0f} tokens"
