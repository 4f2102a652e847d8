"""`provider/model`: anything litellm reaches. litellm is imported at the first call, because that costs seconds.

What can be known without it (the window, the price, which key is missing) is read from litellm's own price list or a
small table, so that `contextrot doctor` and a missing key need no import.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson

from contextrot.errors import (
    ConfigError,
    ContextOverflowError,
    MissingKeyError,
    ModelError,
    ModelTimeoutError,
    RateLimitError,
    ServerError,
)
from contextrot.messages import Reply
from contextrot.models.base import Call, ModelSpec, Price
from contextrot.models.failures import brief, failure, is_filtered, retry_after
from contextrot.models.openai_form import reply_of
from contextrot.models.overflow import is_overflow

#: Where the common providers' keys are looked for; one name of each group is enough. Others are asked of litellm.
KEY_NAMES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "azure": ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY", "MISTRAL_AZURE_API_KEY"),
    "moonshot": ("MOONSHOT_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_AI_TOKEN"),
    "xai": ("XAI_API_KEY",),
}

#: Providers that need no key, or find their credentials elsewhere (cloud profiles, a local server).
KEYLESS = frozenset(
    {"bedrock", "hosted_vllm", "llamafile", "lm_studio", "ollama", "ollama_chat", "sagemaker", "vertex_ai", "vllm"}
)

_OWN = frozenset({"model", "messages", "tools", "stream", "num_retries", "max_retries", "timeout"})
_NO_KEY = ("api_key client option must be set", "missing credentials", "api key is required", "api key not found")


class ProviderModel:
    """A model behind litellm. `window` and `price` are the user's, else those of litellm's list, else None."""

    simulated = False
    parallel: int | None = None
    count_tokens: Callable[[str], int] | None = None

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.provider, _, rest = spec.id.partition("/")
        if not self.provider or not rest:
            raise ConfigError(f"{spec.id!r} is not a model; write provider/model, for example openai/gpt-4o-mini")
        own = _OWN & spec.params.keys()
        if own:
            raise ConfigError(f"{spec.id}: params may not set {', '.join(sorted(own))}; contextrot does")
        listed = known_model(spec.id)
        self.window = spec.window or _whole(listed.get("max_input_tokens"))
        self.price = spec.price or _price(listed)
        self._litellm: ModuleType | None = None
        self._fixed: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"ProviderModel({self.spec.id!r})"

    async def prepare(self) -> None:
        """Import litellm (seconds, so on a thread) and refuse what it cannot do, before the first call.

        Raises `MissingKeyError` for a key that is not set and `ConfigError` for an unknown provider or parameter.
        """
        if self._litellm is not None:
            return
        sentence = missing_key(self.spec)
        if sentence:
            raise MissingKeyError(sentence)
        litellm = await asyncio.to_thread(import_litellm)
        self._fixed = self._settings(litellm)
        self._litellm = litellm

    async def complete(self, call: Call) -> Reply:
        """Ask once. Raises a `ModelError`; never retries."""
        if self._litellm is None:
            try:
                await self.prepare()
            except ConfigError as error:
                raise ModelError(str(error)) from error
        litellm = self._litellm
        assert litellm is not None
        settings: dict[str, Any] = {
            "temperature": call.temperature,
            "seed": call.seed & 0x7FFFFFFF,
            "timeout": call.timeout,
        }
        if "max_completion_tokens" not in self.spec.params:
            settings["max_tokens"] = call.max_tokens
        settings |= self._fixed
        if call.tools:
            settings["tools"] = [tool.to_dict() for tool in call.tools]
        started = time.perf_counter()
        try:
            async with asyncio.timeout(call.timeout):
                response = await litellm.acompletion(
                    messages=[message.to_dict() for message in call.messages],
                    **{key: value for key, value in settings.items() if value is not None},
                )
        except TimeoutError as error:
            raise ModelTimeoutError(f"{self.spec.id} gave no answer within {call.timeout:g} s") from error
        except ModelError:
            raise
        except Exception as error:
            filtered = isinstance(error, litellm.ContentPolicyViolationError) or (
                getattr(error, "status_code", None) == 400 and is_filtered(str(error))
            )
            if filtered:
                latency = time.perf_counter() - started
                return Reply(finish_reason="content_filter", model=self.spec.id, latency=latency)
            raise self.failure(litellm, error, call.timeout) from error
        latency = time.perf_counter() - started
        return replace(reply_of(_plain(response), where=self.provider, model=self.spec.id), latency=latency)

    async def close(self) -> None:
        """Close the connections litellm keeps."""
        if self._litellm is not None:
            closing = getattr(self._litellm, "close_litellm_async_clients", None)
            if closing is not None:
                await closing()

    def _settings(self, litellm: ModuleType) -> dict[str, Any]:
        """What is the same in every call. Raises `ConfigError` for a provider or parameter litellm does not have."""
        try:
            model, provider, _, _ = litellm.get_llm_provider(model=self.spec.id, api_base=self.spec.base_url)
        except Exception as error:
            raise ConfigError(unknown_provider(self.provider, litellm)) from error
        supported = litellm.get_supported_openai_params(model=model, custom_llm_provider=provider) or []
        standard = set(litellm.constants.OPENAI_CHAT_COMPLETION_PARAMS)
        refused = sorted(key for key in self.spec.params if key in standard and supported and key not in supported)
        refused = [key for key in refused if self.spec.params[key] is not None and key not in _CONNECTION]
        if refused:
            raise ConfigError(f"{self.spec.id} does not take {', '.join(refused)}; remove it from params")
        fixed: dict[str, Any] = {
            "model": self.spec.id,
            "num_retries": 0,
            "max_retries": 0,
            # Our own temperature and seed are wishes: a model that has no such knob is asked without.
            "drop_params": True,
            **self.spec.params,
        }
        if self.spec.base_url:
            fixed["base_url"] = self.spec.base_url
        key = os.environ.get(self.spec.api_key_env or "", "").strip()
        if key:
            fixed["api_key"] = key
        elif self.spec.base_url and "api_key" not in fixed and not _found(KEY_NAMES.get(self.provider, ())):
            fixed["api_key"] = "not-needed"  # a server of one's own; the client library insists on some key
        return fixed

    def secret(self) -> str | None:
        """The key a call goes out with, so that it can be blotted out of messages; None when there is none."""
        own = os.environ.get(self.spec.api_key_env or "", "").strip()
        return own or next((os.environ[name] for name in _found(KEY_NAMES.get(self.provider, ()))), None)

    def failure(self, litellm: ModuleType, error: Exception, timeout: float) -> ModelError:
        """litellm's exception as ours: by what the message says where that is sure, else by its class."""
        text, secret, name = _without_prefix(str(error)), self.secret(), self.spec.id
        words = brief(text, secret)
        if any(sign in text.lower() for sign in _NO_KEY):
            return MissingKeyError(
                missing_key(self.spec, ask_litellm=False) or f"no API key is set for {name}: {words}"
            )
        if isinstance(error, litellm.ContextWindowExceededError) or is_overflow(text):
            return ContextOverflowError(f"the prompt is longer than the window of {name}: {words}")
        if isinstance(error, litellm.Timeout):
            return ModelTimeoutError(f"{name} gave no answer within {timeout:g} s: {words}")
        if isinstance(error, litellm.RateLimitError):
            headers = _headers(error)
            known = failure(429, text, where=self.provider, model=name, headers=headers, secret=secret)
            if isinstance(known, RateLimitError):
                return RateLimitError(f"{self.provider} asks to slow down: {words}", retry_after(headers, text))
            return known
        if isinstance(error, (litellm.AuthenticationError, litellm.PermissionDeniedError)):
            if secret is None:
                return MissingKeyError(f"{self.provider} wants an API key and none is set: {words}")
            return ModelError(f"{self.provider} refused the API key: {words}")
        if isinstance(error, litellm.NotFoundError):
            return ModelError(f"{self.provider} does not know the model {name!r}: {words}")
        status = getattr(error, "status_code", None)
        if isinstance(
            error, (litellm.APIConnectionError, litellm.InternalServerError, litellm.ServiceUnavailableError)
        ) or (isinstance(status, int) and (status >= 500 or status in (408, 409))):
            return ServerError(f"{self.provider} failed: {words}")
        if isinstance(error, litellm.APIError):
            return ServerError(f"{self.provider} sent no usable answer: {words}")
        return ModelError(f"{name} refused the request ({type(error).__name__}): {words}")


_CONNECTION = frozenset(
    {
        "api_base",
        "api_version",
        "api_key",
        "deployment_id",
        "organization",
        "base_url",
        "default_headers",
        "extra_headers",
    }
)


def import_litellm() -> ModuleType:
    """litellm, told to keep quiet, to fetch nothing by itself, and to leave retries to us. The user's variables win."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # Its price list, notices and tokenizers come with the package; without this a machine that is offline waits for
    # each.
    os.environ.setdefault("LITELLM_OFFLINE_MODE", "true")
    os.environ.setdefault("LITELLM_LOG", "ERROR")
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.num_retries = 0
    # Its embedding calls read `max_retries: 0` as "not given" and take this constant of theirs.
    vars(litellm)["DEFAULT_MAX_RETRIES"] = 0
    return litellm


@cache
def _price_list() -> Mapping[str, Any]:
    """litellm's list of models, read from its package without importing it. Empty when it has moved."""
    spec = importlib.util.find_spec("litellm")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        try:
            listed = orjson.loads((Path(folder) / "model_prices_and_context_window_backup.json").read_bytes())
        except (OSError, orjson.JSONDecodeError):
            continue
        return listed if isinstance(listed, dict) else {}
    return {}


def known_model(model_id: str) -> Mapping[str, Any]:
    """What litellm's list says of a model (`max_input_tokens`, prices in USD per token); empty when unlisted."""
    listed = _price_list()
    provider, _, rest = model_id.partition("/")
    found = listed.get(model_id)
    if found is None:
        found = listed.get(rest)
        if found is not None and not str(found.get("litellm_provider", "")).startswith(provider):
            found = None
    return found if isinstance(found, Mapping) else {}


def missing_key(spec: ModelSpec, *, ask_litellm: bool = True) -> str | None:
    """A sentence when the provider's key is not set; None when it is, or when none is needed.

    Common providers are answered from a table; for the others litellm is imported and asked.
    """
    if spec.api_key_env:
        if os.environ.get(spec.api_key_env, "").strip():
            return None
        return f"{spec.label}: the environment variable {spec.api_key_env} holds no API key; set it or name another"
    provider = spec.id.partition("/")[0]
    if provider in KEYLESS or spec.base_url or "api_key" in spec.params:
        return None
    names = KEY_NAMES.get(provider)
    if names is not None:
        if _found(names):
            return None
        return f"{spec.label}: no API key for {provider}; set {' or '.join(names[:2])} in the environment"
    if not ask_litellm:
        return None
    litellm = import_litellm()
    if provider not in {str(getattr(entry, "value", entry)) for entry in litellm.provider_list}:
        return None  # `prepare` says that there is no such provider
    wanted = litellm.validate_environment(model=spec.id).get("missing_keys") or []
    return f"{spec.label}: {provider} needs {' and '.join(wanted)} in the environment" if wanted else None


def unknown_provider(provider: str, litellm: ModuleType) -> str:
    """A sentence for a provider litellm does not have, with the nearest names it has."""
    from difflib import get_close_matches

    names = sorted({str(getattr(entry, "value", entry)) for entry in litellm.provider_list})
    close = get_close_matches(provider, names, n=3)
    hint = f"; did you mean {' or '.join(close)}?" if close else "; `contextrot list models` shows how models are named"
    return f"there is no provider {provider!r}{hint}"


def _found(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if os.environ.get(name, "").strip()]


def _price(listed: Mapping[str, Any]) -> Price | None:
    """USD per million from USD per token; None unless both directions are known."""
    prompt, completion = listed.get("input_cost_per_token"), listed.get("output_cost_per_token")
    if not isinstance(prompt, (int, float)) or not isinstance(completion, (int, float)):
        return None
    cached = listed.get("cache_read_input_token_cost")
    return Price(
        round(prompt * 1e6, 9),
        round(completion * 1e6, 9),
        round(cached * 1e6, 9) if isinstance(cached, (int, float)) else None,
    )


def _whole(value: Any) -> int | None:
    """The price list holds a few numbers as text."""
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    return int(value) if isinstance(value, (int, float)) and value > 0 else None


def _headers(error: Exception) -> Mapping[str, str]:
    """The response headers of a litellm exception, wherever this version keeps them."""
    own = getattr(error, "litellm_response_headers", None)
    response = getattr(getattr(error, "response", None), "headers", None)
    merged: dict[str, str] = {}
    for headers in (response, own):
        if headers is not None:
            merged.update({str(key): str(value) for key, value in dict(headers).items()})
    return merged


def _plain(response: Any) -> dict[str, Any]:
    """litellm's answer in the plain form, read field by field: dumping the whole object costs more than our call."""
    choices = [
        {
            "finish_reason": getattr(choice, "finish_reason", None),
            "message": {key: getattr(choice.message, key, None) for key in _MESSAGE}
            | {"tool_calls": [call.model_dump() for call in getattr(choice.message, "tool_calls", None) or ()]},
        }
        for choice in (getattr(response, "choices", None) or ())[:1]
    ]
    usage = getattr(response, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    counts = {key: getattr(usage, key, None) for key in _USAGE}
    counts["prompt_tokens_details"] = {"cached_tokens": getattr(details, "cached_tokens", None)}
    return {"choices": choices, "usage": counts, "model": getattr(response, "model", None)}


_MESSAGE = ("content", "reasoning_content", "reasoning", "refusal")
_USAGE = ("prompt_tokens", "completion_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens", "cost")


def _without_prefix(text: str) -> str:
    """``litellm.RateLimitError: RateLimitError: OpenAIException - words`` without what repeats the class."""
    while True:
        head, colon, rest = text.partition(": ")
        if not colon or " " in head or not head.endswith(("Error", "Exception", "Timeout")):
            break
        text = rest
    head, dash, rest = text.partition("Exception - ")
    return rest if dash and " " not in head else text


def known_names() -> list[str]:
    """Names ``provider/model`` of the chat models in litellm's list, the large providers' first: for suggestions."""
    names = []
    for name, entry in _price_list().items():
        if not isinstance(entry, Mapping) or entry.get("mode") != "chat":
            continue
        provider = str(entry.get("litellm_provider", ""))
        names.append(name if name.startswith(f"{provider}/") else f"{provider}/{name}")
    return sorted(names, key=lambda name: name.partition("/")[0] not in ("openai", "anthropic", "gemini", "mistral"))
