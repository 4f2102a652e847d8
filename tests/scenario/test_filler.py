"""Generated work: the size asked for, no turn twice, no digit that could pass for a fact."""

from __future__ import annotations

import re

import pytest

from contextrot.scenario.filler import MIN_TOKENS, generate, kinds
from contextrot.tokens import estimate


def test_the_promised_generators_exist() -> None:
    assert {"tickets", "notes", "small_talk"} <= set(kinds())


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("tokens", [MIN_TOKENS, 45, 60, 150, 700])
def test_sizes_are_within_ten_per_cent(kind: str, tokens: int) -> None:
    for index in range(60):
        user, _ = generate(kind, "k", index, tokens)
        assert 0.9 * tokens <= estimate(user) <= 1.1 * tokens


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("tokens", [MIN_TOKENS, 150])
def test_sixty_turns_all_differ_and_look_like_text(kind: str, tokens: int) -> None:
    for key in ("a", "b", "c"):
        turns = [generate(kind, key, index, tokens) for index in range(60)]
        assert len({user for user, _ in turns}) == 60
        assert len({reply for _, reply in turns}) == 60
        for text in (part for turn in turns for part in turn):
            assert not re.search(r"\d|[A-Z]{2}|[{}]|  ", text), text
            assert re.fullmatch(r"[A-Z].*[.?!]", text, flags=re.DOTALL), text


@pytest.mark.parametrize("kind", kinds())
def test_the_key_decides_the_session(kind: str) -> None:
    assert generate(kind, "a", 3) == generate(kind, "a", 3)
    assert [generate(kind, "a", i)[0] for i in range(5)] != [generate(kind, "b", i)[0] for i in range(5)]


def test_a_sentence_is_not_said_twice_in_one_ordinary_turn() -> None:
    for kind in kinds():
        for index in range(20):
            sentences = re.split(r"(?<=[.?!]) ", generate(kind, "a", index, 200)[0])
            assert len(set(sentences)) == len(sentences)
