"""BFCL multi-turn (Patil et al. 2025): does the model still call the right tools at turn k?

Read from the package `bfcl-eval` when it is installed, or from its data folder: `BFCL_v4_multi_turn_base.json` with
``{id, question: [[{role, content}]…], involved_classes, excluded_function?}`` a line, the calls wanted in
`possible_answer/` under the same name, the tools in `multi_turn_func_doc/`.

The benchmark runs its tools, Python classes with a state, and compares the state at the end of each turn. Here tools
give canned results, so what is measured is which tools are called with which arguments, turn by turn: not whether the
state comes out right. Arguments that only a tool's real result or the model's knowledge could supply are therefore not
compared (option `arguments`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from contextrot.errors import ConfigError
from contextrot.tasks.base import SAMPLES, Intake, Option, Raw, register
from contextrot.tasks.files import expect, json_rows
from contextrot.tasks.history import slug

#: Class of tools → file of `multi_turn_func_doc/`, as in the package's `executable_backend_config.py`.
_DOCS = {
    "GorillaFileSystem": "gorilla_file_system.json",
    "MathAPI": "math_api.json",
    "MessageAPI": "message_api.json",
    "TwitterAPI": "posting_api.json",
    "TicketAPI": "ticket_api.json",
    "TradingBot": "trading_bot.json",
    "TravelAPI": "travel_booking.json",
    "VehicleControlAPI": "vehicle_control.json",
}
#: The package writes Python's names of types.
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_CATEGORY = re.compile(r"BFCL_v\d+_multi_turn_(\w+)\.jsonl?")
#: Arguments of more words are prose (the text of a message), which may be put in other words.
_PROSE_WORDS = 4


def _installed() -> Path:
    """The data folder of the installed package, found without importing it."""
    from importlib.util import find_spec

    spec = find_spec("bfcl_eval")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        data = Path(place) / "data"
        if data.is_dir():
            return data
    raise ConfigError(
        "bfcl is read from the package bfcl-eval, which is not installed: pip install --no-deps bfcl-eval (only its "
        "data files are needed), give PATH to its data folder, or use --sample"
    )


@register(
    "bfcl",
    title="BFCL multi-turn: the right tool calls, turn by turn",
    licence="Apache-2.0.",
    citation="Patil et al. 2025, The Berkeley Function Calling Leaderboard: From Tool Use to Agentic Evaluation.",
    link="https://github.com/ShishirPatil/gorilla",
    file="the data folder of the package bfcl-eval, or a BFCL_v*_multi_turn_base.json (or _miss_param.json) in it",
    options={
        "arguments": Option(
            "said", "which arguments are compared: those said by the user, all, or none", ("said", "all", "none")
        ),
    },
    sample=SAMPLES / "bfcl" / "BFCL_v4_multi_turn_base.json",
    find=_installed,
)  # fmt: skip
def scenarios(path: Path, intake: Intake) -> Iterator[Raw]:
    """One scenario per entry: each turn's question is an inline probe for the calls wanted at it."""
    file = _question_file(path)
    answers_file = file.parent / "possible_answer" / file.name
    expect(
        answers_file.is_file(), str(answers_file), "the calls wanted by BFCL are not there; keep its data folder whole"
    )
    answers = {
        row["id"]: row["ground_truth"] for row in json_rows(answers_file, name="BFCL", keys=("id", "ground_truth"))
    }
    documented: dict[str, dict[str, Raw]] = {}
    for number, row in enumerate(
        json_rows(file, name="BFCL multi-turn", keys=("id", "question", "involved_classes")), 1
    ):
        where = f"{file}, entry {number}"
        expect(row["id"] in answers, where, f"`{row['id']}` has no wanted calls in {answers_file.name}")
        for name in row["involved_classes"]:
            if name not in documented:
                documented[name] = _documented(file.parent, name, where)
        excluded = set(row.get("excluded_function") or ())
        tools = {n: t for name in row["involved_classes"] for n, t in documented[name].items() if n not in excluded}
        raw = _scenario(row, answers[row["id"]], tools, where, intake)
        if raw is not None:
            yield raw


def _question_file(path: Path) -> Path:
    if path.is_dir():
        files = sorted(path.glob("BFCL_v*_multi_turn_base.json"))
        expect(bool(files), str(path), "the folder holds no BFCL_v*_multi_turn_base.json")
        return files[-1]
    category = _CATEGORY.fullmatch(path.name)
    expect(category is not None, str(path), "the file is not called BFCL_v*_multi_turn_<category>.json")
    assert category is not None
    if category[1] not in ("base", "miss_param"):
        raise ConfigError(
            f"{path}: the category {category[1]} needs what is not done here: tools that come in the middle of a "
            "session (miss_func) or tools that are run (long_context); base and miss_param can be imported"
        )
    return path


def _documented(folder: Path, name: str, where: str) -> dict[str, Raw]:
    """The tools of one class by name, as `tools:` of a scenario."""
    expect(name in _DOCS, where, f"the class of tools `{name}` is not one of BFCL multi-turn")
    file = folder / "multi_turn_func_doc" / _DOCS[name]
    expect(file.is_file(), str(file), f"the description of the tools of {name} is not there")
    tools = {}
    for row in json_rows(file, name="BFCL's tool descriptions", keys=("name", "description", "parameters")):
        result = orjson.dumps(_canned(row.get("response") or {})).decode()
        tools[row["name"]] = {
            "name": row["name"],
            "description": row["description"],
            "parameters": _json_schema(row["parameters"]),
            "returns": [result],
        }
    return tools


def _json_schema(schema: Any) -> Any:
    """A parameter description as JSON Schema."""
    if isinstance(schema, list):
        return [_json_schema(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    parts: Raw = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            parts[key] = {name: _json_schema(part) for name, part in value.items()}
        elif key == "type" and isinstance(value, str):
            if value != "any":
                parts[key] = _TYPES.get(value, value)
        elif key == "default" and value is None:
            continue  # no default
        else:
            parts[key] = _json_schema(value)
    return parts


def _canned(response: Mapping[str, Any]) -> Any:
    """A result of the described shape that says nothing: the tools are not run."""
    kind = _TYPES.get(str(response.get("type")), response.get("type"))
    if kind == "object":
        return {name: _canned(part) for name, part in (response.get("properties") or {}).items()}
    return {"array": [], "number": 0.0, "integer": 0, "boolean": True}.get(str(kind), "ok")


@dataclass(frozen=True, slots=True)
class _Call:
    """A wanted call. `given` says of each argument whether its value can be known without running a tool."""

    name: str
    arguments: dict[str, Any]
    known: frozenset[str]
    required: frozenset[str]


def _scenario(row: Mapping[str, Any], truth: Any, tools: Mapping[str, Raw], where: str, intake: Intake) -> Raw | None:
    turns = ["\n\n".join(str(message["content"]) for message in turn) for turn in row["question"]]
    expect(isinstance(truth, list) and len(truth) == len(turns), where, "questions and wanted calls differ in number")
    turns = turns[: intake.turns]
    probes = []
    for number, (ask, calls) in enumerate(zip(turns, truth, strict=False), 1):
        said = "\n".join(turns[:number])
        wanted = [_call(text, tools, said, where, intake) for text in calls]
        probe = {"id": f"turn-{number}", "ask": ask, "at": number, "mode": "inline", "check": _check(wanted)}
        # A later turn goes on from the earlier ones, so that in a fresh session nobody could answer it.
        probes.append(probe if number == 1 else probe | {"controls": False})
    if not probes:
        intake.leave_out("entries without a turn")
        return None
    return {
        "id": slug("bfcl", str(row["id"]).replace("_", "-")),
        "title": f"BFCL multi-turn: {' and '.join(row['involved_classes'])}",
        "tools": list(tools.values()),
        "session": {"turns": len(turns), "max_tool_rounds": 20},
        "probes": probes,
    }


def _call(text: str, tools: Mapping[str, Raw], said: str, where: str, intake: Intake) -> _Call:
    """A call written as Python, its arguments by name."""
    try:
        node = ast.parse(text, mode="eval").body
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        values = [ast.literal_eval(argument) for argument in node.args]
        named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    except (SyntaxError, ValueError, AssertionError):
        raise ConfigError(f"{where}: the wanted call {text!r} is not a call with plain arguments") from None
    name = node.func.id
    expect(name in tools, where, f"the wanted call {text!r} is of a tool that the entry does not have")
    schema = tools[name]["parameters"]
    properties = schema.get("properties") or {}
    arguments = dict(zip(properties, values, strict=False)) | named
    mode = intake.options["arguments"]
    known = frozenset(
        key
        for key, value in arguments.items()
        if mode == "all" or (mode == "said" and _is_said(value, properties.get(key) or {}, said))
    )
    return _Call(name, arguments, known, frozenset(schema.get("required") or ()))


def _is_said(value: Any, schema: Mapping[str, Any], said: str) -> bool:
    """True when the value follows from what the user has said so far, or is one of few that the tool names."""
    if isinstance(value, bool) or "enum" in schema:
        return True
    if isinstance(value, (list, tuple)):
        return bool(value) and all(_is_said(part, {}, said) for part in value)
    if isinstance(value, str):
        return 0 < len(value.split()) <= _PROSE_WORDS and _stands(value, said)
    if isinstance(value, (int, float)):
        return any(_stands(form, said) for form in {f"{value:g}", str(value), f"{value:,}".removesuffix(".0")})
    return False


def _stands(text: str, said: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", said, re.IGNORECASE) is not None


def _check(wanted: Sequence[_Call]) -> Raw:
    """The check of a turn: no call at all, or each call that can be known without running a tool."""
    if not wanted:
        return {"type": "no_tool_call"}
    # Calls whose arguments all come from another call's result cannot be wanted; the first of a turn always is.
    sure = [call for call in wanted if call.known or not call.required] or list(wanted[:1])
    calls = [_wanted(call) for call in sure]
    return {"type": "tool_call", **calls[0]} if len(calls) == 1 else {"type": "tool_call", "calls": calls}


def _wanted(call: _Call) -> Raw:
    known = {key: _plain(value) for key, value in call.arguments.items() if key in call.known}
    return {"name": call.name} | ({"arguments": known} if known else {})


def _plain(value: Any) -> Any:
    """Tuples as the lists they are in JSON."""
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value
