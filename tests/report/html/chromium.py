"""The Chromium of this machine: where it is, how it is started, what to do where there is none."""

from __future__ import annotations

import os
import shutil

import pytest

#: Besides Playwright's own flags: nothing of the browser itself goes to the network either.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
HOW = "no Chromium on this machine: `make browser` installs Debian's, or name one with CONTEXTROT_CHROMIUM=/path/to/it"


def find_chromium() -> str | None:
    """The path of the browser: the one that CONTEXTROT_CHROMIUM names, else the first on PATH; None without any."""
    named = os.environ.get("CONTEXTROT_CHROMIUM")
    if named:
        return shutil.which(named)
    return next((path for path in map(shutil.which, NAMES) if path), None)


def chromium_or_skip() -> str:
    """The path of the browser. Without one the test is skipped; it fails where CONTEXTROT_BROWSER=required."""
    path = find_chromium()
    if path is not None:
        return path
    if os.environ.get("CONTEXTROT_BROWSER") == "required":
        pytest.fail(HOW)
    pytest.skip(HOW)
