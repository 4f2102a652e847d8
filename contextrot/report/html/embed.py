"""How data and scripts are put into the page so that nothing of them can become markup or a request."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from markupsafe import Markup

#: characters that end a script element, open a comment or are line ends to JavaScript, as JSON escapes
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
#: what must stand in no inlined file: the parser would end the element or change how it reads it
_FORBIDDEN = {"script": ("</script", "<!--", "\r"), "style": ("</style", "<!--", "\r")}


def json_text(value: Any) -> str:
    """JSON that can stand in a script element: no `<`, `>`, `&` and no line separators are left in it."""
    text = orjson.dumps(value).decode()
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def data_block(name: str, value: Any) -> Markup:
    """A `<script type="application/json">` with the id `name`. It is data: no browser runs it."""
    from markupsafe import Markup

    return Markup('<script type="application/json" id="{}">').format(name) + Markup(json_text(value) + "</script>")


def chunk_block(number: int, content: bytes) -> Markup:
    """The gzipped chunk `number` in base64, which `contextrot.chunk(number)` opens."""
    from markupsafe import Markup

    text = base64.b64encode(content).decode()
    return Markup('<script type="application/octet-stream" id="chunk-{}">{}</script>').format(number, text)


def inline(kind: str, text: str, name: str) -> Markup:
    """The text of a file as the content of a `script` or `style` element, byte for byte.

    Raises ValueError when the text holds what would end the element: a file of our own, so a mistake of ours.
    """
    from markupsafe import Markup

    for forbidden in _FORBIDDEN[kind]:
        if forbidden in text.lower():
            raise ValueError(f"{name} holds {forbidden!r} and cannot be inlined")
    return Markup(text)


def policy(scripts: Sequence[str]) -> str:
    """The Content-Security-Policy of the page: nothing may be loaded, and only these very scripts may run."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(f"'sha256-{digest}'" for digest in hashes),
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())
