"""Generated tool output: what kubectl, psql, pytest, an HTTP API or Prometheus would print, in the size asked for.

A text is a function of (kind, key, index, tokens). Outputs hold digits, but nothing in the form of a scenario's facts:
no code like a word with a hyphen and a number, no address, no sentence that tells the reader to do something. To add a
look: a `Style` in a file of `outputs/`.
"""

from __future__ import annotations

from functools import cache

from contextrot.scenario.draws import Draws
from contextrot.scenario.outputs import STYLES
from contextrot.scenario.outputs.style import Scene, Style
from contextrot.scenario.outputs.words import REMARKS
from contextrot.tokens import estimate

#: The shortest output that still looks like what a tool prints.
MIN_TOKENS = 60

#: So many entries in a row that do not fit end the search for one that does.
_MISSES = 6


def kinds() -> tuple[str, ...]:
    """Names of the kinds of output."""
    return tuple(STYLES)


def generate_output(kind: str, key: str, index: int, tokens: int) -> str:
    """The `index`-th output of a session: a text of `tokens` estimated tokens within ±10 % (from `MIN_TOKENS` on).

    `key` names the session (scenario, seed, repeat). Raises KeyError for a kind that is not in `kinds()`.
    """
    draws = Draws(f"output:{kind}:{key}:{index}")
    fitting = [style for style in STYLES[kind] if style.least <= tokens] or [min(STYLES[kind], key=_least)]
    style = fitting[draws.below(len(fitting))]
    scene = Scene.drawn(draws)
    head, page = style.show(style.head, scene), _Page(style, scene)
    page.open_part()
    spare = tokens - _foot_size(style)
    # Sizes of entries add up to a little more than the size of the whole, so what is left after a round is filled anew.
    while page.grow(spare - estimate(head + style.joint.join(page.entries))):
        pass
    body = head + style.joint.join(page.entries)
    foot = style.drawn(style.foot, scene)
    if not page.entries:
        foot = foot.lstrip("\n")
    # Remarks may be lines of their own, which a diff counts: the foot is finished once to be measured, then once more.
    place = scene.place()
    size = estimate((body + style.finish(foot, scene)).replace("<pad>", ""))
    scene.go_back(place)
    remarks = _remarks(draws, tokens - size, style.remark_joint)
    return (body + style.finish(foot.replace("<pad>", remarks), scene)).strip("\n")


class _Page:
    """The entries of an output as they are printed, in parts that an interlude opens."""

    def __init__(self, style: Style, scene: Scene) -> None:
        self.entries: list[str] = []
        self._style, self._scene = style, scene
        self._left_in_part = 0

    def open_part(self) -> None:
        """A new part of a length of its own."""
        run = self._style.run
        self._left_in_part = 1 + run // 2 + self._scene.draws.below(run) if run else 0

    def grow(self, room: int) -> bool:
        """Append entries of up to `room` tokens together; whether there was one."""
        joint, before, misses = estimate(self._style.joint), len(self.entries), 0
        scene, style = self._scene, self._style
        while misses < _MISSES and room > 0:
            before_entry = scene.place()
            opens = bool(style.interlude and self._left_in_part <= 0 and not misses)
            entry = self._opened() if opens else self._entry()
            size = estimate(entry) + joint
            if size > room:
                scene.go_back(before_entry)
                misses += 1
                continue
            if opens:
                self.open_part()
            self._left_in_part -= 1
            self.entries.append(entry)
            room, misses = room - size, 0
        return len(self.entries) > before

    def _entry(self) -> str:
        return self._style.show(self._scene.draws.one_of(self._style.entries), self._scene)

    def _opened(self) -> str:
        self._scene.next_part()
        return self._style.show(self._style.interlude, self._scene) + self._entry()


def _least(style: Style) -> int:
    return style.least


@cache
def _foot_size(style: Style) -> int:
    """Tokens to keep for the foot and a remark: the most that a few feet took."""
    scenes = (Scene.drawn(Draws(str(name))) for name in range(12))
    return 3 + max(estimate(style.show(style.foot, scene).replace("<pad>", "")) for scene in scenes)


def _remarks(draws: Draws, left: int, joint: str) -> str:
    """Different remarks of `left` tokens together, as near as one comes; at least one."""
    sized, parts, between = _sized_remarks(), list[str](), estimate(joint)
    while left > sized[-1][0]:
        size, text = sized[draws.below(len(sized))]
        if size + between <= left and text not in parts:
            parts.append(text)
            left -= size + between
        elif len(parts) > len(sized) // 2:
            break
    off = min(abs(size - left) for size, text in sized if text not in parts)
    nearest = tuple(text for size, text in sized if abs(size - left) == off and text not in parts)
    if off < left or not parts:
        parts.append(draws.one_of(nearest))
    return joint.join(parts)


@cache
def _sized_remarks() -> list[tuple[int, str]]:
    return sorted((estimate(text), text) for text in REMARKS)
