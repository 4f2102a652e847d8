"""BFCL multi-turn: the calls wanted at each turn, without those that only a run tool could tell."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from task_samples import imported, script_of

from contextrot.checks import check as graded
from contextrot.errors import ConfigError
from contextrot.tasks import REGISTRY

SAMPLE = REGISTRY["bfcl"].sample
assert SAMPLE is not None


def checks(**options: str) -> dict[str, list[dict[str, Any]]]:
    raws = REGISTRY["bfcl"].read(SAMPLE, **options).scenarios
    return {raw["id"]: [probe["check"] for probe in raw["probes"]] for raw in raws}


def test_each_turn_asks_its_question_inline_with_the_tools_of_its_classes() -> None:
    rows = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    for row, scenario in zip(rows, imported("bfcl", SAMPLE).values(), strict=True):
        script = script_of(scenario)
        assert [turn.user for turn in script.turns] == [turn[0]["content"] for turn in row["question"]]
        assert all(turn.inline is not None for turn in script.turns)
        assert not set(row.get("excluded_function", [])) & {tool.name for tool in script.tools}
        # A later turn has no meaning in a fresh session.
        assert [control.id for control in script.controls] == ["turn-1"]


def test_arguments_the_user_said_are_compared_and_others_are_not() -> None:
    account = checks()["bfcl-multi-turn-base-102"]
    assert account[0] == {"type": "tool_call", "name": "place_order", "arguments": {"price": 700, "amount": 100}}
    assert account[1] == {"type": "tool_call", "name": "get_order_details"}  # the order's number is a tool's result
    assert checks(arguments="none")["bfcl-multi-turn-base-102"][0] == {"type": "tool_call", "name": "place_order"}
    everything = checks(arguments="all")["bfcl-multi-turn-base-102"]
    assert everything[1]["arguments"] == {"order_id": 12446}


def test_several_calls_of_one_turn_are_all_wanted() -> None:
    wanted = checks()["bfcl-multi-turn-base-1"][1]
    both = [
        {"function": {"name": "cd", "arguments": '{"folder": "workspace"}'}, "id": "a"},
        {"function": {"name": "mv", "arguments": '{"source": "log.txt", "destination": "archive"}'}, "id": "b"},
    ]
    assert graded(wanted, {"tool_calls": both}).outcome == "pass"
    assert graded(wanted, {"tool_calls": both[:1]}).outcome == "fail"


def test_calls_in_python_become_arguments_by_name(tmp_path: Path) -> None:
    said = ("Sort 'a.txt', then wait.", "Hm.")
    turns = [[{"role": "user", "content": text}] for text in said]
    entry = {"id": "e", "question": turns, "involved_classes": ["GorillaFileSystem"]}
    folder = data_folder(tmp_path, entry, [["sort('a.txt')"], []])
    [raw] = REGISTRY["bfcl"].read(folder).scenarios
    assert [probe["check"] for probe in raw["probes"]] == [
        {"type": "tool_call", "name": "sort", "arguments": {"file_name": "a.txt"}},
        {"type": "no_tool_call"},
    ]


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([["open('a')"]], "is of a tool that the entry does not have"),
        ([["sort(open('a'))"]], "is not a call with plain arguments"),
        ([["__import__('os').system('x')"]], "is not a call with plain arguments"),
        ([], "questions and wanted calls differ in number"),
    ],
)
def test_wanted_calls_are_read_and_never_run(calls: list[list[str]], said: str, tmp_path: Path) -> None:
    entry = {"id": "e", "question": [[{"role": "user", "content": "Go."}]], "involved_classes": ["GorillaFileSystem"]}
    with pytest.raises(ConfigError, match=said):
        REGISTRY["bfcl"].read(data_folder(tmp_path, entry, calls))


def test_categories_that_need_running_tools_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "BFCL_v4_multi_turn_long_context.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match="category long_context needs what is not done here"):
        REGISTRY["bfcl"].read(path)


def test_the_installed_package_is_found_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "bfcl_eval"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')", encoding="utf-8")
    (package / "data").symlink_to(SAMPLE.parent)
    monkeypatch.syspath_prepend(tmp_path)
    assert len(REGISTRY["bfcl"].read(limit=2).scenarios) == 2


@pytest.mark.skipif(find_spec("bfcl_eval") is not None, reason="bfcl-eval is installed here")
def test_without_the_package_it_says_how_to_get_it() -> None:
    with pytest.raises(ConfigError, match="pip install --no-deps bfcl-eval"):
        REGISTRY["bfcl"].read()


def data_folder(folder: Path, entry: dict[str, Any], calls: list[list[str]]) -> Path:
    """A data folder of the package with one entry."""
    name = "BFCL_v4_multi_turn_base.json"
    (folder / "possible_answer").mkdir()
    (folder / name).write_text(json.dumps(entry), encoding="utf-8")
    (folder / "possible_answer" / name).write_text(json.dumps({"id": "e", "ground_truth": calls}), encoding="utf-8")
    (folder / "multi_turn_func_doc").symlink_to(SAMPLE.parent / "multi_turn_func_doc")
    return folder
