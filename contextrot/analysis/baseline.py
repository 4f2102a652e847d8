"""The committed baseline: of each session what pairing needs, in a small JSON file that reads well in a diff.

One session a line; a check is written `turn` and letter: ``"0p 5p 10f 15u"`` (passed, failed, undecided).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from contextrot.analysis.evidence import Evidence, SessionEvidence, evidence_of
from contextrot.errors import BaselineError, StoreError

#: where `contextrot baseline set` writes unless told otherwise
BASELINE_FILE = "contextrot-baseline.json"
VERSION = 1
_GROUP = ("scenario", "model", "strategy", "seed", "turns", "window", "history")
_VERDICT = re.compile(r"(\d+)([pfu])")


def write_baseline(evidence: Evidence, path: Path) -> None:
    """Write the sessions of a run as a baseline. Raises `BaselineError` for a run without sessions or a bad path."""
    if not evidence.sessions:
        raise BaselineError(f"{evidence.source} holds no sessions; nothing can be compared with it")
    head = {
        "contextrot_baseline": VERSION,
        "source": evidence.source,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": dict(evidence.versions),
        "git_commit": evidence.git_commit,
        "simulated": evidence.simulated,
        "repeats": evidence.repeats,
        "scenarios": dict(sorted(evidence.hashes.items())),
        "floors": [[*key, sorted(names)] for key, names in sorted(evidence.floors.items())],
    }
    groups: dict[tuple[Any, ...], list[SessionEvidence]] = {}
    for session in evidence.sessions:
        groups.setdefault(tuple(getattr(session, name) for name in _GROUP), []).append(session)
    lines = [f"  {_json(name)}: {_json(value)}," for name, value in head.items()]
    blocks = []
    for key, sessions in groups.items():
        rows = ",\n".join(f"      {_json(_session(session))}" for session in sessions)
        blocks.append(f'    {_json(dict(zip(_GROUP, key, strict=True)))[:-1]}, "sessions": [\n{rows}\n    ]}}')
    text = "{\n" + "\n".join(lines) + '\n  "groups": [\n' + ",\n".join(blocks) + "\n  ]\n}\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise BaselineError(f"cannot write {path}: {error.strerror or error}") from error


def load_baseline(path: str | os.PathLike[str]) -> Evidence:
    """The baseline at a path: a file of `contextrot baseline set`, or a run directory.

    Raises `BaselineError` when there is none, or it is damaged or newer than this contextrot.
    """
    where = Path(path)
    if where.is_dir():
        from contextrot.analysis.tables import load_run

        try:
            return evidence_of(load_run(where))
        except StoreError as error:
            raise BaselineError(f"the baseline cannot be used: {error}") from error
    try:
        content = orjson.loads(where.read_bytes())
    except FileNotFoundError:
        raise BaselineError(
            f"there is no baseline at {where}; make one of a run you trust: contextrot baseline set RUN --out {where}"
        ) from None
    except OSError as error:
        raise BaselineError(f"cannot read {where}: {error.strerror or error}") from error
    except orjson.JSONDecodeError as error:
        raise BaselineError(f"{where} is damaged and cannot be read as JSON ({error})") from error
    if not isinstance(content, dict) or "contextrot_baseline" not in content:
        raise BaselineError(f"{where} is no baseline file; make one with contextrot baseline set RUN --out FILE")
    if content["contextrot_baseline"] != VERSION:
        raise BaselineError(
            f"{where} has format {content['contextrot_baseline']}, this contextrot reads {VERSION}; set it anew"
        )
    try:
        return _evidence(content, where)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BaselineError(f"{where} is damaged ({type(error).__name__}: {error}); set the baseline anew") from error


def _session(session: SessionEvidence) -> dict[str, Any]:
    row: dict[str, Any] = {
        "repeat": session.repeat,
        "ended": session.ended,
        "last_turn": session.last_turn,
        "tokens": session.tokens,
        "cost": session.cost,
        "calls": session.calls,
        "checks": {name: " ".join(f"{turn}{letter}" for turn, letter in v) for name, v in session.checks.items()},
    }
    if session.called[1]:
        row["called"] = list(session.called)
    if session.fired:
        row["fired"] = True
    return row


def _evidence(content: Mapping[str, Any], where: Path) -> Evidence:
    sessions = []
    for group in content["groups"]:
        shared = {name: group[name] for name in _GROUP}
        for row in group["sessions"]:
            called = row.get("called", (0, 0))
            sessions.append(
                SessionEvidence(
                    **shared,
                    repeat=int(row["repeat"]),
                    ended=str(row["ended"]),
                    last_turn=row["last_turn"],
                    checks={str(name): _verdicts(text) for name, text in row["checks"].items()},
                    called=(int(called[0]), int(called[1])),
                    tokens=row["tokens"],
                    cost=row["cost"],
                    calls=int(row["calls"]),
                    fired=bool(row.get("fired", False)),
                )
            )
    return Evidence(
        source=where.name,
        sessions=tuple(sessions),
        hashes={str(name): str(value) for name, value in content["scenarios"].items()},
        floors={(str(s), str(m)): frozenset(map(str, names)) for s, m, names in content["floors"]},
        repeats=content["repeats"],
        simulated=bool(content["simulated"]),
        versions={str(name): str(value) for name, value in content["versions"].items()},
        git_commit=content["git_commit"],
        status="completed",
    )


def _verdicts(text: str) -> tuple[tuple[int, str], ...]:
    found = []
    for word in text.split():
        match = _VERDICT.fullmatch(word)
        if match is None:
            raise ValueError(f"{word!r} is not a turn and p, f or u")
        found.append((int(match[1]), match[2]))
    return tuple(found)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
