"""Grids on the command line: what `validate` says of one, and the settings that would contradict it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Cli

GRID = """\
contextrot: 1
id: crossed
facts: [{id: code, text: "The code is {value}.", values: [BLUE-42, TEAL-7]}]
session: {turns: 4}
probes:
  - {id: code, ask: What is the code?, at: [2, 4, 8], check: {type: recall, fact: code}}
grid:
  turns: [4, 8]
  mode: [fork, inline]
"""


@pytest.fixture
def crossed(tmp_path: Path) -> Path:
    path = tmp_path / "crossed.yaml"
    path.write_text(GRID, encoding="utf-8")
    return path


def test_validate_counts_the_cells(cli: Cli, crossed: Path) -> None:
    done = cli("validate", "crossed.yaml", "small.yaml")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "crossed.yaml: crossed is valid: 4 cells of up to 8 turns, 10 probe questions",
        "small.yaml: small is valid: 6 turns, 4 probe questions",
        "all 2 are valid",
    ]
    rows = json.loads(cli("validate", "crossed.yaml", "small.yaml", "--json").stdout)["valid"]
    assert [cell["id"] for cell in rows[0]["cells"]] == [
        f"crossed.turns-{turns}.{mode}" for turns in (4, 8) for mode in ("fork", "inline")
    ]
    assert "cells" not in rows[1]


def test_validate_tells_a_faulty_cell_with_the_grids_line(cli: Cli, crossed: Path) -> None:
    crossed.write_text(GRID.replace("[2, 4, 8]", "[1, 8]").replace("turns: [4, 8]", "turns: [8]"), encoding="utf-8")
    done = cli("validate", "crossed.yaml")
    assert done.returncode == 2
    assert done.stderr.startswith("crossed.yaml:7: in the cell `crossed.turns-8.inline`: the inline probe `code` takes")
    assert done.stderr.splitlines()[-2].endswith("(line 6)")
    assert done.stderr.splitlines()[-1] == "found 1 fault"


def test_a_length_for_all_contradicts_a_grid_over_lengths(cli: Cli, crossed: Path) -> None:
    arguments = ("bench", "crossed.yaml", "--model", "sim/perfect", "--strategy", "full", "--repeats", "1")
    refused = cli(*arguments, "--turns", "6", "--out", "refused")
    assert refused.returncode == 2
    assert "the grid of scenario 'crossed' crosses `turns` (crossed.yaml)" in refused.stderr
    assert not (crossed.parent / "refused").exists()
    done = cli(*arguments, "--json", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["groups"]) == 4


def test_an_axis_that_is_none_is_answered_with_those_there_are(cli: Cli, crossed: Path) -> None:
    crossed.write_text(GRID + "  temperature: [0, 1]\n", encoding="utf-8")
    done = cli("validate", "crossed.yaml")
    assert done.returncode == 2
    assert "the axes of a grid are filler, history, mode, place, tokens_per_turn, turns" in done.stderr
    assert "did you mean" not in done.stderr
