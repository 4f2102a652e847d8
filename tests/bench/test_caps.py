"""Caps on a whole run: kept under load, in every kind of call, and taken up again where they stopped it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from fault_server import answer, completion, error, serving
from recorded import of, replies, sessions
from small_bench import bench, session_lines

from contextrot.bench.budget import Budget, Meter, Spent
from contextrot.config import BenchConfig, resolve
from contextrot.errors import ConfigError, LimitError, ModelTimeoutError, ServerError
from contextrot.messages import Reply, Usage, user
from contextrot.models.base import Call, Price

CROWD = {"repeats": 25, "concurrency": 50, "strategies": ["full", "fifo"], "controls": False}


def spent(out: Path) -> Spent:
    """What the records of a run say it took."""
    calls = [r for records in sessions(out).values() for r in of(records, "call")]
    tokens = sum((r["usage"]["prompt_tokens"] or 0) + (r["usage"]["completion_tokens"] or 0) for r in calls)
    return Spent(sum(r["attempts"] for r in calls), tokens, sum(r["usage"]["cost"] or 0.0 for r in calls))


def ends(out: Path) -> list[str]:
    return [records[-1]["ended"] for records in sessions(out).values()]


def test_calls_are_capped_to_the_very_call_with_fifty_sessions_in_flight(tmp_path: Path, scenario_file: Path) -> None:
    with serving() as server:
        models = [{"id": f"endpoint/served@{server.url}", "window": 4096}]
        manifest = bench(tmp_path / "run", scenario_file, models=models, max_calls=120, window=None, **CROWD)
        assert len(server.seen) == 120
    assert spent(tmp_path / "run").calls == 120
    assert manifest["status"] == "limited"
    assert manifest["spent"]["calls"] == 120
    assert {"limit"} <= set(ends(tmp_path / "run")) <= {"limit", "completed"}


@pytest.mark.parametrize(
    ("cap", "value", "taken"), [("max_total_tokens", 20_000, lambda s: s.tokens), ("max_cost", 0.02, lambda s: s.cost)]
)
def test_tokens_and_cost_are_never_passed(
    tmp_path: Path, scenario_file: Path, cap: str, value: float, taken: Any
) -> None:
    model = {"id": "sim/hazard?latency=0.01", "price": {"prompt": 1.0, "completion": 4.0}}
    manifest = bench(tmp_path / "run", scenario_file, models=[model], **CROWD, **{cap: value})
    total = taken(spent(tmp_path / "run"))
    assert 0.9 * value < total <= value
    assert manifest["limit"]["cap"] == cap
    assert manifest["limit"]["completed"] == ends(tmp_path / "run").count("completed")
    assert manifest["limit"]["cut"] == ends(tmp_path / "run").count("limit")
    assert sum(manifest["limit"][name] for name in ("completed", "cut", "not_started")) == manifest["sessions"]


def test_a_higher_cap_goes_on_where_the_lower_one_stopped(tmp_path: Path, scenario_file: Path) -> None:
    whole = bench(tmp_path / "whole", scenario_file)
    assert whole["status"] == "completed"
    needed = spent(tmp_path / "whole").calls
    for cap in (needed // 4, needed // 2, needed // 2, needed - 1):
        manifest = bench(tmp_path / "run", scenario_file, max_calls=cap)
        assert manifest["status"] == "limited"
        # What was recorded before counts, and is not asked again.
        assert manifest["spent"]["calls"] == cap
        assert spent(tmp_path / "run").calls == cap
    manifest = bench(tmp_path / "run", scenario_file, max_calls=needed)
    assert manifest["status"] == "completed"
    assert "limit" not in manifest
    assert manifest["spent"]["calls"] == needed
    assert session_lines(tmp_path / "run") == session_lines(tmp_path / "whole")


def test_a_probe_that_was_not_asked_for_want_of_calls_is_not_run(tmp_path: Path, scenario_file: Path) -> None:
    bench(tmp_path / "run", scenario_file, max_calls=9, strategies=["full"], controls=False, concurrency=1)
    (records,) = (r for r in sessions(tmp_path / "run").values() if r[-1]["ended"] == "limit")
    probes = of(records, "verdict", kind="probe")
    assert len(probes) == 5
    assert [r["outcome"] for r in probes][-1] == "not_run"
    assert records[-1]["detail"] == "the run's cap of 9 calls is reached (--max-calls)"


def test_the_helper_and_the_judge_count(tmp_path: Path, scenario_file: Path) -> None:
    summary = {"type": "rolling_summary", "keep": {"turns": 1}, "trigger": {"turns": 3}}
    text = scenario_file.read_text(encoding="utf-8").replace(
        "probes:\n",
        "probes:\n  - {id: tone, ask: How are you?, at: [1, 3], check: {type: judge, rubric: It is polite.}}\n",
    )
    scenario_file.write_text(text, encoding="utf-8")
    settings = {"strategies": [summary], "auxiliary": "extractive", "judge": "sim/perfect", "repeats": 1}
    bench(tmp_path / "whole", scenario_file, **settings)
    purposes = {r["purpose"] for records in sessions(tmp_path / "whole").values() for r in of(records, "call")}
    assert {"auxiliary", "judge", "control", "turn", "probe"} <= purposes
    needed = spent(tmp_path / "whole").calls
    assert bench(tmp_path / "enough", scenario_file, max_calls=needed, **settings)["status"] == "completed"
    assert bench(tmp_path / "short", scenario_file, max_calls=needed - 1, **settings)["status"] == "limited"


def test_every_attempt_is_a_call(tmp_path: Path, scenario_file: Path) -> None:
    with serving() as server:
        server.plays(error(500, "broken"))
        bench(
            tmp_path / "run", scenario_file, models=[{"id": f"endpoint/x@{server.url}", "window": 4096}], max_calls=2,
            repeats=1, strategies=["full"], controls=False, max_attempts=4, window=None,
        )  # fmt: skip
        assert len(server.seen) == 2
    assert ends(tmp_path / "run") == ["limit"]


def test_a_model_that_counts_more_than_estimated_is_learnt(tmp_path: Path, scenario_file: Path) -> None:
    usage = {"prompt_tokens": 3000, "completion_tokens": 60, "total_tokens": 3060}
    with serving() as server:
        server.plays(answer(200, completion("AYE", usage=usage)))
        manifest = bench(
            tmp_path / "run", scenario_file, models=[{"id": f"endpoint/x@{server.url}", "window": 1_000_000}],
            max_total_tokens=40_000, repeats=4, strategies=["full"], controls=False, concurrency=1, window=None,
        )  # fmt: skip
    # Only the first prompt of a model whose count is not known yet can be longer than was reserved.
    assert manifest["status"] == "limited"
    assert manifest["spent"]["tokens"] <= 40_000


def test_an_agent_that_says_nothing_of_tokens_is_told_so(
    tmp_path: Path, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quiet.py").write_text("class A:\n    def feed(self, text):\n        return 'AYE'\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    agent = {"models": ["python:quiet:A"], "repeats": 1, "controls": False}
    manifest = bench(tmp_path / "run", scenario_file, max_total_tokens=100_000, **agent)
    assert manifest["status"] == "limited"
    (records,) = sessions(tmp_path / "run").values()
    assert "does not say how many tokens it takes" in records[-1]["detail"]
    manifest = bench(tmp_path / "calls", scenario_file, max_calls=3, **agent)
    assert manifest["spent"]["calls"] == 3
    with pytest.raises(ConfigError, match="the price of python:quiet:A is not known"):
        bench(tmp_path / "cost", scenario_file, max_cost=1.0, **agent)


def test_a_cap_on_cost_wants_every_price(tmp_path: Path, scenario_file: Path) -> None:
    with serving() as server:
        own = f"endpoint/own@{server.url}"
        for settings in (
            {"models": [{"id": own, "window": 4096}]},
            {"auxiliary": {"id": own, "window": 4096}},
            {"embedder": "openai/no-such-embedding-model"},
        ):
            with pytest.raises(ConfigError, match=r"max_cost: the price of (endpoint|openai)/.* is not known"):
                bench(tmp_path / "run", scenario_file, max_cost=1.0, **settings)
        assert not server.seen
        assert not (tmp_path / "run").exists()
        priced = {"id": own, "window": 4096, "price": {"prompt": 1.0, "completion": 2.0}}
        server.plays(replies(lambda body: "AYE"))
        manifest = bench(tmp_path / "run", scenario_file, max_cost=0.001, models=[priced], concurrency=4, window=None)
    assert manifest["status"] == "limited"
    assert 0 < spent(tmp_path / "run").cost <= 0.001


def test_what_a_call_under_way_may_take_is_waited_for_not_refused() -> None:
    """Two calls fit one after the other, though not side by side by what they might take."""

    async def both() -> list[Reply]:
        budget = Budget(BenchConfig(max_total_tokens=300))
        meter = Meter(budget, "m", Price(1.0, 1.0))

        async def attempt() -> Reply:
            await asyncio.sleep(0.01)
            return Reply("short", usage=Usage(100, 5))

        call = Call((user("x"),), max_tokens=50)
        return list(await asyncio.gather(*(meter.chat(call, 100, attempt) for _ in range(2))))

    assert len(asyncio.run(both())) == 2


def test_what_a_failed_call_counts_as() -> None:
    async def total(failure: Exception) -> Spent:
        budget = Budget(BenchConfig(max_total_tokens=10_000))

        async def attempt() -> Reply:
            raise failure

        with pytest.raises(type(failure)):
            await Meter(budget, "m", None).chat(Call((user("x"),), max_tokens=50), 100, attempt)
        return budget.spent

    assert asyncio.run(total(ServerError("down"))) == Spent(1, 0)
    assert asyncio.run(total(ModelTimeoutError("slow"))) == Spent(1, 200)  # 1.5 × 100 + 50: it may have been worked on


def test_without_a_cap_nothing_is_in_the_way() -> None:
    async def one() -> Reply:
        async def attempt() -> Reply:
            return Reply("fine")

        return await Meter(Budget(BenchConfig()), "m", None).chat(Call((user("x"),)), 10, attempt)

    assert asyncio.run(one()).text == "fine"


def test_a_cap_smaller_than_one_call_ends_before_it() -> None:
    budget = Budget(BenchConfig(max_total_tokens=100))

    async def never() -> Reply:
        raise AssertionError("it was asked")

    with pytest.raises(LimitError, match="leaves no room for the next call: 0 are used, and it may take 200"):
        asyncio.run(Meter(budget, "m", None).chat(Call((user("x"),), max_tokens=50), 100, never))
    assert budget.reached == "max_total_tokens"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("max_tokens_total", "max_total_tokens"), ("max_costs", "max_cost"), ("maxcalls", "max_calls")],
)
def test_other_names_of_the_caps_are_understood(written: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{meant}'"):
        resolve({}, {f"CONTEXTROT_{written.upper()}": "10"})


def test_the_longest_reply_is_not_taken_for_the_cap(tmp_path: Path, scenario_file: Path) -> None:
    with pytest.raises(ConfigError, match="a cap on the whole run is max_total_tokens"):
        bench(tmp_path / "run", scenario_file, max_tokens=1_000_000)


def test_embedding_calls_of_a_provider_count() -> None:
    budget = Budget(BenchConfig(max_calls=1, max_cost=1.0))
    meter = Meter(budget, "e", Price(0.02, 0.0))

    async def attempt() -> dict[str, int]:
        return {"tokens": 1_000}

    asyncio.run(meter.embed(["some text"], attempt, lambda got: got["tokens"]))
    assert budget.spent == Spent(1, 1_000, 1_000 * 0.02 / 1e6)
    with pytest.raises(LimitError):
        asyncio.run(meter.embed(["some text"], attempt, lambda got: got["tokens"]))


def test_caps_are_no_part_of_what_a_run_is(tmp_path: Path, scenario_file: Path) -> None:
    bench(tmp_path / "run", scenario_file, max_calls=3)
    first = orjson.loads((tmp_path / "run" / "run.json").read_bytes())
    bench(tmp_path / "run", scenario_file, max_calls=5)
    second = orjson.loads((tmp_path / "run" / "run.json").read_bytes())
    assert first["identity_hash"] == second["identity_hash"]
    assert (first["config"]["max_calls"], second["config"]["max_calls"]) == (3, 5)
