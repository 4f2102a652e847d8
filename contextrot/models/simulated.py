"""`sim/NAME?key=value&…`: simulated models with known rot.

They read the view they are sent. A strategy that drops the rule makes them fail; where they can read it, they obey
with a known probability, so that the statistics of a bench can be checked against the truth. No reply is a real one:
every table and plot made with them says SIMULATED.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from hashlib import blake2b
from itertools import combinations
from urllib.parse import parse_qsl

from contextrot.errors import ConfigError, ContextOverflowError
from contextrot.messages import Message, Reply, Tool, Usage, mentions
from contextrot.models.base import Call, Evidence, ModelSpec, Price
from contextrot.tokens import MESSAGE_OVERHEAD, TokenCounter

#: What is said when nothing is tested: varied words, no numbers, no format of any kind.
_ACKNOWLEDGEMENTS = (
    "Understood, I have taken that in.",
    "Noted, thank you for the details.",
    "All right, that is clear to me.",
    "Thanks, I will keep going from there.",
    "Good, I see what you mean.",
    "I have read it and we can go on.",
    "Fine, let us continue.",
    "That makes sense, please carry on.",
)

#: Counts and findings kept per model; beyond it they are made anew (a bench of many scenarios must not grow without
#: end).
_COUNTS_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where the evidence stands in a prompt: tokens of the whole prompt, and relative positions (0 first, 1 last)."""

    prompt_tokens: int
    positions: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """One parameter of a simulated model: default and allowed range."""

    default: float
    low: float
    high: float
    summary: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A shape of rot: the probability to obey, given the parameters and where the evidence stands."""

    summary: str
    obeys: Callable[[Mapping[str, float], Place], float]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    #: True when all places of the evidence count, not only that there is one
    reads_positions: bool = False


def _decay(values: Mapping[str, float], place: Place) -> float:
    """Flat up to the threshold, then `per_10k` less per 10,000 tokens, never below the floor."""
    excess = max(0.0, place.prompt_tokens - values["threshold"])
    return min(values["base"], max(values["base"] - excess / 10_000 * values["per_10k"], values["floor"]))


def _ushape(values: Mapping[str, float], place: Place) -> float:
    """Best at both ends, worst in the middle ("Lost in the Middle", Liu et al. 2023); the best place counts."""
    edge, middle = values["edge"], values["middle"]
    return max(middle + (edge - middle) * (2 * position - 1) ** 2 for position in place.positions)


_SHARE = (0.0, 1.0)
KINDS: dict[str, Kind] = {
    "perfect": Kind("obeys all it can read", lambda values, place: 1.0),
    "hazard": Kind(
        "errs with one constant probability per answer",
        lambda values, place: 1.0 - values["hazard"],
        {"hazard": Setting(0.05, *_SHARE, "probability of an error per answer")},
    ),
    "decay": Kind(
        "accuracy falls with the tokens of the prompt",
        _decay,
        {
            "base": Setting(0.92, *_SHARE, "accuracy up to the threshold"),
            "threshold": Setting(32_000, 0, 1e9, "tokens from which accuracy falls"),
            "per_10k": Setting(0.006, *_SHARE, "accuracy lost per 10,000 tokens past the threshold"),
            "floor": Setting(0.55, *_SHARE, "accuracy it never falls below"),
        },
    ),
    "ushape": Kind(
        "accuracy depends on where in the prompt the evidence stands",
        _ushape,
        {
            "edge": Setting(0.98, *_SHARE, "accuracy for evidence at either end"),
            "middle": Setting(0.6, *_SHARE, "accuracy for evidence in the middle"),
        },
        reads_positions=True,
    ),
}

#: What all of them take.
COMMON: dict[str, Setting] = {
    "window": Setting(128_000, 1, 1e9, "context window in tokens"),
    "latency": Setting(0.0, 0, 3600, "seconds an answer takes"),
    "seed": Setting(0, 0, 2**63, "another seed, other errors"),
    "guess": Setting(0.0, *_SHARE, "probability of a right answer without the evidence"),
}

#: What all of them take besides numbers: types of checks the model never satisfies.
CANNOT = "cannot"


def parse_id(model_id: str) -> tuple[str, dict[str, float]]:
    """Name and numbers (defaults filled in) of ``sim/NAME?key=value&…``; `parse_cannot` has the rest.

    Raises `ConfigError`.
    """
    name, _, query = model_id.removeprefix("sim/").partition("?")
    if name not in KINDS:
        raise ConfigError(f"there is no simulated model {name!r}{_meant(name, KINDS)}")
    known = {**KINDS[name].settings, **COMMON}
    values = {key: setting.default for key, setting in known.items()}
    given: set[str] = set()
    for key, text in parse_qsl(query, keep_blank_values=True):
        if key not in known and key != CANNOT:
            raise ConfigError(f"sim/{name} has no parameter {key!r}{_meant(key, [*known, CANNOT])}")
        if key in given:
            raise ConfigError(f"{model_id}: {key} is given twice")
        given.add(key)
        if key == CANNOT:
            continue
        values[key] = _number(f"sim/{name}", key, text, known[key])
    if query and not given:
        raise ConfigError(f"{model_id}: write parameters as key=value, joined by &")
    if name == "decay" and values["floor"] > values["base"]:
        raise ConfigError(f"{model_id}: floor ({values['floor']:g}) is above base ({values['base']:g})")
    return name, values


def parse_cannot(model_id: str) -> frozenset[str]:
    """The types of checks that ``cannot=recall,json`` names (``recall+json`` where commas part models); or none.

    Raises `ConfigError` for a type that does not exist.
    """
    from contextrot.checks.base import REGISTRY

    text = dict(parse_qsl(model_id.partition("?")[2], keep_blank_values=True)).get(CANNOT)
    types = frozenset() if text is None else frozenset(text.replace(",", " ").split() or [""])
    for unknown in sorted(types - set(REGISTRY)):
        raise ConfigError(f"{model_id}: there is no type of check {unknown!r}{_meant(unknown, REGISTRY)}")
    return types


class SimulatedModel:
    """A model whose errors are drawn, not computed: the draw depends on its seed and the call's, on nothing else."""

    simulated = True
    parallel: int | None = None
    count_tokens: Callable[[str], int] | None = None

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        given = {key: str(value) for key, value in spec.params.items()}
        joined = "&".join(f"{key}={value}" for key, value in given.items())
        address = spec.id + (("&" if "?" in spec.id else "?") + joined if joined else "")
        self.name, self.values = parse_id(address)
        self.cannot = parse_cannot(address)
        self.kind = KINDS[self.name]
        self.window: int | None = spec.window or int(self.values["window"])
        self.latency = self.values["latency"]
        self.price: Price | None = spec.price or Price(0.0, 0.0)
        self._salt = f"{self.values['seed']:.0f}:".encode()
        self._counter = TokenCounter()
        self._counts: dict[bytes, int] = {}
        self._seen: dict[tuple[bytes, str], bool] = {}
        self._tools: tuple[Sequence[Tool], int] = ((), 0)

    def __repr__(self) -> str:
        return f"SimulatedModel({self.spec.id!r})"

    async def complete(self, call: Call) -> Reply:
        """A reply that keeps or breaks what the hint names. Raises `ContextOverflowError` over the window."""
        counts = [self._count(message) for message in call.messages]
        tokens = sum(counts) + self._count_tools(call.tools)
        assert self.window is not None
        if tokens > self.window:
            raise ContextOverflowError(
                f"the prompt has {tokens:,} tokens, longer than the window of {self.spec.label} ({self.window:,})"
            )
        if self.latency > 0:
            await asyncio.sleep(self.latency)
        reply = self._answer(call, counts, tokens)
        written = self._counter.message(reply.to_message()) - MESSAGE_OVERHEAD
        return replace(
            reply,
            usage=Usage(prompt_tokens=tokens, completion_tokens=written),
            model=f"sim/{self.name}",
            latency=self.latency,
        )

    async def close(self) -> None:
        """Nothing is held open."""

    def probability(self, place: Place) -> float:
        """The probability to obey evidence that stands at `place`: the truth a bench can be checked against."""
        return self.kind.obeys(self.values, place)

    def _answer(self, call: Call, counts: Sequence[int], tokens: int) -> Reply:
        hint = call.hint
        if hint is None:
            return self._acknowledge(call.seed)
        able = [self.cannot.isdisjoint(types) for types in hint.checks] or [True] * len(hint.evidence)
        obeyed = tuple(
            can and self._draw(call.seed, number) < self._chance(evidence, call.messages, counts, tokens, hint.question)
            for number, (can, evidence) in enumerate(zip(able, hint.evidence, strict=True))
        )
        replies = (hint.reply(wanted) for wanted in _nearest(obeyed))
        reply = next((reply for reply in replies if reply is not None), None) or self._acknowledge(call.seed)
        if reply.tool_calls and call.messages and call.messages[-1].role == "tool":
            # The call is made and answered: now comes the closing text, or the tool would be called for ever.
            closing = reply.content or self._acknowledge(call.seed).content
            return replace(reply, content=closing, tool_calls=(), finish_reason="stop")
        return reply

    def _chance(
        self, evidence: Evidence, messages: Sequence[Message], counts: Sequence[int], tokens: int, question: str
    ) -> float:
        """The probability to obey one rule, given where in the prompt it can be read.

        Where several texts are needed, that of the worst placed of them.
        """
        if evidence is None:
            return self.probability(Place(tokens, (1.0,)))
        needed = (evidence,) if isinstance(evidence, str) else evidence
        places = [self._positions(text, messages, counts, question) for text in needed]
        if not all(places):
            return self.values["guess"]
        return min(self.probability(Place(tokens, positions)) for positions in places)

    def _acknowledge(self, seed: int) -> Reply:
        return Reply(_ACKNOWLEDGEMENTS[int(self._draw(seed) * len(_ACKNOWLEDGEMENTS))], finish_reason="stop")

    def _positions(
        self, evidence: str, messages: Sequence[Message], counts: Sequence[int], question: str
    ) -> tuple[float, ...]:
        """Where the evidence stands: the share of the messages' tokens before it; empty when it stands nowhere.

        What stands in the question alone is none.
        """
        if not self.kind.reads_positions:
            found_any = any(self._reads(message, evidence) and message.text != question for message in messages)
            return (0.0,) if found_any else ()
        last = sum(counts) - (counts[-1] if counts else 0)
        found, before = [], 0
        for message, count in zip(messages, counts, strict=True):
            if self._reads(message, evidence) and message.text != question:
                found.append(before / last if last else 1.0)
            before += count
        return tuple(found)

    def _reads(self, message: Message, evidence: str) -> bool:
        """Whether the evidence stands in a message, be its white space laid out anew (a summary reflows text)."""
        seen, key = self._seen, (message.digest, evidence)
        found = seen.get(key)
        if found is None:
            if len(seen) >= _COUNTS_KEPT:
                seen.clear()
            text = message.text
            found = mentions(text, evidence) or mentions(" ".join(text.split()), " ".join(evidence.split()))
            seen[key] = found
        return found

    def _draw(self, seed: int, number: int = 0) -> float:
        """A number in [0, 1) from the model's seed, the call's, and which rule: whatever the order of the calls."""
        raw = blake2b(self._salt + f"{seed}:{number}".encode(), digest_size=8).digest()
        return (int.from_bytes(raw, "big") >> 11) / (1 << 53)

    def _count(self, message: Message) -> int:
        counts, key = self._counts, message.digest
        count = counts.get(key)
        if count is None:
            if len(counts) >= _COUNTS_KEPT:
                counts.clear()
            count = counts[key] = self._counter.message(message)
        return count

    def _count_tools(self, tools: Sequence[Tool]) -> int:
        if tools is not self._tools[0]:
            self._tools = (tools, self._counter.tools(tools))
        return self._tools[1]


def _nearest(obeyed: tuple[bool, ...]) -> Iterator[tuple[bool, ...]]:
    """The draw itself, then the nearest others, for rules that no single reply can keep and break in that way.

    The first flag (the probe's, where there is one) is given up last.
    """
    yield obeyed
    for first in ((), (0,)):
        for count in range(0 if first else 1, min(len(obeyed), 3) + 1):
            for flipped in combinations(range(1, len(obeyed)), count):
                yield tuple(flag != (k in first or k in flipped) for k, flag in enumerate(obeyed))


def _number(model: str, key: str, text: str, setting: Setting) -> float:
    try:
        value = float(text.replace("_", ""))
    except ValueError:
        raise ConfigError(f"{model}: {key} has to be a number, not {text!r} ({setting.summary})") from None
    if not setting.low <= value <= setting.high:
        raise ConfigError(
            f"{model}: {key}={text} is out of range; it has to lie between {setting.low:g} and {setting.high:g} "
            f"({setting.summary})"
        )
    if key in ("window", "threshold", "seed") and value != int(value):
        raise ConfigError(f"{model}: {key}={text} has to be a whole number")
    return value


def _meant(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; it can be {', '.join(known)}"
