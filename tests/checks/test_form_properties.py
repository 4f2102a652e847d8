"""Any text gets a verdict, always the same one, in time linear in its length."""

import json
import time
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextrot.checks import Check, grade, load_check
from contextrot.checks.strict_json import JsonFault, parse, values_in
from contextrot.messages import Reply, ToolCall

CHECKS = [
    {"type": "json"},
    {"type": "json", "only": False, "schema": {"type": ["object", "array"], "uniqueItems": True, "minItems": 1}},
    {"type": "json", "only": False, "schema": {"required": ["never"], "type": "object"}},
    {"type": "tool_call", "name": "f", "arguments": {"a": 1}, "schema": {"properties": {"a": {"multipleOf": 0.5}}}},
    {"type": "no_tool_call"},
    {"type": "code_fence", "language": "python"},
    *(
        {"type": "count", "unit": unit, "at_least": 2}
        for unit in ("words", "sentences", "bullets", "lines", "paragraphs")
    ),
    {"type": "count", "unit": "characters", "at_least": 2},
    {"type": "keyword", "any": ["war", "42", "東京"], "all": ["b"], "none": ["c d", "—"]},
    {"type": "case", "is": "upper"},
    {"type": "decimals", "places": 2},
    {"type": "starts_with", "text": ["a", "1"]},
    {"type": "ends_with", "text": ["a", "1"]},
    {"type": "regex", "matches": r"\d+\s+\w+"},
]
LOADED = [load_check(raw) for raw in CHECKS]
PIECES = st.sampled_from(
    ["{", "}", "[", "]", '"', "\\", ",", ":", "1", "2.5", ".", "e9", "NaN", "```", "~~~", "python", "\n", " ", "- ",
     "* ", "> ", "1. ", "# ", "<think>", "</think>", "war", "é", "e\u0301", "東京", "—", "’", "_", "**", "Dr. ", "! ",
     "true", '{"a":1}', "[1,2]", "\r\n", "\u2028", "\ud800", "\x00", "$", "=", "is ", "<tool_call>", "null", "f("]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=40).map("".join))


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.lists(st.builds(ToolCall, st.just("c"), st.sampled_from(["f", "", "g"]), TEXTS), max_size=3))
def test_any_reply_gets_one_verdict(text: str, calls: list[ToolCall]) -> None:
    reply = Reply(content=text, tool_calls=tuple(calls), finish_reason="stop")
    for check in LOADED:
        verdict = grade(check, reply)
        assert verdict == grade(check, reply)
        assert len(verdict.evidence) <= 200


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
def test_values_are_found_in_any_surroundings(before: str, after: str) -> None:
    """A value after text without brackets or quotes is found, whatever follows it."""
    before = before.translate(dict.fromkeys(map(ord, '{}[]"')))
    assert '{"here": [1]}' in list(values_in(f'{before}{{"here": [1]}}{after}'))


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_strict_parser_accepts_only_json(text: str) -> None:
    try:
        value = parse(text)
    except JsonFault:
        return
    assert json.loads(text.removeprefix("\ufeff"), parse_float=Decimal) == value


HOSTILE: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: "[" * n,
    "braces": lambda n: '{"a":' * (n // 5),
    "pairs": lambda n: "[]" * (n // 2),
    "quotes": lambda n: '["' * (n // 2),
    "escapes": lambda n: '["\\"' * (n // 4),
    "unclosed": lambda n: "[" + "[1]," * (n // 4),
    "objects": lambda n: "[" + ",".join(f'{{"a":{i}}}' for i in range(n // 12)) + "]",
    "digits": lambda n: "1" * n,
    "fraction": lambda n: "0." + "1" * n,
    "groups": lambda n: "1," * (n // 2) + "1",
    "dotted": lambda n: "1." * (n // 2),
    "backticks": lambda n: "`" * n,
    "fences": lambda n: "```\n" * (n // 4),
    "quoted": lambda n: "> " * 200 + "> \n" * (n // 3),
    "nested": lambda n: ">" * n,
    "lists": lambda n: "- " * (n // 2),
    "items": lambda n: "- a\n" * (n // 4) + "```",
    "dots": lambda n: "." * n,
    "spaces": lambda n: " " * n + "x",
    "stars": lambda n: "*" * n + "x",
    "underscores": lambda n: "_war" * (n // 4),
    "letters": lambda n: "a" * n,
    "think": lambda n: "<think>" * (n // 7),
    "closings": lambda n: "a</think>" * (n // 9),
    "marks": lambda n: "e" + "\u0301" * n,
    "calls": lambda n: "f(" * (n // 2),
    "newlines": lambda n: "a\n\n" * (n // 3),
    "sentences": lambda n: "A. " * (n // 3),
    "emphasis": lambda n: "**a" * (n // 3),
    "strike": lambda n: "~~a" * (n // 3),
    "tags": lambda n: "<b" * (n // 2),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_work_grows_with_the_reply_and_no_faster(kind: str) -> None:
    """Ten times the reply costs about ten times the work; the slack is for caches and noise, quadratic would be 100."""

    replies = {size: Reply(content=HOSTILE[kind](size), finish_reason="stop") for size in (20_000, 200_000)}

    def work(check: Check, size: int) -> float:
        start = time.process_time()
        grade(check, replies[size])
        return time.process_time() - start

    def too_slow(check: Check, tries: int) -> bool:
        small, large = (min(work(check, size) for _ in range(tries)) for size in replies)
        return large > 35 * max(small, 0.01)

    # A single measurement may be another process's fault; what looks slow is measured again, the best of several.
    assert [check for check in LOADED if too_slow(check, 1) and too_slow(check, 5)] == []
