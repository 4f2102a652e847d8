"""From a reply to a verdict record: the check's outcome, whether its evidence was in view, so the cause of a failure.

The cause is decided by code from what was sent, before any judge (DESIGN §2): the rule's own text or the fact's value
absent from the view is `lost`, present is `ignored`. `incapable` needs the ceiling control and is decided over the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contextrot.checks import grade
from contextrot.checks.base import Check, FactState
from contextrot.messages import Reply, mentions
from contextrot.outcomes import Cause, Outcome, Verdict
from contextrot.scenario.script import Subject, Tested
from contextrot.strategies.base import View

_ABSTAIN = "abstain"


def in_view(view: View, subject: Subject | None, question: str = "") -> bool | None:
    """True when all the subject needs stands in the sent messages; None when nothing stated is tested.

    In messages the strategy made white space may differ (a summary reflows text); words may not: a paraphrase is not
    the rule's own text. A value that only the `question` names ("is it A or B?") is no evidence.
    """
    return None if subject is None else all(_stands(view, text, question) for text in subject.needed)


def _stands(view: View, text: str, question: str) -> bool:
    if any(mentions(message.text, text) and message.text != question for message in view.messages):
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


def asks_for_action(check: Check) -> bool:
    """True when a part of the check wants tool calls: what it looks for is an action, unless it forbids it."""
    return any(wanted and not part.parts() and part.reads_tool_calls for part, wanted in check.walk())


def _abstained(verdict: Verdict, check: Check, replies: Sequence[Reply], facts: Mapping[str, FactState]) -> bool | None:
    """Whether a reply that had to say that it does not know said so; None where it had not to, or that is open.

    Told by the `abstain` part alone: a reply that fails another part of the check made nothing up.
    """
    outcomes = {verdict.outcome} if check.type_name == _ABSTAIN else set()
    if check.parts() and replies:
        outcomes = {grade(leaf, merge_rounds(replies, leaf), facts).outcome for leaf in _has_to_abstain(check)}
    if Outcome.FAIL in outcomes:
        return False
    return True if outcomes == {Outcome.PASS} else None


def _has_to_abstain(check: Check) -> Iterator[Check]:
    """The `abstain` checks without which the whole cannot pass."""
    if check.type_name == _ABSTAIN:
        yield check
    elif check.type_name == "all_of":
        for part in check.parts():
            yield from _has_to_abstain(part)
    elif check.type_name == "any_of":
        found = [list(_has_to_abstain(part)) for part in check.parts()]
        if all(found):
            yield found[0][0]


def graded_fields(
    verdict: Verdict,
    kind: str,
    check: Check,
    visible: bool | None,
    replies: Sequence[Reply] = (),
    facts: Mapping[str, FactState] | None = None,
) -> dict[str, Any]:
    """The fields of a `verdict` record that follow from its check: all that grading anew can change.

    `replies` are those that were graded, one a tool round, and `facts` what was true then.
    """
    cause = None
    if verdict.outcome is Outcome.FAIL and kind in ("probe", "passive"):
        cause = _cause(check, visible)
    return {
        "check": check.type_name,
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "evidence": verdict.evidence,
        "in_view": visible,
        "cause": cause.value if cause else None,
        "asks_action": asks_for_action(check),
        "abstained": _abstained(verdict, check, replies, facts or {}),
    }


def verdict_record(
    verdict: Verdict,
    tested: Tested,
    *,
    turn: int,
    branch: str | None,
    call: int | None = None,
    visible: bool | None = None,
    since_tokens: int | None = None,
    replies: Sequence[Reply] = (),
) -> dict[str, Any]:
    """The `verdict` record of docs/run-directory.md. `visible`: whether the evidence was in view, None: not known.

    `replies` are those that were graded; empty where there was none.
    """
    subject = tested.subject
    return {
        "t": "verdict",
        "turn": turn,
        "branch": branch,
        "call": call,
        "kind": tested.kind,
        "id": tested.id,
        "item": tested.item,
        "subject": tested.subject_id,
        **graded_fields(verdict, tested.kind, tested.check, visible, replies, tested.facts),
        # Nothing is said yet in the fresh session: the statement stands in the question itself.
        "since_turns": max(0, turn - subject.turn) if subject else None,
        "since_tokens": since_tokens,
    }
