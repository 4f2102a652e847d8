"""`contextrot rescore`: what it prints, what it writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import SMALL, Cli


@pytest.fixture
def recorded(cli: Cli, tmp_path: Path) -> Path:
    """A finished run of small.yaml on a simulated model that always knows the code."""
    done = cli("bench", "small.yaml", "--model", "sim/perfect", "--strategy", "full", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    return tmp_path / "run"


def test_the_runs_own_checks_change_nothing_and_nothing_is_written(cli: Cli, recorded: Path) -> None:
    before = {path: path.read_bytes() for path in recorded.rglob("*") if path.is_file()}
    done = cli("rescore", "run")
    assert done.returncode == 0, done.stderr
    assert "0 of them changed" in done.stdout
    assert {path: path.read_bytes() for path in recorded.rglob("*") if path.is_file()} == before


def test_a_changed_check_is_shown_with_both_reasons(cli: Cli, recorded: Path, tmp_path: Path) -> None:
    text = SMALL.replace("check: {type: recall, fact: code}", "check: {type: recall, value: PLUM-9}")
    (tmp_path / "today.yaml").write_text(text.replace("[{id: code, text", "[{id: code, reply: Noted., text"))
    # The probe tests no fact today: the question of the run was another one.
    done = cli("rescore", "run", "--scenario", "today.yaml")
    assert done.returncode == 5
    assert "it tested `code` then" in done.stderr


def test_json_names_every_change(cli: Cli, recorded: Path, tmp_path: Path) -> None:
    text = SMALL.replace(
        "check: {type: recall, fact: code}",
        "check: {type: all_of, checks: [{type: recall, fact: code}, {type: count, unit: words, at_most: 1}]}",
    )
    (tmp_path / "today.yaml").write_text(text, encoding="utf-8")
    done = cli("rescore", "run", "--scenario", "today.yaml", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["changed"] == len(found["changes"]) > 0
    assert {(change["before"], change["after"]) for change in found["changes"]} == {("pass", "fail")}
    assert {row["check"] for row in found["checks"]} == {"all_of"}
    shown = cli("rescore", "run", "--scenario", "today.yaml", "--show")
    assert shown.stdout.count("now fail: `count`") == found["changed"]


def test_a_written_run_is_reported_like_any_other(cli: Cli, recorded: Path, tmp_path: Path) -> None:
    done = cli("rescore", "run", "--out", "again")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "again" / "run.json").read_text())["rescored"]["from"] == "run"
    told, again = cli("report", "run", "--json"), cli("report", "again", "--json")
    assert again.returncode == 0, again.stderr
    first, second = json.loads(told.stdout), json.loads(again.stdout)
    assert (first.pop("run"), second.pop("run")) == ("run", "again")
    assert first["origin"].pop("rescored") == {}
    assert second["origin"].pop("rescored")["from"] == "run"
    assert first == second
    assert cli("rescore", "run", "--out", "again").returncode == 2


def test_names_that_match_nothing(cli: Cli, recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(SMALL.replace("id: small", "id: other"), encoding="utf-8")
    assert cli("rescore", "run", "--scenario", "other.yaml").returncode == 5
    assert cli("rescore", "nowhere").returncode == 2
    assert cli("rescore", "run", "--scenario", "nowhere.yaml").returncode == 2


def test_only_what_changes_is_a_row(cli: Cli, recorded: Path, tmp_path: Path) -> None:
    assert "1 row unchanged" in cli("rescore", "run").stdout
    assert "pass→fail" not in cli("rescore", "run").stdout
    text = SMALL.replace(
        "check: {type: recall, fact: code}",
        "check: {type: all_of, checks: [{type: recall, fact: code}, {type: count, unit: words, at_most: 1}]}",
    )
    (tmp_path / "today.yaml").write_text(text, encoding="utf-8")
    done = cli("rescore", "run", "--scenario", "today.yaml")
    assert "pass→fail" in done.stdout
    assert "unchanged" not in done.stdout


def test_a_sentence_about_many_scenarios_is_said_once() -> None:
    from contextrot.cli.rescore import _of

    assert _of(["a"]) == "a"
    assert _of(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
