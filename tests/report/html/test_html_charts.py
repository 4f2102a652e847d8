"""Curves can be pointed at, switched off by strategy, and drawn against turn, occupancy or tokens."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

CHARTS = ("survival", "compliance")


def lines(page: Page, chart: str) -> int:
    """How many curves a chart shows in its first panel."""
    return (
        page.locator(f"#{chart} .panel")
        .first.locator("path")
        .evaluate_all(
            "(all) => all.filter((e) => /series-/.test(e.closest('[class*=series-]')?.getAttribute('class') ?? '')"
            " && e.getAttribute('fill') !== 'var(--bg)' && e.getTotalLength() > 60).length"
        )
    )


def sweep(page: Page, chart: str) -> list[str]:
    """Move the pointer across the first panel; every different text of a tip that comes up."""
    svg = page.locator(f"#{chart} .panel svg").first
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    assert box
    tips: list[str] = []
    for across in range(8, 98, 4):
        for down in (0.15, 0.5):
            page.mouse.move(box["x"] + box["width"] * across / 100, box["y"] + box["height"] * down)
            shown = page.evaluate(
                """(chart) => [...document.querySelectorAll(`#${chart} .panel:first-of-type [aria-label=tip] text`)]
                  .map((e) => [...e.querySelectorAll('tspan')].map((t) => t.textContent).join('\\n') || e.textContent)
                  .join('')""",
                chart,
            )
            if shown and shown not in tips:
                tips.append(shown)
    return tips


@pytest.mark.parametrize("chart", CHARTS)
def test_a_panel_for_each_scenario_with_axes_in_words(page, chart):
    panels = page.locator(f"#{chart} .panel")
    expect(panels).to_have_count(2)
    for scenario in ("changed-code", "project-code"):
        expect(panels.filter(has_text=scenario)).to_have_count(1)
    expect(panels.first.locator("svg").first).to_contain_text("turn")


def test_pointing_at_compliance_shows_rate_interval_and_n(page, small):
    tips = sweep(page, "compliance")
    assert tips
    for tip in tips:
        assert re.search(r"\d+ %", tip), tip
        assert re.search(r"\(\d+–\d+, n\s*\d+\)", tip), tip
        assert re.search(r"turn\s*\d+", tip), tip
    assert {name for name in small.run.config["strategies"] if any(name in tip for tip in tips)}


def test_pointing_at_survival_shows_the_share_its_interval_and_who_is_at_risk(page):
    tips = sweep(page, "survival")
    assert tips
    assert any(
        re.search(r"at risk\s*\d+", tip) and re.search(r"\d+ % [^(]*\((95 % )?\d+[ %]*–\d+", tip) for tip in tips
    ), tips


@pytest.mark.parametrize("chart", CHARTS)
def test_an_entry_of_the_legend_hides_its_strategy_and_brings_it_back(page, small, chart):
    before = lines(page, chart)
    assert before >= 3
    for name in small.run.config["strategies"]:
        entry = page.locator("#legend").get_by_role("button", name=name, exact=True)
        entry.click()
        expect(entry).to_have_attribute("aria-pressed", "false")
        assert lines(page, chart) < before, name
        entry.click()
        assert lines(page, chart) == before


def test_the_legend_works_by_keyboard_and_keeps_the_focus(page):
    entry = page.locator("#legend").get_by_role("button").first
    entry.focus()
    page.keyboard.press("Space")
    expect(entry).to_have_attribute("aria-pressed", "false")
    expect(entry).to_be_focused()
    page.keyboard.press("Enter")
    expect(entry).to_have_attribute("aria-pressed", "true")


def test_compliance_is_drawn_by_turn_by_occupancy_and_by_tokens(page):
    labels = {"by turn": "turn", "by occupancy": "window", "by tokens": "tokens"}
    seen = set()
    for button, label in labels.items():
        choice = page.locator("#axes").get_by_role("button", name=button)
        choice.click()
        expect(page.locator("#axes").get_by_role("button", name=button)).to_have_attribute("aria-pressed", "true")
        assert page.locator("#axes [aria-pressed=true]").count() == 1
        svg = page.locator("#compliance svg").first
        expect(svg).to_contain_text(label)
        seen.add(svg.inner_html())
    assert len(seen) == 3


def test_switching_the_axis_by_keyboard_keeps_the_focus(page):
    button = page.locator("#axes").get_by_role("button", name="by occupancy")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#axes").get_by_role("button", name="by occupancy")).to_be_focused()


def test_the_levels_of_the_budget_monitor_stand_on_the_axis_of_occupancy(page):
    page.locator("#axes").get_by_role("button", name="by occupancy").click()
    expect(page.locator("#compliance svg").first).to_contain_text("WARN")
    expect(page.locator("#compliance svg").first).to_contain_text("ROTATE")


def test_charts_have_a_name_for_who_cannot_see_them(page):
    for chart in CHARTS:
        for svg in page.locator(f"#{chart} .panel > svg, #{chart} .panel figure > svg").all():
            assert svg.get_attribute("aria-label")


def test_strategies_are_told_apart_without_colour(page):
    """Each line has its own dashes, and each point its own shape."""
    panel = page.locator("#compliance .panel").first
    dashes = panel.evaluate(
        "(e) => [...e.querySelectorAll('[class*=series-] path, path[class*=series-]')]"
        ".map((p) => getComputedStyle(p).strokeDasharray)"
    )
    assert len(set(dashes)) >= 3
