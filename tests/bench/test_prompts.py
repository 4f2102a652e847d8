"""What was really sent: tokens and occupancy, the window that holds, helper calls, and views put together again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer, error, ok, serving
from recorded import ask, counts, ending, last, of, replies, session, sessions, texts, write
from small_bench import bench

from contextrot.analysis.replay_view import read_transcript
from contextrot.analysis.tables import load_run

LONG = """\
contextrot: 1
id: long
facts: [{id: code, text: "Our code is {value}.", values: [BLUE-42], pinned: true}]
tools: [{name: look, description: Look it up.}]
filler: {kind: notes, tokens_per_turn: 60}
session: {turns: 12}
probes: [{id: code, ask: What is our code?, at: {every: 3}, check: {type: recall, fact: code}}]
"""
FIFO = {"type": "fifo"}
SUMMARY = {"type": "rolling_summary", "trigger": {"messages": 8}, "keep": {"turns": 2}}


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with serving() as started:
        yield started


def test_occupancy_is_what_the_provider_counted_as_a_share_of_the_window(server: FaultServer, tmp_path: Path) -> None:
    server.plays(ok(usage={"prompt_tokens": 512, "completion_tokens": 7}))
    ask(server, tmp_path / "run", write(tmp_path, LONG))
    calls = of(session(tmp_path / "run"), "call")
    assert {(r["occupancy"], r["occupancy_source"]) for r in calls} == {(512 / 4096, "usage")}
    assert {r["usage"]["completion_tokens"] for r in calls} == {7}
    assert {r["model"] for r in calls} == {"served-name"}


def test_without_usage_it_is_an_estimate_and_says_so(server: FaultServer, tmp_path: Path) -> None:
    server.plays(ok(usage=None))
    ask(server, tmp_path / "run", write(tmp_path, LONG))
    calls = of(session(tmp_path / "run"), "call")
    assert {r["occupancy_source"] for r in calls} == {"estimate"}
    assert [r["occupancy"] for r in calls] == [r["prompt_estimate"] / 4096 for r in calls]
    assert {r["token_drift"] for r in calls} == {None}
    assert load_run(tmp_path / "run").summary.groups[0].occupancy_estimated


@pytest.mark.parametrize("history", ["live", "scripted"])
@pytest.mark.parametrize("ratio", [0.7, 1.0, 2.0])
def test_a_server_that_counts_otherwise_is_never_sent_more_than_its_window(
    ratio: float, history: str, server: FaultServer, tmp_path: Path
) -> None:
    """fifo keeps as much as fits by the server's own count, also where nothing but probes is ever asked."""
    server.plays(counts(ratio, 700))
    ask(
        server,
        tmp_path / "run",
        write(tmp_path, LONG.replace("tools: [{name: look, description: Look it up.}]\n", "")),
        models=[{"id": f"endpoint/served@{server.url}", "window": 700}],
        strategies=[FIFO],
        history=history,
        turns=30,
    )
    calls = of(session(tmp_path / "run"), "call")
    assert {r["outcome"] for r in calls} == {"ok"}
    deep = [r["occupancy"] for r in calls if r["turn"] > 20]
    # The reply has 100 of the 700 tokens; what is cut is cut by whole messages of some 60 estimated tokens.
    assert max(deep) <= 600 / 700
    assert min(deep) >= (600 - 3 * 70 * ratio) / 700


def test_the_correction_is_told_as_token_drift(server: FaultServer, tmp_path: Path) -> None:
    server.plays(counts(2.0, 4096))
    bare = LONG.replace("tools: [{name: look, description: Look it up.}]\n", "")
    ask(server, tmp_path / "run", write(tmp_path, bare))
    calls = of(session(tmp_path / "run"), "call", purpose="turn")
    assert calls[0]["token_drift"] == pytest.approx(1.0)
    assert calls[1]["token_drift"] == pytest.approx(0.0, abs=0.01)
    assert calls[1]["prompt_estimate"] == pytest.approx(calls[1]["usage"]["prompt_tokens"], rel=0.01)


def test_a_size_in_parts_of_the_window_means_the_providers_tokens(server: FaultServer, tmp_path: Path) -> None:
    """The trigger is half of the window as the server counts, not half of it by an estimate that is too low."""
    server.plays(counts(2.0, 4096))
    strategy = {"type": "rolling_summary", "trigger": {"fraction": 0.5}, "keep": {"turns": 2}}
    ask(server, tmp_path / "run", write(tmp_path, LONG), strategies=[strategy], window=2000, turns=16)
    calls = of(session(tmp_path / "run"), "call", purpose="turn", branch=None)
    assert any(r["purpose"] == "auxiliary" for r in of(session(tmp_path / "run"), "call"))
    # At most one turn is above it: the one at which the server's count was not known yet.
    assert max(r["occupancy"] for r in calls) <= 0.5 + 0.1


def test_sizes_in_tokens_and_in_parts_of_the_window_stay_comparable(server: FaultServer, tmp_path: Path) -> None:
    """A server that counts twice our estimate must not turn a working strategy into a configuration error."""
    server.plays(counts(2.0, 4096))
    strategy = {"type": "rolling_summary", "trigger": {"tokens": 1100}, "keep": {"fraction": 0.5}}
    ask(server, tmp_path / "run", write(tmp_path, LONG), strategies=[strategy], window=2000)
    assert ending(tmp_path / "run") == ("completed", 12)


def test_the_helper_is_never_sent_more_than_its_window_either(server: FaultServer, tmp_path: Path) -> None:
    server.plays(counts(2.0, 1000))
    bare = LONG.replace("tools: [{name: look, description: Look it up.}]\n", "").replace("turn: 60", "turn: 100")
    ask(
        server,
        tmp_path / "run",
        write(tmp_path, bare),
        models=[{"id": f"endpoint/served@{server.url}", "window": 1000}],
        strategies=[{"type": "rolling_summary", "keep": {"turns": 1}, "max_tokens": 60}],
    )
    records = session(tmp_path / "run")
    assert of(records, "event", name="compaction")
    assert of(records, "event", name="summary_rejected") == []
    assert {r["outcome"] for r in of(records, "call")} == {"ok"}
    assert records[-1]["ended"] == "completed"


def test_a_smaller_window_is_called_virtual_everywhere(scenario_file: Path, tmp_path: Path) -> None:
    for name, window, source in (("small", 700, "virtual"), ("own", None, "model")):
        bench(tmp_path / name, scenario_file, models=["sim/perfect?window=8000"], window=window)
        heads = [records[0] for records in sessions(tmp_path / name).values()]
        assert {(head["window"], head["window_source"]) for head in heads} == {(window or 8000, source)}
        summary = load_run(tmp_path / name).summary
        assert summary.virtual_window is summary.groups[0].virtual_window is (source == "virtual")


def test_helper_calls_are_recorded_apart_have_no_tools_and_are_replayed_on_resume(
    server: FaultServer, tmp_path: Path
) -> None:
    scenario = write(tmp_path, LONG)
    speak = replies(lambda body: "notes: all went well" if "condense" in texts(body)[0] else "fine")
    server.plays(*[speak] * 14, error(503, "down"))
    ask(server, tmp_path / "run", scenario, strategies=[SUMMARY])
    before = of(session(tmp_path / "run"), "call")
    assert before[-1]["outcome"] == "error"
    assert any(r["purpose"] == "auxiliary" for r in before)
    asked = len(server.seen)
    server.plays(speak)
    ask(server, tmp_path / "run", scenario, strategies=[SUMMARY])
    records = session(tmp_path / "run")
    assert records[-1]["ended"] == "completed"
    calls = of(records, "call")
    assert len(server.seen) - asked == len(calls) - (len(before) - 1)
    helped = [body for body in server.seen if "condense" in texts(body)[0]]
    assert not any("tools" in body for body in helped)
    assert all("tools" in body for body in server.seen if body not in helped)
    auxiliary = of(records, "call", purpose="auxiliary")
    assert len(auxiliary) == len(helped)
    assert all(r["view"]["messages"] for r in auxiliary)
    run = load_run(tmp_path / "run")
    (row,) = run.sessions.to_dict("records")
    assert (row["calls"], row["aux_calls"]) == (len(calls), len(auxiliary))
    tokens = [r["usage"]["prompt_tokens"] + r["usage"]["completion_tokens"] for r in auxiliary]
    assert row["aux_tokens"] == sum(tokens)
    assert row["compactions"] == len(of(records, "event", name="compaction")) > 0


@pytest.mark.parametrize(
    "strategy",
    [
        "full",
        FIFO,
        {"type": "pinned", "keep": {"turns": 2}},
        SUMMARY,
        {"type": "observation_masking", "keep_last": 1},
        {"type": "re_anchor", "every_n_turns": 2, "inner": SUMMARY},
    ],
    ids=["full", "fifo", "pinned", "rolling_summary", "observation_masking", "re_anchor"],
)
def test_every_prompt_can_be_put_together_from_the_record(strategy: Any, server: FaultServer, tmp_path: Path) -> None:
    from recorded import calling

    asked = iter(range(1000))
    server.plays(
        replies(
            lambda body: (
                calling((f"c{next(asked)}", "look", '{"at": 1}'), text="let me see")
                if body.get("tools") and body["messages"][-1]["role"] == "user" and len(last(body)) % 3 == 0
                else "Noted, in so many words that a summary of them is shorter." * 3
                if body.get("tools")
                else "short notes"
            )
        )
    )
    ask(server, tmp_path / "run", write(tmp_path, LONG), strategies=[strategy], window=900)
    (path,) = (tmp_path / "run" / "sessions").glob("*.jsonl")
    transcript = read_transcript(path)
    numbers = [r["n"] for r in of(transcript.records, "call")]
    assert len(numbers) == len(server.seen) > 16
    assert [transcript.messages(number) for number in numbers] == [body["messages"] for body in server.seen]
