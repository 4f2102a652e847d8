"""`recall` and `recall_list`: the current value stated as such, in any dress, and nothing less."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contextrot.checks.base import Check, FactState
from contextrot.checks.normal import page
from contextrot.checks.recall import Recall, RecallList
from contextrot.messages import Reply
from contextrot.outcomes import Outcome

HERE = Path(__file__).parent
TYPES: dict[str, type[Check]] = {"recall": Recall, "recall_list": RecallList}


def _cases() -> list[Any]:
    files = (HERE / "cases_meaning.yaml", HERE / "more_meaning.yaml")
    cases = [case for file in files for case in yaml.safe_load(file.read_text(encoding="utf-8"))]
    return [pytest.param(c, id=c["id"]) for c in cases if c.get("check", {}).get("type") in TYPES]


@pytest.mark.parametrize("case", _cases())
def test_cases(case: dict[str, Any]) -> None:
    verdict = TYPES[case["check"]["type"]].model_validate(case["check"]).grade(Reply.from_dict(case["reply"]), {})
    expected = case["expect"] if isinstance(case["expect"], list) else [case["expect"]]
    assert verdict.outcome.value in expected, verdict
    assert case.get("reason", "") in verdict.reason


def recall(reply: str, facts: dict[str, FactState] | None = None, **parameters: Any) -> Any:
    return Recall(**parameters).grade(Reply(content=reply), facts or {})


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ("300", "superseded"),
        ("I can’t share that.", "refus"),
        ("You have not told me.", "does not know"),
        ("Not 450.", "negated"),
        ("at least 450", "bound"),
        ("300 or 450", "alternatives"),
        ("Is it 450?", "asks"),
        ("It is 451.", "does not say"),
    ],
)
def test_the_reason_says_why_it_failed(reply: str, word: str) -> None:
    verdict = recall(reply, value="450", superseded=("300",))
    assert verdict.outcome is not Outcome.PASS
    assert word in verdict.reason


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({}, "needs one of"),
        ({"value": "a1", "fact": "code"}, "needs one of"),
        ({"value": "  "}, "empty"),
        ({"value": "**"}, "empty"),
        ({"value": "a1", "aliases": ("",)}, "empty"),
        ({"value": "450", "superseded": ("450.00",)}, "superseded"),
        ({"value": "Teal-7", "superseded": ("teal‑7",)}, "superseded"),
        ({"value": "a1", "aliases": ("b2",), "superseded": ("b2",)}, "superseded"),
    ],
)
def test_a_check_that_cannot_work_is_refused(parameters: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        Recall(**parameters)


def test_a_list_without_items_is_refused() -> None:
    with pytest.raises(ValueError, match="needs `values`"):
        RecallList()
    with pytest.raises(ValueError, match="empty"):
        RecallList(values=("call Dana", " "))


def test_a_fact_is_looked_up_with_what_it_replaced() -> None:
    facts = {"code": FactState("TEAL-7", ("BLUE-42",))}
    assert Recall(fact="code").fact_ids() == ("code",)
    assert recall("The code is TEAL-7.", facts, fact="code").outcome is Outcome.PASS
    stale = recall("The code is BLUE-42.", facts, fact="code")
    assert stale.outcome is Outcome.FAIL
    assert "superseded" in stale.reason


def test_a_fact_that_came_back_to_an_old_value_is_not_its_own_rival() -> None:
    facts = {"code": FactState("TEAL-7", ("TEAL-7", "BLUE-42"))}
    assert recall("TEAL-7", facts, fact="code").outcome is Outcome.PASS


def test_a_fact_without_a_value_cannot_be_judged() -> None:
    assert recall("TEAL-7", fact="code").outcome is Outcome.INCONCLUSIVE
    verdict = RecallList(facts=("code",)).grade(Reply(content="TEAL-7"), {})
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "code" in verdict.reason


def test_a_list_looks_up_facts_and_names_what_is_missing() -> None:
    check = RecallList(values=("call Dana",), facts=("code",))
    facts = {"code": FactState("TEAL-7")}
    assert check.grade(Reply(content="Call Dana; the code is teal-7."), facts).outcome is Outcome.PASS
    assert "TEAL-7" in check.grade(Reply(content="Call Dana."), facts).reason


_PLAIN_WORDS = st.from_regex(r"[A-Za-z]{2,12}-[0-9]{1,4}", fullmatch=True)
_NUMBERS = st.one_of(
    st.integers(-(10**9), 10**9).map(str), st.decimals(-10_000, 10_000, places=2).map(lambda d: f"{d:.2f}")
)


@given(_PLAIN_WORDS | _NUMBERS)
def test_a_value_that_is_stated_is_recalled(value: str) -> None:
    assume(value not in ("-0.00",))
    assert recall(f"It is {value}.", value=value).outcome is Outcome.PASS
    assert recall(f"You told me **{value.upper()}**, so I used that.", value=value).outcome is Outcome.PASS


@given(_PLAIN_WORDS | _NUMBERS, _PLAIN_WORDS | _NUMBERS)
def test_another_value_is_not_recalled(value: str, other: str) -> None:
    assume(page(value).folded not in page(other).folded)
    assume(not (value.lstrip("-")[:1].isdigit() and other.lstrip("-")[:1].isdigit() and float(value) == float(other)))
    assert recall(f"It is {other}.", value=value).outcome is Outcome.FAIL


@given(st.integers(1000, 10**9))
def test_thousands_separators_do_not_matter(number: int) -> None:
    for dressed in (
        f"{number:,}",
        f"{number:,}".replace(",", " "),
        f"{number:,}.00",
        f"${number:,}",
        f"\\boxed{{{number:,}}}",
    ):
        assert recall(f"It is {dressed}.", value=str(number)).outcome is Outcome.PASS, dressed


@given(st.integers(2, 9999))
def test_an_integer_may_be_followed_by_no_other_digit(number: int) -> None:
    for wrong in (
        f"{number}1",
        f"1{number}",
        f"{number}.5",
        f"-{number}",
        f"A-{number}",
        f"{number}:30",
        f"{number}-{number + 1}",
    ):
        assert recall(f"It is {wrong}.", value=str(number)).outcome is Outcome.FAIL, wrong


@settings(max_examples=300)
@given(
    st.text(max_size=300), st.sampled_from(["450", "teal-7", "Nantes", "15:00", "2024-03-05", "12 Mill Lane", "東京"])
)
def test_no_text_makes_it_raise(text: str, value: str) -> None:
    recall(text, value=value, superseded=("300",))
    recall(f"{value}{text}{value}300", value=value, superseded=("300",))
    RecallList(values=(value, "call Dana")).grade(Reply(content=text), {})


@given(st.text(min_size=1, max_size=30))
def test_any_value_is_refused_or_found_in_itself(value: str) -> None:
    try:
        check = Recall(value=value)
    except ValueError:
        return
    check.grade(Reply(content=f"It is {value}."), {})


HOSTILE = [
    "42 ",
    "1,",
    "not ",
    "the ",
    "42 or 300 ",
    "was 300 ",
    "Nantes or ",
    "teal-",
    "*",
    "`",
    "~~",
    "\\boxed{",
    "call ",
    "Done:\n",
    ". ",
    "a\n",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_time_grows_with_the_length(piece: str) -> None:
    checks = [Recall(value="450", superseded=("300",)), Recall(value="Nantes"), RecallList(values=("call Dana", "42"))]

    def seconds(size: int) -> float:
        text, best = piece * (size // len(piece)), float("inf")
        for attempt in range(2):
            reply = Reply(content=text + " " * attempt)  # another text each time: pages are cached
            start = time.process_time()
            for check in checks:
                check.grade(reply, {})
            best = min(best, time.process_time() - start)
        return best

    # A measurement may be another process's fault; work that grows with the square would fail every time.
    assert any(seconds(120_000) < 12 * seconds(30_000) + 0.05 for _ in range(4))
