"""Today's checks on the replies of a recorded run: what would be judged otherwise, without a call.

A verdict is given anew only where its question is certain to be the one that was asked: the probe's text is what was
sent, and what it rests on (a rule, a fact's value) was told as the scenario tells it today. Everything else is kept as
it was recorded, and said. Strategies that act on failures acted on the recorded verdicts: the prompts are what they
were.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from contextrot.analysis.recorded_questions import Questions, Said
from contextrot.analysis.replay_view import Record, read_transcript
from contextrot.analysis.tables import load_run
from contextrot.bench.grading import graded_fields, merge_rounds
from contextrot.bench.redact import Redactor
from contextrot.bench.store import RunDirectory
from contextrot.checks import grade, open_question
from contextrot.errors import ConfigError, NothingMatchedError, ScenarioError, StoreError
from contextrot.messages import Reply
from contextrot.scenario import Scenario, expand, load_scenarios
from contextrot.scenario.library import shipped

#: Characters of a reply that are kept of a changed verdict.
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Change:
    """A verdict whose outcome is another one today. `before` and `after` are outcomes."""

    session: str
    scenario: str
    turn: int
    kind: str
    id: str
    check: str
    before: str
    after: str
    reason_before: str
    reason_after: str
    reply: str


@dataclass(slots=True)
class Row:
    """How the verdicts of one probe or rule fare under its check of today."""

    scenario: str
    id: str
    check: str
    same: int = 0
    pass_to_fail: int = 0
    fail_to_pass: int = 0
    other: int = 0


@dataclass(slots=True)
class Refusal:
    """Verdicts of one question that are kept: today's file does not say what was sent. `reason` is the first's."""

    scenario: str
    kind: str
    id: str
    reason: str
    verdicts: int = 0

    def __str__(self) -> str:
        return f"{self.scenario}, {self.kind} `{self.id}`: {self.reason}"


@dataclass
class Rescored:
    """What a rescoring found.

    `unanswered` verdicts have no reply to read (not run, overflow, …), `judged` ones are a judge model's; both are kept
    as recorded, and so are the `refused` ones. `notes` are sentences about the files. `sources` says where each
    scenario's checks were read: id → (path, content hash).
    """

    run: Path
    rows: dict[tuple[str, str, str], Row] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    unanswered: int = 0
    judged: int = 0
    refused: dict[tuple[str, str, str], Refusal] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    sources: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def kept(self) -> dict[str, int]:
        """Verdicts that stay as they were recorded, by why."""
        refused = sum(refusal.verdicts for refusal in self.refused.values())
        return {"unanswered": self.unanswered, "judged": self.judged, "refused": refused}

    @property
    def graded(self) -> int:
        """Verdicts given anew."""
        return sum(row.same + row.pass_to_fail + row.fail_to_pass + row.other for row in self.rows.values())

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "run": str(self.run),
            "graded": self.graded,
            "changed": len(self.changes),
            "kept": self.kept,
            "checks": [_fields(row) for row in self.rows.values()],
            "changes": [_fields(change) for change in self.changes],
            "refused": [_fields(refusal) for refusal in self.refused.values()],
            "notes": self.notes,
            "scenarios": self._sources(),
        }

    def mark(self) -> Record:
        """What the `run.json` of the rescored run says of where it comes from."""
        return {
            "from": str(self.run),
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "version": version("contextrot-bench"),
            "graded": self.graded,
            "changed": len(self.changes),
            "kept": self.kept,
            "refused": [_fields(refusal) for refusal in self.refused.values()],
            "scenarios": self._sources(),
        }

    def _sources(self) -> list[dict[str, str]]:
        return [{"id": id_, "source": path, "hash": digest} for id_, (path, digest) in self.sources.items()]


def _fields(row: Row | Change | Refusal) -> dict[str, Any]:
    return {name: getattr(row, name) for name in type(row).__slots__}


def rescore(
    run: str | os.PathLike[str], scenarios: Sequence[str | Path] = (), out: str | os.PathLike[str] | None = None
) -> Rescored:
    """Judge a run's recorded replies by the checks of today's scenario files.

    `scenarios` name files, folders, suites or shipped ids whose checks are used; sessions of other scenarios are then
    left alone. Without it, the files the run was made from are read again. `out` names a new folder for a run with
    the verdicts given anew; the recorded run is never touched.

    Raises `StoreError` when the run cannot be read or `out` is in use, `ConfigError` or `ScenarioError` for the
    files, `NothingMatchedError` when no verdict could be given anew.
    """
    loaded = load_run(run)
    today = _given(scenarios, loaded.config) if scenarios else _recorded(loaded.config)
    result = Rescored(loaded.path, sources={s.id: (str(s.path), s.content_hash) for s in today.values()})
    if out is not None:
        _refuse_used(Path(out), loaded.path)
    files = sorted((loaded.path / "sessions").glob("*.jsonl"))
    again = _Pass(today, result)
    for path in files:
        again.session(path)
    result.notes += again.notes(loaded.config)
    if not result.graded:
        why = "".join(f"\n  {reason}" for reason in [*result.refused.values(), *result.notes][:5])
        raise NothingMatchedError(f"no verdict of {loaded.path} could be given anew{why}")
    if out is not None:
        # A second pass: nothing is written before it is known that there is something to write.
        with RunDirectory.at(Path(out)) as target:
            again = _Pass(today, Rescored(loaded.path))
            for path in files:
                target.write(f"sessions/{path.name}", b"".join(again.session(path, keep=True)))
            target.write_manifest(loaded.config | {"rescored": result.mark()})
    return result


def _refuse_used(path: Path, run: Path) -> None:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise StoreError(f"{path} is in use already; name a new folder, {run} itself is never changed")


# ---- where today's checks come from ---------------------------------------------------------------------------------


def _by_id(names: Sequence[str | Path]) -> dict[str, Scenario]:
    """Every scenario of these files by id, cells of a grid one by one."""
    return {cell.id: cell for scenario in load_scenarios(names) for cell in scenario.cells()}


def _given(names: Sequence[str | Path], config: Mapping[str, Any]) -> dict[str, Scenario]:
    ran = [entry["id"] for entry in config.get("scenarios", ())]
    found = {id_: scenario for id_, scenario in _by_id(names).items() if id_ in ran}
    if not found:
        raise NothingMatchedError(f"the run has none of the scenarios named; it has {', '.join(ran)}")
    return found


def _recorded(config: Mapping[str, Any]) -> dict[str, Scenario]:
    """The files a run was made from, as they are today."""
    sources = {entry["id"]: str(entry.get("source") or entry["id"]) for entry in config.get("scenarios", ())}
    # A shipped file may lie elsewhere by now: another machine, another version.
    known = {entry.id for entry in shipped()}
    names = {
        Path(source).stem if not Path(source).is_file() and Path(source).stem in known else source: None
        for source in sources.values()
    }
    try:
        found = _by_id(list(names))
    except ScenarioError as error:
        raise ConfigError(
            f"the checks are read from the scenario files of the run, and these cannot be used; name them with "
            f"--scenario:\n{error}"
        ) from None
    return {id_: scenario for id_, scenario in found.items() if id_ in sources}


# ---- one session after the other ------------------------------------------------------------------------------------


class _Pass:
    """Goes over a run's sessions, counting into `result`."""

    def __init__(self, today: Mapping[str, Scenario], result: Rescored) -> None:
        self.today, self.result = today, result
        self.redact = Redactor()
        #: per scenario: places whose text is not what was sent
        self.differing: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self.left_alone: Counter[str] = Counter()
        self.unreadable: list[str] = []
        self.seen: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        self.expanded = lru_cache(maxsize=64)(self._expand)

    def _expand(self, scenario: str, seed: int, repeat: int, turns: int, history: str) -> Questions:
        # Replies written in advance are no part of what is judged, and a gold one may break a check of today.
        arm: Any = "scripted" if history == "gold" else history
        return Questions(expand(self.today[scenario], seed=seed, repeat=repeat, turns=turns, history=arm))

    def session(self, path: Path, *, keep: bool = False) -> list[bytes]:
        """Judge one session anew. With `keep`, its lines are returned, those of changed verdicts replaced."""
        lines = path.read_bytes().splitlines(keepends=True) if keep else []
        try:
            transcript = read_transcript(path)
        except StoreError as error:
            self.unreadable.append(f"kept as recorded: {error}")
            return lines
        head, name = transcript.head, transcript.head["scenario"]
        if name not in self.today:
            self.left_alone[name] += 1
            return lines
        questions = self.expanded(name, head["seed"], head["repeat"], head["turns"], head["history"])
        said = Said(questions.script, self.redact)
        for number, record in enumerate(transcript.records, 1):
            if record["t"] in ("msg", "call"):
                said.hear(record)
            elif record["t"] == "verdict":
                now = self._again(record, said, questions, head)
                if keep and now != record:
                    lines[number] = orjson.dumps(now, option=orjson.OPT_APPEND_NEWLINE)
        self.differing[name] |= said.differing
        return lines

    def _again(self, record: Record, said: Said, questions: Questions, head: Record) -> Record:
        """The verdict's record as it would be written today; the recorded one where that cannot be said."""
        result, call = self.result, record.get("call")
        self.seen[head["scenario"]].add((record["kind"], record["id"]))
        if call is None or call not in said.replies:
            result.unanswered += 1
            return record
        question = questions.of(record)
        why = "it is not asked there in today's file" if question is None else said.refuses(question, record)
        if question is None or why is not None:
            key = (head["scenario"], record["kind"], record["id"])
            result.refused.setdefault(key, Refusal(*key, why or "")).verdicts += 1
            return record
        replies = said.replies[call]
        reply = merge_rounds(replies, question.check)
        if open_question(question.check, reply, question.facts) is not None:
            result.judged += 1
            return record
        verdict = grade(question.check, reply, question.facts)
        now = record | graded_fields(
            verdict, record["kind"], question.check, record["in_view"], replies, question.facts
        )
        if call in said.own_memory:
            now["cause"] = None  # nothing is known of what an agent's model was sent
        self._count(record, now, head, reply)
        return now

    def _count(self, before: Record, now: Record, head: Record, reply: Reply) -> None:
        key = (head["scenario"], now["id"], now["check"])
        row = self.result.rows.setdefault(key, Row(*key))
        pair = (before["outcome"], now["outcome"])
        if pair[0] == pair[1]:
            row.same += 1
            return
        if pair == ("pass", "fail"):
            row.pass_to_fail += 1
        elif pair == ("fail", "pass"):
            row.fail_to_pass += 1
        else:
            row.other += 1
        shown = reply.text or "; ".join(f"{call.name}({call.arguments})" for call in reply.tool_calls)
        self.result.changes.append(
            Change(
                head["key"], head["scenario"], now["turn"], now["kind"], now["id"], now["check"], *pair,
                before["reason"], now["reason"], shown[:_SHOWN],
            )
        )  # fmt: skip

    def notes(self, config: Mapping[str, Any]) -> list[str]:
        """How the files differ from what was run, in sentences."""
        hashes = {entry["id"]: entry.get("hash") for entry in config.get("scenarios", ())}
        found = list(self.unreadable)
        for id_, scenario in self.today.items():
            changed = hashes.get(id_) != scenario.content_hash
            places = list(self.differing[id_])
            if places:
                what = "the file" if changed else "what contextrot makes of it"
                more = f" and {len(places) - 4} more" if len(places) > 4 else ""
                found.append(
                    f"{id_}: {what} has changed since the run in more than checks; other words than were sent: "
                    f"{', '.join(places[:4])}{more}"
                )
            elif changed:
                found.append(
                    f"{id_}: the file has changed since the run; what it says in a session is still what was sent"
                )
            rules = [rule.id for rule in scenario.constraints if rule.check is not None]
            new = [("passive", rule) for rule in rules] + [("probe", probe.id) for probe in scenario.probes]
            for kind, name in new:
                if self.seen[id_] and (kind, name) not in self.seen[id_] and not _tests(scenario, name):
                    found.append(f"{id_}: the run has no verdict of the {kind} check `{name}`; only a new run has one")
        found += [
            f"{id_}: its sessions ({n}) are kept as recorded; no file with this scenario was read"
            for id_, n in self.left_alone.items()
        ]
        return found


def _tests(scenario: Scenario, rule: str) -> bool:
    """True for a rule that a probe tests by itself, so that it need not be checked on any other reply."""
    return any(probe.constraint == rule for probe in scenario.probes)
