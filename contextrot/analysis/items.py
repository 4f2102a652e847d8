"""Rotated items of probes: how hard each is, apart from the turn it came at (`items:` of a scenario)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextrot.analysis.curves import compliance_rows
from contextrot.analysis.rates import ItemRate, Rate

if TYPE_CHECKING:
    import pandas as pd


def by_item(verdicts: pd.DataFrame) -> list[ItemRate]:
    """Compliance of each item after turn 0, by probe and item; none when no probe rotates."""
    rotated = verdicts["item"].notna() & (verdicts["item"].astype(object) != "")
    later = verdicts.loc[(verdicts["turn"] > 0) & rotated, ["id", "item", "session", "outcome"]]
    found = []
    for (name, item), rows in later.groupby(["id", "item"], observed=True, sort=True):
        (row,) = compliance_rows(rows[["session", "outcome"]].assign(all="all"), "all")
        found.append(ItemRate(**Rate.fields(row), id=str(name), item=str(item)))
    return found
