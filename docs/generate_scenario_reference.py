"""Write docs/scenario-reference.md from the scenario format itself: `python docs/generate_scenario_reference.py`.

A test compares the file with what this makes. Every example is held against the JSON Schema of its part while the page
is made, and the whole file at its beginning is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from contextrot import load_scenario
from contextrot.scenario.schema import json_schema

PAGE = Path(__file__).parent / "scenario-reference.md"
#: The parts of the format in the order in which a file is written: the title of each one's section, and an example.
EXAMPLES: Mapping[str, Mapping[str, str]] = yaml.safe_load(
    (Path(__file__).parent / "scenario_examples.yaml").read_text(encoding="utf-8")
)
WHOLE = Path(__file__).parent / "examples" / "release-desk.yaml"
INTRODUCTION = """\
# Scenario reference

<!-- Made by docs/generate_scenario_reference.py from the code; a change here would be undone. -->

Every key of a scenario file. New here? [Write your first scenario](first-scenario.md) comes before this page;
[reference.md](reference.md#scenario-files) has what needs more words: grids, questions in rotation, tool output.
`contextrot schema --out contextrot.schema.json` writes the same for your editor, which then completes and checks as you
type. `contextrot validate FILE` lists every fault with its line.

Texts reach the model byte for byte: `{value}` in a fact is the only thing that is ever replaced. Text keys take text
only, so quote what YAML would read as something else (`"no"`, `"12:30"`, `"2024-03-05"`). An unknown or doubled key, a
check that cannot fail, a probe that is never reached and a rule without a check are errors.

## A whole file

It lies at [examples/release-desk.yaml](examples/release-desk.yaml).

"""
BARE = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true · false", "object": "mapping"}


def page() -> str:
    """The whole page. Raises where an example does not fit the format, or a part of the format has no section."""
    load_scenario(WHOLE)
    return INTRODUCTION + f"```yaml\n{WHOLE.read_text(encoding='utf-8')}```\n" + "".join(_sections(json_schema()))


def _sections(schema: dict[str, Any]) -> Iterator[str]:
    parts = {name for name in schema["$defs"] if not name.startswith("check") and name != "WantedCall"} | {"Scenario"}
    assert parts == EXAMPLES.keys(), parts ^ EXAMPLES.keys()
    for name, section in EXAMPLES.items():
        part = schema if name == "Scenario" else schema["$defs"][name]
        jsonschema.validate(yaml.safe_load(section["example"]), part | {"$defs": schema["$defs"]})
        yield f"\n## {section['title']}\n\n{_cell(part['description'])}\n"
        yield f"\n```yaml\n{section['example']}```\n"
        yield "\n| key | value | default | meaning |\n|---|---|---|---|\n"
        for key, value in part["properties"].items():
            default = "required" if key in part.get("required", ()) else _default(value)
            yield f"| `{key}` | {_type(value)} | {default} | {_cell(value.get('description', ''))} |\n"


def _type(value: Mapping[str, Any]) -> str:
    """What a key takes, parts and checks as links."""
    if reference := value.get("$ref"):
        name = reference.removeprefix("#/$defs/")
        return "[check](checks.md)" if name == "check" else f"[mapping](#{_anchor(EXAMPLES[name]['title'])})"
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return " · ".join(f"`{choice}`" for choice in value["enum"])
    for choice in ("oneOf", "anyOf"):
        if choice in value:
            return " or ".join(dict.fromkeys(_type(one) for one in value[choice]))
    if value.get("type") == "array":
        inner = _many(_type(value["items"]))
        return f"list of ({inner})" if " or " in inner or " · " in inner else f"list of {inner}"
    limits = [
        f"{word} {value[key]:,}" for key, word in (("minimum", "at least"), ("maximum", "at most")) if key in value
    ]
    told = [limit for limit in limits if limit not in ("at least 0", "at least 1", "at most 100,000")]
    return f"{BARE[value['type']]} ({', '.join(told)})" if told else BARE[value["type"]]


def _many(text: str) -> str:
    plural = {"text": "texts", "whole number": "whole numbers"}
    return plural.get(text, text.replace("[mapping]", "[mappings]") if text.startswith("[mapping]") else text)


def _default(value: Mapping[str, Any]) -> str:
    if value.get("default") in (None, [], {}):
        return "none"
    default = value["default"]
    if isinstance(default, dict):
        return f"`{{{', '.join(f'{key}: {one}' for key, one in default.items() if one not in (None, 'sequential'))}}}`"
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _cell(text: str) -> str:
    """A text as a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
