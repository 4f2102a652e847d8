"""Which file a model's name leads to. Each kind is imported only when it is used."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from contextrot.errors import ConfigError
from contextrot.models.base import Model, ModelKind, ModelSpec

if TYPE_CHECKING:
    from contextrot.models.callables import AgentModel


KINDS = (
    ModelKind("local/NAME", "the embedded model, real llama.cpp inference in this process", "local/smollm2-135m"),
    ModelKind("local/PATH.gguf", "any GGUF file of yours, in this process", "local/models/qwen2.5-0.5b-instruct.gguf"),
    ModelKind("provider/model", "anything litellm reaches", "openai/gpt-4o-mini"),
    ModelKind(
        "endpoint/MODEL@URL",
        "any OpenAI-compatible server (vLLM, SGLang, llama-server, Ollama), over a direct client",
        "endpoint/qwen2.5-7b-instruct@http://localhost:8000/v1",
    ),
    ModelKind("sim/NAME?key=value", "a simulated model with known rot", "sim/hazard?hazard=0.05"),
    ModelKind("extractive", "for summaries: sentences of the transcript, without any model", "extractive"),
    ModelKind("python:module:factory", "your own agent: anything with feed(text)", "python:my_agent:make"),
)

#: Prefixes people write for one of ours, with what they mean.
_MISTAKES = {
    "simulated": "sim/",
    "simulate": "sim/",
    "sims": "sim/",
    "locals": "local/",
    "gguf": "local/",
    "endpoints": "endpoint/",
}


def describe() -> tuple[ModelKind, ...]:
    """The rows of `contextrot list models`: form, what it is, an example."""
    return KINDS


def create_model(spec: ModelSpec) -> Model | AgentModel:
    """The model a spec names. Raises `ConfigError` for a name that cannot work. Connects to nothing, loads nothing."""
    name = spec.id.strip()
    if name != spec.id or not name:
        raise ConfigError(f"the model name {spec.id!r} is empty or has blanks around it")
    if name.startswith("python:"):
        from contextrot.models.callables import AgentModel

        return AgentModel(spec)
    if name == "extractive":
        from contextrot.models.extractive import ExtractiveModel

        return ExtractiveModel(spec)
    prefix, slash, _ = name.partition("/")
    if not slash:
        raise ConfigError(_no_slash(name))
    if prefix in _MISTAKES:
        raise ConfigError(f"there are no models {prefix}/…; did you mean {_MISTAKES[prefix]}{name.partition('/')[2]}?")
    if prefix == "sim":
        from contextrot.models.simulated import SimulatedModel

        return SimulatedModel(spec)
    if prefix == "local":
        from contextrot.models.local import LocalModel

        return LocalModel(spec)
    if prefix == "endpoint":
        from contextrot.models.endpoint import EndpointModel

        return EndpointModel(spec)
    from contextrot.models.providers import ProviderModel

    return ProviderModel(spec)


def missing_key(spec: ModelSpec) -> str | None:
    """A sentence when the model cannot be asked for want of an API key; None when all is well. May import litellm."""
    prefix = spec.id.partition("/")[0]
    if spec.id.startswith("python:") or prefix in ("sim", "local", "extractive"):
        return None
    if prefix == "endpoint":
        from contextrot.models import endpoint

        return endpoint.missing_key(spec)
    from contextrot.models import providers

    return providers.missing_key(spec)


async def prepare(model: Model | AgentModel, *, fetch: bool = True) -> None:
    """What a model wants done before its first call: an endpoint asks for its window, litellm is imported.

    `fetch` is for local models: whether weights that are not here yet may be fetched.

    Raises `ConfigError` or `ModelError`. Models without such a wish are left as they are.
    """
    wish = getattr(model, "prepare", None)
    if wish is None:
        return
    if model.spec.id.startswith("local/"):
        await wish(fetch=fetch)
    else:
        await wish()


def _no_slash(name: str) -> str:
    """The sentence for a bare name: which full name was meant, if one is near."""
    sentence = f"{name!r} is not a model name; write provider/model, for example openai/gpt-4o-mini"
    provider, colon, rest = name.partition(":")
    close = [f"{provider}/{rest}"] if colon and rest else suggestions(name)
    return f"{sentence}; did you mean {' or '.join(close)}?" if close else f"{sentence} (see `contextrot list models`)"


def suggestions(name: str, known: Iterable[str] = ()) -> list[str]:
    """Up to three full model names near a bare one: ours, and those of litellm's list (read without importing it)."""
    from contextrot.models.providers import known_names

    full: dict[str, str] = {kind.example.rpartition("/")[2]: kind.example for kind in KINDS}
    full |= {other.rpartition("/")[2]: other for other in known}
    full |= {"perfect": "sim/perfect", "hazard": "sim/hazard", "decay": "sim/decay", "ushape": "sim/ushape"}
    full |= {bare: name for name in known_names() if (bare := name.rpartition("/")[2]) not in full}
    return [full[bare] for bare in get_close_matches(name, full, n=3, cutoff=0.75)]
