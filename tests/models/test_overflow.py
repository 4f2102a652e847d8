# ruff: noqa: E501 (what providers said is data)
"""Overflow in the words of the providers, and the sentences that only sound like it."""

import pytest

from contextrot.models.overflow import error_text, is_overflow

OVERFLOWS = {
    "openai": {
        "error": {
            "message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 "
            "tokens. Please reduce the length of the messages.",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    },
    "openai-words": "This model's maximum context length is 4097 tokens, however you requested 4226 tokens (3970 in your "
    "prompt; 256 for the completion). Please reduce your prompt; or completion length.",
    "openai-responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "openai-configured": "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 "
    "tokens. Please reduce the length of the messages.",
    "openai-characters": "Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760, "
    "but got a string with length 11000000 instead.",
    "azure": {
        "error": {
            "code": "context_length_exceeded",
            "message": "This model's maximum context length is 8192 tokens, however you requested 9000 tokens.",
        }
    },
    "anthropic": {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "prompt is too long: 213462 tokens > 200000 maximum"},
    },
    "anthropic-sum": "input length and `max_tokens` exceed context limit: 199658 + 21333 > 200000, decrease input length or "
    "`max_tokens` and try again",
    "google": {
        "error": {
            "code": 400,
            "message": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
            "status": "INVALID_ARGUMENT",
        }
    },
    "google-without-brackets": "The input token count exceeds the maximum number of tokens allowed 1048576.",
    "mistral": "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "cohere": "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using "
    "a shorter prompt or a smaller max_tokens value.",
    "cohere-chat": "too many tokens: size limit exceeded by 1502 tokens. Try using shorter or fewer inputs, or setting "
    "prompt_truncation='AUTO'.",
    "groq": "Please reduce the length of the messages or completion.",
    "bedrock": "Input is too long for requested model.",
    "bedrock-mantle": "prompt tokens (210000) exceed model maximum (200000)",
    "xai": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "cerebras": "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
    "moonshot": "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)",
    "deepseek": "This model's maximum context length is 131072 tokens. However, you requested 139162 tokens (130970 in the "
    "messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    "openrouter": "This endpoint's maximum context length is 131072 tokens. However, you requested about 132463 tokens (1463 "
    "of text input, 131000 in the output). Please reduce the length of either one.",
    "openrouter-upstream": {
        "error": {
            "message": "Provider returned error",
            "code": 400,
            "metadata": {"raw": '{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}'},
        }
    },
    "vllm": {
        "object": "error",
        "message": "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the "
        "messages, 10000 in the completion). Please reduce the length of the messages or completion. None",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    },
    "vllm-decoder": "The decoder prompt (length 5005) is longer than the maximum model length of 4096. Make sure that "
    "`max_model_len` is no smaller than the number of text tokens.",
    "vllm-total": "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
    "vllm-input-tokens": "This model's maximum context length is 2048 tokens. However, your request has 8 input tokens plus "
    "2045 'max_tokens'. Please reduce one or the other.",
    "vllm-max-tokens": "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is "
    "4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104).",
    "vllm-negative": "max_tokens must be at least 1, got -186.",
    "sglang": "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
    "sglang-requested": "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a "
    "total of 40000 tokens: 39000 tokens from the input messages and 1000 tokens for the completion.",
    "sglang-allowed": "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
    "llama.cpp": {
        "error": {
            "code": 400,
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 1407,
            "n_ctx": 256,
        }
    },
    "llama.cpp-newer": "request (1407 tokens) exceeds the available context size (256 tokens), try increasing it",
    "llama.cpp-shift": "context shift is disabled",
    "llama.cpp-decode": "Context size has been exceeded.",
    "llama-cpp-python": "Requested tokens (2285) exceed context window of 2048",
    "lm-studio": "The number of tokens to keep from the initial prompt is greater than the context length",
    "ollama": "the input length exceeds the context length",
    "ollama-cloud": "prompt too long; exceeded max context length by 512 tokens",
    "together": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2019 `inputs` tokens and "
    "30 `max_new_tokens`",
    "tgi": "Input validation error: `inputs` must have less than 2048 tokens. Given: 2222",
    "copilot": "prompt token count of 70000 exceeds the limit of 64000",
    "github-models": "Request body too large for gpt-4o model. Max size: 8000 tokens.",
    "litellm": "litellm.ContextWindowExceededError: BadRequestError: OpenAIException - too much of it",
}

FALSE_ALARMS = {
    "openai-tpm": "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, "
    "Requested 4000. Please try again in 6s.",
    "openai-tpm-large": {
        "error": {
            "message": "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or "
            "output tokens must be reduced in order to run successfully.",
            "type": "tokens",
            "code": "rate_limit_exceeded",
        }
    },
    "groq-413": "Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier `on_demand` on "
    "tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.",
    "openai-quota": "You exceeded your current quota, please check your plan and billing details.",
    "google-quota": "Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000, model: gemini",
    "anthropic-rate": "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
    "anthropic-output": "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet",
    "openai-output": "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you "
    "provided 100000.",
    "bedrock-throttle": "ThrottlingException: Too many tokens, please wait before trying again.",
    "moonshot-tpd": "request reached organization TPD rate limit, current: 1506556, limit: 1500000",
    "key": "Incorrect API key provided: sk-x. You can find your API key at the provider's site.",
    "user-field": "Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 70.",
    "overloaded": "Overloaded",
    "parameter": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "tool-name": "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64.",
    "fastapi-echo": {
        "detail": [
            {
                "type": "extra_forbidden",
                "msg": "Extra inputs are not permitted",
                "input": {"messages": [{"role": "user", "content": "Why: prompt is too long: 3 tokens > 2 maximum?"}]},
            }
        ]
    },
    "empty": "",
}


@pytest.mark.parametrize("said", OVERFLOWS.values(), ids=OVERFLOWS)
def test_every_providers_words_for_a_prompt_that_is_too_long_are_known(said):
    assert is_overflow(said)


@pytest.mark.parametrize("said", FALSE_ALARMS.values(), ids=FALSE_ALARMS)
def test_limits_on_time_money_and_output_are_not_taken_for_overflow(said):
    assert not is_overflow(said)


def test_a_body_is_read_as_bytes_too():
    assert is_overflow(b'{"error": {"message": "prompt is too long: 3 tokens > 2 maximum"}}')


def test_the_error_text_is_the_sentence_not_the_envelope():
    assert error_text(b'[{"error": {"code": 400, "message": "no", "status": "INVALID"}}]') == "no 400 INVALID"
    assert error_text('{"detail": "gone"}') == "gone"
    assert error_text("<html>bad gateway</html>") == "<html>bad gateway</html>"
