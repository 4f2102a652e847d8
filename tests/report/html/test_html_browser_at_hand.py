"""Where there is no browser the tests of the report say how to get one; in CI they fail instead."""

from __future__ import annotations

import pytest
from chromium import chromium_or_skip


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CONTEXTROT_CHROMIUM", raising=False)
    monkeypatch.delenv("CONTEXTROT_BROWSER", raising=False)
    return tmp_path


def test_without_a_browser_the_tests_are_skipped_with_the_way_to_get_one(nowhere):
    with pytest.raises(pytest.skip.Exception, match="`make browser`"):
        chromium_or_skip()


def test_where_it_is_required_they_fail(nowhere, monkeypatch):
    monkeypatch.setenv("CONTEXTROT_BROWSER", "required")
    with pytest.raises(pytest.fail.Exception, match="`make browser`"):
        chromium_or_skip()


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_a_browser_on_the_path_is_found_under_each_of_its_names(nowhere, name):
    program = nowhere / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert chromium_or_skip() == str(program)


def test_a_named_one_goes_before_those_on_the_path(nowhere, monkeypatch):
    for name in ("chromium", "mine"):
        (nowhere / name).write_text("#!/bin/sh\n")
        (nowhere / name).chmod(0o755)
    monkeypatch.setenv("CONTEXTROT_CHROMIUM", str(nowhere / "mine"))
    assert chromium_or_skip() == str(nowhere / "mine")
    monkeypatch.setenv("CONTEXTROT_CHROMIUM", str(nowhere / "missing"))
    with pytest.raises(pytest.skip.Exception, match="CONTEXTROT_CHROMIUM"):
        chromium_or_skip()


def test_the_settings_of_a_bench_do_not_take_the_variables_for_their_own():
    from contextrot.config import resolve

    assert resolve({}, {"CONTEXTROT_BROWSER": "required", "CONTEXTROT_CHROMIUM": "/usr/bin/chromium"}).config
