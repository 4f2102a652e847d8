"""Shared by all tests. Its place also lets them import `fault_server`."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from contextrot.models import weights

# In CI the examples follow from the test alone: a change is judged by what it changed. Elsewhere they are drawn anew.
# No test is timed: a busy machine is no fault.
settings.register_profile("contextrot", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "contextrot")


@pytest.fixture(scope="session")
def embedded_weights() -> Path:
    """The weights of the embedded model, fetched on a machine that has none: a test of it is never skipped."""
    return weights.ensure(weights.DEFAULT)
