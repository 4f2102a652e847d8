"""A judge against labels: figures that follow from known answers, faults of a labels file by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextrot.bench.agreement import Labelled, Opinion, compared, load_labels, measure
from contextrot.bench.judging import create_judge
from contextrot.checks.judge import Vote, verdict_of
from contextrot.errors import ConfigError
from contextrot.models import ModelSpec

RUBRIC = "The reply is friendly."
KEPT = "This answer keeps to the rubric."


def opinion(label: bool, *votes: bool | None) -> Opinion:
    cast = tuple(Vote(vote) for vote in votes)
    return Opinion(Labelled(RUBRIC, "ask", "reply", label), verdict_of(cast, len(cast)), cast)


def test_every_figure_of_a_small_table() -> None:
    # rows: label; columns: verdict. 20 pass/pass, 5 pass/fail, 10 fail/pass, 15 fail/fail: Cohen's kappa is 0.4
    opinions = [opinion(True, True)] * 20 + [opinion(True, False)] * 5
    opinions += [opinion(False, True)] * 10 + [opinion(False, False)] * 15 + [opinion(True, None)] * 2
    found = compared("judge", 1, opinions)
    assert found.agreement[:3] == (35, 50, 0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.kappa_low is not None
    assert found.kappa_high is not None
    assert found.kappa_low < 0.4 < found.kappa_high
    assert found.false_pass[:3] == (10, 25, 0.4)
    assert found.false_fail[:3] == (5, 25, 0.2)
    assert found.undecided[:2] == (2, 52)
    assert found.agreement.low == pytest.approx(0.5625, abs=1e-4)  # Wilson's interval of 35 of 50
    assert found.agreement.high == pytest.approx(0.8090, abs=1e-4)


def test_agreement_with_itself_is_that_of_votes_on_one_reply() -> None:
    found = compared("judge", 3, [opinion(True, True, True, True), opinion(False, False, True, False)])
    assert found.consistency[:2] == (5, 6)


@pytest.mark.parametrize("label", [True, False])
def test_kappa_is_not_claimed_where_one_side_is_all_the_same(label: bool) -> None:
    found = compared("judge", 1, [opinion(label, True), opinion(label, False)])
    assert found.kappa is None
    assert (found.false_pass if label else found.false_fail).share is None


async def test_a_simulated_judge_is_as_good_as_it_is_made() -> None:
    labels = [Labelled(RUBRIC, "ask", KEPT if k % 2 else "Go away.", bool(k % 2), k) for k in range(200)]
    perfect = await measure(create_judge(ModelSpec("sim/perfect", "sim/perfect")), labels, votes=1)
    assert (perfect.agreement.share, perfect.kappa) == (1, 1)
    name = "sim/hazard?hazard=0.2"
    flawed = await measure(create_judge(ModelSpec(name, name)), labels, votes=1)
    assert flawed.false_fail.low is not None
    assert flawed.false_fail.high is not None
    assert flawed.false_fail.low < 0.2 < flawed.false_fail.high
    assert flawed.false_pass.hits == 0
    voted = await measure(create_judge(ModelSpec(name, name)), labels, votes=9)
    assert voted.false_fail.share is not None
    assert flawed.false_fail.share is not None
    assert voted.false_fail.share < flawed.false_fail.share
    assert voted.consistency.share is not None
    assert voted.consistency.share < 1
    assert [reply["line"] for reply in voted.to_dict()["replies"]] == list(range(200))


def labels_file(folder: Path, text: str) -> Path:
    path = folder / "labels.yaml"
    path.write_text(text, encoding="utf-8")
    return path


GOOD = "- {rubric: The reply is friendly., ask: hi, reply: Hello!, label: pass}\n"


def test_a_labels_file_is_read_with_its_lines(tmp_path: Path) -> None:
    found = load_labels(labels_file(tmp_path, GOOD + GOOD.replace("pass", "fail")))
    rubric = "The reply is friendly."
    assert found == [Labelled(rubric, "hi", "Hello!", True, 1), Labelled(rubric, "hi", "Hello!", False, 2)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "labels.yaml:1: labels are a list"),
        ("a: b\n", "labels.yaml:1: labels are a list"),
        (GOOD + GOOD.replace("pass", "good"), "labels.yaml:2: `label` is 'good', but must be pass or fail"),
        (GOOD + GOOD.replace(", label: pass", ""), "labels.yaml:2: `label` is missing"),
        (GOOD.replace("Hello!", "12"), "labels.yaml:1: `reply` must be text"),
        (GOOD.replace("ask", "question"), "labels.yaml:1: unknown key `question`"),
        ("- just text\n", "labels.yaml:1: `ask` is missing"),
    ],
)
def test_faults_of_a_labels_file_are_told_by_line(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_labels(labels_file(tmp_path, text))
    assert sentence in str(caught.value)


def test_a_missing_labels_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        load_labels(tmp_path / "labels.yaml")
