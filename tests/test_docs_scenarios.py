"""docs/scenarios.md says what the shipped files say: it is what docs/generate_scenarios.py makes of them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from contextrot import load_scenario
from contextrot.scenario.library import Shipped, shipped

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_is_made_from_the_files() -> None:
    made = runpy.run_path(str(DOCS / "generate_scenarios.py"))["page"]()
    assert (DOCS / "scenarios.md").read_text(encoding="utf-8") == made, "run: python docs/generate_scenarios.py"


@pytest.mark.parametrize("entry", shipped(), ids=lambda entry: entry.id)
def test_a_shipped_scenario_says_what_it_shows_and_has_a_picture(entry: Shipped) -> None:
    scenario = load_scenario(entry.path)
    assert scenario.title
    assert scenario.tags
    assert "shows" in (scenario.description or "") or entry.suite == "quick"
    assert scenario.source or entry.suite in ("quick", "standard")
    assert scenario.id == entry.path.stem
    picture = DOCS / "images" / "scenarios" / f"{entry.id}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    page = (DOCS / "scenarios.md").read_text(encoding="utf-8")
    caption = page.split(f"(images/scenarios/{entry.id}.png)")[1].split("\n\n")[1]
    assert "SIMULATED" in caption
    assert f"--pictures {entry.id}" in caption
