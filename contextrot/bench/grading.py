"""From a reply to a verdict record: the check's outcome, whether its evidence was in view, so the cause of a failure.

The cause is decided by code from what was sent, before any judge (DESIGN §2): the rule's own text or the fact's value
absent from the view is `lost`, present is `ignored`. `incapable` needs the ceiling control and is decided over the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from contextrot.checks.base import Check
from contextrot.messages import Reply, mentions
from contextrot.outcomes import Cause, Outcome, Verdict
from contextrot.scenario.script import Subject
from contextrot.strategies.base import View


def in_view(view: View, subject: Subject | None) -> bool | None:
    """True when all the subject needs stands in the sent messages; None when nothing stated is tested.

    In messages the strategy made white space may differ (a summary reflows text); words may not: a paraphrase is not
    the rule's own text.
    """
    return None if subject is None else all(_stands(view, text) for text in subject.needed)


def _stands(view: View, text: str) -> bool:
    if any(mentions(message.text, text) for message in view.messages):
        return True
    evidence = " ".join(text.split())
    made = (message for message, source in zip(view.messages, view.sources, strict=True) if source is None)
    return any(mentions(" ".join(message.text.split()), evidence) for message in made)


def merge_rounds(replies: Sequence[Reply], check: Check) -> Reply:
    """What a check reads of a turn that took several tool rounds: the last text and the calls of all rounds.

    A check on tool calls looks at calls that were made whole, so a later text that was cut off does not void them,
    unless a part of the check reads the text.
    """
    last = replies[-1]
    if len(replies) == 1:
        return last
    calls = tuple(call for reply in replies for call in reply.tool_calls)
    whole = calls and all(leaf.reads_tool_calls for leaf in check.leaves())
    finish = "tool_calls" if whole else last.finish_reason
    return replace(last, tool_calls=calls if check.reads_tool_calls else last.tool_calls, finish_reason=finish)


def _cause(check: Check, visible: bool | None) -> Cause | None:
    """`lost` or `ignored` by what was sent; None where nothing that was sent could have told the model better.

    A probe of tool use needs no statement: the tools go out with every call, so not using them is `ignored`.
    """
    if visible is None:
        return Cause.IGNORED if check.reads_tool_calls else None
    return Cause.IGNORED if visible else Cause.LOST


def verdict_record(
    verdict: Verdict,
    *,
    kind: str,
    id_: str,
    check: Check,
    turn: int,
    branch: str | None,
    subject: Subject | None = None,
    subject_id: str | None = None,
    call: int | None = None,
    visible: bool | None = None,
    since_tokens: int | None = None,
    item: str = "",
) -> dict[str, Any]:
    """The `verdict` record of docs/run-directory.md."""
    cause = None
    if verdict.outcome is Outcome.FAIL and kind in ("probe", "passive"):
        cause = _cause(check, visible)
    return {
        "t": "verdict",
        "turn": turn,
        "branch": branch,
        "call": call,
        "kind": kind,
        "id": id_,
        "item": item,
        "subject": subject.id if subject else subject_id,
        "check": check.type_name,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "evidence": verdict.evidence,
        "in_view": visible,
        "cause": cause.value if cause else None,
        # Nothing is said yet in the fresh session: the statement stands in the question itself.
        "since_turns": max(0, turn - subject.turn) if subject else None,
        "since_tokens": since_tokens,
    }
