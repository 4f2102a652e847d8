"""Faults of a scenario as sentences with the line they stand on: pydantic's findings in a user's words."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from contextrot.checks.base import REGISTRY
from contextrot.checks.loading import suggestion
from contextrot.yaml_source import Fault, Node, Trap

Path = tuple[Any, ...]


def did_you_mean(word: Any, known: Iterable[str]) -> str:
    """``; did you mean `x`?`` for a near miss, what is known for anything else, "" when nothing is."""
    names = sorted(set(known))
    return suggestion(str(word), names) if names else ""


def faults_of(error: ValidationError, root: Node, model: type[BaseModel]) -> Iterator[tuple[Path, Fault]]:
    """Each finding of pydantic with its path in the file and its fault."""
    for details in error.errors():
        path = _in_file(details["loc"], root)
        kind = details["type"]
        if kind == "extra_forbidden":
            key = path[-1]
            known = _fields_at(model, details["loc"][:-1])
            hint = did_you_mean(key, known)
            if path[:-1] == ("grid",) and not get_close_matches(str(key), list(known), 1, 0.75):
                hint = f"; the axes of a grid are {', '.join(sorted(known))}"
            yield path, Fault(root.line_of(path), f"unknown key `{key}`{_within(path[:-1])}{hint}")
        elif kind == "missing":
            key = details["loc"][-1]
            yield (*path, key), Fault(root.at(path).line, f"`{key}` is missing{_within(path)}")
        elif kind == "too_short" and root.at(path).children:
            continue  # the entries are there; their own faults are told
        elif kind == "check":
            yield from _check_faults(path, details, root)
        else:
            node = root.at(path)
            yield path, Fault(_value_line(root, path), f"`{_name(path)}` {_complaint(details, node)}")


def unclear_scalars(root: Node) -> Iterator[tuple[Path, Fault]]:
    """Keys without a value, and plain scalars in checks, schemas and arguments that YAML versions read differently.

    Elsewhere the type of the field decides; in free JSON `yes` could be meant as a text or as a truth value.
    """
    free = list(_free_json(root))
    for path in free:
        for part in _unclear(root.at(path)):
            yield path, Fault(part.line, f"`{_name(path)}` holds {_quote(part)}")
    yield from _valueless(root, (), {id(root.at(path)) for path in free})


def _valueless(node: Node, path: Path, free: set[int]) -> Iterator[tuple[Path, Fault]]:
    nothing = all(child.text == "" and child.value is None for child in node.children.values())
    if path and node.kind == "map" and nothing:
        return  # `text: {value}` without quotes: told as a map where a text is wanted
    for key, child in node.children.items():
        here = (*path, key)
        if node.kind == "map" and child.kind == "scalar" and child.value is None:
            written = (
                "`" + child.text + "`, quote it if it is text" if child.text else "quote a text that starts with #"
            )
            yield here, Fault(node.keys[key], f"`{key}` has no value; give one or remove the key ({written})")
        elif id(child) not in free:
            yield from _valueless(child, here, free)


def _free_json(root: Node) -> Iterator[Path]:
    for section, key in (("constraints", "check"), ("probes", "check"), ("tools", "parameters")):
        for index, part in _children(root, section):
            if key in part.children:
                yield section, index, key
    for index, probe in _children(root, "probes"):
        for position, item in _children(probe, "items"):
            if "check" in item.children:
                yield "probes", index, "items", position, "check"
    filler = root.children.get("filler")
    calls = filler.children.get("tool_calls") if filler else None
    if calls is not None and calls.kind == "map" and "arguments" in calls.children:
        yield "filler", "tool_calls", "arguments"
    for position, call in _children(filler, "tool_calls") if filler else ():
        if "arguments" in call.children:
            yield "filler", "tool_calls", position, "arguments"
    for index, item in _children(filler, "items") if filler else ():
        for position, call in _children(item, "tool_calls"):
            if "arguments" in call.children:
                yield "filler", "items", index, "tool_calls", position, "arguments"


def _children(node: Node, key: str) -> Iterable[tuple[Any, Node]]:
    child = node.children.get(key)
    return child.children.items() if child is not None and child.kind == "list" else ()


def _unclear(node: Node) -> Iterator[Node]:
    if node.ambiguous:
        yield node
    check = REGISTRY.get(str(node.children["type"].value)) if "type" in node.children else None
    for key, child in node.children.items():
        field = check.model_fields.get(key) if check else None
        wants_truth = field is not None and field.annotation is bool and isinstance(child.value, bool)
        if not wants_truth:
            yield from _unclear(child)


def _check_faults(path: Path, details: ErrorDetails, root: Node) -> Iterator[tuple[Path, Fault]]:
    """A refused check in its own words, each sentence at the line of the key it names, else at `type`."""
    for sentence in filter(str.strip, str(details["ctx"]["sentence"]).splitlines()):
        node, key = _speaks_of(root.at(path), sentence)
        value = node.children.get(key)
        if (
            value is not None
            and value.reads_as
            and re.search("must be (text|a list)", sentence)
            and "quote" not in sentence
        ):
            sentence += f"; if it is text, quote it: {json.dumps(value.text)}"
        line = node.keys.get(key, node.line)
        if key == "type" and "schema" in node.children and "schema" in sentence:
            line = _line_in_schema(node, sentence)
        yield path, Fault(line, sentence.strip())


def _speaks_of(check: Node, sentence: str) -> tuple[Node, str]:
    """The check a sentence is about, this one or one inside it, and the key of it that is named first, else `type`."""
    for word in re.findall(r"`([^`]+)`", sentence):
        parts: list[Any] = [int(part) if part.isdigit() else part for part in word.split(".")]
        while parts and parts[0] in ("check", "checks"):
            steps = 1 if parts[0] == "check" else 2
            inner = check.at(parts[:steps])
            if inner.kind != "map" or inner is check or len(parts) < steps:
                break
            check, parts = inner, parts[steps:]
        if parts and parts[0] in check.children:
            return check, str(parts[0])
    return check, "type"


def _line_in_schema(check: Node, sentence: str) -> int:
    """The line of the keyword or value of a check's schema that a sentence quotes, else that of the schema."""
    quoted = {first or second for first, second in re.findall(r"`([^`]+)`|'([^']+)'", sentence)} - {
        check.at(["type"]).text
    }
    schema = check.children["schema"]
    for part in schema.walk():
        for key, child in part.children.items():
            if child.text in quoted or key in quoted:
                return part.keys.get(key, child.line)
    return check.keys["schema"]


def _complaint(details: ErrorDetails, node: Node) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "string_type" and node.reads_as:
        return f"wants text, not {_quote(node)}"
    if kind == "string_pattern_mismatch":
        if context.get("pattern") == r"\S":
            return "is empty; write a text or remove the key"
        return f"is {_shown(node)}; a name is letters, digits, `-`, `_` and `.`, at most 64 of them, without blanks"
    if kind == "literal_error":
        words = [word.strip("'") for word in str(context["expected"]).replace(" or ", ", ").split(", ")]
        wanted = " or ".join(f"`{word}`" for word in words)
        if words == ["end"]:
            wanted = "a turn (a whole number) or `end`"
        return f"is {_shown(node)}, but must be {wanted}{_near(node, words)}"
    bounds = {
        "greater_than_equal": "must be at least {ge}",
        "less_than_equal": "must be at most {le}",
        "too_short": "needs at least {min_length} entry",
        "value_error": "{error}",
    }
    if kind in bounds:
        shown = f"is {_shown(node)}, but " if kind.endswith("equal") else ""
        return shown + bounds[kind].format(**context)
    if node.kind == "map" and kind == "string_type":
        return "wants text, but starts with `{`, which opens a map in YAML; quote it"
    if kind in _WANTED:
        unquoted = kind == "int_type" and node.kind == "scalar" and not node.reads_as and node.text.strip("-").isdigit()
        odd = f", which YAML reads as {node.reads_as}" if node.ambiguous else ""
        return f"wants {_WANTED[kind]}, not {_shown(node)}{odd}{'; remove the quotes' if unquoted else ''}"
    return details["msg"]


_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a map",
    "model_type": "a map (`key: value` lines)",
    "model_attributes_type": "a map (`key: value` lines)",
}


def _quote(node: Node) -> str:
    if node.value is None:
        return f"{node.text or 'an empty value'}, which YAML reads as {node.reads_as}; quote it if it is text"
    return f'{node.text}, which YAML reads as {node.reads_as}; quote it: "{node.text}"'


def _shown(node: Node) -> str:
    if node.kind != "scalar":
        return f"a {node.kind}"
    text = node.text if len(node.text) <= 60 else node.text[:57] + "…"
    return f"`{text}`" if node.reads_as or isinstance(node.value, Trap) else f'the text "{text}"'


def _near(node: Node, words: list[str]) -> str:
    near = did_you_mean(node.text, words)
    return near if "did you mean" in near else ""


def _in_file(location: Iterable[Any], root: Node) -> Path:
    """A pydantic location without the parts that are not in the file (names of union branches)."""
    path: list[Any] = []
    node = root
    for part in location:
        if part in node.children:
            path.append(part)
            node = node.children[part]
    return tuple(path)


def _value_line(root: Node, path: Path) -> int:
    """Where a faulty value stands: its own line, or its key's when it is a block below the key or missing."""
    node = root.at(path)
    return node.line if node.kind == "scalar" and node.text else root.line_of(path)


def _name(path: Path) -> str:
    """The key nearest to the end of a path: `values` for ("facts", 0, "values", 2)."""
    return next((str(part) for part in reversed(path) if isinstance(part, str)), "the scenario")


def _within(path: Path) -> str:
    """` in probes` for a path below a key."""
    return f" in `{_name(path)}`" if path else ""


def _fields_at(model: type[BaseModel], location: Path) -> set[str]:
    """The keys a map at this pydantic location may have."""
    here: set[type[BaseModel]] = {model}
    for part in location:
        inside = {found for one in here for found in _models_of(_annotation(one, part))}
        here = inside or here
    return {field.alias or name for one in here for name, field in one.model_fields.items()}


def _annotation(model: type[BaseModel], key: Any) -> Any:
    for name, field in model.model_fields.items():
        if key == (field.alias or name):
            return field.annotation
    return None


def _models_of(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        if issubclass(annotation, BaseModel):
            yield annotation
        return
    for argument in typing.get_args(annotation):
        yield from _models_of(argument)
