"""Generators of ordinary work by name: the turns between a rule and the probe that asks whether it still holds.

A text is a function of (kind, key, turn): the same key gives the same session, whatever its length. To add a kind: a
`Kind` in `filler_texts.py` and a line in `KINDS`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import blake2b

from contextrot.scenario.filler_texts import NOTES, SMALL_TALK, TICKETS, Kind
from contextrot.tokens import estimate

#: Tokens of a generated user message when the scenario does not say.
DEFAULT_TOKENS = 60
#: The shortest message that still reads like a sentence of work.
MIN_TOKENS = 30

KINDS: dict[str, Kind] = {"tickets": TICKETS, "notes": NOTES, "small_talk": SMALL_TALK}


def kinds() -> tuple[str, ...]:
    """Names of the generators."""
    return tuple(KINDS)


def generate(kind: str, key: str, index: int, tokens: int = DEFAULT_TOKENS) -> tuple[str, str]:
    """The `index`-th filler turn of a session: (user text, scripted reply).

    The user text has `tokens` estimated tokens within ±10 %. `key` names the session (scenario, seed, repeat); turns of
    one session differ from each other. No text holds a digit.
    """
    material = KINDS[kind]
    words = _words(material, key, index)
    draws = _Draws(f"{kind}:{key}:{index}")
    opening = _opening(material, words, draws, tokens)
    reply = draws.one_of(material.replies).format(*words)
    return _fill(opening, material, draws, tokens), f"{_sentence(reply)} {draws.one_of(material.reply_ends)}"


class _Draws:
    """Numbers drawn from digests of a name: to seed a `random.Random` costs more than the ten that a turn needs."""

    def __init__(self, name: str) -> None:
        self._seed = name.encode()
        self._pool = 0

    def below(self, size: int) -> int:
        """A number from 0 to `size - 1`."""
        if self._pool < 1 << 32:
            self._seed = blake2b(self._seed).digest()
            self._pool = int.from_bytes(self._seed, "big")
        self._pool, drawn = divmod(self._pool, size)
        return drawn

    def one_of(self, texts: tuple[str, ...]) -> str:
        """One of the texts."""
        return texts[self.below(len(texts))]

    def walk(self, size: int) -> Iterator[int]:
        """Every index below `size` once, in an order drawn with two numbers instead of a whole shuffle."""
        start, strides = self.below(size), _strides(size)
        stride = strides[self.below(len(strides))]
        return ((start + k * stride) % size for k in range(size))


@cache
def _strides(size: int) -> list[int]:
    """The steps that visit every index below `size`: those prime to it."""
    return [step for step in range(1, size + 1) if math.gcd(step, size) == 1]


def _words(material: Kind, key: str, index: int) -> tuple[str, ...]:
    """One word from every slot. Steps through all combinations in a keyed order, so none comes twice before all did."""
    total = math.prod(map(len, material.slots))
    start, stride = _order(total, key)
    position = (start + index * stride) % total
    words = []
    for slot in material.slots:
        position, chosen = divmod(position, len(slot))
        words.append(slot[chosen])
    return tuple(words)


@lru_cache(maxsize=4096)
def _order(total: int, key: str) -> tuple[int, int]:
    """Where a session starts among all combinations, and the step (prime to their number) that visits every one."""
    rng = random.Random(key)
    start = rng.randrange(total)
    stride = next(step for step in iter(lambda: rng.randrange(total // 3, total), None) if math.gcd(step, total) == 1)
    return start, stride


def _opening(material: Kind, words: tuple[str, ...], draws: _Draws, tokens: int) -> tuple[int, str]:
    """The first opening drawn that leaves room, else the shortest: long words do not fit small sizes with every one."""
    tried = []
    for drawn in draws.walk(len(material.openings)):
        opening = _measured(_sentence(material.openings[drawn].format(*words)))
        if opening[0] <= tokens:
            return opening
        tried.append(opening)
    return min(tried)


def _fill(opening: tuple[int, str], material: Kind, draws: _Draws, tokens: int) -> str:
    """The opening and details up to `tokens`, ended by the closer that comes nearest to what is left."""
    parts = [opening[1]]
    left = tokens - opening[0]
    details, longest = _sized(material.details), _sized(material.closers)[-1][0]
    deck = draws.walk(len(details))
    while left > longest:
        drawn = next(deck, None)
        if drawn is None:
            # A long turn goes on to another matter rather than say the same things twice in a row.
            deck = draws.walk(len(details))
            words = map(draws.one_of, material.slots)
            size, text = _measured("\n\n" + _sentence(draws.one_of(material.openings).format(*words)))
        else:
            size, text = details[drawn]
        if size <= left:
            parts.append(text)
            left -= size
    closer = _closer(material.closers, left)
    if closer is not None:
        parts.append(closer)
    return " ".join(parts).replace(" \n", "\n")


@lru_cache(maxsize=4096)
def _closer(closers: tuple[str, ...], left: int) -> str | None:
    """The closer whose size is nearest to the tokens left; None when no closer at all is nearer."""
    size, text = min(_sized(closers), key=lambda sized: abs(sized[0] - left))
    return text if abs(size - left) < left else None


def _measured(text: str) -> tuple[int, str]:
    return estimate(text), text


@cache
def _sized(texts: tuple[str, ...]) -> list[tuple[int, str]]:
    return sorted(map(_measured, texts))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
