"""How near `contextrot.tokens.estimate` comes to a real tokenizer: OpenAI's cl100k, over texts of this repository.

    python benchmarks/token_estimate.py

Prints the estimate over the true count for each kind of text. litellm's package brings the vocabulary, so nothing is
fetched. Exit code 1 when a kind lies outside of what the docstring of `estimate` says.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import orjson

from contextrot.scenario.filler import generate, kinds
from contextrot.tokens import estimate

ROOT = Path(__file__).resolve().parent.parent
#: what the docstring of `estimate` says: the share by which words and code, and records, may be off
ORDINARY, RECORDS = 0.12, 0.6


def tokenizer() -> object:
    """cl100k from the file in litellm's package."""
    litellm = find_spec("litellm")
    assert litellm is not None
    assert litellm.origin is not None
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(litellm.origin).parent / "litellm_core_utils" / "tokenizers")
    import tiktoken

    return tiktoken.get_encoding("cl100k_base")


def read(*patterns: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for pattern in patterns for path in sorted(ROOT.glob(pattern)))


def records() -> list[dict[str, object]]:
    """Rows as a run directory holds them."""
    return [
        {
            "turn": turn, "purpose": "turn", "hash": f"{turn * 2654435761 % 2**48:012x}", "prompt_tokens": 80 * turn,
            "occupancy": round(turn / 97, 6), "outcome": "ok", "error": None, "view": {"ranges": [[0, 2 * turn]]},
        }
        for turn in range(1, 200)
    ]  # fmt: skip


def as_csv(rows: list[dict[str, object]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def samples() -> dict[str, tuple[str, float]]:
    """Texts by name, each with the share its estimate may be off."""
    filler = {
        kind: ("\n".join(generate(kind, "k", index, 150)[0] for index in range(40)), ORDINARY) for kind in kinds()
    }
    return {
        "Markdown (README, docs)": (read("README.md", "docs/*.md"), ORDINARY),
        "Python (contextrot/bench)": (read("contextrot/bench/*.py"), ORDINARY),
        "YAML (scenarios)": (read("scenarios/**/*.yaml"), ORDINARY),
        **{f"filler: {kind}": sample for kind, sample in filler.items()},
        "JSON, indented": (orjson.dumps(records(), option=orjson.OPT_INDENT_2).decode(), RECORDS),
        "JSON, dense": (orjson.dumps(records()).decode(), RECORDS),
        "CSV of figures": (as_csv(records()), RECORDS),
    }


def main() -> int:
    encoding = tokenizer()
    broken = False
    print(f"{'text':<28}{'cl100k':>10}{'estimate':>10}{'ratio':>8}{'bound':>10}")
    for name, (text, bound) in samples().items():
        real = len(encoding.encode(text, disallowed_special=()))  # type: ignore[attr-defined]
        ratio = estimate(text) / real
        broken |= abs(ratio - 1) > bound
        print(f"{name:<28}{real:>10,}{estimate(text):>10,}{ratio:>8.2f}{f'± {bound:.0%}':>10}")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
