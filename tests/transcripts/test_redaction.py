"""Secrets go, words stay, and one secret is one placeholder."""

from __future__ import annotations

import json

import pytest

from contextrot.messages import ToolCall, assistant, tool_result, user
from contextrot.transcripts import Transcript
from contextrot.transcripts.redaction import Level, Scrubber


def scrubbed(text: str, level: Level = Level.SECRETS) -> str:
    return Scrubber(level, {}).text(text)


ANTHROPIC = "sk-ant-" + "api03-abcdefGHIJKL0123456789"
GITHUB = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2"


@pytest.mark.parametrize(
    ("text", "without"),
    [
        (f"my key is {ANTHROPIC}.", "my key is [api-key-1]."),
        (f"push with {GITHUB}", "push with [api-key-1]"),
        ("AKIA" + "IOSFODNN7EXAMPLE", "[api-key-1]"),
        ("-H 'Authorization: Bearer abc123.def456-ghi789'", "-H 'Authorization: Bearer [token-1]'"),
        ("eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".abcdefgh123456", "[token-1]"),
        ("postgres://ann:s3cr3t@db:5432/x", "postgres://ann:[password-1]@db:5432/x"),
        ('{"api_key": "abc123def", "n": 1}', '{"api_key": "[password-1]", "n": 1}'),
        (r"{\"password\": \"p4ssword\"}", r"{\"password\": \"[password-1]\"}"),
        ("password: hunter2", "password: [password-1]"),
        ("export GITHUB_TOKEN=abcdefgh1", "export GITHUB_TOKEN=[password-1]"),
        ("dbPassword=Qwerty12", "dbPassword=[password-1]"),
        ("mysql --password s3cretpw", "mysql --password [password-1]"),
        ("secret=xyz98765", "secret=[password-1]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY----- and so on",
            "[private-key-1] and so on",
        ),
    ],
)
def test_secrets_go(text: str, without: str) -> None:
    assert scrubbed(text) == without


@pytest.mark.parametrize(
    "text",
    [
        "token: invalid, secret: yes, password: the same as before",
        "max_tokens=4096 next_token: 42 token_count=1234567",
        '{"token": "the next token", "tokens": 12345678}',
        "api_key=os.environ['X'] api_key=${KEY} PASSWORD=$PW password=<your password> token = get_token(x)",
        "commit 3f2c1d9e8b7a6f5e4d3c2b1a0f9e8d7c6b5a4f3e in sk-learn-contrib-packages",
        "git@github.com:ann/app.git http://host:8080/x basic characterization of bearer instruments",
        "The tokenizer: BPE32 works; secretary: Ann12345; passwords: the policy",
        "ann@example.com has her files in /home/ann/app",
    ],
)
def test_words_stay(text: str) -> None:
    assert scrubbed(text) == text


def test_addresses_and_home_folders_with_all() -> None:
    text = "ann@example.com: /home/ann/app, C:\\Users\\ann\\x, git@github.com:ann/app.git"
    assert (
        scrubbed(text, Level.ALL) == "[email-1]: /home/[user-1]/app, C:\\Users\\[user-1]\\x, git@github.com:ann/app.git"
    )
    assert scrubbed(f"{text} {ANTHROPIC}", Level.NONE) == f"{text} {ANTHROPIC}"


def test_values_of_the_environment() -> None:
    scrubber = Scrubber(Level.SECRETS, {"MY_API_KEY": "correct horse"})
    assert scrubber.text("it is correct horse") == "it is [redacted]"
    assert dict(scrubber.report()) == {"value of an environment variable": 1}


def test_one_secret_is_one_placeholder_through_the_whole_session() -> None:
    transcript = Transcript(
        (
            user(f"use {ANTHROPIC}"),
            assistant(None, [ToolCall("c", "login", json.dumps({"api_key": ANTHROPIC, "who": "ann"}))]),
            tool_result("c", f"logged in with {ANTHROPIC}, not {GITHUB}"),
        ),
        "openai",
    )
    scrubber = Scrubber(Level.SECRETS, {})
    first, call, result = scrubber.transcript(transcript).messages
    assert first.text == "use [api-key-1]"
    assert json.loads(call.tool_calls[0].arguments) == {"api_key": "[api-key-1]", "who": "ann"}
    assert result.text == "logged in with [api-key-1], not [api-key-2]"
    assert dict(scrubber.report()) == {"api-key": 4}


def test_long_texts_take_no_long_time() -> None:
    for piece in ("a-", "a_", "sk-", "http://a", "x@y.", "password: '", "eyJ", "--token ", "bearer "):
        scrubbed(piece * 20_000, Level.ALL)
