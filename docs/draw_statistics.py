"""Draw the pictures of docs/statistics-explained.md: `python docs/draw_statistics.py`.

Every picture is of sessions that are drawn from a known truth, and says SIMULATED; the curves, tests and intervals in
it come from the functions that a report uses. The figures named in the text are in docs/images/statistics/figures.json,
which a test compares with the page. Seeds are fixed, so that drawing anew gives the same figures.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contextrot.analysis.curves import compliance, effective_length, effective_length_note
from contextrot.analysis.paired import paired_restricted_mean, pseudo_means
from contextrot.analysis.survival import constant_hazard_test, kaplan_meier, median_text
from contextrot.analysis.trend import trend_test
from contextrot.report.plot_style import COLOURS, GREY, RC

FOLDER = Path(__file__).parent / "images" / "statistics"
BLUE, RED, GREEN = COLOURS[:3]
LIGHT = "#D5DCE2"


def main() -> None:
    """Draw all of them and write what the text says about them."""
    from matplotlib import rc_context

    figures: dict[str, Any] = {}
    with rc_context({**RC, "font.family": "sans-serif"}):
        for name, draw in (
            ("survival", survival), ("constant-error", constant_error), ("unit", unit),
            ("effective-length", lengths), ("pairs", pairs),
        ):  # fmt: skip
            figure, found = draw()
            figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
            figures[name] = found
    (FOLDER / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def canvas(height: float, widths: tuple[float, ...]) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side, marked as simulated."""
    figure = Figure(figsize=(8.4, height), layout="constrained")
    panels = list(np.ravel(figure.subplots(1, len(widths), width_ratios=widths, squeeze=False)))
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.text(
            0.5, 0.5, "SIMULATED", transform=panel.transAxes, ha="center", va="center", rotation=18, fontsize=22,
            alpha=0.06, zorder=0.5, weight="bold",
        )  # fmt: skip
    return figure, panels


def titled(panel: Axes, title: str, x: str, y: str = "") -> None:
    """Title to the left, labels of the axes."""
    panel.set_title(title, loc="left", weight="bold")
    panel.set_xlabel(x)
    panel.set_ylabel(y)


def survival() -> tuple[Figure, dict[str, Any]]:
    """Ten sessions as lines, and the curve that comes of them."""
    lasted = [4, 6, 9, 9, 12, 12, 15, 17, 20, 20]
    ended = ["fail", "fail", "fail", "error", "fail", "overflow", "fail", "overflow", "completed", "completed"]
    figure, (left, right) = canvas(3.4, (1.05, 1))
    marks = {"fail": ("X", RED), "overflow": ("s", COLOURS[4]), "error": ("o", GREY), "completed": (">", GREEN)}
    for row, (turns, end) in enumerate(zip(lasted, ended, strict=True)):
        left.plot([0, turns], [row, row], color=LIGHT, linewidth=5, solid_capstyle="butt")
        left.plot(turns, row, marks[end][0], color=marks[end][1], markersize=8, clip_on=False)
    for end, (mark, colour) in marks.items():
        left.plot([], [], mark, color=colour, label=end, linestyle="none")
    left.legend(frameon=False, loc="upper right", fontsize=8)
    titled(left, "Ten sessions of at most 20 turns", "turn", "session")
    left.set(xlim=(0, 21), yticks=[], xticks=range(0, 21, 5))
    left.invert_yaxis()
    length = kaplan_meier(lasted, [end in ("fail", "overflow") for end in ended], horizon=20)
    failed = kaplan_meier(lasted, [end == "fail" for end in ended], horizon=20)
    for one, colour, dash, label in (
        (failed, BLUE, (0, (4, 2)), "if overflow were no event"),
        (length, RED, "-", "failure or overflow"),
    ):
        time, share = [0, *one.table["time"], 20], [1, *one.table["survival"], one.table["survival"].iloc[-1]]
        right.step(time, share, where="post", color=colour, linestyle=dash, linewidth=2, label=label)
    right.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
    right.annotate(
        f"median {length.median}", (float(length.median or 0), 0.5), xytext=(1.2, 0.36), fontsize=9, color=RED,
        arrowprops={"arrowstyle": "-", "color": RED, "linewidth": 0.8},
    )  # fmt: skip
    right.legend(frameon=False, loc="upper right", fontsize=8)
    titled(right, "What the report draws of them", "turn", "share still without a failure")
    right.set(xlim=(0, 20), ylim=(0, 1.05), xticks=range(0, 21, 5))
    naive = float(np.mean([turns for turns, end in zip(lasted, ended, strict=True) if end == "fail"]))
    return figure, {"median": median_text(length), "mean of the failed": round(naive, 1)}


def constant_error() -> tuple[Figure, dict[str, Any]]:
    """Two agents with one median: one errs alike at every turn, the other rots."""
    rng = np.random.default_rng(4)
    turns, sessions = np.arange(1, 41), 60
    chances = {"always the same": np.full(40, 0.967), "rot": np.clip(0.999 - 0.0000165 * turns**2.85, 0.3, 1)}
    figure, (left, right) = canvas(3.3, (1, 1))
    found: dict[str, Any] = {}
    for (name, chance), colour, mark in zip(chances.items(), (BLUE, RED), "os", strict=True):
        good = rng.random((sessions, 40)) < chance
        failed = ~good.all(axis=1)
        first = np.where(failed, np.argmin(good, axis=1) + 1, 40)
        length = kaplan_meier(first, failed.astype(int), horizon=40)
        trend = trend_test(np.repeat(range(sessions), 40), np.tile(turns, sessions), good.ravel().tolist())
        test = constant_hazard_test(first, failed.astype(int), times=turns)
        blocks = good.reshape(sessions, 10, 4).mean(axis=(0, 2))
        left.plot(np.arange(2.5, 41, 4), blocks, mark + "-", color=colour, label=name, markersize=4)
        table = length.table
        right.step([0, *table["time"]], [1, *table["survival"]], where="post", color=colour, linewidth=2, label=name)
        found[name] = {
            "median": length.median, "per 10 turns": round(1000 * (trend.per_turn or 0), 1),
            "trend p": float(f"{trend.p_value:.2g}"), "hazard p": float(f"{test.p_value:.2g}"),
        }  # fmt: skip
    left.set(ylim=(0, 1.05), xlim=(0, 41))
    titled(left, "Answers that are right", "turn", "share of all answers")
    left.legend(frameon=False, loc="lower left")
    right.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
    right.set(ylim=(0, 1.05), xlim=(0, 41))
    titled(right, "Sessions without a failure so far", "turn", "share of sessions")
    return figure, found


def unit() -> tuple[Figure, dict[str, Any]]:
    """Intervals over checks and over sessions, 40 benches of each, and how often 400 of them hold the truth."""
    from statsmodels.stats.proportion import proportion_confint

    rng = np.random.default_rng(1)
    truth, sessions, checks = 0.8, 12, 20
    rows = []
    for _ in range(400):
        chance = rng.beta(truth * 1.5, (1 - truth) * 1.5, sessions)  # some sessions go well, some badly
        good = rng.random((sessions, checks)) < chance[:, None]
        frame = pd.DataFrame(
            {"session": np.repeat(range(sessions), checks), "outcome": np.where(good.ravel(), "pass", "fail"), "all": 0}
        )
        ours = compliance(frame, "all").iloc[0]
        rows.append((*proportion_confint(good.sum(), good.size, method="wilson"), ours["low"], ours["high"]))
    ends = np.array(rows, dtype=float)
    figure, panels = canvas(3.2, (1, 1))
    found = {}
    for panel, name, place in zip(panels, ("checks", "sessions"), (0, 2), strict=True):
        low, high = ends[:, place], ends[:, place + 1]
        holds = (low <= truth) & (truth <= high)
        for number in range(40):
            colour = BLUE if holds[number] else RED
            panel.plot([number] * 2, [low[number], high[number]], color=colour, linewidth=2 if holds[number] else 3)
        panel.axhline(truth, color=GREY, linewidth=0.9, linestyle=":")
        found[name] = round(100 * float(holds.mean()))
        titled(panel, f"Interval over {name}: holds the truth in {found[name]} %", "40 benches of 12 sessions", "rate")
        panel.set(ylim=(0.3, 1.02), xticks=[])
    return figure, found


def lengths() -> tuple[Figure, dict[str, Any]]:
    """A curve that falls through the threshold once, and one that does not."""
    tokens = [1000, 2000, 4000, 8000, 16000, 32000]
    curves = {"falls once": [0.97, 0.96, 0.93, 0.86, 0.72, 0.51], "comes back": [0.97, 0.94, 0.76, 0.70, 0.88, 0.60]}
    ceiling = 0.98
    figure, panels = canvas(3.1, (1, 1))
    found = {}
    for panel, (name, rates) in zip(panels, curves.items(), strict=True):
        longest = effective_length(tokens, rates, ceiling)
        panel.axhline(ceiling, color=GREEN, linewidth=1.2, linestyle=(0, (4, 2)))
        panel.text(1000, ceiling + 0.012, "ceiling: asked right after being told", color=GREEN, fontsize=8)
        panel.axhline(0.85 * ceiling, color=GREY, linewidth=1, linestyle=":")
        panel.text(1000, 0.85 * ceiling - 0.045, "85 % of it", color=GREY, fontsize=8)
        panel.plot(tokens, rates, "o-", color=BLUE, linewidth=2)
        panel.axvspan(900, longest, color=BLUE, alpha=0.08, linewidth=0)
        panel.set(xscale="log", ylim=(0.4, 1.06), xlim=(900, 36000), xticks=tokens)
        panel.set_xticklabels([f"{one // 1000}k" for one in tokens])
        panel.minorticks_off()
        titled(panel, f"Effective length {longest:,} tokens", "prompt tokens", "share of checks passed")
        found[name] = {"length": longest, "note": effective_length_note(tokens, rates, ceiling)}
    return figure, found


def pairs() -> tuple[Figure, dict[str, Any]]:
    """The same sessions under two strategies: what pairing takes out is how much sessions differ among themselves."""
    rng = np.random.default_rng(11)
    n, horizon = 24, 40
    script = rng.uniform(8, 34, n)  # how hard each script is, the same for both sides
    first = np.clip(np.round(script + rng.normal(0, 1.5, n)), 1, 46)
    second = np.clip(np.round(script + 4 + rng.normal(0, 2.5, n)), 1, 46)
    sides = [(np.minimum(side, horizon), (side <= horizon).astype(int)) for side in (first, second)]
    paired = paired_restricted_mean(sides[0], sides[1], horizon)
    means = [pseudo_means(*side, horizon) for side in sides]
    spread = float(np.sqrt(sum(one.var(ddof=1) / n for one in means)))
    apart = float(means[1].mean() - means[0].mean())
    figure, (left, right) = canvas(3.4, (1.5, 1))
    for row, place in enumerate(np.argsort(first)):
        ends = [sides[0][0][place], sides[1][0][place]]
        left.plot(ends, [row, row], color=LIGHT, linewidth=3, zorder=1)
        left.plot(ends[0], row, "o", color=BLUE, markersize=5)
        left.plot(ends[1], row, "s", color=RED, markersize=5)
    left.plot([], [], "o", color=BLUE, label="strategy A")
    left.plot([], [], "s", color=RED, label="strategy B")
    left.legend(frameon=False, loc="lower right")
    left.set(yticks=[], xlim=(0, 41))
    titled(left, "24 pairs: one script and seed on both sides", "turns to first failure", "pair")
    intervals = [
        ("as pairs", float(paired.estimate or 0), float(paired.low or 0), float(paired.high or 0)),
        ("as if apart", apart, apart - 2.01 * spread, apart + 2.01 * spread),
    ]
    for row, (name, middle, low, high) in enumerate(intervals):
        right.plot([low, high], [row, row], color=GREEN if row == 0 else GREY, linewidth=3)
        right.plot(middle, row, "o", color=GREEN if row == 0 else GREY)
        right.text(low, row - 0.2, f"{name}: {middle:.1f} ({low:.1f} to {high:.1f})", fontsize=8.5)
    right.axvline(0, color=GREY, linewidth=1, linestyle=":")
    right.set(yticks=[], ylim=(1.6, -0.6), xlim=(min(-3.5, intervals[1][2] - 1), intervals[1][3] + 3))
    titled(right, "Turns that B lasts longer", "difference of restricted means")
    return figure, {name: [round(middle, 1), round(low, 1), round(high, 1)] for name, middle, low, high in intervals}


if __name__ == "__main__":
    main()
