"""Look through the built site for anything fetched from another host: `python docs/check_site.py build/docs`.

`make docs` runs it after each build. Links that a reader may click are free to lead elsewhere; scripts, styles, fonts
and pictures are not. Prints each fault and exits 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

#: elements and attributes by which a page fetches something when it is shown
FETCHING = {
    ("script", "src"), ("img", "src"), ("img", "srcset"), ("iframe", "src"), ("source", "src"), ("source", "srcset"),
    ("video", "src"), ("audio", "src"), ("embed", "src"), ("object", "data"), ("input", "src"),
}  # fmt: skip
#: kinds of <link> that are fetched; `canonical` and its kin are not
FETCHED = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "prefetch", "manifest"}
ELSEWHERE = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)


class _Fetches(HTMLParser):
    """Collects what a page fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.found += [value for name, value in given.items() if (tag, name) in FETCHING]
        if tag == "link" and FETCHED & set(given.get("rel", "").lower().split()):
            self.found.append(given.get("href", ""))
        self.found += re.findall(r"url\(['\"]?([^'\")]+)", given.get("style", ""))


def faults(site: Path) -> Iterator[str]:
    """A sentence for each thing that a page or a style sheet would fetch from elsewhere."""
    for path in sorted(site.rglob("*.html")):
        page = _Fetches()
        page.feed(path.read_text(encoding="utf-8"))
        for target in page.found:
            if ELSEWHERE.match(target):
                yield f"{path.relative_to(site)} fetches {target}"
    for path in sorted(site.rglob("*.css")):
        for target in re.findall(r"(?:url\(|@import\s+)['\"]?([^'\");]+)", path.read_text(encoding="utf-8")):
            if ELSEWHERE.match(target):
                yield f"{path.relative_to(site)} fetches {target}"


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1])))
    print("\n".join(found) if found else "nothing is fetched from another host")
    sys.exit(bool(found))
