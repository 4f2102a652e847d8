"""The run directory (docs/run-directory.md): the one writer of files, and what is already there when a run is resumed.

Resume is replay: `SessionFile` hands the recorded records back in order, and the session loop, which is deterministic
given the replies, finds each of its own records there until they run out.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from contextrot.bench.redact import Redactor
from contextrot.characters import to_json
from contextrot.errors import StoreError

FORMAT_VERSION = 1
#: Ends after which there is nothing left to ask; the others are taken up again on resume.
FINAL_ENDS = frozenset({"completed", "overflow", "over_budget"})
#: Replies with these outcomes are never reused: an unfinished session asks again from the first of them on.
_NEVER_REUSED = frozenset({"error", "timeout", "empty", "truncated"})
#: Votes of a judge with these outcomes are asked again even in a session that came to its end: nothing is decided yet.
_FAILED_VOTE = frozenset({"error", "timeout"})
Record = dict[str, Any]


@contextmanager
def _said_plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _plainly(error, path) from error


def _plainly(error: OSError, path: Path) -> StoreError:
    """The operating system's refusal as a sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StoreError(
            f"the disk is full; what was recorded before is intact in {path}. Free some space and run the same command "
            "again to go on"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(f"cannot write to {path}: {error.strerror}. Choose another folder with --out")
    return StoreError(f"cannot use {path}: {error.strerror or error}")


class RunDirectory:
    """One run's folder, held by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.redact = Redactor()
        self._lock: Any = None

    @classmethod
    def create(cls, root: Path, slug: str) -> RunDirectory:
        """A new folder ``root/<utc>-<slug>``; a second run in the same second gets a number behind it."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        with _said_plainly(root):
            root.mkdir(parents=True, exist_ok=True)
            for attempt in range(1, 1000):
                path = root / (f"{stamp}-{slug}" + (f"-{attempt}" if attempt > 1 else ""))
                try:
                    (path).mkdir()
                except FileExistsError:
                    continue
                (path / "sessions").mkdir()
                return cls(path)
        raise StoreError(f"cannot find a free name for a run in {root}")

    @classmethod
    def at(cls, path: Path) -> RunDirectory:
        """The folder at exactly this path, made when missing: a run to start or to resume."""
        with _said_plainly(path):
            (path / "sessions").mkdir(parents=True, exist_ok=True)
        return cls(path)

    def __enter__(self) -> RunDirectory:
        """Take the folder for this process. Raises `StoreError` when another one holds it."""
        import filelock

        with _said_plainly(self.path):
            lock = filelock.FileLock(self.path / ".lock")
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout as error:
                raise StoreError(
                    f"another contextrot process is running in {self.path}; wait for it or choose another --out"
                ) from error
        self._lock = lock
        return self

    def __exit__(self, *exc: object) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def read_manifest(self) -> Record | None:
        """`run.json`, or None for a new folder."""
        path = self.path / "run.json"
        if not path.exists():
            return None
        try:
            manifest = orjson.loads(path.read_bytes())
        except (orjson.JSONDecodeError, OSError) as error:
            raise StoreError(f"{path} cannot be read: {error}") from error
        if not isinstance(manifest, dict) or manifest.get("format_version", 0) > FORMAT_VERSION:
            raise StoreError(f"{path} was written by a newer contextrot; this one reads format {FORMAT_VERSION}")
        return manifest

    def write_manifest(self, manifest: Record) -> None:
        """Replace `run.json` as a whole, so that a reader never sees half of it."""
        self.write("run.json", to_json(manifest, orjson.OPT_INDENT_2))

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the run atomically, secrets replaced."""
        target = self.path / name
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        with _said_plainly(self.path):
            try:
                temporary.write_bytes(self.redact.line(content))
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)

    def session(self, key: str) -> SessionFile:
        """The file of one session, ready to be replayed and appended to."""
        return SessionFile(self.path / "sessions" / f"{key}.jsonl", self.redact)

    def ended(self, key: str) -> str | None:
        """How a session ended, read from the last line of its file alone; None when it has not."""
        try:
            with (self.path / "sessions" / f"{key}.jsonl").open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - 4096))
                lines = file.read().splitlines(keepends=True)
        except FileNotFoundError:
            return None
        if not lines or not lines[-1].endswith(b"\n") or not lines[-1].startswith(b'{"t":"end"'):
            return None
        return str(orjson.loads(lines[-1])["ended"])

    def lacks_votes(self, key: str) -> bool:
        """True when a judge could not be asked in this session: an outage of the judge decides nothing for good."""
        try:
            with (self.path / "sessions" / f"{key}.jsonl").open("rb") as file:
                votes = (line for line in file if line.startswith(b'{"t":"call"') and b'"purpose":"judge"' in line)
                return any(line.endswith(b"\n") and _failed_vote(orjson.loads(line)) for line in votes)
        except FileNotFoundError:
            return False


def _is_vote(record: Record) -> bool:
    return bool(record["t"] == "call" and record.get("purpose") == "judge")


def _failed_vote(record: Record, outcomes: frozenset[str] = _FAILED_VOTE) -> bool:
    return _is_vote(record) and record["outcome"] in outcomes


class SessionFile:
    """Append-only records of one session. `emit` skips what is already there and refuses what contradicts it.

    A session in which a judge could not be asked is mended: its records are written anew beside the old file, votes
    that failed are asked again, and the new file takes the old one's place when all that was recorded is in it.
    """

    def __init__(self, path: Path, redact: Redactor) -> None:
        self.path = path
        self.redact = redact
        self._recorded: deque[Record] = deque()
        self._pending: list[bytes] = []
        self._file: BinaryIO | None = None
        self._mending = False
        #: the votes that are asked again, by outcome
        self._refused = _NEVER_REUSED
        #: the next record is that of a vote that is not among the recorded ones
        self._asked_anew = False

    @property
    def _beside(self) -> Path:
        return self.path.with_name(f".{self.path.name}.part")

    def open(self) -> SessionFile:
        """Read what is recorded, cut what cannot be kept, and open for appending."""
        with _said_plainly(self.path):
            keep = 0
            if self.path.exists():
                lines = list(self._whole_lines(self.path.read_bytes()))
                final = bool(lines) and lines[-1][0].get("ended") in FINAL_ENDS
                self._refused = _FAILED_VOTE if final else _NEVER_REUSED
                for record, end in lines:
                    again = record["t"] == "call" and record["outcome"] in self._refused and not final
                    # Probes a session never came to are written at its end, so that they fall with it.
                    at_the_end = record["t"] == "end" or record.get("outcome") == "not_run"
                    if at_the_end or (again and not _is_vote(record)):
                        break
                    self._mending = self._mending or _failed_vote(record, self._refused)
                    self._recorded.append(record)
                    keep = end
            if self._mending:
                self._file = self._beside.open("wb", buffering=0)
                return self
            self._file = self.path.open("ab", buffering=0)
            # Only when there is something to cut: ext4 and xfs wait for the disk when a truncated file is closed.
            if self._file.tell() > keep:
                self._file.truncate(keep)
        return self

    @staticmethod
    def _whole_lines(content: bytes) -> Iterator[tuple[Record, int]]:
        end = 0
        for line in content.splitlines(keepends=True):
            end += len(line)
            if not line.endswith(b"\n"):
                return
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                return
            yield record, end

    def close(self) -> None:
        """Write what is pending and close the file; harmless when it is closed already."""
        if self._file is not None:
            if self._mending:  # stopped half-way: the old file has more
                self._pending.clear()
                self._beside.unlink(missing_ok=True)
            self._flush()
            self._file.close()
            self._file = None

    @property
    def replaying(self) -> bool:
        """True while there are recorded records that the session has not come to yet."""
        return bool(self._recorded)

    @property
    def mending(self) -> bool:
        """True while recorded votes are asked again and the new file does not yet hold all that the old one does."""
        return self._mending

    def discard(self) -> None:
        """Forget everything recorded: for a session that cannot be replayed (an agent with its own memory)."""
        self._recorded.clear()
        self._pending.clear()
        assert self._file is not None
        self._file.truncate(0)

    def recorded_call(self, view_hash: str, purpose: str = "turn") -> Record | None:
        """The recorded call that stands next, if any. Raises `StoreError` when it was made with another view."""
        if self._mending:
            return self._recorded_vote(view_hash) if purpose == "judge" else self._still_recorded(view_hash)
        if not self._recorded:
            return None
        record = self._recorded[0]
        if record["t"] != "call":
            self._refuse(f"a call was due, the record has a {record['t']}")
        if record["view"]["hash"] != view_hash:
            self._refuse(f"call {record['n']} at turn {record['turn']} would now send another prompt")
        return record

    def _recorded_vote(self, view_hash: str) -> Record | None:
        """A vote of this judge that was cast; None when it has to be asked (again)."""
        ahead = list(takewhile(_is_vote, self._recorded))
        place = next((k for k, vote in enumerate(ahead) if vote["view"]["hash"] == view_hash), None)
        for _ in range(place or 0):
            self._recorded.popleft()
        if place is not None and not _failed_vote(ahead[place], self._refused):
            return ahead[place]
        if place is not None:
            self._recorded.popleft()
        self._asked_anew = True
        return None

    def _still_recorded(self, view_hash: str) -> Record | None:
        """The recorded call that stands next; from one on that a vote has made another, nothing recorded holds."""
        self._skip_votes()
        record = self._recorded[0] if self._recorded else None
        if record is not None and (record["t"] != "call" or record["view"]["hash"] != view_hash):
            self._recorded.clear()
            return None
        return record

    def _skip_votes(self) -> None:
        """Pass over votes that nobody asks for any more: others have decided."""
        while self._recorded and _is_vote(self._recorded[0]):
            self._recorded.popleft()

    def recorded_embed(self, texts_hash: str) -> Record | None:
        """The recorded embedding that stands next, if any. Raises `StoreError` when it was made of other texts."""
        if not self._recorded:
            return None
        if self._mending:
            self._skip_votes()
            if self._recorded and (self._recorded[0]["t"] != "embed" or self._recorded[0]["hash"] != texts_hash):
                self._recorded.clear()
            return self._recorded[0] if self._recorded else None
        record = self._recorded[0]
        if record["t"] != "embed":
            self._refuse(f"an embedding was due, the record has a {record['t']}")
        if record["hash"] != texts_hash:
            self._refuse(f"embedding {record['n']} at turn {record['turn']} would now be of other texts")
        return record

    def emit(self, record: Record) -> None:
        """Append one record, or find it already there.

        Records follow from the replies before them, so they are written with the next call's or the end's, in one
        system call: what a kill loses of them is made again by replay, and no answered call is ever lost.
        """
        if self._mending:
            self._pass_over(record)
        elif self._recorded:
            known = self._recorded.popleft()
            for field in ("t", "n", "i", "turn", "branch", "id", "name", "key", "scenario_hash", "strategy_hash"):
                if known.get(field) != record.get(field):
                    self._refuse(f"{field} was {known.get(field)!r} and is now {record.get(field)!r}")
            return
        self._pending.append(to_json(record, orjson.OPT_APPEND_NEWLINE))
        if record["t"] in ("call", "embed", "end"):
            self._flush()
        if self._mending and not self._recorded:
            self._mended()

    def _pass_over(self, record: Record) -> None:
        """Find a record among the recorded ones while mending: new votes move the numbers of the calls after them."""
        if self._asked_anew:
            self._asked_anew = False
            return
        if not _is_vote(record):
            self._skip_votes()
        known = self._recorded.popleft() if self._recorded else record
        if any(known.get(field) != record.get(field) for field in ("t", "i", "turn", "branch", "id", "name", "key")):
            self._recorded.clear()

    def _mended(self) -> None:
        """Everything recorded is in the new file: it takes the place of the old one."""
        self._flush()
        with _said_plainly(self.path):
            self._beside.replace(self.path)
        self._mending = False

    def _flush(self) -> None:
        if not self._pending or self._file is None:
            return
        lines = self.redact.line(b"".join(self._pending))
        self._pending.clear()
        try:
            written = self._file.write(lines)
            while written < len(lines):
                written += self._file.write(lines[written:])
        except OSError as error:
            raise _plainly(error, self.path.parent.parent) from error

    def _refuse(self, difference: str) -> None:
        raise StoreError(
            f"{self.path.name} cannot be resumed: {difference}. The scenario, a strategy or contextrot itself has "
            "changed since; start a new run"
        )
