"""What is looked for in a whole page: contrast, names, invisible characters, active content (`audits.js`)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

_AUDITS = (Path(__file__).parent / "audits.js").read_text(encoding="utf-8")


def _ask(page: Page, audit: str, root: str = "html") -> Any:
    return page.evaluate(f"(root) => {_AUDITS}.{audit}(root)", root)


def low_contrast(page: Page) -> list[str]:
    """Texts that are hard to read, with their contrast. Raises AssertionError when the page shows hardly any text."""
    result = _ask(page, "lowContrast")
    assert result["texts"] > 20, "the audit saw no text"
    return list(result["faults"])


def badly_named(page: Page) -> list[str]:
    """Controls, tables and headings that a screen reader could not make sense of."""
    return list(_ask(page, "badlyNamed"))


def invisible_characters(page: Page, root: str = "html") -> list[str]:
    """Where control, format and direction characters reached the page as they are, in the element `root` names."""
    return list(_ask(page, "invisibleCharacters", root))


def active_content(page: Page, root: str = "html") -> list[str]:
    """Elements and attributes that could run or fetch something, in the element `root` names."""
    return list(_ask(page, "activeContent", root))


def census(page: Page) -> Counter[str]:
    """How many elements of each kind the document holds."""
    return Counter(_ask(page, "census"))


def overflows(page: Page) -> list[str]:
    """What makes the page wider than its window."""
    return list(_ask(page, "overflows"))
