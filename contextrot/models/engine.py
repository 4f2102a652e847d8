"""`engine:` of a `local/` model: settings of llama.cpp that make another model of the matrix out of the same weights.

They are the fourth technique of the articles (KV-cache eviction and its kin): none changes what is sent, each changes
what the model can still see of it, or what that costs. Meanings and defaults are llama.cpp's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from contextrot.errors import ConfigError

#: Types of the cached keys and values. At a window of 8,192 tokens those of SmolLM2-135M take 189, 100 and 53 MB.
KV_CACHE = ("f16", "q8_0", "q4_0")
FLASH_ATTENTION = ("auto", "on", "off")
MOST_THREADS = 512
#: Memory for the states of conversations that wait, in MiB. A token of the embedded model takes 23 kB.
WAITING_MIB = 2048
#: An engine that shifts still leaves an eighth of the window free: what the estimate of a prompt may be off.
_SHIFT_MARGIN = 8


@dataclass(frozen=True, slots=True)
class Engine:
    """Settings of one engine.

    threads: to compute with; None: the CPUs this process may use. kv_cache: how keys and values are stored.
    flash_attention: `auto` uses it where the backend can. context_shift: a reply that reaches the end of the window
    goes on, and the older half of all tokens is forgotten for it (system prompt included); off: the reply is cut. A
    *prompt* over the window is an overflow either way. prefix_reuse: what was computed for a prompt is taken up by the
    next one that begins alike; off: every prompt is computed from its first token.
    """

    threads: int | None = None
    kv_cache: str = "f16"
    flash_attention: str = "auto"
    context_shift: bool = False
    prefix_reuse: bool = True

    def configure(self, params: Any) -> None:
        """Write the settings (threads apart) into an `xllamacpp.CommonParams`."""
        import xllamacpp

        types, flash = xllamacpp.ggml_type, xllamacpp.llama_flash_attn_type
        params.cache_type_k = params.cache_type_v = {
            "f16": types.GGML_TYPE_F16,
            "q8_0": types.GGML_TYPE_Q8_0,
            "q4_0": types.GGML_TYPE_Q4_0,
        }[self.kv_cache]
        params.flash_attn_type = {
            "auto": flash.LLAMA_FLASH_ATTN_TYPE_AUTO,
            "on": flash.LLAMA_FLASH_ATTN_TYPE_ENABLED,
            "off": flash.LLAMA_FLASH_ATTN_TYPE_DISABLED,
        }[self.flash_attention]
        params.ctx_shift = self.context_shift
        params.cache_prompt = self.prefix_reuse
        params.cache_ram_mib = WAITING_MIB if self.prefix_reuse else 0


#: Names of the settings, in the order labels show them.
SETTINGS = tuple(field.name for field in fields(Engine))


def read_engine(raw: Mapping[str, Any], where: str = "engine") -> Engine:
    """The engine a user wrote. `where` begins the sentence of a `ConfigError`, which names every fault."""
    faults: list[str] = []
    values: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in SETTINGS:
            close = get_close_matches(str(name), SETTINGS, 1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            faults.append(f"engine has no {name!r}{hint}; known: {', '.join(SETTINGS)}")
        elif name == "threads":
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_THREADS:
                faults.append(f"engine.threads must be a whole number from 1 to {MOST_THREADS}, not {value!r}")
            values[name] = value
        elif name == "kv_cache":
            faults += _choice(name, value, KV_CACHE)
            values[name] = value
        elif name == "flash_attention":
            values[name] = _word(value)
            faults += _choice(name, values[name], FLASH_ATTENTION)
        else:
            values[name] = _word(value) == "on"
            if _word(value) not in ("on", "off"):
                faults.append(f"engine.{name} must be true or false, not {value!r}")
    if not faults and values.get("flash_attention") == "off" and values.get("kv_cache", "f16") != "f16":
        faults.append(
            f"engine.kv_cache {values['kv_cache']} needs flash attention, without which llama.cpp stores values as f16 "
            "only: drop flash_attention: off, or use kv_cache: f16"
        )
    if faults:
        raise ConfigError("\n".join(f"{where}: {fault}" for fault in faults))
    return Engine(**values)


def engine_label(raw: Mapping[str, Any]) -> str:
    """What tells this engine from another of the same model, as it stands in labels: ``kv_cache=q4_0``."""
    engine = read_engine(raw)
    return ", ".join(f"{name}={_shown(getattr(engine, name))}" for name in SETTINGS if name in raw)


def room_for_reply(raw: Mapping[str, Any], window: int, max_tokens: int) -> int:
    """Tokens of the window that a prompt leaves free: the longest reply's, or less where the engine shifts.

    With the whole reply's room kept free a context shift could never happen, and the setting would test nothing.
    """
    shifts = _word(raw.get("context_shift")) == "on"
    return min(max_tokens, window // _SHIFT_MARGIN) if shifts else max_tokens


def _choice(name: str, value: Any, known: tuple[str, ...]) -> list[str]:
    if value in known:
        return []
    close = get_close_matches(str(value), known, 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return [f"engine.{name} must be one of {', '.join(known)}, not {value!r}{hint}"]


def _word(value: Any) -> Any:
    """YAML reads `on`, `off`, `true` and `false` as one thing or the other, depending on its version."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return {"true": "on", "false": "off"}.get(value, value) if isinstance(value, str) else value


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
