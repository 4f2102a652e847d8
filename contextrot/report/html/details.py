"""One session as the JSON that the page's X-ray opens: every message once, every call as ranges into them.

The shapes are those of the session file (docs/run-directory.md), but that messages stand in a table of texts which the
sessions of one script share, and that what is too long for a page is cut, with its length said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import orjson

from contextrot.analysis.replay_view import Record, Transcript
from contextrot.analysis.standings import COLUMN_PURPOSES
from contextrot.analysis.xray import Causes, cause_of, xray
from contextrot.errors import StoreError
from contextrot.messages import Reply

#: characters of a text that are kept from its beginning and from its end where it is longer than both
HEAD, TAIL = 20_000, 4_000
_HEAD_FIELDS = (
    "key", "scenario", "model", "strategy", "repeat", "seed", "history", "turns", "window", "window_source",
    "simulated", "control", "auxiliary", "embedder", "judge",
)  # fmt: skip
_CALL_FIELDS = (
    "n", "turn", "branch", "purpose", "prompt_estimate", "occupancy", "occupancy_source", "prefix_reuse", "outcome",
    "error", "latency", "attempts", "asked",
)  # fmt: skip
_VERDICT_FIELDS = (
    "turn", "branch", "call", "kind", "id", "item", "subject", "check", "outcome", "reason", "evidence",
    "since_turns",
)  # fmt: skip
_USAGE_FIELDS = ("prompt_tokens", "completion_tokens", "cached_tokens")
#: what most calls say, and so is not kept; the page puts it in again (static/session.js)
_USUAL = {"purpose": "turn", "outcome": "ok", "occupancy_source": "usage", "attempts": 1, "latency": 0.0}
#: decimals of shares and seconds; more are no news to an eye, and each digit of noise takes room
_DECIMALS = 4


class Texts:
    """Messages by content: the sessions of one script say mostly the same, and each message is stored once."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}
        #: those that are not yet part of what was packed
        self.new: list[Any] = []

    def add(self, message: Any) -> int:
        """The number of a message, as it is or cut."""
        cut = shorten(message)
        digest = blake2b(orjson.dumps(cut), digest_size=16).digest()
        if digest not in self.known:
            self.known[digest] = len(self.known)
            self.new.append(cut)
        return self.known[digest]


def shorten(value: Any) -> Any:
    """The value with every text in it that is too long as ``{"cut": [beginning, end, length]}``, in characters."""
    if isinstance(value, str):
        return value if len(value) <= HEAD + TAIL else {"cut": [value[:HEAD], value[-TAIL:], len(value)]}
    if isinstance(value, list | tuple):
        return [shorten(item) for item in value]
    if isinstance(value, Mapping):
        return {key: shorten(item) for key, item in value.items()}
    return value


def details(transcript: Transcript, causes: Causes | None, texts: Texts) -> dict[str, Any]:
    """All that the X-ray shows of a session; its messages go to `texts` and are meant by their numbers.

    head: what is known of the session. log: ``[turn, origin, pinned, text]`` of the main log in order. branches: name →
    ``{"from": index of its first own message, "log": [...]}``. calls: as recorded, with `view` ``{ranges, made:
    [[position, text]], manifest}`` or ``{texts: [...]}`` (missing where what was sent is not known) and `reply`
    ``{text, finish_reason, reasoning, refusal}``. verdicts: with their final `cause`; those that passed without
    evidence. events: ``[turn, branch, name, detail]``. columns, standings, why, failed_turn, failed_call: see
    `analysis/xray.py`; cells of a standing as ``[cell, columns]``. end: null while it runs.

    What takes room and says nothing is left out: fields that are null or empty, what most calls say (`_USUAL`, the
    session's own model). Shares and seconds have four decimals.

    Raises `StoreError`, `KeyError` or `TypeError` where the records do not hold together.
    """
    records = transcript.records
    picture = xray(transcript, causes)
    said, starts, places = _said(transcript)
    _check_ranges(transcript, said, starts)
    return {
        "head": _known(transcript.head, _HEAD_FIELDS),
        "log": _log(transcript, None, said.pop(None), texts),
        "branches": {
            branch: {"from": starts[branch], "log": _log(transcript, branch, messages, texts)}
            for branch, messages in said.items()
        },
        "calls": [_call(record, transcript.head.get("model"), texts) for record in records if record["t"] == "call"],
        "verdicts": [_verdict(record, causes) for record in records if record["t"] == "verdict"],
        "events": [
            [record["turn"], record["branch"], record["name"], shorten(record.get("detail") or {})]
            for record in records
            if record["t"] == "event" and record["name"] != "unsent_view"
        ],
        "columns": picture.columns,
        "standings": [
            {
                "id": one.id,
                "kind": one.kind,
                "versions": [[turn, places[index]] for turn, index in one.versions],
                "cells": _runs(one.cells),
                "words": one.words,
            }
            for one in picture.standings
        ],
        "why": picture.why,
        "failed_turn": picture.failed_turn,
        "failed_call": picture.failed_call,
        "end": transcript.end and {name: shorten(transcript.end.get(name)) for name in ("ended", "turn", "detail")},
    }


def _said(
    transcript: Transcript,
) -> tuple[dict[str | None, list[Record]], dict[str | None, int], dict[int, int]]:
    """The messages of each line of conversation, where in the log each line begins, and index → place in the main log.

    Raises `StoreError` when a message is missing. An agent with its own memory counts through all lines, and so has
    no index that is a place: nothing it was sent refers to one.
    """
    said: dict[str | None, list[Record]] = {None: []}
    starts: dict[str | None, int] = {}
    own_memory = not any((record.get("view") or {}).get("ranges") for record in transcript.records)
    for record in transcript.records:
        if record["t"] != "msg":
            continue
        branch = record["branch"]
        if branch not in starts:
            starts[branch] = len(said[None]) if own_memory or branch is None else record["i"]
        line = said.setdefault(branch, [])
        if not own_memory and record["i"] != starts[branch] + len(line):
            raise StoreError(f"{transcript.path.name} is damaged: message {starts[branch] + len(line)} is not in it")
        line.append(record)
    return said, starts, {record["i"]: place for place, record in enumerate(said[None])}


def _check_ranges(transcript: Transcript, said: dict[str | None, list[Record]], starts: dict[str | None, int]) -> None:
    """Raise `StoreError` when a call was sent messages that the file does not hold: the page would show fewer."""
    for record in transcript.records:
        ranges = (record.get("view") or {}).get("ranges") or ()
        branch = record.get("branch") if record.get("branch") in said else None
        end = starts.get(branch, 0) + len(said[branch])
        for start, until in ranges:
            if not 0 <= start <= until <= end:
                raise StoreError(
                    f"{transcript.path.name} is damaged: call {record.get('n')} was sent messages {start} to {until}, "
                    f"and it holds {end}"
                )


def _log(transcript: Transcript, branch: str | None, messages: list[Record], texts: Texts) -> list[list[Any]]:
    return [
        [
            record["turn"],
            record["origin"],
            int(bool(record.get("pinned"))),
            texts.add(transcript.message(record["i"], branch)),
        ]
        for record in messages
    ]


def _call(record: Record, model: Any, texts: Texts) -> dict[str, Any]:
    view, reply = record.get("view"), record.get("reply")
    packed: dict[str, Any] | None = None
    if view is not None and "messages" in view:
        packed = {"texts": [texts.add(message) for message in view["messages"]]}
    elif view is not None:
        packed = {
            "ranges": view["ranges"],
            "made": [[position, texts.add(message)] for position, message in view["made"]],
            "manifest": view["manifest"],
            **({"tools": view["tools"]} if view.get("tools") else {}),
        }
    elif record["purpose"] not in COLUMN_PURPOSES:
        raise KeyError("view")
    usual = {**_USUAL, "asked": model}
    call = {name: value for name, value in _known(record, _CALL_FIELDS).items() if usual.get(name) != value}
    if record.get("usage"):
        call["usage"] = _known(record["usage"], _USAGE_FIELDS)
    if "prompt_tokens" in call.get("usage", ()):
        call.pop("prompt_estimate", None)
    if packed is not None:
        call["view"] = packed
    if reply is not None:
        text = texts.add(Reply.from_dict(reply).to_message().to_dict())
        call["reply"] = {"text": text, **_known(reply, ("finish_reason", "reasoning", "refusal"))}
    return call


def _verdict(record: Record, causes: Causes | None) -> dict[str, Any]:
    cause = cause_of(record, causes)
    verdict = _known(record, _VERDICT_FIELDS) | ({"cause": cause} if cause else {})
    if record["outcome"] == "pass":  # it rests on the reply, which is there
        verdict.pop("evidence", None)
    return verdict


def _known(record: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The fields of a record that say something, short enough for a page."""
    values = ((name, record.get(name)) for name in names)
    return {
        name: round(value, _DECIMALS) if isinstance(value, float) else shorten(value)
        for name, value in values
        if value is not None and value != ""
    }


def _runs(cells: tuple[str, ...]) -> list[list[Any]]:
    runs: list[list[Any]] = []
    for cell in cells:
        if runs and runs[-1][0] == cell:
            runs[-1][1] += 1
        else:
            runs.append([cell, 1])
    return runs
