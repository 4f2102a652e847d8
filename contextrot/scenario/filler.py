"""Generators of ordinary work by name: the turns between a rule and the probe that asks whether it still holds.

A text is a function of (kind, key, turn): the same key gives the same session, whatever its length. To add a kind: a
`Kind` in `filler_texts.py` and a line in `KINDS`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import count

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
    rng = random.Random(f"{kind}:{key}:{index}")
    # The first template that leaves room: long combinations of words do not fit the smallest sizes with every one.
    texts = [material.openings[k].format(*words) for k in _walk(rng, len(material.openings))]
    opening = next((text for text in texts if estimate(text) <= tokens), None) or min(texts, key=estimate)
    reply = rng.choice(material.replies).format(*words)
    return _fill(opening, material, rng, tokens), f"{_sentence(reply)} {rng.choice(material.reply_ends)}"


def _words(material: Kind, key: str, index: int) -> tuple[str, ...]:
    """One word from every slot. Steps through all combinations in a keyed order, so none comes twice before all did."""
    total = math.prod(len(slot) for slot in material.slots)
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


def _walk(rng: random.Random, size: int) -> Iterator[int]:
    """Every index below `size` once, in an order drawn with two numbers instead of a whole shuffle."""
    start = int(rng.random() * size)
    stride = next(step for step in (int(rng.random() * size) for _ in count()) if math.gcd(step, size) == 1)
    return ((start + k * stride) % size for k in range(size))


def _fill(opening: str, material: Kind, rng: random.Random, tokens: int) -> str:
    """The opening and details up to `tokens`, ended by the closer that comes nearest to what is left."""
    parts = [_sentence(opening)]
    left = tokens - estimate(parts[0])
    details, closers = _sized(material.details), _sized(material.closers)
    longest = closers[-1][0]
    deck = _walk(rng, len(details))
    while left > longest:
        drawn = next(deck, None)
        if drawn is None:
            # A long turn goes on to another matter rather than say the same things twice in a row.
            deck = _walk(rng, len(details))
            words = [rng.choice(slot) for slot in material.slots]
            size, text = _measured("\n\n" + _sentence(rng.choice(material.openings).format(*words)))
        else:
            size, text = details[drawn]
        if size <= left:
            parts.append(text)
            left -= size
    closer = min(closers, key=lambda sized: abs(sized[0] - left))
    if abs(closer[0] - left) < left:
        parts.append(closer[1])
    return " ".join(parts).replace(" \n", "\n")


def _measured(text: str) -> tuple[int, str]:
    return estimate(text), text


@cache
def _sized(texts: tuple[str, ...]) -> list[tuple[int, str]]:
    return sorted(map(_measured, texts))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
