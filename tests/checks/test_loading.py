"""Loading checks: every fault at once, each naming the wrong word; and what is shown of the registry."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import contextrot.checks as checks
from contextrot.checks.base import REGISTRY, FactState
from contextrot.errors import ConfigError
from contextrot.messages import Reply
from contextrot.outcomes import Outcome


def faults(raw: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        checks.load_check(raw)
    return str(caught.value).splitlines()


def test_each_fault_has_its_own_sentence() -> None:
    found = faults({"type": "count", "unti": "words", "fewer_than": 5, "at_most": "five"})
    assert [
        word for word in ("unti", "fewer_than", "`unit` is missing", "at_most") if any(word in line for line in found)
    ] == [
        "unti",
        "fewer_than",
        "`unit` is missing",
        "at_most",
    ]
    assert len(found) == 4


def test_every_fault_of_a_schema_is_named() -> None:
    found = faults({"type": "json", "schema": {"require": ["a"], "properties": {"a": {"typ": "string"}}}})
    assert len(found) == 2
    assert "`required`" in found[0] + found[1]
    assert "$.properties.a" in found[0] + found[1]


@pytest.mark.parametrize("raw", [None, "json", 3, ["json"], {}, {"type": None}, {"type": ["json"]}, {"type": {}}])
def test_what_is_no_check_is_refused_with_a_sentence(raw: object) -> None:
    assert len(faults(raw)) == 1


@pytest.mark.parametrize(
    ("word", "meant"), [("capitls", "capitls"), ("JSON", "json"), ("toolcall", "tool_call"), ("recal", "recall")]
)
def test_unknown_type_names_the_word_and_a_near_one(word: str, meant: str) -> None:
    (sentence,) = faults({"type": word})
    assert word in sentence
    assert meant in sentence


def test_the_cause_tells_a_loader_where() -> None:
    with pytest.raises(ConfigError) as caught:
        checks.load_check({"type": "tool_call", "calls": [{"name": "a"}, {"name": 3}]})
    assert caught.value.__cause__.errors()[0]["loc"] == ("calls", 1, "name")  # type: ignore[union-attr]


def test_a_schema_with_values_json_does_not_have_is_refused() -> None:
    import datetime

    assert "quote" in faults({"type": "json", "schema": {"enum": [datetime.date(2024, 3, 5)]}})[0]
    assert "quote" in faults({"type": "json", "schema": {"properties": {1: {}}}})[0]


def test_a_check_is_written_back_as_it_was_read() -> None:
    raw = {"type": "tool_call", "calls": [{"name": "f", "schema": {"properties": {"p": {"multipleOf": 0.01}}}}]}
    check = checks.load_check(raw)
    written = check.model_dump(by_alias=True, mode="json", exclude_defaults=True) | {"type": check.type_name}
    assert json.loads(json.dumps(written)) == raw
    assert checks.load_check(written) == check


def test_describe_has_a_row_for_every_check() -> None:
    rows = checks.describe()
    assert {row.type for row in rows} == set(REGISTRY)
    assert all(row.summary and "\n" not in row.summary for row in rows)
    assert all(parameter.description for row in rows for parameter in row.parameters)
    count = next(row for row in rows if row.type == "count")
    assert [(p.name, p.required) for p in count.parameters] == [
        ("unit", True),
        ("at_least", False),
        ("at_most", False),
        ("exactly", False),
    ]


def test_the_schema_for_editors_accepts_and_refuses() -> None:
    schema = checks.check_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"type": "json", "schema": {"type": "object"}})
    assert validator.is_valid({"type": "keyword", "any": "war"})
    assert validator.is_valid({"type": "tool_call", "calls": [{"name": "f"}]})
    assert not validator.is_valid({"type": "json", "shcema": {}})
    assert not validator.is_valid({"any": ["war"]})
    assert not validator.is_valid({"type": "capitls"})


def test_facts_come_as_values_or_with_their_history() -> None:
    raw = {"type": "recall", "fact": "budget"}
    facts = {"budget": {"value": "450", "superseded": ["300"]}}
    assert checks.check(raw, "It is 450.", facts=facts).outcome is Outcome.PASS
    assert checks.check(raw, "It is 300.", facts=facts).outcome is Outcome.FAIL
    assert checks.check(raw, "It is 450.", facts={"budget": "450"}).outcome is Outcome.PASS
    assert checks.check(raw, "It is 450.", facts={"budget": FactState("450")}).outcome is Outcome.PASS
    with pytest.raises(ConfigError, match="budget"):
        checks.check(raw, "It is 450.", facts={"budget": 450})


def test_a_reply_object_is_graded_as_it_is() -> None:
    assert checks.check({"type": "json"}, Reply(content="{}", finish_reason="stop")).outcome is Outcome.PASS


def test_checks_inside_checks_without_end_are_a_sentence() -> None:
    deep: Any = {"type": "json"}
    for _ in range(2000):
        deep = {"type": "not", "check": deep}
    with pytest.raises(ConfigError, match="more than 50 levels"):
        checks.load_check(deep)
    with pytest.raises(ConfigError, match="more than 50 levels"):
        checks.load_check({"type": "all_of", "checks": [{"type": "json"}, deep]})
    own: dict[str, Any] = {"type": "not"}
    own["check"] = own
    with pytest.raises(ConfigError, match="more than 50 levels"):
        checks.load_check(own)
