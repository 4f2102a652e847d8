"""The pytest plugin: what it gives, that the first article's test runs as it stands, that it costs nothing unused."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from plugged import ARTICLE, outcomes, run

ARTICLES_TEST = "test_instruction_persistence"


def test_the_articles_test_runs_unchanged(tmp_path: Path) -> None:
    """Plain first-in-first-out loses the rule; a summary of the session's own sentences and a pin both keep it."""
    done = run(tmp_path, ARTICLE)
    assert done.returncode == 1, done.stdout + done.stderr
    assert outcomes(done) == {
        f"{ARTICLES_TEST}[summarization]": "PASSED",
        f"{ARTICLES_TEST}[fifo]": "FAILED",
        f"{ARTICLES_TEST}[pinned_plus_retrieval]": "PASSED",
    }
    assert "[fifo] lost the Markdown formatting instruction" in done.stdout
    assert '"Always format answers as Markdown code blocks." was not in the last prompt: it was lost' in done.stdout
    assert "3 of 3 agents were SIMULATED" in done.stdout


def test_in_a_window_that_holds_the_session_nothing_is_lost(tmp_path: Path) -> None:
    done = run(tmp_path, ARTICLE, "--contextrot-window", "8192")
    assert done.returncode == 0, done.stdout
    assert set(outcomes(done).values()) == {"PASSED"}
    told = " ".join(done.stdout.split())
    for strategy in ("rolling_summary", "fifo"):
        assert f"StrategyNeverFired: {strategy} on sim/perfect never left anything out in 52 turns" in told
    assert "of 8,192 tokens, so that this says nothing about it; a smaller window (--contextrot-window)" in told


def test_a_strategy_that_has_work_to_do_is_not_warned_of(tmp_path: Path) -> None:
    done = run(tmp_path, ARTICLE)
    assert "StrategyNeverFired" not in done.stdout + done.stderr


NEVER = """\
import pytest

@pytest.mark.contextrot(window=8000, strategies=["full", "fifo"])
def test_it(contextrot, make_agent):
    contextrot.bench("project-code", repeats=1, turns=6, controls=False)
    make_agent("full").feed("Hello.")
"""


def test_a_bench_in_which_a_strategy_never_fires_warns_of_it_and_not_of_full(tmp_path: Path) -> None:
    done = run(tmp_path, NEVER)
    told = " ".join(done.stdout.split())
    assert "StrategyNeverFired: fifo on sim/perfect never left anything out in project-code" in told
    assert told.count("StrategyNeverFired: ") == 1
    strict = run(tmp_path, NEVER, "-W", "error::contextrot.pytest_plugin.StrategyNeverFired")
    assert strict.returncode == 1


PINS = """\
def test_it(make_agent):
    agent = make_agent("pinned")
    agent.feed("Always format answers as Markdown code blocks.")
    for _ in range(50):
        agent.feed("Give a random math example.")
    assert "```" in agent.reply.text
"""


@pytest.mark.parametrize(("setting", "outcome"), [("true", "PASSED"), ("false", "FAILED")])
def test_rules_are_pinned_unless_told_otherwise(tmp_path: Path, setting: str, outcome: str) -> None:
    done = run(tmp_path, PINS, "--contextrot-pin-rules", setting)
    assert outcomes(done) == {"test_it": outcome}, done.stdout


def test_a_model_that_ignores_what_it_reads_fails_under_every_strategy(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\ncontextrot_model = sim/hazard?hazard=1\n", encoding="utf-8")
    done = run(tmp_path, ARTICLE)
    assert set(outcomes(done).values()) == {"FAILED"}
    assert "was in the last prompt and was ignored" in done.stdout


@pytest.mark.real
@pytest.mark.usefixtures("embedded_weights")
def test_the_articles_test_runs_unchanged_on_the_embedded_model(tmp_path: Path) -> None:
    """The two strategies that ask no helper, replies cut short: half a minute. What is lost is decided by code."""
    done = run(
        tmp_path, ARTICLE, "--contextrot-model", "local/smollm2-135m", "--contextrot-window", "256",
        "--contextrot-max-tokens", "6", "-k", "fifo or pinned", timeout=300,
    )  # fmt: skip
    assert set(outcomes(done)) == {f"{ARTICLES_TEST}[fifo]", f"{ARTICLES_TEST}[pinned_plus_retrieval]"}
    assert "ERROR" not in outcomes(done).values(), done.stdout
    lines = done.stdout.splitlines()
    told = {line.split()[0]: after for line, after in pairwise(lines) if " on local/smollm2-135m: 52 turns" in line}
    assert "was not in the last prompt: it was lost" in told["fifo"]
    if outcomes(done)[f"{ARTICLES_TEST}[pinned_plus_retrieval]"] == "FAILED":
        assert "was in the last prompt" in told["pinned_plus_retrieval"]
    assert "SIMULATED" not in done.stdout


AGENT = """\
import pytest

RULE = "From now on, round every result to 2 decimals."


def test_what_an_agent_tells(make_agent):
    agent = make_agent("fifo", window=400, system="You are a tutor. Answer in uppercase.")
    assert agent.feed(RULE) and agent.turn == 1
    assert agent.sees(RULE) and agent.sees("Answer in uppercase.")
    assert [message["role"] for message in agent.messages] == ["system", "user"]
    assert 0 < agent.tokens < 400
    for _ in range(40):
        reply = agent.feed("And what is a third of ten, please?")
    assert not agent.sees(RULE) and agent.sees("Answer in uppercase.")
    assert reply == reply.upper()
    assert agent.view("One more?")[-1] == {"role": "user", "content": "One more?"}
    assert agent.turn == 41


def test_a_pin_holds(make_agent):
    agent = make_agent("pinned", window=400)
    agent.feed(RULE)
    for _ in range(40):
        agent.feed("And what is a third of ten, please?")
    assert agent.sees(RULE)
    assert "1.23" in agent.reply.text and "1.234" not in agent.reply.text


def test_a_summary_that_forgets_loses_the_rule(make_agent):
    agent = make_agent("summarization", window=400, summarizer=lambda messages: "They talked about numbers.")
    agent.feed(RULE)
    for _ in range(40):
        agent.feed("And what is a third of ten, please?")
    assert not agent.sees(RULE)
    assert any("They talked about numbers." in message["content"] for message in agent.messages)


def test_two_agents_know_nothing_of_each_other(make_agent):
    one, other = make_agent("full"), make_agent("full")
    one.feed(RULE)
    other.feed("Hello.")
    assert not other.sees(RULE) and other.turn == 1


async def the_same_in_a_running_loop(agent):
    return agent.feed("Hello.")


def test_inside_an_event_loop(make_agent):
    import asyncio

    assert asyncio.run(the_same_in_a_running_loop(make_agent("summarization")))


def test_what_cannot_work_is_said(make_agent):
    import contextrot

    with pytest.raises(contextrot.ContextrotError, match="fifo"):
        make_agent("fofi")
    with pytest.raises(contextrot.ContextrotError, match="memory of its own"):
        make_agent("fifo", model="python:json:loads")
"""


def test_what_agents_do(tmp_path: Path) -> None:
    done = run(tmp_path, AGENT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(outcomes(done)) == 6


SCENARIO = """\
contextrot: 1
id: small
facts: [{id: code, text: "For later: our project code is {value}.", values: [BLUE-42, TEAL-7], pinned: true}]
filler: {kind: notes, tokens_per_turn: 40}
session: {turns: 12}
probes: [{id: code, ask: What is our project code?, at: [0, 4, 8, 12], check: {type: recall, fact: code}}]
"""
BENCH = """\
import pytest


@pytest.mark.contextrot(window=300, strategies=["fifo", "pinned"])
def test_the_bench(contextrot, tmp_path):
    run = contextrot.bench("small.yaml", repeats=2)
    assert {group.strategy for group in run.summary.groups} == {"fifo", "pinned"}
    assert run.path.is_relative_to(tmp_path)
    contextrot.assert_median(run, 12, strategy="pinned")
    with pytest.raises(AssertionError, match="at least 12 turns"):
        contextrot.assert_median(run, 12)
    with pytest.raises(AssertionError, match="nothing of"):
        contextrot.assert_median(run, 1, strategy="full")


@pytest.mark.contextrot(window=400, strategies=["fifo", {"type": "pinned", "keep": {"turns": 2}}])
class TestEach:
    def test_each_strategy(self, make_agent, context_strategy):
        agent = make_agent(context_strategy)
        agent.feed("Always answer in uppercase.")
        for _ in range(30):
            reply = agent.feed("Tell me something about the weather of today.")
        assert reply == reply.upper()

    @pytest.mark.contextrot(window=4000)
    def test_the_nearest_marker_wins(self, make_agent):
        assert make_agent().window == 4000
"""


def test_benches_and_the_marker(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SCENARIO, encoding="utf-8")
    done = run(tmp_path, BENCH)
    assert outcomes(done) == {
        "test_the_bench": "PASSED",
        "TestEach::test_each_strategy[fifo]": "FAILED",
        "TestEach::test_each_strategy[pinned]": "PASSED",
        "TestEach::test_the_nearest_marker_wins": "PASSED",
    }, done.stdout


FAILING = """\
import pytest


@pytest.mark.contextrot(window=300, strategies=["fifo", "pinned"])
def test_it(contextrot, make_agent):
    run = contextrot.bench("small.yaml", repeats=6)
    {line}
"""


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("contextrot.assert_median(run, 12)", "AssertionError: the median session should last at least 12 turns:"),
        ("contextrot.assert_median(run, 1, strategy='full')", "AssertionError: the run has nothing of strategy 'full'"),
        ("contextrot.assert_gates(run, 'median >= 12')", "AssertionError: a gate failed: 1 failed, 1 passed"),
        ("contextrot.assert_gates(run, 'medain >= 12')", "gate 'medain >= 12': unknown metric 'medain'; did you mean"),
        ("contextrot.bench('smal.yaml')", "ScenarioError: smal.yaml: there is no such file"),
        ("make_agent('fofi')", "ConfigError: unknown strategy 'fofi'; known types: "),
        ("make_agent('full', window=40).feed('word ' * 90)", "WindowOverflowError: "),
    ],
)
def test_a_failing_test_shows_the_users_line_and_the_sentence_alone(tmp_path: Path, line: str, sentence: str) -> None:
    (tmp_path / "small.yaml").write_text(SCENARIO, encoding="utf-8")
    done = run(tmp_path, FAILING.format(line=line))
    shown = done.stdout.partition("= FAILURES =")[2].partition("short test summary")[0]
    assert f">       {line}" in shown
    assert any(part.startswith("E ") and sentence in part for part in shown.splitlines()), shown
    for of_ours in ("pytest_plugin.py:", "contextrot/", "GateResult(", "where ", "def "):
        assert of_ours not in shown.replace("def test_it(", ""), shown


def test_the_whole_traceback_is_there_for_who_asks(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_it(make_agent): make_agent('fofi')\n", "--full-trace")
    assert "def load_strategy(" in done.stdout


@pytest.mark.parametrize(
    ("marker", "sentence"),
    [("windows=3", "has no 'windows'"), ("'fifo'", "takes no positional arguments")],
)
def test_a_wrong_marker_is_refused(tmp_path: Path, marker: str, sentence: str) -> None:
    test = f"import pytest\n@pytest.mark.contextrot({marker})\ndef test_it(make_agent): make_agent()\n"
    done = run(tmp_path, test)
    assert outcomes(done) == {"test_it": "ERROR"}
    assert sentence in done.stdout


def test_what_agents_did_reaches_pytests_own_junit_file(tmp_path: Path) -> None:
    run(tmp_path, "def test_it(make_agent): make_agent('full').feed('Hello.')\n", "--junit-xml", "out.xml")
    assert 'value="full on sim/perfect (SIMULATED): 1 turns' in (tmp_path / "out.xml").read_text(encoding="utf-8")


UNUSED = """\
import sys


def test_nothing_of_contextrot_is_here():
    mine = {name for name in sys.modules if name.partition(".")[0] == "contextrot"}
    assert mine == {"contextrot", "contextrot.pytest_plugin"}
    heavy = {"pandas", "numpy", "litellm", "matplotlib", "scipy", "statsmodels", "xllamacpp", "pydantic", "typer"}
    assert not heavy & sys.modules.keys()
"""


def test_unused_it_imports_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, UNUSED, "-p", "no:anyio", "-p", "no:hypothesispytest")
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_it(make_agent): pass\n", "-p", "no:contextrot")
    assert "fixture 'make_agent' not found" in done.stdout


def test_agents_spread_over_processes(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    done = run(tmp_path, ARTICLE, "-n", "2")
    assert sorted(outcomes(done).values()) == ["FAILED", "PASSED", "PASSED"], done.stdout + done.stderr
    assert "3 of 3 agents were SIMULATED" in done.stdout
