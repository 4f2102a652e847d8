"""What the first lines of the page claim, and what they leave open. The text of the file; no browser is needed."""

from __future__ import annotations

import json
import re
from html import unescape

from run_writer import PROBED, SessionWriter, write_manifest, write_session

from contextrot.analysis.tables import load_run
from contextrot.report.html.answers import answers
from contextrot.report.html.charts import page_data
from contextrot.report.html.page import render
from contextrot.report.html.verdict import side_by_side


def head(folder):
    run = load_run(folder)
    return answers(run.summary, side_by_side(run))


def verdict(folder):
    """The text of the verdict's section."""
    text = render(load_run(folder)).decode()
    section = text[text.index('<section id="verdict"') :]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", section[: section.index("</section>")])).split())


def session(folder, repeat, outcomes, strategy):
    writer = SessionWriter(folder, f"s-{strategy}-{repeat}", strategy=strategy, repeat=repeat)
    for turn in PROBED:
        outcome = outcomes.get(turn, "pass")
        writer.verdict(turn, outcome, **({"cause": "ignored"} if outcome == "fail" else {}))
    call = {"view": {"ranges": [], "made": [], "manifest": [["dropped", 0, 1]], "tokens": 9, "hash": "x"}}
    writer.call(1, **({} if strategy == "full" else call))
    writer.end(24)


def test_few_pairs_ship_nothing(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(5):
        session(tmp_path, repeat, {}, "pinned")
        session(tmp_path, repeat, {21: "fail"} if repeat else {}, "full")
    found = head(tmp_path)
    assert any("`pinned` leads so far" in sentence for sentence in found["What to ship"])
    assert "ship " not in " ".join(found["What to ship"]).lower()
    assert "too little data" in found["How sure"][0]
    assert "Ship" not in verdict(tmp_path)


def test_pairs_enough_ship_what_lasts(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(12):
        session(tmp_path, repeat, {}, "pinned")
        session(tmp_path, repeat, dict.fromkeys(PROBED[2 + repeat % 2 :], "fail"), "full")
    assert any(sentence.startswith("ship `pinned`") for sentence in head(tmp_path)["What to ship"])
    assert "better with `pinned`" in head(tmp_path)["How sure"][0]


def test_rot_or_error_rate_is_answered_in_the_head(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(12):
        session(tmp_path, repeat, {}, "pinned")
        session(tmp_path, repeat, dict.fromkeys(PROBED[2 + repeat % 5 :], "fail"), "full")
    (said,) = head(tmp_path)["Is it rot?"]
    assert said.startswith("`full`: falls with the turns (−")
    write_manifest(tmp_path / "well")
    for repeat in range(6):
        session(tmp_path / "well", repeat, {}, "full")
    assert "Is it rot?" not in head(tmp_path / "well")


def test_what_could_not_be_followed_is_not_among_the_longest(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(6):
        session(tmp_path, repeat, dict.fromkeys(PROBED[4:], "truncated"), "fifo")
        session(tmp_path, repeat, dict.fromkeys(PROBED[5:], "fail"), "full")
    (said,) = head(tmp_path)["How long"]
    assert said.index("`full`") < said.index("not ranked with `fifo`: 6 of 6 could not be followed beyond turn 9")
    assert "`full` leads so far" in " ".join(head(tmp_path)["What to ship"])
    curves = page_data(load_run(tmp_path))
    open_ = {curves["strategies"][series["strategy"]]: series["unfollowed"] for series in curves["survival"]}
    assert open_["full"] == ""
    assert "could not be followed" in open_["fifo"]


def test_how_sure_is_said_where_nothing_was_compared(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(2):
        write_session(tmp_path, "full", repeat, ignored_from=12)
    assert head(tmp_path)["How sure"] == ["2 sessions in all: an indication, not a measurement; raise --repeats"]
    for repeat in range(2, 8):
        write_session(tmp_path, "full", repeat, ignored_from=12)
    assert head(tmp_path)["How sure"][0].startswith("8 sessions in all, and nothing to compare")


def test_an_alert_stands_among_what_to_know_first(tmp_path):
    folder = write_manifest(tmp_path / "falling")
    steady = write_manifest(tmp_path / "steady")
    for where, calls in ((folder, {3, 6, 9}), (steady, set(PROBED))):
        for repeat in range(8):
            writer = SessionWriter(where, f"s-{repeat}", strategy="full", repeat=repeat)
            for turn in PROBED[1:]:
                tools = [{"id": "1", "name": "book", "arguments": "{}"}] if turn in calls else []
                reply = {"content": None if tools else "Later.", "tool_calls": tools, "finish_reason": "stop",
                         "reasoning": None, "refusal": None}  # fmt: skip
                writer.call(turn, branch=f"code@{turn}", reply=reply)
                writer.verdict(turn, "pass" if tools else "fail", check="tool_call", asks_action=True)
            writer.end(24)
    alerting = load_run(folder).summary.groups[0].actions
    assert alerting is not None
    assert alerting.alert
    before, _, after = verdict(folder).partition("Before you rely on it")
    assert "ALERT" not in before
    assert after.strip().startswith("ALERT: tools are called less late in the session with full")
    assert "ALERT" not in verdict(steady)


def test_eight_series_have_a_colour_each():
    from contextrot.report.html.page import STATIC

    script, style = ((STATIC / name).read_text("utf-8") for name in ("charts.js", "report.css"))
    number = int(re.search(r"const COLOURS = (\d+);", script)[1])
    assert number == 8
    for what in ("DASHES", "SYMBOLS"):
        assert len(json.loads(re.search(rf"const {what} = (\[.*?\]);", script)[1])) == number
    themes = re.findall(r"--s0: #.*", style)
    assert len(themes) == 3  # light, dark by the system, dark by the switch
    for theme in themes:
        assert len(set(re.findall(r"--s\d: (#\w+);", theme))) == number
