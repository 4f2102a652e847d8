"""Checks on the words of a reply: `keyword`, `starts_with`, `ends_with` and `regex`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

import regex
from pydantic import BeforeValidator, Field, StrictBool, StrictStr, field_validator, model_validator

from contextrot.checks.base import Check, Facts, RefusalOk, fail, passed, register
from contextrot.checks.normal import page, plain
from contextrot.messages import Reply
from contextrot.outcomes import Outcome, Verdict

#: seconds a user's pattern may search one reply
REGEX_SECONDS = 1.0
#: scripts that put no space between words: a word of theirs has no edge to look for
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{_UNSPACED}]]"


def _listed(raw: Any) -> Any:
    return (raw,) if isinstance(raw, str) else raw


def _no_blanks(texts: tuple[str, ...]) -> tuple[str, ...]:
    if not texts:
        raise ValueError("is an empty list; name at least one text")
    if any(not text.strip() for text in texts):
        raise ValueError("has an empty text, which stands in every reply")
    return texts


Texts = Annotated[tuple[StrictStr, ...], BeforeValidator(_listed, json_schema_input_type=str | list[str])]


@register
class Keyword(Check):
    """Words or phrases stand in the reply, or do not.

    Whole words only, in any case (`war` is not in "forward"); emphasis, line breaks and kinds of quotes and hyphens do
    not matter. A number is not found within a longer number. With `none` alone a reply that declines the request fails,
    unless `refusal_ok` says that declining keeps the rule.
    """

    type_name = "keyword"
    type: Literal["keyword"] = "keyword"
    any: Texts | None = Field(default=None, description="At least one of these must stand in the reply.")
    all: Texts | None = Field(default=None, description="Each of these must stand in the reply.")
    none: Texts | None = Field(default=None, description="None of these may stand in the reply.")
    case_sensitive: StrictBool = Field(default=False, description="Whether capitals matter.")
    refusal_ok: RefusalOk = False

    @field_validator("any", "all", "none")
    @classmethod
    def _named(cls, texts: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if texts is None else _no_blanks(texts)

    @model_validator(mode="after")
    def _can_pass_and_fail(self) -> Keyword:
        if not (self.any or self.all or self.none):
            raise ValueError("names no keyword; give `any`, `all` or `none`")
        forbidden = {self._folded(word) for word in self.none or ()}
        both = next((word for word in self.all or () if self._folded(word) in forbidden), None)
        if both is not None or (self.any and all(self._folded(word) in forbidden for word in self.any)):
            raise ValueError(f"wants and forbids `{both or self.any[0]}`, so that no reply can pass")  # type: ignore[index]
        return self

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` naming the words that are missing, or the forbidden ones that are there."""
        forbidden = [word for word in self.none or () if self._stands_in(word, reply.text)]
        if forbidden:
            return fail(f"the reply has {_named_words(forbidden)}, which it must not", forbidden[0])
        missing = [word for word in self.all or () if not self._stands_in(word, reply.text)]
        if missing:
            return fail(f"{_named_words(missing)} missing from the reply", reply.text)
        if self.any:
            found = next((word for word in self.any if self._stands_in(word, reply.text)), None)
            if found is None:
                return fail(f"the reply has none of {_named_words(self.any)}", reply.text)
            return passed(found)
        return passed(", ".join(self.all or ()))

    @property
    def kept_by_silence(self) -> bool:
        """True with `none` alone."""
        return not (self.any or self.all)

    def _folded(self, word: str) -> str:
        return word.strip() if self.case_sensitive else word.strip().casefold()

    def _stands_in(self, word: str, text: str) -> bool:
        if not any_letter(word):
            # Signs (an em dash, `**`) are looked for as they are: the plain form would make them another sign.
            return word.strip() in text
        return bool(
            _whole_words(word, self.case_sensitive).search(plain(text) if self.case_sensitive else page(text).folded)
        )


def any_letter(text: str) -> bool:
    """True when the text has a letter or a digit."""
    return any(char.isalnum() for char in text)


@lru_cache(maxsize=512)
def _whole_words(phrase: str, case_sensitive: bool) -> Any:
    """A pattern for the phrase as whole words, any white space between them, on a text in plain form."""
    phrase = plain(phrase) if case_sensitive else page(phrase).folded
    before = after = ""
    if regex.match(_WORD, phrase[0], regex.V1):
        before = rf"(?<!{_WORD})" + (r"(?<!\d[.,])" if phrase[0].isdigit() else "")
    # Korean joins particles to a word's end.
    if regex.match(_WORD, phrase[-1], regex.V1) and not regex.match(r"\p{Hangul}", phrase[-1]):
        after = rf"(?!{_WORD})" + (r"(?![.,]\d)" if phrase[-1].isdigit() else "")
    body = r"\s+".join(regex.escape(part, literal_spaces=True) for part in phrase.split())
    return regex.compile(before + body + after, regex.V1)


def _named_words(words: list[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words[:5]) + (" …" if len(words) > 5 else "")


class _Edge(Check):
    """What `starts_with` and `ends_with` share."""

    text: Texts = Field(description="The text, or several of which one is enough.")
    case_sensitive: StrictBool = Field(default=True, description="Whether capitals matter.")

    @field_validator("text")
    @classmethod
    def _named(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        return _no_blanks(texts)

    def _forms(self, reply: str, part: str) -> Iterator[tuple[str, str]]:
        """Reply and text as they stand, then in plain form (no emphasis, one kind of quotes); no white space around."""
        for form in (str, plain):
            whole, wanted = " ".join(form(reply).split()), " ".join(form(part).split())
            yield (whole, wanted) if self.case_sensitive else (whole.casefold(), wanted.casefold())


@register
class StartsWith(_Edge):
    """The reply begins with a text.

    White space and emphasis around the reply do not matter; a word must be whole ("Yes" does not begin "Yesterday").
    """

    type_name = "starts_with"
    type: Literal["starts_with"] = "starts_with"

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` with how the reply begins."""
        for text in self.text:
            for whole, part in self._forms(reply.text, text):
                if part and whole.startswith(part) and _edge(part[-1], whole[len(part) : len(part) + 1]):
                    return passed(text)
        return fail(f"the reply does not begin with {' or '.join(map(repr, self.text))}", reply.text.strip()[:80])


@register
class EndsWith(_Edge):
    """The reply ends with a text.

    White space and emphasis around the reply do not matter; a word must be whole ("over" does not end "turnover").
    """

    type_name = "ends_with"
    type: Literal["ends_with"] = "ends_with"

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` with how the reply ends."""
        for text in self.text:
            for whole, part in self._forms(reply.text, text):
                before = whole[: -len(part)][-1:] if part else ""
                if part and whole.endswith(part) and _edge(part[0], before):
                    return passed(text)
        return fail(f"the reply does not end with {' or '.join(map(repr, self.text))}", reply.text.strip()[-80:])


def _edge(inside: str, outside: str) -> bool:
    """True when a word ends between two neighbouring characters: they are not both letters, nor both digits."""
    return not ((inside.isalpha() and outside.isalpha()) or (inside.isdigit() and outside.isdigit()))


@register
class Regex(Check):
    """A pattern is found in the reply, or is not (module `regex`, searched anywhere, white space around the reply cut).

    A search that takes longer than a second ends as `timeout`. With `not_matches` alone a reply that declines the
    request fails, unless `refusal_ok` says that declining keeps the rule.
    """

    type_name = "regex"
    type: Literal["regex"] = "regex"
    matches: StrictStr | None = Field(default=None, description="This pattern must be found in the reply.")
    not_matches: StrictStr | None = Field(default=None, description="This pattern must not be found in the reply.")
    refusal_ok: RefusalOk = False

    @field_validator("matches", "not_matches")
    @classmethod
    def _is_pattern(cls, pattern: str | None) -> str | None:
        if pattern is None:
            return None
        try:
            regex.compile(pattern)
        except regex.error as error:
            raise ValueError(f"is no regular expression: {error}") from error
        if _always_found(pattern):
            raise ValueError(f"{pattern!r} is found in every reply, so that the check tests nothing")
        return pattern

    @model_validator(mode="after")
    def _has_pattern(self) -> Regex:
        if self.matches is None and self.not_matches is None:
            raise ValueError("has no pattern; give `matches` or `not_matches`")
        return self

    @property
    def kept_by_silence(self) -> bool:
        """True with `not_matches` alone."""
        return self.matches is None

    @cached_property
    def _patterns(self) -> tuple[Any, Any]:
        pair = (self.matches, self.not_matches)
        first, second = (None if pattern is None else regex.compile(pattern) for pattern in pair)
        return first, second

    def grade(self, reply: Reply, facts: Facts) -> Verdict:
        """`fail` with the pattern and what it found; `timeout` when it cannot tell within its time."""
        wanted, unwanted = self._patterns
        text, evidence = reply.text.strip(), reply.text
        try:
            if unwanted is not None and (found := unwanted.search(text, timeout=REGEX_SECONDS)):
                return fail(f"the reply matches {self.not_matches!r:.80}, which it must not", found.group())
            if wanted is not None:
                found = wanted.search(text, timeout=REGEX_SECONDS)
                if not found:
                    return fail(f"the reply does not match {self.matches!r:.80}", text)
                evidence = found.group()
        except TimeoutError:
            return Verdict(
                Outcome.TIMEOUT, f"the pattern took longer than {REGEX_SECONDS:g} s on this reply", text[:200]
            )
        return passed(evidence)


def _always_found(pattern: str) -> bool:
    """True when the pattern is certain to be found anywhere: it takes the empty text and asks nothing of its place.

    One anchor at one end does not change that; whatever else may look around leaves the question open (False).
    """
    core = pattern.removeprefix("^") if pattern.startswith("^") else pattern.removesuffix("$")
    looks_around = regex.search(r"[$^]|\\[AZzbBGmMK]|\(\?[=!<(>]|\(\*", core)
    return not looks_around and bool(regex.fullmatch(core, ""))
