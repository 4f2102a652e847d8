"""Which sentences of a transcript matter: rules, decisions, names, numbers. Plain scoring, the same every time.

The classic of extractive summarising (Edmundson 1969): sentences are scored by cue phrases, the best are taken and put
back into their order. Cues here are those of a working session: what the user rules, what was decided and why, exact
values. What is said again and again in the same words but for its numbers (tickets, log lines) counts less each time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

#: Labels of a transcript's parts, each on a line of its own.
_LABEL = re.compile(
    r"^\[(system|user|assistant|result of [^\n\]]+|\w+ calls [^\n\]]+|goes on|notes on what came before)\]$",
    re.MULTILINE,
)
_END = re.compile(r"(?<=[.!?])\s+(?=[^\sa-z])|\n+")
_BULLET = re.compile(r"^(?:[-*•]|\d{1,3}[.)])\s+")
_VALUE = re.compile(r"\b(?=\w*\d)[\w.:/%-]*\w|\b[A-Z]{2,}[A-Z0-9-]*\b")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w-]+")
_WORD = re.compile(r"[^\W\d_]{4,}")
_RULE = re.compile(
    r"\b(always|never|must|do not|don't|from now on|only|at all times|make sure|remember|for later|prefers?)\b", re.I
)
_DECISION = re.compile(
    r"\b(decided?|decision|agreed|chose|choose|we(?:'ll| will) (?:use|go|keep|take)|let's (?:use|go|keep|take)|"
    r"instead of|rejected|rolled back|switched to|settled on)\b",
    re.I,
)
_REASON = re.compile(r"\b(?:because|since|so that|due to|in order to)\b\s*(?P<reason>[^.;]+)", re.I)
_NEXT = re.compile(r"\b(next(?: step)?|to ?do|then we|follow[- ]up|i will now|remaining)\b", re.I)
_PAIR = re.compile(
    r"^(?P<key>(?:[\w'’/-]+ ){0,6}?[\w'’/-]+)\s*(?::| is| are| was| equals| =)\s+(?P<value>\S(?:.{0,78}?\S)?)(?: now)?$"
)
_OPENING = re.compile(r"^(?:.*[:,] )?(?=(?:our|my|your|the|its|his|her|their) )", re.I)
_ARTICLE = re.compile(r"^(?:our|my|your|the|its|his|her|their|a|an) ", re.I)
_NO_KEY = re.compile(
    r"^(?:there|here|this|that|these|those|it|he|she|they|we|you|who|what|which|next(?: step)?)$", re.I
)
_NOTED = re.compile(r"^(user|assistant|system|tool): ")
_DIGITS = re.compile(r"\d+")
_ECHO = re.compile(r"^(understood|noted|thank|thanks|ok|okay|sure|all right|got it|good|fine|great)\b", re.I)
#: Words after which a long sentence is cut: a log line must not take the place of everything else.
LONGEST = 30
_WEIGHTS = {"user": 1.5, "system": 1.3, "notes": 1.5, "assistant": 1.0, "tool": 0.7, "call": 0.3}
#: What was worth a note once is worth it still, unless something clearly better came.
_NOTED_BONUS = 0.3


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with who said it (`user`, `assistant`, `system`, `tool`, `call`, `notes`), its place and its score."""

    text: str
    speaker: str
    place: int
    score: float

    @property
    def question(self) -> bool:
        """Something that waits for an answer."""
        return self.text.endswith("?")

    @property
    def decision(self) -> bool:
        """Something that was decided in the conversation. What a tool returned decides nothing."""
        return self.speaker in ("user", "assistant", "notes") and bool(_DECISION.search(self.text))

    @property
    def step(self) -> bool:
        """Something that is to be done."""
        return self.speaker in ("user", "assistant", "notes") and bool(_NEXT.search(self.text)) and not self.question

    @property
    def reason(self) -> str:
        """The reason it gives, or ""."""
        found = _REASON.search(self.text)
        return found["reason"].strip() if found else ""

    @property
    def pair(self) -> tuple[str, str] | None:
        """What is said of what: ``("project code", "BLUE-42")`` of "For later: our project code is BLUE-42."."""
        if self.question:
            return None
        text = _OPENING.sub("", self.text.rstrip(".! "))
        found = _PAIR.match(text)
        if found is None:
            return None
        key = _ARTICLE.sub("", found["key"]).strip()
        return (key, found["value"]) if _WORD.search(key) and not _NO_KEY.match(key) else None


def sentences(transcript: str, notes: str = "") -> list[Sentence]:
    """All sentences in their order, those of the notes first. Said twice is said once; a new value replaces the old."""
    noted = [_attributed(text) for text in _split(notes)]
    said = noted + [(speaker, text) for speaker, part in _parts(transcript) for text in _split(part)]
    alike = Counter(_DIGITS.sub("#", text) for _, text in said)
    scored = []
    for place, (speaker, text) in enumerate(said):
        score = _score(text, speaker) - 0.4 * log2(alike[_DIGITS.sub("#", text)]) + 0.1 * place / len(said)
        scored.append(Sentence(text, speaker, place, score + (_NOTED_BONUS if place < len(noted) else 0.0)))
    latest: dict[str, Sentence] = {}
    for sentence in scored:
        pair = sentence.pair
        key = " ".join((pair[0] if pair and _VALUE.search(pair[1]) else sentence.text).lower().split())
        latest.pop(key, None)
        latest[key] = sentence
    return sorted(latest.values(), key=lambda sentence: sentence.place)


def ranked(found: Sequence[Sentence]) -> list[Sentence]:
    """The best first; of equals the later."""
    return sorted(found, key=lambda sentence: (-sentence.score, -sentence.place))


def _parts(transcript: str) -> list[tuple[str, str]]:
    """``(speaker, text)`` of a labelled transcript; text without a label is the user's.

    What goes on from an earlier part has no speaker of its own: it counts as a tool's, whose texts are the long ones.
    """
    pieces = _LABEL.split(transcript)
    parts = [("user", pieces[0])]
    speaker = "user"
    for label, text in zip(pieces[1::2], pieces[2::2], strict=True):
        if label.startswith("result of") or label == "goes on":
            speaker = "tool"
        elif " calls " in label:
            speaker = "call"
        elif label.startswith("notes"):
            speaker = "notes"
        else:
            speaker = label
        parts.append((speaker, text))
    return parts


def _attributed(note: str) -> tuple[str, str]:
    """``(speaker, text)`` of a line of notes, where notes say who spoke."""
    found = _NOTED.match(note)
    return (found[1], note[found.end() :]) if found else ("notes", note)


def _split(text: str) -> list[str]:
    found = []
    for piece in _END.split(text):
        words = _BULLET.sub("", piece.strip()).split()
        if words:
            found.append(" ".join(words[:LONGEST]) + (" …" if len(words) > LONGEST else ""))
    return found


def _score(text: str, speaker: str) -> float:
    words = text.split()
    score = 1.0 + min(len(_VALUE.findall(text)), 3) * 0.6 + min(len(_NAME.findall(text)), 3) * 0.2
    if speaker in ("user", "system", "notes") and _RULE.search(text):
        score += 2.0
    if speaker != "tool" and _DECISION.search(text):
        score += 1.5
    if _REASON.search(text):
        score += 0.5
    if len(words) < 3 or (_ECHO.match(text) and not _VALUE.search(text)):
        score -= 0.8
    return score * _WEIGHTS[speaker]
