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
    assert choice.sentence.startswith(
        "inconclusive: long leads so far (5,000 tokens a session), and slim (9 tokens) may last as long; about"
    )
    dearer = one(
        group([None] * 4, strategy="long", tokens=9), group([None, None, None, 20], strategy="fat", tokens=5000)
    )
    assert (dearer.name, dearer.longest) == (None, "long")  # the cheapest, but the other may last longer
    assert f"about {dearer.more_pairs:,} more pairs would tell" in dearer.sentence
    assert "ship" not in dearer.sentence


def test_nothing_is_shipped_where_pairs_enough_confirm_nothing():
    """More pairs than the minimum, and an interval on both sides of 0: the estimate alone is no reason to ship."""
    long, other = [None, 10, None, 14, None, 12, None, None], [12, None, 10, None, 14, None, 12, None]
    choice = one(group(long, strategy="long", tokens=9), group(other, strategy="other", tokens=5000))
    assert (choice.name, choice.longest) == (None, "long")
    assert choice.more_pairs is not None
    assert choice.more_pairs > 1
    worse = group([2] * 8, strategy="worse", tokens=20)
    shipped = one(group(long, strategy="long", tokens=9), group(other, strategy="other", tokens=5000), worse)
    assert shipped.name == "long"  # one is confirmed to be shorter, and what may last as long takes more
    assert shipped.more_pairs is None
    assert "other may last as long but takes no less, and all others are shorter" in shipped.sentence


def _truncated(sessions, after=10):
    """The same sessions, their replies cut off after a turn so that no later check is decided."""
    return [
        replace(s, checks={"code": tuple((turn, "p" if turn <= after else "u") for turn in PROBED)}) for s in sessions
    ]


def test_what_could_not_be_followed_never_leads():
    """Censored because nobody could decide its checks, a session keeps its curve up; that is no length."""
    lost = _truncated(group([None] * 8, strategy="fifo", tokens=1))
    whole = group([8, 10, 8, 12, 8, 10, 12, 8], strategy="full", tokens=5000)
    for order in ((lost, whole), (whole, lost)):
        choice = one(*order)
        assert (choice.longest, choice.unfollowed) == ("full", ["fifo"])
        assert choice.name is None
        assert "not ranked by length, because too many sessions could not be followed: fifo" in choice.sentence
    followed = group([None] * 8, strategy="fifo", tokens=1)
    assert one(followed, whole).unfollowed == []
    assert one(followed, whole).longest == "fifo"
    few = [*_truncated(followed[:1]), *followed[1:]]
    assert one(few, whole).unfollowed == []  # one of eight is less than a fifth


def test_a_strategy_that_never_fired_is_never_shipped():
    idle = group(STEADY, strategy="idle", tokens=1, fired=False)
    choice = one(idle, group(STEADY, strategy="full", fired=False), group(WORSE, strategy="fifo"))
    assert choice.name == "full"  # it never does anything, and is what a strategy is held against
    assert choice.left_out == ["idle"]
    assert "not ranked, because it left nothing out: idle" in choice.sentence
    assert choose(evidence(idle + group(WORSE, strategy="fifo")), "strategy", Limits()) == []


def test_all_scenarios_count_together():
    """Longest in one scenario, shortest in the other: the mean decides, not the first."""
    a = group(STEADY, strategy="a") + group(WORSE, strategy="a", scenario="other")
    b = group([20] * 30, strategy="b") + group(STEADY, strategy="b", scenario="other")
    choice = one(a, b)
    assert (choice.longest, choice.name) == ("b", None)


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
