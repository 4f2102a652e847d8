"""The X-ray of a session says what its records say: statuses, the messages that were sent, where checks failed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from html_runs import FIFO, Report, every_status_run, simulated, write_report
from playwright.sync_api import Page, expect

from contextrot.analysis.replay_view import Transcript, read_transcript, view_messages
from contextrot.analysis.tables import load_run
from contextrot.report.words import clean

#: What the picture paints over the middle of each row in the chosen column, by the names of its paths.
PAINTED = """
(length) => {
  const column = document.querySelector('#xray .xr-cells .cursor rect').getBBox();
  const picture = document.querySelector('#xray .xr-cells');
  const row = Number(picture.dataset.row);
  return Array.from({ length }, (_, index) => {
    const at = new DOMPoint(column.x + column.width / 2 - 0.5, (index + 0.5) * row);
    const names = [...picture.querySelectorAll('path[class*="st-"]')]
      .filter((path) => path.classList.contains('line') ? path.isPointInStroke(at) : path.isPointInFill(at))
      .map((path) => /st-(\\w+)/.exec(path.getAttribute('class'))[1]);
    return [...new Set(names)];
  });
}
"""


@pytest.fixture(scope="module")
def kinds(folder):
    return write_report(every_status_run(folder / "kinds"))


def open_session(page: Page, key: str, turn: int | None = None) -> None:
    """Follow a link to a session, as one does that was sent by mail."""
    fragment = f"session={quote(key, safe='')}" + ("" if turn is None else f"&turn={turn}")
    page.evaluate("(fragment) => { location.hash = fragment; }", fragment)
    expect(page.locator("#xray.loaded")).to_contain_text(clean(key))
    if turn is not None:
        expect(page.locator("#xray-reading h3")).to_contain_text(f"Turn {turn},")


def transcripts(report: Report) -> dict[str, Transcript]:
    return {
        path.stem: read_transcript(path)
        for path in sorted((report.run.path / "sessions").glob("*.jsonl"))
        if "--control" not in path.stem
    }


def chosen_call(page: Page) -> int:
    """The number of the call that the reading pane shows."""
    found = re.search(r"call (\d+)", page.locator("#xray-reading h3").inner_text())
    assert found
    return int(found[1])


def statuses(call: dict[str, Any], length: int) -> list[str | None]:
    """What a record says became of each message of the log; None for what was not yet said."""
    said: list[str | None] = [None] * length
    for status, start, end in call["view"]["manifest"]:
        for index in range(start, min(end, length)):
            said[index] = status
    return said


def main_log(transcript: Transcript) -> list[dict[str, Any]]:
    return [record for record in transcript.records if record["t"] == "msg" and record["branch"] is None]


def test_every_status_of_the_records_occurs_in_this_run(kinds):
    found = {
        status
        for transcript in transcripts(kinds).values()
        for record in transcript.records
        if record["t"] == "call" and "manifest" in (record["view"] or {})
        for status, start, end in record["view"]["manifest"]
        if end > start
    }
    assert found == {"verbatim", "masked", "offloaded", "summarised", "retrieved", "dropped"}


@pytest.mark.parametrize("strategy", ["fifo", "masking", "offload", "rolling", "retrieval"])
def test_the_cells_are_painted_as_the_records_say(open_report, kinds, strategy):
    key, transcript = next((key, one) for key, one in transcripts(kinds).items() if strategy in key)
    length = len(main_log(transcript))
    page = open_report(kinds)
    for turn in (1, 12, 24, 36):
        open_session(page, key, turn)
        call = transcript.call(chosen_call(page))
        assert call["turn"] == turn
        said = statuses(call, length)
        if call["branch"] is not None:  # past the fork point a branch has messages of its own
            own = min(r["i"] for r in transcript.records if r["t"] == "msg" and r["branch"] == call["branch"])
            said[own:] = [None] * (length - own)
        painted = page.evaluate(PAINTED, length)
        assert painted == [[] if status is None else [status] for status in said], (turn, call["n"])


def test_the_line_under_the_picture_says_the_same_as_it(open_report, kinds):
    key, transcript = next((key, one) for key, one in transcripts(kinds).items() if "rolling" in key)
    page = open_report(kinds)
    open_session(page, key, 24)
    call = transcript.call(chosen_call(page))
    said = statuses(call, len(main_log(transcript)))
    grid = page.get_by_role("application")
    grid.focus()
    readout = page.locator("#xray .xr-readout")
    for index, status in enumerate(said[:12]):
        page.keyboard.press("ArrowDown")
        expect(readout).to_contain_text(f"message {index} ")
        expect(readout).to_contain_text(f"{status}:" if status else "not yet said")
    page.keyboard.press("ArrowLeft")
    assert chosen_call(page) != call["n"]


def readable(message: dict[str, Any]) -> str:
    """A message as a reader sees it: its text, then its tool calls; without the room between."""
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    text = (message.get("content") or "") + "".join(f"→ {call['name']}({call['arguments']})" for call in calls)
    return re.sub(r"\s+", "", clean(text))


@pytest.mark.parametrize("strategy", ["fifo", "offload", "rolling"])
def test_a_click_shows_the_exact_messages_that_were_sent(open_report, kinds, strategy):
    key, transcript = next((key, one) for key, one in transcripts(kinds).items() if strategy in key)
    page = open_report(kinds)
    open_session(page, key, 1)
    picture = page.locator("#xray .xr-cells")
    box = picture.bounding_box()
    seen = set()
    for share in (0.3, 0.6, 0.97):
        picture.click(position={"x": box["width"] * share, "y": 10})
        number = chosen_call(page)
        seen.add(number)
        pane = page.locator("#xray-reading")
        pane.evaluate("(pane) => pane.querySelectorAll('details').forEach((e) => { e.open = true; })")
        section = pane.locator("section").filter(has=page.get_by_role("heading", name=re.compile("^Sent, ")))
        messages = section.locator("> details.message")
        sent = view_messages(transcript.path, number)
        expect(messages.locator(".body .text, .body .muted")).not_to_have_count(0)
        shown = messages.evaluate_all(
            """(all) => all.map((e) => [e.querySelector('summary b').textContent,
              [...e.querySelectorAll('.body .text')].map((t) => t.textContent).join('')])"""
        )
        assert [(role, re.sub(r"\s+", "", text)) for role, text in shown] == [
            (message["role"], readable(message)) for message in sent
        ]
        assert f"Sent, {len(sent)} messages" in section.inner_text()
    assert len(seen) == 3


def test_a_session_opens_where_it_failed_and_says_why(open_report, small):
    page = open_report(small)
    failed = small.run.sessions.dropna(subset=["first_fail_turn"])
    for row in failed.groupby("strategy", observed=True).head(1).to_dict("records"):
        open_session(page, row["session"])
        expect(page.locator("#xray-reading h3")).to_contain_text(f"Turn {int(row['first_fail_turn'])},")
        verdicts = small.run.verdicts
        first = verdicts[(verdicts["session"] == row["session"]) & (verdicts["outcome"] == "fail")].iloc[0]
        verdict = page.locator("#xray-reading .verdict.fail").first
        expect(verdict).to_contain_text(first["id"])
        expect(verdict).to_contain_text(first["cause"])
        expect(page.locator("#xray-reading .reason").first).to_contain_text(first["reason"][:60])
        expect(page.locator("#xray-why")).to_contain_text(f"turn {int(row['first_fail_turn'])}")


def test_next_failure_goes_from_one_failed_check_to_the_next_and_round(open_report, small):
    verdicts = small.run.verdicts
    fails = verdicts[(verdicts["outcome"] == "fail") & ~verdicts["kind"].isin(["ceiling", "floor"])]
    key = fails["session"].value_counts().index[0]
    calls = sorted({int(call) for call in fails[fails["session"] == key]["call"]})
    assert len(calls) > 1
    page = open_report(small)
    open_session(page, key)
    seen = [chosen_call(page)]
    button = page.get_by_role("button", name="next failure")
    for _ in calls:
        button.click()
        seen.append(chosen_call(page))
    assert seen == [*calls, calls[0]]


def test_what_is_read_stands_beside_the_matrix_and_rules_and_facts_stay_in_sight(open_report, kinds):
    key = next(key for key in transcripts(kinds) if "masking" in key)
    page = open_report(kinds)
    open_session(page, key)
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight"), "one has to scroll to see the failure"
    matrix = page.locator("#xray .xr-scroll").bounding_box()
    pane = page.locator("#xray-reading").bounding_box()
    assert matrix["x"] + matrix["width"] <= pane["x"]
    assert abs(matrix["y"] - pane["y"]) < 20
    whole = page.get_by_role("button", name="whole session at once")
    if whole.get_attribute("aria-pressed") == "true":
        whole.click()
    page.locator("#xray .xr-scroll").evaluate("(e) => { e.scrollTop = e.scrollHeight; }")
    assert page.locator("#xray .xr-scroll").evaluate("(e) => e.scrollTop") > 300
    tracks = page.locator("#xray .xr-track.rule, #xray .xr-track.fact")
    expect(tracks).to_have_count(2)
    for track in tracks.all():
        box = track.bounding_box()
        assert matrix["y"] <= box["y"]
        assert box["y"] + box["height"] < matrix["y"] + matrix["height"] / 2


def test_the_keys_do_what_the_line_under_the_matrix_says(open_report, kinds):
    key = next(key for key in transcripts(kinds) if "fifo" in key)
    page = open_report(kinds)
    open_session(page, key, 6)

    def turn() -> int:
        return int(re.search(r"Turn (\d+)", page.locator("#xray-reading h3").inner_text())[1])

    page.keyboard.press("m")
    expect(page.locator("#xray .xr-scroll")).to_be_focused()
    page.keyboard.press("Shift+ArrowRight")
    assert turn() == 12
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    assert turn() == 2
    page.keyboard.press("f")
    expect(page.locator("#xray-reading .verdict.fail").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    focus = page.evaluate("document.activeElement.closest('#xray-reading details.chosen')?.dataset.index")
    assert focus == "0", "the message that was chosen is what is read"
    page.keyboard.press("m")
    whole = page.get_by_role("button", name="whole session at once")
    before = whole.get_attribute("aria-pressed")
    page.keyboard.press("w")
    assert whole.get_attribute("aria-pressed") != before
    rows = page.locator("#xray .xr-cells").get_attribute("data-row")
    page.keyboard.press("w")
    assert page.locator("#xray .xr-cells").get_attribute("data-row") != rows
    page.keyboard.press("Escape")
    expect(page.locator("#xray")).to_be_hidden()


def test_the_keys_do_no_harm_in_a_session_of_controls_which_has_no_log(open_report, small):
    key = next(path.stem for path in sorted((small.run.path / "sessions").glob("*--control*.jsonl")))
    page = open_report(small, fragment=f"session={quote(key, safe='')}")
    expect(page.locator("#xray.loaded")).to_contain_text("CONTROL")
    page.keyboard.press("m")
    for pressed in ("ArrowDown", "Enter", "ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft", "End", "Home", "w", "f"):
        page.keyboard.press(pressed)
        page.keyboard.press("m")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#xray-picture .xr-readout")).to_contain_text(re.compile(r"call \d+, branch"))
    expect(page.locator("#xray-reading h3")).to_contain_text("a control question")


def test_what_looks_like_a_cut_text_or_is_no_word_is_shown_as_it_is(open_report, small):
    page = open_report(small)
    said = page.evaluate("""() => [
      contextrot.xray.plain({ cut: [1, 2, 3] }), contextrot.xray.plain({ cut: "x" }), contextrot.xray.word({ a: 1 }),
      contextrot.xray.word("over_budget"), contextrot.xray.plain({ cut: ["ab", "yz", 10] }, "the command"),
    ]""")
    assert said[:4] == ['{"cut":[1,2,3]}', '{"cut":"x"}', '{"a":1}', "over budget"]
    assert said[4] == "ab\n[6 characters are not kept in this file: the command prints them]\nyz"


def test_the_commands_of_the_page_are_what_a_shell_takes(open_report, tmp_path, monkeypatch):
    """Each that is shown for a session runs as it stands, from where the report was asked for."""
    (tmp_path / "my runs").mkdir()
    run = simulated(tmp_path / "my runs" / "a & b", "project-code", strategies=["full", FIFO], repeats=1, turns=4)
    monkeypatch.chdir(tmp_path)
    report = write_report(load_run(Path("my runs") / "a & b"))
    key = next(iter(transcripts(report)))
    page = open_report(Report(report.run, run.path / "report.html"))
    open_session(page, key, 4)
    shown = page.locator("#xray-reading .command code").inner_text()
    assert shown == f"contextrot show 'my runs/a & b' {key} --turn 4"
    done = subprocess.run([sys.executable, "-m", *shlex.split(shown)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    odd = page.evaluate("contextrot.xray.command('report', \"it's; one\", '--session ')")
    assert shlex.split(odd) == ["contextrot", "report", "my runs/a & b", "--session", "it's; one"]


def test_previous_and_next_go_from_call_to_call(open_report, small):
    key = next(iter(transcripts(small)))
    page = open_report(small)
    open_session(page, key, 0)
    first = chosen_call(page)
    page.get_by_role("button", name="next call").click()
    second = chosen_call(page)
    assert second > first
    page.get_by_role("button", name="call before").click()
    assert chosen_call(page) == first


def test_a_session_is_opened_by_a_click_in_the_list(open_report, small):
    page = open_report(small)
    row = page.locator("#session-table tbody tr").nth(2)
    name = row.get_by_role("link").get_attribute("aria-label").removeprefix("open ")
    row.locator("td").last.click()
    expect(page.locator("#xray.loaded")).to_contain_text(name)
    expect(page.locator("#xray")).to_be_in_viewport()


def test_a_session_is_opened_and_left_by_keyboard_alone(open_report, small):
    page = open_report(small)
    link = page.locator("#session-table tbody tr").nth(1).get_by_role("link")
    name = link.get_attribute("aria-label").removeprefix("open ")
    page.locator("#session-table tbody tr").first.get_by_role("link").focus()
    page.keyboard.press("ArrowDown")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#xray.loaded")).to_contain_text(name)
    focus = page.evaluate("document.activeElement.closest('#xray') !== null")
    assert focus, "the focus stays behind in the list, which is no longer there"
    page.keyboard.press("Escape")
    expect(page.locator("#xray")).to_be_hidden()
    expect(link).to_be_focused()


def test_the_address_opens_the_session_at_the_turn_and_follows_what_is_read(open_report, small):
    key = next(key for key in transcripts(small) if "fifo" in key)
    page = open_report(small, fragment=f"session={quote(key, safe='')}&turn=8")
    expect(page.locator("#xray-reading h3")).to_contain_text("Turn 8,")
    expect(page.locator("#verdict")).to_be_hidden()
    page.get_by_role("button", name="next call").click()
    turn = re.search(r"Turn (\d+)", page.locator("#xray-reading h3").inner_text())[1]
    assert page.evaluate("location.hash").endswith(f"&turn={turn}")
    page.reload()
    expect(page.locator("#xray-reading h3")).to_contain_text(f"Turn {turn},")


def test_back_leads_to_the_report_and_to_where_one_was(open_report, small):
    page = open_report(small)
    link = page.locator("#session-table tbody tr").nth(4).get_by_role("link")
    link.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    link.click()
    expect(page.locator("#xray.loaded")).to_be_visible()
    page.go_back()
    expect(page.locator("#xray")).to_be_hidden()
    expect(page.locator("#sessions")).to_be_in_viewport()
    assert abs(page.evaluate("scrollY") - before) < 300
    page.go_forward()
    expect(page.locator("#xray.loaded")).to_be_visible()
    page.get_by_role("button", name="all sessions").click()
    expect(page.locator("#xray")).to_be_hidden()


def test_the_table_of_strategies_leads_to_the_first_failure(open_report, small):
    page = open_report(small)
    link = page.locator("#strategy-table").get_by_role("link").first
    turn = re.search(r"turn=(\d+)", link.get_attribute("href"))[1]
    link.click()
    expect(page.locator("#xray-reading h3")).to_contain_text(f"Turn {turn},")
    expect(page.locator("#xray-reading .verdict.fail").first).to_be_visible()


def test_a_session_that_is_not_there_is_said_to_be_missing(open_report, small):
    page = open_report(small, fragment="session=nobody--r999&turn=3")
    expect(page.locator("#xray-why")).to_contain_text("no session of this name")
    page.keyboard.press("Escape")
    expect(page.locator("#verdict")).to_be_visible()


def test_the_list_filters_by_word_and_by_choice_and_says_how_many(open_report, small):
    page = open_report(small)
    rows = page.locator("#session-table tbody tr:visible")
    count = page.locator("#session-count")
    total = len(small.run.sessions)
    expect(count).to_have_text(f"{total} of {total} sessions")
    page.locator("#session-filter").fill("pinned")
    expect(rows).to_have_count(8)
    expect(count).to_have_text(f"8 of {total} sessions")
    page.get_by_label("scenario of the sessions shown").select_option("project-code")
    expect(rows).to_have_count(4)
    page.locator("#session-filter").fill("no such thing")
    expect(count).to_have_text(f"0 of {total} sessions")


def test_the_list_sorts_both_ways(open_report, small):
    page = open_report(small)
    head = page.locator("#session-table thead th").filter(has_text="first failure")
    seen = {}
    for _ in range(2):
        head.get_by_role("button").click()
        cells = page.locator("#session-table tbody tr:not(.control) td:first-child").all_inner_texts()
        seen[head.get_attribute("aria-sort")] = [int(n[5:]) for n in cells if n.startswith("turn ")]
    assert seen["ascending"] == sorted(seen["ascending"])
    assert seen["descending"] == sorted(seen["descending"], reverse=True)
    assert len(seen["ascending"]) == len(seen["descending"]) > 3
