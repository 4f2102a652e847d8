"""SEQUOR (Canaverde et al. 2026): rules that hold over fifty turns, alone, together, added and replaced.

A test set is a folder of `conversation_*.jsonl` (`data/testsets/<regime>/…`), one conversation a file, one user turn a
line: ``{prompt, constraints_data: [{id, text}]}``, where `constraints_data` are all rules in force at that turn. A
prompt that states rules is the statement, two empty lines, and the turn's question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextrot.tasks.base import Intake, Raw, register
from contextrot.tasks.files import expect, json_rows
from contextrot.tasks.grading import judged
from contextrot.tasks.history import slug
from contextrot.tasks.rules import rule_check

#: What the benchmark puts between the statement of rules and the turn's question.
_GAP = "\n\n\n"


@register(
    "sequor",
    title="SEQUOR: rules from real conversations over fifty turns",
    licence="none is named in its repository; ask its authors before you pass the data on.",
    citation="Canaverde et al. 2026, SEQUOR: A Multi-Turn Benchmark for Realistic Constraint Following.",
    link="https://github.com/BeatrizCanaverde/SEQUOR",
    file="a folder of conversation_*.jsonl files (data/testsets of its repository, or a part of it), or one such file",
)
def scenarios(path: Path, intake: Intake) -> Iterator[Raw]:
    """One scenario per conversation."""
    files = sorted(path.rglob("*.jsonl"), key=_natural) if path.is_dir() else [path]
    expect(bool(files), str(path), "the folder holds no conversation_*.jsonl file of SEQUOR")
    for file in files:
        regime = ".".join(part for part in file.relative_to(path).parts[:-1]) if path.is_dir() else ""
        raw = _scenario(file, slug("sequor", *filter(None, [regime]), file.stem), intake)
        if raw is not None:
            yield raw


def _natural(path: Path) -> list[object]:
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", str(path))]


@dataclass(frozen=True, slots=True)
class _Block:
    """Rules that were stated together at `turn`, and the turn from which they no longer hold (None: to the end)."""

    turn: int
    statement: str
    question: str
    rules: tuple[tuple[str, str], ...]
    until: int | None

    @property
    def name(self) -> str:
        return slug(self.rules[0][0], f"turn-{self.turn}") if len(self.rules) == 1 else f"rules-turn-{self.turn}"


def _scenario(file: Path, name: str, intake: Intake) -> Raw | None:
    rows = list(json_rows(file, name="SEQUOR", keys=("prompt", "constraints_data")))[: intake.turns]
    blocks = _blocks(rows, str(file))
    if any(block.until is not None for block in blocks):
        raw = _replaced(rows, blocks, intake)
    else:
        raw = _standing(rows, blocks, intake)
    if raw is None:
        intake.leave_out("conversations without a rule that can be graded")
        return None
    return {"id": name, "title": "SEQUOR: rules kept over a long conversation", **raw, "session": {"turns": len(rows)}}


def _blocks(rows: Sequence[Mapping[str, Any]], where: str) -> list[_Block]:
    """The statements of rules, read from what is in force at each turn."""
    found: list[tuple[int, Mapping[str, str]]] = []
    ends: dict[str, int] = {}
    before: dict[str, str] = {}
    for turn, row in enumerate(rows, 1):
        place = f"{where}:{turn}"
        expect(isinstance(row["prompt"], str) and bool(row["prompt"].strip()), place, "`prompt` is not a text")
        rules = row["constraints_data"]
        good = isinstance(rules, list) and all(
            isinstance(rule, Mapping) and {"id", "text"} <= rule.keys() for rule in rules
        )
        expect(good, place, "`constraints_data` is not a list of {id, text}")
        now = {str(rule["id"]): str(rule["text"]) for rule in rules}
        for gone in before.keys() - now.keys():
            ends[gone] = turn
        new = {key: text for key, text in now.items() if key not in before}
        if new:
            found.append((turn, new))
        before = now
    blocks = []
    for turn, fresh in found:
        new = dict(fresh)
        statement, gap, question = str(rows[turn - 1]["prompt"]).partition(_GAP)
        last = [ends[key] for key in new if ends.get(key, 0) > turn]
        # The newline that the format does not put between two statements stays with the first.
        blocks.append(
            _Block(turn, statement + "\n" if gap else statement, question, tuple(new.items()), min(last, default=None))
        )
    return blocks


def _check(block: _Block, intake: Intake) -> Raw | None:
    checks = [rule_check(text) or judged(f"The reply keeps this rule: {text}", intake) for _, text in block.rules]
    kept = [check for check in checks if check is not None]
    if not kept:
        return None
    return kept[0] if len(kept) == 1 else {"type": "all_of", "checks": kept}


def _standing(rows: Sequence[Mapping[str, Any]], blocks: Sequence[_Block], intake: Intake) -> Raw | None:
    """Rules that only come to be more: each is checked on every reply from its statement on."""
    constraints: list[Raw] = []
    said: list[Raw] = []
    stated = {block.turn for block in blocks}
    for block in blocks:
        check = _check(block, intake)
        if check is not None:
            constraints.append(
                {"id": block.name, "text": block.statement, "place": {"turn": block.turn}, "check": check}
            )
            said += _question(block)
        else:
            stated.discard(block.turn)  # said, but as an ordinary turn
    if not constraints:
        return None
    items = [row["prompt"] for turn, row in enumerate(rows, 1) if turn not in stated]
    return {"constraints": constraints} | _parts(said, items)


def _replaced(rows: Sequence[Mapping[str, Any]], blocks: Sequence[_Block], intake: Intake) -> Raw | None:
    """Rules that end: a rule of a scenario has no end, so each turn asks for the rules stated last."""
    constraints: list[Raw] = []
    said: list[Raw] = []
    probes: list[Raw] = []
    stated: set[int] = set()
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        end = min(n for n in (following.turn if following else None, block.until, len(rows) + 1) if n is not None)
        check = _check(block, intake)
        if check is None or end - block.turn < 2:
            continue  # nothing is said between this statement and the next: an ordinary turn
        stated.add(block.turn)
        constraints.append({"id": block.name, "text": block.statement, "place": {"turn": block.turn}})
        said += _question(block)
        probes += [
            {"id": f"turn-{turn}", "ask": rows[turn - 1]["prompt"], "at": turn, "mode": "inline",
             "constraint": block.name, "check": check}
            for turn in range(block.turn + 1, end)
        ]  # fmt: skip
    if not probes:
        return None
    asked = {probe["at"] for probe in probes}
    items = [row["prompt"] for turn, row in enumerate(rows, 1) if turn not in stated | asked]
    return {"constraints": constraints} | _parts(said, items) | {"probes": probes}


def _question(block: _Block) -> list[Raw]:
    """The question that follows the statement in the same message: said there, and asked for by no probe."""
    if not block.question.strip():
        return []
    return [{"id": f"question-turn-{block.turn}", "text": "{value}", "values": [block.question], "at": [block.turn]}]


def _parts(said: list[Raw], items: list[Any]) -> Raw:
    return ({"distractors": said} if said else {}) | ({"filler": {"items": items}} if items else {})
