"""How many sessions a gate needs: the number is that of the gate, limit, correction and interval included."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from contextrot.analysis.comparison import Limits
from contextrot.analysis.evidence import Evidence, SessionEvidence
from contextrot.analysis.gates import GateOutcome, evaluate
from contextrot.analysis.planned_gates import count_tests, gates_to_plan, needs
from contextrot.analysis.planning import Lengths, plan_drop, sessions_to_detect
from contextrot.errors import ConfigError
from contextrot.gate_grammar import parse_gates

TURNS = 20


def session(first: int | None, repeat: int = 0, **other: object) -> SessionEvidence:
    """A session asked at every turn that fails for good from `first` on; None: never."""
    checks = {"code": tuple((turn, "f" if first is not None and turn >= first else "p") for turn in range(TURNS + 1))}
    whole = SessionEvidence(
        scenario="one", model="m", strategy="fifo", repeat=repeat, seed=0, turns=TURNS, window=800, history="scripted",
        ended="completed", last_turn=TURNS, checks=checks,
    )  # fmt: skip
    return replace(whole, **other)  # type: ignore[arg-type]


def run(*sessions: SessionEvidence) -> Evidence:
    return Evidence("run", sessions, repeats=1)


def planned(*keys: tuple[str, str]) -> Evidence:
    """Sessions to be made, as (scenario, strategy)."""
    return run(*(session(None, scenario=scenario, strategy=strategy) for scenario, strategy in keys))


def test_the_bare_test_needs_what_a_paired_t_test_needs() -> None:
    """Effect 0.5 at 80 % power, 5 % two-sided (2.5 % on the side of a drop): 34 pairs (Cohen 1988, G*Power)."""
    # Sessions that last 20 turns and no turn of spread; the changed ones 20 % less at a spread that gives the effect.
    changed = plan_drop(0.2, [Lengths(16.0, 0.0, TURNS, "run")])
    effect = 0.2 * 16.0 / changed.sd_difference
    closest = min(range(6, 200), key=lambda n: abs(_t_power(effect, n) - 0.8) + (_t_power(effect, n) < 0.8))
    assert changed.pairs == closest


def _t_power(effect: float, pairs: int) -> float:
    from statsmodels.stats.power import TTestPower

    return float(TTestPower().power(effect, pairs, 0.025, alternative="larger"))


def test_a_drop_that_equals_the_limit_is_never_caught_surely() -> None:
    for limit in (0.2, 0.3):
        plan = sessions_to_detect(0.2, turns=40, median=18, limit=limit)
        assert plan.pairs is None
        assert not plan.caught_at_all
    assert "about half of the time, however many" in sessions_to_detect(0.2, turns=40, median=18, limit=0.2).sentence(
        "g"
    )
    assert "it passes" in sessions_to_detect(0.2, turns=40, median=18, limit=0.3).sentence("g")


def test_a_limit_near_the_drop_takes_more_and_a_far_one_nothing() -> None:
    pairs = [sessions_to_detect(0.2, turns=40, median=18, limit=limit).pairs for limit in (0.0, 0.1, 0.15, 0.18)]
    assert pairs == sorted(pairs)
    assert pairs[0] == pairs[1] < pairs[2]
    # Near the limit only the limit decides: z = 0.84 standard errors between them.
    plan = sessions_to_detect(0.2, turns=40, median=18, limit=0.18)
    assert plan.pairs is not None
    beyond, z = 0.02 * plan.restricted_mean, 0.8416
    assert 0.6 * (z * plan.sd_difference / beyond) ** 2 < plan.pairs <= (z * plan.sd_difference / beyond) ** 2


def test_more_drops_take_more_sessions() -> None:
    pairs = [sessions_to_detect(0.2, turns=40, median=18, tests=tests).pairs for tests in (1, 2, 6, 60)]
    assert pairs[0] == pairs[1]  # the 95 % interval has to exclude 0 in any case
    assert pairs[1] < pairs[2] < pairs[3]  # type: ignore[operator]


def test_a_gate_in_turns_is_planned_as_one_of_the_same_share() -> None:
    today = [Lengths(16.0, 6.0, TURNS, "run")]
    assert plan_drop(0.2, today, limit=3.2, in_turns=True).pairs is None
    two = plan_drop(0.25, today, limit=3.2, in_turns=True)
    assert two.limit == pytest.approx(0.2)
    assert two.pairs == pytest.approx(plan_drop(0.25, today, limit=0.2).pairs, rel=0.35)


def test_the_planned_number_is_that_of_the_gate() -> None:
    """A true drop by half, three strategies: the gate itself fails about 40 times of 50 with the pairs planned."""
    hazard = 1 - 0.5 ** (1 / 9)
    plan = sessions_to_detect(0.5, turns=TURNS, median=9, limit=0.1, tests=3)
    assert plan.pairs is not None
    shorter = next(
        h for h in np.arange(hazard, 1, 0.001) if sum((1 - h) ** k for k in range(TURNS)) <= plan.restricted_mean / 2
    )
    rng, found = np.random.default_rng(3), 0
    for _ in range(50):
        sides = []
        for changed in (hazard, shorter):
            sides.append(
                run(
                    *(
                        session(int(first) if first <= TURNS else None, repeat, strategy=strategy)
                        for strategy, h in (("fifo", changed), ("full", hazard), ("pinned", hazard))
                        for repeat, first in enumerate(rng.geometric(h, plan.pairs))
                    )
                )
            )
        before, now = (replace(side, repeats=plan.pairs, hashes={"one": "h"}) for side in sides)
        result = evaluate(now, ["rmst: -10%"], before, limits=Limits(resamples=399))
        found += any(v.outcome is GateOutcome.FAILED and v.scope["strategy"] == "fifo" for v in result.verdicts)
    spread = sqrt(50 * 0.8 * 0.2)
    assert abs(found - 40) < 3 * spread


def test_drops_are_counted_as_the_gate_counts_them() -> None:
    one = [("one", "m", "fifo"), ("one", "m", "full")]
    two = [*one, ("two", "m", "fifo"), ("two", "m", "full")]
    default, _ = gates_to_plan([])
    assert [gate.text for gate in default] == ["rmst: -10%", "compliance: -5pp"]
    assert count_tests(default, one, ()) == 4
    assert count_tests(default, two, ()) == 12  # each scenario, and both together
    assert count_tests(parse_gates(["rmst: -10% [scenario=two]"]), two, ()) == 2
    assert count_tests(parse_gates(["rmst: -10% [strategy=fifo]"]), two, ()) == 3
    assert count_tests(parse_gates(["tool_calls: -5pp"]), two, ()) == 0
    assert count_tests(parse_gates(["tool_calls: -5pp"]), two, ("two",)) == 2
    assert count_tests(parse_gates(["tokens per session: +20%", "median >= 3 turns"]), two, ()) == 0


def test_gates_that_ask_for_no_length_get_the_default_one_beside_them() -> None:
    gates, note = gates_to_plan(parse_gates(["median >= 3 turns", "compliance: -5pp"]))
    assert [gate.text for gate in gates] == ["compliance: -5pp", "rmst: -10%"]
    assert "no gate of yours asks for a drop of the session length" in note
    assert gates_to_plan(parse_gates(["rmst: -3 turns"]))[1] == ""


def test_an_overflow_is_an_event_and_others_answer_beside_a_group_that_cannot() -> None:
    full = [
        session(None, k, strategy="full", ended="overflow", last_turn=9,
                checks={"code": tuple((turn, "p" if turn < 9 else "w") for turn in range(TURNS + 1))})
        for k in range(8)
    ]  # fmt: skip
    lasted = [session(first, k) for k, first in enumerate([4, 7, 9, 12, 15, None, None, None])]
    broken = [session(None, k, strategy="pinned", ended="error", last_turn=3, checks={"code": ((0, "p"), (2, "p"))})
              for k in range(8)]  # fmt: skip
    everything = planned(("one", "full"), ("one", "fifo"), ("one", "pinned"))
    found = needs(0.2, parse_gates(["rmst: -10%"]), everything, run=run(*full, *lasted, *broken))
    by = {need.who.split(" × ")[1]: need for need in found}
    assert by["full"].planned is not None
    assert by["full"].planned.restricted_mean == pytest.approx(9)
    assert by["fifo"].planned is not None
    assert by["fifo"].planned.pairs is not None
    assert by["fifo"].planned.restricted_mean == pytest.approx((4 + 7 + 9 + 12 + 15 + 3 * TURNS) / 8)
    assert by["pinned"].planned is None
    assert by["pinned"].why == "no session of the run was watched up to turn 20"
    only = needs(0.2, parse_gates(["rmst: -10%"]), planned(("one", "fifo")), run=run(*full, *lasted, *broken))
    assert [need.who for need in only] == ["m × fifo"]
    assert only[0].planned is not None
    assert only[0].planned.tests == 1


def test_lengths_end_at_the_last_turn_that_was_asked() -> None:
    """Sessions of 20 turns that were asked up to turn 18 are watched as long as a gate looks."""
    asked = [session(None, k, checks={"code": tuple((turn, "p") for turn in range(0, 19, 6))}) for k in range(6)]
    [need] = needs(0.2, parse_gates(["rmst: -10%"]), planned(("one", "fifo")), run=run(*asked))
    assert need.planned is not None
    assert need.planned.turns == 18


def test_what_a_run_cannot_tell_is_said() -> None:
    gates = parse_gates(["rmst: -10%"])
    with pytest.raises(ConfigError, match="nothing in it is planned here; it has scenarios one under fifo"):
        needs(0.2, gates, planned(("one", "pinned")), run=run(session(3)))
    [need] = needs(0.2, gates, planned(("one", "fifo")), run=run(session(3, turns=10)))
    assert "its sessions have 10 turns; how they would go on to turn 20" in need.why
    [other] = needs(
        0.2, gates, planned(("one", "fifo")), run=run(session(3, model="another"), session(9, 1, model="another"))
    )
    assert other.who == "another × fifo"


def test_a_drop_within_the_limit_is_told_which_gate_would_do() -> None:
    [need] = needs(0.1, parse_gates(["rmst: -10%"]), planned(("one", "fifo")), median=9)
    assert need.planned is not None
    assert need.planned.pairs is None
    assert need.instead is not None
    gate, plan = need.instead
    assert gate.text == "rmst: -5%"
    assert plan.pairs == sessions_to_detect(0.1, turns=TURNS, median=9, limit=0.05).pairs


def test_scenarios_are_pooled_where_the_gate_pools_them() -> None:
    both = planned(("one", "fifo"), ("two", "fifo"))
    [need] = needs(0.3, parse_gates(["rmst: -10%"]), both, median=9)
    assert need.scenarios == ("one", "two")
    assert need.planned is not None
    assert need.planned.tests == 3
    [apart] = needs(0.3, parse_gates(["rmst: -10% [scenario=two]"]), both, median=9)
    assert apart.scenarios == ("two",)
    assert apart.planned is not None
    assert apart.planned.tests == 1
