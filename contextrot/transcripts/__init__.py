"""Recorded sessions from elsewhere: one file per format, found by a registry (`base.py`), read into one value.

To add a format: a file in this folder with a function decorated by `base.register`, and its name in the import below.
"""

from __future__ import annotations

# Importing a format registers it.
from contextrot.transcripts import (  # noqa: F401
    anthropic,
    claude_code,
    codex,
    langfuse,
    langsmith,
    openai,
    sharegpt,
)
from contextrot.transcripts.base import Compaction, ModelCall, Transcript, formats, read_transcripts

__all__ = ["Compaction", "ModelCall", "Transcript", "formats", "read_transcripts"]
