"""MT-Eval (Kwan et al. 2024): a global instruction in the first turn, a refinement in every turn, labels to keep to.

Rows as `create_data.py` of its repository writes them, and as its data set on Hugging Face holds them: ``{conv: [{user,
sys, id, do_inference, inst?}], id}``. Which of its tasks a row is shows in the row. The global instructions are those
of IFEval (Zhou et al. 2023) said for a whole conversation; their templates are fixed sentences, so that the check and
its numbers are read from the instruction itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextrot.tasks.base import SAMPLES, Intake, Option, Raw, register
from contextrot.tasks.files import expect, json_rows
from contextrot.tasks.grading import judged
from contextrot.tasks.history import Turn, can_state, scripted, slug
from contextrot.tasks.rules import language_check, rule_check

Made = Callable[[re.Match[str]], Raw | None]


def _always(**check: Any) -> Made:
    return lambda _: dict(check)


def _affix(kind: str) -> Made:
    return lambda found: {"type": kind, "text": found[1], "case_sensitive": False}


def _count(unit: str, bound: str, more: int = 0) -> Made:
    return lambda found: {"type": "count", "unit": unit, bound: int(found[1]) + more}


def _words(key: str, **more: Any) -> Made:
    return lambda found: {"type": "keyword", key: list(map(str, ast.literal_eval(found[1]))), **more}


#: Two different parts with six asterisks between them.
_TWO = {
    "matches": r"\A(?:(?!\*{6})[\s\S])*\S\s*\*{6}\s*(?!\*)\S(?:(?!\*{6})[\s\S])*\Z",
    "not_matches": r"\A\s*([\s\S]*?\S)\s*\*{6}\s*\1\s*\Z",
}
#: JSON alone, or alone in a fence.
_JSON = [
    {"type": "json"},
    {
        "type": "all_of",
        "checks": [
            {"type": "json", "only": False},
            {"type": "regex", "matches": r"\A```(?:json|Json|JSON)?\s[\s\S]*```\Z"},
        ],
    },
]
#: What every sentence of `utils/global_inst.py` says a reply has to be.
_INSTRUCTIONS: tuple[tuple[str, Made], ...] = (
    (r"with the letter (\w)\.", _affix("starts_with")),
    (r"conversation with emoji\.", _always(type="regex", matches=r"\A[😀-🙏🌀-🗿🚀-🛿🤀-🫿🇦-🇿☀-➿⌚-⏿⬀-⯿]")),
    (r"exact phrase '(.+?)'\. No other", _affix("ends_with")),
    (r"must be written in (\w+) language", lambda found: language_check(found[1])),
    (r"wrapped in JSON format", _always(type="any_of", checks=_JSON)),
    (r"less than (\d+) words", _count("words", "at_most", -1)),
    (r"less than (\d+) sentences", _count("sentences", "at_most", -1)),
    (r"exactly (\d+) bullet points", _count("bullets", "exactly")),
    (r"must only use bullet points", _always(type="count", unit="bullets", at_least=1)),
    (r"Include keywords (\[[^\]]*\]) in all", _words("all")),
    (r"in all capital letters", _always(type="case", **{"is": "upper"})),
    (r"in all lower letters", _always(type="case", **{"is": "lower"})),
    (r"refrain from the use of any commas", _always(type="regex", matches=r"\A[^,]*\Z")),
    (r"separated by 6 asterisk symbols", _always(type="regex", **_TWO)),
    (
        r"at least (\d+) placeholders represented by square",
        lambda found: {"type": "regex", "matches": rf"(?:\[[^\]]+\][\s\S]*){{{found[1]}}}"},
    ),
    (r"one of the following options: ([(\[][^)\]]*[)\]])", _words("any", case_sensitive=True)),
)


@register(
    "mt-eval",
    title="MT-Eval: global instructions, labels and refinements over many turns",
    licence="MIT.",
    citation="Kwan et al. 2024, MT-Eval: A Multi-Turn Capabilities Evaluation Benchmark for Large Language Models.",
    link="https://github.com/KwanWaiChung/MT-Eval",
    file="a JSON Lines file of MT-Eval (recollection_multi_global-inst, recollection_multi_cls or refinement_multi)",
    options={
        "task": Option("all", "which of its tasks", ("all", "global-inst", "cls", "refinement")),
    },
    sample=SAMPLES / "mt-eval" / "recollection_multi_global-inst.jsonl",
)
def scenarios(path: Path, intake: Intake) -> Iterator[Raw]:
    """One scenario per dialogue."""
    for number, row in enumerate(json_rows(path, name="MT-Eval", keys=("conv", "id")), 1):
        where = f"{path}, dialogue {number}"
        conv = row["conv"]
        expect(isinstance(conv, list) and bool(conv), where, "`conv` is not a list of turns")
        for turn in conv:
            good = isinstance(turn, Mapping) and isinstance(turn.get("user"), str) and turn["user"].strip()
            expect(bool(good), where, "a turn of `conv` has no `user` text")
        kind = _kind(conv)
        make = _MAKERS.get(kind)
        if make is None or intake.options["task"] not in ("all", kind):
            intake.leave_out(f"dialogues of the task {kind}")
            continue
        raw = make(slug("mt-eval", kind, row["id"]), conv, intake)
        if raw is not None:
            yield raw


def _kind(conv: Sequence[Mapping[str, Any]]) -> str:
    """The task a dialogue is of: the first two turns of a follow-up are given, of the others the first or none."""
    given = [turn.get("do_inference") is False for turn in conv[:2]]
    if all(given) and len(conv) > 1:
        return "follow-up"
    if given[0]:
        return "cls" if "classify the document" in conv[0]["user"] else "global-inst"
    return "refinement"


def _global_instruction(name: str, conv: Sequence[Mapping[str, Any]], intake: Intake) -> Raw | None:
    """The instruction as a standing rule of the first turn, checked on every live reply."""
    rule = str(conv[0]["user"])
    check = _check_of(rule) or judged(f"The reply keeps this instruction: {rule}", intake)
    if check is None:
        return None
    questions = [str(turn["user"]) for turn in conv[1:]][: None if intake.turns is None else max(1, intake.turns - 1)]
    if not questions:
        intake.leave_out("dialogues with nothing but an instruction")
        return None
    constraint: Raw = {"id": "instruction", "text": rule, "place": "first_user", "check": check}
    if str(conv[0].get("sys") or "").strip():
        constraint["reply"] = conv[0]["sys"]
    return {
        "id": name,
        "title": "MT-Eval: one instruction for all replies, said once in the first turn",
        "constraints": [constraint],
        "filler": {"items": questions},
        "session": {"turns": len(questions) + 1},
    }


def _check_of(rule: str) -> Raw | None:
    for pattern, made in _INSTRUCTIONS:
        if found := re.search(pattern, rule):
            return made(found)
    return None


def _labels(name: str, conv: Sequence[Mapping[str, Any]], intake: Intake) -> Raw | None:
    """Labels given in the first turn; every later turn is a document, and the reply its label alone."""
    documents = conv[1:][: None if intake.turns is None else max(1, intake.turns - 1)]
    probes = [
        {
            "id": f"document-{number}",
            "ask": turn["user"],
            "at": number + 1,
            "mode": "inline",
            "constraint": "labels",
            "check": {"type": "recall", "value": str(turn["sys"])},
        }
        for number, turn in enumerate(documents, 1)
        if str(turn.get("sys") or "").strip()
    ]
    if not probes:
        intake.leave_out("dialogues without labels")
        return None
    return {
        "id": name,
        "title": "MT-Eval: documents to be classified with labels that were said in the first turn",
        "constraints": [{"id": "labels", "text": conv[0]["user"], "place": "first_user", "reply": "OK"}],
        "session": {"turns": len(documents) + 1},
        "probes": probes,
    }


def _refinement(name: str, conv: Sequence[Mapping[str, Any]], intake: Intake) -> Raw | None:
    """Each turn refines the answer before: asked on a fork after the recorded turns (the paper's gold context)."""
    turns = [Turn(str(turn["user"]), str(turn.get("sys") or "").strip() or None) for turn in conv]
    turns = turns[: None if intake.turns is None else intake.turns + 1]
    stated: dict[int, str] = {}
    probes: list[Raw] = []
    start = 1
    for number, turn in enumerate(turns, 1):
        if "Instruction: " in turn.user or (number > 1 and _begins(conv, number)):
            start = number  # another task on the same content
        if number == 1 or number == start:
            continue
        rules = "\n".join(f"- {before.user}" for before in turns[start:number])
        check = rule_check(turn.user) or judged(
            f"The reply carries out the last of these instructions and still keeps the ones before it:\n{rules}", intake
        )
        basis = [place for place in dict.fromkeys((1, *range(start, number))) if can_state(turns[place - 1])]
        if check is None or not basis:
            continue
        stated |= {place: f"turn-{place}" for place in basis}
        probes.append(
            {"id": f"refine-{number}", "ask": turn.user, "at": number - 1, "check": check,
             "facts": [f"turn-{place}" for place in basis]}
        )  # fmt: skip
    if not probes:
        intake.leave_out("dialogues without a question that can be graded")
        return None
    parts = scripted(turns[:-1], stated)
    return {"id": name, "title": "MT-Eval: an answer refined turn by turn", **parts, "probes": probes}


def _begins(conv: Sequence[Mapping[str, Any]], number: int) -> bool:
    """True when the turn is the first of its task: its id ends with 1 (`<document>_<task>_1`)."""
    return str(conv[number - 1].get("id", "")).rpartition("_")[2] == "1"


_MAKERS: dict[str, Callable[[str, Sequence[Mapping[str, Any]], Intake], Raw | None]] = {
    "global-inst": _global_instruction,
    "cls": _labels,
    "refinement": _refinement,
}
