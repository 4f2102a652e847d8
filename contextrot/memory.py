"""`Memory`: a context strategy inside the user's own agent, the same code that the bench measures.

The agent adds what is said and asks what to send; the strategy decides. As in `bench/session.py` there is one
append-only log, and one state that belongs to the strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextrot.callbacks import Embedding, Summarizer, helpers, run
from contextrot.errors import ConfigError, MalformedHistoryError
from contextrot.log import Log
from contextrot.memory_file import read_document, read_view, stored_view, write_document
from contextrot.messages import Message, Tool, ToolCall
from contextrot.models.roles import OPENING, normalise
from contextrot.render import check_window, parse_message, tool_tokens
from contextrot.strategies import Event, Request, State, Strategy, View, load_strategy
from contextrot.tokens import Drift, TokenCounter


@dataclass(slots=True)
class _Sent:
    """A view with what belongs to it: the log it is of (a branch, for a query), the messages as they go out, and the
    prompt's tokens in the counter's unit, tool schemas included. `usage` is what the provider counted."""

    view: View
    log: Log
    messages: list[Message]
    estimate: int
    usage: int | None = None


class Memory:
    """What an agent remembers, and what of it goes out with the next call.

    strategy: name, mapping or `Strategy`, as in contextrot.yaml. window: tokens that prompt and reply may take
    together. tools: the agent's own tools, whose schemas take their share. summarizer, embedder: helpers as `render`
    takes them. max_tokens: kept free for the reply. roles: None or ``strict_alternation``. counter: tokens of a
    text by your model's tokenizer, where the built-in estimate is not good enough.

    Raises `ConfigError` for settings that cannot work. Not thread-safe, and nothing may be added while `amessages` is
    waited for: one conversation, one memory, one task at a time.
    """

    def __init__(
        self,
        strategy: str | Mapping[str, Any] | Strategy,
        window: int,
        *,
        tools: Sequence[Tool | Mapping[str, Any]] = (),
        summarizer: Summarizer | None = None,
        embedder: Embedding | None = None,
        max_tokens: int = 0,
        roles: str | None = None,
        counter: Callable[[str], int] | None = None,
    ) -> None:
        self.strategy = load_strategy(strategy)
        self.window = check_window(window)
        if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or not 0 <= max_tokens < window:
            raise ConfigError(f"max_tokens is {max_tokens!r}; it must be a whole number from 0 to below the window")
        normalise((), roles)  # refuses unknown rules
        self.max_tokens = max_tokens
        self.roles = roles
        self._own_tools = [tool.to_dict() if isinstance(tool, Tool) else deepcopy(dict(tool)) for tool in tools]
        self._helpers = helpers(summarizer, embedder)
        self._counter = TokenCounter(counter)
        self._tool_tokens = tool_tokens(self._own_tools, self._counter)
        self._log = Log(self._counter.message)
        #: by index, the dict handed in where it says more than the message it was read into
        self._given: dict[int, dict[str, Any]] = {}
        self._state: State = {}
        self._turn = 0
        self._last_violation: int | None = None
        self._drift = Drift()
        #: views of the log as it is now, by query
        self._views: dict[str | None, _Sent] = {}
        self._sent: _Sent | None = None

    def __repr__(self) -> str:
        return f"Memory({self.strategy.type_name!r}, {self.window}, messages={len(self)})"

    def __len__(self) -> int:
        """Messages in the log."""
        return len(self._log)

    # --- what was said ---

    def add(
        self,
        message: str | Mapping[str, Any] | Message | Any,
        content: str | Sequence[Any] | None = None,
        *,
        tags: Iterable[str] = (),
        task: str = "",
        pinned: bool = False,
        standing: Sequence[str] = (),
    ) -> int:
        """Add a message and return its index: an OpenAI-style dict, an SDK's message object, or role and content.

        A user message begins a turn. tags, task: for strategies that choose by them. pinned: it stays in view.
        standing: the texts of rules it states for the rest of the session, where it says more than those.

        Raises `MalformedHistoryError` for what is no message and for a tool result that answers no open call.
        """
        return self._append(message, content, frozenset(tags), task, pinned, tuple(standing), new_turn=True)

    def pin(self, message: str | Mapping[str, Any] | Message | Any, role: str = "user") -> int:
        """Add something that stays in view whatever the strategy evicts, and return its index.

        It stands where it was said, and what re-anchors or compacts treats its text as a rule. It begins no turn: pin
        before the user message it goes with, which has to be the last one.
        """
        raw = {"role": role, "content": message} if isinstance(message, str) else message
        return self._append(raw, None, frozenset(), "", True, None, new_turn=False)

    def supersede(self, index: int, statement: str | None = None, *, by: str = "") -> None:
        """What message `index` stated (one statement of it, or all) holds no longer. by: what holds instead.

        It is neither repeated nor pinned for its sake from now on, and stays in the log. Without this an old value that
        is pinned stands beside the new one.
        """
        for text in self._statements(index, statement):
            self._log.supersede(index, text, by)
        self._views.clear()

    def _statements(self, index: int, statement: str | None) -> tuple[str, ...]:
        """What of message `index` is meant by `statement`. Raises `ConfigError`."""
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self._log):
            raise ConfigError(f"there is no message {index!r}; the messages are numbered 0 to {len(self._log) - 1}")
        entry = self._log[index]
        if statement is not None and statement not in entry.standing:
            raise ConfigError(f"message {index} does not state {statement!r}; it states {list(entry.standing)}")
        # A message may be pinned for no statement of its own; superseding none of them takes that pin off too.
        return (*entry.standing, "") if statement is None else (statement,)

    def unpin(self, index: int) -> None:
        """Message `index` need not stay in view any more."""
        for text in self._statements(index, None):
            self._log.release(index, text)
        self._views.clear()

    def note_violation(self) -> None:
        """In this turn the agent broke a rule: strategies that re-anchor after a violation do so."""
        self._last_violation = self._turn
        self._views.clear()

    def observe(self, prompt_tokens: int | None) -> float | None:
        """Take in the provider's own count of the prompt that was last asked for; later views are budgeted by it.

        Returns how far the estimate was off (0.1: 10 % too low), None without a figure.
        """
        if self._sent is None or not prompt_tokens:
            return None
        self._sent.usage = prompt_tokens
        return self._drift.learn(prompt_tokens, self._sent.estimate)

    # --- what to send ---

    def messages(self, query: str | None = None) -> list[dict[str, Any]]:
        """The messages to send now, as OpenAI-style dicts of the caller's own.

        query: a user message to ask on a branch: it ends these messages and is not remembered. Until something is added
        the same view comes back and no helper is asked again.

        Raises `BudgetError` when what must stay in view does not fit, `MalformedHistoryError` when the conversation
        went on before every tool call had its result, `ConfigError` when the strategy needs a helper that was not
        given. Inside a running event loop it blocks for as long as a helper takes; see `amessages`.
        """
        sent = self._views.get(query) or run(self._view(query), waits=self._helpers.waits)
        return self._dicts(sent)

    async def amessages(self, query: str | None = None) -> list[dict[str, Any]]:
        """As `messages`, waiting for async helpers."""
        sent = self._views.get(query) or await self._view(query)
        return self._dicts(sent)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Tool schemas to send along: the agent's own, and those that the strategy offered with the last view."""
        offered = self._sent.view.tools if self._sent is not None else ()
        return [*deepcopy(self._own_tools), *(tool.to_dict() for tool in offered)]

    def answer(self, tool_call: ToolCall | Mapping[str, Any] | Any) -> str | None:
        """The result of a call of one of the strategy's own tools; None for a tool of the agent's.

        Add it like any other result: ``add({"role": "tool", "tool_call_id": …, "content": …})``.
        """
        call = tool_call if isinstance(tool_call, ToolCall) else ToolCall.from_dict(_plain(tool_call))
        if self._sent is None or call.name not in {tool.name for tool in self._sent.view.tools}:
            return None
        return self.strategy.answer(call, self._sent.log, self._sent.view.state)

    @property
    def manifest(self) -> tuple[str, ...]:
        """What became of every message in the last view: `verbatim`, `masked`, `summarised`, `dropped`, …"""
        return tuple(status.value for status in self._sent.view.manifest) if self._sent is not None else ()

    @property
    def events(self) -> tuple[Event, ...]:
        """What the strategy did for the last view: compactions, rejected summaries, fallbacks."""
        return self._sent.view.events if self._sent is not None else ()

    @property
    def tokens(self) -> int:
        """Tokens of the last prompt, tool schemas included: the provider's figure once observed, else the estimate."""
        if self._sent is None:
            return 0
        return self._sent.usage or round(self._sent.estimate * self._drift.scale)

    @property
    def occupancy(self) -> float:
        """`tokens` as a share of the window."""
        return self.tokens / self.window

    # --- on disk ---

    def save(self, path: str | Path) -> None:
        """Write log, state and the present view as JSON; helpers are functions and are not saved.

        Raises `ConfigError` when the file cannot be written or a message holds what JSON cannot.
        """
        current = self._views.get(None)
        document = {
            "strategy": self.strategy.model_dump(mode="json", exclude_unset=True),
            "window": self.window,
            "max_tokens": self.max_tokens,
            "roles": self.roles,
            "tools": self._own_tools,
            "turn": self._turn,
            "last_violation": self._last_violation,
            "scale": self._drift.scale,
            "state": self._state,
            "superseded": [list(one) for one in self._log.superseded],
            "messages": [
                {
                    "message": self._given.get(index) or entry.message.to_dict(),
                    "turn": entry.turn,
                    "pinned": entry.pinned,
                    "standing": entry.standing,
                    "tags": sorted(entry.tags),
                    "task": entry.task,
                }
                for index, entry in enumerate(self._log)
            ],
            "view": None
            if current is None
            else stored_view(current.view) | {"prompt": [current.estimate, current.usage]},
        }
        write_document(Path(path), document)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        summarizer: Summarizer | None = None,
        embedder: Embedding | None = None,
        counter: Callable[[str], int] | None = None,
    ) -> Memory:
        """The memory that `save` wrote; `messages()` gives what it gave. Raises `ConfigError`."""
        raw = read_document(Path(path))
        try:
            return cls._revive(raw, summarizer, embedder, counter)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigError(f"{path} is damaged: {type(error).__name__}: {error}") from error

    @classmethod
    def _revive(
        cls,
        raw: Mapping[str, Any],
        summarizer: Summarizer | None,
        embedder: Embedding | None,
        counter: Callable[[str], int] | None,
    ) -> Memory:
        memory = cls(
            raw["strategy"],
            raw["window"],
            tools=raw["tools"],
            summarizer=summarizer,
            embedder=embedder,
            max_tokens=raw["max_tokens"],
            roles=raw["roles"],
            counter=counter,
        )
        for item in raw["messages"]:
            memory._turn = item["turn"]
            memory._append(
                item["message"], None, frozenset(item["tags"]), item["task"], item["pinned"], tuple(item["standing"]),
                new_turn=False,
            )  # fmt: skip
        for index, text, by in raw.get("superseded", ()):
            memory._log.supersede(index, text, by)
        memory._turn, memory._last_violation = raw["turn"], raw["last_violation"]
        memory._drift.scale, memory._state = raw["scale"], raw["state"]
        if raw["view"] is not None:
            view = read_view(raw["view"], memory._log, memory._state)
            sent = _Sent(view, memory._log, normalise(view.messages, memory.roles), *raw["view"]["prompt"])
            memory._sent = memory._views[None] = sent
        return memory

    # --- the parts ---

    def _append(
        self,
        message: Any,
        content: Any,
        tags: frozenset[str],
        task: str,
        pinned: bool,
        standing: tuple[str, ...] | None,
        *,
        new_turn: bool,
    ) -> int:
        """Add to the log. `standing` None: the message's own text."""
        index = len(self._log)
        if isinstance(message, str):
            if content is None:
                raise MalformedHistoryError(f"message {index} has no content; write a role and a text, or a dict")
            message = {"role": message, "content": content}
        raw = deepcopy(_plain(message))
        parsed = parse_message(index, raw)
        waiting = set(self._log.unanswered())
        for call in parsed.tool_calls:
            if call.id in waiting:
                raise MalformedHistoryError(
                    f"message {index} calls a tool with the id {call.id!r}, but an earlier call with this id still "
                    "waits for its result"
                )
        turn = self._turn + (new_turn and parsed.role == "user")
        stated = (parsed.text,) if standing is None else standing
        self._log.append(parsed, turn=turn, pinned=pinned, standing=stated, tags=tags, task=task)
        self._turn = turn
        if raw != parsed.to_dict():
            self._given[index] = dict(raw)
        self._views.clear()
        return index

    async def _view(self, query: str | None) -> _Sent:
        """Ask the strategy, for the log as it is or for a branch of it that ends with the query."""
        log, state, turn = self._log, self._state, self._turn
        if query is not None:
            log, state, turn = log.fork(), deepcopy(state), turn + 1
            log.append(Message("user", query), turn=turn)
        _refuse_unanswered(log)
        room = int((self.window - self.max_tokens) / self._drift.scale) - self._tool_tokens
        if self.roles is not None:
            room -= self._counter.message(Message("user", OPENING))
        request = Request(
            budget=room,
            window=self.window,
            turn=turn,
            count=self._counter.message,
            auxiliary=self._helpers.auxiliary,
            scale=self._drift.scale,
            last_violation=self._last_violation,
            embedder=self._helpers.embedder,
        )
        view = await self.strategy.view(log, state, request)
        if query is None:
            self._state = view.state
        messages = normalise(view.messages, self.roles)
        tokens = view.tokens if self.roles is None else sum(map(self._counter.message, messages))
        estimate = tokens + self._tool_tokens + self._counter.tools(view.tools)
        self._views[query] = sent = _Sent(view, log, messages, estimate)
        return sent

    def _dicts(self, sent: _Sent) -> list[dict[str, Any]]:
        """A view as dicts nobody else holds: what came in comes out as it was."""
        self._sent = sent
        given = {
            id(message): self._given[source]
            for message, source in zip(sent.view.messages, sent.view.sources, strict=True)
            if source in self._given
        }
        return [deepcopy(given[id(m)]) if id(m) in given else _fresh(m) for m in sent.messages]


def _plain(raw: Any) -> Any:
    """A message or call as a dict: SDKs hand out pydantic objects, whose unset parts no server wants back."""
    if isinstance(raw, Message):
        return raw.to_dict()
    dump = getattr(raw, "model_dump", None)
    return dump(exclude_none=True) if callable(dump) else raw


def _fresh(message: Message) -> dict[str, Any]:
    raw = message.to_dict()
    return raw if not message.extra and isinstance(message.content, str | None) else deepcopy(raw)


def _refuse_unanswered(log: Log) -> None:
    """A call may wait for its result only while nobody has spoken since. Raises `MalformedHistoryError`."""
    spoken = max((index for index in (log.current_user, log.last_assistant) if index is not None), default=-1)
    for number in log.open_units:
        index = log.units[number].indices[0]
        if index < spoken:
            names = ", ".join(f"{call.id!r} ({call.name})" for call in log.messages[index].tool_calls)
            raise MalformedHistoryError(
                f"message {index} calls tools ({names}), and not every call has a result although the conversation "
                "went on; add the missing results as messages with the role tool"
            )
