"""Every link and anchor of the Markdown leads somewhere, as GitHub resolves it; `make docs` looks at the site."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parent.parent
FILES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").rglob("*.md"),
        ROOT / "results" / "README.md",
    ]
)
#: Hosts that pages link to. They are listed and not fetched: a new one is looked at by whoever adds it here.
HOSTS = {"github.com", "docs.litellm.ai", "keepachangelog.com", "semver.org"}
#: What the site is made of: a link in it may not leave this folder.
SITE = ROOT / "docs"


def inline(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from inline(token.children or [])


@cache
def parsed(path: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))


@cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors GitHub gives the headings of a page."""
    found: Counter[str] = Counter()
    names = set()
    tokens = parsed(path)
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(part.content for part in heading.children or [] if part.type in ("text", "code_inline"))
            slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
            names.add(f"{slug}-{found[slug]}" if found[slug] else slug)
            found[slug] += 1
    return frozenset(names)


def targets(path: Path) -> list[str]:
    return [
        str(token.attrs["href" if token.type == "link_open" else "src"])
        for token in inline(parsed(path))
        if token.type in ("link_open", "image")
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_and_anchors_lead_somewhere(path: Path) -> None:
    for target in targets(path):
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            assert parts.scheme == "https", target
            assert parts.netloc.removeprefix("www.") in HOSTS, f"{target}: a host that is not in the list of this test"
            continue
        assert not parts.path.startswith("/"), f"{target} starts at the root, which is another one on GitHub"
        where = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        assert where.exists(), f"{path.name} links to {target}, which is not there"
        if path.is_relative_to(SITE):
            assert where.is_relative_to(SITE), f"{target} leaves docs/, and so the site"
        if parts.fragment:
            assert where.suffix == ".md", target
            assert parts.fragment in anchors(where), (
                f"{path.name} links to {target}; its anchors: {sorted(anchors(where))}"
            )


def test_every_picture_is_shown_and_says_what_it_shows() -> None:
    shown = set()
    for path in FILES:
        for token in inline(parsed(path)):
            if token.type == "image":
                assert token.content.strip(), f"{path.name}: {token.attrs['src']} has no words for who cannot see it"
                shown.add((path.parent / str(token.attrs["src"])).resolve())
    there = {path for suffix in ("png", "svg") for path in (ROOT / "docs" / "images").rglob(f"*.{suffix}")}
    assert there - shown <= {ROOT / "docs" / "images" / "favicon.svg"}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_lists_begin_after_an_empty_line(path: Path) -> None:
    """GitHub shows a list that follows its sentence at once; the site would run both together."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    lines = text.splitlines()
    for before, line in pairwise(lines):
        if re.match(r"([-*+]|\d+\.) ", line):
            assert not before.strip() or re.match(r"\s|([-*+]|\d+\.) ", before), line
