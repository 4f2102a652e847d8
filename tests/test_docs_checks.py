"""docs/checks.md says what the code does: it is what docs/generate_checks.py makes of the checks."""

from __future__ import annotations

import runpy
from pathlib import Path

import contextrot as cr
from contextrot.checks import describe

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_is_made_from_the_code() -> None:
    made = runpy.run_path(str(DOCS / "generate_checks.py"))["page"]()
    assert (DOCS / "checks.md").read_text(encoding="utf-8") == made, "run: python docs/generate_checks.py"


def test_every_check_and_parameter_is_explained() -> None:
    page = (DOCS / "checks.md").read_text(encoding="utf-8")
    rows = describe()
    assert page.count("\n## ") == len(rows)
    for row in rows:
        section = page.split(f"\n## {row.type}\n")[1].split("\n## ")[0]
        assert "```yaml" in section
        for parameter in row.parameters:
            assert f"| `{parameter.name}` |" in section
            assert parameter.description, f"{row.type}.{parameter.name} says nothing of itself"


def test_the_first_example_is_true() -> None:
    page = (DOCS / "checks.md").read_text(encoding="utf-8")
    reason = cr.check({"type": "count", "unit": "sentences", "at_most": 2}, "It moved. To Thursday. At ten.").reason
    assert f"# '{reason}'" in page
