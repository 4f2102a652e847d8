"""`contextrot plan` against the truth: what a rehearsal says a bench would take, and what the bench then takes."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from recorded import of, sessions, write
from small_bench import SCENARIO, bench

from contextrot.bench.estimate import REPLY_TOKENS, Estimate, estimate
from contextrot.bench.matrix import load_matrix
from contextrot.bench.rehearsal import CACHE_FROM, PrefixCache, words
from contextrot.config import validated
from contextrot.messages import assistant, system, user
from contextrot.tokens import estimate as tokens_of

TOOLS = """\
contextrot: 1
id: tools
system: You are an office assistant.
constraints:
  - {id: book, text: Always use the calendar tool to book., place: system, check: {type: tool_call, name: calendar}}
tools:
  - name: calendar
    description: Book a slot
    parameters: {type: object, properties: {when: {type: string}}, required: [when]}
    returns: ['{"status": "booked", "room": "a long answer of the calendar with many words that a strategy may mask"}']
filler: {kind: email, tokens_per_turn: 80}
session: {turns: 12}
probes:
  - id: slot
    ask: Book Friday at 10:00.
    at: [0, 3, 6, 9, 12]
    mode: inline
    check: {type: tool_call, name: calendar}
"""


def settings(scenario: Path, **changed: Any) -> dict[str, Any]:
    values = {"scenarios": [str(scenario)], "models": ["sim/hazard?hazard=0.1"], "window": 900, "max_tokens": 60}
    return {**values, "repeats": 6, **changed}


def estimated(scenario: Path, reply_tokens: int | None = None, **changed: Any) -> Estimate:
    return asyncio.run(estimate(load_matrix(validated(settings(scenario, **changed))), reply_tokens=reply_tokens))


def truth(out: Path, scenario: Path, **changed: Any) -> dict[str, dict[str, float]]:
    """Calls by purpose and tokens of a real run, by strategy."""
    bench(out, scenario, **settings(scenario, **changed))
    found: dict[str, dict[str, float]] = {}
    for records in sessions(out).values():
        head = records[0]
        row = found.setdefault("controls" if head["control"] else head["strategy"], Counter())
        for call in of(records, "call"):
            if call["reply"] is not None:
                row[call["purpose"]] += 1
                row["prompt"] += call["usage"]["prompt_tokens"]
                row["completion"] += call["usage"]["completion_tokens"]
    return found


def hold(found: Estimate, true: dict[str, dict[str, float]], within: float = 0.1) -> None:
    assert {row.strategy for row in found.rows} == set(true)
    for row in found.rows:
        real = true[row.strategy]
        for purpose in ("turn", "probe", "control", "auxiliary"):
            assert row.calls.get(purpose, 0) == pytest.approx(real[purpose], rel=within, abs=2), (row.strategy, purpose)
        assert row.amount.prompt == pytest.approx(real["prompt"], rel=within), row.strategy


@pytest.mark.parametrize(
    "strategy",
    [
        "full",
        {"type": "fifo", "keep": {"turns": 3}},
        {"type": "rolling_summary", "keep": {"turns": 2}, "trigger": {"turns": 4}},
    ],
    ids=["full", "fifo", "rolling_summary"],
)
def test_a_simulated_run_takes_what_was_said(tmp_path: Path, scenario_file: Path, strategy: Any) -> None:
    changed = {"strategies": [strategy], "auxiliary": "extractive"}
    found = estimated(scenario_file, **changed)
    assert found.reply_tokens is None
    assert found.rehearsed == 3
    hold(found, truth(tmp_path / "run", scenario_file, **changed))


def test_tool_rounds_are_in_it(tmp_path: Path) -> None:
    scenario = write(tmp_path, TOOLS)
    changed = {"strategies": [{"type": "observation_masking", "keep_last": 1}, "full"], "window": 4000}
    hold(estimated(scenario, **changed), truth(tmp_path / "run", scenario, **changed))


def test_stand_ins_with_the_right_length_of_replies_find_the_truth_too(tmp_path: Path, scenario_file: Path) -> None:
    """What is said of a real model rests on this: of its replies, too, nothing but a length is assumed."""
    changed = {
        "models": ["sim/perfect"], "auxiliary": "extractive", "window": 2000,
        "strategies": ["full", "fifo", {"type": "rolling_summary", "keep": {"turns": 2}, "trigger": {"turns": 4}}],
    }  # fmt: skip
    true = truth(tmp_path / "run", scenario_file, **changed)
    calls = sum(row[name] for row in true.values() for name in ("turn", "probe"))
    length = round(sum(row["completion"] for name, row in true.items() if name == "full") / (calls / 3))
    hold(estimated(scenario_file, reply_tokens=length, **changed), true)


def test_overflow_is_foreseen(scenario_file: Path, tmp_path: Path) -> None:
    changed = {"strategies": ["full"], "window": 500}
    found = estimated(scenario_file, **changed)
    (row,) = (row for row in found.rows if row.strategy == "full")
    assert row.ended == {"overflow": 6}
    hold(found, truth(tmp_path / "run", scenario_file, **changed))


def test_what_a_real_model_would_cost(scenario_file: Path) -> None:
    """Nothing is asked and no key is needed: the stand-in answers, and the prices are the user's."""
    priced = {"id": "openai/unlisted", "window": 100_000, "price": {"prompt": 2.0, "completion": 8.0, "cached": 0.5}}
    found = estimated(scenario_file, models=[priced], strategies=["full"], turns=40, window=None)
    assert found.reply_tokens == REPLY_TOKENS
    (row,) = (row for row in found.rows if row.strategy == "full")
    amount = row.amount
    assert amount.completion == amount.calls * 60  # the longest reply allowed is shorter than the assumed one
    assert row.cost(caching=False).total == pytest.approx((amount.prompt * 2 + amount.completion * 8) / 1e6, rel=1e-3)
    spared = amount.cached * 1.5 / 1e6
    assert row.cost(caching=False).known - row.cost(caching=True).known == pytest.approx(spared, rel=1e-3)
    # A session that only grows repeats most of each prompt.
    assert 0.6 < amount.cached / amount.prompt < 1
    (controls,) = (row for row in found.rows if row.strategy == "controls")
    assert controls.amount.cached == 0


def test_a_window_that_slides_spares_less(scenario_file: Path) -> None:
    model = {"id": "openai/unlisted", "window": 100_000, "price": {"prompt": 1.0, "completion": 1.0}}
    found = estimated(
        scenario_file, models=[model], strategies=["full", {"type": "fifo", "keep": {"tokens": 2000}}], turns=60,
        window=None, max_tokens=100,
    )  # fmt: skip
    full, fifo = (row for row in found.rows if row.strategy != "controls")
    assert fifo.amount.cached / fifo.amount.prompt < full.amount.cached / full.amount.prompt - 0.3


def test_prices_that_are_not_known_are_said(scenario_file: Path) -> None:
    models = [
        {"id": "openai/unlisted", "window": 9000},
        {"id": "sim/perfect", "price": {"prompt": 1.0, "completion": 1.0}},
    ]
    found = estimated(scenario_file, models=models, strategies=["full"])
    total = found.total
    assert total.cost(caching=False).unknown == ("openai/unlisted",)
    assert total.cost(caching=False).total is None
    known = sum(row.cost(caching=False).known for row in found.rows if row.model == "sim/perfect")
    assert total.cost(caching=False).known == pytest.approx(known)
    assert known > 0
    stated = found.to_dict()["total"]["cost"]
    assert stated["without_caching"] is None
    assert stated["known_without_caching"] == pytest.approx(known)


def test_agents_are_counted_in_messages(scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "class A:\n    def feed(self, text):\n        raise SystemExit('it was asked')\n"
    (tmp_path / "fed.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = estimated(scenario_file, models=["python:fed:A"], repeats=2)
    (row,) = (row for row in found.rows if row.strategy == "own memory")
    assert row.calls == {"turn": 16, "probe": 10}
    assert row.tokens is None
    assert row.cost(caching=False).total is None


def test_votes_of_a_judge_are_counted_and_priced_apart(scenario_file: Path) -> None:
    text = SCENARIO.replace(
        "probes:\n",
        "probes:\n  - {id: tone, ask: How are you?, at: [1, 3], check: {type: judge, rubric: It is kind., votes: 3}}\n",
    )
    scenario_file.write_text(text, encoding="utf-8")
    judge = {"id": "openai/judge", "window": 9000, "price": {"prompt": 10.0, "completion": 0.0}}
    found = estimated(scenario_file, strategies=["full"], judge=judge, repeats=1)
    (row,) = (row for row in found.rows if row.strategy == "full")
    assert row.calls["judge"] == 4  # two votes of three agree
    assert row.cost(caching=False).known == pytest.approx(row.amounts["openai/judge"].prompt * 10 / 1e6)


def test_a_providers_embeddings_are_counted(scenario_file: Path) -> None:
    strategy = {"type": "retrieval", "recent": {"turns": 1}}
    embedder = {"id": "openai/embedding", "price": {"prompt": 5.0, "completion": 0.0}}
    found = estimated(scenario_file, strategies=[strategy], embedder=embedder, repeats=1)
    (row,) = (row for row in found.rows if row.strategy != "controls")
    assert row.calls["embedding"] > 0
    assert row.cost(caching=False).known == pytest.approx(row.amounts["openai/embedding"].prompt * 5 / 1e6, rel=0.01)


def test_repeats_scale(scenario_file: Path) -> None:
    found = estimated(scenario_file, strategies=["full"], repeats=4)
    assert found.scaled(400).total.amount.prompt == pytest.approx(100 * found.total.amount.prompt)
    assert found.scaled(400).total.sessions == 100 * found.total.sessions


def test_caps_it_would_run_into_are_named(scenario_file: Path) -> None:
    found = estimated(scenario_file, strategies=["full"], max_calls=10, max_total_tokens=10_000_000)
    assert list(found.over()) == ["max_calls"]


def test_a_prefix_is_cached_from_its_least_length_on_and_within_one_session() -> None:
    cache, start = PrefixCache(), (system("a"), user("b"))
    assert cache.look("s", 0, start, [1000, 24]) == 0
    assert cache.look("s", 0, (*start, assistant("c")), [1000, 24, 5]) == CACHE_FROM
    assert cache.look("s", 0, (start[0], user("x")), [1000, 24]) == 0  # 1,000 tokens are too few
    assert cache.look("s", 100, (*start, assistant("c")), [1000, 24, 5]) == 0  # tools stand first, and are others now
    assert cache.look("s", 100, (*start, assistant("d")), [1000, 24, 5]) == 1024  # 1,124 in steps of 128
    assert cache.look("other", 100, (*start, assistant("c")), [1000, 24, 5]) == 0


@pytest.mark.parametrize("tokens", [1, 11, 12, 13, 150, 1000])
def test_made_up_replies_have_the_length_asked_for(tokens: int) -> None:
    assert tokens_of(words(tokens, 5)) == tokens


@pytest.mark.real
@pytest.mark.usefixtures("embedded_weights")
def test_prompts_of_the_embedded_model_are_foreseen_to_the_token(tmp_path: Path, scenario_file: Path) -> None:
    """Its own tokenizer and chat template count; under a scripted history nothing depends on what it replies."""
    changed = {
        "models": ["local/smollm2-135m"], "strategies": ["full", {"type": "fifo", "keep": {"turns": 1}}],
        "history": "scripted", "repeats": 1, "turns": 4, "max_tokens": 8,
    }  # fmt: skip
    found = estimated(scenario_file, **changed)
    true = truth(tmp_path / "run", scenario_file, **changed)
    assert {row.strategy: row.amount.prompt for row in found.rows} == {
        name: row["prompt"] for name, row in true.items()
    }
