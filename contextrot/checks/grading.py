"""From a reply to a verdict: first what comes before any check, then the check itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contextrot.checks.base import Check, Facts, FactState, fail
from contextrot.checks.reasoning import answer_of
from contextrot.checks.refusal import is_refusal
from contextrot.errors import ConfigError
from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict

#: finish reasons of the providers, in lower case; the OpenAI word comes first
FILTERED = frozenset((
    "content_filter", "content_filtered", "safety", "image_safety", "recitation", "prohibited_content", "blocklist",
    "spii", "guardrail_intervened",
))  # fmt: skip
TRUNCATED = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})
#: characters that show nothing and that `str.strip` keeps
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"


def grade(check: Check, reply: Reply, facts: Facts | None = None) -> Verdict:
    """The verdict of one check on one reply.

    A filtered, cut-off or empty reply has its own outcome and is never graded; a refusal the provider declares is a
    `fail`. Reasoning at the start of the reply is not part of it. A reply that only calls tools has nothing for a check
    on text to read: `not_exercised`.
    """
    finish = (reply.finish_reason or "").lower()
    if finish in FILTERED:
        return Verdict(Outcome.FILTERED, f"the provider withheld the reply (finish reason {finish})")
    if finish in TRUNCATED:
        return Verdict(Outcome.TRUNCATED, f"the reply was cut off (finish reason {finish})", reply.text[-80:])
    if reply.refusal or finish == "refusal":
        return fail("the model refused to answer", reply.refusal or reply.text)

    answer = answer_of(reply.text)
    shown = is_shown(answer or "")
    if not shown and not reply.tool_calls:
        what = "it ended inside its reasoning" if answer is None else "no text and no tool call"
        return Verdict(Outcome.EMPTY, f"the reply is empty: {what}")
    if not shown and not check.reads_tool_calls:
        return Verdict(Outcome.NOT_EXERCISED, "the reply only calls tools; there is no text to check")

    if reply.content != (answer or ""):
        reply = replace(reply, content=answer or "")
    verdict = check.grade(reply, facts or {})
    if verdict.outcome is Outcome.FAIL and not reply.tool_calls and is_refusal(reply.text):
        return replace(verdict, reason=f"the model refused: {verdict.reason}")
    return verdict


def is_shown(text: str) -> bool:
    """True when a person would see anything of the text."""
    return any(not char.isspace() and char not in _INVISIBLE for char in text)


def read_facts(raw: Mapping[str, Any]) -> dict[str, FactState]:
    """Facts as users hand them to `contextrot.check`: a value each, or ``{value, superseded: [...]}``."""
    facts: dict[str, FactState] = {}
    for name, given in raw.items():
        if isinstance(given, FactState):
            facts[name] = given
        elif isinstance(given, str):
            facts[name] = FactState(given)
        elif isinstance(given, Mapping) and isinstance(given.get("value"), str):
            old = given.get("superseded") or ()
            facts[name] = FactState(given["value"], (old,) if isinstance(old, str) else tuple(map(str, old)))
        else:
            raise ConfigError(f"the fact `{name}` must be text or {{value, superseded}}, not {given!r:.80}")
    return facts
