"""A run that was stopped at any moment goes on and ends as if it had never been stopped."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from small_bench import SCENARIO, bench, session_lines

from contextrot.analysis.tables import load_run, write_tables
from contextrot.errors import StoreError
from contextrot.models.base import Call
from contextrot.models.simulated import SimulatedModel

FORK = multiprocessing.get_context("fork")
TABLES = ("sessions.csv", "turns.csv", "verdicts.csv")


def tables(out: Path) -> dict[str, Any]:
    """The tables byte for byte, and the summary but for when the run was made."""
    write_tables(load_run(out))
    summary = orjson.loads((out / "summary.json").read_bytes())
    del summary["origin"]
    return {name: (out / name).read_bytes() for name in TABLES} | summary


def child(target: Callable[..., Any], *arguments: Any) -> multiprocessing.process.BaseProcess:
    process = FORK.Process(target=target, args=arguments)
    process.start()
    return process


def recorded_calls(out: Path) -> set[tuple[str, int, str]]:
    """(session, seed-independent place of the call) of every whole call record."""
    found = set()
    for key, lines in session_lines(out).items():
        for line in lines:
            if line.startswith(b'{"t":"call"') and line.endswith(b"}"):
                call = orjson.loads(line)
                found.add((key, call["turn"], f"{call['branch']}"))
    return found


def bench_with_ledger(out: Path, scenario: Path, ledger: Path) -> None:
    """Run, and note in `ledger` every call that really reaches the model."""
    real = SimulatedModel.complete
    file = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def complete(self: SimulatedModel, call: Call) -> Any:
        os.write(file, f"{call.session}\t{call.seed}\n".encode())
        return await real(self, call)

    SimulatedModel.complete = complete  # type: ignore[method-assign]
    bench(out, scenario, models=["sim/hazard?hazard=0.1&latency=0.0005"])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, float, set[str]]:
    """Scenario, finished run, seconds it took, and its calls."""
    folder = tmp_path_factory.mktemp("undisturbed")
    scenario = folder / "triage.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    started = time.perf_counter()
    process = child(bench_with_ledger, folder / "run", scenario, folder / "ledger")
    process.join()
    assert process.exitcode == 0
    calls = (folder / "ledger").read_text(encoding="utf-8").splitlines()
    assert len(calls) == len(set(calls))
    return scenario, folder / "run", time.perf_counter() - started, set(calls)


@pytest.mark.parametrize("attempt", range(50))
def test_killed_at_a_random_moment_it_ends_with_the_same_tables(
    attempt: int, undisturbed: tuple[Path, Path, float, set[str]], tmp_path: Path
) -> None:
    scenario, whole, seconds, calls = undisturbed
    out, ledger = tmp_path / "run", tmp_path / "ledger"
    first = child(bench_with_ledger, out, scenario, ledger)
    time.sleep(random.Random(attempt).uniform(0.0, seconds))
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)
    first.join()
    before = recorded_calls(out) if out.exists() else set()
    asked_before = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
    second = child(bench_with_ledger, out, scenario, ledger)
    second.join()
    assert second.exitcode == 0
    asked = ledger.read_text(encoding="utf-8").splitlines()
    # What was in flight at the kill had no recorded answer and is asked again: a call a session at most, nothing else.
    unanswered = len(asked_before) - len(before)
    assert set(asked) == calls
    assert len(asked) == len(calls) + unanswered
    assert tables(out) == tables(whole)
    for lines in session_lines(out).values():
        assert len(lines) == len(set(lines)), "a record stands twice"


def test_a_finished_run_is_not_asked_again(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    bench(out, scenario_file)
    before = session_lines(out)

    def never(self: SimulatedModel, call: Call) -> Any:
        raise AssertionError("a call was made")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SimulatedModel, "complete", never)
        assert bench(out, scenario_file)["status"] == "completed"
    assert session_lines(out) == before


def test_a_torn_last_line_is_asked_again(scenario_file: Path, tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    bench(whole, scenario_file)
    bench(torn, scenario_file)
    for path in (torn / "sessions").glob("*.jsonl"):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) * 2 // 3])
    bench(torn, scenario_file)
    assert session_lines(torn) == session_lines(whole)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("AYE", "OUI", "scenarios"),
        ("turns: 8", "turns: 9", "scenarios"),
    ],
)
def test_a_changed_scenario_is_refused_with_the_difference(
    old: str, new: str, said: str, scenario_file: Path, tmp_path: Path
) -> None:
    bench(tmp_path / "run", scenario_file)
    scenario_file.write_text(scenario_file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(StoreError, match=said):
        bench(tmp_path / "run", scenario_file)


def test_a_changed_strategy_is_refused_with_the_difference(scenario_file: Path, tmp_path: Path) -> None:
    bench(tmp_path / "run", scenario_file, strategies=[{"type": "fifo", "keep": {"turns": 2}}])
    with pytest.raises(StoreError, match=r"strategies"):
        bench(tmp_path / "run", scenario_file, strategies=[{"type": "fifo", "keep": {"turns": 3}}])


def test_replies_that_are_not_whole_are_asked_again(scenario_file: Path, tmp_path: Path) -> None:
    """A truncated reply in an unfinished session is where replay stops."""
    out = tmp_path / "run"
    bench(out, scenario_file, strategies=["full"], repeats=1, controls=False)
    (path,) = (out / "sessions").glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    calls = [k for k, line in enumerate(lines) if line.startswith(b'{"t":"call"')]
    damaged = lines[calls[3]].replace(b'"outcome":"ok"', b'"outcome":"truncated"')
    assert damaged != lines[calls[3]]
    path.write_bytes(b"".join([*lines[: calls[3]], damaged, *lines[calls[3] + 1 : -1]]))
    asked: list[int] = []
    real = SimulatedModel.complete

    async def complete(self: SimulatedModel, call: Call) -> Any:
        asked.append(call.seed)
        return await real(self, call)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SimulatedModel, "complete", complete)
        bench(out, scenario_file, strategies=["full"], repeats=1, controls=False)
    assert len(asked) == len(calls) - 3
    assert path.read_bytes().splitlines(keepends=True) == lines
