"""What is the same action, and what is a repeat."""

from __future__ import annotations

import pytest

from contextrot.actions import Done, done, failed, first_done, repeats, same_action, unchanged
from contextrot.messages import Message, ToolCall, assistant, tool_result, user


def call(arguments: str, name: str = "query", id_: str = "c") -> ToolCall:
    return ToolCall(id_, name, arguments)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1, "b": "x"}', '{"b":"x","a":1}'),
        ('{"a": 1.0}', '{"a": 1}'),
        ('{"a": " x "}', '{"a": "x"}'),
        ('{"a": 1, "b": null}', '{"a": 1}'),
        ("", "{}"),
        ("{not json  at all", "{not json at all"),
    ],
)
def test_the_same_action(one: str, other: str) -> None:
    assert same_action(call(one)) == same_action(call(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1}', '{"a": 2}'),
        ('{"path": "A"}', '{"path": "a"}'),
        ('{"a": [1, 2]}', '{"a": [2, 1]}'),
        ('{"a": "1"}', '{"a": 1}'),
    ],
)
def test_another_action(one: str, other: str) -> None:
    assert same_action(call(one)) != same_action(call(other))
    assert same_action(call(one)) != same_action(call(one, name="other"))


@pytest.mark.parametrize(
    "result",
    [
        None,
        '{"error": "no such host"}',
        '{"status": "failed"}',
        '{"ok": false}',
        "Error: no such file",
        "Exit code 1\n1 failed",
        '{"output": "x", "metadata": {"exit_code": 2}}',
        "Traceback (most recent call last):\n",
        "FileNotFoundError: x",
        "<tool_use_error>File has not been read</tool_use_error>",
        "Failed: 3, passed: 9",
        "Failed: no such file",
        "Failed: 0, Error: disk full",
        "Error: none",
        "Error: none of the tests ran",
        "Error: null pointer",
        "Error: 0x80070005",
        "FAILED (errors=1)",
    ],
)
def test_failed_results(result: str | None) -> None:
    assert failed(result)


@pytest.mark.parametrize(
    "result",
    [
        "",
        "ok",
        '{"status": "ok", "errors": []}',
        "12 errors were found in the log",
        "Exit code 0",
        '{"error": null}',
        '{"output": "x", "metadata": {"exit_code": 0}}',
        "def error():\n    pass",
    ],
)
def test_results_that_only_speak_of_errors(result: str) -> None:
    assert not failed(result)


def step(number: int, arguments: str, result: str | None) -> Done:
    return Done(call(arguments), number, result)


def test_a_repeat_follows_a_success() -> None:
    calls = [step(0, "{}", "ok"), step(1, '{"a": 1}', "ok"), step(2, "{}", "ok"), step(3, "{}", "other")]
    assert repeats(calls) == [2, 3]
    assert first_done(calls) == [None, None, 0, 0]
    assert unchanged(calls) == [2]


def test_trying_again_after_a_failure_is_no_repeat() -> None:
    assert repeats([step(0, "{}", "Error: timeout"), step(1, "{}", "ok"), step(2, "{}", "ok")]) == [2]
    assert repeats([step(0, "{}", None), step(1, "{}", "ok")]) == []
    marked = Done(call("{}"), 0, "it did not work", failed=True)
    assert repeats([marked, step(1, "{}", "ok")]) == []


def test_parallel_calls_cannot_know_of_each_other() -> None:
    assert repeats([step(0, "{}", "ok"), step(0, "{}", "ok")]) == []


def test_done_links_calls_and_results() -> None:
    messages = [
        user("go"),
        assistant(None, [call("{}", id_="a"), call('{"x": 1}', id_="b")]),
        tool_result("b", "second"),
        Message("tool", "no", tool_call_id="a", extra={"is_error": True}),
        assistant(None, [call("{}", id_="a")]),
    ]
    found = done(messages, [1, 1, 1, 1, 1])
    assert [(one.step, one.result, one.failed, one.turn) for one in found] == [
        (0, "no", True, 1),
        (0, "second", None, 1),
        (1, None, None, 1),
    ]


@pytest.mark.parametrize(
    "result",
    [
        "Failed: 0, passed: 12",
        "failed: 0\nErrors: 0",
        "Failed 0 of 12",
        "failed=0 passed=3",
        "Failed tests: 0",
        "Errors: none",
        "errors: []",
        "0 failed, 12 passed",
        "No errors found.",
        '{"errors": [], "error": "none"}',
        '{"error": "No error."}',
    ],
)
def test_a_count_of_no_failures_is_a_success(result: str) -> None:
    assert not failed(result)
