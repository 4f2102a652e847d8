"""Generated tool output: the size asked for, never the same twice, and the syntax of the tool it stands for."""

from __future__ import annotations

import json
import re
import time
from itertools import pairwise

import pytest

from contextrot.scenario.library import shipped
from contextrot.scenario.outputs import STYLES
from contextrot.scenario.tool_output import MIN_TOKENS, generate_output, kinds
from contextrot.tokens import estimate

SIZES = (MIN_TOKENS, 64, 75, 90, 120, 150, 200, 300, 500, 800, 1_000, 3_000)


def test_the_promised_kinds_exist() -> None:
    assert kinds() == ("json", "table", "trace", "logs", "metrics", "diff")


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("tokens", SIZES)
def test_sizes_are_within_ten_per_cent(kind: str, tokens: int) -> None:
    for index in range(60 if tokens < 1000 else 15):
        text = generate_output(kind, "k", index, tokens)
        assert 0.9 * tokens <= estimate(text) <= 1.1 * tokens, text


@pytest.mark.parametrize("kind", kinds())
def test_large_outputs_keep_their_size(kind: str) -> None:
    for index in range(4):
        assert 18_000 <= estimate(generate_output(kind, "k", index, 20_000)) <= 22_000


@pytest.mark.parametrize("kind", kinds())
def test_arguments_decide_the_text(kind: str) -> None:
    assert generate_output(kind, "a", 3, 200) == generate_output(kind, "a", 3, 200)
    assert generate_output(kind, "a", 3, 200) != generate_output(kind, "b", 3, 200)
    assert generate_output(kind, "a", 3, 200) != generate_output(kind, "a", 3, 300)


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("tokens", [MIN_TOKENS, 150])
def test_five_hundred_turns_all_differ(kind: str, tokens: int) -> None:
    assert len({generate_output(kind, "a", index, tokens) for index in range(500)}) == 500


@pytest.mark.parametrize("kind", kinds())
def test_fifty_outputs_do_not_share_runs_of_lines(kind: str) -> None:
    """Six lines in the same order are a run; what frames an output or chains a trace is shorter."""
    seen: dict[str, int] = {}
    for index in range(50):
        lines = generate_output(kind, "a", index, 400).splitlines()
        for run in {"\n".join(lines[at : at + 6]) for at in range(len(lines) - 5)}:
            seen[run] = seen.get(run, 0) + 1
    assert max(seen.values()) == 1


def test_every_look_is_used() -> None:
    for kind, styles in STYLES.items():
        starts = {re.sub(r"[\d\s]", "", generate_output(kind, "a", index, 500))[:4] for index in range(80)}
        assert len(starts) >= len(styles) / 2


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("tokens", [MIN_TOKENS, 400])
def test_nothing_looks_like_a_fact_or_an_instruction(kind: str, tokens: int) -> None:
    for index in range(150):
        text = generate_output(kind, "a", index, tokens)
        assert not re.search(r"(?i)\b[a-z]+-\d+\b", text), text
        assert not re.search(r"\S@\S+\.\w", text), text
        assert not re.search(r"(?i)\b(please|must|always|never|you|your|from now on|remember|ignore|answer)\b", text)
        assert not re.search(r"<[a-z_]+\d*(:\d+r?)?>", text), text


@pytest.mark.parametrize("kind", kinds())
def test_no_scripted_value_of_a_shipped_scenario_appears(kind: str) -> None:
    written = "\n".join(entry.path.read_text(encoding="utf-8") for entry in shipped())
    lines = re.findall(r"values: \[([^\]]+)\]", written)
    values = {value.strip(" '\"").lower() for line in lines for value in line.split(",")}
    assert len(values) > 10
    # A bare number can stand in any output by chance; a scenario that asks for one names it in words.
    words = {value for value in values if not re.fullmatch(r"[\d.,:]+", value)}
    said = "\n".join(generate_output(kind, "a", index, 400) for index in range(100)).lower()
    assert not {value for value in words if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", said)}


@pytest.mark.parametrize("tokens", SIZES)
def test_json_is_valid(tokens: int) -> None:
    for index in range(40):
        assert isinstance(json.loads(generate_output("json", "a", index, tokens)), dict | list)


@pytest.mark.parametrize("tokens", SIZES)
def test_hunks_of_a_diff_count_their_lines(tokens: int) -> None:
    hunks = 0
    for index in range(30):
        place = 0
        for part in re.split(r"^(?=@@ |diff |--- )", generate_output("diff", "a", index, tokens), flags=re.MULTILINE):
            if not part.startswith("@@"):
                place = 0
                continue
            header, *lines = part.splitlines()
            found = re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", header)
            assert found, header
            start, old, _, new = map(int, found.groups())
            assert start > place
            place = start + old
            assert {line[:1] for line in lines} <= {" ", "+", "-"}
            assert sum(line[0] != "+" for line in lines) == old
            assert sum(line[0] != "-" for line in lines) == new
            hunks += 1
    assert hunks >= 30


def test_frames_of_a_python_trace_come_with_their_line() -> None:
    traces = [generate_output("trace", "a", index, 400) for index in range(40)]
    python = [trace for trace in traces if trace.startswith("Traceback (most recent call last):")]
    assert len(python) > 3
    for trace in python:
        lines = trace.splitlines()
        for frame, line in pairwise(lines):
            if frame.startswith('  File "'):
                assert re.match(r"    \S", line)
        assert re.match(r"[A-Z]\w+Error: ", lines[-1])


def test_time_goes_on_in_logs() -> None:
    ordered = 0
    for index in range(60):
        times = re.findall(r"\b\d\d:\d\d:\d\d\.\d{3}", generate_output("logs", "a", index, 600))
        assert times == sorted(times)
        ordered += len(times) > 5
    assert ordered > 15


def test_tables_have_the_columns_of_their_head() -> None:
    seen = set()
    for index in range(60):
        lines = generate_output("table", "a", index, 400).splitlines()
        head = lines[0]
        seen.add(head)
        if head.startswith("NAME "):
            age = head.index(head.split()[1])
            assert all(line[age - 1] == " " and line[age] != " " for line in lines[1:-1])
        if "|" in head:
            rows = [line for line in lines[2:] if "|" in line]
            assert rows
            assert {line.count("|") for line in rows} == {head.count("|")}
    assert len(seen) > 5


@pytest.mark.parametrize("kind", kinds())
def test_cost_grows_with_the_size_and_no_faster(kind: str) -> None:
    def seconds(tokens: int) -> float:
        started = time.process_time()
        for index in range(4):
            generate_output(kind, "cost", index, tokens)
        return time.process_time() - started

    seconds(1_000)
    small, large = (min(seconds(tokens) for _ in range(5)) for tokens in (1_000, 20_000))
    assert large < 4 * 20 * small
