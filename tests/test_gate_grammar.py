"""What a gate may say, and what is said of one that cannot be read."""

from __future__ import annotations

import pytest

from contextrot.errors import ConfigError
from contextrot.gate_grammar import parse_gate, parse_gates


@pytest.mark.parametrize(
    ("text", "metric", "kind", "limit", "unit", "turn"),
    [
        ("median >= 30 turns", "median", "floor", 30, "turns", None),
        ("median ≥ 30", "median", "floor", 30, "turns", None),
        ("rmst>=25.5 turns", "rmst", "floor", 25.5, "turns", None),
        ("restricted mean >= 25", "rmst", "floor", 25, "turns", None),
        ("compliance >= 90%", "compliance", "floor", 0.9, "share", None),
        ("Compliance at turn 40 >= 0.9", "compliance", "floor", 0.9, "share", 40),
        ("tool_calls >= 0.8", "tool_calls", "floor", 0.8, "share", None),
        ("tokens per session <= 20,000", "tokens", "ceiling", 20000, "tokens", None),
        ("tokens <= 1,234,567", "tokens", "ceiling", 1234567, "tokens", None),
        ("tokens <= 20_000", "tokens", "ceiling", 20000, "tokens", None),
        ("cost <= 1,234.50", "cost", "ceiling", 1234.5, "USD", None),
        ("cost <= .5", "cost", "ceiling", 0.5, "USD", None),
        ("tokens <= 20k tokens", "tokens", None, None, None, None),
        ("tokens <= 1.5m", "tokens", "ceiling", 1.5e6, "tokens", None),
        ("cost ≤ $1.50", "cost", "ceiling", 1.5, "USD", None),
        ("cost per session <= 0.05 USD", "cost", "ceiling", 0.05, "USD", None),
        ("calls <= 1000", "calls", "ceiling", 1000, "calls", None),
        ("rmst: -10%", "rmst", "drop", 0.1, "%", None),
        ("rmst: −4 turns", "rmst", "drop", 4, "turns", None),
        ("compliance: -5pp", "compliance", "drop", 0.05, "pp", None),
        ("tool_calls: -15 pp", "tool_calls", "drop", 0.15, "pp", None),
        ("tokens per session: +20%", "tokens", "drop", 0.2, "%", None),
    ],
)
def test_gates_are_read(text, metric, kind, limit, unit, turn):
    if kind is None:
        with pytest.raises(ConfigError, match="not a number with a unit"):
            parse_gate(text)
        return
    gate = parse_gate(text)
    assert (gate.metric, gate.kind, gate.unit, gate.turn) == (metric, kind, unit, turn)
    assert gate.limit == pytest.approx(limit)
    assert gate.needs_baseline == (kind == "drop")


def test_scope_and_proof():
    gate = parse_gate("median >= 30 turns proven [strategy=pinned, scenario=ticket-*]")
    assert gate.proven
    assert gate.scope == {"strategy": "pinned", "scenario": "ticket-*"}
    as_mapping = parse_gate({"gate": "median >= 30 turns proven", "strategy": "pinned", "scenario": "ticket-*"})
    assert (as_mapping.scope, as_mapping.proven) == (gate.scope, True)
    # YAML reads an unquoted `- rmst: -10%` as a mapping
    assert parse_gate({"rmst": "-10%"}) == parse_gate("rmst: -10%")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("medain >= 3", "did you mean 'median'"),
        ("median", "write it such as"),
        ("median 30", "median needs a limit"),
        ("median <= 30", "takes a lower limit"),
        ("median > 30", "median >= 30 turns"),
        ("median >= many", "not a number"),
        ("median >= 0", "every run passes this"),
        ("median >= 30 tokens", "is in turns"),
        ("median at turn 3 >= 30", "only compliance"),
        ("median per session >= 30", "leave out 'per session'"),
        ("median: -10%", "rmst: -10%"),
        ("rmst: 10%", "minus sign"),
        ("rmst: -10pp", "per cent or turns"),
        ("rmst: -150%", "between 0 and 100"),
        ("compliance: -5%", "percentage points (pp), never relative"),
        ("compliance >= 90", "a share lies above 0"),
        ("compliance at turn x >= 0.9", "whole number"),
        ("compliance >= -0.9", "has no sign"),
        ("cost >= 1", "takes a ceiling"),
        ("cost <= 5 eur", "unknown unit 'eur'"),
        ("cost <= 1,50", "'1,50' has a comma where none can stand: decimals are written with a point (1.50)"),
        ("cost <= 0,500", "decimals are written with a point"),
        ("cost <= 1.234,50", "decimals are written with a point"),
        ("rmst >= 2,5", "decimals are written with a point"),
        ("rmst: -2,5%", "decimals are written with a point"),
        ("compliance >= 0,9", "decimals are written with a point"),
        ("tokens <= 12,34,567", "a comma parts thousands (20,000)"),
        ("median >= 30, turns", "a comma parts thousands"),
        ("cost <= 5 proven", "counted, not estimated"),
        ("tokens: -20%", "growth is written"),
        ("median >= 3 [stategy=x]", "did you mean 'strategy'"),
        ("median >= 3 []", "the scope is empty"),
        ("median >= 3 [pinned]", "[strategy=pinned]"),
        ("median >= 3 [strategy=x] proven", "stands at the end"),
        ({"gate": "median >= 3", "modle": "x"}, "did you mean 'model'"),
        ({"strategy": "x", "model": "y"}, "has a `gate:`"),
        ("", "a gate is a text"),
        (3, "a gate is a text"),
    ],
)
def test_a_gate_that_cannot_be_read_is_a_sentence(entry, said):
    with pytest.raises(ConfigError) as error:
        parse_gate(entry)
    assert said in str(error.value)


def test_every_faulty_gate_is_named():
    with pytest.raises(ConfigError) as error:
        parse_gates(["median >= 30", "medain >= 3", "compliance: -5%"])
    assert len(str(error.value).splitlines()) == 2
