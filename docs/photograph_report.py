"""Photograph report.html for docs/report.md: `python docs/photograph_report.py RUN` (after `contextrot report RUN`).

Needs playwright (extra `dev`) and a Chromium; `CONTEXTROT_CHROMIUM` names one that is not called `chromium`. The
pictures in the repository are of the run that docs/first-scenario.md makes with the embedded model. The gallery's
(`docs/make_gallery.py`) are taken by the same function.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import sync_playwright

from contextrot import load_run

FOLDER = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1280, 800


@dataclass(frozen=True)
class Shot:
    """One photograph: which file, at which place of the page (`#…`), on a screen of which kind and height in pixels."""

    file: Path
    place: str = ""
    scheme: Literal["light", "dark"] = "light"
    height: int = HEIGHT


def photograph(report: Path, shots: Sequence[Shot]) -> None:
    """Take them, each as a small PNG of few colours."""
    address = report.resolve().as_uri()
    with sync_playwright() as driver:
        chromium = shutil.which(os.environ.get("CONTEXTROT_CHROMIUM", "chromium"))
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for shot in shots:
            page = browser.new_page(viewport={"width": WIDTH, "height": shot.height}, color_scheme=shot.scheme)
            page.goto(address + shot.place, wait_until="networkidle")
            page.wait_for_timeout(1000)  # the details of a session are unpacked when it is opened
            save_small(page.screenshot(), shot.file)
            page.close()
        browser.close()


def save_small(png: bytes, file: Path, colours: int = 160) -> None:
    """Save a picture with a palette: screens and plots have few colours, and are much smaller with one.

    The palette covers rare colours as well: the dot that stands for a strategy is of few pixels and keeps its hue.
    """
    picture = Image.open(BytesIO(png)).convert("RGB").quantize(colours, Image.Quantize.MAXCOVERAGE)
    picture.save(file, optimize=True)


def main(run: Path) -> None:
    """The page from its top, and the X-ray of the first session that lost something, at the turn it failed."""
    sessions = load_run(run).sessions.query("not control and first_fail_turn.notna()")
    one = sessions[sessions["strategy"].str.startswith("fifo")].iloc[0]
    place = f"#session={one['session']}&turn={one['first_fail_turn']:.0f}"
    photograph(run / "report.html", [Shot(FOLDER / "report.png"), Shot(FOLDER / "xray.png", place)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
