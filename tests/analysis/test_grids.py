"""The cells of a grid side by side: axes read from ids, turn apart from occupancy, arms in pairs, items pooled."""

from __future__ import annotations

import pytest
from run_writer import SessionWriter, write_manifest, write_session
from small import group

from contextrot.analysis.grids import cell_values
from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run


@pytest.mark.parametrize(
    ("scenario", "values"),
    [
        ("x.turns-20.tokens-150.system", {"turns": "20", "tokens_per_turn": "150", "place": "system"}),
        ("x.at-5.small_talk.gold.inline",
         {"place": "at-5", "filler": "small_talk", "history": "gold", "mode": "inline"}),
        ("x.t20.k150.first.scr.inl",
         {"turns": "20", "tokens_per_turn": "150", "place": "first_user", "history": "scripted", "mode": "inline"}),
        ("x.at5.sys", {"place": "system"}),
        ("x", {}),
        ("xy.turns-20", {}),
    ],
)  # fmt: skip
def test_the_suffix_of_an_id_says_where_the_cell_stands(scenario, values):
    assert cell_values(scenario, "x") == values


def test_every_cell_of_a_real_grid_is_read_back():
    """What `scenario/grid.py` writes into ids, in long and in short words, comes back as the values of its axes."""
    from contextrot.scenario.grid import Grid, cell_ids

    grid = Grid.model_validate(
        {"turns": [10, 20], "tokens_per_turn": [50, 200], "place": ["system", "first_user", {"turn": 5}],
         "filler": ["tickets", "notes"], "history": ["live", "scripted", "gold"], "mode": ["fork", "inline"]}
    )  # fmt: skip
    for family in ("crossed", "a-family-with-a-name-that-is-long-enough"):
        stem, ids = cell_ids(family, grid)
        for name, combination in zip(ids, grid.combinations(), strict=True):
            wanted = {
                axis: f"at-{value.turn}" if hasattr(value, "turn") else str(value)
                for axis, value in combination.items()
            }
            assert cell_values(name, stem) == wanted


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """Turns 12 and 24, fork and inline, six repeats; the fact is lost at turn 9 in the long inline sessions alone."""
    folder = write_manifest(tmp_path_factory.mktemp("grid"))
    for turns in (12, 24):
        for mode in ("inline", "fork"):
            for repeat in range(6):
                write_session(
                    folder, "fifo", repeat, scenario=f"g.turns-{turns}.{mode}", family="g", turns=turns,
                    ends=("completed", turns), probed=range(0, turns + 1, 3),
                    lost_from=9 if (turns, mode) == (24, "inline") else None,
                )  # fmt: skip
    write_session(folder, "fifo", 0, scenario="alone", family="alone")
    (found,) = summarise(load_run(folder)).families
    return found


def test_a_family_has_a_row_for_each_cell_in_order_of_its_axes(family):
    assert (family.family, family.axes) == ("g", {"turns": ["12", "24"], "mode": ["fork", "inline"]})
    assert [tuple(cell.values.values()) for cell in family.cells] == [
        ("12", "fork"), ("12", "inline"), ("24", "fork"), ("24", "inline"),
    ]  # fmt: skip
    last = family.cells[-1]
    assert (last.median, last.at_depth.passes, last.at_depth.n, last.sessions) == (9, 0, 24, 6)
    assert last.occupancy_end == pytest.approx(0.96)
    assert last.tokens_end == 100
    assert family.cells[0].occupancy_end == pytest.approx(0.48)


def test_turn_and_occupancy_are_crossed_with_their_counts(family):
    bands = {(band.turns, band.occupancy): (band.passes, band.n) for band in family.bands}
    assert bands["0", "0–20 %"] == (24, 24)
    assert bands["1–8", "0–20 %"] == (24, 24)  # turn 3 is at 12 % of the window
    assert bands["1–8", "20–40 %"] == (24, 24)  # turn 6 at 24 %
    assert bands["9–16", "20–40 %"] == (18, 24)  # turn 9 at 36 %
    assert bands["17–24", "80–100 %"] == (12, 24)  # turns 21 and 24
    assert sum(n for _, n in bands.values()) == 2 * 6 * (5 + 9)


def test_arms_are_paired_by_all_other_axes_and_repeat(family):
    (arm,) = family.arms
    assert (arm.axis, arm.first, arm.second, arm.strategy) == ("mode", "fork", "inline", "fifo")
    change = arm.change
    assert (change.first, change.first_n, change.second_n, change.units) == (1.0, 72, 72, 12)
    assert change.second == pytest.approx((24 + 6 * 2) / 72)
    assert change.falls


def test_cells_of_one_family_are_no_grid_when_there_is_one(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0, scenario="g.turns-12", family="g")
    assert summarise(load_run(tmp_path)).families == []


def test_arms_without_a_partner_are_no_pair(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0, scenario="g.live", family="g")
    write_session(tmp_path, "fifo", 1, scenario="g.gold", family="g", history="gold")
    (found,) = summarise(load_run(tmp_path)).families
    assert found.axes == {"history": ["gold", "live"]}
    assert found.arms == []


def test_standing_rules_are_no_part_of_the_arms(tmp_path):
    """A live arm has checks on its replies that a written one has not."""
    write_manifest(tmp_path)
    for repeat in range(6):
        live = write_session(tmp_path, "fifo", repeat, scenario="g.live", family="g")
        live.verdict(3, "fail", kind="passive", id="json", cause="ignored")
        write_session(tmp_path, "fifo", repeat, scenario="g.scripted", family="g", history="scripted")
    (arm,) = summarise(load_run(tmp_path)).families[0].arms
    assert (arm.first, arm.second, arm.change.difference, arm.change.first) == ("live", "scripted", 0.0, 1.0)


def test_rotated_items_have_rates_of_their_own(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    for turn, item, outcome in (
        (0, "a", "fail"),
        (3, "a", "pass"),
        (6, "b", "fail"),
        (9, "a", "pass"),
        (12, "b", "pass"),
    ):
        writer.verdict(turn, outcome, item=item, cause="ignored" if outcome == "fail" else None)
    writer.verdict(12, "fail", id="plain", cause="ignored")
    items = {(item.id, item.item): (item.passes, item.n) for item in group(tmp_path).by_item}
    assert items == {("code", "a"): (2, 2), ("code", "b"): (1, 2)}


def test_items_are_pooled_over_the_cells_of_a_grid(tmp_path):
    write_manifest(tmp_path)
    for turns in (12, 24):
        writer = SessionWriter(tmp_path, f"s{turns}", scenario=f"g.turns-{turns}", family="g", turns=turns)
        writer.verdict(3, "pass", item="a")
    (found,) = summarise(load_run(tmp_path)).families
    assert [(item.item, item.n, item.strategy) for item in found.items] == [("a", 2, "fifo")]
