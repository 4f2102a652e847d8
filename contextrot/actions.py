"""When is a tool call the same action as another, and when is it a repeat: one definition for benches and for audits.

An agent that lost track does again what it had already done. Told from the calls and their results alone: an action is
the tool and what its arguments mean; it is repeated when the same action already succeeded. A call that failed and is
tried again is no repeat, and neither are the parallel calls of one message judged against results not yet seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from contextrot.messages import Message, ToolCall

#: Words a failed result begins with, in the harnesses and shells that return text.
_FAILED_TEXT = re.compile(
    r"\s*(?:<tool_use_error>|\[?error\b|errno\b|traceback \(most recent call last\)|exception\b|fatal:|failed\b|"
    r"failure\b|permission denied|command not found|timed? ?out\b|\w*(?:Error|Exception):)",
    re.IGNORECASE,
)
#: A count of failures that is none, as summaries of tests and batches begin: `Failed: 0, passed: 12`, `errors: []`.
_NONE_FAILED = re.compile(
    r"\s*\[?(?:errors?|failed|failures?|exceptions?)\b"
    r"(?: (?:tests?|checks?|cases?|jobs?|steps?|items?|files?|count))?\]?"
    r"(?:\s*[:=]\s*(?:0(?![\w.%])|"
    r"(?<!error:)(?<!error: )(?<!error=)(?:none|no|nil|null|false)\b|"
    r"\[\s*\]|\{\s*\}|\"\"|'')|(?<=failed)\s+0(?![\w.%]))"
    r"(?:\s+(?:out )?of \d+|\s+(?:tests?|checks?|cases?|jobs?|steps?|items?|files?)\b)?"
    r"\s*(?:[,;.|/)\n]+|\Z|(?=[^\W\d]+\s*[:=]\s*\d))",
    re.IGNORECASE,
)
#: What a field `error` holds when there is none.
_NO_ERROR = frozenset(
    {"", "0", "-", "none", "no", "null", "nil", "false", "n/a", "no error", "no errors", "ok", "success"}
)
_EXIT_CODE = re.compile(r"(?:exit(?:ed)?(?: with)? (?:code|status)|exit_code)\W{0,3}(-?\d+)", re.IGNORECASE)
_FAILED_STATUS = frozenset({"error", "failed", "failure", "fail", "timeout", "denied"})
_MARKS = ("is_error", "isError")
#: How much of a long result is read for a sign of failure: it stands at the head.
_HEAD = 2000


class Done(NamedTuple):
    """One tool call as it happened.

    `step` numbers the assistant messages that call tools, so that parallel calls share it. `result` is the text the
    tool answered, None where none is recorded; `failed` is what the record says of it, None where it says nothing.
    """

    call: ToolCall
    step: int
    result: str | None = None
    failed: bool | None = None
    turn: int = 0

    @property
    def succeeded(self) -> bool:
        """By what the record says of it; where it says nothing, by the result (`failed`)."""
        return not (failed(self.result) if self.failed is None else self.failed)


def same_action(call: ToolCall) -> str:
    """A key that is equal for two calls that are the same action: the tool and its normalised arguments.

    JSON arguments count by value: order of keys, blanks between them, blanks at the ends of texts, `1.0` for `1`, and
    arguments that are null make no difference. Upper and lower case do (a path is not another path). Arguments that are
    no JSON are compared as text with runs of blanks made one.
    """
    try:
        arguments = _normal(json.loads(call.arguments or "{}"))
        key = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        key = " ".join(call.arguments.split())
    return f"{call.name}({key})"


def _normal(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _normal(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_normal(inner) for inner in value]
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def failed(result: str | None) -> bool:
    """True when a tool's result says that the call did not succeed; a result that is missing did not succeed either.

    Read from the result's own head: a JSON object with an `error`, a status such as `failed`, `ok: false`; an exit code
    other than 0; or text that begins with an error. A result that merely speaks of errors further on succeeded.
    """
    if result is None:
        return True
    head = result[:_HEAD].lstrip()
    if head.startswith("{"):
        try:
            value = json.loads(result)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, Mapping):
            return _says_failed(value)
    code = _EXIT_CODE.search(head[:200])
    if code is not None:
        return int(code[1]) != 0
    while (none := _NONE_FAILED.match(head)) is not None and none.end():
        head = head[none.end() :]
    return _FAILED_TEXT.match(head) is not None


def _is_error(value: object) -> bool:
    return value.strip().rstrip(".!").lower() not in _NO_ERROR if isinstance(value, str) else bool(value)


def _says_failed(value: Mapping[str, Any]) -> bool:
    if (
        _is_error(value.get("error"))
        or _is_error(value.get("errors"))
        or any(value.get(mark) is True for mark in _MARKS)
    ):
        return True
    if any(value.get(key) is False for key in ("ok", "success", "succeeded")):
        return True
    code = value.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool):
        return code != 0
    inner = value.get("metadata")
    if isinstance(inner, Mapping) and isinstance(inner.get("exit_code"), int):
        return bool(inner["exit_code"] != 0)
    return str(value.get("status", "")).lower() in _FAILED_STATUS


def done(messages: Sequence[Message], turns: Sequence[int] | None = None) -> list[Done]:
    """Every tool call of a conversation in order, each with its result. `turns` gives the turn of each message."""
    results: dict[tuple[int, str], Message] = {}
    open_at: dict[str, int] = {}
    steps: list[tuple[int, Message]] = []
    for index, message in enumerate(messages):
        if message.role == "assistant" and message.tool_calls:
            steps.append((index, message))
            open_at.update((call.id, index) for call in message.tool_calls)
        elif message.role == "tool" and message.tool_call_id in open_at:
            results[open_at.pop(message.tool_call_id), message.tool_call_id] = message
    found = []
    for step, (index, message) in enumerate(steps):
        for call in message.tool_calls:
            answer = results.get((index, call.id))
            mark = None if answer is None else answer.extra.get("is_error")
            found.append(
                Done(
                    call,
                    step,
                    result=None if answer is None else answer.text,
                    failed=mark if isinstance(mark, bool) else None,
                    turn=turns[index] if turns is not None else 0,
                )
            )
    return found


def repeats(calls: Sequence[Done]) -> list[int]:
    """Indexes of the calls that do again what an earlier step had already done with success, ascending."""
    return [index for index, first in enumerate(first_done(calls)) if first is not None]


def first_done(calls: Sequence[Done]) -> list[int | None]:
    """For every call the index of the first earlier call that is the same action and succeeded, else None."""
    succeeded: dict[str, int] = {}
    found: list[int | None] = []
    for index, entry in enumerate(calls):
        key = same_action(entry.call)
        first = succeeded.get(key)
        found.append(first if first is not None and calls[first].step < entry.step else None)
        if first is None and entry.succeeded:
            succeeded[key] = index
    return found


def unchanged(calls: Sequence[Done]) -> list[int]:
    """The repeats that also got the very result of the last time the action was done: nothing was learned by them.

    A test suite run again after an edit is a repeat, and rightly done; one that returns the same is the suspect.
    """
    last: dict[str, str | None] = {}
    again = set(repeats(calls))
    found = []
    for index, entry in enumerate(calls):
        key = same_action(entry.call)
        if index in again and last.get(key) == entry.result:
            found.append(index)
        last[key] = entry.result
    return found
