"""Write what pages say under the pictures of the gallery, and docs/gallery.md: `python docs/generate_gallery.py`.

The words come from docs/images/gallery/captions.json, which `docs/make_gallery.py` writes with the pictures. A page
shows one between `<!-- gallery: NAME -->` and `<!-- /gallery -->`; what stands between them is made anew. A test
compares.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
FOLDER = DOCS / "images" / "gallery"
CAPTIONS = FOLDER / "captions.json"
PAGE = DOCS / "gallery.md"
#: pages that may hold markers besides the gallery itself
PAGES = (DOCS.parent / "README.md", *sorted(path for path in DOCS.rglob("*.md") if path != PAGE))
BLOCK = re.compile(r"<!-- gallery: ([\w-]+) -->\n.*?<!-- /gallery -->", re.S)
INTRODUCTION = """\
# Gallery

<!-- Made by docs/generate_gallery.py; a change here would be undone. -->

Every picture is of a run that you can repeat: `make gallery` runs the benches, draws all of them anew and writes these
captions. The model is small enough for a laptop, and its windows are *virtual*, smaller than its own, so that short
sessions fill them: read the shapes, not the levels. Replies of the same weights can differ a little between machines.
A click shows a picture at its full size.
"""

Caption = Mapping[str, Any]


def load_captions() -> dict[str, Caption]:
    """Picture → what it is of, in the order of the page."""
    found: dict[str, Caption] = json.loads(CAPTIONS.read_text(encoding="utf-8"))
    return found


def origin(caption: Caption) -> str:
    """Model, window, sessions, date and command: what a picture has to say about where it comes from."""
    kind = f"SIMULATED: `{caption['model']}`" if caption["simulated"] else f"Real run of `{caption['model']}`"
    window = f"{'virtual ' if caption['virtual'] else ''}window of {caption['window']:,} tokens"
    n, each = caption["sessions"], caption["sessions"] // len(caption["strategies"])
    of = f"n = {n} sessions, {each} for each strategy" if n > 1 else f"n = 1 session (`{caption['session']}`)"
    return f"{kind}, {window}, {of}, {caption['date']}: `{caption['command']}`."


def block(name: str, caption: Caption, page: Path) -> str:
    """The picture with its caption, as Markdown of that page."""
    link = Path(os.path.relpath(FOLDER / caption["file"], page.parent)).as_posix()
    # Where the findings are told, the page tells them in its own words.
    words = origin(caption) if caption["found"] else f"{caption['shows']} {origin(caption)}"
    return f"<!-- gallery: {name} -->\n![{caption['alt']}]({link})\n\n*{words}*\n<!-- /gallery -->"


def filled(text: str, page: Path, captions: Mapping[str, Caption]) -> str:
    """A page with every block between markers made anew. Raises `KeyError` where it names no picture there is."""
    return BLOCK.sub(lambda found: block(found[1], captions[found[1]], page), text)


def gallery(captions: Mapping[str, Caption]) -> str:
    """The page with all pictures."""
    parts = [INTRODUCTION]
    for caption in captions.values():
        link = (FOLDER / caption["file"]).relative_to(DOCS).as_posix()
        parts.append(f"\n## {caption['title']}\n\n{caption['shows']}\n\n[![{caption['alt']}]({link})]({link})\n")
        if caption["found"]:
            parts.append("\n" + "\n".join(f"- {sentence}" for sentence in caption["found"]) + "\n")
        parts.append(f"\n*{origin(caption)}*\n")
    return "".join(parts)


def main() -> None:
    """Write the gallery and every page with markers whose words are no longer those of the captions."""
    captions = load_captions()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        made = filled(text, page, captions)
        if made != text:
            page.write_text(made, encoding="utf-8")
    PAGE.write_text(gallery(captions), encoding="utf-8")


if __name__ == "__main__":
    main()
