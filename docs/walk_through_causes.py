"""Bench docs/examples/three-causes.yaml on the embedded model and write docs/causes.md.

usage: python docs/walk_through_causes.py

Needs two minutes and the weights (`contextrot models pull smollm2-135m`). What the page quotes is what
`contextrot show` prints of the recorded run; which session is shown for a cause is found in the verdicts.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import contextrot as cr

DOCS = Path(__file__).parent
SCENARIO = DOCS / "examples" / "three-causes.yaml"
MODEL = "local/smollm2-135m"
REPEATS = 3

INTRODUCTION = """\
# Three failures, three causes

<!-- Made by docs/walk_through_causes.py from a recorded run; a change here would be undone. -->

Why a check failed is decided by code from what was sent, before any judge is asked (DESIGN §2): the text of the
rule or the value of the fact was not in the prompt → **lost**; it was → **ignored**; the model fails the same
question when it is asked in a fresh session, with the statement right before it → **incapable**. Below is one
recorded session for each, from `docs/examples/three-causes.yaml` on the embedded model (SmolLM2-135M, {repeats}
sessions a strategy, {date}).

```
contextrot bench docs/examples/three-causes.yaml --repeats {repeats} \\
    --strategy full --strategy '{{type: fifo, keep: {{turns: 6}}}}'
```
"""

STORIES = {
    "lost": """\
## Lost: the strategy dropped it

The project code was told at turn 1. `fifo` with six turns sends only the newest ones: the manifest of the call
says how many messages were dropped, and none of those that were sent holds the code. No model could have known
it. The remedy is a strategy that keeps the statement (`pinned`, `retrieval`, a summary), not a better model.
""",
    "ignored": """\
## Ignored: it was in the prompt

The same question with the whole history (`full`). Every message was sent verbatim, the code stands in one of
the first, the window is not full, and the answer is wrong all the same. A larger window does not help. If it gets
worse with length (*Is it rot?* in the report), shorter prompts may, or the statement said again near the end
(`re_anchor`); else another model.
""",
    "incapable": """\
## Incapable: it fails when fresh as well

The rule asks for one JSON object. It was in the prompt, so this looks like rot, and a bench without controls
would count it so. The ceiling control asks the same question in a fresh session, with the rule right before it:

```
{control}
```

The model fails there too, so the failure says nothing about long sessions. Such checks are named in the report,
and are not what a context strategy can mend. Choose another model or an easier rule.
""",
}


def shown(*arguments: str) -> str:
    """What `contextrot show` prints, 88 columns wide."""
    environment = os.environ | {"COLUMNS": "88", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "contextrot", "show", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())


def main() -> None:
    """Run, choose the sessions, write the page."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        run = cr.bench(
            SCENARIO,
            models=MODEL,
            strategies=["full", {"type": "fifo", "keep": {"turns": 6}}],
            repeats=REPEATS,
            out=out,
        )
        verdicts = run.verdicts[run.verdicts["kind"] == "probe"]
        controls = run.verdicts[run.verdicts["kind"] == "ceiling"]
        control = controls[(controls["id"] == "form") & (controls["outcome"] == "fail")].iloc[0]
        asked = shown(str(out), str(control["session"])).split("\n")
        start = next(n for n, line in enumerate(asked) if "JSON object" in line)
        end = next(n for n in range(start, len(asked)) if "form (json)" in asked[n])
        told = INTRODUCTION.format(repeats=REPEATS, date=datetime.date.today().isoformat())
        for cause, story in STORIES.items():
            row = verdicts[verdicts["cause"] == cause].iloc[0]
            told += "\n" + story.replace("{control}", "\n".join(asked[start : end + 2]))
            page = shown(str(out), str(row["session"]), "--turn", str(row["turn"]))
            told += f"\n```\n{page}\n```\n"
    (DOCS / "causes.md").write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
