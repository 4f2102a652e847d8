"""`contextrot show`: what was sent is rebuilt exactly, why a check failed is said, and hostile text stays text."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console
from run_writer import SessionWriter, write_controls, write_manifest, write_session

from contextrot.analysis.replay_view import find_session, view_messages
from contextrot.errors import NothingMatchedError, StoreError
from contextrot.report.show import session_data, show_session

FACT = "For later: our project code is TEAL-7."


def shown(run, session=None, turn=None, width: int = 160, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, errors="strict", write_through=True)
    show_session(run, session, turn, Console(file=out, width=width))
    return raw.getvalue().decode(encoding)


def in_words(text: str) -> str:
    return " ".join(text.split())


def test_the_list_shows_every_session_with_its_first_failure(run):
    text = in_words(shown(run.path))
    assert text.count("completed, turn 24 6 9 code lost") == 6
    assert text.count("overflow, turn 18 18 – nothing") == 6
    assert len(re.findall(r"--control-\w+--r00\d", text.partition("controls:")[2])) == 6


def test_at_eighty_columns_a_session_is_one_line_and_its_name_opens_it(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(3):
        number = f"{repeat:012x}"
        writer = SessionWriter(tmp_path, f"project-code--sim-a-model-of-a-long-name--fifo--r00{repeat}--{number}")
        writer.say(1, "hello")
        writer.end(1)
    narrow = shown(tmp_path, width=80)
    assert [line.split()[0] for line in narrow.splitlines() if line.startswith("0000")] == [
        f"{n:012x}" for n in range(3)
    ]
    assert "project-code--sim" not in narrow
    assert find_session(tmp_path, "000000000002").stem.endswith("--r002--000000000002")
    assert "--r002--000000000002" in shown(tmp_path, width=400)  # a program gets whole keys


def test_what_is_the_same_for_all_has_no_column(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(3):
        write_session(tmp_path, "fifo", repeat, lost_from=9)
    text = in_words(shown(tmp_path))
    assert "project-code 3 sessions, all completed, turn 24" in text
    assert text.count("turn 24") == 1
    assert "ended" not in text


def test_two_models_have_a_list_each(tmp_path):
    write_manifest(tmp_path, models=[{"id": "sim/perfect", "label": name} for name in ("zoe", "abe")])
    for name in ("zoe", "abe"):
        write_session(tmp_path, "fifo", 0, model=name)
    text = in_words(shown(tmp_path))
    assert "project-code on zoe 1 session" in text
    assert "project-code on abe 1 session" in text


def test_a_session_turn_by_turn(run):
    text = in_words(shown(run.path, "fifo--r002"))
    assert f"fact (user): {FACT}" in text
    assert "16 verbatim, 2 dropped" in text
    assert "✓ probe code (recall): pass" in text
    assert "✗ probe code (recall): fail, TEAL-7 is not in the reply [lost: it was no longer in what was sent" in text
    assert "stated 8 turns before" in text
    assert "the first failure: code at turn 9" in text
    assert f"dropped user: {FACT}" in text
    assert "ended: completed at turn 24" in text


def test_one_turn_prints_what_was_sent_in_full(run):
    text = shown(run.path, "fifo--r002", 9)
    assert "sent for call 12, 18 messages:" in text
    assert FACT not in text
    assert "17 user: What is our project code?" in text
    earlier = shown(run.path, "fifo--r002", 6)
    assert f"1 user: {FACT}" in earlier


def test_incapable_is_said_although_the_record_cannot_know_it(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0, ignored_from=9)
    write_controls(tmp_path, ceiling=("fail",), floor=("fail",))
    text = in_words(shown(tmp_path, "full"))
    assert "[incapable: the model fails this when fresh as well" in text
    assert "[ignored" not in text


def test_view_messages_puts_ranges_branches_and_made_messages_together(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    writer.say(0, "system", role="system", origin="system")
    writer.say(1, "one")
    first = writer.call(1, text="two")
    writer.reply(1, first)
    branch = "code@1"
    writer.say(1, "asked on a branch", branch=branch, origin="probe")  # index 3 of the branch
    made = {"role": "user", "content": "a summary"}
    view = {"ranges": [[0, 1], [2, 4]], "made": [[1, made]], "manifest": [["verbatim", 0, 1]], "tokens": 1, "hash": "x"}
    probe = writer.call(1, branch=branch, view=view)
    writer.say(2, "three")  # index 3 of the main line
    second = writer.call(2)
    path = tmp_path / "sessions" / "s.jsonl"
    system, reply = {"role": "system", "content": "system"}, {"role": "assistant", "content": "two"}
    one, three = {"role": "user", "content": "one"}, {"role": "user", "content": "three"}
    assert view_messages(path, first) == [system, one]
    assert view_messages(path, probe) == [system, made, reply, {"role": "user", "content": "asked on a branch"}]
    assert view_messages(path, second) == [system, one, reply, three]
    with pytest.raises(StoreError, match="no call 9"):
        view_messages(path, 9)


def test_tool_calls_of_a_reply_are_sent_back(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    writer.say(1, "book it")
    call = {"id": "c1", "type": "function", "function": {"name": "calendar", "arguments": '{"when": "Friday"}'}}
    reply = {"content": None, "tool_calls": [call], "finish_reason": "tool_calls", "reasoning": None, "refusal": None}
    number = writer.call(1, reply=reply)
    writer.reply(1, number)
    second = writer.call(1)
    assert view_messages(writer.path, second)[1] == {"role": "assistant", "content": None, "tool_calls": [call]}
    assert 'calendar({"when": "Friday"})' in shown(tmp_path, "s")


def test_auxiliary_calls_and_events_are_shown(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s", strategy="rolling_summary")
    asked = [{"role": "user", "content": "Summarise this."}]
    number = writer.call(4, purpose="auxiliary", view={"messages": asked, "hash": "x"})
    writer.event(4, "compaction", before=900, after=300)
    made = {"role": "user", "content": "Summary: the code is TEAL-7."}
    writer.say(4, "go on")
    writer.call(
        4, view={"ranges": [[0, 1]], "made": [[0, made]], "manifest": [["verbatim", 0, 1]], "tokens": 1, "hash": "y"}
    )
    text = in_words(shown(tmp_path, "s"))
    assert "auxiliary call, 1 messages" in text
    assert "~ compaction: before 900, after 300" in text
    assert "+ made by the strategy, at 0 (user): Summary: the code is TEAL-7." in text
    assert view_messages(writer.path, number) == asked


def test_an_agent_with_its_own_memory_has_no_known_view(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s", strategy="own memory")
    writer.say(1, "hello")
    number = writer.call(1, view=None, occupancy=None)
    writer.verdict(1, "fail", cause=None, in_view=None)
    for turn in (None, 1):
        assert "the agent keeps its own memory" in shown(tmp_path, "s", turn)
    with pytest.raises(StoreError, match="its own memory"):
        view_messages(writer.path, number)
    assert session_data(tmp_path, "s", turn=1)["records"][1]["messages"] is None


def test_hostile_replies_reach_the_screen_as_text(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    hostile = "[bold]x[/bold] [/] \x1b]0;title\x07\x1b[2J\u202etxt.exe :smile: [link=file:///etc]y[/link]"
    writer.say(1, hostile)
    writer.call(1, text=hostile, error=None)
    writer.verdict(1, "fail", reason=hostile, evidence=hostile, cause="ignored")
    writer.event(1, hostile, detail=hostile)
    writer.end(1, "error", hostile)
    for text in (shown(tmp_path, "s"), shown(tmp_path, "s", 1), shown(tmp_path)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\x07" not in text
    assert "[bold]x[/bold] [/] \\x1b]0;title\\x07\\x1b[2J\\u202etxt.exe :smile:" in shown(tmp_path, "s", width=400)


def test_a_failed_call_shows_its_error(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    writer.call(1, text=None, outcome="overflow", error="maximum context length is 1000 tokens")
    writer.end(1, "overflow", "the window is full")
    text = shown(tmp_path, "s")
    assert "overflow: maximum context length is 1000 tokens" in text
    assert "ended: overflow at turn 1: the window is full" in text


def test_a_terminal_without_unicode_gets_plain_marks(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s")
    writer.say(1, "hello")
    writer.call(1)
    writer.verdict(1, "pass")
    text = shown(tmp_path, "s", encoding="latin-1")
    assert "+ probe code (recall): pass" in text
    assert "█" not in text


def test_a_session_is_found_by_any_part_of_its_name(run):
    assert session_data(run.path, "pinned--r003")["head"]["repeat"] == 3
    with pytest.raises(StoreError, match="6 sessions match 'pinned'"):
        show_session(run.path, "pinned")
    with pytest.raises(NothingMatchedError, match="contextrot show"):
        show_session(run.path, "nobody")
    with pytest.raises(StoreError, match="nothing happened at turn 99"):
        show_session(run.path, "pinned--r003", 99)


def test_data_for_machines(run):
    rows = session_data(run.path)
    assert len(rows) == 24
    fifo = next(row for row in rows if row["strategy"] == "fifo")
    assert (fifo["first_fail_turn"], fifo["failed"]) == (9, ["code lost"])
    data = session_data(run.path, "fifo--r000", turn=9)
    sent = [record["messages"] for record in data["records"] if record["t"] == "call"]
    assert [len(messages) for messages in sent] == [16, 18]
    assert [record["cause"] for record in data["records"] if record["t"] == "verdict"] == ["lost"]


def test_a_torn_session_is_shown_as_far_as_it_goes(tmp_path):
    write_manifest(tmp_path)
    writer = write_session(tmp_path, "fifo", 0)
    writer.path.write_bytes(writer.path.read_bytes()[:-20])
    assert "ended:" not in shown(tmp_path, "fifo")


def test_an_empty_run_says_so(tmp_path):
    assert "no sessions yet" in shown(write_manifest(tmp_path))
