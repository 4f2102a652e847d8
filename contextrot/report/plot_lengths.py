"""What a picture of session lengths says in one sentence: its title, and the notes of its panels.

Two lengths differ where the intervals of their restricted means, or of their medians, do not touch: stricter than the
paired test of the report, so that a title claims no difference the report does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from contextrot.analysis.series import SurvivalCurve
from contextrot.report import words
from contextrot.report.plot_panels import MANY, Line, Panel, panel_word, spread
from contextrot.report.plot_phrases import NAMED, ended_by_window, joined, listed, name

Lines = Sequence[Line[SurvivalCurve]]


def length_claim(lines: Lines) -> str:
    """How long sessions last, which line lasts longest where that is clear, and whose sessions ran out of window."""
    known = [line for line in lines if line.curve.n]
    if len(known) == 1:
        return _one_length(known[0].curve)
    return _several(known) + _windows(known)


def length_claims(panels: Sequence[Panel[SurvivalCurve]]) -> str:
    """The same over several panels: which lines are clearly shorter than the longest in how many of them."""
    parts, what = [[line for line in panel.lines if line.curve.n] for panel in panels], panel_word(panels)
    if all(len(lines) < 2 for lines in parts):
        medians = [line.curve.median for lines in parts for line in lines]
        reached = [median for median in medians if median is not None]
        if not reached:
            return f"At least half of the sessions last to the end in all {len(panels)} {what}"
        if len(reached) == len(medians):
            return f"The median session ends between turn {min(reached):g} and turn {max(reached):g}"
        beyond = f"in {len(medians) - len(reached)} of {len(panels)} {what} not by the last turn checked"
        return f"The median session ends at turn {min(reached):g} at the earliest, and {beyond}"
    shorter = [line.name for lines in parts if lines for line in lines if longer(_ranked(lines)[0].curve, line.curve)]
    if not shorter:
        return f"No clear difference in length in any of {len(panels)} {what}"
    most = Counter(shorter).most_common()
    counts = ", ".join(f"{words.one_line(one, 40)} in {n}" for one, n in most[:NAMED])
    more = f" (and {len(most) - NAMED} more)" if len(most) > NAMED else ""
    return f"Clearly shorter than the longest: {counts} of {len(panels)} {what}{more}"


def longer(one: SurvivalCurve, other: SurvivalCurve) -> bool:
    """Does `one` clearly last longer: do the intervals of their restricted means or of their medians not touch?

    A bound that is not known touches everything.
    """
    pairs = ((one.mean_low, other.mean_high), (one.low, other.high))
    return any(low is not None and high is not None and low > high for low, high in pairs)


def _one_length(curve: SurvivalCurve) -> str:
    ended = sum(curve.events.values())
    full = f"; {ended_by_window([curve])}" if ended_by_window([curve]) else ""
    if not ended:
        return f"No session failed up to turn {curve.horizon or 0:g} ({words.counted(curve.n, 'session')})"
    if curve.median is None:
        return (
            f"{ended} of {curve.n} sessions end by turn {curve.horizon or 0:g}; the median session lasts longer{full}"
        )
    if curve.median == 0:
        return f"At least half of the sessions fail in the fresh session ({curve.n} sessions)"
    _, bracket, interval = curve.text.partition(" (")
    return f"The median session ends at turn {curve.median:g}{bracket}{interval}{full}"


def _several(known: Lines) -> str:
    of = "both" if len(known) == 2 else f"all {len(known)}"
    if not any(n for line in known for n in line.curve.events.values()):
        return f"No session failed up to turn {max((line.curve.horizon or 0.0) for line in known):g}"
    ranked = _ranked(known)
    best, worst = ranked[0], ranked[-1]
    short = [line for line in known if longer(best.curve, line.curve)]
    if not short:
        return _no_difference(known, best, worst, of)
    rest = [line for line in known if line not in short]
    top = [line for line in rest if _alike(line.curve, best.curve)]
    between = [line for line in rest if line not in top]
    if between:
        claim = (
            f"{listed(top, len(known))} {'leads' if len(top) == 1 else 'lead'} ({_medians(top)}), "
            f"not clearly longer than {listed(between, len(known))}"
        )
    else:
        claim = f"{listed(top, len(known))} {'lasts' if len(top) == 1 else 'last'} longest ({_medians(top)})"
    last = [line for line in short if not longer(line.curve, worst.curve)]
    word = "shortest" if all(_alike(line.curve, worst.curve) for line in last) else "shorter"
    return f"{claim}, {listed(last, len(known))} {word} ({_medians(last)})"


def _no_difference(known: Lines, best: Line[SurvivalCurve], worst: Line[SurvivalCurve], of: str) -> str:
    medians = {line.curve.median for line in known}
    if medians == {None}:
        return f"In {of} at least half of the sessions last to turn {best.curve.horizon or 0:g}"
    if len(medians) == 1:
        return f"No clear difference in length: the median session ends at turn {worst.curve.median:g} in {of}"
    doubt = "their intervals overlap"
    if best.curve.mean_low is None or worst.curve.mean_high is None:
        doubt = "too few sessions to tell them apart"
    return f"No clear difference in length: {name(worst)} {_medians([worst])}, {name(best)} {_medians([best])}; {doubt}"


def _windows(known: Lines) -> str:
    """Whose sessions ended in the main because their window was full: that is an end, and no failed check."""
    full = [line for line in known if 2 * _broke_off(line.curve) >= line.curve.n]
    if not full:
        return ""
    if len(known) >= MANY or len(full) > NAMED:
        return f"; window full in most sessions of {listed(full, len(known))}"
    return f"; {joined([name(line) for line in full])}: {ended_by_window([line.curve for line in full])}"


def _broke_off(curve: SurvivalCurve) -> int:
    return sum(n for kind, n in curve.events.items() if kind != "fail")


def _ranked(lines: Lines) -> Lines:
    """The longest first."""
    return sorted(lines, key=lambda line: -(line.curve.restricted_mean or 0.0))


def _alike(one: SurvivalCurve, other: SurvivalCurve) -> bool:
    return (one.median, one.restricted_mean) == (other.median, other.restricted_mean)


def _medians(lines: Lines) -> str:
    """``median 9``, ``median 9–12``, ``median > 24``."""
    reached = [int(line.curve.median) for line in lines if line.curve.median is not None]
    if len(reached) == len(lines):
        return f"median {spread(reached)}"
    horizon = f"> {max(line.curve.horizon or 0.0 for line in lines):g}"
    return f"median {min(reached)} to {horizon}" if reached else f"median {horizon}"
