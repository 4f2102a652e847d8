"""The reports are tested on the same small run directories as the tables."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from run_writer import write_three_strategies

from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    return load_run(write_three_strategies(tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="session")
def summary(run):
    return summarise(run)
