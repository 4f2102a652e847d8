"""docs/strategies.md says what the code does: it is what docs/generate_strategies.py makes of the strategies."""

from __future__ import annotations

import runpy
from pathlib import Path

from contextrot.strategies import REGISTRY

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_is_made_from_the_code() -> None:
    made = runpy.run_path(str(DOCS / "generate_strategies.py"))["page"]()
    assert (DOCS / "strategies.md").read_text(encoding="utf-8") == made, "run: python docs/generate_strategies.py"


def test_every_strategy_has_a_section_that_says_what_it_does_and_every_parameter_a_meaning() -> None:
    page = (DOCS / "strategies.md").read_text(encoding="utf-8")
    assert page.count("\n## ") == len({cls.type_name for cls in REGISTRY.values()})
    for cls in REGISTRY.values():
        section = page.split(f"\n## {cls.type_name}\n")[1].split("\n## ")[0]
        assert "Pydantic" not in section
        for name, field in cls.model_fields.items():
            if name != "type":
                assert f"| `{field.alias or name}` |" in section
                assert field.description
