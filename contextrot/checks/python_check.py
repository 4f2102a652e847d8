"""`python`: a function of the user's own as a check."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr, StrictBool, StrictStr, ValidationInfo, computed_field, model_validator

from contextrot.checks.base import Check, Facts, fail, passed, register
from contextrot.checks.user_code import Found, find_function
from contextrot.errors import ConfigError
from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict


@register
class Python(Check):
    """A function of your own says whether the reply passes.

    It is called as `function(reply)`, or `function(reply, facts)` where it takes two arguments. `reply` has `content`,
    `text` and `tool_calls` (each `name` and `arguments`, JSON text); `facts` maps the ids named in `facts` to `value`
    and `superseded`. It returns `True` or `False`, either with a reason as a pair, or a `contextrot.outcomes.Verdict`.
    What it raises, or returns else, is the outcome `error`, never a failure of the reply. It should follow from its
    arguments alone, and nothing limits its time. A change of the file it is in makes another scenario, which an earlier
    run is not resumed with; a change of what that file imports is not seen.

    A scenario with such a check runs code: also `contextrot validate` imports it. Look at a file from others before.
    """

    type_name = "python"
    type: Literal["python"] = "python"
    function: StrictStr = Field(
        description="`module:function`, or `checks.py:function` for a file in the scenario's folder or below."
    )
    facts: tuple[StrictStr, ...] = Field(default=(), description="Ids of the facts the function looks up.")
    tool_calls: StrictBool = Field(
        default=False, description="Whether a reply that only calls tools is for the function to judge."
    )
    passes: StrictStr | None = Field(
        default=None, description="A reply that passes: tried when the file is read, and given by simulated models."
    )
    fails: StrictStr | None = Field(
        default=None, description="A reply that fails: tried when the file is read, and given by simulated models."
    )

    _found: Found = PrivateAttr()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def source(self) -> str:
        """Digest of the file the function is in, so that a scenario is another one when its code changes."""
        return self._found.digest

    @property
    def reads_tool_calls(self) -> bool:
        """True when the user says so."""
        return self.tool_calls

    def fact_ids(self) -> tuple[str, ...]:
        """The facts named."""
        return self.facts

    @model_validator(mode="after")
    def _is_there(self, info: ValidationInfo) -> Self:
        try:
            self._found = find_function(self.function, (info.context or {}).get("base_dir"))
        except ConfigError as error:
            raise ValueError(f"`function` {error}") from error
        for name, text, wanted in (("passes", self.passes, Outcome.PASS), ("fails", self.fails, Outcome.FAIL)):
            if text is None or self.facts:  # a verdict that hangs on a fact cannot be tried without one
                continue
            verdict = self.grade(Reply.from_dict(text), {})
            if verdict.outcome is not wanted:
                why = f": {verdict.reason}" if verdict.reason else ""
                raise ValueError(f"`{name}` is a reply on which the function says {verdict.outcome.value}{why}")
        return self

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """What the function says; `error` when it raises, or returns what is no verdict."""
        arguments: tuple[Any, ...] = (reply, dict(facts)) if self._found.takes_facts else (reply,)
        try:
            with redirect_stdout(sys.stderr):  # what it prints is no part of what `--json` prints
                said = self._found.function(*arguments)
        except (Exception, SystemExit) as error:
            return Verdict(Outcome.ERROR, f"{self.function} raised {type(error).__name__}: {_said(error, str)}"[:400])
        return self._verdict(said, reply)

    def _verdict(self, said: Any, reply: Reply) -> Verdict:
        if isinstance(said, Verdict) and isinstance(said.outcome, Outcome):
            return Verdict(said.outcome, _written(said.reason or ""), _written(said.evidence or ""))
        holds, reason = said if isinstance(said, tuple) and len(said) == 2 else (said, "")
        if type(holds).__name__ in ("bool", "bool_") and isinstance(reason, str):
            reason = _written(reason)
            return passed(reply.text, reason) if holds else fail(reason or f"{self.function} says no", reply.text)
        return Verdict(
            Outcome.ERROR,
            f"{self.function} returned {_said(said, repr):.100}; it must return True, False, either with a reason, "
            "or a Verdict",
        )


def _written(text: str) -> str:
    """The text as it can be written to a file: halves of characters become `?`."""
    return str(text).encode("utf-8", "replace").decode()


def _said(value: object, words: Callable[[object], str]) -> str:
    """What `words` makes of a value of the user's; its type where that fails."""
    try:
        return _written(words(value))
    except Exception:
        return type(value).__name__
