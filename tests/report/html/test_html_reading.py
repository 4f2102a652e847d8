"""The report as a person opens it: from disk, without a network, light and dark, wide and narrow, on paper, by ear."""

from __future__ import annotations

import re

import pytest
from audits import active_content, badly_named, low_contrast, overflows
from playwright.sync_api import Page, expect

THEMES = ("light", "dark")


def test_it_opens_from_disk_and_asks_nothing_of_anybody(open_report, small):
    page = open_report(small)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("#survival svg").first).to_be_visible()
    assert page.evaluate("performance.getEntriesByType('resource').filter((e) => !/^(data|blob):/.test(e.name))") == []
    assert active_content(page) == []


def test_the_policy_of_the_page_forbids_every_request(page):
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert "default-src 'none'" in policy
    script_rule = next(rule for rule in policy.split("; ") if rule.startswith("script-src"))
    assert re.fullmatch(r"script-src( 'sha256-[\w+/=]+')+", script_rule)


def test_no_script_but_those_of_the_page_can_run(page):
    ran = page.evaluate(
        """async () => {
          const refused = new Promise((done) => {
            document.addEventListener('securitypolicyviolation', (e) => done(e.effectiveDirective), {once: true});
            setTimeout(() => done('nothing refused'), 3000);
          });
          const script = document.createElement('script');
          script.textContent = 'window.__added = 1';
          document.body.append(script);
          return [await refused, window.__added];
        }"""
    )
    assert ran == ["script-src-elem", None]
    page.watch.complaints.clear()  # the refusal is said on the console


def test_the_verdict_is_the_first_thing_one_reads(page, small):
    headings = page.locator("main :is(h1, h2)")
    expect(headings.first).to_have_role("heading")
    section = page.locator("main > section").first
    assert section.get_attribute("id") == "verdict"
    expect(section).to_be_in_viewport()
    for group in small.run.summary.groups:
        expect(section).to_contain_text(group.strategy)
    answers = page.locator("#verdict .answers")
    expect(answers).to_be_in_viewport(ratio=1)
    asked = ["How long", "Is it rot?", "Why they fail", "What to ship", "How sure"]
    assert answers.locator("dt").all_inner_texts() == asked
    expect(answers).to_contain_text(re.compile(r"\d+ turns|not reached"))
    expect(page.locator("#verdict tbody tr").first).to_be_in_viewport()


def test_a_simulated_run_and_a_virtual_window_are_marked(page):
    expect(page.get_by_role("note").filter(has_text="SIMULATED")).to_be_in_viewport()
    assert "SIMULATED" in page.title()
    expect(page.locator("#verdict").get_by_text("virtual", exact=True)).to_be_visible()
    assert "SIMULATED" in page.locator("#survival").inner_text() or page.locator("#survival .watermark").count()


def test_the_figures_are_those_of_the_summary(page, small):
    from contextrot.report import words

    rows = page.locator("#strategy-table tbody tr")
    assert rows.count() == len(small.run.summary.groups)
    for group in small.run.summary.groups:
        row = rows.filter(has_text=group.scenario).filter(has=page.get_by_text(group.strategy, exact=True))
        text = re.sub(r"\s+", " ", row.inner_text())
        assert words.length_text(group) in text
        assert words.rate_text(group.compliance["at_depth"]) in text
        assert words.percent(group.prefix_reuse) in text


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_can_be_read_in_both_themes(open_report, small, theme):
    page = open_report(small, color_scheme=theme)
    expect(page.locator("#survival svg").first).to_be_visible()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
    assert (brightness > 200) == (theme == "light")
    open_details(page)
    assert low_contrast(page) == []


def test_the_switch_of_themes_wins_over_the_system_and_is_kept(open_report, small):
    page = open_report(small, color_scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    switch = page.get_by_role("button", name="Theme")
    for _ in range(3):
        switch.click()
        if "dark" in switch.inner_text():
            break
    assert page.evaluate("contextrot.theme()") == "dark"
    dark = page.evaluate(colour)
    assert dark != light
    page.reload()
    assert page.evaluate(colour) == dark
    page.emulate_media(color_scheme="dark")
    while "light" not in switch.inner_text():
        switch.click()
    assert page.evaluate(colour) == light
    expect(page.locator("#survival svg").first).to_be_visible()


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_no_screen_has_to_be_scrolled_sideways(open_report, small, width):
    page = open_report(small, width=width, height=844)
    expect(page.locator("#survival svg").first).to_be_visible()
    assert overflows(page) == []
    open_details(page)
    assert overflows(page) == []


def test_every_control_table_and_heading_can_be_named_by_a_screen_reader(page):
    expect(page.locator("#survival svg").first).to_be_visible()
    open_details(page)
    assert badly_named(page) == []


def test_each_section_can_be_reached_by_its_link(page):
    links = page.locator("nav[aria-label=Sections] a:visible")
    assert links.count() >= 5
    for link in links.all():
        target = page.locator(link.get_attribute("href"))
        expect(target).to_have_count(1)


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(page):
    expect(page.locator("#survival svg").first).to_be_visible()
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        ring = page.evaluate(
            """() => { const e = document.activeElement; if (!e || e === document.body) return null;
              const s = getComputedStyle(e);
              return [e.tagName + ' ' + (e.id || e.textContent.trim().slice(0, 40)), s.outlineStyle !== 'none' &&
                parseFloat(s.outlineWidth) > 0 || s.boxShadow !== 'none']; }"""
        )
        if ring is None:
            break
        reached.append(ring)
    names = " | ".join(name for name, _ in reached)
    assert [name for name, ringed in reached if not ringed] == []
    for control in ("BUTTON theme", "INPUT strategy-filter", "BUTTON turns to first failure", "BUTTON by occupancy"):
        assert control in names


def test_on_paper_there_are_tables_and_no_controls(open_report, small):
    page = open_report(small)
    expect(page.locator("#survival svg").first).to_be_visible()
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate("contextrot.theme()") == "dark"
    page.emulate_media(media="print")
    # Headings that sort are headings on paper, and entries of the legend say which line is which.
    for control in page.locator("button:not(th button, [data-place]), input, select, nav").all():
        expect(control).not_to_be_visible()
    expect(page.locator("#strategy-table")).to_be_visible()
    assert page.locator("#strategy-table tbody tr:visible").count() == len(small.run.summary.groups)
    assert low_contrast(page) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_nothing_moves_for_who_asked_for_less_motion(open_report, small):
    page = open_report(small, reduced_motion="reduce")
    expect(page.locator("#survival svg").first).to_be_visible()
    moving = page.evaluate(
        """() => [...document.querySelectorAll('*')].filter((e) => { const s = getComputedStyle(e);
          return parseFloat(s.transitionDuration) > 0.01 || parseFloat(s.animationDuration) > 0.01 ||
            s.scrollBehavior === 'smooth'; }).map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert moving == []


def test_without_scripts_the_verdict_and_the_tables_can_be_read(open_report, small):
    page = open_report(small, java_script_enabled=False)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.locator("#strategy-table tbody tr:visible").count() == len(small.run.summary.groups)
    expect(page.locator("#verdict tbody tr").first).to_be_visible()
    for control in page.locator("button, input, select").all():
        assert not control.is_visible(), control.evaluate("(e) => e.outerHTML")
    assert "Without scripts" in page.locator("main > noscript").first.evaluate("(e) => e.textContent")
    assert page.locator("main :is(div, ul, dl, figure):visible:empty").count() == 0


def open_details(page: Page) -> None:
    """Unfold whatever is folded."""
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
