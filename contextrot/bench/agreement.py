"""How far a judge agrees with people: the same questions as in a bench, asked about replies that carry a label.

A judge is a measuring instrument and has to be measured itself: overall agreement flatters it where one label is
common, so that Cohen's kappa (Cohen 1960) and the two error rates stand beside it, each with its interval.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from contextrot.bench.gate import Gate
from contextrot.bench.judging import known_opinion, vote_temperature
from contextrot.bench.plan import seed_of
from contextrot.checks import load_check
from contextrot.checks.judge import VOTE_TOKENS, Judge, Vote, judge_messages, read_vote, verdict_of
from contextrot.config import read_yaml_file
from contextrot.errors import ConfigError, ContextOverflowError
from contextrot.messages import Reply
from contextrot.models import Model, prepare
from contextrot.models.base import Call
from contextrot.outcomes import Outcome, Verdict
from contextrot.yaml_source import Node

_KEYS = ("rubric", "ask", "reply", "label")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One reply with what people say of it. `line` is where it stands in its file."""

    rubric: str
    ask: str
    reply: str
    passes: bool
    line: int = 0


class Share(NamedTuple):
    """`hits` of `of`, as a share with its 95 % interval (Wilson 1927); None where there is nothing to share."""

    hits: int
    of: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the judge said of one labelled reply, and each of its votes."""

    labelled: Labelled
    verdict: Verdict
    votes: tuple[Vote, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge against labels. Undecided replies enter no rate but their own.

    false_pass: of the replies labelled fail, those it passes; false_fail: the other way round. consistency: the share
    of votes that say what most votes on their reply say. kappa is None where labels or
    verdicts are all the same, because it is not defined there.
    """

    judge: str
    votes: int
    agreement: Share
    false_pass: Share
    false_fail: Share
    undecided: Share
    consistency: Share
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    opinions: tuple[Opinion, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, one entry a reply under `replies`."""
        shares = ("agreement", "false_pass", "false_fail", "undecided", "consistency")
        return {
            "judge": self.judge,
            "votes": self.votes,
            "n": len(self.opinions),
            **{name: getattr(self, name)._asdict() for name in shares},
            "kappa": {"value": self.kappa, "low": self.kappa_low, "high": self.kappa_high},
            "replies": [
                {
                    "line": opinion.labelled.line,
                    "label": "pass" if opinion.labelled.passes else "fail",
                    "outcome": opinion.verdict.outcome.value,
                    "reason": opinion.verdict.reason,
                    "votes": [_WORDS[vote.passes] for vote in opinion.votes],
                }
                for opinion in self.opinions
            ],
        }


_WORDS = {True: "pass", False: "fail", None: "undecided"}


def load_labels(path: Path) -> list[Labelled]:
    """Labelled replies from YAML: a list of ``{rubric, ask, reply, label: pass|fail}``.

    Raises `ConfigError` with every fault as ``file:line: sentence``.
    """
    root, found = read_yaml_file(path)
    faults = [(fault.line, fault.sentence) for fault in found]
    labels: list[Labelled] = []
    if root is None or root.kind != "list" or not root.children:
        line = root.line if root is not None else 1
        faults.append((line, "labels are a list of {rubric, ask, reply, label: pass | fail}"))
    else:
        for node in root.children.values():
            labels += _read(node, faults)
    if faults:
        raise ConfigError("\n".join(f"{path}:{line}: {sentence}" for line, sentence in sorted(faults)))
    return labels


def _read(node: Node, faults: list[tuple[int, str]]) -> list[Labelled]:
    """One entry, or nothing and what is wrong with it."""
    before = len(faults)
    values = node.data() if node.kind == "map" else {}
    for key in values:
        if key not in _KEYS:
            faults.append((node.keys[key], f"unknown key `{key}`; an entry has {', '.join(_KEYS)}"))
    for key in _KEYS:
        if key not in values:
            faults.append((node.line, f"`{key}` is missing"))
        elif key == "label" and (not isinstance(values[key], str) or values[key] not in ("pass", "fail")):
            shown = node.children[key].text or values[key]
            faults.append((node.keys[key], f"`label` is {shown!r:.40}, but must be pass or fail"))
        elif not isinstance(values[key], str) or not values[key].strip():
            faults.append((node.keys[key], f"`{key}` must be text (quote it)"))
    if len(faults) > before:
        return []
    return [Labelled(values["rubric"], values["ask"], values["reply"], values["label"] == "pass", node.line)]


async def measure(
    model: Model,
    labels: Sequence[Labelled],
    *,
    votes: int = 3,
    concurrency: int = 8,
    timeout: float = 120.0,
    seed: int = 0,
    on_reply: Callable[[Opinion], None] | None = None,
) -> Agreement:
    """Ask the judge about every labelled reply, all votes of each. Raises `ConfigError` or `ModelError`."""
    await prepare(model)
    gate = Gate(model, concurrency=concurrency)

    async def opinion(number: int, labelled: Labelled) -> Opinion:
        judge = load_check({"type": "judge", "rubric": labelled.rubric, "votes": votes})
        assert isinstance(judge, Judge)
        messages = judge_messages(judge, labelled.ask, Reply.from_dict(labelled.reply), {})
        cast = []
        for vote in range(votes):
            call = Call(
                messages=messages,
                max_tokens=VOTE_TOKENS,
                temperature=vote_temperature(vote),
                seed=seed_of(seed, "agreement", number, vote),
                session=f"agreement-{number}",
                timeout=timeout,
                hint=known_opinion(judge) if model.simulated else None,
            )
            try:
                cast.append(read_vote((await gate.complete(call)).reply))
            except ContextOverflowError:
                cast.append(Vote(None, "the reply is too long for the judge's window"))
        found = Opinion(labelled, verdict_of(cast, votes), tuple(cast))
        if on_reply is not None:
            on_reply(found)
        return found

    opinions = await asyncio.gather(*(opinion(number, labelled) for number, labelled in enumerate(labels)))
    return compared(model.spec.label, votes, opinions)


def compared(judge: str, votes: int, opinions: Sequence[Opinion]) -> Agreement:
    """The figures for opinions that were given."""
    decided = [
        (opinion.labelled.passes, opinion.verdict.outcome is Outcome.PASS)
        for opinion in opinions
        if opinion.verdict.outcome.decided
    ]
    table = Counter(decided)
    kappa, low, high = _kappa(table)
    most = [
        Counter(vote.passes for vote in opinion.votes).most_common(1)[0][1] for opinion in opinions if opinion.votes
    ]
    return Agreement(
        judge=judge,
        votes=votes,
        agreement=_share(sum(label == said for label, said in decided), len(decided)),
        false_pass=_share(table[False, True], table[False, True] + table[False, False]),
        false_fail=_share(table[True, False], table[True, False] + table[True, True]),
        undecided=_share(len(opinions) - len(decided), len(opinions)),
        consistency=_share(sum(most), sum(len(opinion.votes) for opinion in opinions)),
        kappa=kappa,
        kappa_low=low,
        kappa_high=high,
        opinions=tuple(opinions),
    )


def _share(count: int, of: int) -> Share:
    if not of:
        return Share(count, of, None, None, None)
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(count, of, method="wilson")
    return Share(count, of, count / of, max(0.0, float(low)), min(1.0, float(high)))


def _kappa(table: Counter[tuple[bool, bool]]) -> tuple[float | None, float | None, float | None]:
    """Cohen's kappa with its asymptotic 95 % interval (Fleiss, Cohen and Everitt 1969, by statsmodels)."""
    rows = [[table[label, said] for said in (True, False)] for label in (True, False)]
    one_sided = not all(map(sum, rows)) or not all(map(sum, zip(*rows, strict=True)))
    if one_sided:
        return None, None, None
    from statsmodels.stats.inter_rater import cohens_kappa

    found = cohens_kappa(rows)
    return float(found.kappa), max(-1.0, float(found.kappa_low)), min(1.0, float(found.kappa_upp))
