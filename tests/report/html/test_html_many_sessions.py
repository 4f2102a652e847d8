"""A thousand sessions fit into one small file that still opens each of them."""

from __future__ import annotations

import json
import re

import pytest
from html_runs import thousand_sessions_run, write_report
from playwright.sync_api import expect

from contextrot.report.html.page import render


@pytest.fixture(scope="module")
def thousand(folder):
    report = write_report(thousand_sessions_run(folder / "thousand"))
    assert (~report.run.sessions["control"]).sum() == 1000
    return report


def index_of(content: bytes) -> list[dict]:
    [text] = re.findall(rb'<script type="application/json" id="data-sessions">(.*?)</script>', content, re.S)
    return json.loads(text)


def test_the_report_of_a_thousand_sessions_is_under_three_megabytes(thousand):
    assert thousand.size < 3_000_000


def test_none_of_them_is_left_out(thousand):
    index = index_of(thousand.path.read_bytes())
    assert {row["key"] for row in index} == set(thousand.run.sessions["session"])
    assert all("chunk" in row for row in index)


def test_their_details_are_opened_only_when_somebody_asks(thousand, open_report):
    page = open_report(thousand)
    expect(page.locator("#survival svg").first).to_be_visible()
    page.evaluate(
        """() => {
          const { chunk } = contextrot;
          window.opened = [];
          contextrot.chunk = (n) => { window.opened.push(n); return chunk(n); };
        }"""
    )
    row = next(row for row in index_of(thousand.path.read_bytes()) if not row.get("control"))
    page.evaluate("(key) => { location.hash = `session=${encodeURIComponent(key)}`; }", row["key"])
    expect(page.locator("#xray")).to_contain_text(row["key"])
    assert page.evaluate("window.opened") == [row["chunk"]]


def test_the_list_of_a_thousand_can_be_filtered(thousand, open_report):
    page = open_report(thousand)
    section = page.locator("#sessions")
    field = section.get_by_role("searchbox").first
    field.fill("r017")
    expect(section.get_by_role("status").first).to_contain_text(re.compile(r"\b[46] of 1,?500\b"))


def test_in_less_room_fewer_details_are_kept_and_the_page_says_how_many(thousand, open_report, folder):
    from html_runs import Report

    room = thousand.size - 60_000
    path = folder / "small.html"
    path.write_bytes(render(thousand.run, max_bytes=room))
    assert path.stat().st_size <= room
    index = index_of(path.read_bytes())
    left_out = len(thousand.run.sessions) - sum("chunk" in row for row in index)
    assert 0 < left_out < len(thousand.run.sessions)
    page = open_report(Report(thousand.run, path))
    expect(page.locator("#sessions")).to_contain_text(re.compile(rf"\b{left_out:,}\b"))
    expect(page.locator("#sessions")).to_contain_text("contextrot show")
