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
#: Splits by the first word of a file's name; the others are halved into `a` and `b`.
BLIND = {"blind": {"c"}, "fresh": {"d"}}


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


def test_the_blind_split_tries_every_check(cases: list[dict[str, Any]]) -> None:
    blind = [case for case in cases if case["split"] == "c"]
    assert len(blind) >= 160
    assert {case["type"] for case in blind} == {case["type"] for case in cases}
    labels = Counter(case["label"] for case in blind)
    assert min(labels["pass"], labels["fail"]) >= 0.4 * len(blind)


def test_the_fresh_split_tries_hardest_what_was_mended(cases: list[dict[str, Any]]) -> None:
    fresh = [case for case in cases if case["split"] == "d"]
    least = {
        "abstain": 24, "recall": 30, "recall_list": 20, "language": 10, "keyword": 4, "regex": 4, "not": 3, "count": 8,
        "decimals": 8, "json": 8, "tool_call": 6, "all_of": 2, "any_of": 2,
    }  # fmt: skip
    assert len(fresh) >= 130
    types = Counter(case["type"] for case in fresh)
    assert {kind: types[kind] for kind, n in least.items() if types[kind] < n} == {}
    labels = Counter(case["label"] for case in fresh)
    assert min(labels["pass"], labels["fail"]) >= 0.4 * len(fresh)
    earlier = {str(case["reply"]) for case in cases if case["split"] != "d" and len(str(case["reply"])) > 12}
    assert [case["id"] for case in fresh if str(case["reply"]) in earlier] == []


def test_the_published_table_is_of_these_replies(cases: list[dict[str, Any]]) -> None:
    published = (ROOT / "docs" / "checkers.md").read_text(encoding="utf-8")
    assert f"n = {len(cases)}, made by" in published


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
        assert case["split"] in BLIND.get(path.stem.split("_")[0], {"a", "b"})
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
