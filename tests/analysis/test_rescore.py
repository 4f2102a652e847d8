"""Today's checks on a recorded run: nothing changes under the same checks, and only what must under others."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from fault_server import FaultServer, completion, ok, serving

from contextrot.analysis.rescore import rescore
from contextrot.analysis.tables import load_run
from contextrot.bench.matrix import load_matrix
from contextrot.bench.runner import run
from contextrot.bench.store import RunDirectory
from contextrot.config import BenchConfig
from contextrot.errors import ConfigError, NothingMatchedError, StoreError
from contextrot.report.write import write_report

SCENARIO = """\
contextrot: 1
id: triage
system: You are a support triage assistant.
constraints:
  - {id: short, text: Keep replies under 40 words., place: system, check: {type: count, unit: words, at_most: 40}}
  - {id: aye, text: Begin every reply with AYE., place: first_user, pinned: true, check: {type: starts_with, text: AYE}}
facts:
  - id: code
    text: "For later: our project code is {value}."
    values: [BLUE-42, TEAL-7, RUST-19]
    at: 2
    changes: [5]
tools: [{name: book, description: Book a slot., parameters: {type: object, properties: {when: {type: string}}}}]
filler: {kind: tickets, tokens_per_turn: 60}
session: {turns: 8}
probes:
  - {id: code, ask: What is our project code?, at: [0, 2, 4, 6], check: {type: recall, fact: code}}
  - {id: stays, ask: And the project code was?, at: [7], mode: inline, check: {type: recall, fact: code}}
  - {id: call, ask: Book a slot for Friday., at: [3, 8], check: {type: tool_call, name: book}}
"""
AYE = "check: {type: starts_with, text: AYE}"
RECALL = "at: [0, 2, 4, 6], check: {type: recall, fact: code}"


def bench(folder: Path, text: str = SCENARIO, **settings: Any) -> Path:
    """Run a scenario in this process; returns the run directory. The scenario stays beside it as scenario.yaml."""
    scenario = folder / "scenario.yaml"
    scenario.write_text(text, encoding="utf-8")
    values: dict[str, Any] = {
        "scenarios": [str(scenario)],
        "models": ["sim/hazard?hazard=0.3"],
        "strategies": ["full", "fifo"],
        "repeats": 2,
        "window": 700,
        "max_tokens": 60,
        **settings,
    }
    with RunDirectory.at(folder / "run") as directory:
        asyncio.run(run(load_matrix(BenchConfig(**values)), directory))
    return folder / "run"


def changed(folder: Path, *replacements: tuple[str, str]) -> Path:
    """The scenario with some of its text replaced, in a file of its own."""
    text = SCENARIO
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    path = folder / "today.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "sessions").iterdir())}


def records(folder: Path, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(session, record) of one type, over all sessions."""
    for name, content in files(folder).items():
        for line in content.splitlines():
            record = orjson.loads(line)
            if record["t"] == kind:
                yield name, record


@pytest.mark.parametrize("history", ["live", "scripted"])
def test_the_same_checks_change_nothing(history: str, tmp_path: Path) -> None:
    folder = bench(tmp_path, history=history)
    result = rescore(folder, out=tmp_path / "again")
    assert files(tmp_path / "again") == files(folder)
    assert result.changes == []
    assert result.refused == {}
    assert result.notes == []
    verdicts = [record for _, record in records(folder, "verdict")]
    assert {record["kind"] for record in verdicts} == {"probe", "passive", "ceiling", "floor"}
    unread = sum(record["call"] is None for record in verdicts)
    assert (result.graded, result.unanswered) == (len(verdicts) - unread, unread)


def test_verdicts_without_a_reply_are_kept(tmp_path: Path) -> None:
    folder = bench(tmp_path, window=340, strategies=["full"])
    unread = [record for _, record in records(folder, "verdict") if record["call"] is None]
    assert {record["outcome"] for record in unread} >= {"overflow", "not_run"}
    result = rescore(folder, out=tmp_path / "again")
    assert result.unanswered == len(unread)
    assert files(tmp_path / "again") == files(folder)


def test_an_agents_replies_are_judged_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked inside its session, it answers several questions in one turn, and none of them is another's tool round."""
    (tmp_path / "rescored_agent.py").write_text(
        "class Agent:\n"
        "    def __init__(self):\n"
        "        self.heard = []\n"
        "    def __deepcopy__(self, memo):\n"
        "        raise TypeError('cannot be copied')\n"
        "    def feed(self, text):\n"
        "        self.heard.append(text)\n"
        "        known = [h for h in self.heard if 'project code is' in h]\n"
        "        code = known[-1].split('project code is ')[1].split('.')[0] if known else 'unknown'\n"
        "        return f'AYE {code}' if 'code' in text else 'noted'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = bench(tmp_path, models=["python:rescored_agent:Agent"], window=None)
    again = tmp_path / "again"
    result = rescore(folder, out=again)
    outcomes = Counter(record["outcome"] for _, record in records(folder, "verdict"))
    assert outcomes["pass"]
    assert outcomes["fail"]
    assert (result.changes, result.refused) == ([], {})
    assert files(again) == files(folder)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with serving() as started:
        yield started


def test_the_rounds_of_one_answer_are_judged_together(server: FaultServer, tmp_path: Path) -> None:
    def calling(n: int) -> dict[str, Any]:
        call = {"id": f"c{n}", "type": "function", "function": {"name": "book", "arguments": "{}"}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return completion("") | {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}

    server.plays(ok("AYE"), ok(**calling(1)), ok(**calling(2)), ok("It is booked."))
    text = SCENARIO.replace("at: [3, 8]", "at: [2], mode: inline").replace("session: {turns: 8}", "session: {turns: 3}")
    text = text.replace("at: 2\n    changes: [5]", "at: 3").replace("[0, 2, 4, 6]", "[3]")
    text = "".join(line for line in text.splitlines(keepends=True) if "id: stays" not in line)
    folder = bench(
        tmp_path, text, models=[{"id": f"endpoint/served@{server.url}", "window": 4096}], window=None, max_tokens=100,
        strategies=["full"], repeats=1, controls=False, concurrency=1,
    )  # fmt: skip
    assert ("call", "pass") in {(record["id"], record["outcome"]) for _, record in records(folder, "verdict")}
    assert rescore(folder).changes == []
    (tmp_path / "today.yaml").write_text(
        text.replace("{type: tool_call, name: book}", "{type: tool_call, calls: [{name: book}, {name: book}]}")
    )
    assert rescore(folder, [tmp_path / "today.yaml"]).changes == []
    (tmp_path / "today.yaml").write_text(
        text.replace("{type: tool_call, name: book}", "{type: tool_call, name: book, arguments: {when: Friday}}")
    )
    (change,) = rescore(folder, [tmp_path / "today.yaml"]).changes
    assert (change.id, change.before, change.after) == ("call", "pass", "fail")


def test_what_a_judge_said_is_kept_and_what_code_decides_is_judged_anew(tmp_path: Path) -> None:
    opinion = "{type: judge, rubric: The reply names the project code and nothing else.}"
    text = SCENARIO.replace(RECALL, "at: [0, 2, 4, 6], check: " + opinion)
    text = text.replace("- {id: code, ask", "- {id: said, ask")
    folder = bench(tmp_path, text, judge="sim/perfect", strategies=["full"])
    asked = [record for _, record in records(folder, "verdict") if record["check"] == "judge"]
    result = rescore(folder, out=tmp_path / "again")
    assert result.judged == sum(record["call"] is not None for record in asked) > 0
    assert ("triage", "said", "judge") not in result.rows
    assert result.changes == []
    assert files(tmp_path / "again") == files(folder)
    # A part that code can tell decides without the judge.
    both = text.replace(opinion, "{type: any_of, checks: [{type: count, unit: words, at_least: 1}, " + opinion + "]}")
    (tmp_path / "today.yaml").write_text(both, encoding="utf-8")
    result = rescore(folder, [tmp_path / "today.yaml"])
    assert result.judged == 0
    assert {(change.before, change.after) for change in result.changes} == {("fail", "pass")}


def test_a_stricter_check_changes_exactly_the_replies_it_should(tmp_path: Path) -> None:
    folder = bench(tmp_path)
    before = files(folder)
    today = changed(tmp_path, (AYE, "check: {type: count, unit: words, at_most: 3}"))
    result = rescore(folder, [today])
    # What must change follows from the replies: their words can be counted without any check.
    said = {(name, r["n"]): r["reply"]["content"] or "" for name, r in records(folder, "call") if r["reply"]}
    wanted: Counter[tuple[str, str]] = Counter()
    same = 0
    for name, record in records(folder, "verdict"):
        if record["id"] == "aye" and record["call"] is not None and record["outcome"] in ("pass", "fail"):
            after = "pass" if len(said[name, record["call"]].split()) <= 3 else "fail"
            wanted[record["outcome"], after] += record["outcome"] != after
            same += record["outcome"] == after
    wanted = +wanted
    assert wanted["pass", "fail"]
    assert wanted["fail", "pass"]
    assert Counter((change.before, change.after) for change in result.changes) == wanted
    assert {(change.id, change.check) for change in result.changes} == {("aye", "count")}
    row = result.rows["triage", "aye", "count"]
    assert (row.pass_to_fail, row.fail_to_pass) == (wanted["pass", "fail"], wanted["fail", "pass"])
    assert row.same >= same
    (note,) = result.notes
    assert "the file has changed" in note
    assert "still what was sent" in note
    assert files(folder) == before


def test_the_written_run_can_be_reported_and_says_where_it_comes_from(tmp_path: Path) -> None:
    folder = bench(tmp_path)
    before = files(folder)
    today = changed(tmp_path, (RECALL, "at: [0, 2, 4, 6], check: {type: keyword, none: [AYE]}"))
    result = rescore(folder, [today], out=tmp_path / "again")
    assert files(folder) == before
    manifest = orjson.loads((tmp_path / "again" / "run.json").read_bytes())
    original = orjson.loads((folder / "run.json").read_bytes())
    mark = manifest.pop("rescored")
    assert manifest == original
    assert (mark["from"], mark["changed"]) == (str(folder), len(result.changes))
    assert mark["scenarios"][0]["source"] == str(today)
    again = load_run(tmp_path / "again")
    assert write_report(again)
    assert len(again.verdicts) == len(load_run(folder).verdicts)


def test_a_changed_question_is_refused_with_a_sentence(tmp_path: Path) -> None:
    folder = bench(tmp_path)
    today = changed(tmp_path, ("ask: What is our project code?", "ask: Which project code do we have?"))
    result = rescore(folder, [today], out=tmp_path / "again")
    refused = {(refusal.kind, refusal.id): refusal for refusal in result.refused.values()}
    assert set(refused) == {("probe", "code"), ("ceiling", "code"), ("floor", "code")}
    sentence = str(refused["probe", "code"])
    assert "What is our project code?" in sentence
    assert "Which project code do we have?" in sentence
    assert ("triage", "code", "recall") not in result.rows
    assert ("triage", "stays", "recall") in result.rows
    assert files(tmp_path / "again") == files(folder)


def test_a_rule_in_other_words_is_another_rule(tmp_path: Path) -> None:
    folder = bench(tmp_path)
    result = rescore(folder, [changed(tmp_path, ("Begin every reply with AYE.", "Start each reply with AYE."))])
    assert {refusal.id for refusal in result.refused.values()} == {"aye"}
    assert "was not said in the session" in str(result.refused["triage", "passive", "aye"])
    assert any("turn 1 (constraint)" in note for note in result.notes)


def test_a_fact_with_other_values_is_another_fact(tmp_path: Path) -> None:
    folder = bench(tmp_path)
    result = rescore(folder, [changed(tmp_path, ("[BLUE-42, TEAL-7, RUST-19]", "[PINK-1, GREY-2, GOLD-3]"))])
    assert {refusal.id for refusal in result.refused.values()} == {"code", "stays"}
    assert ("triage", "aye", "starts_with") in result.rows


def test_other_filler_is_said_and_changes_no_verdict(tmp_path: Path) -> None:
    folder = bench(tmp_path)
    result = rescore(folder, [changed(tmp_path, ("kind: tickets", "kind: notes"))])
    assert result.changes == []
    assert any("turn 4 (filler)" in note for note in result.notes)
    # A rule without a probe of its own is controlled on a filler text: that question alone is another one.
    assert {refusal.kind for refusal in result.refused.values()} <= {"ceiling", "floor"}


def test_what_the_run_has_no_reply_for_is_said(tmp_path: Path) -> None:
    folder = bench(tmp_path)
    more = "  - {id: more, ask: 'What else?', at: [4], check: {type: abstain}}\n  - {id: call, ask"
    result = rescore(folder, [changed(tmp_path, ("  - {id: call, ask", more))])
    assert any("`more`" in note for note in result.notes)


def test_a_session_that_cannot_be_read_is_kept_as_it_is(tmp_path: Path) -> None:
    folder = bench(tmp_path)
    (folder / "sessions" / "torn.jsonl").write_bytes(b'{"t":"head","v"')
    result = rescore(folder, out=tmp_path / "again")
    assert any("torn.jsonl" in note for note in result.notes)
    assert files(tmp_path / "again")["torn.jsonl"] == b'{"t":"head","v"'


def test_nothing_to_rescore_and_folders_in_use_are_refused(tmp_path: Path) -> None:
    folder = bench(tmp_path, repeats=1)
    other = changed(tmp_path, ("id: triage", "id: another"))
    with pytest.raises(NothingMatchedError, match="it has triage"):
        rescore(folder, [other])
    with pytest.raises(StoreError, match="in use already"):
        rescore(folder, out=folder)
    (tmp_path / "scenario.yaml").unlink()
    with pytest.raises(ConfigError, match="--scenario"):
        rescore(folder)
    assert not (tmp_path / "again").exists()


def test_a_thousand_sessions_take_seconds(tmp_path: Path) -> None:
    folder = bench(tmp_path)
    originals = list((folder / "sessions").glob("*.jsonl"))
    for number in range(1000 - len(originals)):
        source = originals[number % len(originals)]
        shutil.copy(source, source.with_name(f"{source.stem}-{number}.jsonl"))
    start = time.process_time()
    result = rescore(folder)
    assert time.process_time() - start < 20
    assert result.graded > 10_000
    assert result.changes == []


def test_an_unfinished_rescored_run_is_not_gone_on_with(tmp_path: Path) -> None:
    folder = bench(tmp_path)
    again = tmp_path / "again"
    rescore(folder, out=again)

    def go_on() -> None:
        settings = BenchConfig(**orjson.loads((again / "run.json").read_bytes())["config"])
        with RunDirectory.at(again) as directory:
            asyncio.run(run(load_matrix(settings), directory))

    go_on()  # finished: nothing is asked, nothing is refused
    path = sorted((again / "sessions").glob("*.jsonl"))[-1]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-3]))
    with pytest.raises(StoreError, match=f"rescored from {folder}.*resume {folder}"):
        go_on()
