"""Photograph report.html for docs/report.md: `python docs/photograph_report.py RUN` (after `contextrot report RUN`).

Needs playwright (extra `dev`) and a Chromium; `CONTEXTROT_CHROMIUM` names one that is not called `chromium`. The
pictures in the repository are of the run that docs/first-scenario.md makes with the embedded model.
"""

from __future__ import annotations

import os
import shutil
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from contextrot import load_run

FOLDER = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1280, 800


def main(run: Path) -> None:
    """The page from its top, and the X-ray of the first session that lost something, at the turn it failed."""
    sessions = load_run(run).sessions.query("not control and first_fail_turn.notna()")
    one = sessions[sessions["strategy"].str.startswith("fifo")].iloc[0]
    address = (run / "report.html").resolve().as_uri()
    with sync_playwright() as driver:
        chromium = shutil.which(os.environ.get("CONTEXTROT_CHROMIUM", "chromium"))
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        for name, place in (("report", ""), ("xray", f"#session={one['session']}&turn={one['first_fail_turn']:.0f}")):
            page.goto("about:blank")
            page.goto(address + place, wait_until="networkidle")
            page.wait_for_timeout(1000)  # the details of a session are unpacked when it is opened
            picture = Image.open(BytesIO(page.screenshot()))
            picture.convert("RGB").quantize(96).save(FOLDER / f"{name}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
