"""Do the statistics keep their word? Coverage, false alarms and power over simulated sessions whose truth is known.

    python benchmarks/calibration.py [--runs 500] [--part NAME] [--seed 0]

Sessions fail at a constant hazard per turn and are watched for 40 turns. `--runs` simulated benches a cell go through
the analysis functions as they ship; `end-to-end` goes through scenario, session loop, run directory, baseline file and
gates with simulated models. Bounds: coverage of a 95 % interval between 93 and 97 % (plus twice the sampling error of
the simulation) from 20 sessions on; false alarms of the gate at most 5 %.
Exit 1 when a bound is broken. Below 20 sessions the figures are shown and not held to the bound.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

from contextrot.analysis.comparison import Limits
from contextrot.analysis.curves import session_interval
from contextrot.analysis.evidence import Evidence, SessionEvidence
from contextrot.analysis.gates import GateOutcome, evaluate
from contextrot.analysis.paired import paired_rate, paired_restricted_mean
from contextrot.analysis.planning import sessions_to_detect
from contextrot.analysis.survival import kaplan_meier, restricted_mean_interval
from contextrot.analysis.trend import trend_test

TURNS = 40
HAZARDS = (0.02, 0.04, 0.08)
SESSIONS = (10, 20, 50, 100)
#: bounds of coverage, %
LOW, HIGH = 93.0, 97.0
ALPHA = 0.05


def restricted_mean(hazard: float) -> float:
    """The true restricted mean session length (turns)."""
    return sum((1 - hazard) ** turn for turn in range(TURNS))


def true_median(hazard: float) -> int:
    """The true median (turns); it may lie beyond the last turn."""
    return math.ceil(math.log(0.5) / math.log(1 - hazard))


def hazard_for(mean: float) -> float:
    """The hazard at which sessions last `mean` turns on average up to the last."""
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if restricted_mean(middle) > mean else (low, middle)
    return low


def first_failures(rng: np.random.Generator, hazard: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Durations (turns) and events of n sessions; 5 % of them end early by an error."""
    first = rng.geometric(hazard, n)
    stop = np.where(rng.random(n) < 0.05, rng.integers(1, TURNS, n), TURNS)
    return np.minimum(first, stop), (first <= stop).astype(int)


def answers(rng: np.random.Generator, n: int, rate: float, together: float, probes: int = 5) -> np.ndarray:
    """Passes of n sessions of `probes` verdicts; `together` is the correlation inside a session."""
    a, b = rate * (1 - together) / together, (1 - rate) * (1 - together) / together
    return rng.binomial(probes, rng.beta(a, b, n)).astype(float)


# ---- coverage --------------------------------------------------------------------------------------------------------


def median_covers(rng: np.random.Generator, hazard: float, n: int) -> bool:
    s = kaplan_meier(*first_failures(rng, hazard, n))
    truth = true_median(hazard)
    return (s.low is None or s.low <= truth) and (s.high is None or truth <= s.high)


def mean_covers(rng: np.random.Generator, hazard: float, n: int) -> bool:
    span = restricted_mean_interval(kaplan_meier(*first_failures(rng, hazard, n), horizon=TURNS))
    return span is None or span[0] <= restricted_mean(hazard) <= span[1]


def difference_covers(rng: np.random.Generator, hazard: float, n: int) -> bool:
    """Against a side that lasts a fifth shorter."""
    other = hazard_for(0.8 * restricted_mean(hazard))
    first, second = (np.minimum(rng.geometric(h, n), TURNS) for h in (hazard, other))
    sides = [(list(map(float, side)), [int(x < TURNS) for x in side]) for side in (first, second)]
    found = paired_restricted_mean(*sides, TURNS, resamples=999)
    truth = restricted_mean(other) - restricted_mean(hazard)
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def rate_covers(rng: np.random.Generator, rate: float, n: int) -> bool:
    passed = answers(rng, n, rate, 0.3)
    low, high, _ = session_interval(passed, np.full(n, 5.0), resamples=500)
    return low <= rate <= high


def rate_difference_covers(rng: np.random.Generator, rate: float, n: int) -> bool:
    """Against a side that passes 10 points less often."""
    sides = [[(p, 5.0) for p in answers(rng, n, r, 0.3)] for r in (rate, rate - 0.1)]
    found = paired_rate(*sides, resamples=999)
    return found.low is not None and found.high is not None and found.low <= -0.1 <= found.high


def trend_covers(rng: np.random.Generator, rate: float, n: int) -> bool:
    """No trend, sessions that differ: the interval of the slope should hold 0."""
    a, b = rate * 7 / 3, (1 - rate) * 7 / 3
    each = rng.beta(a, b, n)
    turns = np.arange(0, TURNS + 1, 8)
    passed = rng.random((n, len(turns))) < each[:, None]
    found = trend_test(
        np.repeat(np.arange(n), len(turns)).tolist(), np.tile(turns, n).tolist(), passed.ravel().tolist()
    )
    return found.low is None or found.high is None or found.low <= 0 <= found.high


COVERAGE: dict[str, tuple[Callable[[np.random.Generator, float, int], bool], tuple[float, ...], str]] = {
    "median": (median_covers, HAZARDS, "hazard"),
    "restricted mean": (mean_covers, HAZARDS, "hazard"),
    "difference of restricted means": (difference_covers, HAZARDS, "hazard"),
    "compliance": (rate_covers, (0.5, 0.8, 0.9), "rate"),
    "difference of compliance": (rate_difference_covers, (0.5, 0.8, 0.9), "rate"),
    "trend per turn": (trend_covers, (0.5, 0.8, 0.9), "rate"),
}


def coverage(rng: np.random.Generator, runs: int) -> Iterator[str]:
    """Prints the coverage of every interval; yields what is out of bounds."""
    slack = 200 * math.sqrt(0.95 * 0.05 / runs)
    print(f"## Coverage of 95 % intervals, % of {runs} runs (bound {LOW:g}-{HIGH:g} ± {slack:.1f} from n = 20 on)\n")
    print("| interval | truth |" + "".join(f" n = {n} |" for n in SESSIONS) + "\n|---|---|" + "--:|" * len(SESSIONS))
    held = []
    for name, (covers, truths, word) in COVERAGE.items():
        for truth in truths:
            cells = []
            for n in SESSIONS:
                share = 100 * sum(covers(rng, truth, n) for _ in range(runs)) / runs
                cells.append(f"{share:.1f}")
                if n >= 20:
                    held.append(share)
                    # A whole-turn interval of the median covers more than it promises where a turn is a large step.
                    top = 100.0 if name == "median" else HIGH + slack
                    if not LOW - slack <= share <= top:
                        yield f"{name}, {word} {truth:g}, n {n}: {share:.1f} %"
            print(f"| {name} | {word} {truth:g} | " + " | ".join(cells) + " |", flush=True)
    inside = sum(LOW <= share <= HIGH for share in held)
    print(f"\nmean of the {len(held)} cells with n >= 20: {np.mean(held):.1f} %; {inside} within {LOW:g}-{HIGH:g} %\n")


#: pairs (repeats) a strategy gets
PAIRS = {
    "nothing": (5, 6, 10, 20, 40, 80),
    "one strategy a fifth shorter": (5, 10, 20, 40, 80, 160, 320),
    "half": (5, 6, 10, 15, 20, 40, 80),
}

# ---- the gate --------------------------------------------------------------------------------------------------------


Checks = Callable[[int], dict[str, tuple[tuple[int, str], ...]]]


@cache
def checks_of(first: int) -> dict[str, tuple[tuple[int, str], ...]]:
    """The verdicts of a session that fails for good from a turn on."""
    return {"code": tuple((turn, "f" if turn >= first else "p") for turn in range(0, TURNS + 1, 2))}


@cache
def every_turn(first: int) -> dict[str, tuple[tuple[int, str], ...]]:
    """The same with a probe at every turn."""
    return {"code": tuple((turn, "f" if turn >= first else "p") for turn in range(TURNS + 1))}


def evidence(
    rng: np.random.Generator, hazards: dict[str, float], n: int, source: str, *, each: Checks = checks_of
) -> Evidence:
    """A run of one scenario, a probe every second turn; every strategy fails for good at its first failure."""
    sessions = []
    for strategy, hazard in hazards.items():
        for repeat, first in enumerate(rng.geometric(hazard, n)):
            sessions.append(
                SessionEvidence(
                    scenario="calibration", model="sim", strategy=strategy, repeat=repeat, seed=0, turns=TURNS,
                    window=8000, history="scripted", ended="completed", last_turn=TURNS,
                    checks=each(min(int(first), TURNS + 1)), tokens=1, cost=0.0, calls=1, fired=True,
                )
            )  # fmt: skip
    return Evidence(source, tuple(sessions), {"calibration": "h"}, repeats=n, status="completed")


def gate(rng: np.random.Generator, runs: int) -> Iterator[str]:
    """False alarms on identical strategies, and power where sessions last a fifth (or half) shorter."""
    same = dict.fromkeys(("one", "two", "three"), 0.04)
    print(f"## The gate `rmst: -10%`, `compliance: -5pp`: exit codes in % of {runs} runs\n")
    print("Three strategies on both sides, hazard 0.04 per turn, pairs as repeats; two gates, Holm over six.\n")
    print("| what changed | pairs | 0 passed | 1 failed | 3 no verdict |\n|---|--:|--:|--:|--:|")
    mean = restricted_mean(0.04)
    cases = {"nothing": 0.04, "one strategy a fifth shorter": hazard_for(0.8 * mean), "half": hazard_for(0.5 * mean)}
    for change, hazard in cases.items():
        for n in PAIRS[change]:
            codes = {0: 0, 1: 0, 3: 0}
            for _ in range(runs):
                now = evidence(rng, same | {"two": hazard}, n, "candidate")
                before = evidence(rng, same, n, "baseline")
                codes[evaluate(now, (), before, limits=Limits(resamples=599)).exit_code] += 1
            shares = {code: 100 * count / runs for code, count in codes.items()}
            print(f"| {change} | {n} | " + " | ".join(f"{share:.1f}" for share in shares.values()) + " |", flush=True)
            if change == "nothing" and shares[1] > 100 * ALPHA + 200 * math.sqrt(ALPHA * (1 - ALPHA) / runs):
                yield f"false alarms with {n} pairs: {shares[1]:.1f} %"
            if change == "half" and shares[0] > 100 * ALPHA:
                yield f"half as long passed with {n} pairs in {shares[0]:.1f} % of the runs"
            if n == 5 and shares[3] < 100:
                yield f"a verdict on 5 pairs in {100 - shares[3]:.1f} % of the runs"
    print()


def planning(rng: np.random.Generator, runs: int) -> Iterator[str]:
    """Does a gate fail as often as `plan --detect` says, with the pairs it names? And with ten times as many?"""
    print(f"## Planned pairs: a true drop, the gate it is planned for, and how often it failed in {runs} runs\n")
    print("Sessions with a median of 18 turns, a probe at every turn; power 80 % wanted. Where the limit is the drop,")
    print("no number of sessions has it: 200 pairs, and 800.\n")
    print("| true drop | gate | strategies | pairs | failed, % |\n|--:|---|--:|--:|--:|")
    hazard = 1 - 0.5 ** (1 / 18)
    for drop, limit, strategies in ((0.2, 0.1, 1), (0.3, 0.1, 3), (0.5, 0.1, 3), (0.2, 0.15, 1), (0.2, 0.2, 1)):
        text = f"rmst: -{100 * limit:g}%"
        plan = sessions_to_detect(drop, turns=TURNS, median=18, limit=limit, tests=strategies)
        other = hazard_for((1 - drop) * restricted_mean(hazard))
        same = dict.fromkeys("abc"[:strategies], hazard)
        for pairs in (200, 800) if plan.pairs is None else (plan.pairs,):
            found = 0
            for _ in range(runs):
                now = evidence(rng, same | {"a": other}, pairs, "candidate", each=every_turn)
                before = evidence(rng, same, pairs, "baseline", each=every_turn)
                result = evaluate(now, [text], before, limits=Limits(resamples=999))
                found += any(v.outcome is GateOutcome.FAILED and v.scope["strategy"] == "a" for v in result.verdicts)
            power = 100 * found / runs
            print(f"| {100 * drop:g} % | `{text}` | {strategies} | {pairs} | {power:.1f} |", flush=True)
            low, high = (74, 88) if plan.pairs is not None else (38, 62)
            slack = 100 * math.sqrt(0.16 / runs) if runs < 500 else 0.0
            if not low - slack <= power <= high + slack:
                yield f"planned power of {text} for a drop of {drop:g} with {pairs} pairs: {power:.1f} %"
    print()


# ---- end to end ------------------------------------------------------------------------------------------------------

SCENARIO = """\
contextrot: 1
id: calibration
facts: [{id: code, text: "For later: our project code is {value}.", values: [BLUE-42, TEAL-7, RUST-19], pinned: true}]
filler: {kind: notes, tokens_per_turn: 30}
session: {turns: 20, history: scripted}
probes: [{id: code, ask: What is our project code?, at: {every: 2}, check: {type: recall, fact: code}}]
"""


def end_to_end(rng: np.random.Generator, runs: int) -> Iterator[str]:
    """A bench, its baseline file, a second bench and its gate, with simulated models of other seeds."""
    from contextrot.analysis.baseline import load_baseline, write_baseline
    from contextrot.analysis.evidence import evidence_of
    from contextrot.api import bench

    times = min(20, max(4, runs // 25))
    print(f"## End to end, {times} times each: 24 sessions of 20 turns, a probe every second turn\n")
    print("| candidate | exit 0 | exit 1 | exit 3 |\n|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "calibration.yaml"
        scenario.write_text(SCENARIO, encoding="utf-8")
        common = {"strategies": ["full"], "repeats": 24, "controls": False, "concurrency": 4}
        for name, hazard in (("the same hazard, 0.04 an answer", 0.04), ("hazard 0.2 an answer", 0.2)):
            codes = {0: 0, 1: 0, 3: 0}
            for k in range(times):
                models = [{"id": f"sim/hazard?hazard={h}&seed={s}", "label": "agent"}
                          for h, s in ((0.04, 2 * k), (hazard, 2 * k + 1))]  # fmt: skip
                ran = [
                    bench(scenario, models=[m], out=Path(folder) / f"{name[:10]}-{k}-{i}", **common)
                    for i, m in enumerate(models)
                ]
                file = Path(folder) / "baseline.json"
                write_baseline(evidence_of(ran[0]), file)
                codes[evaluate(ran[1], (), load_baseline(file)).exit_code] += 1
            print(f"| {name} | {codes[0]} | {codes[1]} | {codes[3]} |", flush=True)
            if hazard == 0.04 and codes[1] > 2:
                yield f"end to end: {codes[1]} false alarms in {times}"
            if hazard != 0.04 and codes[1] < 0.9 * times:
                yield f"end to end: {codes[1]} of {times} regressions found"
    print()


PARTS = {"coverage": coverage, "gate": gate, "planning": planning, "end-to-end": end_to_end}


def main() -> None:
    parser = argparse.ArgumentParser(description="Calibration of contextrot's statistics.")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=PARTS, help="one part only")
    args = parser.parse_args()
    gc.collect()
    gc.freeze()  # statsmodels collects garbage at each correction for several tests
    broken: list[str] = []
    for name, part in PARTS.items():
        if args.part in (None, name):
            broken += part(np.random.default_rng(args.seed), args.runs)
    for fault in broken:
        print(f"out of bounds: {fault}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
