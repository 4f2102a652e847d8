"""Work per view follows the view, not the session: counted in entries and units touched, not in seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from histories import COUNTER, Helper, Said, Session

from contextrot.log import Entry, Log, Unit
from contextrot.messages import ToolCall, assistant, system, tool_result, user
from contextrot.strategies import load_strategy

BOUNDED: dict[str, Any] = {
    "fifo": "fifo",
    "fifo-turns": {"type": "fifo", "keep": {"turns": 10}},
    "pinned": "pinned",
    "masking": "observation_masking",
    "masking-trigger": {"type": "observation_masking", "trigger": {"turns": 5}},
    "rolling": "rolling_summary",
    "rolling-turns": {"type": "rolling_summary", "trigger": {"turns": 12}},
    "structured": "structured_compaction",
    "structured-turns": {"type": "structured_compaction", "trigger": {"turns": 12}},
    "dual": "dual_memory",
    "state": "state_extraction",
    "state-every-5": {"type": "state_extraction", "every_n_turns": 5},
    "retrieval": "retrieval",
    "pinned_plus_retrieval": {"type": "pinned_plus_retrieval", "recent": {"turns": 2}, "top_k": 8},
    "tag_selection": {"type": "tag_selection", "tags": ["a"]},
    "re_anchor": {"type": "re_anchor", "inner": "rolling_summary"},
    "offload": {"type": "offload", "over": {"tokens": 50}, "max_tokens": 40},
    "offload-rolling": {"type": "offload", "over": {"tokens": 50}, "inner": "rolling_summary"},
    "isolate": "isolate",
    "reset": {"type": "reset_per_task", "handoff": "last_reply"},
    "reset-summary": {"type": "reset_per_task", "handoff": "summary"},
    "hierarchical": "hierarchical",
    "episodic": "episodic_ttl",
    "episodic-tasks": {"type": "episodic_ttl", "episodes": "tasks"},
    "episodic-compress": {"type": "episodic_ttl", "compress": True},
    "episodic-tasks-compress": {"type": "episodic_ttl", "episodes": "tasks", "compress": True},
    "guard": "budget_guard",
    "guard-tight": {"type": "budget_guard", "tool_output": {"tokens": 40}, "history": {"tokens": 600}},
}


class CountingLog(Log):
    """Counts every entry and unit that is looked at."""

    touched = 0

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        self.touched += len(found) if isinstance(found, list) else 1
        return found

    def __iter__(self) -> Iterator[Entry]:
        for entry in super().__iter__():
            self.touched += 1
            yield entry

    @property
    def units(self) -> Sequence[Unit]:
        return CountingUnits(self, super().units)


class CountingUnits(Sequence[Unit]):
    def __init__(self, log: CountingLog, units: Sequence[Unit]) -> None:
        self._log = log
        self._units = units

    def __len__(self) -> int:
        return len(self._units)

    def __getitem__(self, index: Any) -> Any:
        found = self._units[index]
        self._log.touched += len(found) if isinstance(index, slice) else 1
        return found


def turn(number: int, tasks: bool) -> list[Said]:
    call = f"c{number}"
    said = [Said(user("word " * 50), True)]
    if number % 3 == 0:
        said += [Said(assistant(None, [ToolCall(call, "look")]), False), Said(tool_result(call, "word " * 60), True)]
    said.append(Said(assistant("word " * 50), False))
    return [replace(one, task=f"task-{number // 5}" if tasks else "") for one in said]


def peaks(raw: Any, mood: str, tasks: bool = False) -> tuple[int, int]:
    """The most entries and units touched by one view, of turns 200 to 300 and of turns 1,900 to 2,000."""
    log = CountingLog(COUNTER.message)
    run = Session(load_strategy(raw), window=3000, helper=Helper(mood), log=log)
    run.add(Said(system("rules"), False))
    run.add(Said(user("never push"), False, pinned=True, standing=True))
    most = {200: 0, 1900: 0}
    for number in range(1, 2001):
        for said in turn(number, tasks):
            run.add(said)
            phase = next((start for start in most if start <= number <= start + 100), None)
            if said.asks and (phase or number % 3 == 0):
                log.touched = 0
                assert run.view().view is not None
                if phase:
                    most[phase] = max(most[phase], log.touched)
    return most[200], most[1900]


@pytest.mark.parametrize("mood", ["good", "empty"])
@pytest.mark.parametrize("name", BOUNDED)
def test_turn_2000_touches_no_more_than_turn_200(name: str, mood: str) -> None:
    early, late = peaks(BOUNDED[name], mood)
    assert late <= early * 1.1
    assert late < 1200  # the session has 6,000 units by then


#: Strategies that read the marks of tasks.
BY_TASK = ("isolate", "reset", "reset-summary", "hierarchical", "episodic-tasks", "episodic-tasks-compress")


@pytest.mark.parametrize("mood", ["good", "empty"])
@pytest.mark.parametrize("name", BY_TASK)
def test_nor_does_it_with_a_hundred_tasks(name: str, mood: str) -> None:
    early, late = peaks(BOUNDED[name], mood, tasks=True)
    assert late <= early * 1.25  # the same view is cut at other places of a task
    assert late < 1200
