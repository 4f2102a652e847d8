"""Figures as words, the same on the terminal, in Markdown and on plots. No arithmetic: that is done in `analysis/`."""

from __future__ import annotations

import unicodedata

import regex

from contextrot.analysis.budget import Threshold
from contextrot.analysis.difference import Difference
from contextrot.analysis.figures import Group, Length, Reached, Shipping, Summary
from contextrot.analysis.rates import Rate, Share
from contextrot.analysis.trend import Trend

SIMULATED = "SIMULATED: at least one model of this run is simulated; its figures say nothing about a real model."
#: what a column or figure means, two lines at most each
DEFINITIONS = {
    "session length": "turns until the first failed check or until the window was full; median by Kaplan–Meier with "
    "its 95 % interval. `not reached (> T)`: at least half of the sessions were still well at turn T.",
    "at depth": "share of passed checks in the second half of the planned turns. Only `pass` and `fail` count; the "
    "other outcomes are listed with their own numbers.",
    "WARN level, ROTATE level": "the budget monitor speaks: the prompt fills 60 % or 80 % of the window, whatever the "
    "answers are like. Given is the median turn at which the sessions that came so far first did.",
    "overflow": "the prompt no longer fits the window. A session that overflows is over, and that is an event; a probe "
    "that overflows on its branch is undecided, and its session goes on.",
    "repeated action": "a tool call with the same arguments as an earlier one that had succeeded, unless a probe asked "
    "for it.",
    "lost": "the check failed and the rule or fact was not in the prompt any more: the context strategy dropped it.",
    "ignored": "the check failed although the rule or fact was in the prompt: it was not honoured. Whether that is rot "
    "or a constant error rate, the trend over the turns says.",
    "incapable": "the check failed, and the ceiling control fails in most repeats as well: the model cannot do it.",
    "unattributed": "the check failed, and what was sent does not say why: the check is tied to no rule or fact, or "
    "the agent keeps its own memory.",
    "ceiling, floor": "the same question in a fresh session with the rule right before it (ceiling) and without it "
    "ever being stated (floor). A question that passes its floor tests nothing.",
    "tokens": "prompt and completion tokens of all calls, probes and auxiliary calls included.",
    "95 % intervals": "take the session as the unit, because the turns of one session are not independent.",
}
_SHOWN = {"\n", "\t", "\u200c", "\u200d"}  # the joiners are part of ordinary words and emoji
#: more combining marks on a letter than any script needs: they cover what is above, and a browser takes long over them
_PILE = regex.compile(r"(\p{M}{10})(\p{M}+)")


def clean(text: object) -> str:
    """Text of unknown origin made safe to show: control, format and bidi characters become visible escapes.

    Of combining marks piled on one letter ten are shown, and how many more there are.
    """
    shown = "".join(
        char
        if char in _SHOWN or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        else char.encode("unicode_escape", "surrogatepass").decode()
        for char in str(text)
    )
    return _PILE.sub(lambda pile: f"{pile[1]}[{len(pile[2]):,} more marks]", shown)


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
    if 1e-9 < share < 0.005:
        return "< 1 %"
    return f"{_whole(100 * share)} %"


def _whole(number: float) -> str:
    """A number without decimals; what rounds to nothing has no sign."""
    return f"{number:.0f}".replace("-0", "0") if abs(number) < 0.5 else f"{number:.0f}"


def rate_text(rate: Rate) -> str:
    """``25 % (6–64, n 48)``, or ``– (n 0)`` when nothing was decided."""
    if rate.low is None or rate.high is None:
        return f"{percent(rate.rate)} (n {rate.n})"
    return f"{percent(rate.rate)} ({100 * rate.low:.0f}–{100 * rate.high:.0f}, n {rate.n})"


def share_text(share: Share | None, interval: bool = True) -> str:
    """``12 % (4–31, 6 of 50)``; a dash where there is nothing to count."""
    if share is None or share.share is None:
        return "–"
    counted = f"{share.count} of {share.n}"
    if not interval or share.low is None or share.high is None:
        return f"{percent(share.share)} ({counted})"
    return f"{percent(share.share)} ({100 * share.low:.0f}–{100 * share.high:.0f}, {counted})"


def points(difference: float) -> str:
    """A difference of shares in percentage points, signed: ``−35``; one that is hardly any is not rounded to none."""
    rounded = round(100 * difference)
    if not rounded and abs(difference) >= 0.0005:
        return f"{100 * difference:+.1f}".replace("-", "−")
    return f"{rounded:+d}".replace("-", "−") if rounded else "0"


def counted(n: int, what: str) -> str:
    """``1 session``, ``1,200 sessions``."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def change_text(change: Difference) -> str:
    """``−35 points (95 % −52 to −18, 8 sessions)``."""
    if change.difference is None:
        return "–"
    sessions = counted(change.units, "session")
    if change.low is None or change.high is None:
        return f"{points(change.difference)} points ({sessions}: too few for an interval)"
    return f"{points(change.difference)} points (95 % {points(change.low)} to {points(change.high)}, {sessions})"


def trend_text(trend: Trend) -> str:
    """Percentage points per 10 turns: ``−4.2 (−6.0 to −2.4, p < 0.001)``; a dash where there is nothing to fit."""
    if trend.per_turn is None or trend.low is None or trend.high is None or trend.p_value is None:
        return "–"
    slope, low, high = (f"{1000 * value:+.1f}".replace("-", "−") for value in (trend.per_turn, trend.low, trend.high))
    p = "p < 0.001" if trend.p_value < 0.001 else f"p {trend.p_value:.3f}"
    return f"{slope} ({low} to {high}, {p})"


def threshold_text(threshold: Threshold) -> str:
    """``12 (5–16)``, ``≥ 40 (30–40)``; in per cent of the window for an occupancy; ``before the first`` for None."""

    def place(value: float | None) -> str:
        if value is None:
            return "none"
        return f"{value:g}" if threshold.unit == "turns" else percent(value)

    if threshold.value is None and threshold.low is None and threshold.high is None:
        return "–"
    value = "before the first" if threshold.value is None else place(threshold.value)
    sign = "≥ " if threshold.holds else ""
    mark = "; not monotone" if threshold.note else ""
    low, high = (place(bound).removesuffix(" %") for bound in (threshold.low, threshold.high))
    return f"{sign}{value} ({low}–{high}{mark})"


def effective_text(shipping: Shipping) -> str:
    """The effective length in turns with what it cannot claim; a dash where even the first turn falls short."""
    value = "–" if shipping.effective_turns is None else f"{shipping.effective_turns:g} turns"
    return f"{value} (not monotone)" if (shipping.effective_note or "").startswith("Not monotone") else value


def incidence_text(incidence: dict[str, float]) -> str:
    """``fail 35 %, overflow 10 %``: the share of sessions that ended so by the last turn."""
    return ", ".join(f"{name.replace('_', ' ')} {percent(share)}" for name, share in incidence.items()) or "–"


def reached_text(level: Reached) -> str:
    """``turn 12 (8 of 8)``: the median turn of the sessions that reached a level; ``never (0 of 8)``."""
    if level.median_turn is None:
        return f"never (0 of {level.n})"
    return f"turn {level.median_turn:g} ({level.sessions} of {level.n})"


def level_text(level: Reached) -> str:
    """``ROTATE level (≥ 80 % full)``: what the budget monitor goes by, as against a recommended place to rotate."""
    return f"{level.level} level (≥ {percent(level.threshold)} full)"


def length_text(group: Group) -> str:
    """The median length; where the window ended sessions, the text says that that came, and how often beside failures.

    ``overflow at 19 (95 % 19–19)``, ``36 turns (95 % 20–36); 1 failed, 3 overflow``. Where so many sessions could not
    be followed that it is no length: ``14 turns (95 % ≥ 10); 4 of 5 not followed``.
    """
    length = group.length
    open_ = "" if length.followed else f"; {length.lost_sight} of {length.n} not followed"
    return _length_and_events(group) + open_


def _length_and_events(group: Group) -> str:
    events = group.length.events
    broke = {"overflow": "overflow", "over_budget": "over budget"}
    came = {word: events[kind] for kind, word in broke.items() if events[kind]}
    if not came or group.length.median is None:
        return group.length.text
    if events["fail"]:
        counted = [f"{events['fail']} failed", *(f"{n} {word}" for word, n in came.items())]
        return f"{group.length.text}; {', '.join(counted)}"
    return f"{' or '.join(came)} at {group.length.text.replace(' turns', '').replace(' turn', '')}"


def unfollowed_text(length: Length) -> str:
    """``4 of 5 could not be followed beyond turn 10: truncated replies``; empty where all could."""
    if not length.lost_sight:
        return ""
    turns = [int(turn) for turn in length.unfollowed]
    span = f"turn {turns[0]}" if len(turns) == 1 else f"turns {min(turns)}–{max(turns)}"
    why = " or ".join(name.replace("_", " ") for name in length.unfollowed_why)
    return f"{length.lost_sight} of {length.n} could not be followed beyond {span}: {why} replies"


def rot_text(group: Group) -> str:
    """Is it rot? ``falls with the turns (−4.4 points per 10 turns, p 0.006)``; empty where nothing failed.

    What decides is `Group.pattern`; here it is put into words with its figures.
    """
    trend = None if group.shipping is None else group.shipping.trends["after_fresh"]
    seen = f"no trend seen{'' if trend is None or trend.p_value is None else f' ({p_text(trend.p_value)})'}"
    moved = "" if trend is None or trend.per_turn is None else f" ({_slope(trend)})"
    rate = p_text(group.length.hazard_p)
    fails, lost = group.causes.get("fails", 0), group.causes.get("lost", 0)
    fitted = trend is not None and trend.per_turn is not None
    left = ", as what it was told left the prompt" if lost and lost == fails else ""
    return {
        "falls": f"falls with the turns{moved}{left}",
        "rises": f"rises with the turns{moved}",
        "uneven": f"{seen}, but first failures are not spread as a constant error rate would ({rate})",
        "constant": f"{seen}; a constant error rate explains it ({rate})",
        "flat": f"{seen}, and too few failures to test a constant error rate",
        "always": "fails at every turn after the fresh session",
        "few": f"too few {'failures' if fitted and group.length.followed else 'sessions'} to tell",
    }.get(group.pattern, "")


def _slope(trend: Trend) -> str:
    per_ten = trend_text(trend).partition(" (")[0]
    return f"{per_ten} points per 10 turns, {p_text(trend.p_value)}"


def p_text(p: float | None) -> str:
    """``p 0.006``, ``p < 0.001``; a dash where there is none."""
    if p is None:
        return "–"
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}" if p < 0.0995 else f"p {p:.2f}"


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


def check_error_text(sentence: str, n: int) -> str:
    """``a check could not decide (12 times), check `mine`: f raised ValueError: …``."""
    return f"a check could not decide ({n} time{'' if n == 1 else 's'}), {one_line(sentence, 300)}"


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
    if unfollowed := unfollowed_text(group.length):
        notes.append(unfollowed if group.length.followed else f"not ranked by length: {unfollowed}")
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


def totals_text(summary: Summary) -> str:
    """Sessions, calls, tokens and cost of the whole run on one line."""
    parts = [f"{summary.sessions} session" + ("" if summary.sessions == 1 else "s")]
    if summary.control_sessions:
        parts[0] += f" + {summary.control_sessions} of controls"
    parts += [f"{summary.calls:,} calls", f"{tokens_text(summary.tokens)} tokens", f"cost {cost_text(summary.cost)}"]
    return ", ".join(parts)
