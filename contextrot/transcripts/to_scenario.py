"""A recorded session as a scenario that can be benched at once: its turns as filler, its rules as constraints.

What is tested: every standing rule whose check follows from its wording (`rules.py`) and that the session bears out,
as a constraint with a probe. Where there is none, a canary fact stated at the first turn and asked for at several.
Rules whose check is not clear stand in the file as comments, ready to be filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextrot.checks import grade, load_check
from contextrot.errors import ConfigError, StoreError
from contextrot.messages import Reply
from contextrot.outcomes import Outcome
from contextrot.scenario import load_scenario
from contextrot.scenario.dump import dump_scenario, one_line
from contextrot.scenario.loader import MAX_BYTES, parse_scenario
from contextrot.scenario.transcript import MAX_BYTES as MAX_TRANSCRIPT
from contextrot.scenario.transcript import write_transcript
from contextrot.transcripts.base import Transcript
from contextrot.transcripts.rules import Rule, rules_in
from contextrot.transcripts.turns import Turn, tool_names, tools_of, turns_of

_CANARIES = ("BLUE-42", "TEAL-7", "RUST-19", "PLUM-63", "JADE-88", "SAND-31")
#: Longest user message that is taken over as the statement of the rule in it.
_LONGEST_STATEMENT = 1000
_ASK = "Please say in a few words what we did last."


@dataclass(slots=True)
class Draft:
    """A scenario in the making: its parts as they will be written, and the rules left to the user."""

    head: dict[str, Any]
    constraints: list[dict[str, Any]] = field(default_factory=list)
    facts: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    probes: list[dict[str, Any]] = field(default_factory=list)
    turns: int = 0
    suggestions: list[tuple[dict[str, Any], str]] = field(default_factory=list)


def draft_scenario(transcript: Transcript, scenario_id: str, *, turns: int | None = None, source: str = "") -> Draft:
    """The scenario of a transcript, of its first `turns` turns where given.

    Raises `ConfigError` when no turn has a text.
    """
    listed = turns_of(transcript, turns)
    if not listed:
        raise ConfigError("the transcript has no user message with text, so it cannot fill a turn")
    title = " ".join(transcript.name.split())[:80] or "a recorded session"
    draft = Draft({"contextrot": 1, "id": scenario_id, "title": f"Imported: {title}"})
    if source:
        draft.head["source"] = f"{transcript.format} transcript {source}"
    names = tool_names(transcript)
    draft.tools = tools_of(transcript, listed, names)
    system = _system_rules(draft, transcript.system, listed)
    if system:
        draft.head["system"] = system
    stated = _user_rules(draft, listed)
    draft.items = [_item(turn, names) for turn in listed if turn.number not in stated]
    if not draft.items:
        draft.constraints = [rule for rule in draft.constraints if rule["place"] == "system"]
        draft.items = [_item(turn, names) for turn in listed]
    draft.turns = len(draft.items) + sum(rule["place"] != "system" for rule in draft.constraints)
    if draft.constraints:
        draft.probes = [_rule_probe(draft, rule, listed) for rule in draft.constraints]
    else:
        _canary(draft, transcript)
    return draft


def _item(turn: Turn, names: dict[str, str]) -> dict[str, Any]:
    item: dict[str, Any] = {"user": turn.user}
    if turn.calls:
        item["tool_calls"] = [
            {"name": names[one.call.name], "arguments": one.call.arguments, "result": one.result} for one in turn.calls
        ]
    if turn.assistant is not None:
        item["assistant"] = turn.assistant
    return item


def _kept(check: dict[str, Any], turns: Sequence[Turn]) -> tuple[int, int, bool]:
    """How many of the recorded replies keep a rule, of how many that can tell, and whether the first one does."""
    loaded = load_check(check)
    verdicts = [grade(loaded, Reply.from_dict(turn.assistant)) for turn in turns if turn.assistant is not None]
    decided = [verdict.outcome is Outcome.PASS for verdict in verdicts if verdict.outcome.decided]
    return sum(decided), len(decided), bool(decided) and decided[0]


def _system_rules(draft: Draft, system: str | None, turns: Sequence[Turn]) -> str | None:
    """Takes the rules out of the system prompt; what is placed there follows the rest of it. Returns the rest."""
    if system is None:
        return None
    for rule in rules_in(system, system=True):
        if _take(draft, rule, "system", turns) and system.count(rule.text) == 1:
            system = _without(system, rule.text)
    return system.strip("\n") if system.strip() else None


def _without(text: str, sentence: str) -> str:
    start = text.index(sentence)
    end = start + len(sentence)
    whole_line = not start or text[start - 1] == "\n"
    if text[end : end + 1] == ("\n" if whole_line else " "):
        end += 1
    return text[:start] + text[end:]


def _user_rules(draft: Draft, turns: Sequence[Turn]) -> set[int]:
    """Rules stated by the user. A message that states one becomes the constraint's statement, word for word."""
    stated: set[int] = set()
    for place, turn in enumerate(turns, 1):
        for rule in rules_in(turn.user, system=False):
            whole = len(turn.user) <= _LONGEST_STATEMENT and not turn.calls and turn.number not in stated
            if rule.check is not None and not whole:
                _suggest(draft, rule, {"turn": place}, "its message says or does more, and is left as it is")
            elif _take(draft, rule, {"turn": place}, turns[place - 1 :], turn):
                stated.add(turn.number)
    return stated


def _suggest(draft: Draft, rule: Rule, place: Any, why: str) -> None:
    entry = {"id": _next_id(draft), "text": rule.text, "place": place}
    draft.suggestions.append((entry | ({"check": rule.check} if rule.check else {}), why))


def _next_id(draft: Draft) -> str:
    return f"rule-{len(draft.constraints) + len(draft.suggestions) + 1}"


def _take(draft: Draft, rule: Rule, place: Any, turns: Sequence[Turn], said: Turn | None = None) -> bool:
    """Make a rule a constraint, or a suggestion where its check is missing or the session does not bear it out.

    `said` is the turn whose message states it: the whole message becomes the statement.
    """
    if rule.check is None:
        _suggest(draft, rule, place, "no check follows from its wording")
        return False
    kept, decided, first = _kept(rule.check, turns)
    if decided and not first and kept * 2 < decided:
        _suggest(draft, rule, place, f"only {kept} of {decided} recorded replies keep it; is this what it means?")
        return False
    text = said.user if said else rule.text
    if any(other["text"] == text for other in draft.constraints):
        return False
    entry = {"id": _next_id(draft), "text": text, "place": place, "check": rule.check}
    if said is not None and said.assistant is not None:
        entry["reply"] = said.assistant
    draft.constraints.append(entry)
    return True


def _spread(first: int, last: int, most: int = 6) -> list[int]:
    """Turns from `first` to `last`, evenly, both in it."""
    steps = min(most, last - first + 1)
    if steps <= 1:
        return [last]
    return sorted({first + round(k * (last - first) / (steps - 1)) for k in range(steps)})


def _rule_probe(draft: Draft, rule: dict[str, Any], turns: Sequence[Turn]) -> dict[str, Any]:
    """A probe of a rule: the shortest message of the session whose recorded reply keeps it, asked again."""
    check = load_check(rule["check"])
    kept = [
        turn.user
        for turn in turns
        if turn.assistant is not None
        and turn.user != rule["text"]
        and not turn.calls
        and grade(check, Reply.from_dict(turn.assistant)).outcome is Outcome.PASS
    ]
    first = 0 if rule["place"] == "system" else rule["place"]["turn"]
    at = sorted({0, *_spread(max(first, 1), draft.turns)})
    return {"id": f"keeps-{rule['id']}", "ask": min(kept, key=len, default=_ASK), "at": at, "constraint": rule["id"]}


def _canary(draft: Draft, transcript: Transcript) -> None:
    said = "\n".join(message.text for message in transcript.messages)
    values = [value for value in _CANARIES if value not in said][:4] or ["QUARTZ-5150"]
    draft.turns += 1
    draft.facts = [
        {
            "id": "canary",
            "text": "For later: the reference code of this session is {value}.",
            "values": values,
            "at": 1,
            "reply": "Noted: {value}.",
        }
    ]
    draft.probes = [
        {
            "id": "canary-recall",
            "ask": "What is the reference code of this session?",
            "at": [0, *_spread(1, draft.turns)],
            "check": {"type": "recall", "fact": "canary"},
        }
    ]


def render(draft: Draft, *, transcript_file: str | None = None) -> str:
    """The file's text. With `transcript_file` the turns are left to that file beside it."""
    return "\n".join(_sections(draft, transcript_file))


def _sections(draft: Draft, transcript_file: str | None) -> Iterator[str]:
    yield "# Imported by `contextrot import`. Check what is tested before you trust it: constraints, facts and probes."
    yield dump_scenario(draft.head)
    if draft.constraints:
        yield "# Rules found by their wording, with the check it leaves no choice about."
        yield dump_scenario({"constraints": draft.constraints})
    if draft.suggestions:
        yield "# More sentences that sound like standing rules. To test one, put it under `constraints:` with a check."
        for entry, why in draft.suggestions:
            yield f"#   {why}:"
            yield f"#   - {one_line(entry)}"
        yield ""
    if draft.facts:
        yield "# No rule with a check was found, so a code is stated at the first turn and asked for later."
        yield dump_scenario({"facts": draft.facts})
    if draft.tools:
        yield dump_scenario({"tools": draft.tools})
    yield dump_scenario({"session": {"turns": draft.turns, "history": "scripted"}})
    yield dump_scenario({"probes": draft.probes})
    yield dump_scenario({"filler": {"transcript": transcript_file} if transcript_file else {"items": draft.items}})


def write_scenario(draft: Draft, path: Path) -> list[Path]:
    """Write the scenario, load it, and prove that every text came back as it was. Returns the files written.

    Turns that are too long for a scenario file go to `<name>.messages.jsonl` beside it.

    Raises `StoreError` when the files cannot be written, `ConfigError` when the session is too long for any.
    """
    # Writing megabytes as YAML only to see that they are too many takes minutes.
    text = "" if _characters(draft) > MAX_BYTES else render(draft)
    files = [path]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not text or len(text.encode()) > MAX_BYTES:
            beside = path.with_name(f"{path.stem}.messages.jsonl")
            lines = write_transcript(draft.items)
            if len(lines) > MAX_TRANSCRIPT:
                raise ConfigError(
                    f"the session has {len(lines) / 1e6:,.0f} MB of text, more than the {MAX_TRANSCRIPT // 1_000_000} "
                    "MB a scenario can read; --turns N takes only its first N turns"
                )
            beside.write_bytes(lines)
            files.append(beside)
            text = render(draft, transcript_file=beside.name)
        else:
            parse_scenario(text, path)
        path.write_bytes(text.encode())
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
    back = load_scenario(path)
    said = [(item.user, item.assistant, [call.result for call in item.tool_calls]) for item in back.items]
    meant = [
        (one["user"], one.get("assistant"), [call["result"] for call in one.get("tool_calls", ())])
        for one in draft.items
    ]
    if said != meant or (back.system or "") != draft.head.get("system", ""):
        raise StoreError(
            f"{path}: the texts read back are not those of the transcript; please report this file's origin"
        )
    return files


def _characters(draft: Draft) -> int:
    return sum(
        len(item["user"])
        + len(item.get("assistant", ""))
        + sum(len(call["result"]) for call in item.get("tool_calls", ()))
        for item in draft.items
    )


def scenario_id(name: str) -> str:
    """A scenario's id from a file's name: what is neither letter, digit, `-`, `_` nor `.` becomes a dash."""
    made = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-_.")[:60].strip("-_.")
    return made or "imported"
