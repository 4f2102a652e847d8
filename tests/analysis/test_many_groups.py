"""A run of many groups: each has the figures it would have alone, whatever stands beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
from run_writer import SessionWriter, write_manifest

from contextrot.analysis.figures import Group
from contextrot.analysis.tables import load_run


def groups(folder: Path, strategies: list[str]) -> dict[str, Group]:
    """Six sessions under each; under the nth the first failure comes at turn n % 5."""
    write_manifest(folder, strategies=strategies)
    for strategy in strategies:
        for repeat in range(6):
            number = int(strategy.removeprefix("s")) if strategy != "full" else 4
            writer = SessionWriter(folder, f"{strategy}--{repeat}", strategy=strategy, repeat=repeat)
            for turn in range(6):
                writer.call(turn)
                writer.verdict(turn, "fail" if turn >= number % 5 + repeat % 2 else "pass", cause="lost")
            writer.end(9)
    return {group.strategy: group for group in load_run(folder).summary.groups}


def test_every_group_has_its_own_figures(tmp_path: Path) -> None:
    names = ["full", *(f"s{number}" for number in range(12))]
    together = groups(tmp_path / "together", names)
    assert list(together) == names
    for name in ("s0", "s3", "s11"):
        alone = groups(tmp_path / name, ["full", name])[name]
        assert together[name] == alone
    assert orjson.dumps(together["s1"]) == orjson.dumps(replace(together["s6"], strategy="s1", **_first(together)))


def _first(found: dict[str, Group]) -> dict[str, object]:
    """The first failure names its session; all else of two groups with the same verdicts is alike."""
    return {"first_failure": found["s1"].first_failure}
