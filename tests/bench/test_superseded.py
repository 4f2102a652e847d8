"""A fact that is stated anew: the old statement loses its pin and is not repeated; the log keeps both."""

from __future__ import annotations

from pathlib import Path

import orjson
from small_bench import bench, session_lines

from contextrot.analysis.replay_view import view_messages

CHANGING = """\
contextrot: 1
id: changing
facts:
  - {id: code, text: "The code is {value}.", values: [BLUE-42, TEAL-7], at: 1, changes: [4], pinned: true}
filler: {kind: notes, tokens_per_turn: 40}
session: {turns: 12, history: scripted}
probes: [{id: code, ask: What is the code?, at: [3, 12], check: {type: recall, fact: code}}]
"""


def last_view(tmp_path: Path, strategy: object) -> tuple[str, str, str]:
    """Old value, new value, and all text sent for the probe at the last turn."""
    scenario = tmp_path / "changing.yaml"
    scenario.write_text(CHANGING, encoding="utf-8")
    bench(
        tmp_path / "run",
        scenario,
        strategies=[strategy],
        models=["sim/perfect"],
        repeats=1,
        controls=False,
        window=2000,
    )
    ((key, lines),) = session_lines(tmp_path / "run").items()
    records = [orjson.loads(line) for line in lines]
    said = [r["message"]["content"] for r in records if r["t"] == "msg" and r["origin"] == "fact"]
    old, new = (text.removeprefix("The code is ").rstrip(".") for text in said)
    call = max(r["n"] for r in records if r["t"] == "call")
    sent = view_messages(tmp_path / "run" / "sessions" / f"{key}.jsonl", call)
    assert [r["outcome"] for r in records if r["t"] == "verdict"] == ["pass", "pass"]
    return old, new, "\n".join(str(message["content"]) for message in sent)


def test_the_pin_moves_to_the_new_statement(tmp_path: Path) -> None:
    old, new, sent = last_view(tmp_path, {"type": "pinned", "keep": {"turns": 2}})
    assert sent.count(new) == 1
    assert old not in sent


def test_only_the_new_statement_is_repeated(tmp_path: Path) -> None:
    old, new, sent = last_view(
        tmp_path, {"type": "re_anchor", "every_n_turns": 1, "inner": {"type": "fifo", "keep": {"turns": 2}}}
    )
    assert sent.count(new) == 1
    assert old not in sent


def test_without_a_strategy_both_are_in_the_prompt(tmp_path: Path) -> None:
    old, new, sent = last_view(tmp_path, "full")
    assert old in sent
    assert new in sent
