"""The figures of a run directory with one group. Used by the tests beside it."""

from __future__ import annotations

from pathlib import Path

from contextrot.analysis.figures import Group
from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run


def group(folder: Path) -> Group:
    """The only group of a run."""
    (found,) = summarise(load_run(folder)).groups
    return found
