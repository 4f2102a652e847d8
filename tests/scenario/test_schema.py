"""The JSON Schema that editors use agrees with the loader, and the shipped scenarios agree with both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from contextrot.checks.base import REGISTRY
from contextrot.errors import ScenarioError
from contextrot.scenario import Scenario, expand, json_schema, load_scenario, load_scenarios
from contextrot.scenario.library import library_dir, resolve, shipped, suites
from contextrot.scenario.loader import parse_scenario

SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
SHIPPED = [pytest.param(entry, id=f"{entry.suite}/{entry.id}") for entry in shipped()]


def plain(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_schema_is_a_schema_and_plain_json() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_every_field_is_described_and_every_check_type_is_there() -> None:
    for name in ("Constraint", "Fact", "Probe", "ToolSpec", "Filler", "SessionSpec", "Item"):
        for key, field in SCHEMA["$defs"][name]["properties"].items():
            assert field.get("description"), f"{name}.{key}"
    for key, field in SCHEMA["properties"].items():
        assert field.get("description"), key
    assert {f"check_{name}" for name in REGISTRY} <= set(SCHEMA["$defs"])


@pytest.mark.parametrize("entry", SHIPPED)
def test_a_shipped_scenario_satisfies_schema_and_loader(entry: Any) -> None:
    assert not list(VALIDATOR.iter_errors(plain(entry.path)))
    scenario = load_scenario(entry.path)
    assert scenario.id == entry.id
    assert scenario.title == entry.title
    assert scenario.description
    for cell in scenario.cells():
        for history in ("live", "scripted"):
            script = expand(cell, seed=1, repeat=0, history=history)  # type: ignore[arg-type]
            assert len(script.turns) == cell.session.turns


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("sytem",), "x"),
        (("session", "histroy"), "live"),
        (("session", "turns"), "ten"),
        (("session", "turns"), 0),
        (("facts", 0, "valeus"), ["a"]),
        (("facts", 0, "values"), [1]),
        (("facts", 0, "values"), []),
        (("probes", 0, "mode"), "frok"),
        (("probes", 0, "at"), {"evry": 2}),
        (("probes", 0, "at"), "last"),
        (("probes", 0, "check"), {"type": "recal"}),
        (("probes", 0, "check"), {"type": "recall", "fcat": "project-code"}),
        (("probes", 0, "check"), {"fact": "project-code"}),
        (("filler", "kind"), "tikets"),
        (("id",), "a b"),
    ],
)
def test_the_schema_and_the_models_refuse_the_same_typos(path: tuple[Any, ...], value: Any) -> None:
    raw = plain(library_dir() / "standard" / "pinned-fact-recall.yaml")
    place = raw
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    assert list(VALIDATOR.iter_errors(raw))
    with pytest.raises(ValueError):
        Scenario.model_validate(raw)


def test_a_key_without_a_value_is_refused_by_the_schema_as_by_the_loader() -> None:
    raw = plain(library_dir() / "standard" / "pinned-fact-recall.yaml")
    raw["title"] = None
    assert list(VALIDATOR.iter_errors(raw))
    with pytest.raises(ScenarioError, match="`title` has no value"):
        parse_scenario(yaml.safe_dump(raw))


def test_the_hash_is_of_what_is_said_and_not_of_how_it_is_written() -> None:
    text = "contextrot: 1\nid: x\nsession: {turns: 5}\nprobes: [{id: p, ask: hi, at: 1, check: {type: json}}]\n"
    one = parse_scenario(text)
    two = parse_scenario("# a comment\n" + text.replace("{turns: 5}", "\n  turns: 5"))
    other = parse_scenario(text.replace("hi", "ho"))
    assert one.content_hash == two.content_hash
    assert one.content_hash != other.content_hash
    assert len(one.content_hash) == 64


def test_a_scenario_knows_its_file() -> None:
    path = library_dir() / "standard" / "json-format.yaml"
    scenario = load_scenario(path)
    assert scenario.path == path
    assert scenario.base_dir == path.parent
    assert Scenario.model_validate(plain(path)).path is None


def test_the_standard_suite_covers_the_three_subjects_at_forty_turns() -> None:
    scenarios = {scenario.id: scenario for scenario in load_scenarios(["standard"])}
    assert {"json-format", "tool-invocation", "pinned-fact-recall"} <= set(scenarios)
    for scenario in scenarios.values():
        assert scenario.session.turns == 40
        assert expand(scenario, seed=0, repeat=0, history="gold").history == "gold"


def test_names_lead_to_files(tmp_path: Path) -> None:
    assert "standard" in suites()
    assert resolve("json-format") == [library_dir() / "standard" / "json-format.yaml"]
    assert resolve("standard") == resolve(library_dir() / "standard")
    assert set(resolve("standard")) <= set(resolve(library_dir()))
    with pytest.raises(ScenarioError, match="did you mean `standard`"):
        resolve("standart")
    with pytest.raises(ScenarioError, match="no such file"):
        resolve(tmp_path / "none.yaml")
    with pytest.raises(ScenarioError, match="no scenario file"):
        resolve(tmp_path)


def test_several_files_are_told_together_and_two_with_one_id_are_refused(tmp_path: Path) -> None:
    text = "contextrot: 1\nid: x\nsession: {turns: 5}\nprobes: [{id: p, ask: hi, at: 1, check: {type: json}}]\n"
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match="`x` is also used by"):
        load_scenarios([tmp_path])
    (tmp_path / "a.yaml").write_text(text.replace("turns: 5", "turns: five"), encoding="utf-8")
    (tmp_path / "c.yaml").write_text("- 1\n", encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_scenarios([tmp_path / "a.yaml", tmp_path / "c.yaml", "standart"])
    assert len(caught.value.problems) == 3
