"""YAML in which every text comes back byte for byte, laid out for people: long texts as blocks where that is safe.

PyYAML writes; this file chooses the style, because what is plain in one version of YAML is a truth value in another,
and a block loses carriage returns, tabs before text and blanks at the ends of lines.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
#: A word or number that only a text field is expected to hold; everything else is quoted.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z_-]*[A-Za-z]")
_READ_OTHERWISE = frozenset({"true", "false", "yes", "no", "on", "off", "null"})


class _Dumper(yaml.SafeDumper):
    """Texts in the style `_style` chooses; everything else as PyYAML does, without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never an alias: each text stands where it is read."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Lists are set in under their key."""
        super().increase_indent(flow, False)


def _represent(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


def _style(text: str) -> str | None:
    if _UNSAFE.search(text.replace("\n", "")):
        return '"'
    if "\n" in text:
        return "|" if _keeps_in_block(text) else '"'
    if _PLAIN.fullmatch(text) and text.lower() not in _READ_OTHERWISE:
        return None
    return "'"


def _keeps_in_block(text: str) -> bool:
    """True for lines that a block gives back: no blank before the first or after any, at most one line end last."""
    body = text.removesuffix("\n")
    return not body[:1].isspace() and not any(line != line.rstrip() for line in text.split("\n")) and body[-1:] != "\n"


_Dumper.add_representer(str, _represent)


def dump(value: Any) -> str:
    """The value as YAML in block style."""
    text: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=10**9)
    return text


def one_line(value: Any) -> str:
    """The value as YAML on one line."""
    text: str = yaml.dump(
        value, Dumper=_OneLine, allow_unicode=True, sort_keys=False, width=10**9, default_flow_style=True
    )
    return text.removesuffix("...\n").strip()


class _OneLine(_Dumper):
    """No blocks: texts with line ends in them are quoted."""


def _represent_line(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = _style(text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if style == "|" else style)


_OneLine.add_representer(str, _represent_line)
