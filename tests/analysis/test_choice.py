"""What to ship: of what is not shown to be worse than the longest, the cheapest; and nothing where nobody can tell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_evidence import PROBED, evidence
from simulated_evidence import group as priced

from contextrot.analysis.choice import choose
from contextrot.analysis.compare import compare
from contextrot.analysis.comparison import Limits

STEADY = [None, 38, 30, None, 36, None, 34, 40, None, None] * 3
WORSE = [10, 12, 8, 20, 6, None, 14, 10, 18, 16] * 3


def group(fails, **fields):
    """Sessions that cost nothing, as on a local model: then tokens decide."""
    return priced(fails, **{"cost": 0.0} | fields)


def one(*groups, among="strategy"):
    (choice,) = choose(evidence([session for found in groups for session in found]), among, Limits())
    return choice


def test_the_longest_is_shipped_where_all_others_are_shorter():
    choice = one(group(STEADY, strategy="pinned", tokens=5000), group(WORSE, strategy="fifo", tokens=100))
    assert (choice.name, choice.as_good, choice.open) == ("pinned", ["pinned"], [])
    assert choice.sentence.startswith("ship pinned: its sessions are longer than all others (5,000 tokens")


def test_of_what_is_as_good_the_cheapest_is_shipped():
    alike = (
        group(STEADY, strategy="pinned", tokens=5000, cost=0.0),
        group(STEADY, strategy="slim", tokens=900, cost=0.0),
    )
    assert one(*alike).name == "slim"
    assert one(*reversed(alike)).name == "slim"
    paid = one(group(STEADY, strategy="a", tokens=900, cost=0.5), group(STEADY, strategy="b", tokens=5000, cost=0.1))
    assert paid.name == "b"  # tokens cost what they cost
    assert "$0.1 a session" in paid.sentence


def test_shorter_within_the_margin_is_as_good_and_beyond_it_is_not():
    def less(by):
        return [40 - by if turn is None else turn - by for turn in STEADY]

    steady = group(STEADY, strategy="long", tokens=5000)
    assert one(steady, group(less(1), strategy="slim", tokens=900)).name == "slim"
    assert one(steady, group(less(12), strategy="slim", tokens=900)).name == "long"


def test_as_long_and_cheaper_is_not_as_good_where_less_is_kept():
    """Both first fail at turn 20; one keeps the rule now and then afterwards, the other never again."""
    after = tuple((turn, "p" if turn < 20 else "f" if turn % 4 == 0 else "p") for turn in PROBED)
    half = [replace(s, checks={"code": after}) for s in group([20] * 30, strategy="half", tokens=5000)]
    none = group([20] * 30, strategy="none", tokens=900)
    for order in ((half, none), (none, half)):
        choice = one(*order)
        assert (choice.name, choice.longest, choice.as_good) == ("half", "half", ["half"])


def test_few_sessions_are_inconclusive():
    choice = one(
        group([None] * 4, strategy="long", tokens=5000), group([None, None, None, 20], strategy="slim", tokens=9)
    )
    assert choice.name is None
    assert choice.open == ["slim"]
    assert choice.sentence.startswith("inconclusive: long has the longest sessions so far; slim (9 tokens)")
    dearer = one(
        group([None] * 4, strategy="long", tokens=9), group([None, None, None, 20], strategy="fat", tokens=5000)
    )
    assert dearer.name == "long"  # whatever the other proves to be, it takes more


def test_a_strategy_that_never_fired_is_never_shipped():
    idle = group(STEADY, strategy="idle", tokens=1, fired=False)
    choice = one(idle, group(STEADY, strategy="full", fired=False), group(WORSE, strategy="fifo"))
    assert choice.name == "full"  # it never does anything, and is what a strategy is held against
    assert choice.left_out == ["idle"]
    assert "left out, because it never fired: idle" in choice.sentence
    assert choose(evidence(idle + group(WORSE, strategy="fifo")), "strategy", Limits()) == []


def test_all_scenarios_count_together():
    """Longest in one scenario, shortest in the other: the mean decides, not the first."""
    a = group(STEADY, strategy="a") + group(WORSE, strategy="a", scenario="other")
    b = group([20] * 30, strategy="b") + group(STEADY, strategy="b", scenario="other")
    assert one(a, b).name == "b"


def test_one_choice_for_each_model_and_of_models():
    run = evidence(
        [s for model, fails in (("new", WORSE), ("old", STEADY)) for name, own in (("x", fails), ("y", WORSE))
         for s in group(own, model=model, strategy=name)]
    )  # fmt: skip
    assert {c.where: c.longest for c in choose(run, "strategy", Limits())}["old"] == "x"
    assert {c.where: c.name for c in choose(run, "model", Limits())}["x"] == "old"


def test_the_first_named_is_the_reference_and_every_regression_is_in_the_verdict():
    run = evidence(group(STEADY, strategy="rolling") + group(WORSE, strategy="fifo") + group(WORSE, strategy="ape"))
    found = compare(run)
    assert found.baseline == "rolling"
    assert "fifo on agent in tickets; ape on agent in tickets" in found.verdict
    assert found.choices[0].name == "rolling"
    assert found.exit_code == 0
    assert found.rows[0].baseline.tokens == pytest.approx(1000)
    assert found.rows[0].candidate.cost == pytest.approx(0.0)
    assert compare(run, run).choices == []
