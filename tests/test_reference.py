"""docs/reference.md names what the code has, no more and no less."""

from __future__ import annotations

import re
from pathlib import Path

from contextrot.cli import app
from contextrot.cli.exits import Exit
from contextrot.config import ModelEntry
from contextrot.models.simulated import COMMON, KINDS
from contextrot.strategies import Size

TEXT = (Path(__file__).parent.parent / "docs" / "reference.md").read_text(encoding="utf-8")


def test_every_exit_code_is_explained() -> None:
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.M)] == [code.value for code in Exit]


def test_every_command_is_in_the_table_and_no_other() -> None:
    known = {command.name for command in app.registered_commands}
    for group in app.registered_groups:
        assert group.typer_instance is not None
        known |= {f"{group.name} {command.name}" for command in group.typer_instance.registered_commands}
    table = TEXT.split("## Commands")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", table, re.M)
    assert {name for row in rows for name in re.findall(r"`([^`]+)`", row)} == known


def test_every_simulated_model_and_parameter_is_explained_with_its_default() -> None:
    assert re.findall(r"^\| `sim/(\w+)` \|", TEXT, re.M) == list(KINDS)
    for kind in KINDS.values():
        for name, setting in kind.settings.items():
            assert f"`{name}` ({setting.default:g})" in TEXT
    for name in COMMON:
        assert f"`{name}`" in TEXT


def test_every_key_of_a_model_entry_and_unit_of_a_size_is_named() -> None:
    for name in ModelEntry.model_fields:
        assert re.search(rf"\b{name}\b", TEXT)
    for name in Size.model_fields:
        assert f"`{{{name}: " in TEXT
