"""Write docs/checks.md from the checks themselves: `python docs/generate_checks.py`.

A test compares the file with what this makes, so that the page says what the code does. The examples are graded while
the page is made: what stands under "passes" passes.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from contextrot.checks import check, describe
from contextrot.checks.base import REGISTRY
from contextrot.outcomes import Outcome

PAGE = Path(__file__).parent / "checks.md"
EXAMPLES = Path(__file__).parent / "checks_examples.yaml"
INTRODUCTION = """\
# Checks

<!-- Made by docs/generate_checks.py from the code and docs/checks_examples.yaml; a change here would be undone. -->

A check reads a reply and says `pass` or `fail`, by code: the same reply gets the same verdict. It stands at a
constraint (then it is made on every live reply from the turn the rule is stated) or at a probe. Try one without a
model:

```python
import contextrot as cr

cr.check({"type": "count", "unit": "sentences", "at_most": 2}, "It moved. To Thursday. At ten.").reason
# 'the reply has 3 sentences, where at most 2 are allowed'
```

`contextrot list checks --params` prints the parameters, `contextrot schema` the JSON Schema for editors.

Before any check, whatever its type: a reply that was cut off is `truncated`, one without text or tool call is `empty`,
one the provider withheld is `filtered`; none of them is graded. A reply that only calls tools is `not_exercised` for a
check on text. Reasoning in a closed `<think>` block is not part of a reply. A reply that declines the request and does
not pass is a `fail` whose reason says so. Where a check only forbids something (`keyword` with `none`, `regex` with
`not_matches`, `not`) it does not pass either, for nothing was done, unless the check says `refusal_ok: true`. Where a
check cannot tell, the outcome is `inconclusive`, and where it could not be made, `error` or `timeout`: only `pass` and
`fail` enter a rate, the others are counted beside it.

A check that no reply can fail is refused when the scenario is read.
"""


def page() -> str:
    """The whole page. Raises `AssertionError` for an example that does not come out as it is listed."""
    return INTRODUCTION + "".join(_sections())


def _sections() -> Iterator[str]:
    examples: dict[str, list[dict[str, Any]]] = yaml.safe_load(EXAMPLES.read_text(encoding="utf-8"))
    assert set(examples) == set(REGISTRY), set(examples) ^ set(REGISTRY)
    for row in describe():
        yield f"\n## {row.type}\n\n"
        yield inspect.cleandoc(REGISTRY[row.type].__dict__["__doc__"]).replace("``", "`") + "\n"
        if row.parameters:
            yield "\n| parameter | type | default | meaning |\n|---|---|---|---|\n"
        for parameter in row.parameters:
            default = "required" if parameter.required else _default(parameter.default)
            meaning = _cell(parameter.description)
            yield f"| `{parameter.name}` | {_cell(parameter.type)} | {default} | {meaning} |\n"
        for example in examples[row.type]:
            yield from _example(example)


def _example(example: dict[str, Any]) -> Iterator[str]:
    yield f"\n```yaml\ncheck: {example['check']}\n```\n"
    if example.get("run") is False:
        return
    yield "\n| reply | outcome |\n|---|---|\n"
    for outcome in Outcome:
        for reply in example.get(outcome.value, ()):
            verdict = check(yaml.safe_load(example["check"]), reply, facts=example.get("facts"))
            assert verdict.outcome is outcome, (example["check"], reply, verdict)
            said = f": {_cell(verdict.reason)}" if verdict.reason else ""
            yield f"| {_code(reply)} | `{outcome.value}`{said} |\n"


def _default(value: Any) -> str:
    if value is None or value == []:
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _code(reply: Any) -> str:
    text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    text = text.replace("\n", "⏎").replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _cell(text: str) -> str:
    """A text as a cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
