"""Numbers drawn from digests of a name: the same name gives the same draws on every machine and Python version."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b


class Draws:
    """A stream of draws. To seed a `random.Random` costs more than the ten draws that a filler turn needs."""

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
