"""What users write becomes a strategy or a sentence; schema, list and labels follow from the classes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from contextrot.errors import ConfigError
from contextrot.strategies import REGISTRY, describe, load_strategy, strategies_schema, strategy_label

GOOD: list[Any] = [
    "fifo",
    "sliding_window",
    "summarization",
    {"type": "fifo", "keep": {"turns": 3}},
    {"type": "pinned", "pin_budget": {"tokens": 500}},
    {"type": "pinned", "keep": {"fraction": 1}},
    {"type": "observation_masking", "keep_last": 0, "trigger": {"fraction": 0.5}},
    {"type": "rolling_summary", "trigger": {"turns": 8}, "keep": {"turns": 8}, "role": "assistant"},
    {"type": "compaction", "trigger": {"tokens": 900}, "keep": {"turns": 2}, "max_tokens": 200},
    {"type": "dual_memory", "ratio": 0.3, "bank_max_tokens": 100},
    {"type": "state_extraction", "schema": {"type": "object"}, "every_n_turns": 2},
    "re_anchor",
    {"type": "re_anchor", "inner": "fifo"},
    "offload",
    {"type": "offload", "over": {"tokens": 500}, "inner": {"type": "rolling_summary", "keep": {"turns": 2}}},
    "budget_guard",
    {"type": "budget_guard", "inner": {"type": "offload", "inner": "pinned"}, "system": {"tokens": 900}},
    "isolate",
    {"type": "reset_per_task", "handoff": "summary", "max_tokens": 200},
    "hierarchical",
    {"type": "episodic_ttl", "episodes": "tasks", "compress": True, "ttl_turns": 9},
    {"type": "re_anchor", "inner": {"type": "re_anchor", "inner": {"type": "full"}}, "every_n_turns": 5},
]
BAD: list[tuple[Any, list[str]]] = [
    ("fifoo", ["unknown strategy 'fifoo'", "did you mean 'fifo'"]),
    ({"typ": "fifo"}, ["needs the key 'type'", "you wrote 'typ'"]),
    (7, ["a strategy is a name or a mapping", "7"]),
    ({"type": ["fifo"]}, ["unknown strategy ['fifo']"]),
    ({"type": "fifo", "kep": {"turns": 1}, "keep": {"turn": 2}}, ["'kep'", "'keep'", "'keep.turn'", "'turns'"]),
    ({"type": "fifo", "keep": 4}, ["keep: an amount is a mapping such as {turns: 4}, not 4"]),
    ({"type": "fifo", "keep": {"turns": 1, "tokens": 2}}, ["exactly one of"]),
    ({"type": "fifo", "keep": {}}, ["exactly one of"]),
    ({"type": "fifo", "keep": {"turns": 0}}, ["keep.turns", "not 0"]),
    ({"type": "fifo", "keep": {"turns": True}}, ["keep.turns", "not True"]),
    ({"type": "fifo", "keep": {"fraction": 1.5}}, ["keep.fraction", "not 1.5"]),
    ({"type": "pinned", "pin_budget": {"turns": 2}}, ["pin_budget", "in tokens or as a fraction"]),
    ({"type": "observation_masking", "keep_last": -1}, ["keep_last", "-1"]),
    ({"type": "re_anchor", "inner": {"type": "fif"}, "every": 3}, ["inner: unknown strategy 'fif'", "'every'"]),
    ({"type": "re_anchor", "inner": {"type": "fifo", "x": 1, "keep": 2}}, ["inner: strategy fifo", "'x'", "keep"]),
    (
        {"type": "rolling_summary", "trigger": {"turns": 2}, "keep": {"turns": 4}},
        ["trigger (2 turns) is below keep (4"],
    ),
    ({"type": "rolling_summary", "trigger": {"fraction": 0.3}, "keep": {"fraction": 0.5}}, ["below keep"]),
    ({"type": "offload", "over": {"messages": 3}, "inner": "fifoo"}, ["how large a payload is", "inner: unknown"]),
    ({"type": "reset_per_task", "handoff": "reply"}, ["handoff", "'last_reply'", "not 'reply'"]),
    ({"type": "hierarchical", "task_share": {"fraction": 0.9}}, ["the three shares come to 1.4"]),
    ({"type": "episodic_ttl", "ttl_turns": 0}, ["ttl_turns", "not 0"]),
    ({"type": "rolling_summary", "role": "usr", "retries": -1}, ["role", "'usr'", "retries", "-1"]),
    ({"type": "compaction", "trigger": {"turns": 2}, "keep": {"turns": 4}}, ["trigger (2 turns) is below keep (4"]),
    ({"type": "dual_memory", "ratio": 0, "bank_max_tokens": 3}, ["ratio", "not 0", "bank_max_tokens", "not 3"]),
    ({"type": "state_extraction", "schema": {"type": "objekt"}}, ["schema: the schema is no valid JSON Schema"]),
    ({"type": "state_extraction", "shema": {}}, ["'shema'", "did you mean 'schema'"]),
]


@pytest.mark.parametrize("raw", GOOD, ids=str)
def test_good(raw: Any) -> None:
    strategy = load_strategy(raw)
    assert load_strategy(strategy) is strategy
    assert (
        load_strategy(strategy.model_dump(mode="json", exclude_unset=True) | {"type": strategy.type_name}) == strategy
    )
    assert Draft202012Validator(strategies_schema()).is_valid(raw)


@pytest.mark.parametrize(("raw", "said"), BAD, ids=lambda value: str(value)[:60])
def test_bad(raw: Any, said: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        load_strategy(raw)
    for words in said:
        assert words in str(error.value)
    assert "pydantic" not in str(error.value)


def test_the_schema_refuses_what_the_loader_refuses() -> None:
    Draft202012Validator.check_schema(strategies_schema())
    schema = Draft202012Validator(strategies_schema())
    unknown = [
        "fifoo",
        {"typ": "fifo"},
        {"type": "fifo", "kep": 1},
        {"type": "fifo", "keep": {"turns": 0}},
    ]
    unknown.append({"type": "fifo", "keep": {"turns": 1, "tokens": 9}})
    unknown.append({"type": "re_anchor", "inner": {"type": "fifo", "x": 1}})
    assert [raw for raw in unknown if schema.is_valid(raw)] == []


def test_an_alias_is_the_same_strategy() -> None:
    alias, name = load_strategy({"type": "sliding_window"}), load_strategy("fifo")
    assert alias == name
    assert alias.model_dump() == name.model_dump()


def test_every_strategy_is_described() -> None:
    rows = {row["name"]: row for row in describe()}
    assert set(rows) == {cls.type_name for cls in REGISTRY.values()}
    assert rows["fifo"]["aliases"] == ["sliding_window"]
    for row in rows.values():
        assert row["summary"]
        assert all(parameter["description"] and parameter["type"] for parameter in row["parameters"])
    trigger = next(p for p in rows["rolling_summary"]["parameters"] if p["name"] == "trigger")
    assert (trigger["type"], trigger["default"], trigger["required"]) == ("size", "{fraction: 0.8}", False)


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        ("fifo", "fifo"),
        ({"type": "sliding_window", "keep": {"turns": 4}}, "fifo(keep=4 turns)"),
        ({"type": "rolling_summary", "keep": {"turns": 4}}, "rolling_summary"),
        (
            {"type": "re_anchor", "inner": {"type": "fifo", "keep": {"fraction": 0.5}}, "every_n_turns": 5},
            "re_anchor(inner=fifo(keep=0.5 of the window), every_n_turns=5)",
        ),
        ("offload", "offload"),
        ({"type": "offload", "inner": "pinned", "max_tokens": 40}, "offload(inner=pinned, max_tokens=40)"),
    ],
)
def test_labels(raw: Any, label: str) -> None:
    assert strategy_label(load_strategy(raw)) == label


@pytest.mark.parametrize("raw", GOOD, ids=str)
def test_the_label_of_a_strategy_is_read_back_or_refused_with_the_way_out(raw: Any) -> None:
    strategy = load_strategy(raw)
    label = strategy_label(strategy)
    if any(re.fullmatch(r"[0-9a-f]{8}", part) for part in re.split(r"[=,() ]+", label)):  # a digest of a long text
        with pytest.raises(ConfigError, match="write it as a mapping"):
            load_strategy(label)
    else:
        assert load_strategy(label) == strategy


def test_a_label_that_says_something_else_is_refused() -> None:
    assert load_strategy("pinned(keep=3 turns)") == load_strategy({"type": "pinned", "keep": {"turns": 3}})
    for text in ("pinned(keep=3)", "pinned()", "pinned(keep=3 turns, nothing=1)", "pinned(keep=abcdef12)"):
        with pytest.raises(ConfigError, match="write it as a mapping"):
            load_strategy(text)
