"""`recall` and `recall_list`: does the reply state what was told once, as it stands now?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from contextrot.checks.base import Check, Facts, fail, passed, register
from contextrot.checks.items import Item, find_items
from contextrot.checks.matching import Mention, Needle, findable, needle, page_numbers, thin
from contextrot.checks.normal import Page, page
from contextrot.checks.refusal import is_refusal
from contextrot.checks.stance import Candidate, Stance, stances
from contextrot.checks.unknowing import admits
from contextrot.checks.value_forms import bare_number, bare_pattern
from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict

_LIVE = frozenset({Stance.PLAIN, Stance.CURRENT, Stance.HEDGED})
#: a reply in which a number may stand for a value without its unit or label
_SHORT = 100
_LEFT_TO_USER = re.compile(
    r"\b(?:which|what)(?: one| of (?:the (?:two|three)|them|these|those)| (?:value|number|figure|date|version))?"
    r" (?:should|shall|do|would|is (?:it|right|correct|current|the (?:right|correct|current|latest))|applies|holds|"
    r"counts)\b[^.?!]{0,60}\?|"
    r"\b(?:let me know|tell me|please (?:confirm|say|tell me|clarify)|(?:could|can) you (?:confirm|say|tell me|"
    r"clarify))"
    r" which(?: one| of (?:the (?:two|three)|them|these|those)| (?:value|number|figure|date|version))?"
    r" (?:you|is|i|to|applies|holds|counts|we)\b"
)


def _same(first: str, second: str) -> bool:
    """True when no reply can tell the two values apart."""
    one, other = needle(first), needle(second)
    if one.number is not None and other.number is not None:
        units = {one.number.unit, other.number.unit}
        return bool(one.number.readings & other.number.readings) and (len(units) == 1 or "" in units)
    return page(first).folded == page(second).folded


@register
class Recall(Check):
    """The reply states a value that was told before: the current one, not one it replaced.

    Words match as whole tokens without regard to case or dress (Markdown, quotes, LaTeX, Unicode forms), numbers by
    their value. A value that is negated, given as a bound, offered as one of several, or named as outdated is not
    recalled.
    """

    type_name: ClassVar[str] = "recall"
    type: Literal["recall"] = "recall"
    value: str | None = Field(None, description="The text or number to recall. Give this or `fact`.")
    fact: str | None = Field(None, description="Id of the fact whose current value is to be recalled.")
    aliases: tuple[str, ...] = Field((), description="Other ways to say the value that are as good.")
    superseded: tuple[str, ...] = Field((), description="Values that were true before; known by themselves for a fact.")

    @field_validator("value", "fact", "aliases", "superseded")
    @classmethod
    def _not_empty(cls, given: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        for text in (given,) if isinstance(given, str) else given or ():
            needle(text)
        return given

    @model_validator(mode="after")
    def _can_fail(self) -> Self:
        if (self.value is None) == (self.fact is None):
            raise ValueError(
                "needs one of `value` (the text to recall) and `fact` (the id of a fact), not both or none"
            )
        for old in self.superseded:
            for right in (self.value, *self.aliases):
                if right is not None and _same(old, right):
                    raise ValueError(f"has {old!r} both as the right value and as a superseded one")
        return self

    def fact_ids(self) -> tuple[str, ...]:
        """The fact looked up, if any."""
        return (self.fact,) if self.fact is not None else ()

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`pass` when the current value is asserted; `inconclusive` when several are named and none preferred."""
        value, superseded = self.value, self.superseded
        near: tuple[str, ...] = ()
        if self.fact is not None:
            state = facts.get(self.fact)
            if state is None:
                return Verdict(
                    Outcome.INCONCLUSIVE, f"the fact {self.fact!r} has no value here, so nothing can be compared"
                )
            value, superseded, near = state.value, (*state.superseded, *superseded), state.near
        if value is None or not findable(value):
            return Verdict(Outcome.INCONCLUSIVE, f"the fact {self.fact!r} is empty, so nothing can be compared")
        old = [needle(text) for text in superseded if findable(text) and not _same(text, value)]
        verdict = recalled(page(reply.text), [needle(text) for text in (value, *self.aliases)], old)
        return _mixed_up(page(reply.text), verdict, value, near, old)


def _mixed_up(text: Page, verdict: Verdict, value: str, near: Sequence[str], old: Sequence[Needle]) -> Verdict:
    """The verdict, with its reason when the reply asserts what was said of something else (a distractor's value)."""
    if verdict.outcome is not Outcome.FAIL or any(True for former in old for _ in former.find(text)):
        return verdict
    given = (other for other in near if findable(other) and not _same(other, value))
    mixed = next((other for other in given if recalled(text, [needle(other)]).outcome is Outcome.PASS), None)
    if mixed is None:
        return verdict
    return fail(f"the reply gives {mixed!r}, which was said of something else, not {value!r}", verdict.evidence)


def recalled(text: Page, right: Sequence[Needle], old: Sequence[Needle] = ()) -> Verdict:
    """Whether the text asserts one of `right`, given the values in `old` that it replaced."""
    candidates = _candidates(text, right, old)
    if not any(candidate.role == "value" for candidate in candidates):
        right, old = _bare(text, right, old)
        candidates = _candidates(text, right, old)
    found = stances(text, candidates)
    of_value = [(c, s) for c, s in zip(candidates, found, strict=True) if c.role == "value"]
    of_old = [(c, s) for c, s in zip(candidates, found, strict=True) if c.role == "superseded"]
    rivals = [s for c, s in zip(candidates, found, strict=True) if c.role == "rival"]
    verdict = _resolve(text, of_value, of_old, rivals, right[0].value)
    undenied = [c for c, s in of_old if s not in (Stance.DENIED, Stance.FORMER)]
    if verdict.outcome is not Outcome.FAIL and of_value and undenied and (left := _LEFT_TO_USER.search(text.folded)):
        return fail(f"the reply names {right[0].value!r} and a superseded value and leaves the choice", left.group())
    unclear = right[0].unclear.search(text.folded) if right[0].unclear and not of_value and not of_old else None
    if unclear:
        return Verdict(Outcome.INCONCLUSIVE, f"{unclear.group()!r} may be {right[0].value!r} and may be another day")
    if verdict.outcome is Outcome.FAIL and not any(s in _LIVE for _, s in of_value):
        if not of_value and not of_old and is_refusal(text.shown):
            return fail(f"the model refused; the reply does not say {right[0].value!r}", text.shown)
        if not any(s in _LIVE for _, s in of_old) and not of_value and admits(text.folded[:2000]):
            return fail(f"the reply says that it does not know {right[0].value!r}", text.shown)
    return verdict


def _bare(text: Page, right: Sequence[Needle], old: Sequence[Needle]) -> tuple[Sequence[Needle], Sequence[Needle]]:
    """The needles, which in a short reply without other numbers also find "= 72" for "72 bpm" and "#31" for "plot 31".

    Not where a superseded value has the same number: without the unit they are one.
    """
    number = bare_number(right[0].value.strip().casefold())
    if number is None or len(text.folded) > _SHORT:
        return right, old
    former = {given for n in old if (given := bare_number(n.value.strip().casefold())) is not None}
    shown = {reading for given in page_numbers(text) for reading in given.readings}
    if number in former or not shown <= {Decimal(number), *map(Decimal, former)}:
        return right, old
    return [_with_bare(right[0]), *right[1:]], [_with_bare(n) for n in old]


def _with_bare(one: Needle) -> Needle:
    """The needle that also finds the number of its value by itself."""
    number = bare_number(one.value.strip().casefold())
    if number is None or one.pattern is None:
        return one
    return replace(one, pattern=re.compile(f"{one.pattern.pattern}|{bare_pattern(number)}"))


def _candidates(text: Page, right: Sequence[Needle], old: Sequence[Needle]) -> list[Candidate]:
    """All places of the values, of the superseded ones and of others like them, in order; the longest wins a place."""
    found = [
        Candidate(m, "value", n.quantity, n.clock, n.dated)
        for n in right
        for m in n.find(text)
        if n is right[0] or not _of_another(text, m, n.value, right[0].value)
    ]
    found += [Candidate(m, "superseded", n.quantity) for n in old for m in n.find(text)]
    found.sort(key=lambda c: (c.mention.start, -c.mention.end))
    named: list[Candidate] = []
    for candidate in found:
        if not named or candidate.mention.start >= named[-1].mention.end:
            named.append(candidate)
    if not any(candidate.role == "value" for candidate in named):
        return named
    taken = [candidate.mention for candidate in named]
    rivals = thin(_free(right[0].rivals(text), taken))
    named += [Candidate(m, "rival", right[0].quantity) for m in rivals]
    return sorted(named, key=lambda c: c.mention.start)


#: "Ingrid Monday morning": a capital after a first name that is no surname
_NO_SURNAME = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:january|february|march|april|may|june|july|"
r"august|"
                         r"september|october|november|december)|i")  # fmt: skip


def _of_another(text: Page, mention: Mention, alias: str, value: str) -> bool:
    """True for a first name that stands for the value, where another surname follows: Ingrid Solberg, not Solheim."""
    if not (alias.isalpha() and value.startswith(f"{alias} ") and text.shown is not text.folded):
        return False
    surname = re.match(r" ([^\W\d_a-zà-ÿ][^\W\d_]+(?:-[^\W\d_]+)*)(?!')", text.shown[mention.end : mention.end + 40])
    if surname is None or _NO_SURNAME.fullmatch(surname[1].casefold()):
        return False
    return surname[1].casefold() not in value.casefold().split()


def _free(mentions: Iterable[Mention], taken: Sequence[Mention]) -> list[Mention]:
    """Those mentions that overlap none of `taken` (both in order)."""
    free: list[Mention] = []
    at = 0
    for mention in mentions:
        while at < len(taken) and taken[at].end <= mention.start:
            at += 1
        if (at == len(taken) or mention.end <= taken[at].start) and (not free or mention.start >= free[-1].end):
            free.append(mention)
    return free


Found = Sequence[tuple[Candidate, Stance]]


def _resolve(text: Page, of_value: Found, of_old: Found, rivals: Sequence[Stance], value: str) -> Verdict:
    """The final answer among all that was said."""
    live = [(c, s) for c, s in of_value if s in _LIVE]
    live_old = [(c, s) for c, s in of_old if s in _LIVE]
    past = [pair for pair in of_value if pair[1] in (Stance.PAST, Stance.LESSER)]
    if not live and past and not live_old and Stance.CURRENT not in rivals:
        live = past  # "The code was teal-7": the past of telling, not of being true
    if live:
        hedged = all(s is Stance.HEDGED for _, s in live)
        if hedged and (Stance.HEDGED in rivals or live_old):
            return fail(f"the reply offers {value!r} as one guess among several", _around(text, live[0][0]))
        if any(s is Stance.CHOICE for _, s in of_value) and not any(s is Stance.CURRENT for _, s in live):
            choice = next(c for c, s in of_value if s is Stance.CHOICE)
            if live[-1][0].mention.start < choice.mention.start:
                return fail(f"the reply offers {value!r} as one of several alternatives", _around(text, choice))
        if not live_old:
            return passed(_around(text, live[-1][0]))
        newest = [c.mention.start for c, s in live if s is Stance.CURRENT]
        newest_old = [c.mention.start for c, s in live_old if s is Stance.CURRENT]
        if newest and (not newest_old or max(newest) > max(c.mention.start for c, _ in live_old)):
            return passed(_around(text, live[-1][0]))
        if newest_old and not newest:
            return fail("the reply gives a superseded value as the current one", _around(text, live_old[-1][0]))
        return Verdict(
            Outcome.INCONCLUSIVE,
            f"the reply names {value!r} and a superseded value without saying which holds",
            _around(text, live_old[-1][0]),
        )
    if live_old:
        return fail("the reply gives a superseded value", _around(text, live_old[-1][0]))
    if of_value:
        candidate, stance = of_value[-1]
        if stance is Stance.ASKED:
            return Verdict(Outcome.INCONCLUSIVE, f"the reply only asks about {value!r}", _around(text, candidate))
        return fail(f"{value!r} is {stance.value}, not asserted", _around(text, candidate))
    if of_old:
        return fail(f"the reply names only a superseded value, not {value!r}", _around(text, of_old[-1][0]))
    return fail(f"the reply does not say {value!r}", text.shown)


def _around(text: Page, candidate: Candidate) -> str:
    """The words around a place, for the table of verdicts."""
    mention = candidate.mention
    return text.shown[max(0, mention.start - 60) : mention.end + 60]


@register
class RecallList(Check):
    """The reply names every item that was told: in any order, whatever the list form, other items may stand beside.

    An item that the reply calls done, cancelled or not needed is not named as open.
    """

    type_name: ClassVar[str] = "recall_list"
    type: Literal["recall_list"] = "recall_list"
    values: tuple[str, ...] = Field((), description="The items, each of which the reply must name.")
    facts: tuple[str, ...] = Field((), description="Ids of facts whose current values the reply must name too.")

    @field_validator("values", "facts")
    @classmethod
    def _not_empty(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for text in given:
            needle(text)
        return given

    @model_validator(mode="after")
    def _can_fail(self) -> Self:
        if not self.values and not self.facts:
            raise ValueError("needs `values` (the items to name): without any, no reply could fail")
        return self

    def fact_ids(self) -> tuple[str, ...]:
        """The facts looked up."""
        return self.facts

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`pass` when every item is named; the reason of a `fail` lists those that are not."""
        unknown = [name for name in self.facts if name not in facts]
        if unknown:
            names = ", ".join(unknown)
            return Verdict(Outcome.INCONCLUSIVE, f"no value here for the facts {names}, so nothing can be compared")
        wanted = [value for value in (*self.values, *(facts[name].value for name in self.facts)) if findable(value)]
        text = page(reply.text)
        state = find_items(text, wanted)
        missing = [value for value in wanted if state[value] is Item.MISSING]
        closed = [value for value in wanted if state[value] is Item.CLOSED]
        if not missing and not closed:
            return passed(reply.text)
        said = [f"missing: {', '.join(missing)}"] * bool(missing)
        said += [f"named only as done or not needed: {', '.join(closed)}"] * bool(closed)
        reason = f"{len(wanted) - len(missing) - len(closed)} of {len(wanted)} items; {'; '.join(said)}"
        if len(missing) == len(wanted):
            if is_refusal(reply.text):
                reason = f"the model refused; {reason}"
            elif admits(text.folded[:2000]):
                reason = f"the reply says that it does not know; {reason}"
        return fail(reason, reply.text)
