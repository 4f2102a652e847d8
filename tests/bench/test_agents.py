"""A bench of the user's own agent: fed turn by turn, asked on copies where it can be copied, its faults recorded."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorded import Record, ending, of, session, sessions, verdicts, write
from small_bench import bench, session_lines

from contextrot.analysis.tables import load_run, write_tables
from contextrot.report.markdown import render

AGENTS = '''
import asyncio, threading, time
from contextrot.messages import Reply

made, closed = [], []

class Recalling:
    """Answers a question about the code with what it heard; says AYE to the rest."""
    def __init__(self):
        self.heard = []
        made.append(self)
    def feed(self, text):
        self.heard.append(text)
        if "What is our code?" in text:
            known = [h for h in self.heard if "Our code is" in h]
            return known[-1].split("Our code is ")[1].split(".")[0] if known else "I do not know."
        return f"AYE {len(self.heard)}"
    def close(self):
        closed.append(self)

class Async(Recalling):
    async def feed(self, text):
        await asyncio.sleep(0)
        return Recalling.feed(self, text)

class Forking(Recalling):
    """Cannot be copied, but knows how to fork."""
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()
    def fork(self):
        other = Forking()
        other.heard = list(self.heard)
        return other

class Uncopyable(Recalling):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

class Detailed(Recalling):
    def feed(self, text):
        return {"content": super().feed(text), "model": "mine",
                "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}],
                "usage": {"prompt_tokens": 10 * len(self.heard), "completion_tokens": 2}}

class Raising(Recalling):
    def feed(self, text):
        if len(self.heard) == 2: raise ValueError("out of memory sk-very-secret-0123")
        return super().feed(text)

class Slow(Recalling):
    def feed(self, text):
        if "What is our code?" in text and len(self.heard) > 1: time.sleep(0.6)
        return super().feed(text)

class SlowToFork(Recalling):
    def fork(self): time.sleep(0.6)

class Garbled(Recalling):
    def feed(self, text):
        return {"content": 5}

class Halves(Recalling):
    """Half of a pair in every text it gives; the two of a pair, apart, in its errors."""
    def feed(self, text):
        if len(self.heard) == 3: raise ValueError("cut \\udc80 off")
        calls = [{"id": "\\ud801", "function": {"name": "look", "arguments": {"at": "\\ud802"}}}]
        return {"content": f"AYE \\ud800 {super().feed(text)} \\ud83d\\ude00", "tool_calls": calls,
                "finish_reason": "stop", "reasoning": "\\ud800"}

class Unwritable(Recalling):
    def feed(self, text):
        return Reply(content=object())

class Broken:
    def __init__(self): raise OSError("no database")
'''

SCENARIO = """\
contextrot: 1
id: own
system: You help.
constraints: [{id: aye, text: Begin every reply with AYE., check: {type: starts_with, text: AYE}}]
facts: [{id: code, text: "Our code is {value}.", values: [BLUE-42]}]
filler: {items: [work]}
session: {turns: 4}
probes: [{id: code, ask: What is our code?, at: [0, 2, 4], check: {type: recall, fact: code}}]
"""
Run = Callable[..., Path]


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The module of the agents above, imported anew."""
    (tmp_path / "own_agents.py").write_text(textwrap.dedent(AGENTS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("own_agents", None)
    import own_agents  # type: ignore[import-not-found]

    yield own_agents
    sys.modules.pop("own_agents", None)


@pytest.fixture
def run(agents: Any, tmp_path: Path) -> Run:
    """Bench one of them by name; its only session, and controls if asked for."""

    def benched(name: str, **settings: Any) -> Path:
        values = {"controls": False, "repeats": 1, "window": None, "strategies": ["full", "fifo"], **settings}
        bench(tmp_path / "run", write(tmp_path, SCENARIO), models=[f"python:own_agents:{name}"], **values)
        return tmp_path / "run"

    return benched


def probes(out: Path) -> list[tuple[int, str | None, str]]:
    """(turn, branch, outcome) of every probe."""
    return [(r["turn"], r["branch"], r["outcome"]) for r in of(session(out), "verdict", kind="probe")]


@pytest.mark.parametrize("name", ["Recalling", "Async", "Forking", "Detailed"])
def test_a_probe_is_asked_on_a_copy_and_the_agent_does_not_notice(name: str, agents: Any, run: Run) -> None:
    out = run(name)
    assert ending(out) == ("completed", 4)
    assert probes(out) == [(0, "code@0", "pass"), (2, "code@2", "pass"), (4, "code@4", "pass")]
    (main,) = (agent for agent in agents.made if len(agent.heard) == 4 and "What is our code?" not in agent.heard)
    # An agent has no system message of ours, so the scenario's opens the first user message.
    assert main.heard == ["You help.\n\nBegin every reply with AYE.\n\nOur code is BLUE-42.", "work", "work", "work"]
    assert of(session(out), "event") == []


def test_one_that_cannot_be_copied_is_asked_in_line_and_the_record_says_so(agents: Any, run: Run) -> None:
    out = run("Uncopyable")
    assert probes(out) == [(0, "code@0", "pass"), (2, None, "pass"), (4, None, "pass")]
    assert max((agent.heard for agent in agents.made), key=len).count("What is our code?") == 2
    events = of(session(out), "event", name="asked_inline")
    assert [(r["turn"], r["detail"]) for r in events] == [(2, {"probe": "code"}), (4, {"probe": "code"})]


def test_rules_are_checked_on_its_replies_and_no_cause_is_claimed(run: Run) -> None:
    out = run("Recalling")
    passive = of(session(out), "verdict", kind="passive")
    assert [(r["turn"], r["outcome"]) for r in passive] == [
        (0, "fail"), (1, "pass"), (2, "pass"), (2, "fail"), (3, "pass"), (4, "pass"), (4, "fail"),
    ]  # fmt: skip
    assert {(r["in_view"], r["cause"]) for r in passive} == {(None, None)}


def test_no_strategy_is_applied_whatever_the_matrix_says_and_every_report_says_own_memory(run: Run) -> None:
    out = run("Recalling", strategies=["full", "fifo", "pinned"])
    (key,) = sessions(out)
    assert "own-memory" in key
    table = load_run(out)
    write_tables(table)
    assert table.sessions["strategy"].tolist() == ["own memory"]
    assert "own memory" in (out / "sessions.csv").read_text(encoding="utf-8")
    (group,) = table.summary.groups
    assert (group.own_memory, group.cut, group.windows) == (True, False, [])
    report = render(table.summary)
    assert "own memory, no strategy applied" in report
    assert "window unknown tokens" in report


def test_beside_a_model_the_strategies_apply_to_the_model_alone(agents: Any, tmp_path: Path) -> None:
    models = ["python:own_agents:Recalling", "sim/perfect"]
    bench(tmp_path / "run", write(tmp_path, SCENARIO), models=models, strategies=["full", "fifo"], repeats=1)
    cells = sorted((r[0]["model"].split(":")[-1], r[0]["strategy"]) for r in sessions(tmp_path / "run").values())
    assert cells == [
        ("Recalling", "control"), ("Recalling", "own memory"),
        ("sim/perfect", "control"), ("sim/perfect", "fifo"), ("sim/perfect", "full"),
    ]  # fmt: skip


def test_every_session_and_every_control_has_a_fresh_agent_that_is_closed(agents: Any, run: Run) -> None:
    out = run("Async", controls=True, repeats=2)
    # A repeat: the fresh probe, the session, two controls for each of the probe and the rule. Copies are not made.
    assert len(agents.made) == 2 * (1 + 1 + 4)
    assert agents.closed.__len__() == len(agents.made)
    controls = [r for r in sessions(out).values() if r[0]["control"]]
    for records in controls:
        asked = [(r["kind"], r["id"], r["outcome"]) for r in of(records, "verdict")]
        assert asked == [
            ("ceiling", "code", "pass"), ("floor", "code", "fail"),
            ("ceiling", "aye", "pass"), ("floor", "aye", "pass"),
        ]  # fmt: skip


def test_half_a_character_is_stored_as_the_replacement_character(run: Run) -> None:
    """A model cut an emoji in two: that is a reply like others, graded, and no fault of the session."""
    out = run("Halves", history=None)
    replies = [r["reply"] for r in of(session(out), "call") if r["reply"] is not None]
    assert replies[0]["content"].startswith("AYE \ufffd ")
    assert replies[0]["content"].endswith(" \U0001f600")
    assert (replies[0]["reasoning"], replies[0]["tool_calls"][0]["id"]) == ("\ufffd", "\ufffd")
    assert replies[0]["tool_calls"][0]["function"]["arguments"] == '{"at":"\ufffd"}'
    assert ("pass", 1) in [(r["outcome"], r["turn"]) for r in of(session(out), "verdict", kind="passive")]
    assert of(session(out), "end")[0]["ended"] == "error"
    assert of(session(out), "end")[0]["detail"].endswith("raised ValueError: cut \ufffd off")


def test_what_it_says_of_its_tokens_and_tools_is_recorded(run: Run) -> None:
    out = run("Detailed", window=200)
    calls = of(session(out), "call", branch=None)
    assert [r["occupancy"] for r in calls] == [0.05, 0.1, 0.15, 0.2]
    assert {r["occupancy_source"] for r in calls} == {"usage"}
    assert {(r["model"], r["reply"]["tool_calls"][0]["function"]["name"]) for r in calls} == {("mine", "look")}
    assert {r["view"] for r in calls} == {None}
    said = [r["origin"] for r in of(session(out), "msg", branch=None)]
    assert said == ["fact", "reply", "filler", "reply", "filler", "reply", "filler", "reply"]


def test_its_tokens_are_priced_where_a_price_is_given(agents: Any, tmp_path: Path) -> None:
    model = {"id": "python:own_agents:Detailed", "price": {"prompt": 1.0, "completion": 5.0}}
    bench(
        tmp_path / "run", write(tmp_path, SCENARIO), models=[model], repeats=1, controls=False, window=None, turns=1
    )  # fmt: skip
    # The fresh probe and turn 1: ten prompt tokens at 1 USD a million, two of the reply at 5.
    assert load_run(tmp_path / "run").summary.cost == pytest.approx(2 * (10 * 1.0 + 2 * 5.0) / 1e6)


@pytest.mark.parametrize(
    ("name", "turn", "words"),
    [
        ("Raising", 2, "raised ValueError: out of memory [redacted]"),
        ("Broken", 0, "the factory raised OSError: no database"),
        ("Garbled", 0, "feed() gave what is no reply"),
        ("Unwritable", 0, "fault over a reply of the agent: TypeError"),
    ],
)
def test_a_fault_of_the_agent_ends_its_session_and_is_recorded(
    name: str, turn: int, words: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", "sk-very-secret-0123")
    out = run(name)
    assert ending(out) == ("error", turn)
    assert words in session(out)[-1]["detail"]
    assert b"very-secret" not in b"".join(line for lines in session_lines(out).values() for line in lines)
    assert load_run(out).summary.why_nothing if turn == 0 else True


def test_one_that_takes_too_long_over_a_probe(run: Run) -> None:
    out = run("Slow", timeout=0.3)
    assert ending(out) == ("error", 2)
    assert verdicts(out)[-1] == ("code", 2, "timeout")
    assert of(session(out), "call")[-1]["outcome"] == "timeout"


def test_one_that_takes_too_long_to_copy(run: Run) -> None:
    out = run("SlowToFork", timeout=0.3)
    assert ending(out) == ("error", 2)
    assert "copy" in session(out)[-1]["detail"]
    assert verdicts(out)[-1] == ("code", 2, "timeout")


def test_resume_starts_an_unfinished_session_anew_and_leaves_a_finished_one(agents: Any, run: Run) -> None:
    out = run("Recalling", repeats=2)
    (first, second), before = sorted((out / "sessions").glob("*.jsonl")), session_lines(out)
    lines = first.read_bytes().splitlines(keepends=True)
    first.write_bytes(b"".join(lines[: len(lines) // 2]) + b'{"t":"msg","i":')
    agents.made.clear()
    run("Recalling", repeats=2)
    assert len(agents.made) == 2  # the fresh probe and the session itself, from their first turn on
    assert sorted(len(agent.heard) for agent in agents.made) == [1, 4]
    assert stable(session_lines(out)[first.stem]) == stable(before[first.stem])
    assert session_lines(out)[second.stem] == before[second.stem]


def stable(lines: list[bytes]) -> list[Record]:
    """The records without what is measured anew."""
    import orjson

    return [{key: value for key, value in orjson.loads(line).items() if key != "latency"} for line in lines]


def test_from_the_command_line_with_a_module_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "my_agent.py").write_text(textwrap.dedent(AGENTS), encoding="utf-8")
    write(tmp_path, SCENARIO)
    command = ["bench", "scenario.yaml", "--model", "python:my_agent:Recalling", "--repeats", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "contextrot", *command, "--out", "run"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "own memory" in done.stdout
    run = load_run(tmp_path / "run")
    assert run.sessions.loc[~run.sessions["control"], "ended"].tolist() == ["completed", "completed"]
