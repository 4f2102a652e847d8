"""YAML text into a tree that remembers its lines, without YAML's surprises.

PyYAML scans; the tree is ours, because a scenario is text that must reach a model as it was written: a plain `NO`,
`0123`, `12:30` or `2024-03-05` must not silently become a truth value, an octal number, a count of seconds or a date
(YAML 1.1, https://yaml.org/type/). Every fault is a `Fault` with its line; only what ends the reading is raised.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml
from yaml.resolver import Resolver

#: Nodes that aliases may add to a file before it is refused as an alias bomb.
MAX_ALIAS_NODES = 1000
#: Levels of nesting; far above any scenario, far below Python's recursion limit.
MAX_DEPTH = 60

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+|0[ox][0-9a-fA-F]+")
_TRUTH = {"true": True, "false": False}
_TRUTH_1_1 = {"yes": True, "on": True, "no": False, "off": False}
_RESOLVER = Resolver()


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: the line it stands on (1-based) and a sentence about it."""

    line: int
    sentence: str


class UnreadableError(Exception):
    """A fault after which the rest of the file cannot be read."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.fault = Fault(line, sentence)


@dataclass(frozen=True, slots=True)
class Trap:
    """A plain scalar that is neither text nor a plain JSON value: a date, `0123`, `12:30`. No field accepts it."""

    text: str


@dataclass(slots=True, eq=False)
class Node:
    """A piece of the file. `reads_as` says what a plain scalar became if it is not text; "" for text, lists and maps.

    `ambiguous` is set when that reading depends on the YAML version (`yes`, `0123`, a date). `keys` holds the line of
    each key of a map. `size` counts the nodes below and including this one.
    """

    kind: Literal["scalar", "list", "map"]
    line: int
    value: Any = None
    text: str = ""
    reads_as: str = ""
    ambiguous: bool = False
    children: dict[Any, Node] = field(default_factory=dict)
    keys: dict[Any, int] = field(default_factory=dict)
    size: int = 1

    def data(self) -> Any:
        """The plain Python value."""
        if self.kind == "list":
            return [child.data() for child in self.children.values()]
        if self.kind == "map":
            return {key: child.data() for key, child in self.children.items()}
        return self.value

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for child in self.children.values():
            yield from child.walk()

    def at(self, path: Sequence[Any]) -> Node:
        """The nearest node on the way down `path`; parts that are not in the file are stepped over."""
        node = self
        for part in path:
            node = node.children.get(part, node)
        return node

    def line_of(self, path: Sequence[Any]) -> int:
        """The line of a path: of the key if its last part is a key, else of the nearest node."""
        parent = self.at(path[:-1]) if path else self
        return parent.keys.get(path[-1], self.at(path).line) if path else self.line


def read_plain(text: str) -> tuple[Any, str, bool]:
    """What an unquoted scalar means: its value, the words for it ("" = text), and whether the reading is ambiguous."""
    lowered = text.lower()
    if text == "" or text == "~" or lowered == "null":
        return None, "nothing (null)", False
    if lowered in _TRUTH:
        return _TRUTH[lowered], f"the truth value {lowered}", False
    if lowered in _TRUTH_1_1:
        return _TRUTH_1_1[lowered], f"the truth value {str(_TRUTH_1_1[lowered]).lower()}", True
    if _INTEGER.fullmatch(text):
        return int(text), "a number", False
    if _LEADING_ZERO.fullmatch(text):
        return Trap(text), "an octal or hexadecimal number", True
    if _FLOAT.fullmatch(text):
        number = float(text)
        return (number, "a number", False) if math.isfinite(number) else (Trap(text), "a number", True)
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    tag = tag.removeprefix("tag:yaml.org,2002:")
    if tag == "timestamp":
        return Trap(text), "a date", True
    if tag in ("int", "float"):
        return Trap(text), "a time of day counted in seconds" if ":" in text else "a number", True
    return text, "", False


def parse_yaml(text: str) -> tuple[Node | None, list[Fault]]:
    """The tree of the one document in `text` (None if it is empty), and the faults that did not end the reading.

    Raises `UnreadableError` for text that is not YAML, more than one document, alias bombs, and nesting without end.
    """
    reader = _Reader(text)
    return reader.document(), reader.faults


class _Loader(yaml.SafeLoader):
    """PyYAML's loader, but a question mark inside a plain text of a flow map does not end it (YAML 1.2, §7.3.3).

    Without this ``{ask: What is the code?, at: [1]}`` is refused. The scanner decides by `peek` where a text ends and
    takes the text itself by `prefix`, so showing it a letter in place of the sign is enough.
    """

    _in_plain = False

    def peek(self, index: int = 0) -> str:
        """The character the scanner looks at."""
        sign: str = super().peek(index)
        return "x" if sign == "?" and self._in_plain else sign

    def scan_plain(self) -> yaml.ScalarToken:
        """One unquoted text."""
        self._in_plain = True
        try:
            return super().scan_plain()
        finally:
            self._in_plain = False


class _Reader:
    """Builds nodes from PyYAML's events. One use per text."""

    def __init__(self, text: str) -> None:
        self.faults: list[Fault] = []
        self._text = text
        self._anchors: dict[str, Node | None] = {}
        self._unused: dict[str, Node] = {}
        self._alias_nodes = 0
        try:
            self._loader = _Loader(text)
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise UnreadableError(line, f"the character #x{_code(error.character):04x} cannot stand in YAML") from None

    def _next(self) -> yaml.Event:
        try:
            return self._loader.get_event()  # type: ignore[no-any-return, no-untyped-call]
        except yaml.MarkedYAMLError as error:
            raise UnreadableError(*self._explain(error)) from None
        except (ValueError, OverflowError) as error:
            # PyYAML lets a few faults through as bare errors, such as an escape beyond the last code point.
            line = self._loader.line + 1
            raise UnreadableError(
                line, "this is not valid YAML: an escape in a quoted text is not a character"
            ) from error

    def document(self) -> Node | None:
        """Read the stream to its end."""
        root: Node | None = None
        documents = 0
        while True:
            event = self._next()
            if isinstance(event, yaml.StreamEndEvent):
                break
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise UnreadableError(_line(event), "a second YAML document starts here; a scenario file holds one")
                root = self._node(self._next(), 0)
        for name, node in self._unused.items():
            self.faults.append(
                Fault(node.line, f"the anchor &{name} is never used; if `&{name}` belongs to the text, quote it")
            )
        return root

    def _node(self, event: yaml.Event, depth: int) -> Node:
        line = _line(event)
        if depth > MAX_DEPTH:
            raise UnreadableError(line, f"lists and maps are nested more than {MAX_DEPTH} levels deep")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor or "", line)
        assert isinstance(event, yaml.NodeEvent)
        anchor = event.anchor
        if anchor is not None:
            self._anchors[anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event, line)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._no_tag(event, line)
            node = Node("list", line)
            while not isinstance(event := self._next(), yaml.SequenceEndEvent):
                node.children[len(node.children)] = self._node(event, depth + 1)
        else:
            self._no_tag(event, line)
            node = self._map(line, depth)
        node.size = 1 + sum(child.size for child in node.children.values())
        if anchor is not None:
            self._anchors[anchor] = node
            if node.kind == "scalar":
                self._unused[anchor] = node
        return node

    def _alias(self, name: str, line: int) -> Node:
        if name not in self._anchors:
            raise UnreadableError(
                line, f"*{name} is a YAML alias, but no anchor &{name} stands before it; to write a text, quote it"
            )
        node = self._anchors[name]
        if node is None:
            raise UnreadableError(line, f"the alias *{name} refers to what it is part of; that has no end")
        self._unused.pop(name, None)
        self._alias_nodes += node.size
        if self._alias_nodes > MAX_ALIAS_NODES:
            raise UnreadableError(
                line, f"aliases add more than {MAX_ALIAS_NODES:,} nodes to this file (an alias bomb); write them out"
            )
        return node

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Node:
        text = event.value
        if any("\ud800" <= sign <= "\udfff" for sign in text):
            raise UnreadableError(line, "half of a surrogate pair is not a character; write the character itself")
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            self.faults.append(
                Fault(line, f"the tag {event.tag} has no meaning here; to start a text with !, quote it")
            )
        if event.style is not None or event.tag is not None:
            return Node("scalar", line, text, text)
        value, reads_as, ambiguous = read_plain(text)
        return Node("scalar", line, value, text, reads_as, ambiguous)

    def _map(self, line: int, depth: int) -> Node:
        node = Node("map", line)
        merged: list[Node] = []
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key_line = _line(event)
            plain = isinstance(event, yaml.ScalarEvent) and event.style is None
            key = self._node(event, depth + 1)
            child = self._node(self._next(), depth + 1)
            if key.kind != "scalar":
                self.faults.append(
                    Fault(key_line, "a key must be text; a text that starts with { or [ has to be quoted")
                )
            elif key.text == "<<" and plain:
                merged += [child] if child.kind == "map" else child.children.values()
                if any(part.kind != "map" for part in merged):
                    self.faults.append(Fault(key_line, "`<<` merges maps; give it an alias of a map or a list of them"))
                    merged = [part for part in merged if part.kind == "map"]
            elif key.text in node.children:
                first = node.keys[key.text]
                self.faults.append(
                    Fault(key_line, f"duplicate key `{key.text}`: it already stands at line {first}; merge the two")
                )
            else:
                node.children[key.text] = child
                node.keys[key.text] = key_line
        for part in merged:
            for name, child in part.children.items():
                if name not in node.children:
                    node.children[name] = child
                    node.keys[name] = part.keys[name]
        return node

    def _no_tag(self, event: yaml.Event, line: int) -> None:
        if isinstance(event, yaml.CollectionStartEvent) and event.tag not in (
            None,
            "!",
            "tag:yaml.org,2002:map",
            "tag:yaml.org,2002:seq",
        ):
            self.faults.append(Fault(line, f"the tag {event.tag} has no meaning here; remove it"))

    def _explain(self, error: yaml.MarkedYAMLError) -> tuple[int, str]:
        """PyYAML's message as a line and a sentence that says what to do."""
        problem, context = error.problem or "", error.context or ""
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        opened = error.context_mark.line + 1 if error.context_mark else line
        source = self._text.splitlines()[line - 1] if line <= len(self._text.splitlines()) else ""
        if "'\\t'" in problem or source[: len(source) - len(source.lstrip())].count("\t"):
            return line, "a tab where YAML takes spaces only; indent with spaces"
        if "cannot start any token" in problem:
            return line, f"this is not valid YAML: a text that starts with {_sign(problem)} has to be quoted"
        if "mapping values are not allowed" in problem:
            return line, "this is not valid YAML: a text with `: ` in it has to be quoted, or the indentation is off"
        if "unknown escape" in problem:
            return line, (
                f"this is not valid YAML: \\ before {_sign(problem)} has no meaning in double quotes; "
                "use single quotes, or write \\\\ for one \\"
            )
        if "alphabetic or numeric" in problem:
            return line, "this is not valid YAML: a text that starts with `*` or `&` has to be quoted"
        if "block end" in problem:
            written = source.partition(":")[2].lstrip()[:1]
            if "<scalar>" in problem and written in ("{", "[", '"', "'"):
                return (
                    line,
                    f"this is not valid YAML: a text that starts with {written} and goes on has to be quoted whole",
                )
            return line, "this is not valid YAML: the indentation is off; the keys of one map start in one column"
        if "could not find expected ':'" in problem:
            return opened, "this is not valid YAML: a line that is no `key: value` (a blank follows the colon)"
        if "quoted scalar" in context:
            return opened, "this is not valid YAML: the quote that opens here is never closed"
        if "flow" in context:
            line = opened if "end>" in problem else line
            return (
                line,
                f"this is not valid YAML: the bracket of line {opened} is not closed, or a comma or quote is missing",
            )
        where = f" ({context}, line {opened})" if context else ""
        return line, f"this is not valid YAML: {problem}{where}"


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


def _sign(problem: str) -> str:
    found = re.search(r"'(.)'", problem)
    return f"`{found.group(1)}`" if found else "this sign"


def _code(character: Any) -> int:
    return character if isinstance(character, int) else ord(character)


def split_labels(text: str) -> list[str]:
    """The parts between commas that stand in no bracket: ``full, a(b=c(d=1, e=2), f=3)`` has two."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]
