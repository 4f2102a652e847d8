"""Which series of which runs a picture is of: names to choose by, and what to call the runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, TypeVar

from contextrot.analysis.series import (
    TOKENS,
    Curve,
    Per,
    SurvivalCurve,
    X,
    bin_width,
    compliance_curves,
    survival_curves,
)
from contextrot.analysis.tables import Run
from contextrot.errors import ConfigError, NothingMatchedError
from contextrot.report import words
from contextrot.report.plot_panels import Source

C = TypeVar("C", Curve, SurvivalCurve)
#: at most so many names are listed where none of them was asked for
LISTED = 12


def labelled(runs: Sequence[Run], labels: Sequence[str] = ()) -> list[tuple[str, Run]]:
    """Runs with what to call them: `labels`, one each, or the names of their folders, or their paths where those agree.

    Raises `ConfigError` when there are labels, but not one for each run, or one twice.
    """
    if labels and (len(labels) != len(runs) or len(set(labels)) != len(labels)):
        raise ConfigError(f"{len(runs)} runs and {len(labels)} labels: give each run a --label of its own, or none")
    names = [run.path.resolve().name for run in runs]
    if len(set(names)) < len(names):
        names = [str(run.path) for run in runs]
    if len(set(names)) < len(names):
        raise ConfigError("a run is named twice; name each once")
    return list(zip(labels or names, runs, strict=True))


def choose(
    runs: Sequence[tuple[str, Run]],
    y: Literal["compliance", "survival"],
    x: X = "turn",
    per: Per = "kind",
    only: Mapping[str, Sequence[str]] | None = None,
    *,
    pooled: bool = False,
) -> list[Source[Curve]] | list[Source[SurvivalCurve]]:
    """The series to draw. `only`: names to keep, by scenario, model, strategy, check; `pooled`: the pools alone.

    A name may hold `*`, and `fifo` is also `fifo(keep=6 turns)`. Runs get the same bins. Raises `NothingMatchedError`
    with the names there are when one that was asked for is not among them, or when nothing was measured.
    """
    if y == "survival":
        return _kept([(label, run, survival_curves(run)) for label, run in runs], only or {}, pooled)
    widths = [bin_width(run, x) or 1 for _, run in runs] if x in TOKENS else []
    width = max(widths, default=None)
    curves = [(label, run, compliance_curves(run, x, per, width=width)) for label, run in runs]
    return _kept(curves, only or {}, pooled)


def left_out(
    runs: Sequence[tuple[str, Run]],
    sources: Sequence[Source[Curve]] | Sequence[Source[SurvivalCurve]],
    only: Mapping[str, Sequence[str]] | None = None,
) -> list[str]:
    """A sentence for each run that nothing is drawn of, with what was asked for and what it has."""
    drawn = {source.run for source in sources}
    told = []
    for label, run in runs:
        if label not in drawn:
            missing = [_missing(run, what, wanted) for what, wanted in (only or {}).items() if what != "check"]
            why = ", ".join(filter(None, missing)) or run.summary.why_nothing
            told.append(words.clean(f"{label} is left out: {why or 'it has nothing of what was asked for'}"))
    return told


def _missing(run: Run, what: str, wanted: Sequence[str]) -> str:
    """``no scenario a or b (it has c)``; empty where the run has one of them."""
    known = [getattr(group, what) or "" for group in run.summary.groups]
    if not wanted or any(_matches(there, name) for there in known for name in wanted):
        return ""
    return f"no {what} {' or '.join(wanted)} (it has {_listed_names(known)})"


def _listed_names(names: Iterable[str | None]) -> str:
    known = list(dict.fromkeys(name for name in names if name))
    return ", ".join(known[:LISTED]) + (" …" if len(known) > LISTED else "") or "none"


def _kept(
    found: Sequence[tuple[str, Run, Sequence[C]]], only: Mapping[str, Sequence[str]], pooled: bool
) -> list[Source[C]]:
    sources = [
        Source(label, (run.summary.origin.started or "")[:10], curve)
        for label, run, curves in found
        for curve in curves
    ]
    if not sources:
        why = "; ".join(f"{label}: {run.summary.why_nothing or 'nothing to draw'}" for label, run, _ in found)
        raise NothingMatchedError(f"there is nothing to plot: {words.one_line(why, 300)}")
    for what, wanted in only.items():
        names = list(dict.fromkeys(name for source in sources for name in _names(source, what)))
        for name in wanted:
            if not any(_matches(known, name) for known in names):
                listed = words.clean(_listed_names(names))
                raise NothingMatchedError(f"no {what} {name!r} in what was measured; there is {listed}")
    kept = [
        source
        for source in sources
        if (source.curve.scenario is None) == pooled
        and all(
            not wanted or any(_matches(known, name) for known in _names(source, what) for name in wanted)
            for what, wanted in only.items()
            if not (pooled and what == "scenario")
        )
    ]
    if kept:
        return kept
    if pooled and not any(source.curve.scenario is None for source in sources):
        raise NothingMatchedError("there is nothing to pool: the runs are of one scenario, or a curve is of one alone")
    raise NothingMatchedError("no series is left: what was asked for exists, but not together")


def _names(source: Source[C], what: str) -> list[str]:
    """The names a series goes by; a check by its id and by its kind."""
    curve: Curve | SurvivalCurve = source.curve
    if what == "check":
        return [] if isinstance(curve, SurvivalCurve) else list(dict.fromkeys((curve.check, curve.kind)))
    name = getattr(curve, what)
    return [] if name is None else [name]


def _matches(name: str, wanted: str) -> bool:
    return name == wanted or fnmatchcase(name, wanted) or name.startswith(f"{wanted}(")


def default_name(y: str, x: str, per: str) -> str:
    """What the file of a picture is called: `compliance-by-turn-per-constraint.svg`."""
    if y == "survival":
        return "plot-survival.svg"
    return f"plot-compliance-by-{x}{'-per-constraint' if per == 'constraint' else ''}.svg"


def picture_kind(path: Path) -> str:
    """`svg`, `png` or `pdf`, by the file's suffix. Raises `ConfigError` for another."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png", "pdf"):
        raise ConfigError(
            f"cannot draw a {path.suffix or 'file without suffix'}; --out FILE ends in .svg, .png or .pdf"
        )
    return kind
