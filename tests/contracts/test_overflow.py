"""Every wire understands every provider's "too long", and takes nothing else for it."""

from __future__ import annotations

from typing import Any

import pytest

from foldmark.wire import WIRES, Overflow, overflow


class RefusedError(Exception):
    """Stands for an SDK error: a status beside the words."""

    def __init__(self, words: str, status_code: int, body: Any = None) -> None:
        super().__init__(words)
        self.status_code, self.body = status_code, body


# Every wording of "too long" that we know, by who says it: (provider, words, limit, size).
TOO_LONG: list[tuple[str, str, int | None, int | None]] = [
    ("Anthropic", "prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
    (
        "Anthropic",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
        200000,
        190000,
    ),
    (
        "OpenAI",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
        128000,
        130001,
    ),
    (
        "OpenAI, older",
        "This model's maximum context length is 8191 tokens, however you requested 10346 tokens (10346 in your prompt; "
        "5 for the completion). Please reduce your prompt; or completion length.",
        8191,
        10346,
    ),
    (
        "OpenAI Responses",
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
        272000,
        300000,
    ),
    ("OpenAI Responses", "Your input exceeds the context window of this model. Please adjust your input.", None, None),
    (
        "Azure",
        "Error code: 400 - {'error': {'message': \"This model's maximum context length is 16385 tokens. However, your "
        "messages resulted in 17000 tokens.\", 'code': 'context_length_exceeded'}}",
        16385,
        17000,
    ),
    ("Bedrock", "ValidationException: Input is too long for requested model.", None, None),
    (
        "Bedrock",
        "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9279",
        8192,
        9279,
    ),
    ("Bedrock", "Input Tokens Exceeded: Number of input tokens exceeds maximum length.", None, None),
    (
        "Gemini",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        1048576,
        1200000,
    ),
    (
        "Vertex",
        "Unable to submit request because the input token count is 1200000 but model only supports up to 1048576.",
        1048576,
        1200000,
    ),
    (
        "Mistral",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        32768,
        40000,
    ),
    (
        "Cohere",
        "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354.",
        2048,
        6354,
    ),
    (
        "Cohere",
        "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs. The limit for this "
        "model is 128000 tokens.",
        128000,
        None,
    ),
    ("Groq", "Please reduce the length of the messages or completion.", None, None),
    (
        "Together",
        "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`",
        8193,
        9000,
    ),
    ("Fireworks", "The prompt is too long: 140000, model maximum context length: 131071", 131071, 140000),
    (
        "DeepSeek",
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (62000 in the "
        "messages, 8000 in the completion).",
        65536,
        70000,
    ),
    ("DashScope", "InternalError.Algo.InvalidParameter: Range of input length should be [1, 202745]", 202745, None),
    ("Moonshot", "Invalid request: Your request exceeded model token limit: 131072", 131072, None),
    (
        "Moonshot",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 270000)",
        262144,
        270000,
    ),
    ("Zhipu", "1261: Prompt exceeds max length", None, None),
    ("Zhipu", "finish reason: model_context_window_exceeded", None, None),
    (
        "xAI",
        "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
        131072,
        150000,
    ),
    (
        "OpenRouter",
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens",
        32768,
        40000,
    ),
    ("vLLM", "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
    (
        "vLLM",
        "This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your "
        "prompt contains at least 134145 input tokens, for a total of at least 262145 tokens.",
        262144,
        134145,
    ),
    (
        "vLLM",
        "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
        4096,
        5000,
    ),
    (
        "llama.cpp",
        "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
        8192,
        9000,
    ),
    ("llama.cpp", "the request exceeds the available context size (8192 tokens)", 8192, None),
    ("llama.cpp", "the request exceeds the available context size. try increasing the context size", None, None),
    ("Ollama", "prompt too long; exceeded max context length by 4 tokens", None, None),
    ("Ollama", "the input length exceeds the context length", None, None),
    (
        "LM Studio",
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        None,
        None,
    ),
    (
        "LM Studio",
        "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context "
        "length of only 4096 tokens, which is not enough.",
        4096,
        9000,
    ),
    ("TGI", "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000", 4096, 5000),
    (
        "SGLang",
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        4096,
        5000,
    ),
    (
        "SGLang",
        "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of "
        "40000 tokens: 38000 tokens from the input messages and 2000 tokens for the completion.",
        32768,
        40000,
    ),
    (
        "LiteLLM",
        "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - prompt is too long: 210000 "
        "tokens > 200000 maximum",
        200000,
        210000,
    ),
    ("LiteLLM", "litellm.ContextWindowExceededError: no deployment takes it", None, None),
    ("Copilot", "prompt token count of 150000 exceeds the limit of 128000", 128000, 150000),
    (
        "Cerebras",
        "Please reduce the length of the messages or completion. Current length is 70000 while limit is 65536",
        65536,
        70000,
    ),
    ("MiniMax", "invalid params, context window exceeds limit (2013)", None, None),
    ("a local server", "Prompt has 32769 tokens, but the configured context size is 32768 tokens", 32768, 32769),
    (
        "Workers AI",
        "The estimated number of input and maximum output tokens (9000) exceeded this model context window limit "
        "(8192)",
        8192,
        9000,
    ),
    (
        "watsonx",
        "the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model",
        4096,
        5000,
    ),
]


@pytest.mark.parametrize(("who", "words", "limit", "size"), TOO_LONG)
def test_a_refusal_for_length_gives_limit_and_size(who: str, words: str, limit: int | None, size: int | None) -> None:
    for wire in WIRES:
        assert wire.overflow(RefusedError(words, 400)) == Overflow(limit, size), who
    assert overflow(RefusedError("", 500, {"error": {"message": words}})) == Overflow(limit, size)
    assert overflow({"error": {"message": words, "type": "invalid_request_error"}}) == Overflow(limit, size)
    assert overflow(words) == Overflow(limit, size)
    assert overflow(RefusedError(words, 429)) is None


class ContextWindowExceededError(Exception):
    """Stands for an SDK whose error says it by its name alone."""


def test_the_name_of_an_exception_is_enough() -> None:
    assert overflow(ContextWindowExceededError("Bad request")) == Overflow()


def test_fields_beside_the_words_are_read_too() -> None:
    error = {"message": "the request exceeds the available context size", "n_prompt_tokens": 9000, "n_ctx": 8192}
    assert overflow(RefusedError("Error code: 400", 400, {"error": error})) == Overflow(8192, 9000)


def test_the_code_in_the_body_is_enough() -> None:
    assert overflow(RefusedError("Error code: 400", 400, {"error": {"code": "context_length_exceeded"}})) == Overflow()


@pytest.mark.parametrize(
    ("error", "limit", "size"),
    [
        (RefusedError("request_too_large: Request exceeds the maximum size", 413), None, None),
        (RefusedError("Request exceeds the maximum allowed number of bytes. The maximum is 32 MB.", 400), None, None),
        (RefusedError("", 413), None, None),
        ("413 status code (no body)", None, None),
        ("413 Request Entity Too Large", None, None),
        ({"error": {"message": "Request payload size exceeds the limit: 20971520 bytes."}}, 20971520, None),
        ("Malformed input request: expected maxLength: 2048000, actual: 2100000", 2048000, 2100000),
        (
            "Invalid 'messages[3].content': string too long. Expected a string with maximum length 10485760, but got a "
            "string with length 12000000 instead.",
            10485760,
            12000000,
        ),
    ],
)
def test_a_body_of_too_many_bytes_is_told_from_too_many_tokens(error: Any, limit: int | None, size: int | None) -> None:
    assert overflow(error) == Overflow(limit, size, unit="bytes")


@pytest.mark.parametrize(
    "error",
    [
        RefusedError("prompt is too long: 210000 tokens > 200000 maximum", 429),
        RefusedError("Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 40000", 413),
        RefusedError("Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000", 413),
        RefusedError("Rate limit reached: maximum context length is 10 tokens", 400),
        RefusedError("", 429),
        RefusedError("invalid x-api-key", 401),
        RefusedError("You exceeded your current quota", 429),
        RefusedError("Overloaded", 529),
        RefusedError("Internal server error", 500),
        RefusedError("upstream connect error: maximum context length is 10", 503),
        RefusedError("gateway timeout", 504),
        RefusedError("ThrottlingException: Too many tokens, please wait before trying again.", 400),
        {"error": {"code": 429, "message": "maximum context length is 10 tokens"}},
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided "
        "100000.",
        "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 8192 "
        "tokens and your request has 1000 input tokens (8000 > 8192 - 1000).",
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for this model",
        "`max_tokens` must be less than or equal to `32768`, the maximum value for `max_tokens` is less than the "
        "`context_window` for this model",
        "The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum tokens value lower",
        "Range of max_tokens should be [1, 8192]",
        "it has a maxOutputTokens value of 100000 but the supported range is from 1 to 65537",
        "Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64, but got a string with "
        "length 452 instead.",
        "messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
        "We could not parse the JSON body of your request.",
        "tool_use ids must be unique",
        "No tool output found for function call call_1.",
        None,
        b"",
    ],
)
def test_rate_limits_limits_of_the_output_and_other_errors_are_no_overflow(error: Any) -> None:
    assert overflow(error) is None


class Mute(Exception):
    """An error that cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_error_that_cannot_be_printed_is_no_refusal_and_no_crash() -> None:
    assert overflow(Mute()) is None


def test_a_number_that_nobody_could_mean_is_no_limit() -> None:
    found = overflow(ValueError("maximum context length is " + "9" * 5_000 + " tokens"))
    assert found is not None
    assert found.limit is None
