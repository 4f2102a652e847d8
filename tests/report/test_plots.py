"""Plots hold what was measured: every series by name, its n, gaps as gaps, and SIMULATED where it applies."""

from __future__ import annotations

import struct
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from run_writer import SessionWriter, write_controls, write_manifest, write_session

from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run
from contextrot.report import markdown, plots

NAMES = ("by-turn", "by-occupancy", "survival", "causes")


def texts(svg: bytes) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.fixture(scope="module")
def files(summary):
    return plots.render(summary)


def test_every_plot_comes_as_svg_and_png(files):
    assert set(files) == {f"{name}.{kind}" for name in NAMES for kind in ("svg", "png")}
    for name in NAMES:
        assert files[f"{name}.png"].startswith(b"\x89PNG")
        width, height = struct.unpack(">II", files[f"{name}.png"][16:24])
        assert width > 800
        assert height > 300


@pytest.mark.parametrize("name", NAMES)
def test_series_heading_and_simulated_are_in_the_picture(files, name):
    shown = texts(files[f"{name}.svg"])
    joined = " | ".join(shown)
    for strategy in ("full", "fifo", "pinned"):
        assert strategy in joined
    assert "sim/perfect · window 1,000 tokens (virtual) · 18 sessions · 2026-03-01 · SIMULATED" in shown
    assert "SIMULATED" in shown


def test_n_is_shown(files):
    assert "fifo (n 6)" in texts(files["by-turn.svg"])
    assert "probes · decided checks per point: 6" in texts(files["by-turn.svg"])
    assert "ceiling 100 % (n 6)" in texts(files["by-turn.svg"])
    assert "floor 0 % (n 6)" in texts(files["by-turn.svg"])
    assert "passed 18, lost 36" in texts(files["causes.svg"])
    assert "fifo, median 9" in texts(files["survival.svg"])
    assert "pinned, median > 24" in texts(files["survival.svg"])


def test_the_same_run_gives_the_same_file(summary, files):
    assert plots.render(summary)["by-turn.svg"] == files["by-turn.svg"]


def test_drawing_leaves_the_settings_of_matplotlib_alone(summary):
    before = dict(matplotlib.rcParams)
    plots.render(summary)
    assert dict(matplotlib.rcParams) == before


def line_of(figure, panel: int, points: int):
    return [line for line in figure.axes[panel].lines if len(line.get_xdata()) == points]


def test_bins_without_a_decided_check_break_the_line(summary):
    panel = plots.draw(summary)["by-occupancy"].axes[0]
    curves = [np.asarray(line.get_ydata(), dtype=float) for line in panel.lines if len(line.get_xdata()) == 10]
    assert len(curves) == 3
    assert all(np.isnan(curve[6]) for curve in curves)  # no probe fell between 60 and 70 % of the window


def test_a_session_that_ended_early_has_no_points_after_its_end(summary):
    panel = plots.draw(summary)["by-turn"].axes[0]
    curves = [np.asarray(line.get_ydata(), dtype=float) for line in panel.lines if len(line.get_xdata()) == 9]
    assert sorted(int(np.isnan(curve).sum()) for curve in curves) == [0, 0, 2]  # `full` overflowed at turn 18 of 24


def test_series_differ_in_more_than_colour(summary):
    panel = plots.draw(summary)["by-turn"].axes[0]
    curves = [line for line in panel.lines if len(line.get_xdata()) == 9]
    assert len({line.get_marker() for line in curves}) == 3
    assert len({str(line._unscaled_dash_pattern) for line in curves}) == 3


@pytest.fixture(scope="module")
def twelve(tmp_path_factory):
    folder = tmp_path_factory.mktemp("twelve")
    names = [f"strategy_number_{i}" for i in range(11)] + ["costs $5 or $6"]
    write_manifest(folder, strategies=names)
    for place, name in enumerate(names):
        for repeat in range(2):
            write_session(folder, name, repeat, lost_from=3 + 3 * (place % 7) if place else None, simulated=False)
    write_controls(folder, ("pass",) * 2, ("fail",) * 2, simulated=False)
    return summarise(load_run(folder))


def test_twelve_series_are_all_named_and_told_apart(twelve):
    figures = plots.draw(twelve)
    curves = [line for line in figures["by-turn"].axes[0].lines if len(line.get_xdata()) == 9]
    assert len({(line.get_color(), line.get_marker(), str(line._unscaled_dash_pattern)) for line in curves}) == 12
    for name, content in plots.render(twelve).items():
        if name.endswith(".svg"):
            joined = " | ".join(texts(content))
            assert all(group.strategy in joined for group in twelve.groups), name
            assert "SIMULATED" not in joined


def drawn_texts(figure):
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    found = list(figure.texts) + [text for legend in figure.legends for text in legend.get_texts()]
    for panel in figure.axes:
        found += [*panel.texts, panel.title, panel._left_title, panel.xaxis.label, panel.yaxis.label]
    return [(text, text.get_window_extent(renderer)) for text in found if text.get_text()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", ["three", "twelve"])
def test_no_text_is_clipped_and_no_two_overlap(summary, twelve, name, which):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = plots.draw(summary if which == "three" else twelve)[name]
    FigureCanvasAgg(figure)
    boxes = [(text, box) for text, box in drawn_texts(figure) if text.get_text() != "SIMULATED"]
    width, height = figure.canvas.get_width_height()
    for text, box in boxes:
        assert box.x0 >= -1, text.get_text()
        assert box.y0 >= -1, text.get_text()
        assert box.x1 <= width + 1, text.get_text()
        assert box.y1 <= height + 1, text.get_text()
    for index, (text, box) in enumerate(boxes):
        for other, other_box in boxes[index + 1 :]:
            shared = box.shrunk(0.9, 0.7).overlaps(other_box.shrunk(0.9, 0.7))
            assert not shared, f"{text.get_text()!r} lies over {other.get_text()!r}"


def test_one_panel_for_each_scenario_and_kind_of_check(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0, scenario="a")
    writer = write_session(tmp_path, "full", 0, scenario="b")
    writer.verdict(3, "pass", kind="passive", id="json")
    shown = texts(plots.render(summarise(load_run(tmp_path)))["by-turn.svg"])
    assert "standing rules on live replies · decided checks per point: 1" in shown
    assert {"a", "b"} <= set(shown)


def test_one_session_and_hostile_names(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "a & <b> $x^2$ \x1b[31m\u202e", 0, ignored_from=12)
    content = plots.render(summarise(load_run(tmp_path)))["by-turn.svg"]
    assert any("a & <b> $x^2$ \\x1b[31m\\u202e" in text for text in texts(content))


@pytest.mark.parametrize("errors", [False, True])
def test_nothing_measured_draws_nothing(tmp_path, errors):
    write_manifest(tmp_path)
    if errors:
        SessionWriter(tmp_path, "s").end(1, "error", "no")
    assert plots.render(summarise(load_run(tmp_path))) == {}


def test_the_thresholds_of_the_budget_monitor_stand_in_the_plot_by_occupancy(summary, files):
    shown = texts(files["by-occupancy.svg"])
    assert {"WARN", "ROTATE"} <= set(shown)
    assert not {"WARN", "ROTATE"} & set(texts(files["by-turn.svg"]))
    panel = plots.draw(summary)["by-occupancy"].axes[0]
    upright = {
        line.get_xdata()[0] for line in panel.lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2
    }
    assert {0.6, 0.8} <= upright


@pytest.mark.parametrize("name", ["by-turn", "survival"])
def test_ticks_stand_at_turns_that_were_asked_at(tmp_path, name):
    write_manifest(tmp_path)
    for repeat in range(3):
        write_session(tmp_path, "full", repeat, probed=(0, 7, 8, 19, 24))
    panel = plots.draw(summarise(load_run(tmp_path)))[name].axes[0]
    assert [int(tick) for tick in panel.get_xticks()] == [0, 8, 19, 24]  # 7 has no room beside 8


def test_many_turns_have_round_ticks(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0, probed=range(25))
    panel = plots.draw(summarise(load_run(tmp_path)))["by-turn"].axes[0]
    ticks = panel.get_xticks()
    assert len(ticks) <= 10
    assert len(set(np.diff(ticks))) == 1


def test_a_large_grid_draws_what_a_picture_holds(tmp_path):
    write_manifest(tmp_path)
    for number in range(30):
        write_session(tmp_path, "full", 0, scenario=f"g.turns-{number}", family="g")
    summary = summarise(load_run(tmp_path))
    assert len(plots.draw(summary)["survival"].axes) == 24
    assert "Of the 30 scenarios and models the first 24 are drawn" in markdown.render(summary, [("a", "b")])
