"""Write docs/scenarios.md from the shipped scenarios: `python docs/generate_scenarios.py [--pictures [ID ...]]`.

A test compares the page with what this makes. With `--pictures` the pictures of a typical result are drawn
anew, each by a simulated run whose settings stand in `SIMULATED`; they and their captions are kept in
docs/images/scenarios/.
"""

from __future__ import annotations

import argparse
import datetime
import io
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextrot import load_scenario
from contextrot.scenario.library import Shipped, shipped
from contextrot.scenario.schema import Every, Probe, Scenario

PAGE = Path(__file__).parent / "scenarios.md"
PICTURES = Path(__file__).parent / "images" / "scenarios"
CAPTIONS = PICTURES / "captions.json"

#: A model that obeys what it can read with 97 %, less and less as the prompt passes 1,500 tokens.
SIMULATED = "sim/decay?base=0.97&threshold=1500&per_10k=0.8&floor=0.35"
REPEATS = 12
_KEEP = {"keep": {"turns": 6}}
DEFAULT: tuple[Any, ...] = ("full", {"type": "fifo", **_KEEP}, {"type": "pinned", **_KEEP})
#: strategies of a picture where others than the default ones are what the scenario is about
STRATEGIES: Mapping[str, Sequence[Any]] = {
    "code-blocks": ("full", {"type": "summarization", **_KEEP}, {"type": "fifo", **_KEEP}, "pinned_plus_retrieval"),
    "incident-bridge": ("full", "summarization", "compaction", {"type": "fifo", **_KEEP}),
    "long-tool-output": ("full", {"type": "observation_masking", "keep_last": 2}, "offload", "budget_guard"),
    "multi-task": ("full", "isolate", "reset_per_task", "hierarchical"),
    "near-miss-facts": ("full", {"type": "fifo", **_KEEP}, "retrieval", "pinned_plus_retrieval"),
    "arms": ("full",),
    "turns-or-tokens": ("full",),
    "position": ("full", {"type": "fifo", **_KEEP}),
    "related-filler": ("full",),
    "instruction-dilution": ("full",),
}
SUITES = {
    "quick": "Small enough for the embedded 135M model; what `make bench` runs.",
    "standard": "Format, tools and recall over forty turns: the suite to start with on a real model.",
    "instructions": "Standing rules: do they hold for the rest of the session?",
    "tools": "Tool use, repetition, bulk and hostile tool output.",
    "state": "What is true now: superseded values, open tasks, what was tried, what was never said.",
    "attention": "Distraction, position, turns against tokens, and what the way of measuring does.",
}
INTRODUCTION = """\
# Shipped scenarios

<!-- Made by docs/generate_scenarios.py from the files; a change here would be undone. -->

Each is a YAML file under `scenarios/` to run as it is, by its name (`contextrot bench rounding --model …`), by
its suite (`contextrot bench state`), or to copy and change (`contextrot init`). The pictures show a
**simulated** model, made to forget, so that one sees what the scenario measures; a real model has its own
curve.
"""


def page() -> str:
    """The whole page."""
    return INTRODUCTION + "".join(_sections())


def _sections() -> Iterator[str]:
    captions = json.loads(CAPTIONS.read_text(encoding="utf-8")) if CAPTIONS.is_file() else {}
    entries = shipped()
    suites = [*(name for name in SUITES if any(e.suite == name for e in entries))]
    suites += sorted({entry.suite for entry in entries} - set(suites))
    for suite in suites:
        yield f"\n## {suite}\n\n{SUITES.get(suite, '')}\n"
        for entry in entries:
            if entry.suite == suite:
                yield from _section(entry, captions.get(entry.id))


def _section(entry: Shipped, caption: str | None) -> Iterator[str]:
    scenario = load_scenario(entry.path)
    yield f"\n### {entry.id}\n\n**{scenario.title}.**\n\n{scenario.description}\n\n"
    if scenario.source:
        yield f"Source: {scenario.source}\n\n"
    yield "| | |\n|---|---|\n"
    yield from (f"| {name} | {text} |\n" for name, text in _facts(scenario))
    if caption is not None:
        yield f"\n![{entry.id}: compliance by turn](images/scenarios/{entry.id}.png)\n\n*{caption}*\n"


def _facts(scenario: Scenario) -> Iterator[tuple[str, str]]:
    spec = scenario.session
    yield (
        "session",
        f"{spec.turns} turns, {spec.history} history" + (f", window {spec.window:,}" if spec.window else ""),
    )
    filler = scenario.filler
    size = f", {filler.tokens_per_turn} tokens a turn" if filler.kind else ""
    yield "filler", (f"`{filler.kind}`" if filler.kind else f"{len(scenario.items)} turns of its own") + size
    if scenario.grid is not None:
        axes = scenario.grid.model_dump(mode="json", exclude_none=True)
        yield "grid", "; ".join(f"{name}: {', '.join(map(_short, values))}" for name, values in axes.items() if values)
    for rule in scenario.constraints:
        yield "rule", f"`{rule.id}`: {_cell(rule.text)}"
    for fact in scenario.facts:
        changes = f", anew at {', '.join(map(str, fact.changes))}" if fact.changes else ""
        yield "fact", f"`{fact.id}` at turn {fact.at}{changes}: {_cell(fact.text)}"
    if scenario.tools:
        yield "tools", ", ".join(f"`{tool.name}`" for tool in scenario.tools)
    for probe in scenario.probes:
        yield "probe", f"`{probe.id}` {_when(probe)}: {_asked(probe)}"


def _when(probe: Probe) -> str:
    if isinstance(probe.at, Every):
        return f"every {probe.at.every} turns"
    marks = probe.at if isinstance(probe.at, tuple) else (probe.at,)
    return f"at {', '.join(map(str, marks))}"


def _asked(probe: Probe) -> str:
    if probe.items:
        return f"one of {len(probe.items)} questions in rotation, such as “{_cell(probe.items[0].ask)}”"
    return f"“{_cell(str(probe.ask))}”"


def _short(value: Any) -> str:
    return f"turn {value['turn']}" if isinstance(value, dict) else str(value)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def draw(entry: Shipped) -> str:
    """Bench one scenario on the simulated model, save its picture, and return the caption."""
    from PIL import Image

    import contextrot as cr
    from contextrot.report import plots

    with tempfile.TemporaryDirectory() as folder:
        run = cr.bench(
            entry.path,
            models={"id": SIMULATED, "label": "simulated", "window": 32_000},
            strategies=list(STRATEGIES.get(entry.id, DEFAULT)),
            repeats=REPEATS,
            auxiliary="extractive",
            out=Path(folder) / "run",
        )
        picture = plots.render(run.summary, ("png",))["by-turn.png"]
    # A plot has few colours; with a palette it is a quarter as large.
    drawn = Image.open(io.BytesIO(picture)).convert("RGB")
    drawn.quantize(96).save(PICTURES / f"{entry.id}.png", optimize=True)
    today = datetime.date.today().isoformat()
    return (
        f"SIMULATED: `{SIMULATED}`, {REPEATS} sessions a strategy, {today}, by "
        f"`python docs/generate_scenarios.py --pictures {entry.id}`."
    )


def main() -> None:
    """Draw what is asked for, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", nargs="*", metavar="ID", help="draw the pictures of these, or of all, anew")
    asked = parser.parse_args().pictures
    if asked is not None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        captions = json.loads(CAPTIONS.read_text(encoding="utf-8")) if CAPTIONS.is_file() else {}
        for entry in shipped():
            if not asked or entry.id in asked:
                captions[entry.id] = draw(entry)
        CAPTIONS.write_text(json.dumps(captions, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
