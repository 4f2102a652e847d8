"""Every Python and YAML block of docs/memory.md and its guides, run as it stands there, with what it promises."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from fault_server import FaultServer, answer, completion, ok, serving

from contextrot.bench.matrix import load_matrix
from contextrot.config import read_config_file, validated
from contextrot.memory import Memory

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("memory.md", *(f"guides/{name}.md" for name in ("openai", "litellm", "langchain", "engine-variants")))


def blocks(page: str, language: str = "python") -> dict[str, list[str]]:
    """The blocks of a page by the heading they stand under."""
    found: dict[str, list[str]] = {}
    heading = ""
    text = (DOCS / page).read_text(encoding="utf-8")
    for title, kind, block in re.findall(r"^#+ ([^\n]+)$|^```(\w*)\n(.*?)^```", text, re.M | re.S):
        heading = title or heading
        if kind == language and block:
            found.setdefault(heading, []).append(block)
    return found


def executed(page: str, heading: str, namespace: dict[str, Any] | None = None) -> dict[str, Any]:
    """The names a section leaves behind. `heading` is how it begins."""
    [section] = [found for title, found in blocks(page).items() if title.startswith(heading)]
    names: dict[str, Any] = namespace if namespace is not None else {}
    for block in section:
        exec(compile(block, f"{page}: {heading}", "exec"), names)
    return names


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """A provider is a server that speaks OpenAI's protocol; here it stands on this machine."""
    with serving() as server:
        for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
            monkeypatch.setenv(name, server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        yield server


def test_the_first_example() -> None:
    names = executed("memory.md", "The strategies inside your own agent")
    assert [message["role"] for message in names["messages"]] == ["system", "user", "user"]
    assert set(names["memory"].manifest) == {"verbatim"}


def test_deterministic_memory(capsys: pytest.CaptureFixture[str]) -> None:
    names = executed("memory.md", "Deterministic memory")
    context = names["agent_context"].splitlines()
    assert context[0] == "User preference: always round results to 2 decimals."
    assert context[1:] == [f"Tool call: calculator used at step {step}." for step in (17, 18, 19)]
    assert "pins" in capsys.readouterr().out


def test_budget_monitor(capsys: pytest.CaptureFixture[str]) -> None:
    levels = executed("memory.md", "`ContextBudgetMonitor`")["levels"]
    assert list(dict.fromkeys(levels)) == ["OK", "WARN", "ROTATE"]
    assert re.match(r"ROTATE: \d{3}/1,000 \(8\d\.\d%\)", capsys.readouterr().out)


def test_rolling_summary(server: FaultServer) -> None:
    server.plays(ok("- 3 issues in each file so far"))
    names = executed("memory.md", "Rolling summary")
    context = names["context"]
    assert [message["role"] for message in context] == ["system", "user", "assistant"]
    assert context[0]["content"].endswith("- 3 issues in each file so far")
    assert len(server.seen) == 1
    assert all(f"file_{i}.py" in server.seen[0]["messages"][1]["content"] for i in range(19))
    agent = names["agent"]
    agent.add_turn("user", "Which file is next?")
    assert [message["content"] for message in agent.get_context()[1:]][-1] == "Which file is next?"


def test_compress_history() -> None:
    names = executed("memory.md", "`compress_history`")
    context, history = names["context"], names["history"]
    assert context[1:] == history[-6:]
    assert context[0]["role"] == "assistant"
    assert "file_0.py" in context[0]["content"]
    assert names["compress_history"](history[:6]) == history[:6]


def test_observation_masking() -> None:
    context = executed("memory.md", "Observation masking")["ctx"]
    results = [m["content"] for m in context.build_context_messages() if m["role"] == "tool"]
    assert [text.startswith("Read file_") for text in results] == [False] * 7 + [True] * 3
    whole = Memory("full", 128_000)
    for message in context.memory.messages():
        whole.add(message)
    assert context.token_estimate() < 4000


def test_select_context() -> None:
    names = executed("memory.md", "`select_context`")
    assert "User prefers examples using the quadratic formula." in names["selected"]
    assert len(names["selected"]) == 2
    assert len(names["memory"]) == 3
    by_tag = Memory({"type": "tag_selection", "tags": ["workflow"], "recent": {"turns": 1}}, 8192)
    for block in names["context_blocks"]:
        by_tag.add("user", block["text"], tags=[block["tag"]])
    assert [m["content"] for m in by_tag.messages("go on")] == ["Open workflow: schedule meeting.", "go on"]


STATE = {
    "task_status": "in_progress",
    "collected_info": {"day": "Friday"},
    "decisions_made": [],
    "open_questions": ["Where?"],
}


def test_extract_state_after_turn(server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.plays(ok("not JSON"), ok(json.dumps(STATE)))
    names = executed("memory.md", "`extract_state_after_turn`")
    assert names["state"] == STATE
    assert names["messages"][-1] == {"role": "user", "content": "At Luigi's."}
    assert len(server.seen) == 2
    assert capsys.readouterr().out == "in_progress\n"


def test_re_anchor(capsys: pytest.CaptureFixture[str]) -> None:
    assert executed("memory.md", "Re-anchor")["reminded"] == [10, 14, 15, 20, 30]


def test_compaction_offloading_isolation() -> None:
    names = executed("memory.md", "Compaction with structure")
    digest = next(m for m in names["messages"] if m["role"] == "tool")["content"]
    assert digest.startswith("[offload:m2]")
    assert "disk full" not in digest
    assert names["result"] == names["log"]
    assert [tool["function"]["name"] for tool in names["memory"].tools] == ["read_offloaded"]
    assert names["memory"].manifest[2] == "offloaded"


def test_what_the_table_names_exists() -> None:
    text = (DOCS / "memory.md").read_text(encoding="utf-8")
    for name in re.findall(r"`(?:memory\.)?(\w+)\(", text.split("## The techniques")[0]):
        assert hasattr(Memory, name) or name in ("Memory",), name


CALL = {"id": "c1", "type": "function", "function": {"name": "calendar", "arguments": '{"when": "Friday 10:00"}'}}


def wants_a_tool(call: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return completion(choices=[{"index": 0, "message": message, "finish_reason": "tool_calls"}])


def test_openai_sdk_with_tools(server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.plays(answer(200, wants_a_tool(CALL)), ok("Booked."))
    names = executed("guides/openai.md", "Memory with the OpenAI SDK")
    assert capsys.readouterr().out == "Booked.\n"
    first, second = (seen["messages"] for seen in server.seen)
    assert [message["role"] for message in first] == ["system", "user", "user"]
    assert second[:3] == first
    assert second[3]["tool_calls"] == [CALL]
    assert second[4] == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": '{"status": "booked", "when": "Friday 10:00"}',
    }
    assert server.seen[0]["tools"] == [names["CALENDAR"]]
    assert names["memory"].messages()[-1] == {"role": "assistant", "content": "Booked."}
    # what was too large is offloaded, and the strategy answers for it
    names["memory"].add("user", "Read this. " + "word " * 3000)
    look = {"id": "c9", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    names["memory"].add({"role": "assistant", "content": None, "tool_calls": [look]})
    names["memory"].add({"role": "tool", "tool_call_id": "c9", "content": "row " * 3000})
    names["memory"].add("assistant", "I have read it.")
    again = {**CALL, "id": "c2", "function": {"name": "read_offloaded", "arguments": '{"handle": "m8", "limit": 12}'}}
    server.plays(answer(200, wants_a_tool(again)), ok("As I said."))
    assert names["say"]("And what did it say?") == "As I said."
    assert server.seen[-1]["messages"][-1]["content"] == "row row row "


def test_openai_sdk_async(server: FaultServer) -> None:
    server.plays(ok("notes on tickets"))
    memory = executed("guides/openai.md", "Async")["memory"]
    assert len(memory) == 24
    assert "summarised" in memory.manifest


def test_openai_responses_api() -> None:
    from openai.types.responses import Response, ResponseInputItemParam
    from pydantic import TypeAdapter

    names = executed("guides/openai.md", "The Responses API")
    memory = Memory("full", 4000)
    memory.add("user", "Book it.")
    output = [
        {"type": "reasoning", "id": "r1", "summary": []},
        {
            "type": "message", "id": "m1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "One moment.", "annotations": []}],
        },
        {"type": "function_call", "id": "f1", "call_id": "c1", **CALL["function"]},
    ]  # fmt: skip
    response = Response.model_validate(
        {
            "id": "x", "created_at": 1, "model": "m", "object": "response", "output": output,
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        }
    )  # fmt: skip
    memory.add(names["from_output"](response.output))
    memory.add({"role": "tool", "tool_call_id": "c1", "content": "booked"})
    items = names["to_items"](memory.messages())
    assert items == [
        {"role": "user", "content": "Book it."},
        {"role": "assistant", "content": "One moment."},
        {"type": "function_call", "call_id": "c1", **CALL["function"]},
        {"type": "function_call_output", "call_id": "c1", "output": "booked"},
    ]
    TypeAdapter(list[ResponseInputItemParam]).validate_python(items)


def test_litellm(server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.plays(ok("Ann keeps them."))
    names = executed("guides/litellm.md", "Memory with litellm")
    assert capsys.readouterr().out.strip().endswith("Ann keeps them.")
    memory = names["memory"]
    assert memory.window == 128_000
    assert memory.tokens == 11  # the server's own figure
    assert memory.messages()[-1]["content"] == "Ann keeps them."
    assert server.seen[0]["messages"][1] == {"role": "user", "content": "Always answer in one sentence."}


@dataclass
class LangChainMessage:
    """The attributes that LangChain's messages have."""

    type: str
    content: str
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    tool_call_id: str = ""
    usage_metadata: dict[str, int] | None = None


class LangChainModel:
    """Answers as it is told, and remembers what it was asked."""

    def __init__(self, *answers: LangChainMessage) -> None:
        self.answers, self.asked = list(answers), list[Any]()

    def invoke(self, messages: Any) -> LangChainMessage:
        self.asked.append(messages)
        return self.answers.pop(0)


def test_langchain() -> None:
    names = executed("guides/langchain.md", "Memory with LangChain messages")
    call = {"id": "c1", "name": "add", "args": {"a": 1, "b": 2}, "type": "tool_call"}
    model = LangChainModel(
        LangChainMessage("ai", "", [call], usage_metadata={"input_tokens": 20}), LangChainMessage("ai", "It is 3.")
    )
    assert names["say"](model, {"add": lambda a, b: a + b}, "1 + 2?") == "It is 3."
    assert model.asked[1][2]["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 1, "b": 2}'}
    assert model.asked[1][3] == {"role": "tool", "tool_call_id": "c1", "content": "3"}
    kinds = ["human", "ai", "system", "tool", "AIMessageChunk"]
    roles = [names["from_langchain"](LangChainMessage(kind, "x"))["role"] for kind in kinds]
    assert roles == ["user", "assistant", "system", "tool", "assistant"]


def test_configurations_of_the_engine_guide_load(tmp_path: Path) -> None:
    labels = []
    for block in [block for found in blocks("guides/engine-variants.md", "yaml").values() for block in found]:
        path = tmp_path / "contextrot.yaml"
        path.write_text(block, encoding="utf-8")
        config = validated(read_config_file(path)[0])
        labels += [model.spec.label for model in load_matrix(config).models]
        assert orjson.dumps(yaml.safe_load(block))
    assert labels[:4] == [
        "local/smollm2-135m",
        "local/smollm2-135m (kv_cache=q8_0)",
        "local/smollm2-135m (kv_cache=q4_0)",
        "smollm2 without prefix reuse",
    ]
    assert len(labels) == len(set(labels)) == 7


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    prose = re.sub(r"^```.*?^```", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        assert target.startswith("https://") or os.path.exists((DOCS / page).parent / target), target


def test_every_section_with_code_is_run_above() -> None:
    run = re.findall(r'executed\("([^"]+)", "([^"]+)"', Path(__file__).read_text(encoding="utf-8"))
    for page in PAGES:
        for heading in blocks(page):
            assert any(page == where and heading.startswith(begin) for where, begin in run), heading
