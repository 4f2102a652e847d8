"""What was found, in plain sentences: per strategy, about the tools, about the controls; and what to look at next."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence

from contextrot.analysis.figures import RUNNING, Control, Group, Length, Summary
from contextrot.report.words import change_text, clean, counted, counts_text, percent, quoted, rot_text, unfollowed_text

#: the end of a session's key that no other session has
_HASH = re.compile(r"[0-9a-f]{12}")
#: share of undecided checks from which on the reports say so
MANY_UNDECIDED = 0.2
#: below this many sessions a group's intervals are too wide to decide on, and the reports say so
FEW = 5
#: up to this many rules and facts are named in a sentence
NAMED = 3
#: a fall of the call rate in too few sessions is worth a word from here on (share)
WORTH_A_WORD = 0.2


def findings(groups: Sequence[Group]) -> list[str]:
    """What was found in one scenario on one model: a plain sentence per strategy, the longest sessions first.

    Then whether it is rot, where that can be told, and what became of the tools.
    """
    ranked = sorted(groups, key=lambda group: (not group.length.followed, -(group.length.restricted_mean or 0.0)))
    found = [sentence for group in ranked for sentence in (_finding(group),) if sentence]
    found += is_it_rot(ranked)
    found += [sentence for group in ranked for sentence in _about_tools(group)]
    few = [group.length.n for group in groups if 0 < group.length.n < FEW]
    if few:
        counted = f"{min(few)} session" + ("s" if min(few) > 1 else "")
        found.append(f"With {counted} per strategy this is an indication, not a measurement: raise --repeats.")
    return found


def _name(group: Group) -> str:
    return f"{quoted(group.model)} (own memory)" if group.own_memory else f"`{clean(group.strategy)}`"


def _finding(group: Group) -> str:
    length, events = group.length, group.length.events
    if not length.n:
        return f"{_name(group)}: nothing was measured ({counts_text(group.ended) or 'no sessions'})."
    parts = []
    if events["fail"]:
        parts.append(
            f"{_failed(length)} in {events['fail']} of {length.n} sessions, {_when(length.first_fail_turns)}"
            f"{_why(group)}{_detail(length)}"
        )
    broke = {kind: events[kind] for kind in ("overflow", "over_budget") if events[kind]}
    if broke:
        words = {"overflow": "ran out of window", "over_budget": "could not fit what must stay"}
        verb = " or ".join(words[kind] for kind in broke)
        parts.append(f"{verb} in {sum(broke.values())} of {length.n} sessions, {_when(length.broke_off_turns)}")
    if length.censored:
        cut = sum(n for kind, n in group.ended.items() if kind in ("limit", "error", "cancelled", RUNNING))
        if cut >= length.censored:  # none of them came to its end, so none has kept anything yet
            parts.append(f"was cut short before anything failed in {length.censored} of {length.n} sessions")
        else:
            short = f" as far as they went ({cut} cut short)" if cut else _through(length)
            parts.append(f"{_kept(group)} in {length.censored} of {length.n} sessions{short}")
    if not length.followed:
        parts.append(f"{unfollowed_text(length)}, so its length is not ranked")
    return f"{_name(group)} " + "; ".join(parts) + "."


def is_it_rot(groups: Sequence[Group]) -> list[str]:
    """Whether compliance falls with the turns, where the sessions can tell: a constant error rate is no rot.

    Strategies of which the same is to be said share a sentence.
    """
    alike: dict[str, list[str]] = {}
    for group in groups:
        if group.pattern not in ("", "few"):
            alike.setdefault(rot_text(group), []).append(_name(group))
    return [f"Is it rot? {', '.join(names)}: {said}." for said, names in alike.items()]


def _listed(names: Sequence[str], joined: str) -> str:
    """``a``, ``a and b``, ``a, b and 2 others``; what was checked in the fresh session alone goes unnamed."""
    if not names:
        return "what it was told"
    shown = [quoted(name) for name in (names if len(names) <= NAMED else names[: NAMED - 1])]
    if len(names) > NAMED:
        shown.append(f"{len(names) - NAMED + 1} others")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {joined} {shown[-1]}"


def _kept(group: Group) -> str:
    """What was kept by name; of many, how many checks could tell. A rule may have several, a probe many rules."""
    subjects = group.subjects
    if len(subjects) <= NAMED:
        return f"kept {_listed(subjects, 'and')}"
    return f"passed all {sum(1 for check in group.by_check if check.n)} checks"


def _through(length: Length) -> str:
    """How far sessions without a failure are known to be well: later checks that nobody could decide prove nothing."""
    turns = [int(turn) for turn in length.kept_turns]
    if not turns:
        return ""
    if len(turns) == 1 and length.horizon is not None and turns[0] >= length.horizon:
        return f" through turn {turns[0]}"
    span = f"turn {turns[0]}" if len(turns) == 1 else f"turns {min(turns)}–{max(turns)}"
    return f" as far as checks were decided ({span})"


def _failed(length: Length) -> str:
    causes = list(length.first_causes)
    verb = causes[0] if causes in (["lost"], ["ignored"]) else "failed on"
    return f"{verb} {_listed(list(length.first_subjects), 'or')}"


def _when(turns: dict[str, int]) -> str:
    numbers = [int(turn) for turn in turns]
    if len(numbers) == 1:
        return f"at turn {numbers[0]}"
    return f"first between turns {min(numbers)} and {max(numbers)}"


def _why(group: Group) -> str:
    why = {
        "lost": ", where it was no longer in the prompt",
        "ignored": ", although it was in the prompt",
        "incapable": ", which it fails when fresh as well",
    }
    causes = group.length.first_causes
    said = why.get(next(iter(causes), ""), "") if len(causes) == 1 else ""
    if group.superseded and group.outdated:
        ignored = counted(group.causes["ignored"], "ignored check")
        said += f" (in {group.superseded} of its {ignored} it gives the value from before the change)"
    return said


def _detail(length: Length) -> str:
    """How many sessions failed first on what, and why, where there is more than one answer."""
    parts = [
        ", ".join(f"{clean(name)} in {n}" for name, n in counts.items())
        for counts in (length.first_causes, length.first_subjects)
        if 1 < len(counts) <= 2 * NAMED
    ]
    return f" (sessions: {'; '.join(parts)})" if parts else ""


def tool_alerts(groups: Sequence[Group]) -> list[str]:
    """The alerts of groups that have no findings of their own, each with the scenario it is of."""
    alerting = [group for group in groups if group.actions is not None and group.actions.alert]
    return [f"{quoted(group.scenario)}: {sentence}" for group in alerting for sentence in _about_tools(group)]


def alerts(groups: Sequence[Group]) -> list[str]:
    """Every fall of the call rate that is confirmed; strategies with the same figures share a sentence."""
    several = len({group.scenario for group in groups}) > 1, len({group.model for group in groups}) > 1
    alike: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        if group.actions is not None and group.actions.alert:
            scenario = f" in {quoted(group.scenario)}" if several[0] else ""
            model = f" on {quoted(group.model)}" if several[1] and not group.own_memory else ""
            change = change_text(group.actions.change)
            alike.setdefault((change, scenario + model), []).append(_name(group))
    return [
        f"ALERT: tools are called less late in the session with {', '.join(names)}{where}: {change}."
        for (change, where), names in alike.items()
    ]


def _about_tools(group: Group) -> Iterable[str]:
    """Tool amnesia: the call rate late in the session against early, with its evidence or for want of it."""
    actions = group.actions
    if actions is None or actions.change.difference is None:
        return
    change = actions.change
    replies = "probes that ask for an action" if actions.basis == "probes" else "turns"
    rates = (
        f"of the {replies} {percent(change.first)} got a tool call in the first third of the session (n "
        f"{change.first_n}) and {percent(change.second)} in the last (n {change.second_n})"
    )
    if actions.alert:
        yield f"ALERT: {_name(group)} calls its tools less late in the session: {rates}, {change_text(change)}."
    elif change.method == "none" and change.difference is not None and change.difference <= -WORTH_A_WORD:
        yield f"{_name(group)}: {rates}; {counted(change.units, 'session')} are too few to tell whether tool use drops."


def control_warnings(summary: Summary) -> list[str]:
    """Sentences about controls that put figures in doubt: probes that test nothing, and checks the model cannot do."""
    found = [*_undecided_warnings(summary), *_weak_warnings(summary)]
    for control in summary.controls:
        where = f"{quoted(control.id)} in {quoted(control.scenario)} on {quoted(control.model)}"
        if control.tests_nothing:
            found.append(
                f"{where} tests nothing: {percent(control.floor)} of its floor controls pass without the rule being "
                f"stated (n {control.floor_n}). It decides no gate."
            )
        if needs_example(summary, control):
            found.append(
                f"{where} is a check of your own, and a simulated model cannot guess what satisfies it: give the check "
                f"`passes:`, a reply that does. Until then its failures count as incapable."
            )
        elif control.incapable:
            found.append(
                f"{where} is beyond the model: only {percent(control.ceiling)} of its ceiling controls pass when fresh "
                f"(n {control.ceiling_n}), so its failures count as incapable."
            )
    return found


def needs_example(summary: Summary, control: Control) -> bool:
    """True for a `python` check that a simulated model fails fresh: it knows no reply that satisfies it."""
    asked = summary.origin.models.get(control.model, control.model)
    return control.incapable and control.check == "python" and asked.startswith("sim/")


def _undecided_warnings(summary: Summary) -> list[str]:
    """Groups of which so many checks could not be decided that their rates rest on a part of the sessions."""
    found = []
    for group in summary.groups:
        open_ = {name: n for name, n in group.undecided.items() if name in ("truncated", "empty", "inconclusive")}
        asked = group.compliance["overall"].n + sum(open_.values())
        if asked and sum(open_.values()) > MANY_UNDECIDED * asked:
            hint = "; a larger --max-tokens may help" if "truncated" in open_ else ""
            found.append(
                f"{quoted(group.scenario or 'all scenarios')}: {sum(open_.values())} of {asked} checks under "
                f"{quoted(group.strategy)} could not be decided ({counts_text(open_)}) and enter no rate{hint}."
            )
    return found


def _weak_warnings(summary: Summary) -> list[str]:
    """Controls from which little or nothing is known: never decided, or failed so often that skill is measured too."""
    found = []
    for control in summary.controls:
        where = f"{quoted(control.id)} in {quoted(control.scenario)} on {quoted(control.model)}"
        if control.unheard:
            sides = " and ".join(control.unheard)
            doubt = {
                "ceiling": "whether the model can do it at all",
                "floor": "whether it passes without the rule being stated",
            }
            unknown = " and ".join(doubt[side] for side in control.unheard)
            undecided = control.floor_undecided if "floor" in control.unheard else control.ceiling_undecided
            found.append(
                f"{where}: no {sides} control could be decided ({undecided} truncated, empty or failed), so {unknown} "
                f"is not known."
            )
        if control.weak:
            found.append(
                f"{where}: only {percent(control.ceiling)} of its ceiling controls pass when fresh (n "
                f"{control.ceiling_n}), so its failures measure what the model can do as well as what it keeps."
            )
    return found


def next_step(summary: Summary, run: str | os.PathLike[str]) -> tuple[str, str] | None:
    """The command that shows the first failure of the group with the shortest sessions, and what it shows.

    None when no check failed.
    """
    failed = [group for group in summary.groups if group.first_failure is not None]
    if not failed:
        return None
    worst = min(failed, key=lambda group: (group.length.restricted_mean or 0.0, -group.causes["fails"]))
    first = worst.first_failure
    assert first is not None
    short = first.session.rpartition("--")[2]
    name = short if _HASH.fullmatch(short) else first.session
    command = shlex.join(["contextrot", "show", os.fspath(run), name, "--turn", str(first.turn)])
    fresh = " after the fresh session" if first.turn and "0" in worst.length.first_fail_turns else ""
    return command, f"the first failure{fresh} of {_name(worst)} in {quoted(worst.scenario)}"
