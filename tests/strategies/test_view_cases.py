"""Histories that broke shipping frameworks (`cases.yaml`), through the public `render`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from contextrot.render import render

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8"))


def words(text: str) -> str:
    """``a*3`` is ``a a a``."""
    word, star, times = text.rpartition("*")
    return " ".join([word] * int(times)) if star and times.isdigit() else text


def build(log: list[str]) -> tuple[list[dict[str, Any]], list[int]]:
    messages: list[dict[str, Any]] = []
    pins = []
    for index, item in enumerate(log):
        kind, _, body = item.partition(":")
        if body.endswith("!pin"):
            body = body.removesuffix("!pin")
            pins.append(index)
        if kind == "C":
            function = {"name": "tool", "arguments": "{}"}
            calls = [{"id": c, "type": "function", "function": function} for c in body.split(",")]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        elif kind == "T":
            call = body.split("*")[0].split(" ")[0]
            messages.append({"role": "tool", "tool_call_id": call, "content": words(body)})
        else:
            role = {"S": "system", "H": "user", "A": "assistant"}[kind]
            messages.append({"role": role, "content": words(body)})
    return messages, pins


def answer(kind: str, asked: list[dict[str, Any]]) -> Any:
    seen = " ".join(m["content"] for m in asked)
    if kind == "{error}":
        raise RuntimeError("summariser down")
    call = {"id": "s1", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    special = {
        "{empty}": "",
        "{huge}": seen * 3,
        "{echo}": seen,
        "{tool_call}": {"content": None, "tool_calls": [call]},
    }
    return special.get(kind, kind)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    messages, pins = build(case["log"])
    before = json.dumps(messages)
    asks: list[list[dict[str, Any]]] = []

    def summarizer(asked: list[dict[str, Any]]) -> Any:
        asks.append(asked)
        return answer(case.get("summary", "short"), asked)

    expect, window = case["expect"], case.get("window", 8000)
    options = {"window": window, "pins": pins, "summarizer": summarizer, "roles": case.get("normalised_for")}
    options["on_malformed"] = case.get("on_malformed", "error")
    if "error" in expect:
        with pytest.raises(Exception) as raised:
            render(case["strategy"], messages, **options)
        assert expect["error"] in [cls.__name__ for cls in type(raised.value).__mro__]
        return
    view = render(case["strategy"], messages, **options)
    calls = len(asks)
    assert json.dumps(messages) == before
    assert json.dumps(render(case["strategy"], messages, **options).messages) == json.dumps(view.messages)
    check(view.messages, expect)
    assert len(view.manifest) == len(messages)
    assert view.tokens <= window
    assert view.aux_calls == calls <= expect.get("summariser_calls_at_most", 3)
    for text in expect.get("summariser_saw", ()):
        assert any(text in m["content"] for asked in asks for m in asked)
    if expect.get("same_length"):
        assert len(view.messages) == len(messages)


def check(messages: tuple[dict[str, Any], ...], expect: dict[str, Any]) -> None:
    text = "\n".join(str(message["content"]) for message in messages)
    results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    called = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    last_round = [call["id"] for call in messages[-1].get("tool_calls", ())] or called[-2:]
    assert len(set(results)) == len(results)
    assert set(results) <= set(called)
    assert set(called) - set(results) <= set(last_round)
    for kept in (*expect.get("keeps", ()), *expect.get("contains", ())):
        assert words(kept) in text
    for call in expect.get("drops", ()):
        assert call not in results
    for absent in expect.get("lacks", ()):
        assert absent not in text
    for once in expect.get("once", ()):
        assert text.count(once) == 1
    for rule in expect.get("not_as_constraint", ()):
        assert not any(rule in str(m["content"]) for m in messages if m["role"] == "system")
        assert not any("<constraints>" in str(m["content"]) for m in messages)
    if "last_user" in expect:
        assert words(expect["last_user"]) in [m["content"] for m in messages if m["role"] == "user"][-1]
    if expect.get("single_leading_system"):
        assert [k for k, message in enumerate(messages) if message["role"] == "system"] == [0]
