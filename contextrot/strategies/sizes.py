"""What a `Size` comes to for one request, and the rule that a trigger is never below its own keep."""

from __future__ import annotations

from contextrot.errors import ConfigError
from contextrot.strategies.base import Request, Size


def in_tokens(size: Size, request: Request) -> int | None:
    """The size in the counter's tokens, or None when it is counted in messages or turns."""
    if size.tokens is not None:
        return max(1, int(size.tokens / request.scale))
    if size.fraction is not None:
        return max(1, int(size.fraction * request.window))
    return None


def words(size: Size) -> str:
    """The size as a person says it: ``4 turns``, ``0.8 of the window``."""
    if size.fraction is not None:
        return f"{size.fraction:g} of the window"
    unit, amount = next((name, value) for name, value in size if value is not None)
    return f"{amount} {unit}"


def trigger_fault(trigger: Size | None, keep: Size | None) -> str | None:
    """The sentence why this trigger cannot go with this keep, or None. Only sizes of one unit are compared here."""
    if trigger is None or keep is None:
        return None
    for unit in ("tokens", "messages", "turns", "fraction"):
        start, kept = getattr(trigger, unit), getattr(keep, unit)
        if start is not None and kept is not None and start < kept:
            return _sentence(trigger, keep)
    return None


def refuse_trigger_below_keep(trigger: Size, keep: Size, request: Request) -> None:
    """The same rule for `tokens` against `fraction`, which only a window makes comparable. Raises `ConfigError`."""
    start, kept = in_tokens(trigger, request), in_tokens(keep, request)
    if start is not None and kept is not None and start < kept:
        raise ConfigError(f"{_sentence(trigger, keep)} (the window is {request.window:,} tokens)")


def _sentence(trigger: Size, keep: Size) -> str:
    return (
        f"trigger ({words(trigger)}) is below keep ({words(keep)}): there would be nothing to compact; "
        "raise trigger or lower keep"
    )
