"""Generators of ordinary work by name: the turns between a rule and the probe that asks whether it still holds.

A text is a function of (kind, key, turn): the same key gives the same session, whatever its length. To add a kind: a
file in `fillers/` and a line in its `KINDS`.
"""

from __future__ import annotations

import math
import random
from functools import cache, lru_cache
from hashlib import blake2b

from contextrot.scenario.draws import Draws
from contextrot.scenario.fillers import KINDS
from contextrot.scenario.fillers.base import Kind
from contextrot.scenario.outputs.style import Scene, render
from contextrot.tokens import estimate

__all__ = ["DEFAULT_TOKENS", "KINDS", "MIN_TOKENS", "generate", "kinds"]

#: Tokens of a generated user message when the scenario does not say.
DEFAULT_TOKENS = 60
#: The shortest message that still reads like a sentence of work.
MIN_TOKENS = 30

#: After so many details about a paste, a long turn goes on to the next matter.
_DETAILS_OF_A_PASTE = 5
_ROOM_FOR_A_PASTE = 24
_ROOM_FOR_A_CLOSER = 4
_MILLISECONDS_A_TURN = 187_000


def kinds() -> tuple[str, ...]:
    """Names of the generators."""
    return tuple(KINDS)


def generate(kind: str, key: str, index: int, tokens: int = DEFAULT_TOKENS) -> tuple[str, str]:
    """The `index`-th filler turn of a session: (user text, scripted reply).

    The user text has `tokens` estimated tokens within ±10 %. `key` names the session (scenario, seed, repeat); turns of
    one session differ from each other. No text holds a digit, but for what the kind `incidents` pastes.
    """
    material = KINDS[kind]
    words = _words(material, key, index)
    draws = Draws(f"{kind}:{key}:{index}")
    opening = _opening(material, words, draws, tokens)
    reply = draws.one_of(material.replies).format(*words)
    scene = _scene(words, draws, key, index) if material.pastes else None
    return _fill(opening, material, draws, tokens, scene), f"{_sentence(reply)} {draws.one_of(material.reply_ends)}"


def _words(material: Kind, key: str, index: int) -> tuple[str, ...]:
    """One word from every slot. Steps through all combinations in a keyed order, so none comes twice before all did."""
    if not material.first_edition:
        return tuple(
            slot[(start + index * stride) % len(slot)]
            for slot, (start, stride) in zip(material.slots, _steps(material.slots, key), strict=True)
        )
    total = math.prod(map(len, material.slots))
    start, stride = _order(total, key)
    position = (start + index * stride) % total
    words = []
    for slot in material.slots:
        position, chosen = divmod(position, len(slot))
        words.append(slot[chosen])
    return tuple(words)


@lru_cache(maxsize=4096)
def _steps(slots: tuple[tuple[str, ...], ...], key: str) -> tuple[tuple[int, int], ...]:
    """For every slot where a session starts and by how much it steps, prime to the size of the slot."""
    rng = random.Random(key)
    sizes = [len(slot) for slot in slots]
    return tuple(
        (rng.randrange(size), rng.choice([step for step in range(2, size - 1) if math.gcd(step, size) == 1]))
        for size in sizes
    )


@lru_cache(maxsize=4096)
def _order(total: int, key: str) -> tuple[int, int]:
    """Where a session starts among all combinations, and the step (prime to their number) that visits every one."""
    rng = random.Random(key)
    start = rng.randrange(total)
    stride = next(step for step in iter(lambda: rng.randrange(total // 3, total), None) if math.gcd(step, total) == 1)
    return start, stride


def _opening(material: Kind, words: tuple[str, ...], draws: Draws, tokens: int) -> tuple[int, str]:
    """The first opening drawn that leaves room, else the shortest: long words do not fit small sizes with every one."""
    tried = []
    for drawn in draws.walk(len(material.openings)):
        opening = _measured(_sentence(material.openings[drawn].format(*words)))
        if opening[0] <= tokens:
            return opening
        tried.append(opening)
    return min(tried)


def _fill(opening: tuple[int, str], material: Kind, draws: Draws, tokens: int, scene: Scene | None) -> str:
    """The opening and details up to `tokens`, ended by the closer that comes nearest to what is left."""
    size, text = opening
    parts, left, said = [text], tokens - size, 0
    details, longest = _sized(material.details), _sized(material.closers)[-1][0]
    deck = draws.walk(len(details))
    left -= _paste(parts, material, scene, left)
    while left > longest:
        drawn = next(deck, None)
        if drawn is None or (scene is not None and said >= _DETAILS_OF_A_PASTE):
            # A long turn goes on to another matter rather than say the same things twice in a row.
            if drawn is None:
                deck = draws.walk(len(details))
            said = 0
            template = draws.one_of(material.openings)
            words = tuple(map(draws.one_of, material.slots))
            size, text = _measured("\n\n" + _sentence(template.format(*words)))
            if size <= left:
                if scene is not None:
                    scene.kept["the_subject"] = _identifier(words[0])
                parts.append(text)
                left -= size
                left -= _paste(parts, material, scene, left)
            continue
        size, text = details[drawn]
        if size <= left:
            parts.append(text)
            left, said = left - size, said + 1
    closer = _closer(material.closers, left)
    if closer is not None and not material.first_edition:
        closer = draws.one_of(_closers_about(material.closers, left, tokens // 30))
    if closer is not None:
        parts.append(closer)
    return " ".join(parts).replace(" \n", "\n").replace("\n\n ", "\n\n")


def _scene(words: tuple[str, ...], draws: Draws, key: str, index: int) -> Scene:
    """Where the pastes of a turn come from: the clock of a session goes on from turn to turn."""
    start = blake2b(key.encode(), digest_size=4).digest()
    clock = (int.from_bytes(start, "big") + index * _MILLISECONDS_A_TURN) % 86_400_000
    return Scene(draws, clock, {"the_subject": _identifier(words[0])}, 0, {})


def _identifier(words: str) -> str:
    """`the image proxy` as a program would call it: `image_proxy`."""
    return words.removeprefix("the ").replace(" ", "_")


def _paste(parts: list[str], material: Kind, scene: Scene | None, left: int) -> int:
    """Append the first paste drawn that leaves room for a closer; its size, 0 when there is none."""
    if scene is None or left < _ROOM_FOR_A_PASTE:
        return 0
    for drawn in scene.draws.walk(len(material.pastes)):
        scene.piece.clear()
        size, text = _measured(render(material.pastes[drawn], scene))
        if size <= left - _ROOM_FOR_A_CLOSER:
            parts.append(f"\n\n{text}\n\n")
            return size
    return 0


@lru_cache(maxsize=4096)
def _closer(closers: tuple[str, ...], left: int) -> str | None:
    """The closer whose size is nearest to the tokens left; None when no closer at all is nearer."""
    size, text = min(_sized(closers), key=lambda sized: abs(sized[0] - left))
    return text if abs(size - left) < left else None


@lru_cache(maxsize=4096)
def _closers_about(closers: tuple[str, ...], left: int, off: int) -> tuple[str, ...]:
    """The closers whose size is at most `off` from the tokens left, or as near as the nearest one."""
    sized = _sized(closers)
    off = max(off, min(abs(size - left) for size, _ in sized))
    return tuple(text for size, text in sized if abs(size - left) <= off)


def _measured(text: str) -> tuple[int, str]:
    return estimate(text), text


@cache
def _sized(texts: tuple[str, ...]) -> list[tuple[int, str]]:
    return sorted(map(_measured, texts))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
