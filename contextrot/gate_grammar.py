"""What a gate may say: `median >= 30 turns`, `compliance at turn 40 >= 0.9`, `rmst: -10%`, `cost <= 1.50`.

The grammar alone, so that contextrot.yaml is checked before anything is spent; `analysis/gates.py` holds runs to it.

    gate     = floor | ceiling | drop, then optionally "proven", then optionally [scenario=…, model=…, strategy=…]
    floor    = (median | rmst | compliance | tool_calls) [at turn N] >= number [turns | %]
    ceiling  = (tokens | cost | calls) [per session] <= number
    drop     = (rmst | compliance | tool_calls): -number (% | pp | turns)
             | (tokens | cost | calls) per session: +number %
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextrot.errors import ConfigError

#: metrics that should not fall, with the unit of an absolute limit
FLOORS = {"median": "turns", "rmst": "turns", "compliance": "share", "tool_calls": "share"}
#: metrics that should not grow
CEILINGS = ("tokens", "cost", "calls")
#: other names for them
ALIASES = {
    "restricted_mean": "rmst",
    "restricted_mean_length": "rmst",
    "median_length": "median",
    "session_length": "median",
    "tool_call_rate": "tool_calls",
    "tool_call": "tool_calls",
    "pass_rate": "compliance",
    "costs": "cost",
    "usd": "cost",
}
SCOPE = ("scenario", "model", "strategy")
#: what a baseline is held to when nobody says otherwise
DEFAULT_DROPS = ("rmst: -10%", "compliance: -5pp")

_EXAMPLES = "such as 'median >= 30 turns', 'compliance at turn 40 >= 0.9', 'rmst: -10%' or 'cost <= 1.50'"
_SCOPE = re.compile(r"^(?P<body>.*?)\s*\[(?P<scope>[^\[\]]*)\]$", re.S)
_ABSOLUTE = re.compile(r"^(?P<name>[a-z_ ]+?)(?:\s+at\s+turn\s+(?P<turn>\S+))?\s*(?P<op>[<>=≥≤!]+)\s*(?P<value>.+)$")
_RELATIVE = re.compile(r"^(?P<name>[a-z_ ]+?)\s*:\s*(?P<value>.+)$")
#: A comma parts thousands and nothing else: read as a sign that may be left out, `1,50` would be 150.
_NUMBER = re.compile(
    r"^(?P<sign>[-+−]?)\s*\$?\s*(?P<number>(?:[1-9]\d{0,2}(?:,\d{3})+|\d+(?:_\d+)*)(?:\.\d*)?|\.\d+)\s*"
    r"(?P<unit>[a-z%]*)$"
)
_THOUSANDS = {"k": 1e3, "m": 1e6}


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate. `text` is as the user wrote it.

    kind: ``floor`` (at least `limit`), ``ceiling`` (at most `limit`), ``drop`` (against a baseline: at least `limit`
    below it, or for what should not grow at most above it). unit: turns, share, tokens, USD, calls; of a drop ``%``
    (of the baseline's), ``pp`` (percentage points) or ``turns``. turn: of a compliance at one turn. per_session: a
    mean and no total. proven: pass only where the interval rules the contrary out. scope: kind → name or pattern.
    """

    text: str
    metric: str
    kind: str
    limit: float
    unit: str
    turn: int | None = None
    per_session: bool = False
    proven: bool = False
    scope: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_baseline(self) -> bool:
        """True for a gate that compares with another run."""
        return self.kind == "drop"


def parse_gates(entries: Sequence[str | Mapping[str, Any]]) -> list[Gate]:
    """All gates, in order. Raises `ConfigError` with a sentence for every one that cannot be read."""
    found, faults = [], []
    for entry in entries:
        try:
            found.append(parse_gate(entry))
        except ConfigError as error:
            faults.append(str(error))
    if faults:
        raise ConfigError("\n".join(faults))
    return found


def parse_gate(entry: str | Mapping[str, Any]) -> Gate:
    """A gate from its text, or from a mapping ``{gate: text, scenario: …, model: …, strategy: …}``.

    A mapping of one metric, as YAML makes of an unquoted ``rmst: -10%``, is that gate. Raises `ConfigError`.
    """
    if isinstance(entry, Mapping):
        return _from_mapping(entry)
    if not isinstance(entry, str) or not entry.strip():
        raise ConfigError(f"a gate is a text {_EXAMPLES}, not {entry!r}")
    text = " ".join(entry.split())
    body, scope = text, {}
    if match := _SCOPE.match(text):
        body, scope = match["body"], _scope(match["scope"], text)
    elif "[" in text or "]" in text:
        raise ConfigError(f"gate {text!r}: a scope stands at the end, as [strategy=pinned, scenario=ticket-triage]")
    words = body.lower().split()
    proven = bool(words) and words[-1] == "proven"
    body = " ".join(words[:-1] if proven else words)
    if match := _ABSOLUTE.match(body):
        gate = _absolute(match, text)
    elif match := _RELATIVE.match(body):
        gate = _relative(match, text)
    else:
        hint = ""
        if words and (name := _metric(words[0], text, say=False)):
            hint = f"; {name} needs a limit, as {_example(name)!r}"
        raise ConfigError(f"gate {text!r}: not understood{hint}; write it {_EXAMPLES}")
    if proven and gate.kind == "ceiling":
        raise ConfigError(f"gate {text!r}: tokens, calls and cost are counted, not estimated; leave out 'proven'")
    return Gate(
        text=text, metric=gate.metric, kind=gate.kind, limit=gate.limit, unit=gate.unit, turn=gate.turn,
        per_session=gate.per_session, proven=proven, scope=scope,
    )  # fmt: skip


def _from_mapping(entry: Mapping[str, Any]) -> Gate:
    values = {str(key): value for key, value in entry.items()}
    if "gate" not in values:
        if len(values) == 1:  # `- rmst: -10%` is a mapping to YAML
            ((name, value),) = values.items()
            return parse_gate(f"{name}: {value}")
        raise ConfigError(f"a gate as a mapping has a `gate:` {_EXAMPLES}, and may have {', '.join(SCOPE)}: {values}")
    text = str(values.pop("gate"))
    for key in values:
        if key not in SCOPE:
            raise ConfigError(f"gate {text!r}: unknown key {key!r}{_close(key, SCOPE)}; it may have {', '.join(SCOPE)}")
    gate = parse_gate(text)
    scope = {**gate.scope, **{key: str(value) for key, value in values.items()}}
    shown = text if not values else f"{text} [{', '.join(f'{key}={value}' for key, value in values.items())}]"
    return Gate(
        text=shown, metric=gate.metric, kind=gate.kind, limit=gate.limit, unit=gate.unit, turn=gate.turn,
        per_session=gate.per_session, proven=gate.proven, scope=scope,
    )  # fmt: skip


def _absolute(match: re.Match[str], text: str) -> Gate:
    metric, per_session = _named(match["name"], text)
    turn = match["turn"]
    if turn is not None:
        if metric != "compliance":
            raise ConfigError(f"gate {text!r}: only compliance is taken at a turn")
        if not turn.isdigit():
            raise ConfigError(f"gate {text!r}: a turn is a whole number, not {turn!r}")
    op = match["op"].replace("≥", ">=").replace("≤", "<=")
    wanted = ">=" if metric in FLOORS else "<="
    if op != wanted:
        word = "should not fall: it takes a lower limit" if metric in FLOORS else "should not grow: it takes a ceiling"
        raise ConfigError(f"gate {text!r}: {metric} {word}; write {_example(metric)!r}")
    sign, number, unit = _number(match["value"], text)
    if sign:
        raise ConfigError(f"gate {text!r}: a limit has no sign; a drop against a baseline is written {_drop(metric)!r}")
    if metric in CEILINGS:
        if unit in _THOUSANDS:
            number, unit = number * _THOUSANDS[unit], ""
        known = {"tokens": ("", "tokens", "token"), "cost": ("", "usd"), "calls": ("", "calls", "call")}[metric]
        if unit not in known:
            raise ConfigError(f"gate {text!r}: unknown unit {unit!r}; write {_example(metric)!r}")
        return Gate(text, metric, "ceiling", number, "USD" if metric == "cost" else metric, per_session=per_session)
    if FLOORS[metric] == "turns":
        if unit not in ("", "turn", "turns"):
            raise ConfigError(f"gate {text!r}: {metric} is in turns, not {unit!r}; write {_example(metric)!r}")
        if number <= 0:
            raise ConfigError(f"gate {text!r}: every run passes this; a limit is above 0")
        return Gate(text, metric, "floor", number, "turns")
    if unit not in ("", "%"):
        raise ConfigError(f"gate {text!r}: {metric} is a share (0.9 or 90%), not {unit!r}")
    share = number / 100 if unit == "%" else number
    if not 0 < share <= 1:
        raise ConfigError(f"gate {text!r}: a share lies above 0 and at most at 1 (0.9 or 90%), not at {match['value']}")
    return Gate(text, metric, "floor", share, "share", turn=None if turn is None else int(turn))


def _relative(match: re.Match[str], text: str) -> Gate:
    metric = _named(match["name"], text)[0]
    sign, number, unit = _number(match["value"], text)
    if metric == "median":
        raise ConfigError(f"gate {text!r}: a median has no paired difference; write 'rmst: -10%' (restricted mean)")
    if metric in CEILINGS:
        if sign == "-" or unit != "%":
            raise ConfigError(f"gate {text!r}: growth is written in per cent, as {_drop(metric)!r}")
        return Gate(text, metric, "drop", number / 100, "%", per_session=True)
    if sign != "-":
        raise ConfigError(f"gate {text!r}: the largest drop that is allowed has a minus sign, as {_drop(metric)!r}")
    units = ("%", "turn", "turns") if metric == "rmst" else ("pp", "points")
    if unit not in units:
        why = "per cent or turns" if metric == "rmst" else "percentage points (pp), never relative"
        raise ConfigError(f"gate {text!r}: a drop of {metric} is in {why}; write {_drop(metric)!r}")
    if not number > 0 or (unit in ("%", "pp", "points") and number >= 100):
        raise ConfigError(f"gate {text!r}: a drop lies between 0 and 100")
    if unit in ("turn", "turns"):
        return Gate(text, metric, "drop", number, "turns")
    return Gate(text, metric, "drop", number / 100, "%" if unit == "%" else "pp")


def _named(name: str, text: str) -> tuple[str, bool]:
    """The metric and whether it is per session."""
    words = name.strip().replace(" per session", "_per_session").replace(" ", "_")
    per_session = words.endswith("_per_session")
    metric = _metric(words.removesuffix("_per_session"), text)
    assert metric is not None
    if per_session and metric in FLOORS:
        raise ConfigError(f"gate {text!r}: {metric} is of sessions already; leave out 'per session'")
    return metric, per_session


def _metric(name: str, text: str, *, say: bool = True) -> str | None:
    known = (*FLOORS, *CEILINGS)
    found = ALIASES.get(name, name)
    if found in known:
        return found
    if not say:
        return None
    raise ConfigError(
        f"gate {text!r}: unknown metric {name!r}{_close(name, (*known, *ALIASES))}; there are {', '.join(known)}"
    )


def _number(written: str, text: str) -> tuple[str, float, str]:
    match = _NUMBER.match(written.strip())
    if match is None and re.search(r"\d,|,\d", written):
        raise ConfigError(
            f"gate {text!r}: {written.strip()!r} has a comma where none can stand: decimals are written with a point "
            "(1.50), and a comma parts thousands (20,000)"
        )
    if match is None:
        raise ConfigError(f"gate {text!r}: {written.strip()!r} is not a number with a unit; write it {_EXAMPLES}")
    return match["sign"].replace("−", "-"), float(match["number"].replace(",", "").replace("_", "")), match["unit"]


def _scope(written: str, text: str) -> dict[str, str]:
    scope = {}
    for part in filter(None, (part.strip() for part in written.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ConfigError(f"gate {text!r}: a scope is written [strategy=pinned], not {part!r}")
        if key not in SCOPE:
            raise ConfigError(f"gate {text!r}: unknown scope {key!r}{_close(key, SCOPE)}; there are {', '.join(SCOPE)}")
        scope[key] = value
    if not scope:
        raise ConfigError(f"gate {text!r}: the scope is empty; leave it out to hold all sessions to the gate")
    return scope


def _close(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, 1, 0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def _example(metric: str) -> str:
    return {
        "median": "median >= 30 turns", "rmst": "rmst >= 25 turns", "compliance": "compliance at turn 40 >= 0.9",
        "tool_calls": "tool_calls >= 0.8", "tokens": "tokens per session <= 20000", "cost": "cost <= 1.50",
        "calls": "calls <= 1000",
    }[metric]  # fmt: skip


def _drop(metric: str) -> str:
    return {
        "median": "rmst: -10%", "rmst": "rmst: -10%", "compliance": "compliance: -5pp",
        "tool_calls": "tool_calls: -15pp",
    }.get(metric, f"{metric} per session: +20%")  # fmt: skip
