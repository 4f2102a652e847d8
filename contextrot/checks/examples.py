"""Replies that keep or break checks, built from the checks' own parameters: what simulated models say.

Every reply given out was graded by the very checks it is meant for, so an example is right or there is none. Built in
three steps: what has to be said (values, words), how it is shaped (JSON, length, case, first and last words), verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Any

import orjson

from contextrot.checks.base import Check, Facts, fail, passed
from contextrot.checks.grading import grade
from contextrot.checks.instances import Instance, matching
from contextrot.checks.judge import Judge
from contextrot.checks.language_examples import NOTED
from contextrot.messages import Reply, ToolCall
from contextrot.outcomes import Outcome, Verdict

#: Replies tried before giving up; each is graded by every check.
_TRIES = 400
#: Ways to satisfy checks made of checks that are tried, each with at least so many replies.
_WAYS = 24
_FEWEST_TRIES = 60
#: Checks that a reply fails which does not say what they look for.
_BROKEN_BY_SILENCE = frozenset({"recall", "recall_list", "keyword", "regex", "code_fence", "python", "judge"})
#: No two share a word that a rule might forbid.
_PLAIN = (
    "Noted.",
    "Noted, thank you, I will go on from there.",
    "I have read it and we can go on",
    "Understood.",
    "Very well, this is clear to me.",
)
_WORDS = ("noted", "and", "we", "go", "on", "from", "here", "as", "agreed", "so", "far")

Wanted = Sequence[tuple[Check, bool]]
Shape = Callable[[str], str]


def example_reply(check: Check, facts: Facts, good: bool) -> Reply | None:
    """A reply that passes the check (`good`), or fails it; None when none could be built."""
    return example_for([(check, good)], facts)


def example_for(wanted: Wanted, facts: Facts) -> Reply | None:
    """One reply that passes every check marked True and fails every one marked False; None when none could be built.

    Where a wrong answer in words would break what has to be kept (its language, its length), the answer is left out.
    """
    combined = list(islice(product(*(list(_ways(check, good)) for check, good in wanted)), _WAYS))
    for silent in (False, True) if not all(good for _, good in wanted) else (False,):
        for ways in combined:
            leaves = [leaf for way in ways for leaf in way]
            for reply in islice(_candidates(leaves, facts, silent), max(_FEWEST_TRIES, _TRIES // len(combined))):
                if all(_graded(check, reply, facts) == good for check, good in wanted):
                    return reply
    return None


def _ways(check: Check, good: bool) -> Iterator[list[tuple[Check, bool]]]:
    """What the checks at the bottom have to say for the whole to pass (`good`) or fail: one list a way to get there."""
    if not check.parts():
        yield [(check, good)]
    elif check.type_name == "not":
        yield from _ways(check.parts()[0], not good)
    elif (check.type_name == "all_of") == good:
        for ways in islice(product(*(list(_ways(part, good)) for part in check.parts())), _WAYS):
            yield [leaf for way in ways for leaf in way]
    else:  # one part decides
        parts = check.parts()
        if not good:  # what was lost keeps nothing, so all parts break first, then each alone
            for ways in islice(product(*(list(_ways(part, good)) for part in parts)), 1):
                yield [leaf for way in ways for leaf in way]
        for place, part in enumerate(parts):
            others = [list(_ways(other, not good)) for k, other in enumerate(parts) if k != place]
            for way in islice(_ways(part, good), _WAYS):
                for rest in islice(product(*others), 1):
                    yield way + [leaf for other in rest for leaf in other]
                yield way


def _graded(check: Check, reply: Reply, facts: Facts) -> bool | None:
    """True for pass, False for fail, None for every other outcome. A judge is taken to know the example made for it."""
    answers: dict[Check, Verdict] = {
        leaf: passed() if leaf.kept in reply.text else fail("") for leaf in check.leaves() if isinstance(leaf, Judge)
    }
    return {Outcome.PASS: True, Outcome.FAIL: False}.get(grade(check.resolve(answers), reply, facts).outcome)


def _candidates(wanted: Wanted, facts: Facts, silent: bool = False) -> Iterator[Reply]:
    """Replies to try. `silent`: what is looked for and has to be missing is not spoken of at all."""
    parts = [(check.type_name, _parameters(check), good) for check, good in wanted]
    saying = [
        [] if silent and not good and kind in _BROKEN_BY_SILENCE else list(_said(kind, given, good, facts))
        for kind, given, good in parts
    ]
    saying += [
        [check.kept if good else check.broken]
        for check, good in wanted
        if isinstance(check, Judge) and (good or not silent)
    ]
    shaping = [
        list(_shapes(kind, given, good)) for kind, given, good in sorted(parts, key=lambda part: _ORDER.get(part[0], 0))
    ]
    calls = [list(_calls(kind, given, good)) for kind, given, good in parts]
    made = list(product(*(options for options in calls if options)))
    for said in product(*(options for options in saying if options)):
        for core in _cores(said):
            for shapes in product(*(options for options in shaping if options)):
                text = core
                for shape in shapes:
                    text = shape(text)
                for chosen in made:
                    tools = tuple(call for group in chosen for call in group)
                    yield Reply(text or None, tools, "tool_calls" if tools else "stop")


def _parameters(check: Check) -> dict[str, Any]:
    """A check's parameters under the names users write."""
    return check.model_dump(by_alias=True, exclude_none=True)


def _cores(said: Sequence[str]) -> Iterator[str]:
    """Ways to say all pieces in one text. Sentences stand in a row, blocks on lines of their own."""
    pieces = [piece for piece in said if piece]
    if not pieces:
        yield from _PLAIN
        return
    if not any("\n" in piece for piece in pieces):
        yield " ".join(pieces)
    yield "\n".join(pieces)
    yield "\n".join(reversed(pieces))
    for plain in _PLAIN:
        yield f"{plain} {' '.join(pieces)}"


# ---- what has to be said --------------------------------------------------------------------------------------------


def _said(kind: str, given: dict[str, Any], good: bool, facts: Facts) -> Iterator[str]:
    """Pieces of text that (do not) say what the check looks for; nothing when it does not look at what is said."""
    if kind == "recall":
        yield from _recalled(given, good, facts)
    elif kind == "recall_list":
        told = [facts[name].value for name in _texts(given.get("facts")) if name in facts]
        values = [*_texts(given.get("values")), *told]
        shown = values if good else values[:-1]
        yield "; ".join(shown) + "." if shown else _PLAIN[0]
    elif kind == "abstain":
        yield from (
            ("You have not told me that.", "I don't know.")
            if good
            else ("It is 12 Mill Lane.", "The answer is 12 Mill Lane, as you said.")
        )
    elif kind == "code_fence":
        yield f"```{given.get('language') or 'text'}\nx = 1\n```" if good else _PLAIN[1]
    elif kind == "decimals":
        places = int(given.get("places", 2))
        digits = "2345678901234567890"[: places if good else places + 1]
        yield f"The result is 1.{digits}." if digits else "The result is 1."
        if not good:
            yield "The result is 1.5." if places != 1 else "The result is 1.25."
    elif kind == "keyword":
        yield from _keywords(given, good)
    elif kind == "regex":
        yield from _regex(given, good)
    elif kind == "language":
        code = str(given.get("is"))
        yield from [NOTED[code]] if good and code in NOTED else []
        if not good:
            yield NOTED["de" if code == "en" else "en"]
    elif kind == "python":
        own = given.get("passes" if good else "fails")
        yield from [str(own)] if own else ("", *_PLAIN, "yes", "42", "# Noted\n\n- one\n- two")


def _recalled(given: dict[str, Any], good: bool, facts: Facts) -> Iterator[str]:
    state = facts.get(str(given.get("fact", "")))
    value = given.get("value") or (state.value if state else None)
    old = _texts(given.get("superseded")) or list(state.superseded if state else ())
    if value is None:
        return
    if good:
        yield f"It is {value}."
        yield str(value)
    else:
        yield from (f"It is {text}." for text in reversed(old))
        yield "I cannot recall it."
        yield "It is something else."


def _keywords(given: dict[str, Any], good: bool) -> Iterator[str]:
    every, some, no = (_texts(given.get(key)) for key in ("all", "any", "none"))
    right = " ".join([*every, *some[:1]])
    if good:
        yield from (f"{right}.", right) if right else _PLAIN
        return
    if every:
        yield " ".join([*every[:-1], *some[:1]])
    if no:
        yield " ".join([right, no[0]]).strip() + "."
    yield _PLAIN[1]


def _regex(given: dict[str, Any], good: bool) -> Iterator[str]:
    wanted, unwanted = given.get("matches"), given.get("not_matches")
    if good:
        if wanted is not None:
            found = matching(str(wanted))
            yield from () if found is None else (found,)
        yield _PLAIN[1]
        return
    if unwanted is not None:
        found = matching(str(unwanted))
        yield from () if found is None else (found,)
    yield from (_PLAIN[1], "#", "no 1 No")


# ---- how it is shaped -----------------------------------------------------------------------------------------------

#: Shapes are put on from the inside out.
_ORDER = {"count": 1, "json": 2, "starts_with": 3, "ends_with": 4, "case": 5}


def _shapes(kind: str, given: dict[str, Any], good: bool) -> Iterator[Shape]:
    """Ways to shape a text so that the check passes (or does not); nothing when it does not look at the shape."""
    if kind == "json":
        yield from _json_shapes(given, good)
    elif kind == "case":
        upper = given.get("is") == "upper"
        yield str.upper if upper == good else str.lower
        if not good:
            yield lambda text: f"{text} Aa Bb"
    elif kind == "starts_with":
        yield from _affixes(given, good, lambda affix, text: f"{affix}{_gap(affix)}{text}")
    elif kind == "ends_with":
        yield from _affixes(given, good, lambda affix, text: f"{text}{_gap(affix)}{affix}")
    elif kind == "count":
        yield from _counts(given, good)


def _json_shapes(given: dict[str, Any], good: bool) -> Iterator[Shape]:
    schema = given.get("schema") or {
        "type": "object",
        "required": ["answer"],
        "properties": {"answer": {"type": "string"}},
    }

    def filled(every: bool) -> Shape:
        return lambda text: orjson.dumps(Instance(schema, text, every=every).value, default=str).decode()

    if good:
        yield filled(False)
        yield filled(True)
    else:
        yield lambda text: text
        yield lambda text: f"{text} Here it is: {filled(False)('')}"
        yield lambda text: f'{{"note": "{text}'


def _affixes(given: dict[str, Any], good: bool, put: Callable[[str, str], str]) -> Iterator[Shape]:
    affixes = [text for key, value in given.items() if key not in ("type", "case_sensitive") for text in _texts(value)]
    for affix in affixes if good else ():
        yield lambda text, affix=affix: put(affix, text)  # type: ignore[misc]
        yield lambda text, affix=affix: affix  # type: ignore[misc]
    if not good:
        yield lambda text: text
        yield lambda text: put("Well", text)


def _gap(affix: str) -> str:
    return "" if not affix or affix[-1:].isspace() or affix[:1].isspace() else " "


def _counts(given: dict[str, Any], good: bool) -> Iterator[Shape]:
    low = int(given.get("exactly", given.get("at_least", 0)))
    high = int(given["exactly"]) if "exactly" in given else int(given["at_most"]) if "at_most" in given else None
    unit = str(given.get("unit", "words"))
    targets = (
        (low, high if high is not None else low, low + 1) if good else (high + 1 if high is not None else None, low - 1)
    )
    for target in dict.fromkeys(target for target in targets if target is not None and target >= 0):
        yield lambda text, target=target: _of_length(text, unit, target)  # type: ignore[misc]
    if good:
        yield lambda text: text


def _of_length(text: str, unit: str, target: int) -> str:
    """The text with units of filler added up to the target; what is too long already is cut by whole units."""
    if unit == "bullets":
        lines = [f"- {text}", *(f"- {_WORDS[index % len(_WORDS)]}" for index in range(target - 1))]
        return "\n".join(lines[:target]) or text
    if unit == "characters":
        return text[:target] + "." * (target - len(text))
    split: dict[str, tuple[str, Sequence[str]]] = {
        "words": (" ", _WORDS),
        "sentences": (" ", ("Noted.",)),
        "lines": ("\n", _WORDS),
        "paragraphs": ("\n\n", _WORDS),
    }
    joint, filler = split.get(unit, (" ", _WORDS))
    if unit == "sentences":
        pieces = [piece.strip().rstrip(".") + "." for piece in text.split(". ") if piece.strip()]
    else:
        pieces = text.split() if unit == "words" else [piece for piece in text.split(joint) if piece.strip()]
    pieces += [filler[index % len(filler)] for index in range(target - len(pieces))]
    return joint.join(pieces[:target])


# ---- tool calls -----------------------------------------------------------------------------------------------------


def _calls(kind: str, given: dict[str, Any], good: bool) -> Iterator[tuple[ToolCall, ...]]:
    """The calls a check wants (or must not see); one empty option when it does not look at them."""
    if kind == "tool_call" and good:
        wanted = given.get("calls") or [given]
        yield tuple(_call(number, call) for number, call in enumerate(wanted, 1))
    elif kind == "no_tool_call" and not good:
        yield (ToolCall("call_1", "lookup", "{}"),)
    else:
        yield ()


def _call(number: int, wanted: dict[str, Any]) -> ToolCall:
    arguments = Instance(wanted["schema"]).value if isinstance(wanted.get("schema"), dict) else {}
    if isinstance(arguments, dict):
        arguments |= wanted.get("arguments") or {}
    return ToolCall(
        f"call_{number}", str(wanted.get("name") or "lookup"), orjson.dumps(arguments, default=str).decode()
    )


def _texts(value: Any) -> list[str]:
    if value is None or isinstance(value, bool):
        return []
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, Iterable) else []
