"""Runs that reports are made of: simulated ones through the public API, and the corner cases."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run_writer import write_controls, write_manifest, write_session

import contextrot as cr
from contextrot.analysis.tables import Run
from contextrot.report.html.page import render

FIFO = {"type": "fifo", "keep": {"turns": 4}}


@dataclass(frozen=True)
class Report:
    """A run and the file its report was written to."""

    run: Run
    path: Path

    @property
    def size(self) -> int:
        """In bytes."""
        return self.path.stat().st_size


def write_report(run: Run) -> Report:
    """The report beside its run."""
    path = run.path / "report.html"
    path.write_bytes(render(run))
    return Report(run, path)


def simulated(folder: Path, scenarios: str | list[str] = "quick", **settings: Any) -> Run:
    """A bench with a simulated model that errs at a constant rate."""
    return cr.bench(
        scenarios, **{"models": ["sim/hazard?hazard=0.08"], "out": str(folder), "concurrency": 64} | settings
    )


def small_run(folder: Path) -> Run:
    """Two scenarios × three strategies × four sessions; the window is full at about turn 18."""
    return simulated(
        folder, strategies=["full", FIFO, {"type": "pinned", "keep": {"turns": 6}}], repeats=4, window=1000
    )


def every_status_run(folder: Path) -> Run:
    """Tools, summaries, retrieval and masks: every status that a message can have occurs."""
    strategies = ["observation_masking", "offload", "rolling_summary", FIFO]
    strategies += [{"type": "pinned_plus_retrieval", "recent": {"turns": 3}, "min_similarity": 0.0}]
    return simulated(folder, "long-tool-output", strategies=strategies, repeats=1, window=6000, auxiliary="extractive")


def thousand_sessions_run(folder: Path) -> Run:
    """A thousand short sessions, and their controls."""
    return simulated(folder, strategies=["full", FIFO], repeats=250, turns=8, window=600)


def own_memory_run(folder: Path) -> Run:
    """An agent of the user's own: no strategy is applied, and what its model was sent is not known."""
    if str(Path(__file__).parent) not in sys.path:
        sys.path.insert(0, str(Path(__file__).parent))
    model = {"id": "python:own_agent:make", "label": "forgetful"}
    return cr.bench("project-code", models=[model], strategies=["full"], repeats=2, window=2000, out=folder)


def only_errors_run(folder: Path) -> Run:
    """A server that is not there: each call fails, and nothing is graded."""
    model = {"id": "endpoint/nobody@http://127.0.0.1:9/v1", "window": 4000}
    return cr.bench("project-code", models=[model], strategies=["full"], repeats=2, max_attempts=1, out=folder)


def empty_run(folder: Path) -> Run:
    """A run that was stopped before its first session."""
    return cr.load_run(write_manifest(folder, status="interrupted"))


def written_run(folder: Path) -> Run:
    """Rows whose order is known: 9, 12 and 100 turns, not reached, and one of which nothing is known.

    As text 100 would stand before 12 and 12 before 9.
    """
    write_manifest(folder, strategies=["a-nine", "b-hundred", "c-twelve", "d-never", "e-nothing"])
    for repeat in range(4):
        probed = range(0, 109, 3)
        write_session(folder, "a-nine", repeat, lost_from=9)
        write_session(folder, "b-hundred", repeat, lost_from=100, ends=("completed", 108), probed=[*probed, 100])
        write_session(folder, "c-twelve", repeat, ignored_from=12)
        write_session(folder, "d-never", repeat)
        write_session(folder, "e-nothing", repeat, ends=("error", 2), probed=())
    write_controls(folder, ceiling=("pass",) * 4, floor=("fail",) * 4)
    return cr.load_run(folder)
