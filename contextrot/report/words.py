"""Figures as words, the same on the terminal, in Markdown and on plots. No arithmetic: that is done in `analysis/`."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from contextrot.analysis.figures import RUNNING, Group, Length, Rate, Summary

#: share of undecided checks from which on the reports say so
MANY_UNDECIDED = 0.2
#: below this many sessions a group's intervals are too wide to decide on, and the reports say so
FEW = 5
SIMULATED = "SIMULATED: at least one model of this run is simulated; its figures say nothing about a real model."
#: what a column or figure means, two lines at most each
DEFINITIONS = {
    "session length": "turns until the first failed check or until the window was full; median by Kaplan–Meier with "
    "its 95 % interval. `not reached (> T)`: at least half of the sessions were still well at turn T.",
    "at depth": "share of passed checks in the second half of the planned turns. Only `pass` and `fail` count; the "
    "other outcomes are listed with their own numbers.",
    "lost": "the check failed and the rule or fact was not in the prompt any more: the context strategy dropped it.",
    "ignored": "the check failed although the rule or fact stood in the prompt: the model's own rot.",
    "incapable": "the check failed, and the ceiling control fails in most repeats as well: the model cannot do it.",
    "ceiling, floor": "the same question in a fresh session with the rule right before it (ceiling) and without it "
    "ever being stated (floor). A question that passes its floor tests nothing.",
    "tokens": "prompt and completion tokens of all calls, probes and auxiliary calls included.",
    "95 % intervals": "take the session as the unit, because the turns of one session are not independent.",
}
_SHOWN = {"\n", "\t", "\u200c", "\u200d"}  # the joiners are part of ordinary words and emoji


def clean(text: object) -> str:
    """Text of unknown origin made safe to show: control, format and bidi characters become visible escapes."""
    return "".join(
        char
        if char in _SHOWN or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        else char.encode("unicode_escape", "surrogatepass").decode()
        for char in str(text)
    )


def one_line(text: object, longest: int = 100) -> str:
    """The cleaned text on one line, cut to `longest` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def quoted(name: object) -> str:
    """A name set off in backticks, which it cannot close itself."""
    return f"`{one_line(name).replace('`', chr(39))}`"


def percent(share: float | None) -> str:
    """A share as whole per cent; what is nearly all or nothing is not rounded to all or nothing."""
    if share is None:
        return "–"
    if 0.995 <= share < 1:
        return "> 99 %"
    if 0 < share < 0.005 and share > 1e-9:
        return "< 1 %"
    return f"{100 * share:.0f} %"


def rate_text(rate: Rate) -> str:
    """``25 % (6–64, n 48)``, or ``– (n 0)`` when nothing was decided."""
    if rate.low is None or rate.high is None:
        return f"{percent(rate.rate)} (n {rate.n})"
    return f"{percent(rate.rate)} ({100 * rate.low:.0f}–{100 * rate.high:.0f}, n {rate.n})"


def tokens_text(tokens: float | None) -> str:
    """A number of tokens to three figures: ``850``, ``3.63k``, ``12.0k``, ``1.20M``; ``unknown`` for None."""
    if tokens is None:
        return "unknown"
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if tokens >= size * 0.9995:
            value = tokens / size
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}{unit}"
    return f"{tokens:.0f}"


def cost_text(cost: float | None) -> str:
    """USD, or ``unknown``: an unknown price is never shown as 0."""
    if cost is None:
        return "unknown"
    return f"${cost:.2f}" if cost >= 0.995 or cost == 0 else f"${cost:.2g}"


def causes_text(group: Group) -> str:
    """``lost 36``, ``lost 3, ignored 1``, or ``–`` when nothing failed."""
    parts = [f"{name} {n}" for name, n in group.causes.items() if name != "fails" and n]
    return ", ".join(parts) or "–"


def counts_text(counts: dict[str, int]) -> str:
    """``overflow 6, error 1``."""
    return ", ".join(f"{clean(name)} {n}" for name, n in counts.items())


def note_text(group: Group) -> str:
    """What a reader of the group's row has to know beside the figures."""
    notes = []
    if group.own_memory:
        notes.append("own memory, no strategy applied")
    ended = {name: n for name, n in group.ended.items() if name != "completed"}
    if ended:
        notes.append(f"{counts_text(ended)} of {group.sessions}")
    if group.length.unknown:
        notes.append(f"nothing checked in {group.length.unknown}")
    # Probes never come to follow from how the sessions ended, which is said already.
    undecided = {name: n for name, n in group.undecided.items() if name != "not_run"}
    if undecided:
        notes.append(f"undecided: {counts_text(undecided)}")
    if group.compactions:
        notes.append(f"{group.compactions} compaction" + ("s" if group.compactions > 1 else ""))
    if not group.cut and not group.own_memory and group.strategy != "full" and group.spent.calls:
        notes.append("left nothing out")
    return "; ".join(notes)


def window_text(group: Group) -> str:
    """``window 2,048 tokens (virtual)``."""
    sizes = " / ".join(f"{window:,}" for window in group.windows) or "unknown"
    return f"window {sizes} tokens" + (" (virtual)" if group.virtual_window else "")


def findings(groups: Sequence[Group]) -> list[str]:
    """What was found in one scenario on one model: a plain sentence per strategy, the longest sessions first."""
    ranked = sorted(groups, key=lambda group: -(group.length.restricted_mean or 0.0))
    found = [sentence for group in ranked for sentence in (_finding(group),) if sentence]
    few = [group.length.n for group in groups if 0 < group.length.n < FEW]
    if few:
        counted = f"{min(few)} session" + ("s" if min(few) > 1 else "")
        found.append(f"With {counted} per strategy this is an indication, not a measurement: raise --repeats.")
    return found


def _finding(group: Group) -> str:
    length, events, name = group.length, group.length.events, f"`{clean(group.strategy)}`"
    if group.own_memory:
        name = f"{quoted(group.model)} (own memory)"
    told = quoted(group.subjects[0]) if len(group.subjects) == 1 else "what it was told"
    if not length.n:
        return f"{name}: nothing was measured ({counts_text(group.ended) or 'no sessions'})."
    parts = []
    if events["fail"]:
        parts.append(
            f"{_failed(group, told)} in {events['fail']} of {length.n} sessions, {_when(length.first_fail_turns)}"
        )
        parts[-1] += _why(length.first_causes)
    broke = {kind: events[kind] for kind in ("overflow", "over_budget") if events[kind]}
    if broke:
        words = {"overflow": "ran out of window", "over_budget": "could not fit what must stay"}
        verb = " or ".join(words[kind] for kind in broke)
        parts.append(f"{verb} in {sum(broke.values())} of {length.n} sessions, {_when(length.broke_off_turns)}")
    if length.censored:
        cut = sum(n for kind, n in group.ended.items() if kind in ("limit", "error", "cancelled", RUNNING))
        short = f" as far as they went ({cut} cut short)" if cut else _through(length)
        parts.append(f"kept {told} in {length.censored} of {length.n} sessions{short}")
    return f"{name} " + "; ".join(parts) + "."


def _through(length: Length) -> str:
    """How far sessions without a failure are known to be well: later checks that nobody could decide prove nothing."""
    turns = [int(turn) for turn in length.kept_turns]
    if not turns:
        return ""
    if len(turns) == 1 and length.horizon is not None and turns[0] >= length.horizon:
        return f" through turn {turns[0]}"
    span = f"turn {turns[0]}" if len(turns) == 1 else f"turns {min(turns)}–{max(turns)}"
    return f" as far as checks were decided ({span})"


def _failed(group: Group, told: str) -> str:
    causes = group.length.first_causes
    if set(causes) == {"lost"}:
        return f"lost {told}"
    if set(causes) == {"ignored"}:
        return f"ignored {told}"
    return f"failed on {told}"


def _when(turns: dict[str, int]) -> str:
    numbers = [int(turn) for turn in turns]
    if len(numbers) == 1:
        return f"at turn {numbers[0]}"
    return f"first between turns {min(numbers)} and {max(numbers)}"


def _why(causes: dict[str, int]) -> str:
    why = {
        "lost": ", where it was no longer in the prompt",
        "ignored": ", although it was in the prompt",
        "incapable": ", which it fails when fresh as well",
    }
    sentence = why.get(next(iter(causes), ""), "") if len(causes) == 1 else ""
    return f"{sentence} ({counts_text(causes)})" if causes else sentence


def control_warnings(summary: Summary) -> list[str]:
    """Sentences about controls that put figures in doubt: probes that test nothing, and checks the model cannot do."""
    found = _undecided_warnings(summary)
    for control in summary.controls:
        where = f"{quoted(control.id)} in {quoted(control.scenario)} on {quoted(control.model)}"
        if control.tests_nothing:
            found.append(
                f"{where} tests nothing: {percent(control.floor)} of its floor controls pass without the rule being "
                f"stated (n {control.floor_n})."
            )
        if control.incapable:
            found.append(
                f"{where} is beyond the model: only {percent(control.ceiling)} of its ceiling controls pass when fresh "
                f"(n {control.ceiling_n}), so its failures count as incapable."
            )
    return found


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


def totals_text(summary: Summary) -> str:
    """Sessions, calls, tokens and cost of the whole run on one line."""
    parts = [f"{summary.sessions} session" + ("" if summary.sessions == 1 else "s")]
    if summary.control_sessions:
        parts[0] += f" + {summary.control_sessions} of controls"
    parts += [f"{summary.calls:,} calls", f"{tokens_text(summary.tokens)} tokens", f"cost {cost_text(summary.cost)}"]
    return ", ".join(parts)
