"""`contextrot plot`: what is drawn is what was counted, one run or several, one series or forty."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console
from run_writer import SessionWriter, write_controls, write_manifest, write_session, write_three_strategies
from typer.testing import CliRunner

from contextrot.analysis.series import compliance_curves, survival_curves
from contextrot.analysis.tables import Run, load_run
from contextrot.cli import app
from contextrot.report import plot_style, plots
from contextrot.report.plot_choice import choose, labelled
from contextrot.report.plot_claims import compliance_claim
from contextrot.report.plot_lengths import length_claim
from contextrot.report.plot_panels import FACET, MANY, arrange
from contextrot.report.plot_text import compliance_text, survival_text
from contextrot.report.plots_survival import count_at

#: how matplotlib calls lines that were given no name: axes, controls, samples of lines
NAMELESS = "_child"


def panels_of(run: Run | list[tuple[str, Run]], y: str = "compliance", *, facet: Any = FACET, **choice: Any) -> Any:
    runs = labelled([run]) if isinstance(run, Run) else run
    return arrange(choose(runs, y, **choice), facet)  # type: ignore[arg-type]


def drawn(axes: Any) -> dict[str, list[tuple[float, float]]]:
    """The series of a panel as they were drawn: name → points, gaps left out."""
    return {
        str(line.get_label()): [
            (float(x), float(y))
            for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
            if not math.isnan(float(y))
        ]
        for line in axes.lines
        if not str(line.get_label()).startswith(NAMELESS)
    }


def texts(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.texts]


@pytest.fixture(scope="module")
def scattered(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three strategies: all kept, all lost at turn 9, and one that fails here and there, with an overflow."""
    folder = write_manifest(tmp_path_factory.mktemp("scattered"), strategies=["pinned", "fifo", "full"])
    for repeat in range(6):
        write_session(folder, "pinned", repeat)
        write_session(folder, "fifo", repeat, lost_from=9)
        end = ("overflow", 17) if repeat == 5 else ("completed", 24)
        write_session(folder, "full", repeat, ignored_from=3 + 3 * repeat, ends=end)
    write_controls(folder)
    return load_run(folder)


@pytest.mark.parametrize("x", ["turn", "occupancy", "tokens", "since"])
@pytest.mark.parametrize("per", ["kind", "constraint"])
def test_the_points_drawn_are_those_of_the_series(scattered: Run, x: Any, per: Any) -> None:
    figure = plots.draw_one(panels_of(scattered, x=x, per=per), x)
    want = {
        curve.strategy: [(point.x, point.rate) for point in curve.points if point.n]
        for curve in compliance_curves(scattered, x, per)
    }
    assert drawn(figure.axes[0]) == want


def test_the_steps_drawn_are_those_of_the_series(scattered: Run) -> None:
    figure = plots.draw_one(panels_of(scattered, "survival"), "turn")
    want = {
        curve.strategy: [(0.0, 1.0), *((step.turn, step.survival) for step in curve.steps)]
        for curve in survival_curves(scattered)
    }
    assert drawn(figure.axes[0]) == want


def test_numbers_at_risk_stand_under_their_turns(scattered: Run) -> None:
    axes = plots.draw_one(panels_of(scattered, "survival"), "turn").axes[0]
    rows: dict[float, dict[int, str]] = {}
    for note in axes.texts:
        if note.get_text().isdecimal():
            rows.setdefault(note.xyann[1], {})[int(note.xy[0])] = note.get_text()
    curves = survival_curves(scattered)
    assert len(rows) == 3
    for row, curve in zip((rows[down] for down in sorted(rows, reverse=True)), curves, strict=True):
        assert row == {turn: str(count_at(curve, "at risk", turn)) for turn in range(0, 25, 3)}
    full = curves[2]
    assert [count_at(full, "at risk", turn) for turn in (0, 3, 6, 24)] == [6, 6, 5, 0]


def test_a_curve_alone_says_what_became_of_its_sessions(scattered: Run) -> None:
    axes = plots.draw_one(panels_of(scattered, "survival", only={"strategy": ["full"]}), "turn").axes[0]
    shown = [note.get_text() for note in axes.texts]
    assert {"at risk", "failed", "overflowed", "last seen well"} <= set(shown)
    full = survival_curves(scattered)[2]
    assert [count_at(full, kind, 24) for kind in ("failed", "overflowed", "last seen well")] == [5, 1, 0]


def grown(folder: Path, many: int, scenarios: int = 1) -> Run:
    """`many` strategies in each scenario; the further down, the sooner they fail."""
    write_manifest(folder, strategies=[f"s{i}" for i in range(many)])
    for scenario in range(scenarios):
        for i in range(many):
            for repeat in range(2):
                write_session(folder, f"s{i}", repeat, scenario=f"c{scenario}", ignored_from=24 - 24 * i // many)
    return load_run(folder)


@pytest.mark.parametrize(
    ("many", "bands", "bars"), [(1, 1, 0), (plot_style.BANDED, 3, 0), (plot_style.BARRED, 0, 16), (MANY, 0, 0)]
)
def test_how_intervals_are_shown_depends_on_how_many_there_are(
    tmp_path: Path, many: int, bands: int, bars: int
) -> None:
    figure = plots.draw_one(panels_of(grown(tmp_path, many)), "turn")
    found = [type(one).__name__ for one in figure.axes[0].collections]
    assert found.count("FillBetweenPolyCollection") + found.count("PolyCollection") == bands
    assert found.count("LineCollection") == bars
    said = {1: "bands", plot_style.BANDED: "bands", plot_style.BARRED: "upright bars", MANY: "intervals are left out"}
    assert said[many] in texts(figure)[-1].replace("\n", " ")


@pytest.mark.parametrize("y", ["compliance", "survival"])
def test_of_forty_series_the_best_and_worst_are_named_and_all_are_drawn(tmp_path: Path, y: str) -> None:
    (panel,) = panels = panels_of(grown(tmp_path, 40), y)
    heights = {line.name: line.curve.restricted_mean if y == "survival" else line.curve.rate for line in panel.lines}
    others = [height for name, height in heights.items() if name not in panel.named]
    assert len([name for name in panel.named if heights[name] >= max(others)]) == 3
    assert len([name for name in panel.named if heights[name] <= min(others)]) == 3
    axes = plots.draw_one(panels, "turn").axes[0]
    lines = {str(line.get_label()): line for line in axes.lines if str(line.get_label()).startswith("s")}
    assert set(lines) == {f"s{i}" for i in range(40)}
    grey = {name for name, line in lines.items() if line.get_color() == plot_style.FAINT}
    assert grey == set(lines) - panel.named
    shown = {note.get_text().partition(",")[0].partition(" ")[0] for note in axes.texts}
    assert {name for name in lines if name in shown} == panel.named


def test_twelve_panels_share_one_legend(tmp_path: Path) -> None:
    figure = plots.draw_one(panels_of(grown(tmp_path, 2, scenarios=12)), "turn")
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"c{i}" for i in (0, 1, 10, 11, *range(2, 10))]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["s0", "s1"]


def test_more_panels_than_a_picture_holds_are_said(tmp_path: Path) -> None:
    figure = plots.draw_one(panels_of(grown(tmp_path, 1, scenarios=30)), "turn")
    assert len(figure.axes) == 24
    assert "Of 30 panels the first 24 are drawn." in texts(figure)[-1].replace("\n", " ")


def test_runs_are_told_apart_and_share_their_bins(scattered: Run, tmp_path: Path) -> None:
    other = load_run(write_three_strategies(tmp_path))
    runs = labelled([scattered, other], ["before", "after"])
    (panel,) = panels_of(runs, x="tokens", only={"strategy": ["fifo"]})
    assert [line.name for line in panel.lines] == ["before", "after"]
    assert len({point.label for line in panel.lines for point in line.curve.points}) == len(
        {point.x for line in panel.lines for point in line.curve.points}
    )
    figure = plots.draw_one([panel], "tokens")
    assert texts(figure)[1].startswith("2 runs: before, after · fifo · sim/perfect · window 1,000 tokens (virtual)")


@pytest.mark.parametrize(
    ("facet", "titles", "lines"),
    [
        (["strategy"], ["pinned", "fifo", "full"], ["sim/perfect"]),
        (["none"], [""], ["pinned", "fifo", "full"]),
        (["scenario"], ["project-code"], ["pinned", "fifo", "full"]),
    ],
)
def test_what_sets_panels_apart_can_be_chosen(
    scattered: Run, facet: list[str], titles: list[str], lines: list[str]
) -> None:
    panels = panels_of(scattered, facet=facet)
    assert [panel.title for panel in panels] == titles
    assert [line.name for line in panels[0].lines] == lines


def test_titles_say_what_the_intervals_bear(scattered: Run) -> None:
    (panel,) = panels_of(scattered)
    assert compliance_claim(panel.lines, "turn") == "fifo and full fall to 0 %; pinned holds"
    (panel,) = panels_of(scattered, only={"strategy": ["pinned"]})
    assert compliance_claim(panel.lines, "turn") == "Compliance stays at 100 %"
    (panel,) = panels_of(scattered, "survival")
    assert length_claim(panel.lines) == "pinned lasts longest (median > 24), fifo and full shorter (median 9)"


def claims(folder: Path, **plans: Any) -> tuple[str, str]:
    write_manifest(folder, strategies=list(plans))
    for name, plan in plans.items():
        for repeat in range(plan.pop("repeats", 6)):
            write_session(folder, name, repeat, **plan)
    run = load_run(folder)
    return (
        compliance_claim(panels_of(run)[0].lines, "turn"),
        length_claim(panels_of(run, "survival")[0].lines),
    )


@pytest.fixture(scope="module")
def overflowing(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`full` overflows at turn 10 after nothing failed, `fifo` at turn 10 in 1 of 6, `pinned` lasts, all pass."""
    folder = write_manifest(tmp_path_factory.mktemp("overflowing"), strategies=["full", "fifo", "pinned"])
    for repeat in range(6):
        write_session(folder, "full", repeat, ends=("overflow", 10))
        write_session(folder, "fifo", repeat, ends=("overflow", 10) if repeat == 5 else ("completed", 24))
        write_session(folder, "pinned", repeat)
    return load_run(folder)


@pytest.mark.parametrize("x", ["turn", "occupancy", "tokens"])
def test_a_line_whose_sessions_overflowed_does_not_hold(overflowing: Run, x: Any) -> None:
    (panel,) = panels = panels_of(overflowing, x=x)
    said = compliance_claim(panel.lines, x)
    assert said == "full and fifo: window full at turn 10 in 1–6 of 6; pinned holds"
    assert said in screen(compliance_text(panels, x, width=200), 200)
    axes = plots.draw_one(panels, x).axes[0]
    labels = [note.get_text() for note in axes.texts if "(n " in note.get_text()]
    for name, n in (("full", 6), ("fifo", 1)):
        (label,) = [label for label in labels if label.startswith(name)]
        assert label.endswith(f")\nwindow full at turn 10 in {n} of 6")
    assert not any("full" in label for label in labels if label.startswith("pinned"))
    squares = [line for line in axes.lines if line.get_marker() == "s" and line.get_markersize() == 8]
    assert len(squares) == 2
    last = max(point.x for point in panel.lines[0].curve.points if point.n)
    assert float(squares[0].get_xdata()[0]) == last


def test_the_label_has_the_sessions_of_the_last_point(overflowing: Run) -> None:
    axes = plots.draw_one(panels_of(overflowing), "turn").axes[0]
    assert any(note.get_text().startswith("fifo (n 5)") for note in axes.texts)


def test_one_line_says_up_to_where_it_was_seen(overflowing: Run) -> None:
    (panel,) = panels_of(overflowing, only={"strategy": ["full"]})
    assert compliance_claim(panel.lines, "turn") == (
        "Compliance stays at 100 % up to turn 9; window full at turn 10 in 6 of 6 sessions"
    )
    (panel,) = panels_of(overflowing, only={"strategy": ["fifo"]})
    assert compliance_claim(panel.lines, "turn") == (
        "Compliance stays at 100 %; window full at turn 10 in 1 of 6 sessions"
    )
    (panel,) = panels_of(overflowing, "survival", only={"strategy": ["full"]})
    assert length_claim(panel.lines).endswith("; window full in 6 of 6")


def test_the_survival_picture_marks_full_windows(overflowing: Run, folder: Path) -> None:
    (panel,) = panels = panels_of(overflowing, "survival")
    assert length_claim(panel.lines) == (
        "pinned leads (median > 24), not clearly longer than fifo, full shortest (median 10); "
        "full: window full in 6 of 6"
    )
    axes = plots.draw_one(panels, "turn").axes[0]
    assert len([line for line in axes.lines if line.get_marker() == "s"]) == 2
    assert any(note.get_text() == "full, median 10\nwindow full in 6 of 6" for note in axes.texts)
    lasting = panels_of(load_run(folder), "survival", only={"strategy": ["pinned", "fifo"]})
    assert not [line for line in plots.draw_one(lasting, "turn").axes[0].lines if line.get_marker() == "s"]


def test_a_report_knows_of_full_windows_as_well(overflowing: Run) -> None:
    title = texts(plots.draw(overflowing.summary)["by-turn"])[0].replace("\n", " ")
    assert title == "full and fifo: window full at turn 10 in 1–6 of 6; pinned holds"


def wavering(folder: Path, failing: dict[int, int]) -> Run:
    """12 sessions whose prompts do not grow; at a turn so many of them fail, each time others."""
    write_manifest(folder, strategies=["full"])
    for repeat in range(12):
        session = SessionWriter(folder, f"s{repeat}", repeat=repeat)
        for turn in range(0, 25, 3):
            session.call(turn, branch=f"code@{turn}", occupancy=0.05)
            session.verdict(turn, "fail" if (repeat + turn) % 12 < failing.get(turn, 0) else "pass", cause="ignored")
        session.end(24)
    return load_run(folder)


def test_a_trend_of_the_report_is_a_fall_in_the_title(tmp_path: Path) -> None:
    """No interval of a point is below the first's, and the lowest point is 17 points down: the slope is clear."""
    run = wavering(tmp_path, {12: 1, 15: 1, 18: 2, 21: 2, 24: 2})
    assert run.summary.groups[0].shipping.trends["all"].falls  # type: ignore[union-attr]
    said = compliance_claim(panels_of(run)[0].lines, "turn")
    assert said.startswith("Compliance falls from 100 % to 83 % at turn 18: −")
    assert " points per 10 turns, p 0." in said
    other = compliance_claim(panels_of(run, x="occupancy")[0].lines, "occupancy")
    assert other.startswith("Compliance falls over the turns: −")


def test_what_comes_and_goes_is_no_fall(tmp_path: Path) -> None:
    run = wavering(tmp_path, {3: 2, 12: 1, 21: 1})
    assert not run.summary.groups[0].shipping.trends["all"].falls  # type: ignore[union-attr]
    for x in ("turn", "occupancy"):
        assert "falls" not in compliance_claim(panels_of(run, x=x)[0].lines, x)


def test_the_longest_is_said_to_last_longest_only_where_it_is_clear_of_the_next(tmp_path: Path) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    _, said = claims(near, pinned={}, full={"ends": ("overflow", 24)}, fifo={"lost_from": 9})
    assert "lasts longest" in said or "lead" in said
    _, said = claims(far, pinned={}, fifo={"lost_from": 9})
    assert said == "pinned lasts longest (median > 24), fifo shortest (median 9)"
    _, said = claims(tmp_path / "few", pinned={"repeats": 3}, fifo={"lost_from": 9, "repeats": 3})
    assert said.endswith("too few sessions to tell them apart")


def test_titles_of_several_panels_count_them(tmp_path: Path) -> None:
    write_manifest(tmp_path)
    for scenario, lost in (("a", 6), ("b", 9), ("c", None)):
        for repeat in range(6):
            write_session(tmp_path, "fifo", repeat, scenario=scenario, lost_from=lost)
    run = load_run(tmp_path)
    figure = plots.draw_one(panels_of(run), "turn")
    assert texts(figure)[0] == "Compliance falls in 2 of 3 scenarios"
    assert texts(figure)[1].startswith("fifo · sim/perfect")
    title = texts(plots.draw_one(panels_of(run, "survival"), "turn"))[0].replace("\n", " ")
    assert title == (
        "The median session ends at turn 6 at the earliest, and in 1 of 3 scenarios not by the last turn checked"
    )


def test_one_session_claims_nothing(tmp_path: Path) -> None:
    said, _ = claims(tmp_path, full={"repeats": 1, "ignored_from": 9})
    assert said == "Compliance drops from 100 % to 0 % at turn 9, but one session has no interval"


def test_nothing_fails(tmp_path: Path) -> None:
    assert claims(tmp_path, full={}, fifo={}) == ("Both hold", "No session failed up to turn 24")


def test_everything_fails_at_once(tmp_path: Path) -> None:
    assert claims(tmp_path, full={"ignored_from": 0}, fifo={"ignored_from": 0}) == (
        "Both fail from the start",
        "No clear difference in length: the median session ends at turn 0 in both",
    )


def screen(parts: Any, width: int) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    for part in parts:
        console.print(part)
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 200])
def test_the_terminal_shows_the_same_figures(scattered: Run, width: int) -> None:
    said = screen(compliance_text(panels_of(scattered), "turn", width=width), width)
    assert max(map(len, said.splitlines())) <= width
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line[:4] in ("full", "fifo", "pinn")}
    assert rows["full"] == ["█▇▆▅▃▂▁▁▁", "100", "83", "67", "50", "33", "17", "0", "0", "0", "51"]
    assert rows["fifo"] == ["███▁▁▁▁▁▁", *["100"] * 3, *["0"] * 6, "54"]
    assert "ceiling 100 % (n 6), floor 0 % (n 6)" in said
    said = screen(survival_text(panels_of(scattered, "survival"), width=width), width)
    assert max(map(len, said.splitlines())) <= width
    assert "fail 5, overflow 1" in said


def test_forty_rows_fit_eighty_columns_whole(tmp_path: Path) -> None:
    said = screen(compliance_text(panels_of(grown(tmp_path, 40)), "turn", width=80), 80)
    assert "…" not in said
    assert sum(line.startswith("s") for line in said.splitlines()) == 40


def test_without_blocks_nothing_beyond_figures_is_printed(scattered: Run) -> None:
    said = screen(compliance_text(panels_of(scattered), "turn", width=80, blocks=False), 80)
    assert not set(said) & set("▁▂▃▄▅▆▇█")
    assert "100" in said


def run_command(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["plot", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_three_strategies(tmp_path / "run")


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_file_is_what_its_suffix_says_and_the_same_again(folder: Path, suffix: str, start: bytes) -> None:
    out = folder.parent / "new" / f"picture.{suffix}"
    written = []
    for _ in range(2):
        done = run_command(folder, "--y", "survival", "--out", out)
        assert (done.exit_code, done.output) == (0, f"wrote {out}\n")
        written.append(out.read_bytes())
    assert written[0].startswith(start)
    assert written[0] == written[1]


def test_a_picture_is_kept_with_its_run(folder: Path) -> None:
    assert run_command(folder).exit_code == 0
    svg = (folder / "plots" / "plot-compliance-by-turn.svg").read_text(encoding="utf-8")
    shown = ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "fifo falls to 0 %; full: window full at turn 18 in 6 of 6; pinned holds" in shown
    assert "SIMULATED" in shown


def test_json_holds_the_series(folder: Path) -> None:
    done = run_command(folder, "--strategy", "fi*", "--per", "constraint", "--json")
    found = json.loads(done.output)
    assert {key: found[key] for key in ("y", "x", "per")} == {"y": "compliance", "x": "turn", "per": "constraint"}
    assert [(series["run"], series["strategy"], series["check"]) for series in found["series"]] == [
        ("run", "fifo", "project-code")
    ]
    assert [point["rate"] for point in found["series"][0]["points"]] == [1.0] * 3 + [0.0] * 6
    assert not (folder / "plots").exists()


def test_text_alone_writes_no_file(folder: Path) -> None:
    done = run_command(folder, "--text")
    assert "fifo falls to 0 %; full: window full at turn 18 in 6 of 6; pinned holds" in done.output
    assert not (folder / "plots").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--strategy", "nope"], 5, "no strategy 'nope' in what was measured; there is full, fifo, pinned"),
        (["--pooled"], 5, "there is nothing to pool"),
        (["--out", "x.jpg"], 2, "--out FILE ends in .svg, .png or .pdf"),
        (["--y", "survival", "--x", "tokens"], 2, "survival is over turns"),
        (["--label", "a", "--label", "b"], 2, "1 runs and 2 labels"),
    ],
)
def test_what_cannot_be_drawn_is_said(folder: Path, arguments: list[str], code: int, said: str) -> None:
    done = run_command(folder, *arguments)
    assert done.exit_code == code
    assert said in done.output


def test_a_run_that_nothing_is_left_of_is_named(folder: Path, tmp_path: Path) -> None:
    other = write_manifest(tmp_path / "other")
    write_session(other, "full", 0, scenario="elsewhere")
    done = run_command(folder, other, "--scenario", "project-code", "--json")
    assert done.stderr == "other is left out: no scenario project-code (it has elsewhere)\n"
    assert {series["run"] for series in json.loads(done.stdout)["series"]} == {"run"}
    assert run_command(folder, other, "--json").stderr == ""


@pytest.mark.parametrize(
    ("x", "label"),
    [
        ("turn", "turn"),
        ("occupancy", "tokens of the prompt ÷ window (bins of a tenth, drawn at their middle)"),
        ("tokens", "tokens of the prompt (bins of 20 tokens, drawn at their middle)"),
    ],
)
def test_an_axis_says_that_it_is_of_bins(scattered: Run, x: Any, label: str) -> None:
    assert plots.draw_one(panels_of(scattered, x=x), x).axes[0].get_xlabel() == label


def test_an_empty_run_is_no_picture(tmp_path: Path) -> None:
    done = run_command(write_manifest(tmp_path))
    assert done.exit_code == 5
    assert "there is nothing to plot" in done.output
    assert "the run holds no sessions" in done.output


def test_only_panels_with_simulated_sessions_are_marked(tmp_path: Path) -> None:
    runs = []
    for name, simulated in (("dry", True), ("real", False)):
        folder = write_manifest(tmp_path / name)
        write_session(folder, "full", 0, model=name, simulated=simulated)
        runs.append(load_run(folder))
    figure = plots.draw_one(panels_of(labelled(runs)), "turn")
    marked = {axes.get_title(loc="left"): "SIMULATED" in texts(axes) for axes in figure.axes}
    assert marked == {"project-code · dry": True, "project-code · real": False}
    assert texts(figure)[1].endswith("SIMULATED")
