"""A run in which every text that a model, a user or a file could supply is hostile."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
from run_writer import SessionWriter, write_manifest

from contextrot.analysis.tables import Run, load_run

PWN = "__pwned=1"  # short, because names are cut

#: What a text may try, each in one string that goes into every field.
HOSTILE: dict[str, str] = {
    "script": f"<script>{PWN}</script>",
    "close-script": f"</script><script>{PWN}</script>",
    "close-script-in-capitals": f"</SCRIPT ><SCRIPT\n>{PWN}</SCRIPT>",
    "image": f'"><img src=x onerror={PWN}>',
    "image-in-quotes": f"' onmouseover='{PWN}' onfocus='{PWN}' autofocus x='<img src=/x onerror={PWN}>",
    "svg": f"<svg onload={PWN}><foreignObject><iframe srcdoc='<script>parent.{PWN}</script>'></foreignObject></svg>",
    "svg-title": f"</title></text></svg><style>*{{display:none}}</style><script>{PWN}</script>",
    "style": "</style><style>body{display:none!important;background:url(http://example.invalid/x)}</style>",
    "comment": f"<!-- --><script>{PWN}</script><!--",
    "comment-in-script": "<!--<script>",
    "cdata": f"]]><script>{PWN}</script><![CDATA[",
    "link": f"<a href='javascript:{PWN}' ping=http://example.invalid/x>x</a> javascript:{PWN}",
    "base": "<base href=http://example.invalid/><link rel=stylesheet href=http://example.invalid/x.css>",
    "refresh": "<meta http-equiv=refresh content='0;url=http://example.invalid/'><form action=http://example.invalid/>",
    "template": "{{7*7}} {% for x in ().__class__.__base__.__subclasses__() %}{{x}}{% endfor %} {# x #} ${7*7} #{7*7}",
    "json": '"}],"x":{"__proto__":{"polluted":1}}\\u0022\\"\\\\',
    "prototype": "__proto__",
    "constructor": "constructor",
    "entities": "&lt;script&gt;&#60;img src=x onerror=__pwned=1&#62;&amp;&quot;",
    "line-separators": "before\u2028after\u2029end\x85next",
    "bidi": "safe\u202egpj.exe\u202c \u2066hidden\u2069 \u200eleft\u200fright \u061c",
    "zero-width": "pass\u200bword \ufeffBOM \u2060joiner \u00adsoft \u180e",
    "ansi": "\x1b[31mred\x1b[0m \x1b]8;;http://example.invalid\x07link\x1b]8;;\x07 \x9b31m",
    "controls": "nul\x00 bell\x07 back\x08 escape\x1b delete\x7f return\rline\nfeed\ttab",
    "tags-block": "flag\U000e0041\U000e0042\U000e007f private\ue000\U0010fffd variation\ufe0f",
    "combining": "Z" + "\u0301" * 10_000,
    "right-to-left": "שלום עולם (مرحبا بالعالم) 123 abc",
    "emoji": "👩‍👩‍👧‍👦 🏴‍☠️ 👨🏽‍🚀 ❤️‍🔥",
    "unbroken": "W" * 3_000,
    "fragment": "&turn=1#session=x&turn=2?/../%00%3Cscript%3E",
    "empty": "",
    "blank": " \n\t ",
}  # fmt: skip
#: Names made of several of them, because each group of a run costs its statistics; some are worth a name alone.
ALONE = ("prototype", "constructor", "combining", "unbroken", "empty")
MESSAGE_BYTES = 1_000_000


def one_line_of(size: int, seed: int = 0) -> str:
    """Text on one line that hardly compresses."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=size))


def hostile_run(folder: Path) -> Run:
    """Every text of `HOSTILE` in names and as the content of everything; and a session of messages of 1 MB."""
    run = _run(folder, HOSTILE, one_line_of(MESSAGE_BYTES), f'"><img src=x onerror={PWN}>')
    damaged = folder / "sessions" / f"<img src=x onerror={PWN}>.jsonl"
    damaged.write_bytes(b'{"t":"head","key":"\\ud800<script>"\n{"t":\n')
    return run


def sessions() -> dict[str, str]:
    """The key of the session that says a text, for each kind of `HOSTILE`."""
    kinds = {text: kind for kind, text in HOSTILE.items()}
    return {
        kinds[text]: _key(group, repeat)
        for group, contents in enumerate(_names(HOSTILE).values())
        for repeat, text in enumerate(contents)
    }


def _key(group: int, repeat: int) -> str:
    return f"h{group:02d}--r{repeat:03d}"


def _names(texts: dict[str, str], together: int = 7) -> dict[str, list[str]]:
    """Names, each with the texts that the sessions under it say."""
    names = {texts[name]: [texts[name]] for name in ALONE}
    rest = [text for name, text in texts.items() if name not in ALONE]
    for start in range(0, len(rest), together):
        several = rest[start : start + together]
        names[" ".join(several)] = several
    return names


def _run(folder: Path, by_kind: dict[str, str], long: str, key: str) -> Run:
    texts, names = list(by_kind.values()), _names(by_kind)
    write_manifest(
        folder,
        command=" ".join(text for text in texts if len(text) < 1000),
        config={"seed": 7, "repeats": 2, "models": [{"id": name, "label": name} for name in names]},
        scenarios=[{"id": name, "title": name, "source": name, "hash": name, "family": name} for name in names],
        models=[{"label": name, "id": name, "simulated": True, "own_memory": False, "window": 1000} for name in names],
        strategies=list(names),
        versions={text: text for text in texts},
        git_commit=texts[0],
        auxiliary=texts[1],
        judge=texts[2],
        embedder=texts[3],
    )
    for group, (name, contents) in enumerate(names.items()):
        for repeat, text in enumerate([*contents, contents[0]]):
            _session(folder, _key(group, repeat), name, text, repeat)
        _control(folder, f"h{group:02d}--control", name)
    _session(folder, f"long{key}", next(iter(names)), long, 99)
    _gates(folder, texts)
    return load_run(folder)


def _message(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def _session(folder: Path, key: str, name: str, text: str, repeat: int) -> None:
    """Five turns; the check passes at 2, fails at 4 in the first of a group, the call of turn 5 ends in an error."""
    session = SessionWriter(
        folder, key, scenario=name, model=name, model_id=name, strategy=name, family=name, repeat=repeat,
        turns=6, auxiliary=name, embedder=name, judge=name, scenario_hash=name, strategy_hash=name,
    )  # fmt: skip
    session.say(0, text, origin="system", role="system")
    session.say(0, text, origin="constraint")
    session.say(1, text, origin="fact")
    for turn in range(1, 6):
        session.say(turn, text, origin="distractor" if turn == 3 else "filler")
        call = {"id": text, "type": "function", "function": {"name": name, "arguments": text}}
        reply = {
            "content": text, "tool_calls": [call], "finish_reason": "stop", "reasoning": text, "refusal": text
        }  # fmt: skip
        end = session.indexes[None]
        statuses = ["verbatim", "masked", "offloaded", "summarised", "retrieved", "dropped"]
        view = {
            "ranges": [[0, 1], [2, end]],
            "made": [[1, _message(text)]],
            "manifest": [["verbatim", 0, 1], [statuses[turn], 1, 2], ["verbatim", 2, end]],
            "tokens": 80, "hash": "h", "tools": [name],
        }  # fmt: skip
        failed = {"reply": None, "outcome": "error", "error": text, "usage": None} if turn == 5 else {"reply": reply}
        number = session.call(turn, view=view, model=name, asked=name, **failed)
        if turn == 5:
            break
        session.reply(turn, number)
        result = {"role": "tool", "tool_call_id": text, "name": name, "content": text}
        session.add(
            {"t": "msg", "i": session.indexes[None], "turn": turn, "branch": None, "origin": "tool", "pinned": True,
             "message": result, "task": name}
        )  # fmt: skip
        session.indexes[None] += 1
        session.event(turn, name or "event", **{name or "key": text, "from": text, "to": text})
        if turn in (2, 4):
            _probe(session, turn, text, name, "fail" if turn == 4 and repeat == 0 else "pass")
    session.end(5, "error", text)


def _probe(session: SessionWriter, turn: int, text: str, name: str, outcome: str) -> None:
    branch = f"{name}@{turn}"
    session.say(turn, text, origin="probe", branch=branch)
    number = session.call(turn, text=text, branch=branch)
    session.reply(turn, number, branch=branch)
    session.verdict(
        turn, outcome, id=name, item=name, subject=name, check=name, branch=branch, call=number, reason=text,
        evidence=text, cause="ignored" if outcome == "fail" else None,
    )  # fmt: skip
    session.verdict(
        turn, "inconclusive", id=name, subject=name, check=name, branch=None, kind="passive", reason=text, evidence=text
    )


def _control(folder: Path, key: str, text: str) -> None:
    session = SessionWriter(folder, key, scenario=text, model=text, strategy="control", family=text, control=True)
    for kind in ("ceiling", "floor"):
        session.indexes[f"{kind}:{text}"] = 0
        session.say(0, text, origin="probe", branch=f"{kind}:{text}")
        session.call(0, text=text, branch=f"{kind}:{text}", purpose="control")
        session.verdict(
            0, "pass", kind=kind, id=text, subject=text, check=text, branch=f"{kind}:{text}", reason=text,
            evidence=text, in_view=None, since_turns=None, since_tokens=None,
        )  # fmt: skip
    session.end(0)


def _gates(folder: Path, texts: Sequence[str]) -> None:
    verdicts = [
        {
            "gate": text, "scope": {"scenario": text, "model": text, "strategy": text}, "reason": text, "value": 4.0,
            "outcome": ("passed", "failed", "no_verdict")[number % 3], "limit": 5.0, "low": 3.0, "high": 5.0, "n": 2,
            "unit": text, "code": 1,
        }
        for number, text in enumerate(texts)
    ]  # fmt: skip
    result = {
        "run": texts[0], "baseline": texts[1], "verdicts": verdicts, "exit_code": 1, "sentence": texts[2],
        "notes": list(texts), "simulated": True,
    }  # fmt: skip
    (folder / "gates.json").write_bytes(orjson.dumps(result))
