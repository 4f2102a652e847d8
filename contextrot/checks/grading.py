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
#: how the reason for the failure of a refusal begins
REFUSED = "the model refused"
#: characters that show nothing and that `str.strip` keeps
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"


def grade(check: Check, reply: Reply, facts: Facts | None = None) -> Verdict:
    """The verdict of one check on one reply.

    A filtered, cut-off or empty reply has its own outcome and is never graded; a refusal the provider declares is a
    `fail`, and so is one in the text where the check only forbids something (unless it takes refusals). Reasoning at
    the start of the reply is not part of it. A reply that only calls tools has nothing for a check on text to read:
    `not_exercised`.
    """
    ready = _ready(check, reply)
    if isinstance(ready, Verdict):
        return ready
    verdict = graded(check, ready, facts or {})
    if verdict.outcome is Outcome.FAIL and not verdict.reason.startswith(REFUSED) and declines(ready):
        return replace(verdict, reason=f"{REFUSED}: {verdict.reason}")
    return verdict


def graded(check: Check, reply: Reply, facts: Facts) -> Verdict:
    """The verdict on a reply that was found fit to read: doing nothing at all does not keep what forbids something."""
    verdict = check.grade(reply, facts)
    if verdict.outcome is Outcome.PASS and check.kept_by_silence and not check.takes_refusals and declines(reply):
        return fail(f"{REFUSED}, which keeps `{check.kind}` only by not doing what was asked", reply.text)
    return verdict


def open_question(check: Check, reply: Reply, facts: Facts | None = None) -> Check | None:
    """What has to be asked before this reply can be graded: a judge whose opinion decides; None: nothing is open."""
    ready = _ready(check, reply)
    return None if isinstance(ready, Verdict) else check.open_question(ready, facts or {})


def _ready(check: Check, reply: Reply) -> Verdict | Reply:
    """The reply as a check reads it, or the verdict where there is nothing to read."""
    finish = (reply.finish_reason or "").lower()
    if finish in FILTERED:
        return Verdict(Outcome.FILTERED, f"the provider withheld the reply (finish reason {finish})")
    if finish in TRUNCATED:
        return Verdict(Outcome.TRUNCATED, f"the reply was cut off (finish reason {finish})", reply.text[-80:])
    if reply.refusal or finish == "refusal":
        if not check.takes_refusals:
            return fail(f"{REFUSED} to answer", reply.refusal or reply.text)
        reply = replace(reply, content=reply.text or reply.refusal or "", refusal=None)

    answer = answer_of(reply.text)
    shown = is_shown(answer or "")
    if not shown and not reply.tool_calls:
        what = "it ended inside its reasoning" if answer is None else "no text and no tool call"
        return Verdict(Outcome.EMPTY, f"the reply is empty: {what}")
    if not shown and not check.reads_tool_calls:
        return Verdict(Outcome.NOT_EXERCISED, "the reply only calls tools; there is no text to check")

    return replace(reply, content=answer or "") if reply.content != (answer or "") else reply


def declines(reply: Reply) -> bool:
    """True for a reply that declines the request and does nothing else."""
    return not reply.tool_calls and is_refusal(reply.text)


def is_shown(text: str) -> bool:
    """True when a person would see anything of the text."""
    return any(not char.isspace() and char not in _INVISIBLE for char in text)


def read_facts(raw: Mapping[str, Any]) -> dict[str, FactState]:
    """Facts as users hand them to `contextrot.check`: a value each, or ``{value, superseded, near}``."""
    facts: dict[str, FactState] = {}
    for name, given in raw.items():
        if isinstance(given, FactState):
            facts[name] = given
        elif isinstance(given, str):
            facts[name] = FactState(given)
        elif isinstance(given, Mapping) and isinstance(given.get("value"), str):
            old, near = (given.get(key) or () for key in ("superseded", "near"))
            facts[name] = FactState(given["value"], *map(_texts, (old, near)))
        else:
            raise ConfigError(f"the fact `{name}` must be text or {{value, superseded}}, not {given!r:.80}")
    return facts


def _texts(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(map(str, given))
