"""From status, headers and words of a server to the error that says what to do."""

import time
from email.utils import formatdate

import pytest

from contextrot.errors import ContextOverflowError, MissingKeyError, ModelError, RateLimitError, ServerError
from contextrot.models.failures import failure, retry_after


def fail(status, body="", **more):
    return failure(status, body, where="http://h/v1", model="m", **more)


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"Retry-After": "7"}, "", 7),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, "", 0.25),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, "", 360),
        (
            {
                "x-ratelimit-reset-requests": "90s",
                "x-ratelimit-remaining-requests": "12",
                "x-ratelimit-reset-tokens": "850ms",
                "x-ratelimit-remaining-tokens": "0",
            },
            "",
            0.85,
        ),
        ({}, "Please try again in 4.77s. Need more tokens?", 4.77),
        ({}, "Please retry in 1m2s.", 62),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "-3"}, "", 0),
        ({"retry-after": "nan"}, "", None),
        ({}, "slow down", None),
    ],
)
def test_the_servers_wish_to_wait_is_found_wherever_it_says_it(headers, message, seconds):
    assert retry_after(headers, message) == seconds


def test_a_wish_given_as_a_date():
    assert retry_after({"Retry-After": formatdate(time.time() + 30, usegmt=True)}) == pytest.approx(30, abs=2)
    assert retry_after({"Retry-After": formatdate(time.time() - 30, usegmt=True)}) == 0


def test_a_reset_given_as_a_moment_in_milliseconds():
    assert retry_after({"X-RateLimit-Reset": str(int((time.time() + 20) * 1000))}) == pytest.approx(20, abs=2)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (429, "slow down", RateLimitError),
        (413, "Request too large on tokens per minute (TPM): Limit 12000, Used 11000, Requested 4137", RateLimitError),
        (413, "", ContextOverflowError),
        (400, "prompt is too long: 9 tokens > 8 maximum", ContextOverflowError),
        (422, "`inputs` must have less than 2048 tokens. Given: 2222", ContextOverflowError),
        (500, '{"error": {"type": "exceed_context_size_error", "message": "no"}}', ContextOverflowError),
        (500, "boom", ServerError),
        (503, "loading", ServerError),
        (529, "Overloaded", ServerError),
        (408, "", ServerError),
        (401, "no", MissingKeyError),
        (404, "no such model", ModelError),
        (400, "bad temperature", ModelError),
    ],
)
def test_each_status_gets_its_error(status, body, error):
    assert type(fail(status, body)) is error


def test_an_account_without_credit_is_not_asked_again():
    found = fail(429, '{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}')
    assert not found.retryable
    assert "no credit" in str(found)


def test_a_prompt_above_the_minutes_allowance_is_not_asked_again():
    found = fail(429, "Request too large on tokens per min (TPM): Limit 30000, Requested 40000.")
    assert not found.retryable
    assert found.outcome == "error"
    assert "30,000" in str(found)


def test_the_key_is_never_in_the_sentence():
    found = fail(401, "Incorrect API key provided: sk-secret-1.", secret="sk-secret-1", key_hint=" (MY_KEY)")
    assert type(found) is ModelError
    assert "sk-secret-1" not in str(found)
    assert "MY_KEY" in str(found)
