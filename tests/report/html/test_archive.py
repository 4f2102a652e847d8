"""What the page keeps of the sessions: every call's messages exactly, within the room there is, whatever was said."""

from __future__ import annotations

import base64
import gzip
import re
from collections import Counter, defaultdict
from typing import Any

import orjson
import pytest
from html_runs import every_status_run, own_memory_run, simulated, small_run
from run_writer import SessionWriter, write_controls, write_manifest, write_session

from contextrot.analysis.replay_view import read_transcript
from contextrot.analysis.tables import load_run
from contextrot.errors import NothingMatchedError, StoreError
from contextrot.report.html.archive import Archive, session_archive
from contextrot.report.html.details import HEAD, TAIL, shorten
from contextrot.report.html.embed import json_text

ROOM = 2_000_000
#: sessions of the large run: a hundred of ten strategies each, and three of controls
ALL = 1003
HOSTILE = (
    "</script><script>alert(1)</script> <!-- \u2028\u2029 &amp; \x00\x1b[31m\x07 \u202egnirts\u202c \u200b \ufeff"
    " 😀 \U000e0041 \ud7ff \uffff ' \" ` ${x} {{ 7*7 }}"
)


def opened(archive: Archive) -> dict[str, tuple[dict[str, Any], list[Any]]]:
    """Key → (session, texts), as the page's own scripts put them together."""
    found = {}
    for chunk in archive.chunks:
        for script in orjson.loads(gzip.decompress(chunk)):
            texts: list[Any] = []
            for entry in script:
                texts += entry["texts"]
                found[entry["session"]["key"]] = (entry["session"], texts)
    return found


def said(session: dict[str, Any], texts: list[Any], index: int, branch: str | None) -> Any:
    own = session["branches"].get(branch)
    log = session["log"] if own is None or index < own["from"] else own["log"]
    return texts[log[index - (0 if log is session["log"] else own["from"])][3]]


def sent(session: dict[str, Any], texts: list[Any], call: dict[str, Any]) -> list[Any]:
    """The messages of a call, put together from the archive."""
    view = call["view"]
    if "texts" in view:
        return [texts[number] for number in view["texts"]]
    indexes = [index for start, end in view["ranges"] for index in range(start, end)]
    messages = [said(session, texts, index, call.get("branch")) for index in indexes]
    for position, number in sorted(view["made"]):
        messages.insert(position, texts[number])
    return messages


def bytes_in_page(archive: Archive) -> int:
    return len(json_text(archive.index).encode()) + sum(len(base64.b64encode(chunk)) for chunk in archive.chunks)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("small") / "run")


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    """A thousand sessions of ten groups, each with texts of its own: failures early and late, and some that held."""
    folder = write_manifest(tmp_path_factory.mktemp("thousand") / "run")
    for group in range(10):
        for repeat in range(100):
            name = f"strategy-{group}"
            fails = {"lost_from": 3 + 3 * (repeat % 7)} if repeat % 2 else {}
            session = write_session(folder, name, repeat, **fails)
            session.event(24, "noise", text=base64.b64encode(f"{group * 7919 + repeat}".encode() * 60).decode()[:400])
    write_controls(folder, ceiling=("pass",) * 3, floor=("fail",) * 3)
    return load_run(folder)


def test_every_call_of_every_status_is_put_together_exactly(tmp_path):
    run = every_status_run(tmp_path / "run")
    sessions = opened(session_archive(run, max_bytes=ROOM))
    calls: Counter[str] = Counter()
    for path in sorted((run.path / "sessions").glob("*.jsonl")):
        transcript = read_transcript(path)
        session, texts = sessions[path.stem]
        kept = {call["n"]: call for call in session["calls"]}
        records = [record for record in transcript.records if record["t"] == "call"]
        assert sorted(kept) == [record["n"] for record in records]
        for record in records:
            assert sent(session, texts, kept[record["n"]]) == transcript.messages(record["n"]), (path.stem, record["n"])
            assert texts[kept[record["n"]]["reply"]["text"]]["content"] == record["reply"]["content"]
            calls[record["purpose"]] += 1
    assert calls["probe"] > 50
    assert min(calls["auxiliary"], calls["control"]) > 0


def test_live_sessions_with_tool_rounds_are_put_together_exactly(tmp_path):
    run = simulated(tmp_path / "run", "workflow-skip", strategies=["full"], repeats=1, window=8000, turns=20)
    sessions = opened(session_archive(run, max_bytes=ROOM))
    tools = 0
    for path in sorted((run.path / "sessions").glob("*.jsonl")):
        transcript = read_transcript(path)
        session, texts = sessions[path.stem]
        for call in session["calls"]:
            messages = sent(session, texts, call)
            assert messages == transcript.messages(call["n"])
            tools += sum(message["role"] == "tool" for message in messages)
    assert tools > 0


def test_rows_say_what_the_tables_say_failures_first_and_controls_last(small):
    index = session_archive(small, max_bytes=ROOM).index
    table = small.sessions.set_index("session")
    assert sorted(row["key"] for row in index) == sorted(table.index)
    for row in index:
        expected = table.loc[row["key"]]
        for name in ("scenario", "model", "strategy", "ended", "repeat", "last_turn"):
            assert row[name] == expected[name]
        for name in ("first_fail_turn", "last_pass_turn"):
            assert row.get(name) == (None if expected.isna()[name] else expected[name])
        assert row.get("control", False) == expected["control"]
        assert row["simulated"] is True
        assert isinstance(row["chunk"], int)
    turns = [row.get("first_fail_turn") for row in index if row.get("event") == "fail"]
    assert turns == sorted(turns)
    assert len(turns) > 3
    controls = [bool(row.get("control")) for row in index]
    assert controls == sorted(controls)
    verdicts = small.verdicts
    failed = next(row for row in index if row.get("first_fail_turn"))
    at = verdicts.loc[
        (verdicts["session"] == failed["key"])
        & (verdicts["turn"] == failed["first_fail_turn"])
        & (verdicts["outcome"] == "fail")
    ]
    assert failed["failed"] == [[name, cause] for name, cause in zip(at["id"], at["cause"], strict=True)]


def test_verdicts_carry_their_final_cause(small):
    sessions = opened(session_archive(small, max_bytes=ROOM))
    for name, rows in small.verdicts.groupby("session", observed=True):
        kept = sessions[str(name)][0]["verdicts"]
        assert [verdict.get("cause", "") for verdict in kept] == rows["cause"].astype(str).tolist()
        assert [verdict["outcome"] for verdict in kept] == rows["outcome"].tolist()


def test_the_same_run_gives_the_same_bytes(small):
    first, second = (session_archive(load_run(small.path), max_bytes=60_000) for _ in range(2))
    assert first == second


def test_sessions_of_one_script_share_their_texts(small):
    archive = session_archive(small, max_bytes=ROOM)
    texts = sum(len(entry["texts"]) for c in archive.chunks for s in orjson.loads(gzip.decompress(c)) for entry in s)
    told = sum(len(session["log"]) for session, _ in opened(archive).values())
    assert texts < told / 2


@pytest.mark.parametrize("room", [550_000, 700_000, 3_000_000])
def test_a_thousand_sessions_keep_to_the_room(thousand, room):
    archive = session_archive(thousand, max_bytes=room)
    assert bytes_in_page(archive) <= room
    assert len(archive.index) + archive.rows_left_out == ALL
    kept = [row for row in archive.index if "chunk" in row]
    assert archive.left_out == ALL - len(kept)
    assert set(opened(archive)) == {row["key"] for row in kept}
    if room == 3_000_000:
        assert archive.left_out == 0
        return
    assert archive.rows_left_out == 0
    # As fair as it can be: of every strategy as many, and of each kind; the controls only after all of them.
    groups = defaultdict(list)
    for row in kept:
        groups[row["strategy"]].append(row)
    sizes = [len(rows) for rows in groups.values()]
    assert len(groups) == 10
    assert 3 <= max(sizes) - 1 <= min(sizes)
    for rows in groups.values():
        turns = [row.get("first_fail_turn") for row in rows]
        assert 3 in turns  # an earliest failure
        assert any(turn in (9, 12, 15) for turn in turns)  # one in the middle
        assert None in turns  # one that held
    assert not any(row.get("control") for row in kept)


def test_rows_themselves_are_left_out_where_even_they_do_not_fit(thousand):
    archive = session_archive(thousand, max_bytes=60_000)
    assert bytes_in_page(archive) <= 60_000
    assert archive.rows_left_out == ALL - len(archive.index) > 0
    assert len({row["strategy"] for row in archive.index}) == 10


def test_a_session_that_is_asked_for_is_kept_whatever_it_takes(thousand):
    key = next(key for key in thousand.sessions["session"] if key.endswith("strategy-4--r098"))
    archive = session_archive(thousand, max_bytes=20_000, sessions=["strategy-4--r098"])
    assert key in opened(archive)
    assert key not in opened(session_archive(thousand, max_bytes=20_000))
    with pytest.raises(NothingMatchedError, match="no session"):
        session_archive(thousand, max_bytes=20_000, sessions=["nobody"])
    with pytest.raises(StoreError, match="sessions match"):
        session_archive(thousand, max_bytes=20_000, sessions=["strategy-4"])


def test_hostile_texts_come_back_as_they_were(tmp_path):
    folder = write_manifest(tmp_path / "run")
    writer = SessionWriter(folder, "hostile", strategy=HOSTILE, scenario=HOSTILE)
    parts = [{"type": "text", "text": HOSTILE}, {"type": "image_url", "image_url": {"url": "data:,x"}}]
    writer.say(0, HOSTILE, origin="system", role="system")
    writer._message(1, None, "filler", {"message": {"role": "user", "content": parts, "name": HOSTILE}})
    call = {"id": HOSTILE, "type": "function", "function": {"name": HOSTILE, "arguments": HOSTILE}}
    reply = {
        "content": None,
        "tool_calls": [call],
        "finish_reason": "tool_calls",
        "reasoning": HOSTILE,
        "refusal": HOSTILE,
    }
    writer.reply(1, writer.call(1, reply=reply))
    writer.verdict(1, "fail", call=0, branch=None, id=HOSTILE, subject=HOSTILE, reason=HOSTILE, evidence=HOSTILE)
    writer.event(1, HOSTILE, **{HOSTILE: HOSTILE})
    writer.end(1, "error", HOSTILE)
    archive = session_archive(load_run(folder), max_bytes=ROOM)
    session, texts = opened(archive)["hostile"]
    assert archive.index[0]["scenario"] == archive.index[0]["strategy"] == HOSTILE
    assert archive.index[0]["failed"] == [[HOSTILE, ""]]
    assert [said(session, texts, k, None) for k in range(3)] == [
        {"role": "system", "content": HOSTILE},
        {"role": "user", "content": parts, "name": HOSTILE},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    assert session["calls"][0]["reply"]["reasoning"] == session["calls"][0]["reply"]["refusal"] == HOSTILE
    assert session["verdicts"][0]["reason"] == session["verdicts"][0]["evidence"] == HOSTILE
    assert session["events"] == [[1, None, HOSTILE, {HOSTILE: HOSTILE}]]
    assert session["end"]["detail"] == HOSTILE


def test_a_text_that_is_too_long_is_cut_with_its_length_said():
    text = "ä" * HEAD + "middle" * 200_000 + "z" * TAIL
    assert shorten({"content": [{"text": text}]}) == {
        "content": [{"text": {"cut": ["ä" * HEAD, "z" * TAIL, len(text)]}}]
    }
    assert shorten("x" * (HEAD + TAIL)) == "x" * (HEAD + TAIL)


def test_a_torn_last_line_and_a_running_session_are_shown_as_far_as_they_go(tmp_path):
    folder = write_manifest(tmp_path / "run", status="running")
    writer = SessionWriter(folder, "running")
    writer.say(0, "Be kind.", origin="system", role="system")
    writer.say(1, "Good morning.")
    writer.reply(1, writer.call(1))
    with writer.path.open("ab") as file:
        file.write(b'{"t":"call","n":1,"tu')
    archive = session_archive(load_run(folder), max_bytes=ROOM)
    session, _ = opened(archive)["running"]
    assert "ended" not in archive.index[0]
    assert session["end"] is None
    assert (len(session["log"]), len(session["calls"])) == (3, 1)
    assert session["why"] == "Nothing was decided in this session. The session has not come to its end."


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda lines: [*lines[:4], b"{half a rec", *lines[4:]], "damaged and cannot be read as JSON"),
        (lambda lines: [line for line in lines if b'"i":3,' not in line], "message 3 is not in it"),
        (lambda lines: [re.sub(rb'"manifest":\[\[.*?\]\],', b"", line) for line in lines], "a record lacks parts"),
        (lambda lines: [*lines[:4], b"[1, 2]", *lines[4:]], "a record lacks parts"),
        (lambda lines: [re.sub(rb'"call":\d+', b'"call":777', line) for line in lines], "has no call 777"),
    ],
    ids=["no JSON", "message missing", "no manifest", "no object", "reply to nothing"],
)
def test_a_damaged_file_costs_its_own_details_and_no_more(tmp_path, damage, says):
    folder = write_manifest(tmp_path / "run")
    write_session(folder, "fifo", 0, lost_from=9)
    whole = write_session(folder, "fifo", 1, lost_from=9).path.stem
    path = write_session(folder, "full", 0).path
    run = load_run(folder)
    assert len(run.sessions) == 3  # the tables were read before the file was damaged, or read past the damage
    path.write_bytes(b"\n".join(damage(path.read_bytes().splitlines())) + b"\n")
    archive = session_archive(run, max_bytes=ROOM)
    row = next(row for row in archive.index if row["key"] == path.stem)
    assert says in row["problem"]
    assert "chunk" not in row
    assert archive.left_out == 0
    assert set(opened(archive)) == {whole, whole.replace("r001", "r000")}


def test_a_file_that_went_away_is_a_problem_of_its_row(tmp_path):
    folder = write_manifest(tmp_path / "run")
    path = write_session(folder, "fifo", 0).path
    run = load_run(folder)
    assert len(run.sessions) == 1
    path.unlink()
    (row,) = session_archive(run, max_bytes=ROOM).index
    assert "problem" in row


def test_a_key_that_points_out_of_the_run_is_not_followed(tmp_path):
    folder = write_manifest(tmp_path / "run")
    outside = write_session(tmp_path / "elsewhere", "fifo", 0).path
    write_session(folder, "fifo", 0)
    path = next((folder / "sessions").glob("*.jsonl"))
    key = f"../../elsewhere/sessions/{outside.stem}".encode()
    path.write_bytes(path.read_bytes().replace(path.stem.encode(), key, 1))
    archive = session_archive(load_run(folder), max_bytes=ROOM)
    assert archive.chunks == []
    assert "problem" in archive.index[0]


def test_an_agent_with_its_own_memory_keeps_its_log_though_not_what_it_was_sent(tmp_path):
    run = own_memory_run(tmp_path / "run")
    sessions = opened(session_archive(run, max_bytes=ROOM))
    for path in sorted((run.path / "sessions").glob("*.jsonl")):
        transcript = read_transcript(path)
        session, texts = sessions[path.stem]
        main = [r for r in transcript.records if r["t"] == "msg" and r["branch"] is None]
        assert [texts[entry[3]] for entry in session["log"]] == [transcript.message(r["i"]) for r in main]
        assert all("view" not in call for call in session["calls"])
        for standing in session["standings"]:
            for turn, place in standing["versions"]:
                assert session["log"][place][0] == turn


def test_an_empty_run_has_an_empty_archive(tmp_path):
    run = load_run(write_manifest(tmp_path / "run"))
    assert session_archive(run, max_bytes=ROOM) == Archive([], [], 0)
