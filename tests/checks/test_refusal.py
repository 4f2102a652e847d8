"""Refusals: declining the request is one, not finding something or declining in passing is none."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from contextrot.checks.refusal import is_refusal

CASES = yaml.safe_load((Path(__file__).parent / "more_meaning.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in CASES if "refusal" in c])
def test_cases(case: dict[str, Any]) -> None:
    assert is_refusal(case["reply"]) is case["refusal"]


def test_a_long_reply_that_also_declines_is_none() -> None:
    assert is_refusal("I can't share the code.")
    assert not is_refusal("I can't share the code. " + "Here is the summary you asked for instead. " * 40)


@given(st.text(max_size=400))
def test_no_text_makes_it_raise(text: str) -> None:
    assert is_refusal(text) in (True, False)


@pytest.mark.parametrize(
    "piece", ["sorry ", "i see ", "as an ai ", "unfortunately, but ", "so very ", "that ", "while i, "]
)
def test_a_chain_of_apologies_is_read_once(piece: str) -> None:
    start = time.process_time()
    is_refusal(piece * (1200 // len(piece)))
    assert time.process_time() - start < 0.5
