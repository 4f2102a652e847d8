"""The sessions of a run inside the page: a row for each, and compressed chunks with what the X-ray shows of them.

Sessions are read one by one, and what is kept of one is compressed at once, so that memory is bounded by the page. If
not all fit, those stay that say most: of every scenario × model × strategy the earliest failures, the median ones and
some that held; controls come last.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from contextrot.analysis.replay_view import read_transcript
from contextrot.analysis.tables import SESSION_KINDS
from contextrot.analysis.xray import Causes, causes_by_session
from contextrot.errors import StoreError
from contextrot.report.html.details import Texts, details
from contextrot.report.html.embed import json_text

if TYPE_CHECKING:
    from contextrot.analysis.tables import Run

#: bytes of JSON from which on a chunk takes no further script: what a browser unpacks to show one session
CHUNK_BYTES = 500_000
#: bytes that the element around a chunk takes in the page
_AROUND_CHUNK = 100
#: bytes of the sentence that says what was left out
_NOTE = 1_000
#: share of the room that the rows may take; a run of so many sessions keeps the rows that say most
_ROWS_SHARE = 0.5
#: sessions in a row that did not fit, after which no smaller one is looked for
_MISSES = 25
#: characters of a name that a row holds
_LONGEST_NAME = 300
#: what gzip remembers: a text within it costs next to nothing when it comes again
_MEMORY = 32_768
#: faults of a file's content; what a record lacks shows itself as one of them
_DAMAGE = (StoreError, KeyError, TypeError, ValueError, AttributeError, IndexError)


@dataclass(frozen=True)
class Archive:
    """The sessions of a page.

    index: one row per session: `key`, `scenario`, `model`, `strategy`, `repeat`, `ended`, `last_turn`,
    `first_fail_turn`, `last_pass_turn`, `event`, `failed` (``[id, cause]`` of the checks that failed first), `control`,
    `simulated`, `chunk` (number of the chunk that holds its details) and `problem` (why it holds none). A field that is
    empty, false or not known is left out. Rows with failures first, earliest first, controls last.

    chunks: gzipped JSON: a list of scripts, each a list of ``{"texts": [...], "session": {...}}`` in which the texts of
    one entry come behind those of the entries before it; a session is as in `details`. left_out: sessions without
    details, for want of room. rows_left_out: sessions without even a row.
    """

    index: list[dict[str, Any]]
    chunks: list[bytes] = field(repr=False)
    left_out: int
    rows_left_out: int = 0


def session_archive(run: Run, *, max_bytes: int, sessions: Collection[str] = ()) -> Archive:
    """What of the sessions fits into `max_bytes` of a page, rows and base64 of the chunks together.

    `sessions` names some (keys, or a part that only one key has) that are kept before all others, whatever they take.
    Raises `NothingMatchedError` or `StoreError` for a name that is not of exactly one session.
    """
    forced = [_find(run, name) for name in sessions]
    rows = sorted(_rows(run), key=_wanted_first)
    order = _by_turns(rows, forced)
    kept, taken = _rows_that_fit(order, int(max_bytes * _ROWS_SHARE), forced)
    packer = _Packer(max_bytes - taken - _NOTE)
    files = {path.stem: path for path in (run.path / "sessions").glob("*.jsonl")}
    causes = causes_by_session(run)
    misses = 0
    for row in (row for row in order if row["key"] in kept):
        must = row["key"] in forced
        if misses >= _MISSES and not must:
            break
        try:
            fits = packer.add(row, files[row["key"]], causes.get(row["key"], {}), must=must)
        except _DAMAGE as fault:
            row["problem"] = (
                str(fault) if isinstance(fault, StoreError) else "the file is damaged: a record lacks parts"
            )
            continue
        misses = 0 if fits else misses + 1
    chunks, places = packer.finish()
    index = [row | {"chunk": places[row["key"]]} if row["key"] in places else row for row in rows if row["key"] in kept]
    left_out = sum("chunk" not in row and "problem" not in row for row in index) + len(rows) - len(index)
    return Archive(index, chunks, left_out, rows_left_out=len(rows) - len(index))


def _find(run: Run, name: str) -> str:
    from contextrot.analysis.replay_view import find_session

    return find_session(run.path, name).stem


def _rows(run: Run) -> Iterator[dict[str, Any]]:
    import pandas as pd

    verdicts = run.verdicts
    verdicts = verdicts.loc[(verdicts["outcome"] == "fail") & verdicts["kind"].isin(SESSION_KINDS)]
    failed: dict[tuple[str, int], list[list[str]]] = {}
    columns = (verdicts[name] for name in ("session", "turn", "id", "cause"))
    for session, turn, name, cause in zip(*columns, strict=True):
        failed.setdefault((str(session), int(turn)), []).append([_plain(str(name)), str(cause or "")])
    names = ("scenario", "model", "strategy", "repeat", "control", "simulated", "ended", "last_turn")
    table = run.sessions[["session", *names, "first_fail_turn", "last_pass_turn", "event"]]
    for row in table.to_dict("records"):
        known = {str(k): v for k, v in row.items() if not pd.isna(v) and v is not False and v != ""}
        first = known.get("first_fail_turn")
        if first is not None:
            known["failed"] = failed.get((str(known["session"]), int(first)), [])
        yield {"key": str(known.pop("session")), **{k: _plain(v) for k, v in known.items()}}


def _plain(value: Any) -> Any:
    """A value of a table as JSON takes it; a name without end is cut, for each row and each list repeats it."""
    if isinstance(value, str) and len(value) > _LONGEST_NAME:
        return value[: _LONGEST_NAME - 1] + "…"
    return value.item() if hasattr(value, "item") else value


def _wanted_first(row: dict[str, Any]) -> tuple[Any, ...]:
    """Sessions with an event before those that held, the earliest first; controls last."""
    first = row.get("first_fail_turn", row.get("last_turn") if row.get("event") else None)
    return (bool(row.get("control")), first is None, first or 0, row["key"])


def _by_turns(rows: list[dict[str, Any]], forced: Collection[str]) -> list[dict[str, Any]]:
    """The rows in the order in which they get room: one of each group after the other, controls after all."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        group = (bool(row.get("control")), row.get("scenario"), row.get("model"), row.get("strategy"))
        groups.setdefault(group, []).append(row)
    first = [row for row in rows if row["key"] in forced]
    for control in (False, True):
        wanted = [list(_mixed(group)) for key, group in sorted(groups.items(), key=_name) if key[0] is control]
        rounds = zip_longest(*wanted)
        first += [row for each in rounds for row in each if row is not None and row["key"] not in forced]
    return first


def _name(group: tuple[tuple[Any, ...], object]) -> str:
    return repr(group[0])


def _mixed(group: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The sessions of one group: by turns the earliest failure, the one nearest the median, and one that held."""
    came = [row for row in group if row.get("event")]
    held = [row for row in group if not row.get("event")]
    middle = sorted(range(len(came)), key=lambda k: (abs(2 * k + 1 - len(came)), k))
    seen: set[str] = set()
    for early, median, calm in zip_longest(came, [came[k] for k in middle], held):
        for row in (early, median, calm):
            if row is not None and row["key"] not in seen:
                seen.add(row["key"])
                yield row


def _rows_that_fit(order: Iterable[dict[str, Any]], room: int, forced: Collection[str]) -> tuple[set[str], int]:
    """The keys of the rows that fit into so many bytes, and the bytes they take; `chunk` is still to come to them."""
    kept, taken = set(), 0
    for row in order:
        size = len(json_text(row).encode()) + len(',"chunk":9999,')
        if taken + size <= room or row["key"] in forced:
            kept.add(row["key"])
            taken += size
    return kept, taken


@dataclass
class _Script:
    """The kept sessions of one scenario and repeat: they share most of their texts."""

    texts: Texts = field(default_factory=Texts)
    pieces: list[bytes] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    memory: bytes = b""

    def json(self) -> bytes:
        """Its entries as one JSON list."""
        memory, entries = b"", []
        for piece in self.pieces:
            entry = _inflate(piece, memory)
            memory = (memory + entry)[-_MEMORY:]
            entries.append(entry)
        return b"[" + b",".join(entries) + b"]"


class _Packer:
    """Takes sessions until the room is used up. Holds them compressed; each as small as it is behind its forerunner."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.scripts: dict[tuple[str, int], _Script] = {}

    def add(self, row: dict[str, Any], path: Path, causes: Causes, *, must: bool) -> bool:
        """Keep a session if it fits, or in any case if it `must` be; whether it was kept. Raises for a damaged file."""
        name = (str(row.get("scenario")), int(row.get("repeat") or 0))
        script = self.scripts.get(name) or _Script()
        known = len(script.texts.known)
        try:
            session = details(read_transcript(path), causes, script.texts)
            entry = orjson.dumps({"texts": script.texts.new, "session": session | {"key": row["key"]}})
            piece = _deflate(entry, script.memory)
            size = -(-len(piece) // 3) * 4 + (0 if script.pieces else _AROUND_CHUNK)
            fits = must or size <= self.room
        except _DAMAGE:
            _forget(script.texts, known)
            raise
        if not fits:
            _forget(script.texts, known)
            return False
        script.texts.new = []
        script.pieces.append(piece)
        script.keys.append(row["key"])
        script.memory = (script.memory + entry)[-_MEMORY:]
        self.room -= size
        self.scripts[name] = script
        return True

    def finish(self) -> tuple[list[bytes], dict[str, int]]:
        """The chunks, and in which of them each session is. Neighbouring scripts share one as long as it is small."""
        chunks: list[bytes] = []
        places: dict[str, int] = {}
        gathered: list[bytes] = []
        for name in sorted(self.scripts):
            script = self.scripts[name]
            gathered.append(script.json())
            places |= dict.fromkeys(script.keys, len(chunks))
            if sum(map(len, gathered)) >= CHUNK_BYTES:
                chunks.append(_chunk(gathered))
                gathered = []
        return ([*chunks, _chunk(gathered)] if gathered else chunks), places


def _chunk(scripts: list[bytes]) -> bytes:
    return gzip.compress(b"[" + b",".join(scripts) + b"]", compresslevel=9, mtime=0)


def _forget(texts: Texts, known: int) -> None:
    """Take back what a session that is not kept has added to the texts of its script."""
    texts.known = {digest: number for digest, number in texts.known.items() if number < known}
    texts.new = []


def _deflate(content: bytes, memory: bytes) -> bytes:
    packer = zlib.compressobj(zdict=memory) if memory else zlib.compressobj()
    return packer.compress(content) + packer.flush()


def _inflate(content: bytes, memory: bytes) -> bytes:
    opener = zlib.decompressobj(zdict=memory) if memory else zlib.decompressobj()
    return opener.decompress(content) + opener.flush()
