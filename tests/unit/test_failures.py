"""What went wrong in a model call, told by the marks of the exception."""

from __future__ import annotations

import asyncio
import concurrent.futures
import socket
import ssl
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldmark.asking import Reply
from foldmark.errors import BudgetExceeded, SummarizerFailed, SummaryRejected
from foldmark.events import Usage
from foldmark.failures import (
    MESSAGE_LIMIT,
    RULES,
    Failure,
    FailureKind,
    ModelFailed,
    failure_in,
    failure_in_reply,
    failure_of,
)


class StatusError(Exception):
    """Stands for an SDK's error: status, decoded body and response beside the words."""

    def __init__(self, status: int, body: Any = None, headers: dict[str, str] | None = None, words: str = "") -> None:
        super().__init__(words or f"Error code: {status}")
        self.status_code, self.body = status, body
        self.response = SimpleNamespace(status_code=status, headers=headers or {})


def said(message: str, code: str | None = None, kind: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "code": code, "type": kind}}


def named(name: str, *, base: type[Exception] = Exception, words: str = "") -> Exception:
    return type(name, (base,), {})(words)


# -- by status and body: (who says it, status, body, kind)
BODIES: list[tuple[str, int, Any, FailureKind]] = [
    ("OpenAI", 400, said("maximum context length is 128000 tokens", "context_length_exceeded"), "too_long"),
    ("OpenAI", 400, said("Invalid schema for response_format 'summary'", None, "invalid_request_error"), "rejected"),
    ("OpenAI", 400, said("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."), "error"),
    ("OpenAI", 401, said("Incorrect API key provided", "invalid_api_key"), "auth"),
    ("OpenAI", 403, said("Country not supported", "unsupported_country_region_territory"), "auth"),
    ("OpenAI", 404, said("The model `gpt-0` does not exist", "model_not_found"), "missing_model"),
    ("OpenAI", 429, said("Rate limit reached for requests", "rate_limit_exceeded", "requests"), "rate_limited"),
    (
        "OpenAI",
        429,
        said("You exceeded your current quota, check your plan and billing", "insufficient_quota"),
        "quota",
    ),
    ("OpenAI", 429, said("Request too large on tokens per min (TPM): Limit 30000, Requested 41000."), "too_long"),
    (
        "OpenAI",
        429,
        said("Rate limit on tokens per min (TPM): Limit 30000, Used 29000, Requested 4100."),
        "rate_limited",
    ),
    ("OpenAI", 500, said("The server had an error while processing your request", None, "server_error"), "overloaded"),
    ("Azure", 404, said("The API deployment does not exist", "DeploymentNotFound"), "missing_model"),
    ("Azure", 400, said("The response was filtered by the content management policy", "content_filter"), "refused"),
    ("Anthropic", 400, said("prompt is too long: 210000 tokens > 200000 maximum"), "too_long"),
    (
        "Anthropic",
        400,
        said("Your credit balance is too low to access the API.", None, "invalid_request_error"),
        "quota",
    ),
    ("Anthropic", 400, said("You have reached your specified API usage limits."), "quota"),
    ("Anthropic", 401, said("invalid x-api-key", None, "authentication_error"), "auth"),
    ("Anthropic", 402, said("Check your payment details", None, "billing_error"), "quota"),
    ("Anthropic", 403, said("Your key may not use this resource", None, "permission_error"), "auth"),
    ("Anthropic", 404, said("model: claude-0", None, "not_found_error"), "missing_model"),
    ("Anthropic", 413, said("Request exceeds the maximum size", None, "request_too_large"), "too_long"),
    ("Anthropic", 429, said("This would exceed your rate limit", None, "rate_limit_error"), "rate_limited"),
    ("Anthropic", 504, said("Timed out", None, "timeout_error"), "timeout"),
    ("Anthropic", 529, said("Overloaded", None, "overloaded_error"), "overloaded"),
    ("Gemini", 400, said("API key not valid. Please pass a valid API key."), "auth"),
    ("Gemini", 429, [said("You exceeded your current quota, check your plan and billing details")], "quota"),
    (
        "Gemini",
        429,
        [{"error": {"message": "You exceeded your current quota", "details": [{"retryDelay": "39s"}]}}],
        "rate_limited",
    ),
    ("OpenRouter", 402, said("This request requires more credits"), "quota"),
    ("OpenRouter", 403, said("Your input was flagged by moderation"), "refused"),
    ("Mistral", 422, {"message": "response_format: json_schema is not available"}, "rejected"),
    ("DashScope", 400, said("Input data may contain inappropriate content", "data_inspection_failed"), "refused"),
    ("Groq", 413, said("Request too large: tokens per minute (TPM): Limit 6000, Requested 8000"), "too_long"),
    ("llama.cpp", 400, said("request (9000 tokens) exceeds the available context size (8192 tokens)"), "too_long"),
    ("llama.cpp", 503, said("Loading model", None, "unavailable_error"), "overloaded"),
    ("Ollama", 404, {"error": "model 'qwen' not found, try pulling it first"}, "missing_model"),
    ("a proxy", 502, "<html>Bad Gateway</html>", "overloaded"),
    ("a proxy", 524, None, "timeout"),
    ("anybody", 408, None, "timeout"),
    ("anybody", 429, None, "rate_limited"),
    ("anybody", 429, "", "rate_limited"),
    ("anybody", 429, {}, "rate_limited"),
    ("anybody", 503, None, "overloaded"),
    ("anybody", 418, None, "error"),
]

# -- by class or words alone
RAISED: list[tuple[BaseException, FailureKind]] = [
    (TimeoutError("no whole answer within 3 s"), "timeout"),
    (named("APITimeoutError", base=type("APIConnectionError", (Exception,), {})), "timeout"),
    (named("ReadTimeout"), "timeout"),
    (named("ConnectTimeout"), "timeout"),
    (named("APIConnectionError"), "network"),
    (named("RemoteProtocolError"), "network"),
    (ConnectionResetError("reset by peer"), "network"),
    (BrokenPipeError(), "network"),
    (socket.gaierror(-2, "Name or service not known"), "network"),
    (ssl.SSLError("certificate verify failed"), "network"),
    (OSError("no route to host"), "network"),
    (named("JSONDecodeError", base=ValueError), "network"),
    (FileNotFoundError("model.gguf"), "missing_model"),
    (ImportError("no llama.cpp"), "missing_model"),
    (named("RateLimitError"), "rate_limited"),
    (named("ServiceUnavailableError"), "overloaded"),
    (named("LengthFinishReasonError"), "cut"),
    (named("ContentFilterFinishReasonError"), "refused"),
    (named("ContextWindowExceededError"), "too_long"),
    (TypeError("Could not resolve authentication method. Expected api_key or auth_token to be set."), "auth"),
    (RuntimeError("429 Too Many Requests"), "rate_limited"),
    (RuntimeError("HTTP 503"), "overloaded"),
    (ValueError("500 items are missing"), "error"),
    (RuntimeError("the billing module has no quota of models"), "error"),
    (SummaryRejected(("an echo of the instructions",)), "rejected"),
    (BudgetExceeded("even the smallest request does not fit"), "too_long"),
    (ModelFailed(Failure("empty", "no words")), "empty"),
    (KeyError("choices"), "error"),
]


@pytest.mark.parametrize(("who", "status", "body", "kind"), BODIES, ids=[f"{b[0]}-{b[1]}-{b[3]}" for b in BODIES])
def test_a_refused_call_is_told_by_its_status_and_body(who: str, status: int, body: Any, kind: FailureKind) -> None:
    assert failure_of(StatusError(status, body)).kind == kind


@pytest.mark.parametrize(("error", "kind"), RAISED, ids=[type(e).__name__ for e, _ in RAISED])
def test_a_call_that_broke_is_told_by_its_exception(error: BaseException, kind: FailureKind) -> None:
    assert failure_of(error).kind == kind


def test_a_bare_http_error_is_told_by_the_body_of_its_response() -> None:
    error = named("HTTPStatusError", words="Client error '400 Bad Request'")
    body = said("prompt is too long: 210000 tokens > 200000 maximum")
    error.response = SimpleNamespace(status_code=400, headers={}, json=lambda: body)  # type: ignore[attr-defined]
    assert failure_of(error) == Failure("too_long", "400: " + body["error"]["message"], limit=200_000)


def test_a_bedrock_error_is_told_by_its_code() -> None:
    error = named("ClientError", words="An error occurred")
    error.response = {  # type: ignore[attr-defined]
        "Error": {"Code": "ThrottlingException", "Message": "Too many requests, slow down"},
        "ResponseMetadata": {"HTTPStatusCode": 400, "HTTPHeaders": {"Retry-After": "7"}},
    }
    assert failure_of(error).kind == "rate_limited"
    assert failure_of(error).retry_after == 7


def test_an_error_that_came_as_an_answer_is_told_by_its_code() -> None:
    assert failure_in({"error": {"code": 429, "message": "slow down"}}).kind == "rate_limited"
    assert failure_in({"error": {"code": 502, "message": "upstream"}}).kind == "overloaded"
    assert failure_in({"error": {"code": 400, "message": "prompt is too long: 9 tokens > 8 maximum"}}).limit == 8


def test_an_answer_without_a_summary_in_it_says_which_failure_it_is() -> None:
    spent = Usage(output=700)
    thought = failure_in_reply(Reply(finish="length", usage=spent, reasoning_tokens=700))
    assert thought == Failure("cut", "cut at 700 output tokens, all of it spent on thinking")
    assert failure_in_reply(Reply(text="half", finish="length", usage=spent)) == Failure(
        "cut", "cut at 700 output tokens"
    )
    for reply, kind in (
        (Reply(text="I cannot", finish="refusal"), "refused"),
        (Reply(text=" \n"), "empty"),
        (Reply(finish="unknown"), "empty"),
    ):
        found = failure_in_reply(reply)
        assert found is not None
        assert found.kind == kind
    assert failure_in_reply(Reply(text="{}")) is None
    assert failure_in_reply(Reply(calls=("bash",), finish="tool_calls")) is None


@pytest.mark.parametrize("status", [401, 402, 403, 408, 429, 500, 502, 503, 504, 529])
@pytest.mark.parametrize("body", [None, "", {}, said("")])
def test_a_refusal_without_words_is_never_too_long(status: int, body: Any) -> None:
    assert failure_of(StatusError(status, body)).kind != "too_long"


def test_the_cause_speaks_when_the_error_on_top_of_it_says_nothing() -> None:
    def wrapped() -> None:
        try:
            raise StatusError(401)
        except StatusError as error:
            raise SummarizerFailed("the model failed", retryable=False) from error

    with pytest.raises(SummarizerFailed) as caught:
        wrapped()
    assert failure_of(caught.value).kind == "auth"
    assert failure_of(ExceptionGroup("tasks", [StatusError(429)])).kind == "rate_limited"


class Interrupted(BaseException):
    pass


STOPS = [KeyboardInterrupt(), SystemExit(), GeneratorExit(), asyncio.CancelledError(), Interrupted()]


@pytest.mark.parametrize("stop", [*STOPS, concurrent.futures.CancelledError()], ids=lambda stop: type(stop).__name__)
def test_an_interruption_is_no_failure_and_goes_on(stop: BaseException) -> None:
    with pytest.raises(type(stop)):
        failure_of(stop)


def test_a_timeout_that_stopped_its_call_is_a_timeout() -> None:
    async def late() -> None:
        async with asyncio.timeout(0.001):
            await asyncio.sleep(5)

    with pytest.raises(TimeoutError) as caught:
        asyncio.run(late())
    assert failure_of(caught.value).kind == "timeout"


def test_an_interruption_in_a_group_goes_on() -> None:
    with pytest.raises(KeyboardInterrupt):
        failure_of(BaseExceptionGroup("tasks", [ValueError("x"), KeyboardInterrupt()]))


# -- waiting


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after": "20"}, "", 20),
        ({"Retry-After": "20"}, "", 20),
        ({"retry-after-ms": "1500", "retry-after": "2"}, "", 1.5),
        ({"retry-after": "Mon, 30 Nov 2026 10:02:00 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, "", 120),
        ({"retry-after": "Mon, 30 Nov 2026 10:02:00 GMT"}, "", None),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "-5"}, "", 0),
        ({}, "Rate limit reached. Please try again in 6.5s. Visit …", 6.5),
        ({}, "Please try again in 1h2m3.5s.", 3_723.5),
        ({}, "Please try again in 250ms.", 0.25),
        ({}, "Please retry after 20 seconds.", 20),
        ({}, "Please retry after 20 messages.", None),
        ({}, "Please try again later.", None),
    ],
)
def test_the_providers_word_on_waiting_is_read(headers: dict[str, str], message: str, seconds: float | None) -> None:
    assert failure_of(StatusError(429, said(message), headers)).retry_after == seconds


# -- the message


def test_a_message_is_one_short_line_with_status_and_code() -> None:
    failure = failure_of(StatusError(429, said("Slow down.\nSecond line " + "x" * 500, "rate_limit_exceeded")))
    assert failure.message == "429 rate_limit_exceeded: Slow down."
    assert len(failure_of(ValueError("x" * 5_000)).message) == MESSAGE_LIMIT


def test_a_message_never_holds_a_key() -> None:
    key = "sk-proj-" + "a1B2c3D4" * 5
    assert key not in failure_of(StatusError(401, said(f"Incorrect API key provided: {key}."))).message


def test_a_message_never_holds_what_was_sent() -> None:
    sent = "The customer lives at Elm Street 12 and pays with the card that was blocked last week."
    echoed = f"messages.0: could not read {sent}"
    assert failure_of(ValueError(echoed), sent).message == "ValueError: messages.0: could not read …"
    answered = ModelFailed(failure_in({"error": {"message": echoed}}))
    assert failure_of(answered, sent).message == "answer: messages.0: could not read …"
    quoted = f"1 validation error: input_value={sent}"
    assert "Elm Street" not in failure_of(ValueError(quoted)).message
    assert "Elm Street" not in failure_of(StatusError(400, said(f"Bad value: '{sent}'"))).message


def test_words_of_the_request_that_an_error_quotes_do_not_decide() -> None:
    quoted = "Could not parse '" + "our billing page says the credit balance is zero and the schema changed" + "'"
    assert failure_of(StatusError(400, said(quoted))).kind == "error"


@given(st.text(max_size=300), st.text(max_size=300))
def test_whatever_an_error_says_there_is_a_failure_with_a_rule_and_one_line(words: str, sent: str) -> None:
    failure = failure_of(RuntimeError(words), sent)
    assert failure.kind in RULES
    assert len(failure.message) <= MESSAGE_LIMIT
    assert len(failure.message.splitlines()) <= 1


KEYS = st.sampled_from(["error", "message", "code", "type", "status", "details", "x"])
ANYTHING = st.recursive(
    st.none() | st.text() | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(st.integers(100, 599), ANYTHING)
def test_whatever_a_body_is_there_is_a_failure(status: int, body: Any) -> None:
    assert failure_of(StatusError(status, body)).kind in RULES


# -- the rules


def test_every_kind_has_a_rule_with_a_sentence() -> None:
    assert set(RULES) == set(get_args(FailureKind))
    assert all(rule.sentence for rule in RULES.values())


def test_the_same_model_is_asked_again_only_where_asking_differently_can_help() -> None:
    assert {kind for kind, rule in RULES.items() if rule.smaller} == {"too_long", "empty", "cut"}
    assert {kind for kind, rule in RULES.items() if rule.plain} == {"rejected"}
    assert all(rule.next_model for rule in RULES.values())


def test_what_a_person_must_mend_rests_longer_than_what_mends_itself() -> None:
    person = {"quota", "auth", "missing_model"}
    longest = max(rule.rest_seconds for kind, rule in RULES.items() if kind not in person)
    assert all(RULES[kind].rest_seconds > longest for kind in person)  # type: ignore[index]
    assert RULES["rate_limited"].rest_seconds >= 60
