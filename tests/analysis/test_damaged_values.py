"""A value that cannot be what was recorded leaves its session out with a sentence; nothing sound is called damaged."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from run_writer import SessionWriter, write_manifest, write_session, write_three_strategies

from contextrot.analysis.tables import load_run
from contextrot.errors import StoreError

KEY = "project-code--sim--fifo--r000"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_three_strategies(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def damage(folder: Path, kind: str, change: Callable[[dict[str, Any]], Any], key: str = KEY) -> int:
    """Change the first record of a kind in one session; the number of its line."""
    path = folder / "sessions" / f"{key}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if orjson.loads(line)["t"] == kind)
    record = orjson.loads(lines[number])
    change(record)
    lines[number] = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    path.write_bytes(b"".join(lines))
    return number + 1


def put(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        for name in path[:-1]:
            record = record[name]
        record[path[-1]] = value

    return change


DAMAGED = [
    ("call", ("turn",), "abc", "turn should be a whole number, not 'abc'"),
    ("call", ("turn",), -3, "turn should be a whole number from 0 on, not -3"),
    ("call", ("turn",), 2.5, "turn should be a whole number, not 2.5"),
    ("call", ("turn",), True, "turn should be a whole number, not true"),
    ("call", ("turn",), 2**63, "turn should be a whole number up to 9,007,199,254,740,992, not 9223372036854775808"),
    ("call", ("latency",), "soon", "latency should be a number, not 'soon'"),
    ("call", ("error",), {"code": 1}, "error should be text, not an object"),
    ("call", ("usage",), "many", "usage should be an object, not 'many'"),
    ("call", ("usage", "prompt_tokens"), "100", "prompt_tokens should be a whole number, not '100'"),
    ("call", ("occupancy",), [0.5], "occupancy should be a number, not a list"),
    ("call", ("view", "manifest"), [["lent", 0, 1], ["lent", 1, 2]], "manifest names 'lent', which is no status"),
    ("call", ("n",), None, "call should be a whole number, not null"),
    ("call", ("n",), [1], "n should be a whole number, not a list"),
    ("call", ("model",), 7, "model should be text, not 7"),
    ("call", ("reply",), "hello", "reply should be an object, not 'hello'"),
    ("verdict", ("turn",), None, "turn should be a whole number, not null"),
    ("verdict", ("turn",), "x", "turn should be a whole number, not 'x'"),
    ("verdict", ("outcome",), 1, "outcome should be text, not 1"),
    ("verdict", ("reason",), ["no"], "reason should be text, not a list"),
    ("verdict", ("in_view",), "yes", "in_view should be true or false, not 'yes'"),
    ("head", ("scenario",), None, "scenario should be text, not null"),
    ("head", ("repeat",), "first", "repeat should be a whole number, not 'first'"),
    ("head", ("window",), "8000", "window should be a whole number, not '8000'"),
    ("head", ("key",), {"a": 1}, "session should be text, not an object"),
    ("end", ("ended",), ["completed"], "ended should be text, not a list"),
    ("end", ("turn",), "last", "last_turn should be a whole number, not 'last'"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path", "value", "said"), DAMAGED)
def test_a_damaged_value_leaves_its_session_out_and_says_where(folder, kind, path, value, said):
    line = damage(folder, kind, put(*path, value=value))
    run = load_run(folder)
    (problem,) = run.problems
    assert said in problem
    assert problem.endswith("; the session is left out")
    assert re.match(rf"sessions/{re.escape(KEY)}\.jsonl:\d+ is damaged: ", problem)
    if kind in ("call", "verdict"):
        assert problem.startswith(f"sessions/{KEY}.jsonl:{line} ")
    assert len(run.sessions) == 23
    assert KEY not in set(run.turns["session"]) | set(run.verdicts["session"])
    assert run.summary.problems == [problem]  # and the figures come from the others
    assert next(group for group in run.summary.groups if group.strategy == "fifo").sessions == 5


def test_a_record_that_is_no_object_is_damage(folder):
    path = folder / "sessions" / f"{KEY}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b"[1,2]\n", *lines[4:]]))
    assert load_run(folder).problems == (
        f"sessions/{KEY}.jsonl:5 is damaged: a record should be an object, not a list; the session is left out",
    )


def test_what_is_unknown_or_unusual_is_no_damage(tmp_path):
    write_manifest(tmp_path)
    writer = SessionWriter(tmp_path, "s", seed=-1, window=None, family=None)
    writer.call(4.0, usage=None, occupancy=None, latency=1, token_drift=-0.25, error=None, attempts=None, view=None)
    writer.call(5, occupancy=1e9, usage={"prompt_tokens": 10**12, "cost": 1e-9}, outcome="a new one")
    writer.verdict(5, "fail", since_turns=-1, since_tokens=None, in_view=None, reason=None, call=None)
    writer.end(5, "a new end")
    run = load_run(tmp_path)
    assert run.problems == ()
    assert run.turns["turn"].tolist() == [4, 5]
    assert run.turns["prompt_tokens"].dropna().tolist() == [10**12]
    assert run.sessions["seed"].tolist() == [-1]
    assert run.sessions["ended"].tolist() == ["a new end"]


def test_a_run_of_three_strategies_has_no_problem(whole):
    run = load_run(whole)
    assert run.problems == ()
    assert len(run.sessions) == 24


def test_a_folder_among_the_session_files_is_passed_over(folder):
    (folder / "sessions" / "odd.jsonl").mkdir()
    run = load_run(folder)
    assert run.problems == ("sessions/odd.jsonl was left out: it is no file",)
    assert len(run.sessions) == 24


def test_of_two_files_with_one_key_the_second_is_left_out(folder):
    original = folder / "sessions" / f"{KEY}.jsonl"
    shutil.copy(original, folder / "sessions" / "zz-copy.jsonl")
    run = load_run(folder)
    assert run.problems == (f"sessions/zz-copy.jsonl was left out: it has the key of sessions/{KEY}.jsonl, {KEY}",)
    assert len(run.sessions) == 24


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"models": "sim"}, "models should be a list, not 'sim'"),
        ({"models": ["sim"]}, "models[0] should be an object, not 'sim'"),
        ({"models": [{"id": "sim"}]}, "models[0][label] should be text, not null"),
        ({"scenarios": {"id": "a"}}, "scenarios should be a list, not an object"),
        ({"scenarios": [{"id": 7}]}, "scenarios[0][id] should be text, not 7"),
        ({"strategies": [None]}, "strategies[0] should be text, not null"),
        ({"versions": ["0.1"]}, "versions should be an object, not a list"),
        ({"status": 3}, "status should be text, not 3"),
        ({"config": []}, "config should be an object, not a list"),
        ({"limit": {"cap": "max_cost", "value": "2"}}, "limit.value should be a number, not '2'"),
        ({"limit": "cost"}, "limit should be an object, not 'cost'"),
        ({"rescored": {"from": "a", "changed": "all"}}, "rescored.changed should be a whole number, not 'all'"),
    ],
)
def test_a_run_json_of_another_shape_is_refused_in_a_sentence(tmp_path, fields, said):
    write_manifest(tmp_path, **fields)
    with pytest.raises(StoreError, match=re.escape(f"run.json is damaged: {said}")):
        load_run(tmp_path)


def test_a_run_json_without_these_fields_is_read(tmp_path):
    write_session(tmp_path, "fifo", 0)
    (tmp_path / "run.json").write_bytes(orjson.dumps({"format_version": 1, "git_commit": None, "limit": None}))
    run = load_run(tmp_path)
    assert run.summary.sessions == 1
    assert run.summary.origin.limit == {}
