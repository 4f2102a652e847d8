"""Checks: pure functions from a reply to a verdict, one file per family, registered by `type`.

To add one: write the family's file (see `base.py`) and name it in the import below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Union

from pydantic import Field

# Importing a family registers its checks.
from contextrot.checks import (  # noqa: F401
    abstain,
    composite,
    form,
    json_check,
    judge,
    language,
    markdown,
    python_check,
    recall,
    text,
    tools,
)
from contextrot.checks.base import REGISTRY, Check, Facts, FactState
from contextrot.checks.grading import grade, open_question, read_facts
from contextrot.checks.loading import CHECK_MARK, CheckInfo, Parameter, describe, load_check
from contextrot.errors import ConfigError
from contextrot.messages import Reply
from contextrot.outcomes import Verdict

__all__ = [
    "AnyCheck",
    "Check",
    "CheckInfo",
    "FactState",
    "Facts",
    "Parameter",
    "check",
    "check_schema",
    "describe",
    "grade",
    "load_check",
    "open_question",
]

#: the pydantic union of every registered check, told apart by `type`
AnyCheck: Any = Annotated[Union[tuple(REGISTRY.values())], Field(discriminator="type")]  # noqa: UP007  (built at run time)


_REPLY_KEYS = {"content", "tool_calls", "function_call", "finish_reason", "stop_reason", "refusal", "role"}


def check(
    check: Check | Mapping[str, Any], reply: str | Mapping[str, Any] | Reply, *, facts: Mapping[str, Any] | None = None
) -> Verdict:
    """Grade one reply (public API).

    `check` is a mapping as in YAML, `reply` plain text or ``{content, tool_calls, finish_reason}``; `facts` maps a
    fact's id to its value, or to ``{value, superseded: [...]}``. Raises `ConfigError` when the check or a fact is
    refused.
    """
    reply = reply if isinstance(reply, Reply) else _read_reply(reply)
    return grade(load_check(check), reply, read_facts(facts or {}))


def _read_reply(raw: Any) -> Reply:
    if not isinstance(raw, (str, Mapping)):
        raise ConfigError(f"a reply must be text or {{content, tool_calls, finish_reason}}, not {raw!r:.80}")
    if isinstance(raw, Mapping) and raw and not _REPLY_KEYS & raw.keys():
        keys = ", ".join(f"`{key}`" for key in list(raw)[:5])
        raise ConfigError(f"a reply has `content` or `tool_calls`, but this one has only {keys}; hand in the message")
    return Reply.from_dict(raw)


def check_schema() -> dict[str, Any]:
    """The JSON Schema of a check as written in YAML: one alternative per registered type, `type` required.

    Checks inside checks refer to `#/$defs/check`, which is there.
    """
    definitions: dict[str, Any] = {}
    for name, cls in sorted(REGISTRY.items()):
        schema = cls.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
        definitions.update(schema.pop("$defs", {}))
        schema["required"] = ["type", *(key for key in schema.get("required", ()) if key != "type")]
        definitions[f"check_{name}"] = _with_references(schema)
    choice = {"oneOf": [{"$ref": f"#/$defs/check_{name}"} for name in sorted(REGISTRY)]}
    return {**choice, "$defs": {**definitions, "check": choice}}


def _with_references(schema: Any) -> Any:
    """The schema with a reference wherever any check may stand."""
    if isinstance(schema, Mapping):
        if schema.items() >= CHECK_MARK.items():
            return {"$ref": "#/$defs/check"} | {key: value for key, value in schema.items() if key not in CHECK_MARK}
        return {key: _with_references(value) for key, value in schema.items()}
    return [_with_references(value) for value in schema] if isinstance(schema, list) else schema
