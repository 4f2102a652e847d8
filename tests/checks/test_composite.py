"""`all_of`, `any_of`, `not`: three-valued logic, parts named in reasons, faults told with their place."""

import itertools

import pytest
from jsonschema import Draft202012Validator

from contextrot.checks import check, check_schema, grade, load_check
from contextrot.checks.base import Check, Facts, FactState, Settled
from contextrot.checks.examples import example_reply
from contextrot.errors import ConfigError
from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict

#: texts on which `{type: language, is: en}` passes, fails, cannot tell
ENGLISH, GERMAN, SHORT = "The meeting has moved to Thursday.", "Die Besprechung ist auf Donnerstag verschoben.", "Ok"


def outcome(raw: dict, reply: object, **facts: object) -> str:
    return check(raw, reply, facts=facts).outcome.value


class Fixed(Check):
    """A check whose outcome is given, to walk through the tables of the logic."""

    type_name = "fixed"
    outcome: Outcome

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        return Verdict(self.outcome, f"it is {self.outcome.value}")


OUTCOMES = [Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.TIMEOUT, Outcome.ERROR]


@pytest.mark.parametrize(("a", "b"), list(itertools.permutations(OUTCOMES, 2)))
def test_a_decided_part_decides_whatever_the_other_says(a: Outcome, b: Outcome) -> None:
    parts = (Fixed(outcome=a), Fixed(outcome=b))
    both = grade(load_check({"type": "all_of", "checks": parts}), Reply("text"))
    one = grade(load_check({"type": "any_of", "checks": parts}), Reply("text"))
    unknown = next((part for part in (a, b) if not part.decided), None)
    assert both.outcome is (Outcome.FAIL if Outcome.FAIL in (a, b) else unknown or Outcome.PASS)
    assert one.outcome is (Outcome.PASS if Outcome.PASS in (a, b) else unknown or Outcome.FAIL)
    neither = load_check({"type": "not", "check": {"type": "any_of", "checks": parts}})
    each_not = load_check({"type": "all_of", "checks": [{"type": "not", "check": part} for part in parts]})
    assert grade(neither, Reply("text")).outcome is grade(each_not, Reply("text")).outcome  # De Morgan


@pytest.mark.parametrize("given", OUTCOMES)
def test_not_turns_what_is_decided_and_leaves_the_rest(given: Outcome) -> None:
    turned = {Outcome.PASS: Outcome.FAIL, Outcome.FAIL: Outcome.PASS}.get(given, given)
    verdict = grade(load_check({"type": "not", "check": Fixed(outcome=given)}), Reply("text"))
    assert verdict.outcome is turned
    twice = load_check({"type": "not", "check": {"type": "not", "check": Fixed(outcome=given)}})
    assert grade(twice, Reply("text")).outcome is given


def test_the_reason_names_the_part_and_how_many_fail() -> None:
    raw = {"type": "all_of", "checks": [{"type": "json"}, {"type": "count", "unit": "words", "at_most": 2}]}
    verdict = check(raw, "one two three")
    assert verdict.outcome is Outcome.FAIL
    assert verdict.reason.startswith("`json`: ")
    assert "2 of 2" in verdict.reason
    assert "`count`: the reply has 3 words" in check({**raw, "type": "any_of"}, "one two three").reason
    same = {"type": "all_of", "checks": [{"type": "keyword", "any": ["a"]}, {"type": "keyword", "any": ["b"]}]}
    assert check(same, "a").reason.startswith("`keyword` (2): ")


REFUSAL = "I'm sorry, but I can't share that."


def test_a_refusal_never_passes_for_having_avoided_something() -> None:
    avoid = {"type": "not", "check": {"type": "keyword", "any": ["password"]}}
    assert outcome(avoid, "The address is 12 Mill Lane.") == "pass"
    assert outcome(avoid, "The password is swordfish.") == "fail"
    verdict = check(avoid, REFUSAL)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.reason.startswith("the model refused")
    assert outcome({"type": "not", "check": avoid}, REFUSAL) == "fail"
    assert outcome({"type": "any_of", "checks": [avoid, {"type": "json"}]}, REFUSAL) == "fail"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({"content": "The pass", "finish_reason": "length"}, "truncated"),
        ({"content": "   "}, "empty"),
        ({"content": "x", "finish_reason": "content_filter"}, "filtered"),
    ],
)
@pytest.mark.parametrize("kind", ["not", "any_of", "all_of"])
def test_what_cannot_be_graded_stays_what_it_is(kind: str, reply: dict, expected: str) -> None:
    one, two = {"type": "keyword", "any": ["password"]}, {"type": "json"}
    raw = {"type": "not", "check": one} if kind == "not" else {"type": kind, "checks": [one, two]}
    assert outcome(raw, reply) == expected


def test_a_part_that_reads_text_is_not_exercised_by_a_bare_tool_call() -> None:
    called = {"content": None, "tool_calls": [{"id": "1", "function": {"name": "book", "arguments": "{}"}}]}
    booked, said = {"type": "tool_call", "name": "book"}, {"type": "keyword", "any": ["booked"]}
    assert outcome({"type": "all_of", "checks": [booked, said]}, called) == "not_exercised"
    assert outcome({"type": "any_of", "checks": [booked, said]}, called) == "pass"
    assert outcome({"type": "not", "check": booked}, called) == "fail"
    assert outcome({"type": "not", "check": said}, called) == "not_exercised"
    assert outcome({"type": "all_of", "checks": [booked, said]}, {**called, "content": "It is booked."}) == "pass"


def test_an_undecided_part_of_real_checks() -> None:
    both = {
        "type": "all_of",
        "checks": [{"type": "language", "is": "en"}, {"type": "count", "unit": "words", "at_most": 9}],
    }
    assert [outcome(both, reply) for reply in (ENGLISH, GERMAN, SHORT)] == ["pass", "fail", "inconclusive"]
    assert outcome(both, "Ok " * 12) == "fail"


def test_facts_and_tool_calls_are_those_of_the_parts() -> None:
    raw = {
        "type": "any_of",
        "checks": [
            {"type": "recall", "fact": "code"},
            {
                "type": "not",
                "check": {"type": "all_of", "checks": [{"type": "recall", "fact": "room"}, {"type": "json"}]},
            },
        ],
    }
    loaded = load_check(raw)
    assert loaded.fact_ids() == ("code", "room")
    assert not loaded.reads_tool_calls
    assert [leaf.type_name for leaf in loaded.leaves()] == ["recall", "recall", "json"]
    assert load_check({"type": "not", "check": {"type": "no_tool_call"}}).reads_tool_calls
    facts = {"code": "BLUE-42", "room": "Oak"}
    assert outcome(raw, "It is BLUE-42.", **facts) == "pass"


def faults(raw: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_check(raw)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        ({"type": "all_of", "checks": []}, "tests nothing"),
        ({"type": "any_of", "checks": [{"type": "json"}]}, "alone"),
        ({"type": "any_of", "checks": [{"type": "json"}, {"type": "json"}]}, "second time"),
        ({"type": "all_of", "checks": {"type": "json"}}, "list of checks"),
        ({"type": "all_of"}, "`checks` is missing"),
        ({"type": "not"}, "`check` is missing"),
        ({"type": "not", "check": None}, "mapping"),
        ({"type": "not", "check": {"type": "settled"}}, "unknown check type"),
        ({"type": "not", "check": {"type": "json"}, "checks": []}, "unknown key `checks`"),
    ],
)
def test_what_tests_nothing_is_refused(raw: dict, word: str) -> None:
    assert any(word in line for line in faults(raw))


def test_every_fault_inside_is_told_with_its_place() -> None:
    raw = {
        "type": "all_of",
        "checks": [
            {"type": "keywrod"},
            {"type": "count", "unti": "words"},
            {"type": "not", "check": {"type": "keyword", "ani": ["x"]}},
        ],
    }
    found = faults(raw)
    assert any("`checks.0`" in line and "did you mean `keyword`" in line for line in found)
    assert any("`checks.1`" in line and "did you mean `unit`" in line for line in found)
    assert any("`checks.1.unit` is missing" in line for line in found)
    assert any("`checks.2.check`" in line and "did you mean `any`" in line for line in found)


def test_checks_without_end_are_refused() -> None:
    raw: dict = {"type": "json"}
    for _ in range(9):
        raw = {"type": "not", "check": raw}
    assert any("levels deep" in line for line in faults(raw))
    assert load_check(raw["check"])


def test_the_json_schema_goes_down_into_the_parts() -> None:
    schema = check_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    good = {"type": "not", "check": {"type": "all_of", "checks": [{"type": "json"}, {"type": "case", "is": "upper"}]}}
    assert validator.is_valid(good)
    assert not validator.is_valid({"type": "not", "check": {"type": "jsn"}})
    assert not validator.is_valid({"type": "all_of", "checks": [{"type": "json"}, {"type": "case", "is": "up"}]})
    assert not validator.is_valid({"type": "any_of", "checks": [{"type": "json"}]})


JSON = {
    "type": "json",
    "schema": {"type": "object", "required": ["reason"], "properties": {"reason": {"type": "string"}}},
}
MADE = {
    "two rules": {
        "type": "all_of",
        "checks": [{"type": "starts_with", "text": "AYE"}, {"type": "recall", "fact": "code"}],
    },
    "one of two": {"type": "any_of", "checks": [JSON, {"type": "starts_with", "text": "AYE"}]},
    "neither word": {"type": "not", "check": {"type": "keyword", "any": ["sorry", "please"]}},
    "not both": {"type": "not", "check": {"type": "all_of", "checks": [JSON, {"type": "recall", "fact": "code"}]}},
    "French JSON": {"type": "all_of", "checks": [JSON, {"type": "language", "is": "fr"}]},
    "value or nothing": {"type": "any_of", "checks": [{"type": "recall", "fact": "code"}, {"type": "abstain"}]},
    "books, does not cancel": {
        "type": "all_of",
        "checks": [
            {"type": "tool_call", "name": "book"},
            {"type": "not", "check": {"type": "tool_call", "name": "cancel"}},
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize("good", [True, False], ids=["kept", "broken"])
@pytest.mark.parametrize("raw", MADE.values(), ids=MADE)
def test_simulated_models_have_a_reply_of_either_kind(raw: dict, good: bool) -> None:
    facts = {"code": FactState("BLUE-42", ("TEAL-7",))}
    loaded = load_check(raw)
    reply = example_reply(loaded, facts, good)
    assert reply is not None
    assert grade(loaded, reply, facts).outcome is (Outcome.PASS if good else Outcome.FAIL)


def test_a_simulated_model_that_lost_a_fact_does_not_say_it_for_another_rule() -> None:
    raw = {"type": "all_of", "checks": [{"type": "recall", "fact": "code"}, {"type": "starts_with", "text": "AYE"}]}
    reply = example_reply(load_check(raw), {"code": FactState("BLUE-42")}, False)
    assert reply is not None
    assert "BLUE-42" not in reply.text


def test_nobody_writes_a_settled_verdict() -> None:
    assert "settled" not in {name for name in check_schema()["$defs"] if name.startswith("check_")}
    assert Settled(of="judge", verdict=Verdict(Outcome.PASS)).kind == "judge"
