"""A recorded session measured as it is, without a call: tool use, repeats, occupancy, compactions, rules kept or not.

One session is one unit, so it has no interval. Of several sessions the length to the first failure is estimated as for
a bench (`survival.kaplan_meier`), the session being the unit.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from contextrot.actions import Done, done, first_done, same_action, unchanged
from contextrot.bench.grading import merge_rounds
from contextrot.checks import grade
from contextrot.checks.base import Check
from contextrot.messages import Reply, mentions
from contextrot.outcomes import Outcome
from contextrot.tokens import TokenCounter
from contextrot.transcripts.base import Transcript

if TYPE_CHECKING:
    from contextrot.analysis.survival import Survival
    from contextrot.scenario.schema import Scenario
    from contextrot.transcripts.redaction import Scrubber

#: A prompt this much shorter than the one before it was compacted, whether the record says so or not.
DROP = 0.30
#: Turns below which thirds say nothing about a trend.
LEAST_TURNS = 9
#: A trend less likely than this by chance is told.
LEVEL = 0.05


class Occupied(NamedTuple):
    """The longest prompt of one turn, in tokens; `recorded` is False for an estimate."""

    turn: int
    tokens: int
    recorded: bool


class Third(NamedTuple):
    """A third of the session: its turns, those that called a tool, and the calls."""

    first: int
    last: int
    turns: int
    with_tools: int
    calls: int

    @property
    def rate(self) -> float:
        """The share of turns that called a tool."""
        return self.with_tools / self.turns


class Repeated(NamedTuple):
    """One action done again after it had succeeded: the tool, its arguments, how often again, and at which turns."""

    tool: str
    arguments: str
    times: int
    turns: tuple[int, ...]


class Compacted(NamedTuple):
    """A compaction: recorded, or inferred from a prompt that is suddenly shorter. Tokens before and after if known.

    `turn` is the first that was answered after it, in both cases.
    """

    turn: int
    recorded: bool
    before: int | None = None
    after: int | None = None
    trigger: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """One rule over the session. `outcomes` has one outcome per turn with an answer, from the turn it was stated."""

    id: str
    check: str
    stated: int
    found: bool
    outcomes: tuple[tuple[int, str, str], ...]

    @property
    def passed(self) -> int:
        """Turns that kept it."""
        return sum(outcome == Outcome.PASS for _, outcome, _ in self.outcomes)

    @property
    def decided(self) -> int:
        """Turns that could tell."""
        return sum(outcome in (Outcome.PASS, Outcome.FAIL) for _, outcome, _ in self.outcomes)

    @property
    def first_failure(self) -> tuple[int, str] | None:
        """The first turn that broke it, and why."""
        return next(((turn, why) for turn, outcome, why in self.outcomes if outcome == Outcome.FAIL), None)

    @property
    def last_decided(self) -> int | None:
        """The last turn that could tell."""
        return max((t for t, outcome, _ in self.outcomes if outcome in (Outcome.PASS, Outcome.FAIL)), default=None)


@dataclass(frozen=True, slots=True)
class Audit:
    """What one recorded session shows. Shares are 0–1, tokens whole, turns from 1."""

    name: str
    format: str
    model: str | None
    turns: int
    messages: int
    calls: int
    steps: tuple[int, ...]
    tool_calls: int
    tool_errors: int
    thirds: tuple[Third, ...]
    trend: str
    trend_p: float | None
    repeats: int
    unchanged: int
    repeated: tuple[Repeated, ...]
    occupancy: tuple[Occupied, ...]
    window: int | None
    cached_share: float | None
    compactions: tuple[Compacted, ...]
    errors: tuple[str, ...]
    rules: tuple[Kept, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def peak(self) -> Occupied | None:
        """The fullest turn."""
        return max(self.occupancy, key=lambda one: one.tokens, default=None)

    @property
    def repeat_rate(self) -> float | None:
        """The share of tool calls that do again what had succeeded; None without a call."""
        return self.repeats / self.tool_calls if self.tool_calls else None

    @property
    def steps_per_turn(self) -> float | None:
        """Model calls a turn, on average; None without a turn."""
        return statistics.fmean(self.steps) if self.steps else None

    @property
    def first_failure(self) -> tuple[int, str] | None:
        """The first turn that broke any rule, and which."""
        found = [(rule.first_failure[0], rule.id) for rule in self.rules if rule.first_failure]
        return min(found, default=None)


class RuleToCheck(NamedTuple):
    """A check to apply to every turn's answer from turn `stated`; `text` is looked for to find that turn."""

    id: str
    check: Check
    stated: int = 0
    text: str | None = None


def rules_of(scenario: Scenario) -> list[RuleToCheck]:
    """The constraints of a scenario that have a check."""
    return [
        RuleToCheck(rule.id, rule.check, rule.turn, rule.text)
        for rule in scenario.constraints
        if rule.check is not None
    ]


def audit(transcript: Transcript, rules: Sequence[RuleToCheck] = (), *, window: int | None = None) -> Audit:
    """Measure one session. `window` (tokens) is taken from the record where it is None and the record says it."""
    turns = transcript.turn_of
    actions = done(transcript.messages, turns)
    first = first_done(actions)
    again = [index for index, before in enumerate(first) if before is not None]
    thirds = _thirds(transcript.turns, actions)
    trend, p_value = _trend(transcript.turns, actions)
    prompts = _prompts(transcript)
    steps = [sum(1 for call in transcript.calls if turns[call.at] == turn) for turn in range(1, transcript.turns + 1)]
    cached = [call.usage for call in transcript.calls if call.usage.cached_tokens is not None]
    sent = sum(usage.prompt_tokens or 0 for usage in cached)
    return Audit(
        name=transcript.name,
        format=transcript.format,
        model=transcript.model,
        turns=transcript.turns,
        messages=len(transcript.messages),
        calls=len(transcript.calls),
        steps=tuple(steps),
        tool_calls=len(actions),
        tool_errors=sum(one.result is not None and not one.succeeded for one in actions),
        thirds=thirds,
        trend=trend,
        trend_p=p_value,
        repeats=len(again),
        unchanged=len(unchanged(actions)),
        repeated=_worst(actions, again),
        occupancy=_by_turn(transcript, prompts),
        window=window or transcript.window,
        cached_share=sum(usage.cached_tokens or 0 for usage in cached) / sent if sent else None,
        compactions=_compactions(transcript, prompts),
        errors=transcript.errors,
        rules=tuple(_kept(transcript, rule) for rule in rules),
        notes=transcript.notes,
    )


def _thirds(turns: int, actions: Sequence[Done]) -> tuple[Third, ...]:
    if turns < 3 or not actions:
        return ()
    # As in a bench (`analysis/actions.py`): a turn is of the first third up to a third of the turns, and so on.
    edges = [turns * k // 3 for k in range(4)]
    found = []
    for start, end in pairwise(edges):
        inside = [one.turn for one in actions if start < one.turn <= end]
        found.append(Third(start + 1, end, end - start, len(set(inside)), len(inside)))
    return tuple(found)


def _trend(turns: int, actions: Sequence[Done]) -> tuple[str, float | None]:
    """`falls`, `rises` or `steady`: Kendall's rank correlation of the turn with whether it called a tool."""
    called = {one.turn for one in actions}
    if turns < LEAST_TURNS or not called:
        return "", None
    if len(called & set(range(1, turns + 1))) == turns:
        return "steady", None
    from scipy.stats import kendalltau

    found = kendalltau(range(1, turns + 1), [int(turn in called) for turn in range(1, turns + 1)])
    p_value = float(found.pvalue)
    if p_value >= LEVEL:
        return "steady", p_value
    return ("falls" if found.statistic < 0 else "rises"), p_value


def _worst(actions: Sequence[Done], again: Sequence[int], most: int = 5) -> tuple[Repeated, ...]:
    groups: dict[str, list[Done]] = {}
    for index in again:
        groups.setdefault(same_action(actions[index].call), []).append(actions[index])
    found = [
        Repeated(one[0].call.name, one[0].call.arguments, len(one), tuple(dict.fromkeys(call.turn for call in one)))
        for one in groups.values()
    ]
    return tuple(sorted(found, key=lambda one: -one.times)[:most])


def _prompts(transcript: Transcript) -> list[tuple[int, int, bool]]:
    """For each call the place of its reply and the tokens of its prompt: as recorded, else estimated.

    The estimate counts the messages since the last recorded compaction, and its summary; not the tools' schemas.
    """
    counter = TokenCounter()
    sizes = [counter.message(message) for message in transcript.messages]
    marks = [(one.at, counter.text(one.summary)) for one in transcript.compactions]
    system = sum(size for size, message in zip(sizes, transcript.messages, strict=True) if message.role == "system")
    before = [0]
    for size in sizes:
        before.append(before[-1] + size)
    found = []
    for call in transcript.calls:
        tokens = call.usage.prompt_tokens
        if tokens:
            found.append((call.at, tokens, True))
            continue
        mark = max((mark for mark in marks if mark[0] <= call.at), default=None)
        estimate = before[call.at] if mark is None else system + mark[1] + before[call.at] - before[mark[0]]
        found.append((call.at, estimate, False))
    return found


def _by_turn(transcript: Transcript, prompts: Iterable[tuple[int, int, bool]]) -> tuple[Occupied, ...]:
    """The longest prompt of each turn. Recorded figures and estimates are not mixed: with any recorded, only those."""
    listed = list(prompts)
    recorded = any(known for _, _, known in listed)
    longest: dict[int, int] = {}
    for at, tokens, known in listed:
        if known == recorded:
            turn = transcript.turn_of[at]
            longest[turn] = max(longest.get(turn, 0), tokens)
    return tuple(Occupied(turn, tokens, recorded) for turn, tokens in sorted(longest.items()))


def _compactions(transcript: Transcript, prompts: Sequence[tuple[int, int, bool]]) -> tuple[Compacted, ...]:
    turns = transcript.turn_of
    found = [
        Compacted(turns[min(one.at, len(turns) - 1)], True, one.before, one.after, one.trigger)
        for one in transcript.compactions
    ]
    marks = [one.at for one in transcript.compactions]
    known = [(at, tokens) for at, tokens, recorded in prompts if recorded]
    for (at, before), (then, after) in pairwise(known):
        if after < (1 - DROP) * before and not any(at < mark <= then for mark in marks):
            found.append(Compacted(turns[then], False, before, after))
    return tuple(sorted(found, key=lambda one: one.turn))


def _stated(transcript: Transcript, rule: RuleToCheck) -> tuple[int, bool]:
    """The turn that states a rule in this session, and whether its text was found; else as the scenario says."""
    wanted = None if rule.text is None else " ".join(rule.text.split())
    if wanted is None:
        return rule.stated, True
    for message, turn in zip(transcript.messages, transcript.turn_of, strict=True):
        if message.role in ("system", "user") and mentions(" ".join(message.text.split()), wanted):
            return turn, True
    return rule.stated, False


def _kept(transcript: Transcript, rule: RuleToCheck) -> Kept:
    """One verdict a turn, on its last text and the calls of all its rounds, as a bench grades it."""
    stated, found = _stated(transcript, rule)
    answers: dict[int, list[Reply]] = {}
    for call in transcript.calls:
        message = transcript.messages[call.at]
        reply = Reply(message.text or None, message.tool_calls, call.finish_reason, usage=call.usage, model=call.model)
        answers.setdefault(transcript.turn_of[call.at], []).append(reply)
    outcomes = []
    for turn, replies in sorted(answers.items()):
        if turn >= max(stated, 1):
            verdict = grade(rule.check, merge_rounds(replies, rule.check), {})
            outcomes.append((turn, verdict.outcome.value, verdict.reason))
    return Kept(rule.id, rule.check.type_name, stated, found, tuple(outcomes))


def sessions_survival(audits: Sequence[Audit]) -> Survival | None:
    """Length to the first failure of any rule over several sessions; None where no rule was applied anywhere."""
    durations, events = [], []
    for one in audits:
        last = max((rule.last_decided for rule in one.rules if rule.last_decided is not None), default=None)
        if one.first_failure is not None:
            durations.append(one.first_failure[0])
            events.append(1)
        elif last is not None:
            durations.append(last)
            events.append(0)
    if not durations:
        return None
    from contextrot.analysis.survival import kaplan_meier

    return kaplan_meier(durations, events)


def without_secrets(one: Audit, scrubber: Scrubber) -> Audit:
    """The audit as it may be shown: what it quotes of the session without keys, tokens and passwords.

    The session itself was measured as it is: a repeated action is one whether or not it holds a secret.
    """

    def rule(kept: Kept) -> Kept:
        return replace(kept, outcomes=tuple((turn, said, scrubber.text(why)) for turn, said, why in kept.outcomes))

    return replace(
        one,
        name=scrubber.name(one.name),
        repeated=tuple(again._replace(arguments=scrubber.text(again.arguments)) for again in one.repeated),
        errors=tuple(map(scrubber.text, one.errors)),
        rules=tuple(map(rule, one.rules)),
        notes=tuple(map(scrubber.text, one.notes)),
    )


def as_data(one: Audit) -> Mapping[str, Any]:
    """The audit as JSON-ready data, rates included."""
    from dataclasses import asdict

    data = asdict(one)
    data["thirds"] = [{**third._asdict(), "rate": third.rate} for third in one.thirds]
    for key in ("occupancy", "repeated", "compactions"):
        data[key] = [entry._asdict() for entry in getattr(one, key)]
    if one.window:
        for entry in data["occupancy"]:
            entry["share"] = entry["tokens"] / one.window
    data["steps_per_turn"] = one.steps_per_turn
    data["repeat_rate"] = one.repeat_rate
    failure = one.first_failure
    data["first_failure"] = None if failure is None else {"turn": failure[0], "rule": failure[1]}
    data["rules"] = [
        {
            "id": rule.id,
            "check": rule.check,
            "stated": rule.stated,
            "statement_found": rule.found,
            "passed": rule.passed,
            "decided": rule.decided,
            "first_failure": None if rule.first_failure is None else rule.first_failure[0],
            "by_turn": [{"turn": turn, "outcome": outcome, "reason": why} for turn, outcome, why in rule.outcomes],
        }
        for rule in one.rules
    ]
    return data
