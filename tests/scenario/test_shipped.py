"""Every shipped scenario can be passed and can be failed: benched on simulated models whose obedience is known."""

from __future__ import annotations

from pathlib import Path

import pytest

import contextrot as cr
from contextrot.scenario.library import Shipped, shipped


def _bench(entry: Shipped, model: str, out: Path) -> cr.Run:
    return cr.bench(entry.path, models=model, strategies="full", repeats=2, window=64_000, out=out)


@pytest.mark.parametrize("entry", shipped(), ids=lambda entry: entry.id)
def test_a_model_that_obeys_what_it_reads_passes_every_check(entry: Shipped, tmp_path: Path) -> None:
    verdicts = _bench(entry, "sim/perfect", tmp_path / "run").verdicts
    asked = verdicts[verdicts["kind"].isin(["probe", "passive", "ceiling"])]
    wrong = asked[asked["outcome"].isin(["fail", "error", "inconclusive"])]
    assert wrong.empty, wrong[["kind", "id", "turn", "outcome", "reason", "evidence"]].to_string()
    assert (asked["outcome"] == "pass").sum() >= 4


@pytest.mark.parametrize("entry", shipped(), ids=lambda entry: entry.id)
def test_a_model_that_obeys_nothing_fails_every_probe(entry: Shipped, tmp_path: Path) -> None:
    verdicts = _bench(entry, "sim/hazard?hazard=1", tmp_path / "run").verdicts
    probes = verdicts[(verdicts["kind"] == "probe") & (verdicts["turn"] > 0)]
    kept = probes[probes["outcome"] == "pass"]
    assert kept.empty, kept[["id", "turn", "reason", "evidence"]].to_string()
    assert (probes["outcome"] == "fail").all()
