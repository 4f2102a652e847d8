"""The committed baseline: of each session what pairing needs, in a small JSON file that reads well in a diff.

One session a line; a check is written `turn` and letter: ``"0p 5p 10f 15u"`` (passed, failed, undecided). What was not
asked because the window was full is written as undecided too; that the session overflowed says so.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from contextrot.analysis.baseline_format import BaselineFile, SessionRow, read
from contextrot.analysis.evidence import Evidence, SessionEvidence, evidence_of, with_window
from contextrot.errors import BaselineError, StoreError

#: where `contextrot baseline set` writes unless told otherwise
BASELINE_FILE = "contextrot-baseline.json"
VERSION = 1
_GROUP = ("scenario", "model", "strategy", "seed", "turns", "window", "history")
#: what had no room is written as undecided, which older versions read; which ones they were follows from how the
#: session ended, or stands in `no_room`
_WRITTEN = {"p": "p", "f": "f", "u": "u", "w": "u"}


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
        "tests": dict(sorted(evidence.tests.items())),
        "texts": {name: dict(parts) for name, parts in sorted(evidence.texts.items())},
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
        written = where.read_bytes()
        content = orjson.loads(written)
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
    return _evidence(read(written, where), where)


def _session(session: SessionEvidence) -> dict[str, Any]:
    row: dict[str, Any] = {
        "repeat": session.repeat,
        "ended": session.ended,
        "last_turn": session.last_turn,
        "tokens": session.tokens,
        "cost": session.cost,
        "calls": session.calls,
        "checks": {
            name: " ".join(f"{turn}{letter}" for turn, letter in v) for name, v in _as_undecided(session).items()
        },
    }
    if no_room := _no_room(session):
        row["no_room"] = no_room
    if session.called[1]:
        row["called"] = list(session.called)
    if session.fired:
        row["fired"] = True
    return row


def _no_room(session: SessionEvidence) -> dict[str, str]:
    """Check → turns that had no room although the session went on: a question longer than what was left."""
    told = with_window(_as_undecided(session), session.ended, session.last_turn)
    found = {
        name: [str(turn) for (turn, letter), (_, known) in zip(verdicts, told[name], strict=True) if letter != known]
        for name, verdicts in session.checks.items()
    }
    return {name: " ".join(turns) for name, turns in found.items() if turns}


def _as_undecided(session: SessionEvidence) -> dict[str, tuple[tuple[int, str], ...]]:
    return {name: tuple((turn, _WRITTEN[letter]) for turn, letter in v) for name, v in session.checks.items()}


def _read_checks(row: SessionRow) -> dict[str, tuple[tuple[int, str], ...]]:
    checks = with_window({name: _verdicts(text) for name, text in row.checks.items()}, row.ended, row.last_turn)
    full = {name: set(map(int, turns.split())) for name, turns in row.no_room.items()}
    return {
        name: tuple((turn, "w" if turn in full.get(name, ()) else letter) for turn, letter in verdicts)
        for name, verdicts in checks.items()
    }


def _evidence(content: BaselineFile, where: Path) -> Evidence:
    sessions = []
    for group in content.groups:
        shared = {name: getattr(group, name) for name in _GROUP}
        for row in group.sessions:
            sessions.append(
                SessionEvidence(
                    **shared,
                    repeat=row.repeat,
                    ended=row.ended,
                    last_turn=row.last_turn,
                    checks=_read_checks(row),
                    called=row.called,
                    tokens=row.tokens,
                    cost=row.cost,
                    calls=row.calls,
                    fired=row.fired,
                )
            )
    return Evidence(
        source=where.name,
        sessions=tuple(sessions),
        hashes=content.scenarios,
        tests=content.tests,
        texts=content.texts,
        floors={(scenario, model): frozenset(names) for scenario, model, names in content.floors},
        repeats=content.repeats,
        simulated=content.simulated,
        versions=content.versions,
        git_commit=content.git_commit,
        status="completed",
    )


def _verdicts(text: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(word[:-1]), word[-1]) for word in text.split())


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
