"""What a recorded session is, whatever tool wrote it; the registry of formats; and reading a file by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from contextrot.errors import ConfigError
from contextrot.log import repair
from contextrot.messages import NOT_COUNTED, Message, Tool, Usage
from contextrot.transcripts.source import Source, read_source


class ModelCall(NamedTuple):
    """One call of the model. `at` is the place of its reply among the messages; usage as the provider counted it."""

    at: int
    usage: Usage = NOT_COUNTED
    model: str | None = None
    finish_reason: str | None = None


class Compaction(NamedTuple):
    """A compaction that the record names. It happened before message `at`; tokens are None where not recorded."""

    at: int
    trigger: str = ""
    before: int | None = None
    after: int | None = None
    summary: str = ""


@dataclass(frozen=True)
class Transcript:
    """A recorded session: every message in order, well paired, and what was recorded beside them.

    `times` has one ISO 8601 text (or None) per message. `window` is the model's context window in tokens where the
    record says it. `errors` are failures of calls that the record names. `notes` say, in sentences, what was left out.
    """

    messages: tuple[Message, ...]
    format: str
    name: str = ""
    calls: tuple[ModelCall, ...] = ()
    times: tuple[str | None, ...] = ()
    model: str | None = None
    window: int | None = None
    compactions: tuple[Compaction, ...] = ()
    tools: tuple[Tool, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def turn_of(self) -> tuple[int, ...]:
        """The turn of each message; a user message opens one, and 0 is what stands before the first."""
        turns, turn = [], 0
        for message in self.messages:
            turn += message.role == "user"
            turns.append(turn)
        return tuple(turns)

    @property
    def turns(self) -> int:
        """How many user turns the session has."""
        return self.turn_of[-1] if self.messages else 0

    @property
    def system(self) -> str | None:
        """The system prompt: the texts of all system messages before the first user message, or None."""
        texts = [m.text for m, turn in zip(self.messages, self.turn_of, strict=True) if m.role == "system" and not turn]
        return "\n\n".join(text for text in texts if text.strip()) or None


class Draft:
    """A transcript in the making: readers add what they find, in order, and `done` pairs and numbers it."""

    def __init__(self, format: str, name: str = "") -> None:
        self.format, self.name = format, name
        self.model: str | None = None
        self.window: int | None = None
        self.tools: tuple[Tool, ...] = ()
        self.errors: list[str] = []
        self.notes: list[str] = []
        #: what was left out, counted by a word for it
        self.left_out: Counter[str] = Counter()
        self._messages: list[Message] = []
        self._times: list[str | None] = []
        self._calls: dict[int, ModelCall] = {}
        self._compactions: list[Compaction] = []

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, message: Message, time: object = None) -> int:
        """Append a message; returns its place."""
        self._messages.append(message)
        self._times.append(time if isinstance(time, str) else None)
        return len(self._messages) - 1

    def replace(self, index: int, message: Message) -> None:
        """Put another message in a place: a reply of which a further part was found."""
        self._messages[index] = message

    def message(self, index: int) -> Message:
        """The message at a place."""
        return self._messages[index]

    def call(
        self, index: int, usage: Usage = NOT_COUNTED, model: str | None = None, finish_reason: str | None = None
    ) -> None:
        """Say that the message at `index` is the reply of one call; said again, the later figures hold."""
        self._calls[index] = ModelCall(index, usage, model, finish_reason)
        self.model = model or self.model

    def compacted(
        self, *, trigger: str = "", before: int | None = None, after: int | None = None, summary: str = ""
    ) -> None:
        """A compaction happened here."""
        self._compactions.append(Compaction(len(self._messages), trigger, before, after, summary))

    def summarised(self, summary: str) -> None:
        """The summary of a compaction: of the one just named, or one that nothing else names."""
        if self._compactions and self._compactions[-1].at == len(self._messages):
            self._compactions[-1] = self._compactions[-1]._replace(summary=summary)
        else:
            self.compacted(summary=summary)

    def done(self) -> Transcript:
        """The transcript. Calls without result and results without call are left out, as `log.repair` does.

        Where a message has more than calls nobody answered (text, calls that were answered), the rest of it is kept.
        """
        unanswered = self._leave_out_unanswered()
        keep = repair([message.to_dict() for message in self._messages])
        place = {old: new for new, old in enumerate(keep)}
        lost = len(self._messages) - len(keep)
        notes = list(self.notes)
        if unanswered:
            notes.append(f"{_counted(unanswered, 'tool_call')} without a result left out".replace("_", " "))
        if lost:
            notes.append(
                f"{_counted(lost, 'message')} left out: tool calls without a result, or results without a call"
            )
        notes += [f"{_counted(count, what)} left out" for what, count in self.left_out.items() if count]
        replies = [i for i in keep if self._messages[i].role == "assistant"]
        calls = [self._calls.get(i, ModelCall(i)) for i in replies]
        return Transcript(
            messages=tuple(self._messages[i] for i in keep),
            format=self.format,
            name=self.name,
            calls=tuple(call._replace(at=place[call.at]) for call in calls),
            times=tuple(self._times[i] for i in keep),
            model=self.model,
            window=self.window,
            compactions=tuple(c._replace(at=sum(1 for i in keep if i < c.at)) for c in self._compactions),
            tools=self.tools,
            errors=tuple(self.errors),
            notes=tuple(notes),
        )

    def _leave_out_unanswered(self) -> int:
        """Take calls that never got a result out of messages with something beside them; returns how many.

        The last message may still wait for its results.
        """
        waiting: dict[str, int] = {}
        answered: set[tuple[int, str]] = set()
        for index, message in enumerate(self._messages):
            waiting.update((call.id, index) for call in message.tool_calls)
            if message.role == "tool" and message.tool_call_id in waiting:
                answered.add((waiting.pop(message.tool_call_id), message.tool_call_id))
        spoken = [i for i, message in enumerate(self._messages) if message.role in ("user", "assistant")]
        count = 0
        for index in spoken[:-1]:
            message = self._messages[index]
            kept = tuple(call for call in message.tool_calls if (index, call.id) in answered)
            if len(kept) < len(message.tool_calls) and (kept or message.text.strip()):
                count += len(message.tool_calls) - len(kept)
                self._messages[index] = replace(message, tool_calls=kept)
        return count


def _counted(count: int, what: str) -> str:
    """`1 line`, `3 lines`; `entries of type x` stays the plural of `entry of type x`."""
    head, _, rest = what.partition(" ")
    if count != 1:
        head = head[:-1] + "ies" if head.endswith("y") else head + "s"
    return f"{count} {head}{' ' + rest if rest else ''}"


class Format(NamedTuple):
    """A format by name. `recognises` looks at the parsed file; `read` gives one transcript per conversation in it."""

    name: str
    title: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source], Sequence[Transcript]]


_FORMATS: dict[str, Format] = {}
#: Files are recognised in this order, the most particular first: an Anthropic request is an OpenAI-like list as well.
_ORDER = ("claude-code", "codex", "langfuse", "langsmith", "sharegpt", "anthropic", "openai")
Read = Callable[[Source], Sequence[Transcript]]


def register(name: str, title: str, recognises: Callable[[Source], bool]) -> Callable[[Read], Read]:
    """Decorator of the function that reads a format."""

    def keep(read: Read) -> Read:
        _FORMATS[name] = Format(name, title, recognises, read)
        return read

    return keep


def formats() -> tuple[Format, ...]:
    """Every format, in the order in which files are recognised."""
    known = sorted(_FORMATS, key=lambda name: _ORDER.index(name) if name in _ORDER else -1)
    return tuple(_FORMATS[name] for name in known)


def read_transcripts(path: str | Path, format: str | None = None) -> list[Transcript]:
    """The conversations of a file, in order: most formats hold one, data sets and exports hold many.

    `format` names the format instead of recognising it. Raises `ConfigError` with a sentence for a file that cannot be
    read, is in no known format, or holds no user message.
    """
    if format is not None and format not in _FORMATS:
        raise ConfigError(f"there is no transcript format `{format}`; known: {', '.join(sorted(_FORMATS))}")
    source = read_source(Path(path))
    found = _FORMATS[format] if format else next((one for one in formats() if _recognised(one, source)), None)
    if found is None:
        raise ConfigError(
            f"{path}: {_looks_like(source)}, which is no transcript format I know; name one with --format: "
            f"{', '.join(sorted(_FORMATS))}"
        )
    try:
        read = [transcript for transcript in found.read(source) if transcript.turns]
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read as {found.title}: {error}") from error
    if not read:
        raise ConfigError(f"{path}: read as {found.title}, it holds no user message, so there is no session in it")
    read = _without_states_before(read)
    several = len(read) > 1
    named = [
        replace(one, name=one.name or (f"{source.path.name} {number}" if several else source.path.name))
        for number, one in enumerate(read, 1)
    ]
    named[0] = replace(named[0], notes=(*source.notes, *named[0].notes))
    return named


def _without_states_before(read: Sequence[Transcript]) -> list[Transcript]:
    """The conversations without those that a later one begins with: a log of requests has each as it grew.

    What was counted of a call stays with it.
    """
    begins: dict[int, int] = {}
    kept: dict[int, Transcript] = {}
    earlier: Counter[int] = Counter()
    for number in range(len(read) - 1, -1, -1):
        one = read[number]
        state, states = 0, []
        for message in one.messages:
            calls = tuple((call.id, call.name, call.arguments) for call in message.tool_calls)
            state = hash((state, message.role, message.text, calls, message.tool_call_id))
            states.append(state)
        whole = begins.get(states[-1])
        if whole is not None:
            kept[whole] = _with_counts_of(one, kept[whole])
            earlier[whole] += 1
            continue
        kept[number] = one
        begins.update(dict.fromkeys(states[:-1], number))
    for number, count in earlier.items():
        note = (
            f"{_counted(count, 'record')} left out: the same conversation at an earlier point, which a later one holds"
        )
        kept[number] = replace(kept[number], notes=(*kept[number].notes, note))
    return [kept[number] for number in sorted(kept)]


def _with_counts_of(start: Transcript, whole: Transcript) -> Transcript:
    """`whole` with what only the record of its `start` says of calls and times."""
    counted = {call.at: call for call in start.calls if call.usage != NOT_COUNTED}
    calls = tuple(
        counted.get(call.at, call)._replace(at=call.at) if call.usage == NOT_COUNTED else call for call in whole.calls
    )
    times = list(whole.times)
    for place, time in enumerate(start.times):
        times[place] = times[place] or time
    return replace(whole, calls=calls, times=tuple(times))


def _recognised(format: Format, source: Source) -> bool:
    try:
        return format.recognises(source)
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
        return False  # of another form than any file of the format


def _looks_like(source: Source) -> str:
    first: Any = source.records[0] if source.records else None
    if isinstance(first, Mapping):
        keys = ", ".join(f"`{key}`" for key in list(first)[:6])
        return f"JSON whose first entry has the keys {keys}" if keys else "JSON whose first entry is empty"
    return f"JSON whose first entry is {type(first).__name__}"
