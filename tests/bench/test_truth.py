"""Simulated truths, end to end: what is known of the model must be found again in the tables of the run.

Every number goes through the whole house: scenario, loop, run directory, tables, statistics.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import orjson
import pytest
from recorded import write
from scipy.stats import binom
from small_bench import bench

from contextrot.analysis.curves import compliance
from contextrot.analysis.survival import constant_hazard_test, kaplan_meier
from contextrot.analysis.tables import Run, load_run

RULE = "{id: aye, text: Begin every reply with AYE., check: {type: starts_with, text: AYE}}"
EVERY_TURN = f"""\
contextrot: 1
id: every-turn
constraints: [{RULE}]
filler: {{items: [Go on.]}}
session: {{turns: 16, history: scripted}}
probes: [{{id: aye, ask: How do you do?, at: {{every: 1, from: 1}}, constraint: aye}}]
"""
HAZARD = 0.1
SESSIONS, GROUP = 3000, 20


@pytest.fixture(scope="module")
def constant(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """3,000 sessions of a model that errs with one constant probability per answer."""
    folder = tmp_path_factory.mktemp("constant")
    bench(
        folder / "run", write(folder, EVERY_TURN), models=[f"sim/hazard?hazard={HAZARD}"], strategies=["full"],
        repeats=SESSIONS, controls=False, window=None, concurrency=1,
    )  # fmt: skip
    return load_run(folder / "run")


def bound(n: int, p: float, level: float = 0.999) -> tuple[float, float]:
    """Rates that n independent draws with probability p show in `level` of the cases."""
    low, high = binom.interval(level, n, p)
    return low / n, high / n


def median_of(hazard: float) -> int:
    """The first turn by which half of the sessions have failed."""
    return math.ceil(math.log(0.5) / math.log(1 - hazard))


def lengths(run: Run) -> tuple[list[int], list[int]]:
    """Durations and events of the run's sessions, in the order of the repeats."""
    rows = run.sessions.sort_values("repeat")
    assert set(rows["ended"]) == {"completed"}
    return rows["duration"].astype(int).tolist(), (rows["event"] == "fail").astype(int).tolist()


def test_a_constant_hazard_is_found_again(constant: Run) -> None:
    durations, events = lengths(constant)
    assert len(durations) == SESSIONS
    low, high = bound(sum(durations), HAZARD)
    assert low <= sum(events) / sum(durations) <= high
    verdicts = constant.verdicts
    low, high = bound(len(verdicts), HAZARD)
    assert low <= (verdicts["outcome"] == "fail").mean() <= high
    assert set(verdicts["cause"]) == {"", "ignored"}
    survival = kaplan_meier(durations, events)
    assert survival.median == median_of(HAZARD) == 7
    assert constant_hazard_test(durations, events).p_value > 0.001


def test_the_interval_of_the_median_covers_the_true_one_as_often_as_it_says(constant: Run) -> None:
    durations, events = lengths(constant)
    groups = SESSIONS // GROUP
    covered = 0
    for start in range(0, SESSIONS, GROUP):
        survival = kaplan_meier(durations[start : start + GROUP], events[start : start + GROUP])
        low, high = survival.low or 0, math.inf if survival.high is None else survival.high
        covered += low <= median_of(HAZARD) <= high
    # 95 % give or take 2, and what 150 groups may show of that by chance
    assert binom.ppf(0.0005, groups, 0.93) <= covered <= binom.ppf(0.9995, groups, 0.97)
    assert covered < groups, "an interval that always covers is too wide"


def test_half_the_hazard_is_twice_the_length(tmp_path: Path) -> None:
    scenario = write(tmp_path, EVERY_TURN.replace("turns: 16", "turns: 40"))
    bench(
        tmp_path / "run", scenario, models=["sim/hazard?hazard=0.05"], strategies=["full"], repeats=300,
        controls=False, window=None,
    )  # fmt: skip
    durations, events = lengths(load_run(tmp_path / "run"))
    low, high = bound(sum(durations), 0.05)
    assert low <= sum(events) / sum(durations) <= high
    survival = kaplan_meier(durations, events)
    assert survival.low is not None
    assert survival.high is not None
    assert survival.low <= median_of(0.05) == 14 <= survival.high


#: prompt tokens → accuracy, of base 0.92 less 0.006 per 10,000 tokens past 32,000, never below 0.55
DECAY = {8_000: 0.92, 32_000: 0.92, 64_000: 0.901, 128_000: 0.862, 256_000: 0.786, 512_000: 0.632, 1_000_000: 0.55}


def test_a_decay_over_prompt_tokens_is_found_again_at_every_size(tmp_path: Path) -> None:
    sizes = list(DECAY)
    steps = [size - before for before, size in zip([0, *sizes], sizes, strict=False)]
    said = [{"role": "user", "content": "a " * (step - 20)} for step in steps]
    talk = [message for request in said for message in (request, {"role": "assistant", "content": "Understood."})]
    (tmp_path / "talk.json").write_bytes(orjson.dumps(talk))
    probes = [f"{{id: p{n}, ask: How do you do?, at: {{every: 1, from: 1}}, constraint: aye}}" for n in range(10)]
    scenario = f"""\
contextrot: 1
id: decay
constraints: [{RULE}]
filler: {{transcript: talk.json}}
session: {{turns: {len(sizes)}, history: scripted}}
probes: [{", ".join(probes)}]
"""
    bench(
        tmp_path / "run", write(tmp_path, scenario), repeats=50, controls=False, window=None, strategies=["full"],
        models=["sim/decay?base=0.92&threshold=32000&per_10k=0.006&floor=0.55&window=2000000"],
    )  # fmt: skip
    run = load_run(tmp_path / "run")
    sent = run.turns.groupby("turn")["prompt_tokens"].mean()
    assert sent.tolist() == pytest.approx(sizes, rel=0.01)
    table = compliance(run.verdicts, "turn").set_index("turn")
    within = 0
    for turn, accuracy in enumerate(DECAY.values(), 1):
        row = table.loc[turn]
        low, high = bound(int(row["n"]), accuracy)
        assert low <= row["rate"] <= high, turn
        within += row["low"] <= accuracy <= row["high"]
    assert within >= 5
    assert table["n"].tolist() == [500] * len(sizes)


PATTERN = """\
contextrot: 1
id: pattern
constraints:
  - {id: aye, text: Begin every reply with AYE., place: first_user, pinned: true, check: {type: starts_with, text: AYE}}
filler: {kind: notes, tokens_per_turn: 40}
session: {turns: 12, history: scripted}
probes: [{id: aye, ask: How do you do?, at: {every: 1, from: 1}, constraint: aye}]
"""
SUMMARY = {"type": "rolling_summary", "trigger": {"turns": 4}, "keep": {"turns": 2}}
CUT = {"type": "fifo", "keep": {"turns": 3}}


def pattern(folder: Path, model: str, *strategies: Any, **settings: Any) -> Run:
    """The rule in the first user turn, asked for at every turn, under these strategies."""
    bench(
        folder / "run", write(folder, PATTERN), models=[model], strategies=list(strategies), window=None,
        **{"repeats": 40, "max_tokens": 60, **settings},
    )  # fmt: skip
    return load_run(folder / "run")


def failures(run: Run) -> Any:
    """Verdicts of the probes with a column `failed`."""
    rows = run.verdicts[run.verdicts["kind"] == "probe"]
    assert set(rows["outcome"]) <= {"pass", "fail"}
    names = rows["strategy"].astype(str).str.extract(r"^(\w+)")[0]  # without the parameters in the label
    return rows.assign(failed=rows["outcome"] == "fail", strategy=names)


@pytest.mark.parametrize("guess", [0.0, 0.62])
def test_a_model_that_obeys_what_it_reads_breaks_the_rule_only_where_the_strategy_dropped_it(
    guess: float, tmp_path: Path
) -> None:
    """The pattern of "Governance Decay" (arXiv 2606.22528): 0 % in view or pinned, 38 % where it was dropped."""
    run = pattern(tmp_path, f"sim/perfect?guess={guess}", "full", SUMMARY, {"type": "pinned", "keep": {"turns": 2}})
    asked = failures(run)
    rates = asked.groupby("strategy")["failed"].mean()
    assert rates["full"] == rates["pinned"] == 0.0
    seen = asked["in_view"].astype(bool)
    assert asked.loc[seen, "failed"].sum() == 0
    dropped = asked.loc[~seen]
    assert set(dropped["strategy"]) == {"rolling_summary"}
    low, high = bound(len(dropped), 1 - guess)
    assert low <= dropped["failed"].mean() <= high
    assert set(dropped.loc[dropped["failed"], "cause"]) == {"lost"}
    # Turns 1 to 4 are under the trigger; from the first summary on the rule is gone.
    summarised = asked.loc[asked["strategy"] == "rolling_summary"]
    assert summarised.groupby("turn")["in_view"].all().tolist() == [True] * 4 + [False] * 8
    (group,) = (group for group in run.summary.groups if group.strategy.startswith("rolling"))
    assert group.causes["lost"] == dropped["failed"].sum() == group.causes["fails"]
    assert group.compactions >= 40


def test_causes_are_told_apart_where_loss_and_neglect_come_together(tmp_path: Path) -> None:
    """Under fifo the rule leaves the view after turn 3; where it is in view this model neglects it in a fifth."""
    asked = failures(pattern(tmp_path, "sim/hazard?hazard=0.2&guess=0.3", CUT))
    seen = asked["in_view"].astype(bool)
    assert seen.groupby(asked["turn"]).mean().tolist() == [1.0] * 3 + [0.0] * 9
    for rows, rate, cause in ((asked[seen], 0.2, "ignored"), (asked[~seen], 0.7, "lost")):
        low, high = bound(len(rows), rate)
        assert low <= rows["failed"].mean() <= high
        assert set(rows.loc[rows["failed"], "cause"]) == {cause}


def test_a_model_that_fails_the_ceiling_is_incapable_and_has_not_forgotten(tmp_path: Path) -> None:
    run = pattern(tmp_path, "sim/hazard?hazard=0.9", "full", CUT)
    asked = failures(run)
    assert set(asked.loc[asked["failed"], "cause"]) == {"incapable"}
    (control,) = run.summary.controls
    assert control.incapable
    low, high = bound(40, 0.1)
    assert low <= (control.ceiling or 0) <= high
    assert control.floor == 0.0


def test_a_probe_that_passes_without_the_rule_tests_nothing(tmp_path: Path) -> None:
    run = pattern(tmp_path, "sim/perfect?guess=1", CUT)
    (control,) = run.summary.controls
    assert (control.ceiling, control.floor, control.tests_nothing) == (1.0, 1.0, True)
