"""Every strategy on the same scenarios, by a real run: writes docs/strategy-results.md.

usage: python benchmarks/strategy_table.py [--repeats 4] [--sim-repeats 20] [--out results/strategy-table] [NAME ...]

Two runs. The first is real: the embedded 135M model in a virtual window of 1,000 tokens, summaries written by that same
model. The second is simulated (and says so): a model that obeys what it can read but for a known constant error, on
shipped scenarios in a virtual window; there summaries are extracted without a model. A run that was broken off is
resumed when `--out` names it again.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import contextrot as cr
from contextrot.analysis.figures import Group, Summary
from contextrot.analysis.summary import summarise
from contextrot.scenario.dump import dump_scenario
from contextrot.scenario.library import resolve
from contextrot.strategies import REGISTRY

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "strategy-results.md"
MODEL = "local/smollm2-135m"
SIMULATED = "sim/hazard?hazard=0.02"
SIMULATED_ON = ("long-tool-output", "multi-task", "near-miss-facts", "open-tasks", "rounding", "superseded-state")
WINDOW, SIM_WINDOW = 1000, 3000

#: parameters where the defaults would leave a strategy nothing to do on these scenarios
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "re_anchor": {"inner": "fifo", "every_n_turns": 5},
    "offload": {"inner": "fifo"},
    "budget_guard": {"inner": "fifo"},
    "observation_masking": {"keep_last": 1},
    "tag_selection": {"tags": ["code"]},
}


#: shorter summaries, asked for once, where a 135M model on a CPU has to write them: it rambles up to any cap
BRIEF: Mapping[str, Mapping[str, Any]] = {
    "dual_memory": {"max_tokens": 80, "bank_max_tokens": 80, "retries": 0},
    "rolling_summary": {"max_tokens": 120, "retries": 0},
    "state_extraction": {"max_tokens": 80, "every_n_turns": 6, "retries": 0},
    "structured_compaction": {"max_tokens": 80, "retries": 0},
}


def strategies(names: Sequence[str], brief: Mapping[str, Mapping[str, Any]] | None = None) -> list[dict[str, Any]]:
    """What is benched: every registered strategy with its defaults, or those named."""
    return [
        {"type": name, **SETTINGS.get(name, {}), **(brief or {}).get(name, {})}
        for name in names or sorted(cls.type_name for cls in set(REGISTRY.values()))
    ]


#: the `quick` scenarios in a fuller window: longer sessions, tasks of six turns, tags, and when each is asked
ASKED = {"project-code": [4, 10, 16, 22], "changed-code": [4, 10, 16, 22]}


def scenarios(folder: Path) -> list[Path]:
    """The scenarios of the real run as files: those of `quick`, made longer and given tasks and tags."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, turns in ASKED.items():
        raw = cr.load_scenario(resolve(name)[0]).model_dump(mode="json", by_alias=True, exclude_unset=True)
        raw["session"] |= {"turns": turns[-1], "window": WINDOW, "max_tokens": 48}
        raw["filler"]["task_turns"] = 6
        raw["facts"][0]["tags"] = ["code"]
        raw["probes"][0]["at"] = turns
        files.append(folder / f"{name}.yaml")
        files[-1].write_text(dump_scenario(raw), encoding="utf-8")
    return files


def real(names: Sequence[str], repeats: int, out: Path) -> Summary:
    """The run on the embedded model; its own summaries."""
    run = cr.bench(
        [str(file) for file in scenarios(out / "scenarios")],
        models=MODEL,
        strategies=strategies(names, BRIEF),
        repeats=repeats,
        concurrency=1,
        timeout=600,
        out=out / "real",
    )
    return summarise(run)


def simulated(names: Sequence[str], repeats: int, out: Path) -> Summary:
    """The run on the simulated model; summaries by the extractive summariser."""
    run = cr.bench(
        list(SIMULATED_ON),
        models={"id": SIMULATED, "window": SIM_WINDOW},
        strategies=strategies(names),
        repeats=repeats,
        auxiliary="extractive",
        out=out / "simulated",
    )
    return summarise(run)


COLUMNS = (
    "strategy",
    "median length (turns)",
    "compliance at depth",
    "why it failed (checks)",
    "tokens / session",
    "auxiliary",
    "prefix reuse",
    "cached",
    "compactions",
)
HEADER = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|\n"


def table(summary: Summary) -> str:
    """One row a strategy, pooled over the scenarios."""
    return HEADER + "".join(map(_row, sorted(summary.pooled, key=lambda group: group.strategy)))


def _row(group: Group) -> str:
    rate = group.compliance["at_depth"]
    share = "-" if rate.rate is None else f"{rate.rate:.0%} ({rate.low:.0%}–{rate.high:.0%}, n {rate.n})"
    causes = [f"{name} {n}" for name, n in group.causes.items() if n]
    causes = [text for text in causes if not text.startswith("fails")]
    causes += [f"{name.replace('_', ' ')} {n}" for name, n in group.length.events.items() if n and name != "fail"]
    spent = group.spent
    helper = f"{spent.aux_calls} calls, {spent.aux_tokens:,} tokens" if spent.aux_calls else "none"
    reuse = "-" if group.prefix_reuse is None else f"{group.prefix_reuse:.0%}"
    cached = f"{spent.cached_tokens / spent.prompt_tokens:.0%}" if spent.cached_tokens and spent.prompt_tokens else "-"
    tokens = "-" if spent.tokens_per_session is None else f"{spent.tokens_per_session:,.0f}"
    cells = [
        f"`{group.strategy}`" + ("" if group.cut else " (never fired)"),
        group.length.text,
        share,
        ", ".join(causes) or "no failure",
        tokens,
        helper,
        reuse,
        cached,
        str(group.compactions),
    ]
    return f"| {' | '.join(cells)} |\n"


PAGE_TEXT = """\
# Every strategy on the same scenarios

<!-- Made by benchmarks/strategy_table.py from two runs; a change here would be undone. -->

What each of the {count} strategies buys and costs, with its default parameters unless the name says otherwise.
**Median length**: turns to the first failure (Kaplan-Meier, 95 % interval; overflow ends a session too). **At
depth**: compliance in the second half of the session, with a session-level interval and the number of checks.
**Why it failed**: lost (not in what was sent), ignored (it was), overflow. **Auxiliary**: calls of the
summariser or extractor and their tokens, which the tokens a session include. **Prefix reuse**: the shared
prefix with the previous prompt, the predictor of cache hits, between one turn and the next. **Cached**: the
share of prompt tokens that a real engine took from its cache. *Never fired*: the strategy had nothing to do
here and is not to be ranked.

Made on {date} by `python benchmarks/strategy_table.py`.

## On the embedded model

{real_words}

{real}
## On a simulated model

{simulated_words}

{simulated}
"""


def page(real_summary: Summary, simulated_summary: Summary) -> str:
    """docs/strategy-results.md."""
    names = sorted({group.strategy for group in real_summary.pooled})
    per = max(group.sessions for group in real_summary.pooled)
    sim_per = max(group.sessions for group in simulated_summary.pooled)
    return PAGE_TEXT.format(
        count=len(names),
        date=datetime.date.today().isoformat(),
        real_words=(
            f"`{MODEL}` (SmolLM2-135M, llama.cpp on a CPU), virtual window {WINDOW:,} tokens, "
            f"the `quick` scenarios `{'` and `'.join(ASKED)}` over 22 turns with tasks of six turns, "
            f"{per} sessions a strategy, summaries by the same model. "
            "So small a model writes poor summaries and answers in free prose: read the differences, not the levels."
        ),
        real=table(real_summary),
        simulated_words=(
            f"**SIMULATED**: `{SIMULATED}` obeys what it can read in 98 % of its answers, "
            f"so that what is left is what the strategy loses. Virtual window {SIM_WINDOW:,} tokens, the scenarios "
            f"{', '.join(f'`{name}`' for name in SIMULATED_ON)}, {sim_per} sessions a strategy, "
            "summaries by the extractive summariser (no model)."
        ),
        simulated=table(simulated_summary),
    )


def main() -> None:
    """Both runs, then the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="strategies; default: all (only then the page is written)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="sessions of each scenario on the embedded model")
    parser.add_argument("--sim-repeats", type=int, default=10, help="sessions of each scenario on the simulated model")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "strategy-table", help="folder of the two runs")
    asked = parser.parse_args()
    made = page(real(asked.names, asked.repeats, asked.out), simulated(asked.names, asked.sim_repeats, asked.out))
    if asked.names:
        print(made)
    else:
        PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
