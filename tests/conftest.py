"""Shared by all tests. Its place also lets them import `fault_server`."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from contextrot.models import weights

# In CI the examples follow from the test alone: a change is judged by what it changed. Elsewhere they are drawn anew.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(scope="session")
def embedded_weights() -> Path:
    """The weights of the embedded model, fetched on a machine that has none: a test of it is never skipped."""
    return weights.ensure(weights.DEFAULT)
