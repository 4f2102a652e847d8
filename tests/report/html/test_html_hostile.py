"""Texts that try to run, to fetch, to hide or to break the page stay texts, in whichever field they come."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from audits import active_content, census, invisible_characters, overflows
from hostile_run import HOSTILE, MESSAGE_BYTES, PWN, hostile_run, sessions
from html_runs import write_report
from playwright.sync_api import Page, expect

from contextrot.report.html.page import MOST_BYTES, SCRIPTS, STYLES
from contextrot.report.words import clean


@pytest.fixture(scope="module")
def hostile(folder):
    # A folder can be called nearly anything; also what is no UTF-8, which Python reads as a lone surrogate.
    return write_report(hostile_run(folder / f"<img src=x onerror={PWN}>&{{{{7*7}}}}\u202e\udcff"))


def unharmed(page: Page, root: str = "html") -> None:
    """Nothing of the data ran; nothing of it became an element or attribute that could; nothing hides."""
    assert page.evaluate("window.__pwned") is None
    assert page.evaluate("({}).polluted") is None
    assert active_content(page, root) == []
    assert invisible_characters(page, root) == []


def open_everything(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")


def test_the_page_as_a_whole_is_unharmed(open_report, hostile):
    page = open_report(hostile)
    expect(page.locator("#survival svg").first).to_be_visible()
    open_everything(page)
    unharmed(page)


def test_data_makes_no_element(open_report, hostile):
    page = open_report(hostile)
    expect(page.locator("#survival svg").first).to_be_visible()
    open_everything(page)
    counts = census(page)
    assert counts["script"] == len(SCRIPTS) + 2  # the two blocks of data are scripts that do not run
    expect(page.locator("style:not(svg style)")).to_have_count(len(STYLES))
    assert [counts[kind] for kind in ("html", "head", "title", "body", "main")] == [1] * 5
    foreign = ("iframe", "img", "form", "base", "link", "object", "embed", "foreignobject", "marquee", "x")
    assert {kind: counts[kind] for kind in foreign} == dict.fromkeys(foreign, 0)


def test_each_text_is_shown_as_a_text(open_report, hostile):
    """A session is opened for each; all that was said in it is on the page as it was said, and does nothing."""
    page = open_report(hostile)
    pane = page.locator("#xray-reading")
    for kind, key in sessions().items():
        page.evaluate("(key) => { location.hash = `session=${encodeURIComponent(key)}&turn=4`; }", key)
        expect(page.locator("#xray-marks")).to_contain_text(key)
        expect(pane).to_contain_text(f" {key} --turn 4")
        pane.evaluate("(e) => e.querySelectorAll('details').forEach((one) => { one.open = true; })")
        expect(pane.locator(".body .text, .body .muted")).not_to_have_count(0)
        said = re.sub(r"\s+", "", pane.evaluate("(e) => e.textContent"))
        assert said.count(re.sub(r"\s+", "", clean(HOSTILE[kind]))) >= 5, kind
        unharmed(page, "#xray")


def test_templates_are_not_filled_in(open_report, hostile):
    page = open_report(hostile)
    text = page.locator("body").inner_text()
    assert "{{7*7}}" in text
    assert "{{49}}" not in text


def test_a_session_with_a_hostile_name_is_opened_by_its_name(open_report, hostile):
    key = next(key for key in hostile.run.sessions["session"] if key.startswith("long"))
    page = open_report(hostile, fragment=f"session={quote(key, safe='')}&turn=2")
    expect(page.locator("#xray")).to_be_visible()
    expect(page.locator("#xray")).to_contain_text(key)
    unharmed(page)


def test_a_fragment_is_hostile_too(open_report, hostile):
    page = open_report(hostile)
    for fragment in (f"session=%3Cimg%20src=x%20onerror={PWN}%3E&turn=1", "session=__proto__", "session=&turn=-1", "%"):
        page.evaluate("(fragment) => { location.hash = fragment; }", fragment)
        if fragment.startswith("session"):
            expect(page.locator("#xray-why")).to_contain_text("no session of this name")
        unharmed(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_what_hides_is_shown_as_a_mark(page):
    for text in HOSTILE.values():
        cleaned = page.evaluate("(text) => contextrot.clean(text)", text)
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff\u00ad\x00-\x08\x0b-\x1f\x7f-\x9f]", cleaned)
    assert page.evaluate(r"contextrot.clean('a\u202eb\ud800c\u0000')") == r"a\u202eb\ud800c\x00"
    assert page.evaluate("(text) => contextrot.clean(text)", HOSTILE["emoji"]) == HOSTILE["emoji"]
    assert page.evaluate("(text) => contextrot.clean(text)", HOSTILE["right-to-left"]) == HOSTILE["right-to-left"]


def test_the_page_and_python_mark_the_same_characters(page):
    """`contextrot.clean` follows `words.clean`, character by character."""
    characters = [
        chr(code) for code in (*range(0x3000), *range(0xD7F0, 0xE010), *range(0xFE00, 0x10000), 0xE0041, 0x1F600)
    ]
    theirs = page.evaluate(
        "(codes) => codes.map((code) => contextrot.clean(String.fromCodePoint(code)))", [ord(c) for c in characters]
    )
    ours = [clean(character) for character in characters]
    pile = HOSTILE["combining"]
    assert page.evaluate("(text) => contextrot.clean(text)", pile) == clean(pile) == pile[:11] + "[9,990 more marks]"
    assert [(hex(ord(c)), a, b) for c, a, b in zip(characters, ours, theirs, strict=True) if a != b] == []


def test_a_message_of_a_million_bytes_is_cut_with_its_length_and_the_command_that_prints_it(open_report, hostile):
    key = next(key for key in hostile.run.sessions["session"] if key.startswith("long"))
    page = open_report(hostile, fragment=f"session={quote(key, safe='')}&turn=2")
    expect(page.locator("#xray")).to_contain_text("contextrot show")
    expect(page.locator("#xray")).to_contain_text(re.compile(r"97\d,\d\d\d characters"))
    unharmed(page)


def test_the_file_stays_small(hostile):
    assert MESSAGE_BYTES * 10 > MOST_BYTES
    assert hostile.size < MOST_BYTES


@pytest.mark.parametrize("width", [390, 1440])
def test_no_text_makes_the_page_wider_than_its_window(open_report, hostile, width):
    page = open_report(hostile, width=width, height=844)
    expect(page.locator("#survival svg").first).to_be_visible()
    open_everything(page)
    assert overflows(page) == []
