"""The session loop: what is said when, what a probe leaves behind (nothing), and which replies are looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer, completion, ok, serving
from recorded import ask, last, of, replies, session, sessions, texts, verdicts, write
from small_bench import bench, session_lines

from contextrot.analysis.replay_view import read_transcript

TALK = """\
contextrot: 1
id: talk
system: You help.
constraints:
  - {id: aye, text: Begin every reply with AYE., place: {turn: 2}, check: {type: starts_with, text: AYE}}
facts:
  - {id: code, text: "Our code is {value}.", values: [BLUE-42], at: 3}
filler: {items: [first work, second work, third work, fourth work]}
session: {turns: 5}
probes:
  - {id: code, ask: What is our code?, at: [0, 3, 5], check: {type: recall, fact: code}}
  - {id: aye, ask: How do you do?, at: [2, 4], constraint: aye}
"""
ORDER = ["first work", "Begin every reply with AYE.", "Our code is BLUE-42.", "second work", "third work"]


@pytest.fixture
def server() -> Any:
    with serving() as started:
        yield started


def main_line(server: FaultServer) -> list[dict[str, Any]]:
    """The requests that were no probes."""
    return [body for body in server.seen if last(body) in ORDER]


def test_turns_are_serial_and_in_order(server: FaultServer, tmp_path: Path) -> None:
    ask(server, tmp_path / "run", write(tmp_path, TALK))
    assert [last(body) for body in server.seen] == [
        "Our code is BLUE-42.\n\nWhat is our code?",
        "first work",
        "Begin every reply with AYE.",
        "How do you do?",
        "Our code is BLUE-42.",
        "What is our code?",
        "second work",
        "How do you do?",
        "third work",
        "What is our code?",
    ]
    records = session(tmp_path / "run")
    assert [r["turn"] for r in of(records, "call")] == [0, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert records[-1] | {"detail": ""} == {"t": "end", "ended": "completed", "turn": 5, "detail": ""}


def test_a_fork_probe_leaves_no_trace_in_the_main_line(server: FaultServer, tmp_path: Path) -> None:
    server.plays(replies(lambda body: f"reply to: {last(body)}"))
    ask(server, tmp_path / "run", write(tmp_path, TALK))
    for turn, body in enumerate(main_line(server)):
        said = [text for request in ORDER[:turn] for text in (request, f"reply to: {request}")]
        assert texts(body) == ["You help.", *said, ORDER[turn]]


@pytest.mark.parametrize(
    "strategy",
    [
        "full",
        {"type": "fifo", "keep": {"turns": 2}},
        {"type": "rolling_summary", "trigger": {"messages": 4}, "keep": {"turns": 1}},
        {"type": "re_anchor", "every_n_turns": 3, "inner": "fifo"},
    ],
    ids=lambda raw: raw if isinstance(raw, str) else raw["type"],
)
def test_with_and_without_probes_the_main_line_sends_the_same(strategy: Any, tmp_path: Path) -> None:
    def sent(name: str, scenario: str) -> list[list[dict[str, Any]]]:
        folder = tmp_path / name
        folder.mkdir()
        with serving() as server:
            server.plays(replies(lambda body: f"re: {last(body)[:30]}"))
            ask(server, folder / "run", write(folder, scenario), strategies=[strategy], turns=5)
            ((key, _),) = session_lines(folder / "run").items()
        transcript = read_transcript(folder / "run" / "sessions" / f"{key}.jsonl")
        calls = [r for r in of(transcript.records, "call") if r["branch"] is None]
        assert any(r["purpose"] == "auxiliary" for r in calls) == ("summary" in str(strategy))
        return [transcript.messages(r["n"]) for r in calls]

    probed = sent("probed", TALK)
    bare = sent("bare", TALK[: TALK.index("probes:")].replace("text: AYE}", "text: AYE}, reply: AYE"))
    assert len(probed) >= 5
    assert probed == bare


def test_a_forks_tool_calls_leave_no_trace_either(tmp_path: Path) -> None:
    """Ids made for a server that sends none, and results handed out in turn, do not depend on probes."""
    scenario = """\
contextrot: 1
id: tools
constraints: [{id: short, text: Be short., check: {type: count, unit: words, at_most: 9}}]
tools: [{name: look, description: Look it up., returns: [one, two, three]}]
filler: {items: [a, b, c]}
session: {turns: 3}
"""
    probe = "probes: [{id: call, ask: Look!, at: {every: 1}, check: {type: tool_call, name: look}}]\n"
    found = []
    for name, text in (("with", scenario + probe), ("without", scenario)):
        folder = tmp_path / name
        folder.mkdir()
        with serving() as server:
            server.plays(replies(lambda body: nameless() if body["messages"][-1]["role"] == "user" else "done"))
            ask(server, folder / "run", write(folder, text))
            found.append([body["messages"] for body in server.seen if "Look!" not in texts(body)])
    assert len(found[1]) == 6
    assert found[0] == found[1]


def nameless() -> dict[str, Any]:
    """A call of `look` without an id."""
    call = {"type": "function", "function": {"name": "look", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


def test_an_inline_probe_stays_in_the_session(server: FaultServer, tmp_path: Path) -> None:
    server.plays(replies(lambda body: f"re: {last(body)}"))
    inline = TALK.replace("at: [0, 3, 5], ", "at: [0, 4], mode: inline, ")
    ask(server, tmp_path / "run", write(tmp_path, inline))
    assert texts(server.seen[-1])[-3:] == ["What is our code?", "re: What is our code?", "second work"]
    asked = of(session(tmp_path / "run"), "verdict", kind="probe", id="code")
    assert [(r["turn"], r["branch"]) for r in asked] == [(0, "code@0"), (4, None)]


def test_turn_0_asks_with_the_statement_right_before_and_at_no_distance(server: FaultServer, tmp_path: Path) -> None:
    ask(server, tmp_path / "run", write(tmp_path, TALK))
    assert texts(server.seen[0]) == ["You help.", "Our code is BLUE-42.\n\nWhat is our code?"]
    (fresh,) = of(session(tmp_path / "run"), "verdict", kind="probe", turn=0)
    assert (fresh["in_view"], fresh["since_turns"], fresh["since_tokens"]) == (True, 0, 0)


def test_the_distance_to_the_statement_is_what_was_said_in_between(server: FaultServer, tmp_path: Path) -> None:
    """The reply that is graded, and the tool rounds before it, are not between the statement and the question."""
    server.plays(replies(lambda body: "AYE " + "word " * 50))
    ask(server, tmp_path / "run", write(tmp_path, TALK))
    found = of(session(tmp_path / "run"), "verdict", subject="aye")
    assert [(r["turn"], r["kind"], r["since_turns"]) for r in found[:2]] == [(2, "passive", 0), (2, "probe", 0)]
    assert found[0]["since_tokens"] == 0
    # reply: 4 + 51 tokens; "How do you do?": 4 + 5
    assert found[1]["since_tokens"] == 55 + 9


def test_a_rule_is_checked_on_every_live_reply_from_the_turn_it_is_stated_on(
    server: FaultServer, tmp_path: Path
) -> None:
    server.plays(replies(lambda body: "AYE" if last(body) != "third work" else "no"))
    ask(server, tmp_path / "run", write(tmp_path, TALK))
    passive = of(session(tmp_path / "run"), "verdict", kind="passive")
    assert [(r["turn"], r["branch"], r["outcome"]) for r in passive] == [
        (2, None, "pass"),
        (3, None, "pass"),
        (3, "code@3", "pass"),
        (4, None, "pass"),
        (5, None, "fail"),
        (5, "code@5", "pass"),
    ]
    # The rule's own probes (turns 2 and 4) have their own verdict, and one reply is not counted twice.
    probes = of(session(tmp_path / "run"), "verdict", id="aye", kind="probe")
    assert [(r["turn"], r["branch"]) for r in probes] == [(2, "aye@2"), (4, "aye@4")]


@pytest.mark.parametrize(
    ("history", "first_reply", "asked"),
    [("live", "fine", 10), ("scripted", "Understood.", 5), ("gold", "AYE, understood.", 5)],
)
def test_who_writes_the_assistant_turns(
    history: str, first_reply: str, asked: int, server: FaultServer, tmp_path: Path
) -> None:
    """Under scripted and gold histories only probes call the model, and the canned replies stand in the prompt."""
    scenario = TALK.replace("text: AYE}", 'text: AYE}, gold: "AYE, understood."').replace(
        "items: [first work", 'items: [{user: first work, gold: "AYE, understood."}'
    )
    ask(server, tmp_path / "run", write(tmp_path, scenario), history=history)
    assert len(server.seen) == asked
    prompt = texts(server.seen[-1])
    said = [request for request in ORDER for _ in (1,)]
    assert prompt[1::2][:5] == said
    assert prompt[2] == first_reply
    canned = of(session(tmp_path / "run"), "msg", branch=None, origin="reply")
    assert [("call" in r) for r in canned] == [history == "live"] * 5
    # Nobody answered the canned turns, so nothing is checked on them.
    passive = of(session(tmp_path / "run"), "verdict", kind="passive")
    assert {r["branch"] is None for r in passive} == ({True, False} if history == "live" else {False})


def test_canned_tool_rounds_stand_in_a_scripted_session(server: FaultServer, tmp_path: Path) -> None:
    scenario = """\
contextrot: 1
id: canned
facts: [{id: code, text: "Our code is {value}.", values: [BLUE-42]}]
tools: [{name: look, description: Look it up.}]
filler: {items: [{user: look twice, assistant: both seen, tool_calls: [
  {name: look, arguments: {at: one}, result: first}, {name: look, arguments: {at: two}, result: second}]}]}
session: {turns: 2, history: scripted}
probes: [{id: code, ask: What is our code?, at: 2, check: {type: recall, fact: code}}]
"""
    ask(server, tmp_path / "run", write(tmp_path, scenario))
    (body,) = server.seen
    called = [m["tool_calls"][0] for m in body["messages"] if m.get("tool_calls")]
    results = [(m["tool_call_id"], m["content"]) for m in body["messages"] if m["role"] == "tool"]
    assert [call["function"]["arguments"] for call in called] == ['{"at":"one"}', '{"at":"two"}']
    assert results == [(called[0]["id"], "first"), (called[1]["id"], "second")]
    assert [m["role"] for m in body["messages"]] == [
        "user", "assistant", "user", "assistant", "tool", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip


def test_every_strategy_and_model_of_a_repeat_hears_the_same_and_repeats_differ(
    scenario_file: Path, tmp_path: Path
) -> None:
    bench(tmp_path / "run", scenario_file, models=["sim/perfect", "sim/hazard?hazard=0.5"], window=4000, repeats=3)
    heard: dict[int, set[str]] = {}
    for records in sessions(tmp_path / "run").values():
        if not records[0]["control"]:
            said = [r["message"]["content"] for r in of(records, "msg", branch=None) if r["origin"] != "reply"]
            heard.setdefault(records[0]["repeat"], set()).add("\n".join(said))
    assert [len(scripts) for scripts in heard.values()] == [1, 1, 1]
    assert len(set.union(*heard.values())) == 3


def test_the_same_seed_is_the_same_run_byte_for_byte_and_another_is_not(scenario_file: Path, tmp_path: Path) -> None:
    for name, seed in (("one", 7), ("two", 7), ("three", 8)):
        bench(tmp_path / name, scenario_file, seed=seed, strategies=["full", "fifo", "rolling_summary"])
    one, two, three = (session_lines(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two
    assert not one.keys() & three.keys()


def test_sessions_share_nothing_however_many_run_at_once(scenario_file: Path, tmp_path: Path) -> None:
    for name, concurrency in (("one", 1), ("many", 16)):
        bench(
            tmp_path / name,
            scenario_file,
            models=["sim/hazard?hazard=0.2&latency=0.001"],
            strategies=["full", "fifo", "rolling_summary"],
            concurrency=concurrency,
            repeats=3,
        )
    assert session_lines(tmp_path / "one") == session_lines(tmp_path / "many")


def test_the_model_is_asked_with_the_settings_and_a_seed_of_its_own_at_each_call(
    server: FaultServer, tmp_path: Path
) -> None:
    ask(server, tmp_path / "run", write(tmp_path, TALK), temperature=0.5, max_tokens=77)
    assert {(body["temperature"], body["max_tokens"], body["model"]) for body in server.seen} == {(0.5, 77, "served")}
    assert len({body["seed"] for body in server.seen}) == len(server.seen)


def test_reasoning_is_kept_in_the_record_and_not_sent_back(server: FaultServer, tmp_path: Path) -> None:
    message = {"role": "assistant", "content": "AYE", "reasoning_content": "let me think about it"}
    server.plays(ok(choices=[{"index": 0, "message": message, "finish_reason": "stop"}]))
    ask(server, tmp_path / "run", write(tmp_path, TALK))
    assert {r["reply"]["reasoning"] for r in of(session(tmp_path / "run"), "call")} == {"let me think about it"}
    assert b"let me think" not in b"".join(server.raw)


@pytest.mark.parametrize(
    ("changes", "outcome", "call_outcome"),
    [
        ({"finish": "length", "content": "AYE and then some"}, "truncated", "truncated"),
        ({"finish": "MAX_TOKENS", "content": "AYE and then some"}, "truncated", "truncated"),
        ({"finish": "stop", "content": ""}, "empty", "empty"),
        ({"finish": "stop", "content": " \u200b\n"}, "empty", "empty"),
        ({"finish": "content_filter", "content": "AYE"}, "filtered", "filtered"),
        ({"finish": "SAFETY", "content": "AYE"}, "filtered", "filtered"),
        ({"finish": "stop", "content": None, "refusal": "I cannot help with that."}, "fail", "ok"),
        ({"finish": "stop", "content": "I'm sorry, but I can't help with that."}, "fail", "ok"),
        ({"finish": "stop", "content": "AYE, here it is."}, "pass", "ok"),
    ],
)
def test_only_whole_replies_are_graded(
    changes: dict[str, Any], outcome: str, call_outcome: str, server: FaultServer, tmp_path: Path
) -> None:
    message = {"role": "assistant", **{key: value for key, value in changes.items() if key != "finish"}}
    choice = {"index": 0, "message": message, "finish_reason": changes["finish"]}
    server.plays(ok(**completion(choices=[choice])))
    ask(server, tmp_path / "run", write(tmp_path, TALK))
    graded = [verdict for verdict in verdicts(tmp_path / "run") if verdict[0] == "aye"]
    assert {verdict[2] for verdict in graded} == {outcome}
    assert {r["outcome"] for r in of(session(tmp_path / "run"), "call")} == {call_outcome}
