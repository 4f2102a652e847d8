"""Write docs/strategies.md from the strategies themselves: `python docs/generate_strategies.py`.

A test compares the file with what this makes, so that the page says what the code does.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

from contextrot.strategies import REGISTRY, describe

PAGE = Path(__file__).parent / "strategies.md"
INTRODUCTION = """\
# Strategies

<!-- Made by docs/generate_strategies.py from the code; a change here would be undone. -->

A strategy decides what of the session is sent at each call. Name one, and it takes its own defaults (`--strategy fifo`:
all that fits), or give it parameters in `contextrot.yaml` or on the command line:
`--strategy '{type: fifo, keep: {turns: 6}}'`. Unknown parameters are refused.

A **size** is exactly one of `{tokens: n}`, `{messages: n}`, `{turns: n}` or `{fraction: f}` (of the window). A
**strategy** is a name or such a mapping: wrappers take another one as `inner`.

Under every strategy: system messages and pins are in view, unchanged and once; the current user message is there word
for word, last of the user's; tool calls and their results stay together; the view is within its budget, or the session
ends as `over_budget`; under its trigger a strategy does nothing. Scenarios' `pinned: true` counts where it says so,
and keeps the whole message that the rule or fact stands in.

Summaries and notes are written by the session's own model, or by `--auxiliary MODEL` (`extractive` needs none). A turn
asks it at most 1 + `retries` times, also in a tool loop, and also where it answers well but not all that is evicted
fits into so many asks; what is not covered by then stays as far as there is room, and the next turn goes on.
Similarity is measured by `--embedder MODEL`, by default `wordllama`, which is embedded and works offline.
"""


def page() -> str:
    """The whole page."""
    return INTRODUCTION + "".join(_sections())


def _sections() -> Iterator[str]:
    for row in describe():
        cls = REGISTRY[row["name"]]
        yield f"\n## {row['name']}\n\n"
        if row["aliases"]:
            yield f"Also called {', '.join(f'`{alias}`' for alias in row['aliases'])}.\n\n"
        text = row["summary"]
        yield f"*{text[:1].upper()}{text[1:]}.*{' Honours `pinned: true`.' if cls.honours_pins else ''}\n\n"
        yield inspect.cleandoc(cls.__dict__["__doc__"]).replace("``", "`") + "\n"
        if row["parameters"]:
            yield "\n| parameter | type | default | meaning |\n|---|---|---|---|\n"
        for parameter in row["parameters"]:
            default = "required" if parameter["required"] else f"`{_cell(parameter['default'])}`"
            meaning = _cell(parameter["description"])
            yield f"| `{parameter['name']}` | {_cell(parameter['type'])} | {default} | {meaning} |\n"


def _cell(text: str) -> str:
    """A text as a cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
