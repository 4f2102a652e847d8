"""Every file of loader_cases.yaml gets the answer written beside it: file:line, the words, and no follow-on faults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from contextrot.errors import ScenarioError
from contextrot.scenario import expand, load_scenario

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("loader_cases.yaml").read_text(encoding="utf-8"))
BASE = {
    "contextrot": "contextrot: 1",
    "id": "id: base",
    "session": "session: {turns: 5}",
    "facts": 'facts: [{id: f, text: "The code is {value}.", values: [teal-7]}]',
    "probes": 'probes: [{id: p, ask: "code?", at: [0, 2], check: {type: recall, fact: f}}]',
}


def text_of(case: dict[str, Any]) -> str:
    if "file" in case:
        return str(case["file"])
    return "\n".join((BASE | case.get("lines", {})).values()) + "\n" + case.get("add", "") + "\n"


def written(case: dict[str, Any], folder: Path) -> Path:
    path = folder / "case.yaml"
    path.write_bytes(text_of(case).encode("utf-8"))
    return path


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if not case.get("loads")])
def test_a_faulty_file_is_refused_with_line_and_reason(case: dict[str, Any], tmp_path: Path) -> None:
    path = written(case, tmp_path)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    told = str(caught.value)
    for word in case["error"]:
        assert str(word).lower() in told.lower()
    for problem in caught.value.problems:
        assert re.match(re.escape(str(path)) + r":\d+: ", problem), problem
    if "line" in case:
        assert f"{path}:{case['line']}: " in told
    if "problems" in case:
        assert len(caught.value.problems) == case["problems"], told
    lines = [int(problem.removeprefix(f"{path}:").split(":")[0]) for problem in caught.value.problems]
    assert lines == sorted(lines)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if case.get("loads")])
def test_a_sound_file_loads_and_its_texts_are_sent_as_they_are(case: dict[str, Any], tmp_path: Path) -> None:
    scenario = load_scenario(written(case, tmp_path))
    script = expand(scenario, seed=1, repeat=0)
    asks = [ask.text for ask in script.fresh] + [ask.text for turn in script.turns for ask in turn.forks]
    sent = "\n".join([script.system or "", *asks, *(turn.user for turn in script.turns)])
    for text in case.get("sends", []):
        assert text in sent
