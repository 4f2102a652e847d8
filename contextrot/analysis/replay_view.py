"""One session read back from its file: what was said, and the exact messages any call was sent.

A call stores its view as ranges into the session's messages plus the messages the strategy made; here it is put
together again. Indexes of a branch past its fork point are the branch's own messages (docs/run-directory.md).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from contextrot.errors import NothingMatchedError, StoreError
from contextrot.messages import Reply

Record = dict[str, Any]


@dataclass(frozen=True)
class Transcript:
    """The records of one session in the order they were written, without a torn last line."""

    path: Path
    head: Record
    records: list[Record] = field(repr=False)
    _said: dict[tuple[str | None, int], Record] = field(default_factory=dict, repr=False)
    _calls: dict[int, Record] = field(default_factory=dict, repr=False)

    @property
    def end(self) -> Record | None:
        """The end record; None while the session is running or when it was killed."""
        last = self.records[-1] if self.records else {}
        return last if last.get("t") == "end" else None

    def call(self, number: int) -> Record:
        """The record of a call. Raises `StoreError` when the session has none of that number."""
        try:
            return self._calls[number]
        except KeyError:
            raise StoreError(f"{self.path.name} has no call {number}; it has {len(self._calls)} calls") from None

    def message(self, index: int, branch: str | None = None) -> Record:
        """The message at `index` as seen from `branch`, in OpenAI form. Raises `StoreError` when it is missing."""
        record = self._said.get((branch, index)) or self._said.get((None, index))
        if record is None:
            raise StoreError(f"{self.path.name} is damaged: message {index} is not in it")
        if record.get("message") is not None:
            message: Record = record["message"]
            return message
        reply = self.call(record["call"])["reply"]
        return Reply.from_dict(reply).to_message().to_dict()

    def messages(self, number: int) -> list[Record]:
        """The messages sent for a call, exactly and in order.

        Raises `StoreError` when they are not known: an agent with its own memory does not say what its model was sent.
        """
        call = self.call(number)
        view = call.get("view")
        if view is None:
            raise StoreError(
                f"what was sent for call {number} of {self.path.name} is not known: this agent keeps its own memory"
            )
        if "messages" in view:
            return list(view["messages"])
        indexes = (index for start, end in view["ranges"] for index in range(start, end))
        sent = [self.message(index, call.get("branch")) for index in indexes]
        for position, message in sorted(view["made"], key=lambda made: int(made[0])):
            sent.insert(position, message)
        return sent


def read_transcript(path: str | os.PathLike[str]) -> Transcript:
    """Read a session file. Raises `StoreError` when it cannot be read or does not start with a head."""
    file = Path(path)
    try:
        lines = file.read_bytes().split(b"\n")[:-1]  # a last line without its newline is torn
    except OSError as error:
        raise StoreError(f"cannot read {file}: {error.strerror or error}") from None
    records: list[Record] = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            raise StoreError(f"{file}:{number} is damaged and cannot be read as JSON ({error})") from None
    if not records or records[0].get("t") != "head":
        raise StoreError(f"{file} is no session file: its first record is not a head")
    transcript = Transcript(file, records[0], records[1:])
    for record in transcript.records:
        if record["t"] == "msg":
            transcript._said[record.get("branch"), record["i"]] = record
        elif record["t"] == "call":
            transcript._calls[record["n"]] = record
    return transcript


def view_messages(session_file: str | os.PathLike[str], call_n: int) -> list[Record]:
    """The exact messages sent for call `call_n` of a session, as OpenAI-style dicts. Raises `StoreError`."""
    return read_transcript(session_file).messages(call_n)


def find_session(run: str | os.PathLike[str], name: str) -> Path:
    """The session file whose key is `name`, starts with it, or else contains it.

    Raises `NothingMatchedError` when there is none, `StoreError` when there is more than one.
    """
    folder = Path(run) / "sessions"
    keys = sorted(path.stem for path in folder.glob("*.jsonl"))
    wanted = name.removesuffix(".jsonl")
    for matches in (
        [key for key in keys if key == wanted],
        [key for key in keys if key.startswith(wanted)],
        [key for key in keys if wanted in key],
    ):
        if len(matches) == 1:
            return folder / f"{matches[0]}.jsonl"
        if matches:
            shown = "".join(f"\n  {key}" for key in matches[:10]) + ("\n  …" if len(matches) > 10 else "")
            raise StoreError(f"{len(matches)} sessions match {name!r}; say more of the key:{shown}")
    raise NothingMatchedError(f"no session of {Path(run)} matches {name!r}; `contextrot show {Path(run)}` lists them")
