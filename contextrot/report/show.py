"""`contextrot show`: the sessions of a run, and one session turn by turn: what was sent, what was done, why it failed.

Everything a model or a user wrote goes through `words.clean` into rich `Text`: nothing in it is read as markup, and no
escape sequence or direction mark reaches the terminal.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from contextrot.analysis.replay_view import Record, Transcript, find_session, read_transcript
from contextrot.analysis.tables import Run, load_run
from contextrot.errors import StoreError
from contextrot.report.layout import print_rule
from contextrot.report.palette import BAD, DID, GOOD, QUIET, SENT, SIMULATED, WARN
from contextrot.report.session_list import print_sessions, session_rows
from contextrot.report.words import clean, one_line, percent

_STYLES = {"pass": GOOD, "fail": BAD}
_MARKS = {"pass": "✓", "fail": "✗"}
_CAUSES = {
    "lost": "lost: it was no longer in what was sent",
    "ignored": "ignored: it was in what was sent",
    "incapable": "incapable: the model fails this when fresh as well",
}
Causes = dict[tuple[int, str | None, str, str], str]


def show_session(
    run_path: str | os.PathLike[str],
    session: str | None = None,
    turn: int | None = None,
    console: Console | None = None,
) -> None:
    """Print the list of sessions; or one of them (its key, or a part only it has); or all that was sent at one turn.

    Raises `StoreError` when the run, the session or the turn does not exist.
    """
    console = console or Console(markup=False, emoji=False, highlight=False)
    run = load_run(run_path)
    if session is None:
        print_sessions(run, console)
        return
    transcript = _sound(run, session)
    _print_head(transcript, console)
    causes = _final_causes(run, transcript)
    records = [record for record in transcript.records if record["t"] != "end"]
    if turn is not None:
        records = [record for record in records if record.get("turn") == turn]
        if not records:
            raise StoreError(f"nothing happened at turn {turn} of {transcript.path.stem}")
    for number, group in groupby(records, key=lambda record: record.get("turn")):
        print_rule(console, Text(f"turn {number}"))
        for record in group:
            for shown in _lines(transcript, record, causes, console):
                console.print(shown)
            if turn is not None and record["t"] == "call":
                _print_sent(transcript, record["n"], console, whole=True)
    if turn is None:
        _print_first_failure(run, transcript, console)
    if transcript.end is not None and turn is None:
        end = transcript.end
        text = f"ended: {end.get('ended')} at turn {end.get('turn')}"
        console.print(Text(text + (f": {clean(end['detail'])}" if end.get("detail") else ""), style="bold"))


def session_data(run_path: str | os.PathLike[str], session: str | None = None, turn: int | None = None) -> Any:
    """The same as data for `--json`: rows of the list; or a session's head, records and end, with what was sent.

    With `turn`, every call of that turn carries `messages`, the exact messages it was sent (null when not known).
    """
    run = load_run(run_path)
    if session is None:
        return session_rows(run)
    transcript = _sound(run, session)
    causes = _final_causes(run, transcript)
    records = [record for record in transcript.records if turn is None or record.get("turn") == turn]
    for record in records:
        if record["t"] == "verdict":
            record["cause"] = causes.get(_verdict_key(record)) or None
        if record["t"] == "call" and turn is not None:
            record["messages"] = transcript.messages(record["n"]) if record.get("view") else None
    return {"head": transcript.head, "records": records, "end": transcript.end}


def _sound(run: Run, session: str) -> Transcript:
    """A session read from its file. Raises `StoreError` for one that the tables leave out because it is damaged."""
    path = find_session(run.path, session)
    for problem in run.problems:
        if problem.startswith(f"sessions/{path.name}:") and " is damaged: " in problem:
            raise StoreError(f"{run.path}/{problem}")
    return read_transcript(path)


def _print_head(transcript: Transcript, console: Console) -> None:
    head = transcript.head
    console.print(Text(clean(head.get("key")), style="bold"))
    if head.get("simulated"):
        console.print(Text("SIMULATED: the replies are those of a simulated model.", style=SIMULATED))
    window = f"{head.get('window'):,} tokens" if head.get("window") else "unknown"
    facts = (
        f"{head.get('scenario')} · {head.get('model')} · strategy {head.get('strategy')} · "
        f"repeat {head.get('repeat')} · seed {head.get('seed')} · history {head.get('history')} · window {window}"
        + (" (virtual)" if head.get("window_source") == "virtual" else "")
    )
    console.print(Text(clean(facts), style=QUIET))


def _lines(transcript: Transcript, record: Record, causes: Causes, console: Console) -> Iterable[Padding | Text]:
    """How one record is shown. Records of a branch are set in, under the turn they were asked at."""
    indent = 4 if record.get("branch") else 2
    kind = record["t"]
    if kind == "msg" and record.get("message") is not None:
        yield _indented(_said(record), indent)
    elif kind == "call":
        for text in _call(transcript, record, console):
            yield _indented(text, indent + 2)
    elif kind == "event":
        detail = ", ".join(_details(record.get("detail") or {}))
        event = f"~ {clean(record.get('name'))}" + (f": {detail}" if detail else "")
        # what would have been sent, had a scripted turn been asked, is no deed of the strategy's
        style = QUIET if record.get("name") == "unsent_view" else DID
        yield _indented(Text(event, style=style), indent)
    elif kind == "verdict":
        yield _indented(_verdict(record, causes, console), indent)


def _details(detail: Record) -> Iterable[str]:
    for name, value in detail.items():
        if value is not None:
            yield f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {one_line(value, 60)}"


def _indented(text: Text, columns: int) -> Padding:
    return Padding(text, (0, 0, 0, columns), expand=False)


def _said(record: Record) -> Text:
    message = record["message"]
    origin, role = record.get("origin"), message.get("role")
    who = f"{origin} ({role})" if origin != role else str(role)
    text = Text(f"{clean(who)}: ", style="bold")
    text.append(_content(message, 160), style="not bold")
    if record.get("pinned"):
        text.append("  [pinned]", style=SENT)
    return text


def _content(message: Record, longest: int) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    calls = [
        f"{call.get('function', {}).get('name')}({call.get('function', {}).get('arguments')})"
        for call in message.get("tool_calls") or ()
    ]
    return one_line(" ".join([str(content or ""), *(f"→ {call}" for call in calls)]).strip(), longest)


def _call(transcript: Transcript, record: Record, console: Console) -> Iterable[Text]:
    occupancy = record.get("occupancy")
    line = Text(f"call {record['n']} ", style=QUIET)
    if occupancy is not None:
        line.append(_bar(occupancy, console), style=WARN if occupancy >= 0.8 else SENT)
        line.append(f" {percent(occupancy)}" + (" (estimate)" if record.get("occupancy_source") == "estimate" else ""))
    line.append(f"  {_view(record.get('view'), record.get('purpose'))}")
    yield line
    for position, message in (record.get("view") or {}).get("made", ()):
        text = Text(f"+ made by the strategy, at {position} ({clean(message.get('role'))}): ", style=DID)
        text.append(_content(message, 200))
        yield text
    if record.get("outcome") != "ok":
        detail = f": {one_line(record['error'], 300)}" if record.get("error") else ""
        yield Text(f"{record.get('outcome')}{detail}", style=WARN)
    if record.get("reply"):
        text = Text("reply: ", style="bold")
        text.append(_content(record["reply"], 200), style="not bold")
        yield text


def _view(view: Record | None, purpose: str | None) -> str:
    if view is None:
        return "what was sent is not known: the agent keeps its own memory"
    if "messages" in view:
        return f"{purpose} call, {len(view['messages'])} messages"
    counts: dict[str, int] = {}
    for status, start, end in view["manifest"]:
        counts[status] = counts.get(status, 0) + end - start
    parts = [f"{n} {status}" for status, n in counts.items() if n]
    if view["made"]:
        parts.append(f"{len(view['made'])} made")
    return ", ".join(parts)


def _bar(share: float, console: Console, width: int = 10) -> str:
    full, empty = ("█", "░") if _unicode(console) else ("#", ".")
    filled = max(0, min(width, round(share * width)))
    return full * filled + empty * (width - filled)


def _unicode(console: Console) -> bool:
    return console.encoding.lower().startswith("utf")


def _verdict(record: Record, causes: Causes, console: Console) -> Text:
    outcome = str(record.get("outcome"))
    mark = _MARKS.get(outcome, "·") if _unicode(console) else {"pass": "+", "fail": "x"}.get(outcome, ".")
    text = Text(f"{mark} {record.get('kind')} ", style=_STYLES.get(outcome, WARN))
    text.append(f"{clean(record.get('id'))} ({clean(record.get('check'))}): {clean(outcome)}")
    if record.get("reason"):
        text.append(f", {one_line(record['reason'], 300)}")
    cause = causes.get(_verdict_key(record), "")
    if cause:
        since = f", stated {record['since_turns']} turns before" if record.get("since_turns") else ""
        text.append(f"  [{_CAUSES.get(cause, cause)}{since}]")
    return text


def _verdict_key(record: Record) -> tuple[int, str | None, str, str]:
    call = record.get("call")
    return record["turn"], None if call is None else str(call), record["kind"], record["id"]


def _final_causes(run: Run, transcript: Transcript) -> Causes:
    """The final causes of one session's verdicts; the record itself cannot know `incapable`."""
    import pandas as pd

    rows = run.verdicts.loc[run.verdicts["session"] == transcript.head.get("key")]
    return {
        (int(turn), None if pd.isna(call) else str(int(call)), kind, name): cause
        for turn, call, kind, name, cause in zip(
            rows["turn"], rows["call"], rows["kind"], rows["id"], rows["cause"].astype(object), strict=True
        )
        if cause
    }


def _print_first_failure(run: Run, transcript: Transcript, console: Console) -> None:
    """What was sent for the first check that failed, a line per message: where the reader looks first."""
    failed = [
        record
        for record in transcript.records
        if record["t"] == "verdict" and record["outcome"] == "fail" and record["kind"] in ("probe", "passive")
    ]
    if not failed or failed[0].get("call") is None:
        return
    first = failed[0]
    number = first["call"]
    print_rule(console, Text(f"the first failure: {clean(first['id'])} at turn {first['turn']}", style="bold"), BAD)
    _print_sent(transcript, number, console, whole=False)
    _print_left_out(transcript, number, console)
    command = shlex.join(["contextrot", "show", str(run.path), transcript.path.stem, "--turn", str(first["turn"])])
    console.print(Text(f"{command} prints these messages in full.", style=QUIET))


def _print_sent(transcript: Transcript, number: int, console: Console, *, whole: bool) -> None:
    """The messages sent for a call; whole, or the first line of each and how many lines more."""
    if not transcript.call(number).get("view"):
        console.print(_indented(Text("what was sent is not known: the agent keeps its own memory", style=QUIET), 4))
        return
    sent = transcript.messages(number)
    console.print(_indented(Text(f"sent for call {number}, {len(sent)} messages:", style="bold"), 4))
    for text in _sent(sent, whole=whole):
        console.print(_indented(text, 6))


def _print_left_out(transcript: Transcript, number: int, console: Console, most: int = 6) -> None:
    """The first messages of the log that were not sent as they are, with what became of them."""
    call = transcript.call(number)
    left_out = [
        (index, status)
        for status, start, end in (call.get("view") or {}).get("manifest", ())
        if status != "verbatim"
        for index in range(start, end)
    ]
    if not left_out:
        return
    console.print(_indented(Text(f"not sent as they are, {len(left_out)} messages:", style="bold"), 4))
    for index, status in left_out[:most]:
        message = transcript.message(index, call.get("branch"))
        text = Text(f"{clean(status)} {clean(message.get('role'))}: ", style=DID)
        text.append(_content(message, 110), style="default")
        console.print(_indented(text, 6))
    if len(left_out) > most:
        console.print(_indented(Text(f"… and {len(left_out) - most} more", style=QUIET), 6))


def _sent(messages: Sequence[Record], *, whole: bool) -> Iterable[Text]:
    for position, message in enumerate(messages):
        text = Text(f"{position} {clean(message.get('role'))}: ", style=SENT)
        if whole and isinstance(message.get("content"), str) and not message.get("tool_calls"):
            text.append(clean(message["content"]), style="default")
        else:
            text.append(_content(message, 10_000 if whole else 110), style="default")
        yield text
