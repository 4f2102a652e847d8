"""How a session ends, what a failed call makes of a probe, and that a resumed run asks again exactly from there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_server import FaultServer, answer, error, ok, serving
from recorded import TOO_LONG, ask, ending, last, of, session, sessions, verdicts, write
from small_bench import bench, session_lines

from contextrot.analysis.tables import load_run
from contextrot.errors import ConfigError

SCENARIO = """\
contextrot: 1
id: ends
constraints:
  - {id: aye, text: Begin every reply with AYE., place: first_user, pinned: true, check: {type: starts_with, text: AYE}}
filler: {items: [work]}
session: {turns: 3}
probes: [{id: probe, ask: How do you do?, at: [2, 3], constraint: aye}]
"""
#: requests of this session in order: turn 1, turn 2, probe at 2, turn 3, probe at 3
AYE = ok("AYE")


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with serving() as started:
        yield started


def test_an_overflow_told_by_the_server_ends_the_session(server: FaultServer, tmp_path: Path) -> None:
    server.plays(AYE, AYE, AYE, error(400, TOO_LONG))
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO))
    assert ending(tmp_path / "run") == ("overflow", 3)
    assert of(session(tmp_path / "run"), "call")[-1]["outcome"] == "overflow"
    assert len(server.seen) == 4


def test_in_a_probe_it_is_the_probes_outcome_and_the_session_goes_on(server: FaultServer, tmp_path: Path) -> None:
    server.plays(AYE, AYE, error(400, TOO_LONG), AYE)
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO))
    assert ending(tmp_path / "run") == ("completed", 3)
    probes = of(session(tmp_path / "run"), "verdict", kind="probe")
    assert [(r["turn"], r["outcome"], r["call"]) for r in probes] == [(2, "overflow", None), (3, "pass", 4)]
    assert "maximum context length" in probes[0]["reason"]


@pytest.mark.parametrize(
    ("broken", "outcome", "ended"),
    [(error(400, TOO_LONG), "overflow", "overflow"), (error(500, "down"), "error", "error")],
    ids=["overflow", "error"],
)
def test_an_inline_probe_that_gets_no_answer_has_its_outcome_too(
    broken: object, outcome: str, ended: str, server: FaultServer, tmp_path: Path
) -> None:
    server.plays(AYE, broken)  # type: ignore[arg-type]
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO.replace("at: [2, 3]", "at: 2, mode: inline")))
    assert ending(tmp_path / "run") == (ended, 2)
    assert verdicts(tmp_path / "run") == [("aye", 1, "pass"), ("probe", 2, outcome)]


@pytest.mark.parametrize(
    ("strategy", "ended"), [("full", "overflow"), ("pinned", "over_budget"), ({"type": "fifo"}, "over_budget")]
)
def test_what_must_stay_and_does_not_fit_ends_the_session_before_any_call(
    strategy: object, ended: str, server: FaultServer, tmp_path: Path
) -> None:
    long = SCENARIO.replace("text: Begin every reply with AYE.", f'text: "Begin with AYE. {"Really. " * 200}"')
    ask(server, tmp_path / "run", write(tmp_path, long), strategies=[strategy], window=300)
    assert ending(tmp_path / "run") == (ended, 1)
    assert server.seen == []
    assert "300" not in session(tmp_path / "run")[-1]["detail"]  # the budget is what the reply leaves of the window
    assert "200" in session(tmp_path / "run")[-1]["detail"]
    before = session_lines(tmp_path / "run")
    ask(server, tmp_path / "run", write(tmp_path, long), strategies=[strategy], window=300)
    assert session_lines(tmp_path / "run") == before


def test_full_ends_by_overflow_where_the_log_outgrows_the_window(server: FaultServer, tmp_path: Path) -> None:
    long = SCENARIO.replace("items: [work]", f'items: ["{"work " * 100}"]').replace("turns: 3", "turns: 9")
    server.plays(ok("AYE", usage=None))
    ask(server, tmp_path / "run", write(tmp_path, long), window=400)
    # The budget is 300; each of turns 2 and 3 takes 100 words and what frames them, so turn 4 has no room.
    assert ending(tmp_path / "run") == ("overflow", 4)
    assert of(session(tmp_path / "run"), "call")[-1]["turn"] == 3


def test_an_error_ends_its_session_the_others_go_on_and_resume_asks_again_exactly_from_there(
    server: FaultServer, tmp_path: Path
) -> None:
    scenario, down = write(tmp_path, SCENARIO), error(503, "overloaded")
    server.plays(AYE, AYE, down, AYE)
    ask(server, tmp_path / "run", scenario, repeats=2)
    first, second = sessions(tmp_path / "run").values()
    assert first[-1]["ended"] == "error"
    assert "503" in first[-1]["detail"]
    assert of(first, "verdict", kind="probe")[0]["outcome"] == "error"
    assert of(first, "verdict", kind="probe")[0]["cause"] is None
    assert second[-1]["ended"] == "completed"
    asked = len(server.seen)
    assert asked == 3 + 5
    server.plays(AYE)
    ask(server, tmp_path / "run", scenario, repeats=2)
    assert [last(body) for body in server.seen[asked:]] == ["How do you do?", "work", "How do you do?"]
    first, again = sessions(tmp_path / "run").values()
    assert again == second
    assert first[-1]["ended"] == "completed"
    assert {r["outcome"] for r in of(first, "verdict")} == {"pass"}


def test_a_call_is_asked_again_and_the_record_says_how_often(server: FaultServer, tmp_path: Path) -> None:
    server.plays(error(429, "slow down", {"retry-after-ms": "1"}), AYE)
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO), max_attempts=2)
    calls = of(session(tmp_path / "run"), "call")
    assert [r["attempts"] for r in calls] == [2, 1, 1, 1, 1]
    assert ending(tmp_path / "run") == ("completed", 3)


def test_the_sentence_of_an_error_inside_a_200_is_never_graded(server: FaultServer, tmp_path: Path) -> None:
    """It would even pass the check."""
    server.plays(answer(200, "AYE, internal server error"))
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO))
    assert ending(tmp_path / "run") == ("error", 1)
    assert {outcome for _, _, outcome in verdicts(tmp_path / "run")} == {"not_run"}
    assert of(session(tmp_path / "run"), "call")[0]["reply"] is None


def test_a_probe_that_gets_no_answer_in_time(server: FaultServer, tmp_path: Path) -> None:
    from fault_server import hang

    server.plays(AYE, AYE, hang())
    ask(server, tmp_path / "run", write(tmp_path, SCENARIO), timeout=0.3)
    assert ending(tmp_path / "run") == ("error", 2)
    assert verdicts(tmp_path / "run")[-2:] == [("probe", 2, "timeout"), ("probe", 3, "not_run")]


def test_a_strategy_that_cannot_work_is_said_to_the_user_not_recorded_as_a_result(
    scenario_file: Path, tmp_path: Path
) -> None:
    clash = {"type": "rolling_summary", "trigger": {"tokens": 100}, "keep": {"fraction": 0.5}}
    with pytest.raises(ConfigError, match=r"trigger \(100 tokens\) is below keep \(0.5 of the window\)"):
        bench(tmp_path / "run", scenario_file, strategies=[clash])


def test_a_secret_the_model_repeats_is_replaced_and_the_session_can_still_be_resumed(
    server: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recorded import calling

    monkeypatch.setenv("SERVICE_API_KEY", "sk-very-secret-0123")
    tools = SCENARIO.replace("filler:", "tools: [{name: look, description: Look it up.}]\nfiller:")
    scenario = write(tmp_path, tools)
    leak = ok(**calling(("x", "look", '{"key": "sk-very-secret-0123"}'), text="AYE sk-very-secret-0123"))
    server.plays(leak, AYE, AYE, error(503, "down"))
    ask(server, tmp_path / "run", scenario)
    assert ending(tmp_path / "run")[0] == "error"
    server.plays(AYE)
    ask(server, tmp_path / "run", scenario)
    assert ending(tmp_path / "run") == ("completed", 3)
    assert b"very-secret" not in b"".join(line for lines in session_lines(tmp_path / "run").values() for line in lines)


def test_probes_the_session_never_came_to_are_counted(scenario_file: Path, tmp_path: Path) -> None:
    """Under `full` in a small window: asked before the overflow, overflow or not_run after it, none missing."""
    bench(tmp_path / "run", scenario_file, strategies=["full"], models=["sim/perfect"], window=300, repeats=1)
    verdicts = load_run(tmp_path / "run").verdicts
    probes = verdicts[verdicts["kind"] == "probe"]
    assert sorted(probes["turn"]) == [0, 2, 4, 6, 8]
    outcomes = dict(zip(probes["turn"], probes["outcome"], strict=True))
    assert outcomes[0] == "pass"
    assert outcomes[8] == "not_run"
    assert set(outcomes.values()) <= {"pass", "overflow", "not_run"}
    ceilings = verdicts[verdicts["kind"] == "ceiling"]
    assert set(ceilings["outcome"]) == {"pass"}
