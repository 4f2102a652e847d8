"""The HTML report in a real headless Chromium, opened from disk and offline.

Every page that a test opens is watched: an error on its console, an exception, a dialog, or a request for anything but
a file of the report fails the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import FLAGS, chromium_or_skip
from html_runs import Report, own_memory_run, small_run, write_report
from playwright.sync_api import Browser, Page, expect, sync_playwright

Open = Callable[..., Page]
expect.set_options(timeout=20_000)  # a busy machine draws slowly; what never comes is waited for once


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser a test file. It is closed with the file: Playwright's loop must not outlive its tests."""
    path = chromium_or_skip()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield started
        started.close()


class Watch:
    """What a page must not do: say errors, raise, ask, or request anything but itself."""

    def __init__(self, page: Page) -> None:
        self.complaints: list[str] = []
        page.on("console", lambda message: self._said(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(f"raised {error}"))
        page.on("request", lambda request: self._requested(request.url))
        page.on("dialog", lambda dialog: (self.complaints.append(f"asked {dialog.message}"), dialog.dismiss()))
        page.on("popup", lambda popup: self.complaints.append(f"opened {popup.url}"))
        page.on("download", lambda download: self.complaints.append(f"downloaded {download.url}"))

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning", "assert"):
            self.complaints.append(f"{kind} on the console: {text}")

    def _requested(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:")):
            self.complaints.append(f"requested {url}")


@pytest.fixture
def open_report(browser: Browser) -> Iterator[Open]:
    """Open a report: ``open_report(report, fragment="session=…", width=390, color_scheme="dark")`` gives its page.

    Further keywords go to the browser's context (`reduced_motion`, `java_script_enabled`, …).
    """
    opened: list[tuple[Any, Watch]] = []

    def open_one(report: Report, *, fragment: str = "", width: int = 1440, height: int = 900, **settings: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **settings)
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.watch = Watch(page)  # for the rare test that makes the page complain on purpose
        opened.append((context, page.watch))
        page.goto(report.path.as_uri() + (f"#{fragment}" if fragment else ""))
        return page

    yield open_one
    for context, _ in opened:
        context.close()
    complaints = [complaint for _, watch in opened for complaint in watch.complaints]
    assert complaints == []


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Three strategies, two scenarios, a simulated model that forgets and a window that fills."""
    return write_report(small_run(tmp_path_factory.mktemp("small") / "run"))


@pytest.fixture(scope="session")
def own_memory(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The run of an agent that keeps its own memory: what its model was sent is not known."""
    return write_report(own_memory_run(tmp_path_factory.mktemp("own") / "run"))


@pytest.fixture
def page(open_report: Open, small: Report) -> Page:
    """The small run's report on a wide screen."""
    return open_report(small)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for runs written by hand."""
    return tmp_path_factory.mktemp("written")
