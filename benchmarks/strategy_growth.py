"""Cost of a view by turn: 2,000 turns of 200 tokens under every strategy, and in `Memory`, without a model.

usage: python benchmarks/strategy_growth.py [--turns 2000] [--tokens 200] [--window 8000] [NAME ...]

A name is a strategy's, or `memory:NAME` for that strategy inside `Memory`, what it takes to add a turn included.
Prints milliseconds of processor time per view (others may use the machine meanwhile) for turns 200–400, for the last
200, and their ratio, which must stay within 1.3 wherever the view is bounded (`full` costs what its own length costs),
and the bytes the log and the view hold per token. Exit code 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Sequence

from contextrot.log import Log
from contextrot.memory import Memory
from contextrot.messages import Message, Reply, ToolCall, assistant, system, tool_result, user
from contextrot.models.embedders import create_embedder
from contextrot.strategies import REGISTRY, Request, State, Strategy, View, load_strategy
from contextrot.tokens import TokenCounter

BOUND = 1.3
UNBOUNDED = {"full"}
IN_MEMORY = ("memory:fifo", "memory:rolling_summary", "memory:retrieval")


class Notes:
    """A helper that answers at once; strategies are measured here, not models."""

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        return Reply("The user asked about tickets and got answers. " * 8, finish_reason="stop")


def strategy_named(name: str) -> Strategy:
    if name == "re_anchor":
        return load_strategy({"type": name, "inner": "rolling_summary"})
    return load_strategy(name)


def measure(strategy: Strategy, turns: int, tokens: int, window: int) -> list[float]:
    """Seconds of processor time per view, one a turn."""
    counter = TokenCounter()
    log = Log(counter.message)
    budget = window if strategy.type_name not in UNBOUNDED else turns * (tokens + 100) * 2
    log.append(system("You are a support assistant."), turn=0)
    log.append(user("Never push to main."), turn=1, pinned=True, standing=("Never push to main.",))
    state: State = {}
    seconds: list[float] = []
    helper = Notes()
    embedder = create_embedder()
    text = "word " * (tokens // 2)
    for turn in range(1, turns + 1):
        log.append(user(f"{turn} {text}"), turn=turn, tags=frozenset({f"topic{turn % 7}"}))
        if turn % 4 == 0:
            log.append(assistant(None, [ToolCall(f"c{turn}", "look")]), turn=turn)
            log.append(tool_result(f"c{turn}", text), turn=turn)
        request = Request(budget, budget, turn, counter.message, helper, embedder=embedder)
        start = time.process_time()
        view = view_of(strategy, log, state, request)
        seconds.append(time.process_time() - start)
        state = view.state
        log.append(assistant(f"{turn} {text}"), turn=turn)
    return seconds


def measure_memory(strategy: Strategy, turns: int, tokens: int, window: int) -> list[float]:
    """Seconds of processor time per turn inside `Memory`: what is said is added, and the messages are asked for."""
    memory = Memory(strategy, window, summarizer=lambda messages: "The user asked about tickets. " * 8)
    memory.add("system", "You are a support assistant.")
    memory.pin("Never push to main.")
    text = "word " * (tokens // 2)
    seconds: list[float] = []
    for turn in range(1, turns + 1):
        start = time.process_time()
        memory.add("user", f"{turn} {text}", tags=(f"topic{turn % 7}",))
        memory.messages()
        memory.add("assistant", f"{turn} {text}")
        seconds.append(time.process_time() - start)
    return seconds


def view_of(strategy: Strategy, log: Log, state: State, request: Request) -> View:
    """Run a view to its end without an event loop, whose own cost would blur the figures."""
    try:
        strategy.view(log, state, request).send(None)
    except StopIteration as done:
        view: View = done.value
        return view
    raise RuntimeError("the view waited for something")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--window", type=int, default=8000)
    options = parser.parse_args()
    names = options.names or [*sorted({cls.type_name for cls in REGISTRY.values()}), *IN_MEMORY]
    broken = False
    print(f"{'strategy':22}{'200–400':>10}{'last 200':>10}{'ratio':>8}{'bound':>8}{'bytes/token':>13}")
    for name in names:
        strategy = strategy_named(name.removeprefix("memory:"))
        work = measure_memory if name.startswith("memory:") else measure
        seconds = work(strategy, options.turns, options.tokens, options.window)
        tracemalloc.start()
        work(strategy, options.turns // 4, options.tokens, options.window)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        early, late = mean(seconds[200:400]), mean(seconds[-200:])
        bound = None if name in UNBOUNDED else BOUND
        broken |= bound is not None and late / early > bound
        shown = "its own" if bound is None else f"{bound}"
        per_token = peak / (options.turns // 4 * options.tokens)
        print(f"{name:22}{early * 1e3:>8.3f}ms{late * 1e3:>8.3f}ms{late / early:>8.2f}{shown:>8}{per_token:>13.1f}")
    return int(broken)


def mean(seconds: list[float]) -> float:
    """The mean without the slowest hundredth: compactions count, a pause of the machine does not."""
    kept = sorted(seconds)[: len(seconds) - len(seconds) // 100]
    return sum(kept) / len(kept)


if __name__ == "__main__":
    sys.exit(main())
