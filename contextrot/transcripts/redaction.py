"""Secrets out of a transcript before it becomes a file: by their form, by the name they stand under, by their value.

The same secret gets the same placeholder everywhere (`[api-key-1]`), so that the dialogue stays coherent: a key that
was told at turn 3 and used at turn 9 is still the same key. Placeholders hold neither quotes nor backslashes, so that
JSON stays JSON. What is counted is kinds, never values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from contextrot.bench.redact import REDACTED, Redactor
from contextrot.messages import Message, Tool, ToolCall
from contextrot.transcripts.base import Transcript


class Level(StrEnum):
    """How much is taken out: keys and passwords, e-mail addresses and names of home folders as well, or nothing."""

    SECRETS = "secrets"
    ALL = "all"
    NONE = "none"


#: Credentials that say themselves what they are, by the prefixes their issuers publish. Here and below the letter of an
#: escaped line break or tab (`\\n` in the arguments of a tool call, which are JSON text) is no part of the word.
_KEYS = re.compile(
    r"""(?x)(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))(?:
      sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}                      # OpenAI, Anthropic, OpenRouter, Langfuse
    | pk-lf-[A-Za-z0-9-]{16,}
    | lsv2_(?:pt|sk)_[A-Za-z0-9_]{16,}                            # LangSmith
    | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}                         # AWS
    | AIza[A-Za-z0-9_-]{35}                                       # Google
    | ya29\.[A-Za-z0-9_-]{20,}
    | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
    | glpat-[A-Za-z0-9_-]{16,}
    | xox[abeoprs]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{10,}     # Slack
    | (?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,} | whsec_[A-Za-z0-9]{16,}   # Stripe
    | hf_[A-Za-z0-9]{20,} | gsk_[A-Za-z0-9]{20,} | xai-[A-Za-z0-9]{20,} | nvapi-[A-Za-z0-9_-]{20,}
    | r8_[A-Za-z0-9]{20,} | tvly-[A-Za-z0-9-]{16,} | pplx-[A-Za-z0-9]{20,}
    | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{20,} | dop_v1_[a-f0-9]{32,}
    | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}                  # SendGrid
    | \d{8,10}:AA[A-Za-z0-9_-]{32,}                               # Telegram
    )"""
)
#: The same in the name of a file, where a key may follow a hyphen or an underscore.
_KEYS_IN_NAMES = re.compile(_KEYS.pattern.replace(r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))", "(?<![A-Za-z0-9])"))
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.S,
)
_JWT = re.compile(r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")
_BEARER = re.compile(r"(?i)((?:\b|(?<=\\[nrt]))(?:bearer|basic)\s+)(?=[a-z._~+/-]*[\d=])([a-z0-9._~+/-]{16,}=*)")
_URL_PASSWORD = re.compile(
    # up to the last @ before the host; `:8080/` is a port
    r"((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'\\]{0,64}:)(?!\d{1,5}[/?#])"
    r"((?:[^\s:@\"'\\<>]|@(?=[^\s/\"'\\<>]{0,100}@)){3,200})(?=@[\w.\[-])",
    re.I,
)
#: `password: x`, `"api_key": "x"`, `export TOKEN=x`, `--secret x`; also with the quotes escaped inside JSON text.
_NAMED = re.compile(
    r"""(?x)
    ((?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=PASSW|PWD))
       (?i:password|passwd|passphrase|passwort|kennwort|contrase[nñ]a|pwd|secret|api[_-]?key|account[_-]?key|access[_-]?key|private[_-]?key|credentials?|token)
       (?i:[_-](?:key|id|value))?
       (?:\\?["'])?\s*(?:=>|[:=])\s*)
    (?:(\\?["'])((?:(?!\2).){4,400}?)\2 | ((?:[^\s"'\\,;&<>(){}\[\]|`]|&(?=\w)(?![\w.-]+=|amp;)){6,}+)(?!\())
    """
)
#: `DB_PASS=x`, `pass=x`, `"pass": "x"`: shorter names, which are words of prose and of test reports as well.
_PASS = re.compile(
    r"""(?x)
    ((?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=[A-Za-z0-9]_))(?i:pass|pw)
       (?:(?:\\?["'])\s*[:=]\s*(?=\\?["']) | \s?=\s?))
    (\\?["'])?((?=[^\s"'\\,;&<>|]{0,60}[A-Za-z])(?=[^\s"'\\,;&<>|]{0,60}\d)[^\s"'\\,;&<>(){}\[\]|`]{6,}+)(?!\()
    """
)
#: Secrets that the words around them tell: the first group stays, the second goes.
_TOLD = tuple(re.compile(pattern) for pattern in (
    r"(?i)((?:\b|(?<=\\[nrt]))curl\b[^\n|;]{0,400}?\s(?:-u|--user)[ =]?\\?[\"']?[^\s:\"'\\]{1,64}:)([^\s\"'\\]{3,})",
    r"((?:\b|(?<=\\[nrt]))(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb)\b[^\n|;]{0,400}?\s-p)([^\s\"'\\]{3,})",
    r"((?:\b|(?<=\\[nrt]))sshpass\s+-p\s*\\?[\"']?)([^\s\"'\\]{3,})",
    r"(?i)([?&](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature)=)([^\s&\"'\\<>]{8,})",
    r"(?i)(\\?[\"']_?auth\\?[\"']\s*:\s*\\?[\"'])((?=[^\"'\\]*[\d=])[A-Za-z0-9+/_-]{12,}={0,2})(?=\\?[\"'])",
    r"(?i)((?:\b|(?<=\\[nrt]))login\s+\S{1,64}\s+password\s+)([^\s\"'\\]{4,})",
    r"(?i)(<(?:\w+:)?(?:password|passwd|pwd|secret|api[_-]?key|token)>\s*)"
    r"((?=[^\s<>]*[^\sA-Za-z<>])[^\s<>]{4,200})(?=\s*</)",
    r"(?i)(\\?[\"']--?(?:password|passwd|pass|passphrase|secret|token|api-?key)\\?[\"']\s*,\s*\\?[\"'])"
    r"(?!-)([^\s\"'\\]{4,})(?=\\?[\"'])",
    r"(?i)((?:\b|(?<=\\[nrt]))(?:password|passphrase|passcode|passwort|kennwort|pwd)\s+(?:is|was|ist|lautet)\s*:?\s+(?:now\s+)?\\?[\"'`]?)"
    r"(?!\d+[-\s]?[a-z]+\b(?!\d)|(?:base|sha|md|utf|bcrypt|argon|pbkdf|rsa|aes|ascii|scram|oauth|v)-?\d)"
    r"((?=\S*\d)(?:(?=\S*[a-z])[^\s\"'`\\,;<>()]{5,}[^\s\"'`\\,;<>().!?:]|\d{6,}\b))",
))  # fmt: skip
_COOKIES = re.compile(r"(?i)((?:\b|(?<=\\[nrt]))(?:set-)?cookie\s*:\s*)([^\n\r\"'\\]{8,4000})")
_COOKIE = re.compile(r"((?:^|;)\s*[\w.-]+=)((?=[^\s;]*\d)[^\s;]{12,})")
#: Words of sentences: a text with one of them is no passphrase of random words.
_SENTENCE = frozenset(re.findall(r"\w+", (
    "a an and any are as at be been but by can could do does enter expired for forgot from has have here if in "
    "incorrect invalid is it its least may must need needs new no not of old on only or our password passwords "
    "please required reset set should than that the their there they this to type until use user was we were "
    "wrong when which will with you your"
)))  # fmt: skip
_FLAG = re.compile(r"(?i)((?:^|\s)--?(?:password|passwd|secret|token|api-?key)[ =])([^\s\"'\\-][^\s\"'\\]{5,})")
#: Values that hold the place of a secret, or are code that fetches one.
_STAND_IN = re.compile(
    r"(?i)(?:[\[<{•]|\$[({]|\$[a-z_]+$|%[sd(]|\*{2}|\.{3}|x{3}|your[_-]|my[_-]|os\.|process\.|env\b|env[.(\[]|none$|null$|true$|false$|undefined$|string$|str$|"
    r"optional|required|example|placeholder|changeme$|redacted|\S*\$\{)"
)
_EMAIL = re.compile(r"(?<![A-Za-z0-9._%+-])(?!git@)[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b")
_HOME = re.compile(r"((?:/home/|/Users/|[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/)))([^\s/\\\"'`:<>|]+)")
_SHARED_HOMES = frozenset({"shared", "public", "default", "runner", "root", "user", "ubuntu"})


class Scrubber:
    """Replaces secrets and remembers them, so that each keeps its placeholder. `found` counts them by kind."""

    def __init__(self, level: Level = Level.SECRETS, environ: Mapping[str, str] | None = None) -> None:
        self.level = level
        self.found: Counter[str] = Counter()
        self._placeholders: dict[str, str] = {}
        self._kinds: Counter[str] = Counter()
        self._environment = Redactor(environ)

    def text(self, text: str) -> str:
        """The text without its secrets."""
        if self.level is Level.NONE or not text:
            return text
        known = self._environment.text(text)
        self.found["value of an environment variable"] += known.count(REDACTED) - text.count(REDACTED)
        text = known
        text = _PRIVATE_KEY.sub(self._as("private-key"), text)
        text = _JWT.sub(self._as("token"), text)
        text = _KEYS.sub(self._as("api-key"), text)
        text = _URL_PASSWORD.sub(self._after("password"), text)
        text = _BEARER.sub(self._after("token"), text)
        for told in _TOLD:
            text = told.sub(self._after("password"), text)
        text = _COOKIES.sub(lambda match: match[1] + _COOKIE.sub(self._after("token"), match[2]), text)
        text = _NAMED.sub(self._named, text)
        text = _PASS.sub(self._passed, text)
        text = _FLAG.sub(self._after("password"), text)
        if self.level is Level.ALL:
            text = _EMAIL.sub(self._as("email"), text)
            text = _HOME.sub(self._home, text)
        return text

    def name(self, name: str) -> str:
        """The name of a file or a session without its secrets."""
        return name if self.level is Level.NONE else _KEYS_IN_NAMES.sub(self._as("api-key"), self.text(name))

    def _placeholder(self, kind: str, value: str) -> str:
        self.found[kind] += 1
        if value not in self._placeholders:
            self._kinds[kind] += 1
            self._placeholders[value] = f"[{kind}-{self._kinds[kind]}]"
        return self._placeholders[value]

    def _as(self, kind: str) -> Callable[[re.Match[str]], str]:
        return lambda match: self._placeholder(kind, match[0])

    def _after(self, kind: str) -> Callable[[re.Match[str]], str]:
        """Replaces the second group and keeps the first, but for values that only hold a secret's place."""

        def put(match: re.Match[str]) -> str:
            if _STAND_IN.match(match[2]):
                return match[0]
            return match[1] + self._placeholder(kind, match[2])

        return put

    def _named(self, match: re.Match[str]) -> str:
        quote, quoted, bare = match[2] or "", match[3], match[4]
        value = quoted if quoted is not None else bare
        if _STAND_IN.match(value) or not _may_be_secret(value, bare is not None, match[1]):
            return match[0]
        return f"{match[1]}{quote}{self._placeholder('password', value)}{quote}"

    def _passed(self, match: re.Match[str]) -> str:
        if _STAND_IN.match(match[3]):
            return match[0]
        return f"{match[1]}{match[2] or ''}{self._placeholder('password', match[3])}"

    def _home(self, match: re.Match[str]) -> str:
        if match[2].lower() in _SHARED_HOMES or match[2].startswith("["):
            return match[0]
        return match[1] + self._placeholder("user", match[2])

    def transcript(self, transcript: Transcript) -> Transcript:
        """The transcript without its secrets: texts, arguments, results, descriptions of tools, names and errors."""
        if self.level is Level.NONE:
            return transcript
        return replace(
            transcript,
            name=self.name(transcript.name),
            messages=tuple(map(self._message, transcript.messages)),
            tools=tuple(
                Tool(tool.name, self.text(tool.description), self._value(tool.parameters)) for tool in transcript.tools
            ),
            errors=tuple(map(self.text, transcript.errors)),
            compactions=tuple(one._replace(summary=self.text(one.summary)) for one in transcript.compactions),
        )

    def _message(self, message: Message) -> Message:
        calls = tuple(ToolCall(call.id, call.name, self.text(call.arguments)) for call in message.tool_calls)
        content = None if message.content is None else self.text(message.text)
        return replace(message, content=content, tool_calls=calls)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self._value(inner) for key, inner in value.items()}
        return [self._value(inner) for inner in value] if isinstance(value, (list, tuple)) else value

    def report(self) -> Iterator[tuple[str, int]]:
        """How many places were replaced, by kind, the most first. Never what stood there."""
        return ((kind, count) for kind, count in self.found.most_common() if count)


_A_PASSWORD = re.compile(r"(?i)(?:passw(?:or)?d|passphrase|passwort|kennwort|contrase[nñ]a|pwd)\W*\Z")


def _is_passphrase(value: str) -> bool:
    """True for four words or more, in lower case, that make no sentence."""
    words = value.split(" ")
    return len(words) >= 4 and all(
        word.isalpha() and word.islower() and 3 <= len(word) <= 12 and word not in _SENTENCE for word in words
    )


def _may_be_secret(value: str, bare: bool, name: str) -> bool:
    """True for a value that someone may have issued; words of prose and code after `token:` are none."""
    digits = any(char.isdigit() for char in value)
    if value.isdigit() and len(value) >= 6 and _A_PASSWORD.search(name):
        return True
    if bare and ("=" not in name or value.isalpha()):
        # `password: hunter2` is one, `token: invalid` and `secret: yes` are not.
        return digits and any(char.isalpha() for char in value)
    # Quoted, or assigned: one word, or a passphrase. `"token": "the next token"` and `max_token=4096` are none.
    if any(char.isspace() for char in value):
        return len(value) <= 64 and "pass" in name.lower() and (digits or _is_passphrase(value))
    return not value.isdigit()
