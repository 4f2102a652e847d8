"""Runs with little or nothing to show: the report says so, and says why."""

from __future__ import annotations

import pytest
from audits import badly_named, invisible_characters, low_contrast, overflows
from html_runs import empty_run, only_errors_run, write_report
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def empty(folder):
    return write_report(empty_run(folder / "empty"))


@pytest.fixture(scope="module")
def errors(folder):
    return write_report(only_errors_run(folder / "errors"))


def test_a_run_without_sessions_says_that_it_holds_none(open_report, empty):
    page = open_report(empty)
    verdict = page.locator("#verdict")
    expect(verdict).to_contain_text("Nothing was measured")
    expect(verdict).to_contain_text("interrupted")
    expect(page.locator("#curves svg")).to_have_count(0)


def test_a_run_of_errors_measures_nothing_and_shows_the_error(open_report, errors):
    page = open_report(errors)
    expect(page.locator("#verdict")).to_contain_text("Nothing was measured")
    expect(page.locator("#uncounted")).to_contain_text("error")
    body = page.locator("body")
    expect(body).to_contain_text("127.0.0.1:9")
    expect(body).not_to_contain_text("NaN")
    expect(body).not_to_contain_text("100 % (")


def test_a_failed_session_can_be_opened(open_report, errors):
    key = next(key for key in errors.run.sessions["session"] if "control" not in key)
    page = open_report(errors, fragment=f"session={key}")
    expect(page.locator("#xray")).to_contain_text(key)
    expect(page.locator("#xray")).to_contain_text("error")


def test_an_agent_with_its_own_memory_is_shown_without_a_strategy(open_report, own_memory):
    page = open_report(own_memory)
    expect(page.locator("#strategy-table")).to_contain_text("own memory")
    expect(page.locator("#verdict")).to_contain_text("forgetful")
    key = next(key for key in own_memory.run.sessions["session"] if "control" not in key)
    page.evaluate("(key) => { location.hash = `session=${encodeURIComponent(key)}&turn=8`; }", key)
    expect(page.locator("#xray")).to_contain_text(key)
    expect(page.locator("#xray")).to_contain_text("not known")
    expect(page.locator("#xray")).to_contain_text("What is our project code?")


@pytest.mark.parametrize("name", ["empty", "errors", "own_memory"])
@pytest.mark.parametrize("width", [390, 1440])
def test_each_of_them_is_as_readable_as_any(open_report, request, name, width):
    page = open_report(request.getfixturevalue(name), width=width, height=844)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert badly_named(page) == []
    assert low_contrast(page) == []
    assert overflows(page) == []
    assert invisible_characters(page) == []
