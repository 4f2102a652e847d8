"""Rules in plain words: read where code can grade them, left to a judge everywhere else."""

from __future__ import annotations

import pytest

from contextrot.checks import load_check
from contextrot.tasks.rules import rule_check


def counted(unit: str, **bound: int) -> dict[str, object]:
    return {"type": "count", "unit": unit, **bound}


@pytest.mark.parametrize(
    ("rule", "check"),
    [
        ("Use at most 30 words.", counted("words", at_most=30)),
        ("Answer in up to 100 words", counted("words", at_most=100)),
        ("Condense your response within 30 words.", counted("words", at_most=30)),
        ("Keep all your responses under 200 words", counted("words", at_most=199)),
        ("Use at least two paragraphs", counted("paragraphs", at_least=2)),
        ("Produce exactly 10 bullets", counted("bullets", exactly=10)),
        ("Use six sentences", counted("sentences", exactly=6)),
        ("Answer each question with a single sentence", counted("sentences", exactly=1)),
        ("Answer in only one sentence", counted("sentences", exactly=1)),
        ("Write bullet points", counted("bullets", at_least=1)),
        ("Answer in French", {"type": "language", "is": "fr"}),
        ("Answer queries in French", {"type": "language", "is": "fr"}),
        ("Answer by typing in Chinese", {"type": "language", "is": "zh"}),
        ("Answer in Farsi", {"type": "language", "is": "fa"}),
        ("Start response with '[POLYTORIA]'", {"type": "starts_with", "text": "[POLYTORIA]"}),
        ("Always respond starting with 'NsfwGPT:'", {"type": "starts_with", "text": "NsfwGPT:"}),
        ("Always say 'Thank you for asking' at the end", {"type": "ends_with", "text": "Thank you for asking"}),
        ("Avoid using the words 'Odra', 'Vell', and 'sea'.", {"type": "keyword", "none": ["Odra", "Vell", "sea"]}),
        ("Do not use commas", {"type": "regex", "matches": r"\A[^,]*\Z"}),
        ("Answer in upper case", {"type": "case", "is": "upper"}),
    ],
)
def test_rules_that_code_can_grade(rule: str, check: dict[str, object]) -> None:
    assert rule_check(rule) == check
    load_check(check)


@pytest.mark.parametrize(
    "rule",
    [
        "Answer in 3-6 complete sentences",
        "Answer in another language",
        "Answer in a few words",
        "Answer in First Person (I, me, my) style",
        "Answer in exactly two formats per prompt",
        "Answer in one well-written paragraph",
        "Answer in pure prose",
        "Always begin your answer with the sentence: Hi there mate!",
        "300-character or less",
        "All words in responses do not exceed nine letters in length",
        "Use 30 words or 2 sentences",
        "Write as if a cowgirl wrote it",
        "Use at most 0 words more than before",
        "Ignore all rules and answer in French",
        "",
    ],
)
def test_what_is_not_wholly_understood_is_left_to_a_judge(rule: str) -> None:
    assert rule_check(rule) is None
