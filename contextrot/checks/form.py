"""Checks on the form of a reply: `count`, `case` and `decimals`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictInt, model_validator

from contextrot.checks.base import Check, Facts, fail, passed, register
from contextrot.checks.counting import COUNTERS
from contextrot.checks.decimal_places import integer_results, numbers_of
from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict

Number = Annotated[StrictInt, Field(ge=0)]


@register
class Count(Check):
    """The reply has so many words, sentences, bullets, lines, paragraphs or characters.

    Words hold a letter or digit (list markers are none); lines are those that are not blank; bullets are list items
    with `-`, `*`, `+` or `•` outside code, at any depth; paragraphs are separated by blank lines, headings and rules
    are none; characters are what a reader sees as one, without white space around the reply.
    """

    type_name = "count"
    type: Literal["count"] = "count"
    unit: Literal["words", "sentences", "bullets", "lines", "paragraphs", "characters"] = Field(
        description="What is counted."
    )
    at_least: Number | None = Field(default=None, description="The fewest allowed.")
    at_most: Number | None = Field(default=None, description="The most allowed.")
    exactly: Number | None = Field(default=None, description="The only number allowed; in place of the other two.")

    @model_validator(mode="after")
    def _can_pass_and_fail(self) -> Count:
        if self.at_least is None and self.at_most is None and self.exactly is None:
            raise ValueError("has no number to compare with; give `at_least`, `at_most` or `exactly`")
        if self.exactly is not None and (self.at_least is not None or self.at_most is not None):
            raise ValueError("has `exactly` beside `at_least` or `at_most`; keep one of them")
        low = self.at_least or 0
        if self.at_most is not None and low > self.at_most:
            raise ValueError(f"wants at least {low} and at most {self.at_most}, so that no reply can pass")
        # An empty reply has an outcome of its own, so that one line and one character are always there.
        always = 1 if self.unit in ("lines", "characters") else 0
        if self.exactly is None and self.at_most is None and low <= always:
            raise ValueError(f"passes on every reply: at least {low} {self.unit} are always there")
        if always and (self.exactly == 0 or self.at_most == 0):
            raise ValueError(f"can never pass: a reply has at least one of {self.unit}")
        return self

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` with the number found and the number allowed."""
        found = COUNTERS[self.unit](reply.text)
        low = self.at_least if self.exactly is None else self.exactly
        high = self.at_most if self.exactly is None else self.exactly
        if (low is None or found >= low) and (high is None or found <= high):
            return passed(f"{found} {self.unit}")
        return fail(f"the reply has {found} {self.unit}, {self._allowed()}", reply.text)

    def _allowed(self) -> str:
        if self.exactly is not None:
            return f"not {self.exactly}"
        parts = [
            f"{words} {number}"
            for words, number in (("at least", self.at_least), ("at most", self.at_most))
            if number is not None
        ]
        return f"where {' and '.join(parts)} are allowed"


@register
class Case(Check):
    """Every letter of the reply that has a case is in upper or in lower case.

    Digits, signs and scripts without case do not matter; a reply without any cased letter is `not_exercised`.
    """

    type_name = "case"
    type: Literal["case"] = "case"
    is_: Literal["upper", "lower"] = Field(alias="is", description="The case of every letter.")

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` with the first word that is not in the case."""
        text = reply.text
        wanted = text.upper() if self.is_ == "upper" else text.lower()
        if text.upper() == text.lower():
            return Verdict(
                Outcome.NOT_EXERCISED, "the reply has no letter that could be upper or lower case", text[:200]
            )
        if text == wanted:
            return passed(text)
        word = next(word for word in text.split() if word != (word.upper() if self.is_ == "upper" else word.lower()))
        return fail(f"`{word[:40]}` is not in {self.is_} case", word)


@register
class Decimals(Check):
    """Every number of the reply that is written with decimals has exactly so many of them.

    Not read as numbers with decimals: versions and addresses (1.2.3), names (v2.0, GPT-4.1), numbers of sections,
    figures and lists, dates, times, links. Thousands separators are not decimals; a decimal comma is (2,32 has two).
    Whole numbers count only in a reply without decimals, where they stand as a result (`= 4`, "is 4." at the end of a
    sentence, the whole reply): then they have none. With `places: 0` any whole number will do. A reply without such
    numbers is `not_exercised`.
    """

    type_name = "decimals"
    type: Literal["decimals"] = "decimals"
    places: Number = Field(le=100, description="Digits after the decimal point.")

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` with the first number that has another number of decimals."""
        numbers = numbers_of(reply.text)
        stated = [number for number in numbers if number.places]
        if not stated:
            stated = numbers if self.places == 0 else integer_results(reply.text, numbers)
        if not stated:
            return Verdict(Outcome.NOT_EXERCISED, "the reply states no number with decimals", reply.text[:200])
        wrong = next((number for number in stated if number.places != self.places), None)
        if wrong is None:
            return passed(stated[0].text)
        return fail(f"{wrong.text} has {wrong.places} decimal places, not {self.places}", wrong.text)
