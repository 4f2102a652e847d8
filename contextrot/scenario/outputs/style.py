"""How one tool prints: templates with slots, and the scene that fills them.

A slot is written `<name>`, or `<name:12>` padded to a column of 12 (`<name:12r>` to its right edge). `<the_name>` is
drawn once and then stays, until the next interlude; `<same_name>` is one word in one piece. What slots hold is in
`words.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from contextrot.scenario.draws import Draws
from contextrot.scenario.outputs.words import COMPOUNDS, PLACES, SHAPES, WORDS

_SLOT = re.compile(r"<([a-z_]+\d*)(?::(\d+)(r?))?>")


@dataclass(slots=True)
class Scene:
    """Where one output plays: its draws, its clock (milliseconds of a day), the words that stay in a part or a piece,
    the last number of a record, and in a diff the line of the old file and how far the new one is ahead.
    """

    draws: Draws
    milliseconds: int
    kept: dict[str, str]
    serial: int
    piece: dict[str, str]
    line: int = 0
    shift: int = 0

    @classmethod
    def drawn(cls, draws: Draws) -> Scene:
        """A scene of its own for a stream of draws."""
        return cls(draws, draws.below(57_600_000), {}, 1000 + draws.below(80_000), {})

    def place(self) -> tuple[dict[str, str], int, int, int, int]:
        """Where the scene stands, to come back to when a piece is not printed after all; draws are not taken back."""
        return self.kept, self.milliseconds, self.serial, self.line, self.shift

    def go_back(self, place: tuple[dict[str, str], int, int, int, int]) -> None:
        """Stand again where `place` was taken."""
        self.kept, self.milliseconds, self.serial, self.line, self.shift = place

    def word(self, name: str) -> str:
        """What stands in a slot now."""
        if name.startswith("the_"):
            if name not in self.kept:
                self.kept[name] = self.word(name[4:])
            return self.kept[name]
        if name.startswith("same_"):
            if name not in self.piece:
                self.piece[name] = self.word(name[5:])
            return self.piece[name]
        if name in WORDS:
            return self.draws.one_of(WORDS[name])
        if name in SHAPES:
            return _shaped(SHAPES[name], self.draws)
        if name in PLACES:
            return self._point_in_time(name)
        if name in COMPOUNDS:
            return render(COMPOUNDS[name], self)
        if name != "serial":
            raise KeyError(f"no words for the slot <{name}>")
        self.serial += 1 + self.draws.below(7)
        return str(self.serial)

    def _point_in_time(self, name: str) -> str:
        """A point in time: every one is a little later than the one before."""
        self.milliseconds = (self.milliseconds + 3 + self.draws.below(4800)) % 86_400_000
        seconds, thousandths = divmod(self.milliseconds, 1000)
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(minutes, 60)
        return PLACES[name].format(h=hour, m=minute, s=second, ms=thousandths, seconds=seconds)

    def next_part(self) -> None:
        """Forget the words that stayed, but for the day: a new file, metric or failure begins."""
        self.kept = {name: word for name, word in self.kept.items() if name.startswith("the_day")}
        self.line = self.shift = 0


def _shaped(shape: str, draws: Draws) -> str:
    """A text of a shape: every sign of `_LETTERS` is drawn, all others stand as they are."""
    made = []
    for sign in shape:
        letters = _LETTERS.get(sign)
        made.append(sign if letters is None else letters[draws.below(len(letters))])
    return "".join(made)


_LETTERS = {
    "#": "0123456789",
    "%": "123456789",
    "'": "012345",
    "~": "0123456789abcdef",
    "!": "abcdef",
    "^": "bcdfghjklmnpqrstvwxz",
    "*": "bcdfghjklmnpqrstvwxz2456789",
}


def _as_printed(text: str, scene: Scene) -> str:
    return text


@dataclass(frozen=True)
class Style:
    """One look: `head` once, `entries` drawn one after the other, `foot` with the slot `<pad>` that brings it to size.

    `joint` stands between entries, `remark_joint` between the remarks that take the place of `<pad>`. After about `run`
    entries an `interlude` opens a new part. `finish` sees every piece before it is printed (line numbers of a diff).
    `least` is the smallest number of tokens the style looks right in.
    """

    head: str
    entries: tuple[str, ...]
    foot: str
    joint: str = "\n"
    remark_joint: str = "; "
    interlude: str = ""
    run: int = 0
    least: int = 60
    finish: Callable[[str, Scene], str] = _as_printed

    def drawn(self, template: str, scene: Scene) -> str:
        """A piece with its slots filled, not yet finished; `<pad>` stays for whoever knows what is left."""
        scene.piece.clear()
        return render(template, scene)

    def show(self, template: str, scene: Scene) -> str:
        """A piece as it is printed."""
        return self.finish(self.drawn(template, scene), scene)


def render(template: str, scene: Scene) -> str:
    """A template with its slots filled; `<pad>` stays for whoever knows what is left."""
    literal, slots = _parsed(template)
    made = [literal]
    for name, width, right, after in slots:
        word = "<pad>" if name == "pad" else scene.word(name)
        made.append(word.rjust(width) if right else word.ljust(width))
        made.append(after)
    return "".join(made)


@cache
def _parsed(template: str) -> tuple[str, tuple[tuple[str, int, bool, str], ...]]:
    """The text before the first slot; every slot as (name, width, to the right, text after it)."""
    first, *rest = _SLOT.split(template)
    parts = [rest[k : k + 4] for k in range(0, len(rest), 4)]
    return first, tuple((name, int(width or 0), right == "r", after) for name, width, right, after in parts)
