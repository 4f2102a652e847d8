"""`contextrot judge`: figures on the screen and as JSON; sentences for what cannot be measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import SMALL, Cli

LABELS = """\
- {rubric: The reply is friendly., ask: hi, reply: This answer keeps to the rubric., label: pass}
- {rubric: The reply is friendly., ask: hi, reply: Go away., label: fail}
- {rubric: The reply is friendly., ask: hi, reply: Hello dear., label: pass}
"""


def test_what_is_measured_is_shown(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "labels.yaml").write_text(LABELS, encoding="utf-8")
    done = cli("judge", "labels.yaml", "--judge", "sim/perfect")
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout
    assert "67 % 2 of 3" in " ".join(done.stdout.split())
    assert "0.40" in done.stdout
    assert "line 3: labelled pass" in done.stdout


def test_the_judge_may_stand_in_the_configuration_and_the_figures_are_json(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "labels.yaml").write_text(LABELS, encoding="utf-8")
    (tmp_path / "contextrot.yaml").write_text("judge: sim/perfect\n", encoding="utf-8")
    done = cli("judge", "labels.yaml", "--json", "--votes", "5")
    found = json.loads(done.stdout)
    assert (found["n"], found["votes"]) == (3, 5)
    assert found["agreement"]["hits"] == 2
    assert [reply["outcome"] for reply in found["replies"]] == ["pass", "fail", "fail"]


def test_what_cannot_be_measured_is_a_sentence(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "labels.yaml").write_text(LABELS.replace("label: fail", "label: bad"), encoding="utf-8")
    for arguments, word in [
        (("judge", "labels.yaml"), "no judge is named"),
        (("judge", "labels.yaml", "--judge", "sim/perfect"), "labels.yaml:2"),
        (("judge", "labels.yaml", "--judge", "sim/perfect"), "must be pass or fail"),
        (("judge", "none.yaml", "--judge", "sim/perfect"), "cannot read"),
        (("judge", "labels.yaml", "--judge", "sim/perfect", "--votes", "2"), "odd"),
    ]:
        done = cli(*arguments)
        assert done.returncode == 2
        assert word in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("written", ["no", "true", "bad", "1", "''"])
def test_a_label_that_is_none_is_told_what_it_may_be(cli: Cli, tmp_path: Path, written: str) -> None:
    (tmp_path / "labels.yaml").write_text(LABELS.replace("label: fail", f"label: {written}"), encoding="utf-8")
    done = cli("judge", "labels.yaml", "--judge", "sim/perfect")
    assert done.returncode == 2
    assert "must be pass or fail" in done.stderr


CHATTY = """\
print("imported")
class Agent:
    def __init__(self):
        print("made")
    def feed(self, text):
        print("fed")
        return '{"verdict": "pass", "reason": "r"}'
"""


def test_what_an_agent_prints_is_no_part_of_the_json(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "chatty.py").write_text(CHATTY, encoding="utf-8")
    (tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")
    done = cli("bench", "small.yaml", "--model", "python:chatty:Agent", "--json", "--repeats", "1")
    assert json.loads(done.stdout)["run"]
    assert all(word in done.stderr for word in ("imported", "made", "fed"))
    (tmp_path / "labels.yaml").write_text(LABELS, encoding="utf-8")
    done = cli("judge", "labels.yaml", "--judge", "python:chatty:Agent", "--json")
    assert json.loads(done.stdout)["n"] == 3
    assert "fed" in done.stderr
