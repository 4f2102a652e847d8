"""What a bench brings to strategies: helpers, an embedding model, tools of their own, tasks, budget levels."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web
from fault_server import FaultServer, answer, completion, error, serving
from recorded import Body, Record, ask, calling, of, replies, session, sessions, texts, write
from rich.console import Console
from small_bench import SCENARIO, bench, session_lines

import contextrot as cr
from contextrot.analysis.tables import load_run
from contextrot.errors import ConfigError, MissingKeyError, StoreError
from contextrot.models.extractive import ExtractiveModel
from contextrot.models.simulated import SimulatedModel
from contextrot.report.show import show_session

LOG = "\n".join(f"line {number}: nothing to see here" for number in range(200)) + "\nthe password is ZEBRA-9"
TOOL_SCENARIO = f"""\
contextrot: 1
id: tools
tools:
  - {{name: logs, description: Read the logs., returns: [{orjson.dumps(LOG).decode()}]}}
filler: {{items: [look at the logs, and now, what was the password]}}
session: {{turns: 3}}
probes: [{{id: said, ask: What was it?, at: 3, check: {{type: starts_with, text: fine}}}}]
"""
RETRIEVAL = {"type": "retrieval", "top_k": 2, "recent": {"turns": 1}}
SUMMARY = {"type": "rolling_summary", "trigger": {"tokens": 250}, "keep": {"turns": 1}}


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with serving() as started:
        yield started


def vectors_of(body: Body) -> dict[str, Any]:
    """An embedding of three numbers a text that follows from what it says."""
    said = body["input"]
    rows = [[float(text.count("code")), float(text.lower().count("e")), 1.0] for text in said]
    data = [{"object": "embedding", "index": k, "embedding": row} for k, row in enumerate(rows)]
    usage = {"prompt_tokens": len(said), "total_tokens": len(said)}
    return {"object": "list", "model": "served", "data": data, "usage": usage}


async def provider(request: web.Request) -> web.StreamResponse:
    """A provider with a chat model and an embedding model."""
    body = orjson.loads(await request.read())
    raw = vectors_of(body) if request.path.endswith("embeddings") else completion("AYE, it is BLUE-42.")
    return await answer(200, raw)(request)


def embedder(server: FaultServer) -> dict[str, Any]:
    return {"id": "openai/embed", "base_url": server.url, "price": {"prompt": 1000, "completion": 0}}


def asked_to_embed(server: FaultServer) -> list[Any]:
    return [body["input"] for body in server.seen if "input" in body]


def test_the_read_tool_of_offload_is_offered_and_answered(server: FaultServer, tmp_path: Path) -> None:
    def speak(body: Body) -> Any:
        message = body["messages"][-1]
        if message["role"] == "tool":
            return "it says " + message["content"][-7:]
        if "look" in message["content"]:
            return calling(("a", "logs", "{}"))
        if "password" in message["content"]:
            handle = next(text for text in texts(body) if text and "[offload:" in text).split("[offload:")[1]
            return calling(("b", "read_offloaded", orjson.dumps({"handle": handle.split("]")[0], "query": "PASSWORD"})
                            .decode()))  # fmt: skip
        return "fine"

    # No usage: what is compared below are our own estimates.
    def uncounted(body: Body) -> Any:
        said = speak(body)
        return {**(said if isinstance(said, dict) else {"text": said}), "usage": None}

    server.plays(replies(uncounted))
    strategy = {"type": "offload", "over": {"tokens": 200}}
    ask(server, tmp_path / "run", write(tmp_path, TOOL_SCENARIO), strategies=[strategy])
    offered = [[tool["function"]["name"] for tool in body["tools"]] for body in server.seen]
    assert offered[0] == offered[1] == ["logs"]
    assert offered[2] == offered[-1] == ["logs", "read_offloaded"]
    records = session(tmp_path / "run")
    results = [record["message"]["content"] for record in of(records, "msg", origin="tool")]
    assert results == [LOG, "the password is ZEBRA-9"]
    calls = of(records, "call")
    assert "tools" not in calls[0]["view"]
    assert calls[-1]["view"]["tools"] == ["read_offloaded"]
    # The schema of the read tool is part of what is estimated.
    without = calls[1]["prompt_estimate"] - calls[1]["view"]["tokens"]
    with_it = calls[3]["prompt_estimate"] - calls[3]["view"]["tokens"]
    assert with_it > without > 0


def test_retrieval_brings_back_what_left_the_window(scenario_file: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"models": ["sim/perfect"], "repeats": 1, "controls": False, "window": 4000}
    bench(tmp_path / "run", scenario_file, strategies=[RETRIEVAL, {"type": "fifo", "keep": {"turns": 1}}], **settings)
    records = session(tmp_path / "run", "retrieval")
    assert of(records, "event", name="retrieval")
    assert {v["outcome"] for v in of(records, "verdict", kind="probe") if v["turn"] >= 2} == {"pass"}
    blind = session(tmp_path / "run", "fifo")
    assert {v["outcome"] for v in of(blind, "verdict", kind="probe") if v["turn"] >= 4} == {"fail"}
    assert not of(records, "embed")


def test_a_helper_of_its_own_writes_the_summaries(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    bench(out, scenario_file, models=["sim/perfect"], strategies=[SUMMARY], auxiliary="extractive")
    for key, records in sessions(out).items():
        helped = of(records, "call", purpose="auxiliary")
        assert bool(helped) == ("control" not in key)
        assert {call["asked"] for call in helped} <= {"extractive"}
        assert {call["asked"] for call in of(records, "call") if call not in helped} == {"sim/perfect"}
        assert all(call["usage"]["cost"] == 0 for call in helped)
        assert records[0]["auxiliary"] == (None if "control" in key else "extractive")
    run = load_run(out)
    assert "extractive" not in run.models_returned["sim/perfect"]
    assert (run.sessions.loc[~run.sessions["control"], "aux_calls"] > 0).all()
    assert run.config["auxiliary"] == "extractive"


def test_another_helper_is_another_session_and_another_run(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    first, second = tmp_path / "first", tmp_path / "second"
    bench(first, scenario_file, strategies=[SUMMARY])
    bench(second, scenario_file, strategies=[SUMMARY], auxiliary="extractive")
    one, other = (set(session_lines(out)) for out in (first, second))
    assert one & other == {key for key in one if "control" in key}
    with pytest.raises(StoreError, match="auxiliary"):
        bench(first, scenario_file, strategies=[SUMMARY], auxiliary="extractive")
    with pytest.raises(StoreError, match="embedder"):
        bench(first, scenario_file, strategies=[SUMMARY], embedder="openai/text-embedding-3-small")


def test_an_embedder_without_its_key_is_found_before_the_first_call(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        bench(tmp_path / "run", scenario_file, strategies=[RETRIEVAL], embedder="openai/text-embedding-3-small")
    assert not session_lines(tmp_path / "run")


def test_a_run_with_a_simulated_helper_is_marked_simulated(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    settings: dict[str, Any] = {"models": ["extractive"], "strategies": [SUMMARY], "repeats": 1}
    manifest = bench(out, scenario_file, auxiliary="sim/perfect", **settings)
    assert manifest["simulated"] is True
    assert {key: records[0]["simulated"] for key, records in sessions(out).items()} == {
        key: "control" not in key for key in sessions(out)
    }
    assert bench(tmp_path / "real", scenario_file, **settings)["simulated"] is False


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"auxiliary": "python:agent:make"}, "is an agent"),
        ({"auxiliary": "extracting"}, "is not a model name"),
        ({"auxiliary": {"id": "sim/perfect", "window": 500}}, "smaller than that of the sessions"),
        ({"embedder": "wordlama"}, "is not an embedding model"),
    ],
)
def test_a_helper_that_cannot_work_is_refused_before_the_first_call(
    settings: dict[str, Any], said: str, scenario_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        bench(tmp_path / "run", scenario_file, **settings)
    assert not session_lines(tmp_path / "run")


def test_tasks_of_a_scenario_reach_the_strategy(tmp_path: Path) -> None:
    tasked = SCENARIO.replace("tokens_per_turn: 60", "tokens_per_turn: 60, task_turns: 2")
    seen: dict[str, list[int]] = {}
    for name, text in (("tasks", tasked), ("none", SCENARIO)):
        out = tmp_path / name
        out.mkdir()
        bench(
            out / "run", write(out, text), models=["sim/perfect"], strategies=["isolate"], repeats=1, window=4000,
            controls=False,
        )  # fmt: skip
        calls = of(session(out / "run"), "call", purpose="turn")
        seen[name] = [sum(status == "dropped" for status, _, _ in call["view"]["manifest"]) for call in calls]
    assert any(seen["tasks"])
    assert not any(seen["none"])


def cut(path: Path, records: int) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:records]))


def test_resumed_with_a_providers_embedder_nothing_is_asked_twice(server: FaultServer, tmp_path: Path) -> None:
    server.plays(provider)
    scenario = write(tmp_path, SCENARIO)
    settings: dict[str, Any] = {"strategies": [RETRIEVAL], "embedder": embedder(server)}
    ask(server, tmp_path / "run", scenario, **settings)
    (path,) = (tmp_path / "run" / "sessions").glob("*.jsonl")
    whole = path.read_bytes()
    records = [orjson.loads(line) for line in whole.splitlines()]
    embeds = of(records, "embed")
    once = [text for batch in asked_to_embed(server) for text in batch]
    assert len(once) == len(set(once)) == sum(record["texts"] for record in embeds)
    assert all(record["tokens"] == record["texts"] for record in embeds)
    for place in range(1, len(records), 5):
        cut(path, place)
        server.seen.clear()
        ask(server, tmp_path / "run", scenario, **settings)
        again = [record for record in records[place:] if record["t"] in ("call", "embed")]
        assert len(server.seen) == len(again)
        assert timeless(path.read_bytes()) == timeless(whole)
    row = load_run(tmp_path / "run").sessions.iloc[0]
    assert (row["embed_calls"], row["embed_tokens"]) == (len(embeds), len(once))
    assert row["embed_cost"] == pytest.approx(len(once) / 1000)
    assert row["aux_calls"] == 0


def timeless(content: bytes) -> list[Record]:
    """The records without what differs between two runs that are the same."""
    return [orjson.loads(line) | {"latency": None} for line in content.splitlines()]


def test_a_failed_embedding_is_on_record_and_replayed(server: FaultServer, tmp_path: Path) -> None:
    async def failing(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("embeddings"):
            return await error(500, "the embedding model is down")(request)
        return await provider(request)

    server.plays(failing)
    scenario = write(tmp_path, SCENARIO)
    settings: dict[str, Any] = {"strategies": [RETRIEVAL], "embedder": embedder(server)}
    ask(server, tmp_path / "run", scenario, **settings)
    (path,) = (tmp_path / "run" / "sessions").glob("*.jsonl")
    whole = path.read_bytes()
    records = session(tmp_path / "run")
    failed = of(records, "embed")
    assert failed
    assert all("down" in record["error"] for record in failed)
    assert records[-1]["ended"] == "completed"
    server.plays(provider)
    server.seen.clear()
    cut(path, len(records) - 1)
    ask(server, tmp_path / "run", scenario, **settings)
    assert not server.seen
    assert path.read_bytes() == whole


@pytest.mark.parametrize("strategy", [RETRIEVAL, SUMMARY, {"type": "re_anchor", "inner": SUMMARY}])
def test_resumed_after_a_kill_nothing_is_asked_twice(strategy: Any, scenario_file: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"strategies": [strategy], "auxiliary": "extractive", "repeats": 1, "window": 900}
    bench(tmp_path / "whole", scenario_file, **settings)
    bench(tmp_path / "run", scenario_file, **settings)
    whole = session_lines(tmp_path / "whole")
    (path,) = (path for path in (tmp_path / "run" / "sessions").glob("*.jsonl") if "control" not in path.name)
    lines = whole[path.stem]
    asked = 0

    def counted(kind: Any) -> Any:
        real = kind.complete

        async def complete(self: Any, call: Any) -> Any:
            nonlocal asked
            asked += 1
            return await real(self, call)

        return complete

    with pytest.MonkeyPatch.context() as patch:
        for kind in (SimulatedModel, ExtractiveModel):
            patch.setattr(kind, "complete", counted(kind))
        for place in range(1, len(lines), 7):
            cut(path, place)
            asked = 0
            bench(tmp_path / "run", scenario_file, **settings)
            assert asked == sum(line.startswith(b'{"t":"call"') for line in lines[place:])
            assert session_lines(tmp_path / "run") == whole


def test_nothing_is_imported_for_embeddings_that_nobody_asks_for(scenario_file: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from small_bench import bench\n"
        f"bench(Path({str(tmp_path / 'run')!r}), Path({str(scenario_file)!r}), repeats=1)\n"
        "found = {'numpy', 'wordllama', 'contextrot.models.embedding_backends'} & set(sys.modules)\n"
        "sys.exit(f'imported: {found}' if found else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("history", ["live", "scripted"])
def test_the_level_of_the_budget_is_recorded_when_it_changes(history: str, scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    bench(
        out, scenario_file, models=["sim/perfect"], strategies=["full"], repeats=1, controls=False, history=history,
        window=900, turns=12,
    )  # fmt: skip
    records = session(out)
    events = of(records, "event", name="budget_level")
    # Under a written history the last probe stands at turn 8: nothing is asked after it.
    changes = [("OK", "WARN"), ("WARN", "ROTATE")][: 2 if history == "live" else 1]
    assert [(e["detail"]["from"], e["detail"]["to"]) for e in events] == changes
    occupancies = [event["detail"]["occupancy"] for event in events]
    assert 0.6 <= occupancies[0] < 0.8
    assert all(occupancy >= 0.8 for occupancy in occupancies[1:])
    assert all((event["branch"] is None) == (history == "live") for event in events)
    console = Console(file=StringIO(), width=120)
    show_session(out, session_lines(out).popitem()[0], console=console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "budget_level: from OK, to WARN" in shown


def test_prefix_reuse_is_known_of_a_history_nobody_is_asked_in(scenario_file: Path, tmp_path: Path) -> None:
    strategies = ["full", {"type": "fifo", "keep": {"turns": 2}}]
    run = cr.bench(
        scenario_file, models="sim/perfect", strategies=strategies, history="scripted", repeats=1, out=tmp_path / "run"
    )
    reuse = run.sessions.query("not control").set_index("strategy")["mean_prefix_reuse"]
    assert reuse["full"] > 0.7
    assert 0 < reuse["fifo(keep=2 turns)"] < 0.5
