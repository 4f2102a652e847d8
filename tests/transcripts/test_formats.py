"""Every format is recognised, read as its makers write it, and refused with a sentence where it is broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextrot.errors import ConfigError
from contextrot.transcripts import Compaction, Transcript, formats, read_transcripts
from contextrot.transcripts import source as source_module

SAMPLES = Path(__file__).parent / "samples"


def sample(name: str) -> list[Transcript]:
    return read_transcripts(SAMPLES / name)


def shape(transcript: Transcript) -> list[tuple[int, str, str, list[str]]]:
    """Turn, role, text and names of tools called of every message."""
    return [
        (turn, message.role, message.text, [call.name for call in message.tool_calls])
        for message, turn in zip(transcript.messages, transcript.turn_of, strict=True)
    ]


def written(folder: Path, value: Any, name: str = "t.json") -> Path:
    path = folder / name
    if isinstance(value, bytes):
        path.write_bytes(value)
    else:
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


FORMAT_OF = {
    "anthropic.json": "anthropic",
    "claude_code.jsonl": "claude-code",
    "codex.jsonl": "codex",
    "langfuse.json": "langfuse",
    "langsmith.jsonl": "langsmith",
    "openai.json": "openai",
    "openai_finetune.jsonl": "openai",
    "openai_messages.jsonl": "openai",
    "sharegpt.json": "sharegpt",
}


@pytest.mark.parametrize("name", sorted(FORMAT_OF))
def test_recognised(name: str) -> None:
    assert {one.format for one in sample(name)} == {FORMAT_OF[name]}


def test_every_format_has_a_sample() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == set(FORMAT_OF)
    assert {one.name for one in formats()} == set(FORMAT_OF.values())


@pytest.mark.parametrize("name", sorted(FORMAT_OF))
def test_every_transcript_is_well_paired(name: str) -> None:
    for one in sample(name):
        waiting: set[str] = set()
        for message in one.messages:
            if message.role == "tool":
                waiting.remove(message.tool_call_id or "")
            else:
                assert not waiting
            waiting |= {call.id for call in message.tool_calls}
        assert [one.messages[call.at].role for call in one.calls] == ["assistant"] * len(one.calls)


def test_openai() -> None:
    [one] = sample("openai.json")
    assert shape(one)[1:5] == [
        (1, "user", "What does customer 1187 owe?", []),
        (1, "assistant", "", ["get_invoice"]),
        (1, "tool", '{"open": 240.5, "currency": "EUR"}', []),
        (1, "assistant", '{"owed": 240.5, "currency": "EUR"}', []),
    ]
    assert one.messages[5].text == "And is this receipt theirs?\n[image]"
    assert one.calls[1].usage[:3] == (131, 14, 64)
    assert one.tools[0].parameters["required"] == ["customer"]
    assert one.notes == ("1 picture or file left out",)


def test_openai_lines_with_a_torn_end() -> None:
    [one] = sample("openai_messages.jsonl")
    assert [text for _, _, text, _ in shape(one)] == ["Be brief.", "Ping", "Pong", "Again", "Pong"]
    assert one.system == "Be brief."
    assert one.notes == ("the last line (6) is cut off and was left out",)


def test_openai_fine_tuning_records_are_conversations_of_their_own() -> None:
    assert [one.turns for one in sample("openai_finetune.jsonl")] == [1, 2]
    assert [one.name for one in sample("openai_finetune.jsonl")] == [
        "openai_finetune.jsonl 1",
        "openai_finetune.jsonl 2",
    ]


def test_anthropic() -> None:
    [one] = sample("anthropic.json")
    assert one.system == "You book meetings.\nNever book before 9:00."
    assert shape(one)[2:6] == [
        (1, "assistant", "One moment.", ["book", "book"]),
        (1, "tool", "booked", []),
        (1, "tool", "slot is taken", []),
        (2, "user", "Use the first that works.", []),
    ]
    assert one.messages[4].extra == {"is_error": True}
    assert "Ten is after nine" not in str(one.messages)
    assert one.tools[0].parameters["properties"] == {"when": {"type": "string"}}


def test_sharegpt() -> None:
    first, second = sample("sharegpt.json")
    assert first.name == "identity_0"
    assert [(role, names) for _, role, _, names in shape(first)][1:5] == [
        ("user", []),
        ("assistant", ["quote"]),
        ("tool", []),
        ("assistant", []),
    ]
    assert first.messages[2].tool_calls[0].arguments == '{"symbol":"ACME"}'
    assert second.turns == 1


def test_claude_code_joins_the_lines_of_a_call_and_counts_its_usage_once() -> None:
    [one] = sample("claude_code.jsonl")
    assert one.name == "Fix the rate limiter"
    assert shape(one)[1][2:] == ("I will read the file and the tests.", ["Read", "Bash"])
    assert [call.usage[:3] for call in one.calls] == [
        (14_904, 141, 14_000),
        (15_306, 20, 14_900),
        (5_005, 30, 0),
        (5_207, 12, 5_000),
    ]
    assert one.calls[0].finish_reason == "tool_use"


def test_claude_code_leaves_out_what_nobody_said() -> None:
    [one] = sample("claude_code.jsonl")
    said = [text for _, role, text, _ in shape(one) if role == "user"]
    assert [text.split(":")[0] for text in said] == ["Fix the rate limiter", "Did you run the tests?"]
    assert "limitr" not in str(one.messages)  # the branch the user went back from
    assert "Two callers" not in str(one.messages)  # a sub-agent
    assert one.errors == ("API Error: 529 Overloaded",)
    assert one.notes == (
        "2 entries left out: branches the user went back from",
        "2 messages of the program itself left out",
        "2 lines of sub-agents left out",
    )


def test_claude_code_compaction() -> None:
    [one] = sample("claude_code.jsonl")
    [found] = one.compactions
    assert found._replace(summary="") == Compaction(5, "manual", 15_306)
    assert found.summary.endswith("The limiter is fixed.")
    assert "being continued" not in str(one.messages)


def test_claude_code_slash_command_that_is_answered_is_a_turn(tmp_path: Path) -> None:
    lines = [
        {
            "type": "user",
            "uuid": "1",
            "message": {
                "role": "user",
                "content": "<command-name>/review</command-name>\n<command-args>main.py</command-args>",
            },
        },
        {
            "type": "user",
            "uuid": "2",
            "isMeta": True,
            "message": {"role": "user", "content": [{"type": "text", "text": "Review the code."}]},
        },
        {
            "type": "assistant",
            "uuid": "3",
            "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "Fine."}]},
        },
    ]
    [one] = read_transcripts(written(tmp_path, "\n".join(map(json.dumps, lines)), "t.jsonl"))
    assert shape(one) == [(1, "user", "/review main.py", []), (1, "assistant", "Fine.", [])]


def test_codex() -> None:
    [one] = sample("codex.jsonl")
    assert one.system == "You are Codex. Respond in English."
    assert shape(one)[1:] == [
        (1, "user", "List the files.", []),
        (1, "assistant", "I list them.", ["shell"]),
        (1, "tool", '{"output":"main.py\\n","metadata":{"exit_code":0,"duration_seconds":0.1}}', []),
        (1, "assistant", "One file: main.py.", []),
        (2, "user", "Add a docstring.", []),
        (2, "assistant", "", ["apply_patch"]),
        (2, "tool", '{"output":"Success","metadata":{"exit_code":0}}', []),
        (2, "assistant", "Done.", []),
    ]
    assert [call.usage.prompt_tokens for call in one.calls] == [8_000, 8_200, 4_000, None]
    assert one.window == 258_400
    assert one.model == "gpt-5.2-codex"
    assert one.compactions == (Compaction(5, summary="The folder holds main.py."),)
    assert "1 event of type hologram left out" in one.notes


def test_codex_rollouts_of_the_first_versions(tmp_path: Path) -> None:
    lines = [
        {"id": "s", "timestamp": "2025-05-01T00:00:00Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {
            "type": "local_shell_call",
            "call_id": "a",
            "status": "completed",
            "action": {"type": "exec", "command": ["ls"]},
        },
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": {"content": "gone", "success": False}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ]
    [one] = read_transcripts(written(tmp_path, "\n".join(map(json.dumps, lines)), "t.jsonl"))
    assert one.format == "codex"
    assert one.messages[2].extra == {"is_error": True}


def test_langsmith_keeps_the_longest_of_growing_prompts() -> None:
    [one] = sample("langsmith.jsonl")
    assert one.name == "th-9"
    assert [(turn, role, text) for turn, role, text, _ in shape(one)] == [
        (0, "system", "You know the weather."),
        (1, "user", "Weather in Oslo?"),
        (1, "assistant", ""),
        (1, "tool", "-4 degrees"),
        (1, "assistant", "Oslo has -4 degrees."),
        (2, "user", "Shall I take a coat?"),
        (2, "assistant", "Yes."),
    ]
    assert [call.usage[:3] for call in one.calls] == [(92, 15, 32), (120, 8, None), (140, 3, None)]
    assert one.tools[0].name == "weather"


def test_langfuse_keeps_the_conversation_and_counts_the_helpers() -> None:
    [one] = sample("langfuse.json")
    assert [role for _, role, _, _ in shape(one)] == ["system", "user", "assistant", "tool", "assistant"]
    assert [call.usage[:3] for call in one.calls] == [(50, 9, 12), (75, 4, None)]
    assert one.notes == ("1 shorter conversation of the same trace (helpers, sub-agents) left out",)


def test_langfuse_observations_by_line_with_texts_of_json(tmp_path: Path) -> None:
    def generation(time: int, prompt: list[Any], reply: str) -> dict[str, Any]:
        return {
            "id": f"o{time}",
            "trace_id": f"t{time}",
            "session_id": "s",
            "type": "GENERATION",
            "start_time": f"2026-01-01T00:00:0{time}Z",
            "input": json.dumps(prompt),
            "output": json.dumps({"role": "assistant", "content": reply}),
            "usage_details": {"input": 10 * time, "output": 1},
        }

    first = [{"role": "user", "content": "one"}]
    second = [*first, {"role": "assistant", "content": "1"}, {"role": "user", "content": "two"}]
    text = "\n".join(json.dumps(line) for line in (generation(2, second, "2"), generation(1, first, "1")))
    [one] = read_transcripts(written(tmp_path, text, "t.jsonl"))
    assert one.format == "langfuse"
    assert [text for _, _, text, _ in shape(one)] == ["one", "1", "two", "2"]
    assert [call.usage.prompt_tokens for call in one.calls] == [10, 20]


def test_a_prompt_cut_by_a_window_goes_on_in_the_same_conversation(tmp_path: Path) -> None:
    turns = [{"role": role, "content": f"{role} {n}"} for n in range(4) for role in ("user", "assistant")]
    runs = [
        {
            "id": str(n),
            "run_type": "llm",
            "trace_id": "t",
            "start_time": str(n),
            "inputs": {"messages": turns[max(0, 2 * n - 2) : 2 * n + 1]},
            "outputs": {"messages": [turns[2 * n + 1]]},
        }
        for n in range(4)
    ]
    [one] = read_transcripts(written(tmp_path, runs))
    assert [text for _, _, text, _ in shape(one)] == [turn["content"] for turn in turns]
    assert len(one.compactions) == 2


def test_named_format_wins() -> None:
    [one] = read_transcripts(SAMPLES / "anthropic.json", "openai")
    assert one.format == "openai"


def test_calls_and_results_that_do_not_pair_are_left_out_and_said(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    raw = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "b"},
        {"role": "tool", "tool_call_id": "nobody", "content": "x"},
        {"role": "assistant", "content": "B"},
    ]
    [one] = read_transcripts(written(tmp_path, raw))
    assert [text for _, _, text, _ in shape(one)] == ["a", "b", "B"]
    assert one.notes == ("2 messages left out: tool calls without a result, or results without a call",)


def test_byte_order_mark_and_halves_of_characters(tmp_path: Path) -> None:
    text = '\ufeff[{"role": "user", "content": "cut \\ud83d here"}, {"role": "assistant", "content": "yes"}]'
    [one] = read_transcripts(written(tmp_path, text))
    assert one.messages[0].text == "cut \ufffd here"


def test_bad_lines_in_the_middle_are_counted(tmp_path: Path) -> None:
    text = '{"role": "user", "content": "a"}\nnonsense\n{"role": "assistant", "content": "b"}\n'
    [one] = read_transcripts(written(tmp_path, text, "t.jsonl"))
    assert one.notes == ("line 2 left out: not JSON",)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ("hello", "is not JSON"),
        (b"\xff\xfe[\x00]\x00", "is UTF-16"),
        (b'[{"role": "user", "content": "\xe9"}]\n', "is not UTF-8"),
        ({"rows": 3}, "which is no transcript format I know; name one with --format"),
        ([], "holds an empty list"),
        ([{"role": "assistant", "content": "hi"}], "holds no user message"),
        ('{"type": "session_meta", "payload": {"id": "x"}}', "holds no user message"),
        ('{"a": 1}\nx\ny\nz\n', "is it a transcript?"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(tmp_path: Path, content: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence.replace("?", r"\?")):
        read_transcripts(written(tmp_path, content))


BROKEN = {
    "anthropic": {"messages": [{"role": "assistant", "content": 7}]},
    "claude-code": {"type": "user", "uuid": "x", "message": "not a map"},
    "codex": {"type": "response_item", "payload": {"type": "message", "role": "user", "content": 3}},
    "langfuse": {"type": "GENERATION", "traceId": "t", "input": 3, "output": []},
    "langsmith": {"run_type": "llm", "inputs": [], "outputs": 7},
    "openai": {"messages": [None, 3, {"role": "nobody"}]},
    "sharegpt": {"conversations": [{"from": "martian", "value": 3}]},
}


def said_of(path: Path, name: str | None = None) -> str:
    """What is said of a file that cannot be read; nothing of one that can. Any other error is a crash."""
    try:
        read_transcripts(path, name)
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_broken_entries_are_a_sentence_or_counted_never_a_crash(tmp_path: Path, name: str) -> None:
    assert str(tmp_path) in (said_of(written(tmp_path, BROKEN[name]), name) or str(tmp_path))


@pytest.mark.parametrize("name", sorted(FORMAT_OF))
def test_any_entry_may_be_missing_or_of_a_later_version(tmp_path: Path, name: str) -> None:
    """A field dropped, or put in another form, anywhere in a sample never ends in a traceback."""
    raw = (SAMPLES / name).read_text(encoding="utf-8")
    for number, spoiled in enumerate(_spoiled(raw)):
        path = written(tmp_path, spoiled, f"{number}{Path(name).suffix}")
        for format in (FORMAT_OF[name], None):
            assert str(path) in (said_of(path, format) or str(path))


def _spoiled(raw: str) -> list[str]:
    found = []
    for key in (
        "message",
        "content",
        "role",
        "type",
        "payload",
        "inputs",
        "input",
        "usage",
        "id",
        "tool_calls",
        "value",
    ):
        for other in ("null", "[]", "7", '{"x": [1]}'):
            found.append(raw.replace(f'"{key}":', f'"{key}": {other}, "was":'))
    return found


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder"):
        read_transcripts(tmp_path)
    with pytest.raises(ConfigError, match="there is no such file"):
        read_transcripts(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="there is no transcript format `word`; known: anthropic"):
        read_transcripts(SAMPLES / "openai.json", "word")


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MAX_BYTES", 1_000_000)
    with pytest.raises(ConfigError, match="more than the 1 MB that are read; cut it"):
        read_transcripts(written(tmp_path, " " * 1_000_001))


def calling(*ids: str, text: str | None = None) -> dict[str, Any]:
    calls = [{"id": id_, "type": "function", "function": {"name": f"f{id_}", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def asked(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def replied(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def result_of(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "r"}


def test_of_an_aborted_parallel_call_the_rest_is_kept_with_its_usage(tmp_path: Path) -> None:
    aborted = calling("1", "2", text="checking") | {"usage": {"prompt_tokens": 50, "completion_tokens": 5}}
    raw = [asked("q"), aborted, result_of("1"), asked("stop"), replied("ok")]
    [one] = read_transcripts(written(tmp_path, raw))
    assert shape(one)[1] == (1, "assistant", "checking", ["f1"])
    assert [message.role for message in one.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert (one.calls[0].at, one.calls[0].usage.prompt_tokens) == (1, 50)
    assert one.notes == ("1 tool call without a result left out",)


def test_the_text_beside_a_call_that_nobody_answered_is_kept(tmp_path: Path) -> None:
    [one] = read_transcripts(
        written(tmp_path, [asked("q"), calling("1", text="let me see"), asked("no"), replied("ok")])
    )
    assert [text for _, _, text, _ in shape(one)] == ["q", "let me see", "no", "ok"]
    # calls that still wait when the record ends are whole
    [one] = read_transcripts(written(tmp_path, [asked("q"), calling("1", "2", text="go"), result_of("1")]))
    assert shape(one)[1][3] == ["f1", "f2"]


def test_a_turn_of_codex_that_the_user_aborted_keeps_what_was_said(tmp_path: Path) -> None:
    def item(**payload: Any) -> str:
        return json.dumps({"type": "response_item", "payload": payload})

    def said(role: str, text: str) -> str:
        return item(type="message", role=role, content=[{"type": "input_text", "text": text}])

    lines = [
        said("user", "q"),
        said("assistant", "checking"),
        item(type="function_call", name="shell", arguments="{}", call_id="1"),
        json.dumps({"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}}),
        said("user", "go on"),
        said("assistant", "done"),
    ]
    [one] = read_transcripts(written(tmp_path, "\n".join(lines), "r.jsonl"))
    assert [text for _, _, text, _ in shape(one)] == ["q", "checking", "go on", "done"]
    assert "1 tool call without a result left out" in one.notes


def test_a_log_with_the_whole_history_on_each_line_is_one_conversation(tmp_path: Path) -> None:
    history = [message for n in range(4) for message in (asked(f"q{n}"), replied(f"a{n}"))]
    lines = [json.dumps({"messages": history[: 2 * n]}) for n in range(1, 5)]
    other = json.dumps({"messages": [asked("q0"), replied("another")]})
    read = read_transcripts(written(tmp_path, "\n".join([*lines, other]), "log.jsonl"))
    assert [one.turns for one in read] == [4, 1]
    assert "3 records left out" in read[0].notes[-1]
    assert read[1].notes == ()
    # the very same conversation twice is two: one sample of a data set may be there twice
    assert len(read_transcripts(written(tmp_path, f"{other}\n{other}", "twice.jsonl"))) == 2


def test_a_reply_beside_its_request_is_read_with_its_usage(tmp_path: Path) -> None:
    def line(question: list[Any], text: str, tokens: int) -> str:
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": tokens, "completion_tokens": 2}
        return json.dumps({"messages": question, "response": {"choices": [choice], "usage": usage, "model": "m"}})

    first, second = line([asked("q")], "d", 7), line([asked("q"), replied("d"), asked("r")], "e", 20)
    [one] = read_transcripts(written(tmp_path, f"{first}\n{second}", "log.jsonl"))
    assert [text for _, _, text, _ in shape(one)] == ["q", "d", "r", "e"]
    assert [call.usage.prompt_tokens for call in one.calls] == [7, 20]
    assert {call.model for call in one.calls} == {"m"}
    already = json.dumps({"messages": [asked("q"), replied("d")], "response": {"choices": [{"message": replied("d")}]}})
    [one] = read_transcripts(written(tmp_path, already))
    assert [text for _, _, text, _ in shape(one)] == ["q", "d"]
    [one] = read_transcripts(written(tmp_path, {"messages": [asked("q")], "response": {"strange": 1}}))
    assert one.notes == ("1 response that cannot be read left out",)


@pytest.mark.parametrize(
    "record",
    [
        {
            "request": {"body": {"messages": [asked("q")]}},
            "response": {"body": {"choices": [{"message": replied("d")}]}},
        },
        {
            "input": "q",
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "d"}]}],
        },
        {"input": [asked("q")], "response": {"output": [{"type": "message", "role": "assistant", "content": "d"}]}},
        {"messages": [asked("q")], "response": "d"},
    ],
    ids=["proxy", "responses", "responses beside", "text"],
)
def test_requests_as_they_are_logged(tmp_path: Path, record: dict[str, Any]) -> None:
    [one] = read_transcripts(written(tmp_path, record))
    assert [(role, text) for _, role, text, _ in shape(one)] == [("user", "q"), ("assistant", "d")]


def test_a_reply_without_its_request_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no transcript format I know"):
        read_transcripts(written(tmp_path, {"id": "x", "choices": [{"message": replied("d")}]}))
