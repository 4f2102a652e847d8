"""What simulated models say: built from a check's own parameters, and right in both directions or not there."""

import re

import pytest

from contextrot.checks import FactState, grade, load_check
from contextrot.checks.examples import example_for, example_reply
from contextrot.checks.instances import Instance, matching
from contextrot.checks.json_schema import compile_schema, first_fault
from contextrot.outcomes import Outcome

FACTS = {"code": FactState("BLUE-42", ("TEAL-7",)), "plain": FactState("Nantes")}
SEVERITY = {
    "type": "object",
    "required": ["severity", "reason"],
    "properties": {"severity": {"enum": ["low", "high"]}, "reason": {"type": "string"}},
}
JSON = {"type": "json", "only": True, "schema": SEVERITY}
CODE = {"type": "recall", "fact": "code"}
BOOK = {"type": "tool_call", "name": "calendar", "arguments": {"when": "Friday"}}

CHECKS = {
    "json": JSON,
    "json without a schema": {"type": "json"},
    "json in prose": {"type": "json", "only": False, "schema": SEVERITY},
    "tool call": BOOK,
    "tool call by schema": {"type": "tool_call", "name": "patch", "schema": {"type": "object", "required": ["edits"],
                            "properties": {"edits": {"type": "array", "minItems": 1}}}},
    "two tool calls": {"type": "tool_call", "calls": [{"name": "a"}, {"name": "b"}], "extra": "forbid"},
    "no tool call": {"type": "no_tool_call"},
    "recall by value": {"type": "recall", "value": "8000"},
    "recall by fact": CODE,
    "recall of a first value": {"type": "recall", "fact": "plain"},
    "recall of a list": {"type": "recall_list", "values": ["book the room", "call Dana"]},
    "recall of a list of facts": {"type": "recall_list", "facts": ["code", "plain"], "values": ["call Dana"]},
    "abstain": {"type": "abstain"},
    "code fence": {"type": "code_fence", "language": "python"},
    "decimals": {"type": "decimals", "places": 2},
    "no decimals": {"type": "decimals", "places": 0},
    "any word": {"type": "keyword", "any": ["aye", "yes"]},
    "all words": {"type": "keyword", "all": ["over", "out"]},
    "no word": {"type": "keyword", "none": ["please"]},
    "words": {"type": "count", "unit": "words", "at_most": 5},
    "many words": {"type": "count", "unit": "words", "at_least": 120},
    "sentences": {"type": "count", "unit": "sentences", "exactly": 3},
    "bullets": {"type": "count", "unit": "bullets", "exactly": 4},
    "lines": {"type": "count", "unit": "lines", "at_least": 2, "at_most": 3},
    "paragraphs": {"type": "count", "unit": "paragraphs", "exactly": 2},
    "characters": {"type": "count", "unit": "characters", "at_most": 20},
    "upper": {"type": "case", "is": "upper"},
    "lower": {"type": "case", "is": "lower"},
    "regex": {"type": "regex", "matches": r"^(INC|REQ)-\d{4}(?: \[[a-f]+\])?$"},
    "regex not": {"type": "regex", "not_matches": r"(?i)sorry"},
    "starts with": {"type": "starts_with", "text": "ACK:"},
    "ends with": {"type": "ends_with", "text": "Over."},
}  # fmt: skip


@pytest.mark.parametrize("good", [True, False], ids=["kept", "broken"])
@pytest.mark.parametrize("raw", CHECKS.values(), ids=CHECKS)
def test_every_check_has_an_example_of_either_kind(raw, good):
    check = load_check(raw)
    reply = example_reply(check, FACTS, good)
    assert reply is not None
    assert grade(check, reply, FACTS).outcome is (Outcome.PASS if good else Outcome.FAIL)


COMBINATIONS = {
    "json and recall": [JSON, CODE],
    "prefix and recall": [{"type": "starts_with", "text": "ACK:"}, CODE],
    "prefix, suffix, few words and recall": [
        {"type": "starts_with", "text": "ACK:"},
        {"type": "ends_with", "text": "Over."},
        {"type": "count", "unit": "words", "at_most": 12},
        CODE,
    ],
    "upper case and recall": [{"type": "case", "is": "upper"}, CODE],
    "tool call and json": [BOOK, JSON],
    "no tool call and json": [{"type": "no_tool_call"}, JSON],
    "word and decimals": [{"type": "keyword", "any": ["total"]}, {"type": "decimals", "places": 2}],
}


@pytest.mark.parametrize("checks", COMBINATIONS.values(), ids=COMBINATIONS)
def test_several_rules_are_kept_or_broken_in_every_combination(checks):
    loaded = [load_check(raw) for raw in checks]
    for bits in range(2 ** len(loaded)):
        wanted = [(check, bool(bits >> k & 1)) for k, check in enumerate(loaded)]
        reply = example_for(wanted, FACTS)
        assert reply is not None, wanted
        for check, good in wanted:
            assert grade(check, reply, FACTS).outcome is (Outcome.PASS if good else Outcome.FAIL)


def test_what_cannot_be_had_together_has_no_example():
    upper, lower = load_check({"type": "case", "is": "upper"}), load_check({"type": "case", "is": "lower"})
    assert example_for([(upper, True), (lower, True)], {}) is None


def test_no_check_at_all_is_kept_by_any_reply():
    reply = example_for([], {})
    assert reply is not None
    assert reply.text


def test_a_superseded_value_is_the_first_wrong_answer_given():
    reply = example_reply(load_check(CODE), FACTS, False)
    assert reply is not None
    assert "TEAL-7" in reply.text


SCHEMAS = [
    SEVERITY,
    {"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 5}},
    {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "string"}},
    {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"const": 3}}},
    {"allOf": [{"required": ["x"]}, {"properties": {"x": {"type": "boolean"}}}], "type": "object"},
    {"oneOf": [{"type": "string", "minLength": 40}, {"type": "null"}]},
    {"type": ["null", "number"], "exclusiveMinimum": 0, "maximum": 0.75},
    {"type": "number", "multipleOf": 0.25, "minimum": 0.3},
    {"type": "integer", "maximum": -4},
    {"type": "string", "maxLength": 2},
    {"type": "string", "pattern": "^[A-Z]{3}-\\d{2}$"},
    {"type": "string", "format": "date"},
    {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2},
    {"type": "object", "additionalProperties": False, "properties": {"a": {"type": "string"}}},
    {"type": "object", "required": ["when"], "properties": {"when": {"type": "object", "required": ["at"]}}},
]


@pytest.mark.parametrize("every", [False, True], ids=["required", "all"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_an_instance_fits_its_schema(schema, every):
    value = Instance(schema, every=every).value
    assert first_fault(compile_schema(schema), value) is None, value


def test_the_text_goes_into_the_first_free_string():
    built = Instance(SEVERITY, "BLUE-42")
    assert built.placed
    assert built.value == {"severity": "low", "reason": "BLUE-42"}


def test_a_schema_that_has_itself_inside_ends():
    schema = {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}}
    assert isinstance(Instance(schema, every=True).value, dict)


@pytest.mark.parametrize(
    "pattern",
    ["abc", "a{3}b+", "(x|y)z", "[^a]", "[^\\d\\s]", "\\w+@\\w+\\.org", "(a)(b)\\2\\1", "^$", "[B-D]?", "(?:ok)+"],
)
def test_a_text_matches_its_pattern(pattern):
    text = matching(pattern)
    assert text is not None
    assert re.search(pattern, text)


@pytest.mark.parametrize("pattern", ["(", "a{100000}"])
def test_a_pattern_that_simple_means_cannot_serve_gives_none(pattern):
    assert matching(pattern) is None


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "language", "is": "de"},
        {"type": "language", "is": "ja"},
        {"type": "case", "is": "upper"},
        JSON,
        {"type": "count", "unit": "words", "at_most": 3},
        {"type": "count", "unit": "characters", "at_most": 12},
        {"type": "keyword", "none": ["cannot", "recall"]},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "lost", [CODE, {"type": "recall", "fact": "plain"}, {"type": "keyword", "all": ["BLUE"]}], ids=str
)
def test_what_was_lost_is_broken_without_breaking_what_is_kept(lost, rule):
    kept, gone = load_check(rule), load_check(lost)
    reply = example_for([(gone, False), (kept, True)], FACTS)
    assert reply is not None
    assert grade(gone, reply, FACTS).outcome is Outcome.FAIL
    assert grade(kept, reply, FACTS).outcome is Outcome.PASS


def test_a_wrong_answer_is_given_in_words_where_nothing_speaks_against_it():
    reply = example_for([(load_check(CODE), False)], FACTS)
    assert reply is not None
    assert "TEAL-7" in reply.text
