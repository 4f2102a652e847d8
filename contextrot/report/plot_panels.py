"""Which series stand in which panel of a picture, and what each is called there.

A series has five names: run, scenario, model, strategy and check. `facet` says which of them set panels apart; what
differs inside a panel is the name of a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from contextrot.analysis.series import Curve, SurvivalCurve
from contextrot.report import words

C = TypeVar("C", Curve, SurvivalCurve)
#: the names of a series, from the outermost in
NAMES = ("run", "scenario", "model", "strategy", "check")
#: what sets panels apart unless said otherwise: strategies, and runs, are what a reader compares
FACET = ("scenario", "model", "check")
#: panels a picture holds at most
MOST_PANELS = 24
#: from this many lines in a panel on, the best and the worst are named and the others are grey
MANY = 13
#: so many of the best, and of the worst, are named then
NAMED = 3
POOLED = "all scenarios together"
KINDS = {"probe": "probes", "passive": "standing rules on live replies"}


@dataclass(frozen=True, slots=True)
class Source(Generic[C]):
    """A series with the run it is of (its label) and that run's date (``2026-03-01``, or empty)."""

    run: str
    date: str
    curve: C

    def name(self, what: str) -> str:
        """One of the series' `NAMES`."""
        if what == "run":
            return self.run
        if what == "check":
            return kind_of(self.curve)
        return getattr(self.curve, what) or POOLED


@dataclass(frozen=True, slots=True)
class Line(Generic[C]):
    """A series of a panel under the name that tells it from its neighbours."""

    name: str
    source: Source[C]

    @property
    def curve(self) -> C:
        """The series."""
        return self.source.curve


@dataclass(frozen=True, slots=True)
class Panel(Generic[C]):
    """One panel: its title, and its lines. `named`: names of the lines to set off where there are many."""

    title: str
    lines: list[Line[C]]
    named: frozenset[str]

    @property
    def simulated(self) -> bool:
        """True when any line is of a simulated model."""
        return any(line.curve.simulated for line in self.lines)

    @property
    def crowded(self) -> bool:
        """True where only some lines can be told apart."""
        return len(self.lines) >= MANY


def kind_of(curve: Curve | SurvivalCurve) -> str:
    """What a curve's checks are: a kind in words, or a constraint, fact or probe by its id; empty for survival.

    A constraint may be probed and checked on every live reply as well.
    """
    if isinstance(curve, SurvivalCurve):
        return ""
    if curve.check == curve.kind:
        return KINDS[curve.kind]
    return curve.check if curve.kind == "probe" else f"{curve.check} (live replies)"


def arrange(sources: Sequence[Source[C]], facet: Sequence[str] = FACET) -> list[Panel[C]]:
    """The panels of a picture, in the order in which their series come; all of them, however many."""
    inner = [what for what in NAMES if what not in facet and _varies(sources, what)]
    shown = [what for what in NAMES if what in facet and (what == "scenario" or _varies(sources, what))]
    if all(kind_of(source.curve) in KINDS.values() for source in sources) and "check" in shown:
        shown.remove("check")  # a panel's note says it
    cells: dict[tuple[str, ...], list[Source[C]]] = {}
    for source in sources:
        cells.setdefault(tuple(source.name(what) for what in NAMES if what in facet), []).append(source)
    panels = []
    for part in cells.values():
        lines = [Line(_joined(source, inner) or _only(source, facet), source) for source in part]
        panels.append(Panel(_joined(part[0], shown), lines, _named(lines)))
    return panels


def line_names(panels: Sequence[Panel[C]]) -> list[str]:
    """The names of all lines, each once: a line of one name looks the same in every panel."""
    return list(dict.fromkeys(line.name for panel in panels for line in panel.lines))


def panel_word(panels: Sequence[Panel[C]]) -> str:
    """What the panels are, in the plural: `scenarios`, where those alone set them apart."""
    sources = [panel.lines[0].source for panel in panels]
    apart = [what for what in NAMES if len({source.name(what) for source in sources}) == len(panels)]
    words_for = {"strategy": "strategies"}
    return words_for.get(apart[0], f"{apart[0]}s") if apart else "panels"


def spread(counts: Sequence[int]) -> str:
    """``12``, or ``5–59``."""
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)}–{max(counts)}"


def _varies(sources: Sequence[Source[C]], what: str) -> bool:
    return len({source.name(what) for source in sources}) > 1


def _joined(source: Source[C], whats: Sequence[str]) -> str:
    return " · ".join(words.one_line(source.name(what), 200) for what in whats)


def _only(source: Source[C], facet: Sequence[str]) -> str:
    """The name of a line that is alone of its kind everywhere."""
    return words.one_line(source.name("strategy" if "strategy" not in facet else "model"), 200)


def _named(lines: Sequence[Line[C]]) -> frozenset[str]:
    """All lines, or of many the best and the worst, by turns without failure or share of checks passed."""
    if len(lines) < MANY:
        return frozenset(line.name for line in lines)
    ranked: list[str] = [line.name for line in sorted(lines, key=_height)]
    return frozenset((*ranked[:NAMED], *ranked[-NAMED:]))


def _height(line: Line[C]) -> float:
    curve: Curve | SurvivalCurve = line.curve
    return (curve.restricted_mean if isinstance(curve, SurvivalCurve) else curve.rate) or 0.0
