"""What a kind of filler is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """The material of one kind of filler.

    `topic` says what the work is about: fillers of one topic are related. `openings` begin a turn and hold every slot
    once (`{0}`, `{1}` … stand for a word of the list with that position in `slots`), so that the walk over their
    combinations never repeats within a session. `details` fill the turn up to its size; `closers` bring it to the
    token; `replies` are what a scripted assistant answers, with `reply_ends` to vary them.

    `pastes` are blocks that a person pastes below the opening when there is room (a diff, log lines). They are written
    with the slots of `outputs.style`; `<the_subject>` is the first word of the opening as an identifier.

    The sizes of `slots` have no divisor in common, so that every slot can step in every turn and a combination still
    comes back only after all the others. `first_edition` marks the kinds that recorded runs replay: they keep their
    older walk, in which one slot may stay for some turns, and their older choice of closers.
    """

    topic: str
    slots: tuple[tuple[str, ...], ...]
    openings: tuple[str, ...]
    details: tuple[str, ...]
    closers: tuple[str, ...]
    replies: tuple[str, ...]
    reply_ends: tuple[str, ...]
    pastes: tuple[str, ...] = ()
    first_edition: bool = False
