"""Secrets go, words stay, and one secret is one placeholder."""

from __future__ import annotations

import json
import time

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
        ("PGPASSWORD=hunter2x psql", "PGPASSWORD=[password-1] psql"),
        ("secret=xyz98765", "secret=[password-1]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY----- and so on",
            "[private-key-1] and so on",
        ),
    ],
)
def test_secrets_go(text: str, without: str) -> None:
    assert scrubbed(text) == without


@pytest.mark.parametrize("blank", ["\n", "\t", "\r\n"])
@pytest.mark.parametrize(
    ("secret", "without"),
    [
        (ANTHROPIC, "[api-key-1]"),
        (GITHUB, "[api-key-1]"),
        ("eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".abcdefgh123456", "[token-1]"),
        ("password=hunter2x", "password=[password-1]"),
        ("api_key: abc123def", "api_key: [password-1]"),
        ("Bearer abc123.def456-ghi789", "Bearer [token-1]"),
    ],
)
def test_secrets_go_behind_an_escaped_line_break(blank: str, secret: str, without: str) -> None:
    """Arguments of tool calls are JSON text: there a line break is two characters, of which the second is a letter."""
    once = json.dumps({"content": f"first{blank}{secret}{blank}last"})
    assert scrubbed(once) == json.dumps({"content": f"first{blank}{without}{blank}last"})
    assert scrubbed(json.dumps(once)) == json.dumps(json.dumps({"content": f"first{blank}{without}{blank}last"}))


@pytest.mark.parametrize(
    "text",
    [
        r"first\nsk-learn-contrib-packages\ntoken: invalid\nsecretary: Ann12345\tbasic characterization",
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


def test_a_key_in_the_name_of_a_file_goes_after_a_hyphen_too() -> None:
    scrubber = Scrubber(Level.SECRETS, {})
    assert scrubber.name(f"log-{GITHUB}.json") == "log-[api-key-1].json"
    assert scrubber.name(f"run_{ANTHROPIC}") == "run_[api-key-2]"
    for name in ("task-list-of-2026-11-30.json", "risk-assessment-2026-quarter-3-final.json", "session 4"):
        assert scrubber.name(name) == name
    assert Scrubber(Level.NONE, {}).name(GITHUB) == GITHUB


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("DB_PASS=hunter2xyz", "DB_PASS=[password-1]"),
        ('{"user": "bob", "pass": "hunter2xyz"}', '{"user": "bob", "pass": "[password-1]"}'),
        ("AccountName=a;AccountKey=Zm9vYmFyMTIz;", "AccountName=a;AccountKey=[password-1];"),
        ("curl -u bob:hunter2xyz https://x", "curl -u bob:[password-1] https://x"),
        ("mysql -u root -phunter2xyz", "mysql -u root -p[password-1]"),
        ("Cookie: theme=dark; session=abcdef1234567890", "Cookie: theme=dark; session=[token-1]"),
        ("https://a.net/c?sig=abcd1234efgh5678%3D&x=1", "https://a.net/c?sig=[password-1]&x=1"),
        ('{"auths": {"r": {"auth": "Ym9iOmh1bnRlcjJ4eXo="}}}', '{"auths": {"r": {"auth": "[password-1]"}}}'),
        ("machine x login bob password hunter", "machine x login bob password [password-1]"),
        ("<password>hunter2xyz</password>", "<password>[password-1]</password>"),
        ("my password is hunter2xyz.", "my password is [password-1]."),
        ("password=48151623", "password=[password-1]"),
        ('{"password": "48151623"}', '{"password": "[password-1]"}'),
        ('{"password": "correct horse battery staple"}', '{"password": "[password-1]"}'),
        ("password=Tr0ub4dor&3xyz", "password=[password-1]"),
        ("password=Tr0ub4dor&user=bob", "password=[password-1]&user=bob"),
        ("postgres://bob:hun/ter@2@db/x", "postgres://bob:[password-1]@db/x"),
        ('["psql", "--password", "hunter2xyz"]', '["psql", "--password", "[password-1]"]'),
        ("Passwort: hunter2xyz", "Passwort: [password-1]"),
    ],
)
def test_secrets_go_that_only_their_place_tells(text: str, without: str) -> None:
    assert scrubbed(text) == without
    assert scrubbed(json.dumps({"content": f"a\n{text}"})) == json.dumps({"content": f"a\n{without}"})


@pytest.mark.parametrize(
    "text",
    [
        "the password reset page is broken",
        "pass rate: 12, pass: 12, fail: 3",
        "PASS: test_login_2fa",
        "pass=12, fail=3, compass=abc123d, first pass: 12ab34",
        "Password is at least 8 characters; the password is base64-encoded; my password is 12 characters long",
        "the password is sent over HTTP2, and the password was changed on 2024-01-02",
        "http://localhost:3000/@vite/client http://registry:4873/@scope/pkg https://a.com:8080/a?b=c@d.com",
        '{"password": "the password reset page is broken", "help": "Enter it"}',
        '{"password": "Enter your new password here"}',
        "curl -u bob https://x; mysql -u root -p mydb; mysql -h db -P 3306",
        "Cookie: consent; cookies: 12345678901234",
        '{"auth": "authentication"} {"auth": "required"}',
        "<password>secret</password> <password></password>",
        '["--password", "--user"] ["--port", "8080"]',
        "a login as bob, password reset; password=$DB_PASS && ls",
    ],
)
def test_words_about_passwords_stay(text: str) -> None:
    assert scrubbed(text) == text


@pytest.mark.parametrize(
    "piece", ["curl ", "@", "@x", "Cookie: a=1;", "password is ", "pass=", "login a password ", "&a"]
)
def test_long_texts_of_one_sign_take_no_long_time(piece: str) -> None:
    started = time.perf_counter()
    scrubbed("password=http://a:" + piece * (200_000 // len(piece)))
    assert time.perf_counter() - started < 5
