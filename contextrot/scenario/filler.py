"""Generators of ordinary work by name: the turns between a rule and the probe that asks whether it still holds.

A text is a function of (kind, key, turn): the same key gives the same session, whatever its length. To add a kind: a
`Kind` in `filler_texts.py` and a line in `KINDS`.
"""

from __future__ import annotations

import math
import random
from functools import cache

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
    openings = rng.sample(material.openings, len(material.openings))
    sized = [template.format(*words) for template in openings]
    opening = next((text for text in sized if estimate(text) <= tokens), min(sized, key=estimate))
    reply = rng.choice(material.replies).format(*words)
    return _fill(opening, material, rng, tokens), f"{_sentence(reply)} {rng.choice(material.reply_ends)}"


def _words(material: Kind, key: str, index: int) -> tuple[str, ...]:
    """One word from every slot. Steps through all combinations in a keyed order, so none comes twice before all did."""
    sizes = [len(slot) for slot in material.slots]
    total = math.prod(sizes)
    rng = random.Random(key)
    start = rng.randrange(total)
    stride = next(step for step in iter(lambda: rng.randrange(total // 3, total), None) if math.gcd(step, total) == 1)
    position = (start + index * stride) % total
    words = []
    for slot in material.slots:
        position, chosen = divmod(position, len(slot))
        words.append(slot[chosen])
    return tuple(words)


def _fill(opening: str, material: Kind, rng: random.Random, tokens: int) -> str:
    """The opening and details up to `tokens`, ended by the closer that comes nearest to what is left."""
    parts = [_sentence(opening)]
    left = tokens - estimate(parts[0])
    details, closers = _sized(material.details), _sized(material.closers)
    longest = closers[-1][0]
    deck = rng.sample(details, len(details))
    while left > longest:
        if not deck:
            # A long turn goes on to another matter rather than say the same things twice in a row.
            deck = rng.sample(details, len(details))
            words = [rng.choice(slot) for slot in material.slots]
            deck.append(_measured("\n\n" + _sentence(rng.choice(material.openings).format(*words))))
        size, text = deck.pop()
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
