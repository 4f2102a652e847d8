"""A reply as a reader sees it: Unicode, quotes, dashes, Markdown, LaTeX and HTML dressing brought to one plain form.

Values and replies go through the same function, so that dressing can never make them differ. All patterns are
linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_INVISIBLE = dict.fromkeys(
    [0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF, 0xFE0F, 0x20E3]
)
#: Before compatibility normalisation: it would turn ½ into 1⁄2 and 10² into 102, which are other numbers.
_BEFORE: dict[int, str | None] = {
    **_INVISIBLE,
    **{ord(sign): f"^{digit}" for digit, sign in enumerate(_SUPERSCRIPTS)},
    **{ord(sign): f"^{sign}" for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"},
}
_AFTER: dict[int, str] = {
    **dict.fromkeys(map(ord, "‐‑‒–﹣－"), "-"),
    **dict.fromkeys(map(ord, "‘’‚‛′ʼ＇`´"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″«»＂"), '"'),
    **dict.fromkeys(map(ord, "—―⸺"), " — "),
    ord("⁄"): "/",
    ord("≥"): ">=",
    ord("≤"): "<=",
    ord("≠"): "!=",
    ord("∼"): "~",
    ord("≈"): "~",
    ord("≃"): "~",
    ord("→"): " -> ",
    ord("⇒"): " -> ",
    ord("➜"): " -> ",
}
_LATEX_SIGNS = {
    "approx": "~", "sim": "~", "simeq": "~", "geq": ">=", "ge": ">=", "gt": ">", "leq": "<=", "le": "<=", "lt": "<",
    "neq": "!=", "ne": "!=", "pm": "±", "to": " -> ", "rightarrow": " -> ", "times": "×", "cdot": "×", "quad": " ",
    "qquad": " ", "left": "", "right": "", "displaystyle": "",
}  # fmt: skip
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"~~[^~\n]{1,300}~~|<(del|s|strike)>[^<]{0,300}</\1>", re.I), " "),
    (re.compile(r"\\(?:boxed|fbox|text\w{0,8}|math\w{1,8}|operatorname|emph|underline)\s{0,3}\{"), " "),
    (re.compile(r"\{,\}|,\\!"), ","),
    (re.compile(r"\\[;: ]"), " "),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
    (re.compile(r"</?(?:b|strong|i|em|u|code|mark|span|kbd|sub|small|font)(?:\s[^<>]{0,100})?>", re.I), ""),
    (re.compile(r"<(?:br|p|div|li|td|tr|hr)(?:\s[^<>]{0,100})?/?>|</(?:p|div|li|td|tr)>", re.I), "\n"),
)
_EMPHASIS = re.compile(r"(?<![^\W_])[*]++(?=\S)|(?<=\S)[*]++(?![^\W_])|(?<!\w)_++(?=\S)|(?<=\S)_++(?!\w)|`++")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n[\n ]*")


@dataclass(frozen=True, slots=True)
class Page:
    """A text in plain form. `folded` is what is searched; `shown` has the same length and keeps the case if it can."""

    folded: str
    shown: str


def plain(text: str) -> str:
    """The text without dressing, its case kept: one kind of quote, hyphen and space; line ends as `\\n`."""
    text = unicodedata.normalize("NFKC", text.translate(_BEFORE))
    if "\\" in text or "<" in text or "~~" in text or "{,}" in text:
        for sign, meaning in _LATEX_SIGNS.items():
            if f"\\{sign}" in text:
                text = re.sub(rf"\\{sign}(?![a-zA-Z])", meaning, text)
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
    if "&" in text:
        text = re.sub(r"&#?\w{1,10};", lambda found: unescape(found.group()), text)
    text = _EMPHASIS.sub("", text)
    # U+2212 is a sign even with a space behind it; an ordinary hyphen there is a dash or a list marker.
    text = re.sub(r"−\s?(?=[\d$€£.])", "-", text).replace("−", "-").translate(_AFTER)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")
    return _LINES.sub(lambda gap: "\n\n" if gap.group().count("\n") > 1 else "\n", _SPACES.sub(" ", text)).strip()


@lru_cache(maxsize=16)
def page(text: str) -> Page:
    """The plain form of a reply, ready to be searched."""
    shown = plain(text)
    folded = shown.casefold()
    return Page(folded, shown if len(shown) == len(folded) else folded)
