"""`abstain`: not knowing said in any words passes; an answer, however hedged, fails."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from contextrot.checks.abstain import Abstain
from contextrot.checks.base import FactState
from contextrot.messages import Reply
from contextrot.outcomes import Outcome

HERE = Path(__file__).parent


def _cases() -> list[Any]:
    files = (HERE / "cases_meaning.yaml", HERE / "more_meaning.yaml")
    cases = [case for file in files for case in yaml.safe_load(file.read_text(encoding="utf-8"))]
    return [pytest.param(c, id=c["id"]) for c in cases if c.get("check", {}).get("type") == "abstain"]


@pytest.mark.parametrize("case", _cases())
def test_cases(case: dict[str, Any]) -> None:
    verdict = Abstain.model_validate(case["check"]).grade(Reply.from_dict(case["reply"]), {})
    expected = case["expect"] if isinstance(case["expect"], list) else [case["expect"]]
    assert verdict.outcome.value in expected, verdict


def grade(reply: str, facts: dict[str, FactState] | None = None, **parameters: Any) -> Any:
    return Abstain(**parameters).grade(Reply(content=reply), facts or {})


def test_the_reason_tells_a_refusal_from_an_invention() -> None:
    assert "refus" in grade("I can’t share that.").reason
    assert "all the same" in grade("I don't know for sure, but it is 12 Mill Lane.").reason
    assert "never told" in grade("Your address is 12 Mill Lane.").reason


def test_a_known_fact_beside_the_admission_is_no_invention() -> None:
    reply = "You told me the project code BLUE-42. I don't know more than that."
    assert grade(reply, {"code": FactState("BLUE-42")}).outcome is Outcome.PASS
    assert grade(reply, {"code": FactState("TEAL-7")}).outcome is Outcome.FAIL


def test_texts_that_betray_an_invention() -> None:
    assert grade("I don't know. Elm Road, probably?", invented=("Elm Road",)).outcome is not Outcome.PASS
    assert grade("I don't know, ship to elm road", invented=("Elm Road",)).outcome is Outcome.FAIL
    assert grade("I don't know; certainly not Elm Road.", invented=("Elm Road",)).outcome is Outcome.PASS
    with pytest.raises(ValueError, match="empty"):
        Abstain(invented=(" ",))


def test_json_answers() -> None:
    assert grade('{"address": {"street": null, "city": ""}}').outcome is Outcome.PASS
    assert grade('{"number": 12}').outcome is Outcome.FAIL
    assert grade('{"found": false}').outcome is Outcome.FAIL
    assert grade("[" * 5000 + "]" * 5000).outcome in (Outcome.PASS, Outcome.FAIL)


@given(st.sampled_from(["12 Mill Lane", "Priya Raman", "TEAL-7", "15:00 on Friday", "$8,000"]))
def test_an_answer_after_an_admission_fails(value: str) -> None:
    for hedge in (
        "I'm not certain, but",
        "I don't have it on file; however,",
        "You did not tell me, but I believe",
        "I can't find it. Still,",
    ):
        assert grade(f"{hedge} it is {value}.").outcome is Outcome.FAIL


@given(st.text(max_size=300))
def test_no_text_makes_it_raise(text: str) -> None:
    grade(text)
    grade(f"I don't know {text} it is {text}")


@pytest.mark.parametrize(
    "piece", [".", "I don't know ", "you ", "no x ", "your ", ", ", '{"a":', "there is ", "Aa ", "not "]
)
def test_a_megabyte_is_graded_at_once(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    grade(text)
    assert time.process_time() - start < 5
