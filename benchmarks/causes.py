"""Lost, ignored, incapable: is a known split found again? On simulated models whose loss and neglect are known.

    python benchmarks/causes.py

A rule stands in turn 1 and a fact beside it; both are asked for at each of 12 turns of 120 sessions. The model neglects
what it can read with probability 0.2, and is right without reading it with probability 0.3. One of the two models can
never keep the rule. `full` and `pinned` keep all in view, `fifo` keeps three turns. From that follows what must be
found, and the exact binomial interval (Clopper and Pearson 1934) of each count has to hold it at 99.9 %.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from contextrot.analysis.tables import Run, load_run

HAZARD, GUESS = 0.2, 0.3
REPEATS, TURNS, IN_VIEW = 120, 12, 3
LEVEL = 0.999
STRATEGIES = ("full", "fifo", "pinned")
SCENARIO = f"""\
contextrot: 1
id: causes
constraints:
  - id: aye
    text: Begin every reply with AYE.
    place: first_user
    pinned: true
    check: {{type: starts_with, text: AYE}}
facts:
  - id: code
    text: "For later: our project code is {{value}}."
    values: [BLUE-42, TEAL-7, RUST-19]
    at: 1
    pinned: true
filler: {{kind: notes, tokens_per_turn: 40}}
session: {{turns: {TURNS}, history: scripted}}
probes:
  - {{id: aye, ask: How do you do?, at: {{every: 1, from: 1}}, constraint: aye}}
  - {{id: code, ask: What is our project code?, at: {{every: 1, from: 1}}, check: {{type: recall, fact: code}}}}
"""


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be found for one probe: lost and ignored as probabilities of `…_n` asked; `incapable` as a count."""

    model: str
    strategy: str
    probe: str
    lost: float
    lost_n: int
    ignored: float
    ignored_n: int
    incapable: int


def expected() -> list[Expected]:
    """The truth of every model, strategy and probe."""
    return list(_expected())


def _expected() -> Iterator[Expected]:
    asked = REPEATS * TURNS
    for model in ("able", "cannot"):
        for strategy in STRATEGIES:
            for probe in ("aye", "code"):
                seen = REPEATS * IN_VIEW if strategy == "fifo" else asked
                if (model, probe) == ("cannot", "aye"):
                    yield Expected(model, strategy, probe, 0.0, asked, 0.0, asked, asked)
                else:
                    yield Expected(model, strategy, probe, 1 - GUESS, asked - seen, HAZARD, seen, 0)


def measure(folder: Path) -> Run:
    """Run the bench into `folder` and load it."""
    from contextrot.bench.matrix import load_matrix
    from contextrot.bench.runner import run
    from contextrot.bench.store import RunDirectory
    from contextrot.config import BenchConfig

    (folder / "causes.yaml").write_text(SCENARIO, encoding="utf-8")
    able = f"sim/hazard?hazard={HAZARD}&guess={GUESS}"
    config = BenchConfig(
        scenarios=[str(folder / "causes.yaml")],
        models=[{"id": able, "label": "able"}, {"id": f"{able}&cannot=starts_with", "label": "cannot"}],
        strategies=[
            "full",
            {"type": "fifo", "keep": {"turns": IN_VIEW}},
            {"type": "pinned", "keep": {"turns": IN_VIEW}},
        ],
        repeats=REPEATS,
        seed=4,
        max_tokens=60,
    )
    with RunDirectory.at(folder / "run") as directory:
        asyncio.run(run(load_matrix(config), directory))
    return load_run(folder / "run")


def counts(run: Run, case: Expected) -> dict[str, int]:
    """Probes asked and failed, and the failures by final cause."""
    rows = run.verdicts
    strategy = rows["strategy"].astype(str).str.split("(").str[0]
    mine = rows[
        (rows["kind"] == "probe") & (rows["id"] == case.probe) & (rows["model"] == case.model)
        & (strategy == case.strategy) & rows["outcome"].isin(["pass", "fail"])
    ]  # fmt: skip
    found = {cause: int((mine["cause"] == cause).sum()) for cause in ("lost", "ignored", "incapable")}
    return {"asked": len(mine), "failed": int((mine["outcome"] == "fail").sum())} | found


def inside(count: int, n: int, probability: float) -> bool:
    """True when the exact interval of `count` in `n` holds the probability."""
    low, high = interval(count, n)
    return low <= probability <= high


def interval(count: int, n: int) -> tuple[float, float]:
    """Clopper–Pearson interval of a rate; a count of none or all has its own end at 0 or 1."""
    from statsmodels.stats.proportion import proportion_confint

    if not n:
        return 0.0, 1.0
    if count in (0, n):
        return (0.0, 0.0) if count == 0 else (1.0, 1.0)
    low, high = proportion_confint(count, n, alpha=1 - LEVEL, method="beta")
    return float(low), float(high)


def main() -> int:
    """Print the table; 1 when a truth lies outside its interval."""
    with tempfile.TemporaryDirectory() as folder:
        run = measure(Path(folder))
        found_in = {case: counts(run, case) for case in expected()}  # while the files are there
    wrong = 0
    print(
        f"{'model':<8}{'strategy':<10}{'probe':<7}{'lost':>18}{'true':>7}{'ignored':>20}{'true':>7}{'incapable':>12}{'true':>7}"
    )
    for case in found_in:
        found = found_in[case]
        cells = []
        for name, n, truth in (("lost", case.lost_n, case.lost), ("ignored", case.ignored_n, case.ignored)):
            rate = f"{found[name] / n:.3f} ({found[name]}/{n})" if n else "none asked"
            cells.append((rate, f"{truth:.2f}" if n else "–"))
            wrong += not inside(found[name], n, truth)
        wrong += found["incapable"] != case.incapable
        (lost, true_lost), (ignored, true_ignored) = cells
        print(
            f"{case.model:<8}{case.strategy:<10}{case.probe:<7}{lost:>18}{true_lost:>7}{ignored:>20}{true_ignored:>7}"
            f"{found['incapable']:>12}{case.incapable:>7}"
        )
    print(f"outside their {100 * LEVEL:g} % interval: {wrong}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
