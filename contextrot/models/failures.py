"""From what a server answered to the `ModelError` that says what to do. Shared by all paths that speak HTTP."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from contextrot.errors import ContextOverflowError, MissingKeyError, ModelError, RateLimitError, ServerError
from contextrot.models.overflow import error_text, is_overflow

#: Longest piece of a server's own words shown to the user, in characters.
LONGEST = 300

_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$")
_TRY_AGAIN = re.compile(r"(?:try again|retry)\s+(?:in|after)\s+([\dhms.]+)", re.I)
_TOO_LARGE_FOR_LIMIT = re.compile(r"Limit:? ([\d,]+)\b.*?Requested:? ([\d,]+)", re.I | re.S)
_NO_MONEY = re.compile(r"insufficient_quota|insufficient (balance|credits|funds)|credit balance is too low", re.I)
_FILTERED = re.compile(
    r"content_filter|content management policy|content_policy_violation|data_inspection_failed", re.I
)


def brief(text: str, secret: str | None = None) -> str:
    """A server's words on one line, cut to what a terminal can show, with the API key blotted out."""
    if secret:
        text = text.replace(secret, "***")
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def seconds_of(text: str) -> float | None:
    """Seconds from ``1.5``, ``6m0s``, ``850ms`` or an HTTP date; None for anything else."""
    text = text.strip()
    try:
        number = float(text)
        return max(0.0, number) if math.isfinite(number) else None
    except ValueError:
        pass
    match = _DURATION.match(text)
    if text and match and any(match.groups()):
        hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
        return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """How long the server wants us to wait, in seconds: from its headers, or else from the words of its message.

    `retry-after-ms` is more precise than `Retry-After`. Of the `x-ratelimit-reset-*` headers those count whose
    `x-ratelimit-remaining-*` is 0 (the other limit is not the one that was hit).
    """
    lower = {key.lower(): value for key, value in headers.items()}
    milliseconds = seconds_of(lower["retry-after-ms"]) if "retry-after-ms" in lower else None
    if milliseconds is not None:
        return milliseconds / 1000
    wanted = seconds_of(lower["retry-after"]) if "retry-after" in lower else None
    if wanted is not None:
        return wanted
    resets = []
    for name, value in lower.items():
        if name.startswith("x-ratelimit-reset"):
            left = lower.get(name.replace("-reset", "-remaining", 1), "0").strip()
            seconds = seconds_of(value)
            if seconds is not None and left in ("0", "0.0", ""):
                resets.append(_from_epoch(seconds))
    if resets:
        return max(resets)
    match = _TRY_AGAIN.search(message)
    return seconds_of(match[1].rstrip(".")) if match else None


def _from_epoch(seconds: float) -> float:
    """Some gateways give the moment of the reset (seconds or milliseconds since 1970) instead of a duration."""
    if seconds > 1e11:
        seconds /= 1000
    return max(0.0, seconds - time.time()) if seconds > 1e8 else seconds


def is_filtered(body: str | bytes) -> bool:
    """True when the provider refused the prompt by its content policy (Azure and others say it with a 400)."""
    return bool(_FILTERED.search(error_text(body)))


def failure(
    status: int,
    body: str | bytes,
    *,
    where: str,
    model: str,
    headers: Mapping[str, str] | None = None,
    secret: str | None = None,
    key_hint: str = "",
) -> ModelError:
    """The error for an HTTP status (or a status inside a body) and what the server said.

    `where` is the server as the user knows it; `secret` the key that was sent, None for none, and never part of the
    sentence; `key_hint` says where the key comes from.
    """
    text = error_text(body)
    words = brief(text, secret) or "no words"
    if status == 429 or (status == 413 and not is_overflow(text) and re.search(r"rate.?limit|per min", text, re.I)):
        return _rate_limit(headers or {}, text, words, where)
    if status != 401 and is_overflow(text):
        return ContextOverflowError(f"the prompt is longer than the window of {model} at {where}: {words}")
    if status == 413:
        return ContextOverflowError(f"the prompt is larger than {where} accepts (413): {words}")
    if status in (401, 403):
        if secret is None:
            return MissingKeyError(f"{where} wants an API key ({status}) and none is set{key_hint}: {words}")
        return ModelError(f"{where} refused the API key ({status}){key_hint}: {words}")
    if status == 402 or _NO_MONEY.search(text):
        return ModelError(f"the account at {where} has no credit left ({status}): {words}")
    if status == 404:
        return ModelError(f"{where} does not know the model {model!r} or has nothing at this address (404): {words}")
    if status in (408, 409, 425) or status >= 500:
        return ServerError(f"{where} failed ({status}): {words}")
    return ModelError(f"{where} refused the request ({status}): {words}")


def _rate_limit(headers: Mapping[str, str], text: str, words: str, where: str) -> ModelError:
    if _NO_MONEY.search(text):
        return ModelError(f"the account at {where} has no credit left: {words}")
    numbers = _TOO_LARGE_FOR_LIMIT.search(text)
    if numbers:
        limit, wanted = (int(number.replace(",", "")) for number in numbers.groups())
        if wanted > limit:
            return ModelError(
                f"one prompt is larger ({wanted:,} tokens) than the account at {where} may send a minute "
                f"({limit:,}), so waiting cannot help; set a smaller window or raise the account's limit: {words}"
            )
    return RateLimitError(f"{where} asks to slow down: {words}", retry_after(headers, text))
