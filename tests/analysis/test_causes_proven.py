"""Why a check failed, proven on models whose loss and neglect are known: the split is found again within its interval.

`fifo` keeps three turns: what stands in turn 1 is in the view up to turn 3 and gone from then on. The model neglects
what it can read with a known probability, guesses what it cannot with another, and can never do one of the two things.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import causes
from causes import HAZARD, IN_VIEW, REPEATS, TURNS, Expected, expected, inside, measure

from contextrot.analysis.tables import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return measure(tmp_path_factory.mktemp("causes"))


@pytest.mark.parametrize("case", expected(), ids=lambda case: f"{case.model}-{case.strategy}-{case.probe}")
def test_the_split_is_the_known_one(run: Run, case: Expected) -> None:
    counts = causes.counts(run, case)
    assert counts["asked"] == REPEATS * TURNS
    assert inside(counts["lost"], case.lost_n, case.lost), counts
    assert inside(counts["ignored"], case.ignored_n, case.ignored), counts
    assert counts["incapable"] == case.incapable, counts
    assert counts["lost"] + counts["ignored"] + counts["incapable"] == counts["failed"]


def test_what_is_lost_was_out_of_view_and_what_is_ignored_in_it(run: Run) -> None:
    rows = run.verdicts[(run.verdicts["kind"] == "probe") & (run.verdicts["outcome"] == "fail")]
    for cause, seen in (("lost", {False}), ("ignored", {True}), ("incapable", {True, False})):
        assert set(rows.loc[rows["cause"] == cause, "in_view"]) == seen
    lost = rows.loc[rows["cause"] == "lost"]
    assert {name.partition("(")[0] for name in lost["strategy"]} == {"fifo"}
    assert lost["turn"].min() == IN_VIEW + 1


def test_only_the_thing_it_cannot_do_is_beyond_the_model(run: Run) -> None:
    beyond = {(row.model, row.id) for row in run.summary.controls if row.incapable}
    assert beyond == {("cannot", "aye")}
    able = next(row for row in run.summary.controls if (row.model, row.id) == ("able", "aye"))
    assert inside(round((able.ceiling or 0) * able.ceiling_n), able.ceiling_n, 1 - HAZARD)


def test_an_interval_that_holds_anything_proves_nothing() -> None:
    """The intervals are narrow enough to tell the split from one that is a tenth off."""
    asked = REPEATS * IN_VIEW
    assert not inside(round(asked * (HAZARD + 0.1)), asked, HAZARD)
    assert not inside(round(asked * (HAZARD - 0.1)), asked, HAZARD)
    assert inside(asked, asked, 1.0)
    assert not inside(asked - 1, asked, 1.0)
    assert not inside(1, asked, 0.0)
