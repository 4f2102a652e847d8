"""Public benchmarks as scenarios: one file per benchmark, found by name.

To add one: write its file (see `base.py`) and name it in the import below.
"""

# Importing a file registers its benchmark.
from contextrot.tasks import bfcl, locomo, longmemeval, mt_eval, multichallenge, sequor  # noqa: F401
from contextrot.tasks.base import REGISTRY, Imported, Option, Task, task
from contextrot.tasks.write import write

__all__ = ["REGISTRY", "Imported", "Option", "Task", "task", "write"]
