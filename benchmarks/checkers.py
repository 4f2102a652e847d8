"""How often each checker is wrong: labelled replies (benchmarks/labelled/*.yaml) against its verdicts.

usage: python benchmarks/checkers.py [--wrong] [--write] [--split a|b|c|d|all] [TYPE ...]

Prints for each check type the number of replies, the share of broken replies it passes (false pass), the share of good
replies it fails (false fail), and the share it leaves undecided, each with its 95 % Wilson interval, for split `a` (may
be used to mend checkers), `b`, `c` and `d` (blind at first, seen by the one who mended the checkers since) and all
together; `--split` shows one of them. `--wrong` lists the replies it got wrong, `--write` writes
docs/checkers.md. Exit code 1 when the errors of a type, over all its replies, are more than its published bound.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

import contextrot as cr
from contextrot.checks.base import REGISTRY
from contextrot.outcomes import Verdict

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs" / "checkers.md"
SPLITS = ("a", "b", "c", "d", "all")
#: Greatest share of wrong verdicts that is published for a type; a lower one is the next thing to reach.
BOUNDS = {"abstain": 0.25, "recall": 0.2, "recall_list": 0.2, "all_of": 0.15, "count": 0.1, "decimals": 0.1}
OTHERWISE = 0.05


@dataclass(frozen=True)
class Case:
    """One labelled reply, with the verdict of today's checker."""

    family: str
    id: str
    type: str
    split: str
    label: str
    why: str
    reply: Any
    verdict: Verdict

    @property
    def kind(self) -> str:
        """What the verdict is to the label: `right`, `false pass`, `false fail`, `undecided` or `decided`."""
        outcome = self.verdict.outcome
        if self.label == "inconclusive":
            return "decided" if outcome.decided else "right"
        if not outcome.decided:
            return "undecided"
        if outcome.value == self.label:
            return "right"
        return "false pass" if self.label == "fail" else "false fail"


def labelled(types: Iterable[str] = ()) -> Iterator[Case]:
    """Every labelled reply of these types (all, when none is named), graded."""
    wanted = set(types)
    for path in sorted((HERE / "labelled").glob("*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        for raw in content["cases"]:
            check = content["checks"][raw["check"]]
            if wanted and check["type"] not in wanted:
                continue
            verdict = cr.check(check, raw["reply"], facts=raw.get("facts"))
            yield Case(
                path.stem, raw["id"], check["type"], raw["split"], raw["label"], raw["why"], raw["reply"], verdict
            )


@dataclass(frozen=True)
class Row:
    """The figures of one type in one split."""

    type: str
    split: str
    n: int
    passes: int
    fails: int
    false_passes: int
    false_fails: int
    undecided: int
    #: replies labelled `inconclusive` that got a pass or a fail
    decided: int

    @property
    def errors(self) -> float:
        """Share of wrong verdicts among all replies: false passes, false fails, and decisions on the untellable."""
        return (self.false_passes + self.false_fails + self.decided) / self.n

    @property
    def bound(self) -> float:
        """The published bound of `errors`."""
        return BOUNDS.get(self.type, OTHERWISE)


def row(kind: str, split: str, cases: Iterable[Case]) -> Row:
    """Count one type in one split."""
    mine = [case for case in cases if (kind in (case.type, "all types")) and split in (case.split, "all")]
    found = Counter(case.kind for case in mine)
    labels = Counter(case.label for case in mine)
    return Row(
        kind, split, len(mine), labels["pass"], labels["fail"], found["false pass"], found["false fail"],
        found["undecided"], found["decided"],
    )  # fmt: skip


def share(part: int, whole: int) -> str:
    """A share in per cent with its 95 % Wilson interval."""
    from statsmodels.stats.proportion import proportion_confint

    if not whole:
        return "–"
    low, high = proportion_confint(part, whole, alpha=0.05, method="wilson")
    return f"{part / whole:.0%} ({part}/{whole}; {low:.0%}–{high:.0%})"


def cells(line: Row) -> list[str]:
    """One line of the table."""
    return [
        line.type, line.split, str(line.n), share(line.false_passes, line.fails), share(line.false_fails, line.passes),
        share(line.undecided, line.passes + line.fails), f"{line.errors:.1%}",
        f"{line.bound:.0%}" if line.type in REGISTRY else "–",
    ]  # fmt: skip


HEADS = ["check", "split", "n", "false pass", "false fail", "undecided", "wrong", "bound"]


def markdown(rows: Iterable[Row]) -> str:
    """The table in Markdown."""
    lines = ["| " + " | ".join(HEADS) + " |", "|---|---|--:|---|---|---|--:|--:|"]
    lines += ["| " + " | ".join(cells(line)) + " |" for line in rows]
    return "\n".join(lines)


def write_docs(rows: list[Row], n: int) -> None:
    """Replace the generated part of docs/checkers.md."""
    text = DOCS.read_text(encoding="utf-8")
    stamp = f"{datetime.now(UTC):%d %B %Y}, n = {n}, made by `python benchmarks/checkers.py --write`."
    table = f"<!-- table -->\n{stamp}\n\n{markdown(rows)}\n<!-- /table -->"
    made = re.sub(r"<!-- table -->.*?<!-- /table -->", lambda _: table, text, flags=re.S)
    DOCS.write_text(made, encoding="utf-8")
    print(f"wrote {DOCS}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("types", nargs="*", metavar="TYPE")
    parser.add_argument("--wrong", action="store_true", help="list the replies that were judged wrongly")
    parser.add_argument("--write", action="store_true", help="write docs/checkers.md")
    parser.add_argument("--split", choices=SPLITS, help="print and list this split only (all: without the splits)")
    options = parser.parse_args()
    if unknown := set(options.types) - set(REGISTRY):
        parser.error(f"there is no check {', '.join(sorted(unknown))}; there are {', '.join(sorted(REGISTRY))}")
    cases = list(labelled(options.types))
    kinds = [*sorted({case.type for case in cases}), *([] if options.types else ["all types"])]
    rows = [line for kind in kinds for split in SPLITS if (line := row(kind, split, cases)).n]
    widths = [13, 5, 5, 24, 24, 24, 7, 6]
    shown = [line for line in rows if options.split in (None, line.split)]
    for texts in [HEADS, *map(cells, shown)]:
        print("  ".join(f"{text:<{width}}" for text, width in zip(texts, widths, strict=True)).rstrip())
    if options.wrong:
        for case in cases:
            if case.kind != "right" and options.split in (case.split, "all", None):
                print(f"\n{case.family}/{case.id} [{case.split}] {case.kind}: labelled {case.label} ({case.why})")
                print(f"  reply: {str(case.reply)[:300]!r}")
                print(f"  {case.verdict.outcome.value}: {case.verdict.reason}")
    if options.write:
        write_docs(rows, len(cases))
    broken = [line for line in rows if line.split == "all" and line.errors > line.bound and line.type in REGISTRY]
    for line in broken:
        print(f"{line.type}: {line.errors:.1%} of the verdicts are wrong, more than the published {line.bound:.0%}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
