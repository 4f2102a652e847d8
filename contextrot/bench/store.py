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
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from contextrot.bench.redact import Redactor
from contextrot.errors import StoreError

FORMAT_VERSION = 1
#: Ends after which there is nothing left to ask; the others are taken up again on resume.
FINAL_ENDS = frozenset({"completed", "overflow", "over_budget"})
#: Replies with these outcomes are never reused: an unfinished session asks again from the first of them on.
_NEVER_REUSED = frozenset({"error", "timeout", "empty", "truncated"})
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
        self.write("run.json", orjson.dumps(manifest, option=orjson.OPT_INDENT_2))

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


class SessionFile:
    """Append-only records of one session. `emit` skips what is already there and refuses what contradicts it."""

    def __init__(self, path: Path, redact: Redactor) -> None:
        self.path = path
        self.redact = redact
        self._recorded: deque[Record] = deque()
        self._pending: list[bytes] = []
        self._file: BinaryIO | None = None

    def open(self) -> SessionFile:
        """Read what is recorded, cut what cannot be kept, and open for appending."""
        with _said_plainly(self.path):
            keep = 0
            if self.path.exists():
                for record, end in self._whole_lines(self.path.read_bytes()):
                    # Probes a session never came to are written at its end, so that they fall with it.
                    if record["t"] == "end" or record.get("outcome") == "not_run":
                        break
                    if record["t"] == "call" and record["outcome"] in _NEVER_REUSED:
                        break
                    self._recorded.append(record)
                    keep = end
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
            self._flush()
            self._file.close()
            self._file = None

    @property
    def replaying(self) -> bool:
        """True while there are recorded records that the session has not come to yet."""
        return bool(self._recorded)

    def discard(self) -> None:
        """Forget everything recorded: for a session that cannot be replayed (an agent with its own memory)."""
        self._recorded.clear()
        self._pending.clear()
        assert self._file is not None
        self._file.truncate(0)

    def recorded_call(self, view_hash: str) -> Record | None:
        """The recorded call that stands next, if any. Raises `StoreError` when it was made with another view."""
        if not self._recorded:
            return None
        record = self._recorded[0]
        if record["t"] != "call":
            self._refuse(f"a call was due, the record has a {record['t']}")
        if record["view"]["hash"] != view_hash:
            self._refuse(f"call {record['n']} at turn {record['turn']} would now send another prompt")
        return record

    def recorded_embed(self, texts_hash: str) -> Record | None:
        """The recorded embedding that stands next, if any. Raises `StoreError` when it was made of other texts."""
        if not self._recorded:
            return None
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
        if self._recorded:
            known = self._recorded.popleft()
            for field in ("t", "n", "i", "turn", "branch", "id", "name", "key", "scenario_hash", "strategy_hash"):
                if known.get(field) != record.get(field):
                    self._refuse(f"{field} was {known.get(field)!r} and is now {record.get(field)!r}")
            return
        self._pending.append(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        if record["t"] in ("call", "embed", "end"):
            self._flush()

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
