"""The labelled replies measure what they say: all checks, both directions, halves alike, nothing reused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from contextrot.checks import describe, load_check

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "benchmarks" / "labelled").glob("*.yaml"))
#: A judge's error is measured against a user's own labels.
UNLABELLED = {"judge"}


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    """Every case, its check's type added."""
    found = []
    for path in FILES:
        content = read(path)
        found += [case | {"type": content["checks"][case["check"]]["type"]} for case in content["cases"]]
    return found


def test_every_check_is_labelled_in_both_directions(cases: list[dict[str, Any]]) -> None:
    assert len(cases) >= 450
    labels = Counter((case["type"], case["label"]) for case in cases)
    assert {case["type"] for case in cases} == {info.type for info in describe()} - UNLABELLED
    for info in describe():
        if info.type not in UNLABELLED:
            assert min(labels[info.type, "pass"], labels[info.type, "fail"]) >= 3, info.type
    assert Counter(case["label"] for case in cases)["fail"] >= 0.4 * len(cases)


def test_the_halves_are_alike(cases: list[dict[str, Any]]) -> None:
    halves = Counter((case["type"], case["label"], case["split"]) for case in cases)
    for kind, label, _ in set(halves):
        assert abs(halves[kind, label, "a"] - halves[kind, label, "b"]) <= 1, (kind, label)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_cases_are_whole_and_named_once(path: Path) -> None:
    content = read(path)
    ids = [case["id"] for case in content["cases"]]
    assert len(ids) == len(set(ids))
    assert {case["check"] for case in content["cases"]} == set(content["checks"])
    for case in content["cases"]:
        assert {"id", "check", "reply", "label", "split", "why"} <= set(case) <= {
            "id", "check", "reply", "label", "split", "why", "facts",
        }  # fmt: skip
        assert case["label"] in ("pass", "fail", "inconclusive")
        assert case["split"] in ("a", "b")
    for check in content["checks"].values():
        if check["type"] != "python":
            load_check(check)


def test_no_reply_is_one_that_a_checker_was_tuned_on(cases: list[dict[str, Any]]) -> None:
    """Short replies (a bare number, an empty object) are anyone's; a sentence that stands in both sets is a copy."""

    def key(reply: Any) -> bytes:
        return orjson.dumps(reply, option=orjson.OPT_SORT_KEYS)

    tuned = {
        key(case["reply"])
        for path in sorted(Path(__file__).parent.glob("*.yaml"))
        for case in yaml.safe_load(path.read_text(encoding="utf-8"))
    }
    copied = [case["id"] for case in cases if key(case["reply"]) in tuned and len(str(case["reply"])) > 12]
    assert copied == []
