"""The table of strategies: sorts both ways by mouse and by keyboard, by what figures mean; filters and says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from html_runs import write_report as written
from html_runs import written_run
from playwright.sync_api import Locator, Page, expect

LENGTH = "turns to first failure"
#: by length: what was not reached is beyond any number; of what nothing is known comes last whichever way
ASCENDING = ["a-nine", "c-twelve", "b-hundred", "d-never", "e-nothing"]
DESCENDING = ["d-never", "b-hundred", "c-twelve", "a-nine", "e-nothing"]


@pytest.fixture(scope="module")
def known(folder):
    return written(written_run(folder / "known"))


@pytest.fixture
def table(open_report, known) -> Page:
    return open_report(known)


def strategies(page: Page) -> list[str]:
    """The names of the rows that can be seen, from the top."""
    rows = page.locator("#strategy-table tbody tr:visible th")
    return [text.split("\n")[0].strip() for text in rows.all_inner_texts()]


def heading(page: Page, label: str) -> Locator:
    return page.locator("#strategy-table thead th").filter(has=page.get_by_role("button", name=label))


def sort_by(page: Page, label: str) -> str | None:
    """Press a heading, and wait until the rows stand in their new order; which way it says it sorts."""
    head = heading(page, label)
    with sorting(page):
        head.get_by_role("button").click()
    return head.get_attribute("aria-sort")


@contextmanager
def sorting(page: Page) -> Iterator[None]:
    """Until the rows stand in their new order."""
    page.evaluate(
        """() => { window.sorted = new Promise((done) => {
          document.addEventListener('sort-end', () => done(true), {once: true});
          setTimeout(() => done(false), 5000);
        }); }"""
    )
    yield
    assert page.evaluate("() => window.sorted"), "nothing was sorted"


def test_a_click_sorts_and_another_one_the_other_way(table):
    seen = []
    for _ in range(2):
        seen.append((sort_by(table, LENGTH), strategies(table)))
    assert dict(seen) == {"ascending": ASCENDING, "descending": DESCENDING}


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_the_keyboard_sorts_as_the_mouse_does(table, key):
    button = heading(table, LENGTH).get_by_role("button")
    seen = []
    for _ in range(2):
        button.focus()
        with sorting(table):
            table.keyboard.press(key)
        expect(button).to_be_focused()
        seen.append((heading(table, LENGTH).get_attribute("aria-sort"), strategies(table)))
    assert dict(seen) == {"ascending": ASCENDING, "descending": DESCENDING}


def test_only_the_column_that_sorts_says_so(table):
    for label in (LENGTH, "strategy", LENGTH):
        sort_by(table, label)
        sorted_by = table.locator("#strategy-table thead th:is([aria-sort=ascending], [aria-sort=descending])")
        expect(sorted_by).to_have_count(1)
        expect(sorted_by).to_contain_text(label)


def test_every_column_that_offers_to_sort_does(table, known):
    """Each column's order is compared with the figures of the summary, both ways; unknown stays last."""
    groups = {group.strategy: group for group in known.run.summary.groups}
    figures = {
        "mean turns": lambda g: g.length.restricted_mean,
        "passed at depth": lambda g: g.compliance["at_depth"].rate,
        "ignored": lambda g: g.causes["ignored"],
        "lost": lambda g: g.causes["lost"],
        "tokens / session": lambda g: g.spent.tokens_per_session,
    }
    for label, figure in figures.items():
        for _ in range(2):
            way = sort_by(table, label)
            values = [figure(groups[name]) for name in strategies(table)]
            known_values = [value for value in values if value is not None]
            assert values[: len(known_values)] == known_values, f"{label}: unknown does not come last, {way}"
            assert known_values == sorted(known_values, reverse=way == "descending"), (label, way)


def test_the_filter_narrows_the_rows_and_says_how_many(table):
    field = table.get_by_role("searchbox", name="Filter").first
    count = table.locator("#strategy-count")
    expect(count).to_have_text("5 of 5 rows")
    field.fill("never")
    assert strategies(table) == ["d-never"]
    expect(count).to_have_text("1 of 5 rows")
    expect(count).to_have_attribute("aria-live", "polite")
    field.fill("nothing like it")
    assert strategies(table) == []
    expect(count).to_have_text("0 of 5 rows")
    field.fill("")
    assert len(strategies(table)) == 5


def test_a_filtered_table_still_sorts_and_a_sorted_one_still_filters(table):
    if sort_by(table, LENGTH) != "descending":
        sort_by(table, LENGTH)
    table.get_by_role("searchbox", name="Filter").first.fill("n")
    shown = [name for name in DESCENDING if name in strategies(table)]
    assert strategies(table) == shown
    sort_by(table, LENGTH)
    assert strategies(table) == [name for name in ASCENDING if name in shown]


def test_a_strategy_can_be_taken_out_of_the_table(table):
    button = table.locator("#strategy-filters").get_by_role("button", name="b-hundred")
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    assert "b-hundred" not in strategies(table)
    button.focus()
    table.keyboard.press("Space")
    assert "b-hundred" in strategies(table)


def test_what_was_not_reached_and_what_is_unknown_are_said_in_words(table):
    rows = table.locator("#strategy-table tbody tr")
    expect(rows.filter(has_text="d-never")).to_contain_text("not reached (> 24)")
    expect(rows.filter(has_text="e-nothing")).to_contain_text("n 0")
    expect(rows.filter(has_text="e-nothing")).to_contain_text("unknown")
