"""The figures of the page are those of summary.json and of the terminal: read off the page, not off the templates."""

from __future__ import annotations

import io
import itertools
import re

import orjson
import pytest
from playwright.sync_api import Page
from rich.console import Console

from contextrot.report import words
from contextrot.report.html.verdict import side_by_side
from contextrot.report.terminal import print_summary

CAUSES = ("lost", "ignored")


@pytest.fixture
def summary(small) -> dict:
    """summary.json as the run's folder holds it."""
    return orjson.loads((small.run.path / "summary.json").read_bytes())


@pytest.fixture
def terminal(small) -> str:
    printed = io.StringIO()
    print_summary(small.run.summary, Console(file=printed, width=200))
    return " ".join(printed.getvalue().split())


def table(page: Page, label: str) -> list[dict[str, str]]:
    """The rows of a table by the names of their columns, folded or not."""
    return page.locator(f'.scroll[aria-label="{label}"] table').evaluate(
        """(table) => {
          const text = (cell) => {
            const copy = cell.cloneNode(true);
            for (const repeated of copy.querySelectorAll('.outer')) repeated.remove(); // for narrow screens only
            return copy.textContent.replace(/\\s+/g, ' ').trim();
          };
          const heads = [...table.tHead.rows[0].cells].flatMap((cell) => Array(cell.colSpan).fill(text(cell)));
          return [...table.tBodies[0].rows].map((row) =>
            Object.fromEntries([...row.cells].map((cell, place) => [heads[place], text(cell)])));
        }"""
    )


def test_the_table_of_strategies_has_the_figures_of_summary_json(page, summary, terminal):
    rows = {(row["scenario"], row["strategy"]): row for row in table(page, "Strategies")}
    groups = summary["groups"]
    assert len(rows) == len(groups)
    for group in groups:
        row = rows[group["scenario"], group["strategy"]]
        at_depth = group["compliance"]["at_depth"]
        percent = words.percent(at_depth["rate"])
        assert row["sessions"] == f"{group['sessions']:,}"
        assert row["passed at depth (95 %)"].startswith(f"{percent} (")
        assert row["passed at depth (95 %)"].endswith(f"n {at_depth['n']})")
        assert [int(row[cause]) for cause in CAUSES] == [group["causes"][cause] for cause in CAUSES]
        assert row["tokens / session"] == words.tokens_text(group["spent"]["tokens_per_session"])
        mean = group["length"]["restricted_mean"]
        assert float(row["mean turns"]) == pytest.approx(mean, abs=0.051)
        assert percent in terminal
        assert row["tokens / session"] in terminal


def test_a_length_reads_the_same_on_the_page_and_on_the_terminal(page, small, terminal):
    shown = page.locator("#verdict").evaluate("(e) => e.textContent.replace(/\\s+/g, ' ')")
    for group in small.run.summary.groups:
        assert words.length_text(group) in shown
        short = words.length_text(group).replace(" turns", "").replace("95 % ", "")  # the head of the column says both
        assert short.replace("too few sessions for an interval", "too few") in terminal


def test_what_is_pooled_is_named_so_and_rests_on_all_pairs(page, small):
    """The first lines, the table under them and the comparison agree on every verdict over all scenarios."""
    comparison = side_by_side(small.run)
    assert comparison is not None
    answers = page.locator(".answers").evaluate("(e) => e.textContent")
    assert "over both scenarios together" in answers
    rows = table(page, "Strategies over all scenarios")
    for pooled in comparison.pooled:
        [row] = [row for row in rows if row["strategy"] == pooled.strategy]
        [verdict] = [text for head, text in row.items() if head.endswith("all pairs together")]
        assert verdict.startswith(str(pooled.tier).replace("_", " "))
        assert pooled.strategy in answers
        assert words.counted(pooled.pairs, "pair") in answers
    for choice in comparison.choices:
        assert choice.sentence.lower() in answers.lower()  # a sentence starts with a capital


def test_the_causes_of_the_first_lines_are_those_of_all_scenarios(page, small):
    answers = page.locator(".answers").evaluate("(e) => e.textContent.replace(/\\s+/g, ' ')")
    for group in small.run.summary.pooled:
        if group.causes["fails"]:
            assert f"{group.strategy}: {words.causes_text(group)} of {group.compliance['overall'].n} checks" in answers


@pytest.mark.parametrize("chart", ["survival", "compliance"])
def test_the_tables_under_a_chart_hold_every_figure_it_draws(page, chart):
    """Each point of the data of the charts stands in the table of its panel, at its turn, under its strategy."""
    data = page.evaluate("contextrot.page")
    series = [one for one in data[chart] if one.get("x", "turn") == "turn"]
    kinds = {"probe": " · probes", "passive": " · standing rules on live replies", None: ""}
    seen = 0
    for one in series:
        title = data["scenarios"][one["scenario"]] + kinds[one.get("kind")]
        rows = {row["turn"]: row[data["strategies"][one["strategy"]]] for row in table(page, title)}
        for point in one["steps"] if chart == "survival" else one["points"]:
            assert rows[f"{point[0]:g}"].startswith(point[-1]), (title, point)
            seen += 1
    assert seen > 6


def test_lines_are_named_at_their_ends_and_no_name_covers_another(page):
    for panel in page.locator("#survival .panel, #compliance .panel").all():
        boxes = panel.evaluate(
            """(e) => [...e.querySelectorAll('.end text')]
              .map((text) => [text.textContent, text.getBoundingClientRect()])
              .map(([name, box]) => [name, box.top, box.bottom, box.right, e.getBoundingClientRect().right])"""
        )
        assert {name for name, *_ in boxes} == {"full", "fifo", "pinned"}
        in_order = sorted(boxes, key=lambda box: box[1])
        for above, below in itertools.pairwise(in_order):
            assert above[2] <= below[1] + 3, "the line boxes may touch, their letters may not"
        assert all(right <= edge + 1 for *_, right, edge in boxes)


def test_on_a_narrow_screen_a_strategy_stays_in_view_while_its_figures_scroll(open_report, small):
    page = open_report(small, width=390)
    region = page.locator('.scroll[aria-label="Strategies"]')
    region.evaluate("(e) => { e.scrollLeft = 400; }")
    name = page.locator("#strategy-table tbody th").first
    left, scrolled = name.bounding_box()["x"], region.evaluate("(e) => e.scrollLeft")
    assert scrolled > 0
    assert 0 <= left < 30
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_one_form_for_every_interval_of_a_share(page):
    text = page.evaluate("document.body.textContent")
    assert not re.findall(r"\(\d+ %–\d+ %", text)
