"""Runs the command line as users do: another process, its exit code, what it prints. Used by the tests beside it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

Cli = Callable[..., subprocess.CompletedProcess[str]]

#: Nothing of the developer's own settings or keys may decide a test.
CLEAN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("CONTEXTROT_") and not name.endswith(("_API_KEY", "_TOKEN")) and name != "OPENAI_BASE_URL"
}

SMALL = """\
contextrot: 1
id: small
facts: [{id: code, text: "For later: our project code is {value}.", values: [BLUE-42, TEAL-7], pinned: true}]
filler: {kind: notes, tokens_per_turn: 40}
session: {turns: 6}
probes: [{id: code, ask: What is our project code?, at: [0, 2, 4, 6], check: {type: recall, fact: code}}]
"""
