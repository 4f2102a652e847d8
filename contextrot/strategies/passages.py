"""What similarity is measured on: the log's texts in passages, each text once, kept up to date as messages arrive."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from contextrot.log import Log
from contextrot.messages import Message
from contextrot.models.embedders import Corpus
from contextrot.strategies.base import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Longest passage in characters. all-MiniLM-L6-v2 reads 256 tokens, about so much English, and ignores the rest; and
#: the mean vector of a long text resembles nothing that is said in it.
LONGEST = 1000


def passages(text: str) -> Iterator[str]:
    """The text in pieces of at most `LONGEST` characters, cut between words where there is a blank; none when blank."""
    start = 0
    while len(text) - start > LONGEST:
        end = start + LONGEST
        blank = max(text.rfind(" ", start + LONGEST // 2, end), text.rfind("\n", start + LONGEST // 2, end))
        end = blank if blank >= 0 else end
        if piece := text[start:end].strip():
            yield piece
        start = end
    # A short text is left as it is, so that log and embedder hold one and the same string.
    piece = text[start:].strip() if start else text
    if piece.strip():
        yield piece


def spoken(message: Message) -> str:
    """The text of a message, the tools it calls and their arguments included."""
    if not message.tool_calls:
        return message.text
    return "\n".join((message.text, *(f"{call.name} {call.arguments}" for call in message.tool_calls))).strip()


class Passages:
    """The passages of a log but of its system messages, numbered in the order they were first said.

    A text that is said again keeps its number, and belongs to the newest unit that says it.
    """

    def __init__(self) -> None:
        self.texts = Corpus()
        self._owner: list[int] = []
        self._number: dict[str, int] = {}
        self._of_message: list[tuple[int, ...]] = []
        self._tagged: dict[frozenset[str], array[int]] = {}

    def extend(self, log: Log) -> None:
        """Take in the messages that are new."""
        for index in range(len(self._of_message), len(log)):
            entry = log[index]
            texts = () if entry.message.role == "system" else tuple(passages(spoken(entry.message)))
            numbers = tuple(self._add(text, log.unit_of(index)) for text in texts)
            self._of_message.append(numbers)
            if entry.tags:
                self._tagged.setdefault(entry.tags, array("q")).extend(numbers)

    def copy(self) -> Passages:
        """For a branch of the log."""
        branch = Passages()
        branch.texts = Corpus(self.texts)
        branch._owner, branch._number = self._owner.copy(), self._number.copy()
        branch._of_message = self._of_message.copy()
        branch._tagged = {tags: numbers[:] for tags, numbers in self._tagged.items()}
        return branch

    def _add(self, text: str, unit: int) -> int:
        number = self._number.setdefault(text, len(self._owner))
        if number == len(self._owner):
            self.texts.append(text)
            self._owner.append(unit)
        self._owner[number] = unit
        return number

    def owner(self, number: int) -> int:
        """The newest unit that says passage `number`."""
        return self._owner[number]

    def said_by(self, log: Log, units: Collection[int]) -> list[int]:
        """Numbers of all passages of these units."""
        return [number for unit in units for index in log.units[unit].indices for number in self._of_message[index]]

    def tagged(self, wanted: Collection[str]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Passages of messages that share tags with `wanted`, as ``(how many tags, numbers)``."""
        import numpy as np

        for tags, numbers in self._tagged.items():
            shared = len(tags.intersection(wanted))
            if shared and numbers:
                yield shared, np.array(numbers, np.int64)


async def similarities(embedder: Embedder, queries: Sequence[str], texts: Corpus) -> NDArray[np.float32]:
    """The cosine of each text to the query nearest to it. Raises `ModelError`.

    An embedder that can do it itself (`SessionEmbedder`) is not asked for all vectors again at each call.
    """
    import numpy as np

    own = getattr(embedder, "similarities", None)
    if own is not None:
        found: NDArray[np.float32] = await own(queries, texts)
        return found
    vectors = np.asarray(await embedder.embed([*queries, *texts]), np.float32)
    best: NDArray[np.float32] = (vectors[len(queries) :] @ vectors[: len(queries)].T).max(axis=1, initial=-1.0)
    return best


def best_first(scores: NDArray[np.float32], first: int) -> Iterator[int]:
    """Positions from the highest score down, of equal ones the later first, those of minus infinity left out.

    Only as much is sorted as is asked for: `first` positions, then four times as many, and so on.
    """
    import numpy as np

    given, size, total = 0, first, len(scores)
    while given < total:
        size = min(size, total)
        threshold = np.partition(scores, total - size)[total - size]
        candidates = np.flatnonzero(scores >= threshold)
        order = candidates[np.lexsort((candidates, scores[candidates]))[::-1]]
        for position in order[given:].tolist():
            if scores[position] == -np.inf:
                return
            yield position
        given, size = len(order), size * 4
