"""What a recorded session was asked and answered, and whether a question of today's file is the one it was asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from contextrot.analysis.replay_view import Record
from contextrot.bench.redact import Redactor
from contextrot.checks.base import Check, FactState
from contextrot.messages import Message, Reply
from contextrot.scenario.script import Ask, Control, Passive, Script

#: purposes of the calls whose replies are judged
_ANSWERS = frozenset({"turn", "probe", "control"})


@dataclass(frozen=True, slots=True)
class Question:
    """What a recorded verdict is about, by today's file: the check, and what must have been said for it to hold."""

    check: Check
    facts: Mapping[str, FactState]
    subject: str | None
    #: the question's text, None for a rule that is checked on whatever was asked
    text: str | None = None
    system: str | None = None
    told: tuple[str, ...] = ()


class Questions:
    """A script's questions, found by what a verdict record says of them."""

    def __init__(self, script: Script) -> None:
        self.script = script
        asks = [*script.fresh, *(ask for turn in script.turns for ask in (turn.inline, *turn.forks) if ask is not None)]
        self._asks = {(ask.id, ask.turn): _asked(ask) for ask in asks}
        self._rules = {rule.subject.id: _standing(rule) for rule in script.passive}
        self._controls = {control.branch: _controlled(control) for control in script.controls}

    def of(self, record: Record) -> Question | None:
        """The question of a verdict; None when today's file has none there."""
        if record["kind"] == "probe":
            return self._asks.get((record["id"], record["turn"]))
        if record["kind"] == "passive":
            return self._rules.get(record["id"])
        return self._controls.get(record["branch"])


def _asked(ask: Ask) -> Question:
    subject = ask.subject
    # In the fresh session what a fact says stands in the question itself.
    told = () if subject is None or (ask.turn == 0 and subject.turn > 0) else (subject.statement,)
    return Question(ask.check, ask.facts, subject.id if subject else None, ask.text, told=(*told, *_values(ask.facts)))


def _standing(rule: Passive) -> Question:
    return Question(rule.check, {}, rule.subject.id, told=(rule.subject.statement,))


def _controlled(control: Control) -> Question:
    return Question(control.check, control.facts, control.subject_id, control.text, control.system)


def _values(facts: Mapping[str, FactState]) -> Iterator[str]:
    for state in facts.values():
        yield from (state.value, *state.superseded, *state.near)


class Said:
    """What a session file has said so far: texts by branch, and the replies to the last question."""

    def __init__(self, script: Script, redact: Redactor) -> None:
        self.script, self.redact = script, redact
        self.texts: defaultdict[str | None, list[str]] = defaultdict(list)
        self.system: dict[str | None, str] = {}
        self.replies: dict[int, list[Reply]] = {}
        self.asked: dict[int, str] = {}
        self.own_memory: set[int] = set()
        self.differing: dict[str, None] = {}
        self._open: dict[str | None, list[Reply]] = {}

    def hear(self, record: Record) -> None:
        """Take in a message or a call."""
        branch = record["branch"]
        if record["t"] == "call":
            if record["purpose"] in _ANSWERS and record["reply"] is not None:
                # The rounds of one answer: every reply since the user's last word.
                rounds = self._open.setdefault(branch, [])
                rounds.append(Reply.from_dict(record["reply"]))
                self.replies[record["n"]] = list(rounds)
                self.asked[record["n"]] = self.texts[branch][-1] if self.texts[branch] else ""
                if record["view"] is None:
                    self.own_memory.add(record["n"])
            return
        if record.get("message") is None:
            return
        message = Message.from_dict(record["message"])
        if message.role == "system":
            self.system[branch] = message.text
            if branch is None:
                self._compare("the system prompt", message.text, self.script.system)
        elif message.role == "user":
            self.texts[branch].append(message.text)
            self._open[branch] = []
            if branch is None and record["origin"] != "probe" and 1 <= record["turn"] <= len(self.script.turns):
                wanted = self.script.turns[record["turn"] - 1].user
                self._compare(f"turn {record['turn']} ({record['origin']})", message.text, wanted)

    def _compare(self, place: str, sent: str, wanted: str | None) -> None:
        if not self._same(sent, wanted):
            self.differing[place] = None

    def _same(self, sent: str, wanted: str | None, system: str | None = None) -> bool:
        """True when the text is what was sent. An agent hears the system prompt in its first message."""
        opening = self.script.system if system is None else system
        forms = [wanted or "", *([f"{opening}\n\n{wanted}"] if opening else [])]
        return any(sent == self.redact.text(form) for form in forms)

    def refuses(self, question: Question, record: Record) -> str | None:
        """Why today's check does not judge this reply: the sentence goes on after "…: "; None when it does."""
        sent, branch = self.asked[record["call"]], record["branch"]
        if record["subject"] != question.subject:
            return f"it tested `{record['subject']}` then and tests `{question.subject}` today"
        if question.text is not None and not self._same(sent, question.text, question.system):
            return f"what was asked is not the text of today's file ({_difference(sent, question.text)})"
        if record["kind"] in ("ceiling", "floor"):
            known = self.system.get(branch)
            if known is not None and known != self.redact.text(question.system or ""):
                return "the system prompt it was asked under is not the one of today's file"
            return None
        texts = [*self.texts[None], *(self.texts[branch] if branch is not None else ()), *self.system.values()]
        missing = next((t for t in question.told if not any(self.redact.text(t) in text for text in texts)), None)
        return None if missing is None else f"{_short(missing)} was not said in the session, or in other words"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else line[:59] + "…")


def _difference(sent: str, now: str) -> str:
    """Both texts from the sentence or line on where they part."""
    same = next((at for at, (one, other) in enumerate(zip(sent, now, strict=False)) if one != other), len(sent))
    start = max(sent.rfind(end, 0, same) + len(end) for end in (". ", "? ", "! ", "\n"))
    start = start if start > 2 else 0
    return f"{_short(sent[start:])}, now {_short(now[start:])}"
