"""The budget monitor follows its thresholds, also where the article's own comment does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextrot.errors import ConfigError
from contextrot.strategies.monitor import BudgetMonitor, level_event


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (100_000, "OK: 100,000/200,000 (50.0%)"),  # the article prints WARN here
        (119_999, "OK: 119,999/200,000 (60.0%)"),
        (120_000, "WARN: 120,000/200,000 (60.0%)"),
        (159_999, "WARN: 159,999/200,000 (80.0%)"),
        (160_000, "ROTATE: 160,000/200,000 (80.0%)"),
        (170_000, "ROTATE: 170,000/200,000 (85.0%)"),
        (300_000, "ROTATE: 300,000/200,000 (150.0%)"),
    ],
)
def test_the_articles_window(tokens: int, said: str) -> None:
    assert BudgetMonitor().report(tokens, 200_000) == said


@given(warn=st.integers(1, 98), more=st.integers(1, 99), hundreds=st.integers(1, 4000))
def test_a_level_starts_exactly_at_its_threshold(warn: int, more: int, hundreds: int) -> None:
    rotate = min(100, warn + more)
    monitor, window = BudgetMonitor(warn / 100, rotate / 100), hundreds * 100
    assert monitor.check(warn * hundreds, window) == "WARN"
    assert monitor.check(warn * hundreds - 1, window) == "OK"
    assert monitor.check(rotate * hundreds, window) == "ROTATE"
    assert monitor.check(rotate * hundreds - 1, window) == "WARN"


@pytest.mark.parametrize(("warn", "rotate"), [(0.8, 0.6), (0.6, 0.6), (0.0, 0.8), (0.6, 1.2)])
def test_thresholds_that_cannot_be(warn: float, rotate: float) -> None:
    with pytest.raises(ConfigError, match="warn below rotate"):
        BudgetMonitor(warn, rotate)


def test_no_window() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        BudgetMonitor().check(5, 0)


def test_an_event_is_a_change() -> None:
    assert level_event(None, "OK", 0.1) is None
    assert level_event("WARN", "WARN", 0.7) is None
    risen = level_event(None, "WARN", 0.61237)
    assert risen is not None
    assert (risen.name, risen.detail) == ("budget_level", {"from": "OK", "to": "WARN", "occupancy": 0.6124})
    fallen = level_event("ROTATE", "OK", 0.2)
    assert fallen is not None
    assert (fallen.detail["from"], fallen.detail["to"]) == ("ROTATE", "OK")
