"""From a run directory to tables, and from tables to survival, curves and causes: pure functions (DESIGN §8)."""
