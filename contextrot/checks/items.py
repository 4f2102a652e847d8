"""Finding the items of a list in a reply, tolerant of articles and word forms, and telling open ones from done ones."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import Enum

from contextrot.checks.matching import Mention, needle, thin
from contextrot.checks.normal import Page

_REACH = 120


class Item(Enum):
    """What a reply says of an item."""

    OPEN = "named"
    CLOSED = "named as done or not needed"
    MISSING = "not named"


#: words whose presence or absence makes no other item
_SMALL = frozenset((
    "a", "an", "the", "to", "for", "of", "my", "our", "your", "his", "her", "their", "its", "this", "that",
    "these", "those", "please", "with", "in", "on", "at", "by", "and", "some", "as", "it", "them",
))  # fmt: skip
_TOKEN = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_GAP = re.compile(r"[ \n\"'()]*\Z")
_DONE = (
    r"(?:done|completed?|finished|closed|resolved|cancel+ed|settled|handled|dropped|taken care of|"
    r"(?:ticked|checked|crossed) off|off the list|sorted|"
    r"no longer (?:needed|necessary|open|required|on the list|relevant|pending|outstanding)|not (?:needed|"
    r"necessary|required|open)(?: any ?more)?)"
)
_CLOSED_LEFT = re.compile(
    r"\b(?:(?:no longer|don't|do not|doesn't|does not|didn't|did not|won't|never) (?:need|have|want|"
    r"ask(?:ed)?|intend|plan)(?: (?:me|us|you|to|for))*|"
    r"no need (?:for (?:you|me|us) )?to|no need (?:for|of)|"
    r"needn't|need not|not (?:have|need|necessary|required) to|except(?: for)?|apart from|aside from|"
    r"other than|but not|rather than|instead of|cancel(?:l?ed)?|skip(?:ped)?|dropped|forget about|without|no|"
    rf"done with|(?:don't|do not|not)|already {_DONE})[\s:\"']*(?:the |a )?\Z"
)
_CLOSED_RIGHT = re.compile(
    rf"[\"')\]]*\s*(?:[—:(,\[|-]+\s*(?:(?:is|was) )?|(?:is|are|was|were|has been|have been|'s|"
    rf"got)\s+)(?:(?:already|now|all|both|since|just|been|marked|as|currently)\s+)*(?:{_DONE}(?!\s+(?:by|"
    rf"before|until|when|if)\b)(?![^\W_])|[✓✔✅☑])"
    r"|[\"')\]]*\s*(?:isn't|aren't|is not|are not|wasn't)\s+(?:needed|necessary|required|open|on (?:the|your) list)"
    r"|[\"')\]]*\s*(?:is|are)\s+(?:already\s+)?(?:behind|out of the way)"
)
_TICKED = re.compile(r"(?:\[x\]|[✓✔✅☑🗹])\s*\Z")
_TICKED_RIGHT = re.compile(r"[\"')\]]*\s*[✓✔✅☑]")
_HEADING = re.compile(
    r"(?:^|(?<=[.;\n{,]))[\s>#*\-•\"']*(?:(?:the )?(?:items? |tasks? |already |all |what(?:'s| is) )*)(?:"
    rf"(?P<open>(?:still )?(?:open|to-?do|to do|remaining|pending|outstanding|left(?: to do| over)?|next|"
    rf"unfinished|in progress|active|not (?:yet )?done|incomplete|due))|(?P<done>{_DONE}|"
    rf"(?<=already )[^\W\d_]{{2,12}}(?:ed|ght|ne|nt)))"
    r"(?: (?:items?|tasks?|actions?|points?|so far|already|today|yet|now|list|work))*[\"']?\s*(?::|\n|—|-\s)",
    re.MULTILINE,
)


#: nouns of doing: the letters before the ending are the verb's, but for its last ones
_NOUN = re.compile(r"([^\W\d_]{4,}?)(?:ations?|ions?|ments?|als?)")
#: what makes of a word the doing of it: "mail forwarding", "gym cancellation"
_DOING = re.compile(r"[^\W\d_]{3,}(?:ings?|ions?|ments?|als?)")
_NAME = re.compile(r"\b[^\W\d_a-z][^\W\d_A-Z]")
#: "Gym: cancel", "the gym (cancel it)", "| gym | cancel |"
_LABELLED = re.compile(r"[\"')\]]*\s*(?:[:(|—]|->|-\s)[\s\"'(\[]*(?:to |please |still to )?\Z")
_LABEL_ENDS = re.compile(
    r"[\"'\])]*(?:\s*(?:it|them)\b)?[\"')\]]*\s*(?:[.,;:!)|(—\n]|\Z|(?:by|before|on|at|and|to|until|with|for|-)\b)"
)
#: items that forbid something, and the other words for that
_NOT = re.compile(r"(?:no|never|avoid|without|don't|do not|not)(?: use| using| any)? +(?=\S)")
_NOT_LEFT = re.compile(
    r"\b(?:no|never|avoid(?:s|ing)?|without|don't|do not|not|stop|refrain from|zero|free of|nor|or|steer clear of|"
    r"leave out|"
    r"ban on)(?: (?:use[ds]?|using|any|more|the|to|write|writing|with|add|adding|put|include|including))* [\"']*\Z"
)
_NOT_RIGHT = re.compile(
    r"[\"')\]]*\s*[:(—-]?\s*(?:(?:are|is) )?(?:none|not allowed|not to be used|never|avoid|forbidden|banned|taboo|out|"
    r"to be avoided|off limits)\b"
)


def _stem(word: str) -> str:
    """Plurals, -ing forms and nouns of doing fall together with the plain word; -ed does not, it says it is done."""
    word = word[:-2] if word.endswith("'s") else word
    if len(word) > 5 and word.endswith("ing"):
        word = word[:-3]
    elif len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    noun = _NOUN.fullmatch(word)
    word = noun[1] if noun else word
    word = word[:-1] if len(word) > 3 and word.endswith("e") else word
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "s0123456789" else word


class _Words:
    """The content words of a page with their stems and places."""

    def __init__(self, text: Page) -> None:
        self.text = text.folded
        found = [m for m in _TOKEN.finditer(text.folded) if m.group() not in _SMALL]
        self.spans = [(m.start(), m.end()) for m in found]
        self.stems = [_stem(m.group()) for m in found]
        self.places: dict[str, list[int]] = defaultdict(list)
        for index, stem in enumerate(self.stems):
            self.places[stem].append(index)

    def find(self, value: str) -> list[Mention]:
        """Places of the value's content words in order, at most one other word between two."""
        wanted = [_stem(word) for word in _TOKEN.findall(value.casefold()) if word not in _SMALL]
        if not wanted:
            return []
        starts = self.places.get(wanted[0], [])
        half = 500
        starts = starts if len(starts) <= 2 * half else starts[:half] + starts[-half:]
        found = [m for start in starts if (m := self._at(start, wanted)) is not None]
        found = found or self._turned(value, wanted)
        if found or len(wanted) < 3:  # of two words the order may be what is meant: "call Dana", "Dana's call"
            return found
        return [m for start in starts if (m := self._around(start, wanted)) is not None]

    def _turned(self, value: str, wanted: Sequence[str]) -> list[Mention]:
        """Places where the thing comes before the doing: "gym: cancel", "mail forwarding"."""
        found: list[Mention] = []
        for cut in range(1, min(3, len(wanted))):
            turned = [*wanted[cut:], *wanted[:cut]]
            named = _NAME.search(value) is not None  # "Dana calling" is something else than "call Dana"
            for start in self.places.get(turned[0], [])[:1000]:
                if (place := self._at(start, turned, turn=len(wanted) - cut, noun=not named and cut == 1)) is not None:
                    found.append(place)
        return sorted(found, key=lambda m: m.start)

    def _at(self, start: int, wanted: Sequence[str], *, turn: int = 0, noun: bool = False) -> Mention | None:
        """The wanted words from one of them on; at `turn` a colon stands between, or a noun of doing follows."""
        at = start
        for number, stem in enumerate(wanted[1:], 1):
            if turn and number == turn:
                if (
                    at + 1 >= len(self.stems)
                    or self.stems[at + 1] != stem
                    or not self._doing(at, noun=noun, last=wanted[turn:])
                ):
                    return None
                at += 1
                continue
            for step in (1, 2):
                if at + step < len(self.stems) and self.stems[at + step] == stem and self._joined(at, at + step):
                    at += step
                    break
            else:
                return None
        return Mention(self.spans[start][0], self.spans[at][1])

    def _doing(self, at: int, *, noun: bool, last: Sequence[str]) -> bool:
        """True when the word behind place `at` is what is to be done with the thing before it."""
        (_, end), (begin, stop) = self.spans[at], self.spans[at + 1]
        between = self.text[end:begin]
        if noun and between == " " and _DOING.fullmatch(self.text[begin:stop]):
            return True
        after = self.spans[min(at + len(last), len(self.spans) - 1)][1]
        return _LABELLED.fullmatch(between) is not None and _LABEL_ENDS.match(self.text, after) is not None

    def _around(self, start: int, wanted: Sequence[str]) -> Mention | None:
        """The wanted words in any order around one of them, with at most one other content word among them."""
        reach = len(wanted)
        for low in range(max(0, start - reach), start + 1):
            for length in (len(wanted), len(wanted) + 1):
                inside = self.stems[low : low + length]
                if low + len(inside) > start and all(inside.count(stem) >= wanted.count(stem) for stem in wanted):
                    begin, end = self.spans[low][0], self.spans[low + len(inside) - 1][1]
                    if not re.search(r"[.,;:!?()—\n]|\b(?:or|not)\b", self.text[begin:end]):
                        return Mention(begin, end)
        return None

    def _joined(self, first: int, last: int) -> bool:
        """True when only small words and at most one other word lie between, in one phrase."""
        between = self.text[self.spans[first][1] : self.spans[last][0]]
        return len(between) <= 60 and not re.search(r"[.,;:!?()—]|\n\s*[-*•\d]|\n\n|\b(?:or|not|no)\b", between)


def find_items(text: Page, values: Sequence[str]) -> Mapping[str, Item]:
    """For each value whether the text names it, and whether as open or as done.

    A heading ("Done:") or a ticked box closes an item only when the reply also shows something open: a list that is
    all ticked is the answer to "what is done?".
    """
    words = _Words(text)
    headings = [(m.end(), m.lastgroup == "done") for m in _HEADING.finditer(text.folded)]
    found = {value: _mentions(text, words, value) for value in values}
    marks = {value: [_marks(text, m, headings) for m in mentions] for value, mentions in found.items()}
    contrast = any(not done for _, done in headings) or "[ ]" in text.folded
    contrast = contrast or any(not hard and not soft for pairs in marks.values() for hard, soft in pairs)
    result = {}
    for value, pairs in marks.items():
        closed = [hard or (soft and contrast) for hard, soft in pairs]
        if not pairs:
            result[value] = Item.MISSING
        elif all(closed) or pairs[-1][0]:
            result[value] = Item.CLOSED
        else:
            result[value] = Item.OPEN
    return result


def _mentions(text: Page, words: _Words, value: str) -> list[Mention]:
    wanted = needle(value)
    exact = wanted.find(text)
    loose = [] if wanted.number is not None else words.find(wanted.value)
    forbids = _NOT.match(value.casefold())
    if forbids and (rest := value[forbids.end() :].strip()) and any(map(str.isalnum, rest)):
        loose += [m for place in words.find(rest) if (m := _forbidden(text, place)) is not None]
    kept: list[Mention] = []
    for mention in sorted([*exact, *loose], key=lambda m: (m.start, -m.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return thin(kept)


def _forbidden(text: Page, place: Mention) -> Mention | None:
    """The place of a thing together with the words next to it that forbid it, if there are any."""
    left = _NOT_LEFT.search(text.folded, max(0, place.start - 40), place.start)
    right = _NOT_RIGHT.match(text.folded, place.end)
    if left is None and right is None:
        return None
    return Mention(left.start() if left else place.start, right.end() if right else place.end)


def _marks(text: Page, mention: Mention, headings: Sequence[tuple[int, bool]]) -> tuple[bool, bool]:
    """(closed by the words bound to the item, closed by a heading or a ticked box)."""
    left = text.folded[max(0, mention.start - _REACH) : mention.start]
    left = re.split(r"[.;!?\n,](?=\s)", left)[-1] if "," in left or "." in left or ";" in left or "\n" in left else left
    right = re.split(r"[.;!?\n]", text.folded[mention.end : mention.end + _REACH])[0]
    hard = _CLOSED_LEFT.search(left) is not None or _CLOSED_RIGHT.match(right) is not None
    above = bisect_right(headings, mention.start, key=lambda heading: heading[0])
    ticked = _TICKED_RIGHT.match(right) or _TICKED.search(left)
    return hard, (above > 0 and headings[above - 1][1]) or ticked is not None
