"""Which strategy (or model) of a run to ship: of those that are not worse than the longest-lasting, the cheapest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextrot.analysis.comparison import Limits
from contextrot.analysis.evidence import Evidence, SessionEvidence
from contextrot.analysis.gate_limits import total_of
from contextrot.analysis.matching import Matched, match_within
from contextrot.analysis.measures import measure, pairs_needed, too_much_missing
from contextrot.errors import BaselineError, ConfigError

#: so many names a sentence holds at most
MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Choice:
    """What to ship, over all scenarios of a run.

    among: ``strategy`` or ``model``. where: the model (or strategy) that the choice is made on. name: what to ship;
    None where the sessions cannot tell. longest: what lasts longest by the estimate. as_good: what is shown not to be
    worse than that by the margin, itself included. open: what could be as good and would be cheaper, but too few
    sessions were run to tell. left_out: what never fired. unfollowed: what cannot be called longest, because too many
    of its sessions could not be followed to the end. more_pairs: about so many more sessions of each would tell where
    `name` is None; None: not known. tokens, cost (USD): per session of each, None: not known.
    """

    among: str
    where: str
    name: str | None
    longest: str
    as_good: list[str]
    open: list[str]
    left_out: list[str]
    unfollowed: list[str]
    more_pairs: int | None
    tokens: dict[str, float | None]
    cost: dict[str, float | None]
    sentence: str


def choose(run: Evidence, among: str, limits: Limits) -> list[Choice]:
    """One choice for each model (among strategies) or strategy (among models) of a run that has several to choose from.

    Lengths are compared in pairs with the longest-lasting, over all scenarios together; what is worse by less than the
    margin, with the whole interval, counts as good unless its compliance is confirmed to be worse by more than the
    margin of compliance. Of those the cheapest is to be shipped (by cost where it is
    known of all and is not 0, else by tokens), if anything at all was confirmed: that another is shorter or keeps less,
    or that it is as good. Else the longest leads so far, and nothing is to be shipped. A strategy that never fired sent
    what `full` sends and is left out.
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
    unfollowed = _unfollowed(options, limits)
    able = [name for name in (first, *ahead) if name not in unfollowed] or [first, *ahead]
    longest = max(able, key=lambda name: ahead.get(name, (0.0, 0.0)))
    against = _against(run, among, longest, limits)
    as_good, unsure = [longest], []
    for name in options:
        if name == longest:
            continue
        one = against.get(name)
        if one is None or one.low is None or one.high is None or name in unfollowed:
            unsure.append(name)
        elif one.worse:
            continue  # it may last as long, and keeps less all the same
        elif one.low >= -one.margin:
            as_good.append(name)
        elif one.high >= 0:
            unsure.append(name)
    confirmed = len(unsure) + 1 < len(options)
    more = [against[name].more for name in unsure if name in against]
    needed = None if not more or len(more) < len(unsure) or None in more else max(n for n in more if n is not None)
    return _named(among, where, longest, as_good, unsure, options, silent, unfollowed, needed, confirmed=confirmed)


def _unfollowed(options: Mapping[str, Sequence[SessionEvidence]], limits: Limits) -> list[str]:
    """Options of which more than the share allowed was lost sight of: later checks were asked and not decided."""
    return [
        name
        for name, mine in options.items()
        if sum(session.unfollowed() for session in mine) > limits.max_unfinished * len(mine)
    ]


@dataclass(frozen=True, slots=True)
class _Against:
    """An option against another: difference of the restricted mean with its interval and margin (turns).

    compliance: difference (share); worse: confirmed to keep less by more than the margin of compliance. more: pairs
    beside those there are that would tell, None where too much is missing or no spread is known.
    """

    length: float
    low: float | None
    high: float | None
    margin: float
    compliance: float
    worse: bool
    more: int | None


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
    missing = bool(too_much_missing(pairs, limits))
    told = mean.pairs >= limits.min_pairs and not missing
    rates = measure("compliance", pairs, limits)
    kept = rates.mean if rates is not None else None
    points = kept.estimate if kept is not None and kept.estimate is not None else 0.0
    worse = (
        told and kept is not None and kept.high is not None and kept.high < 0 and points <= -limits.margin_compliance
    )
    low, high = (mean.low, mean.high) if told else (None, None)
    needed = None if missing else pairs_needed(mean, margin)
    more = None if needed is None else max(needed - mean.pairs, limits.min_pairs - mean.pairs, 1)
    return _Against(estimate, low, high, margin, round(points, 9), worse, more)


def _named(
    among: str,
    where: str,
    longest: str,
    as_good: list[str],
    unsure: list[str],
    options: Mapping[str, Sequence[SessionEvidence]],
    silent: list[str],
    unfollowed: list[str],
    more: int | None,
    *,
    confirmed: bool,
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
    name = chosen if confirmed and not (len(as_good) == 1 and cheaper) else None
    if name is None and chosen in unfollowed:
        sentence = "inconclusive: too many sessions could not be followed to the end, so that no strategy leads"
    elif name is None:
        sentence = _leading(longest, unsure, spent, more, priced=priced)
    else:
        sentence = _shipping(name, longest, as_good, cheaper, unsure, unfollowed)
        if spent[name] is not None:
            sentence += f" ({_spent(spent[name], priced=priced)} a session)"
        if cheaper:
            listed = _some([f"{one} ({_spent(spent[one], priced=priced)})" for one in cheaper])
            less = "costs less" if priced else "takes fewer tokens"
            sentence += (
                f"; inconclusive: {listed} {less} a session and may last as long, which more sessions would tell"
            )
    if silent:
        sentence += f"; not ranked, because it left nothing out: {_some(silent)}"
    lost_sight = [name for name in unfollowed if name != longest]
    if lost_sight:
        sentence += f"; not ranked by length, because too many sessions could not be followed: {_some(lost_sight)}"
    more = more if name is None else None
    return Choice(
        among, where, name, longest, as_good, cheaper, silent, unfollowed, more, tokens, cost, sentence
    )  # fmt: skip


def _leading(
    longest: str, unsure: list[str], spent: Mapping[str, float | None], more: int | None, *, priced: bool
) -> str:
    """``inconclusive: a leads so far (9 tokens a session), and b (8 tokens) may last as long; about 12 more …``."""
    mine = "" if spent[longest] is None else f" ({_spent(spent[longest], priced=priced)} a session)"
    others = _some([f"{one} ({_spent(spent[one], priced=priced)})" for one in unsure])
    pairs = "more sessions" if more is None else f"about {more:,} more pair{'' if more == 1 else 's'}"
    return f"inconclusive: {longest} leads so far{mine}, and {others} may last as long; {pairs} would tell"


def _shipping(
    name: str, longest: str, as_good: list[str], cheaper: list[str], unsure: list[str], unfollowed: list[str]
) -> str:
    others = [one for one in as_good if one != name]
    if name != longest:
        return f"ship {name}: its sessions are not shorter by the margin than those of {longest}, and it takes less"
    if others:
        return f"ship {name}: no sessions are longer, and it takes less than what lasts as long, {_some(others)}"
    if unfollowed and set(unsure) <= {*unfollowed, *cheaper}:
        return f"ship {name}: its sessions are longer than all others that could be followed"
    if dearer := [one for one in unsure if one not in cheaper]:
        return f"ship {name}: {_some(dearer)} may last as long but {_takes(dearer)} no less, and all others are shorter"
    return f"ship {name}: its sessions are longer than all others"


def _takes(names: Sequence[str]) -> str:
    return "takes" if len(names) == 1 else "take"


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
