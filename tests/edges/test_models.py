"""Models behind the real SDKs, against a fake server inside the process: what is sent, what is read, what is raised."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from foldmark import models
from foldmark.asking import Ask, Reply, as_reply, info_of
from foldmark.errors import PolicyError, WireError
from foldmark.events import Usage, user
from foldmark.failures import FailureKind, ModelFailed, failure_of
from foldmark.models.llama import LocalModel
from foldmark.models.schemas import ANTHROPIC, OPENAI, bound
from foldmark.models.windows import KNOWN, sizes_of

try:
    import openai as openai_sdk
except ImportError:
    openai_sdk = None  # type: ignore[assignment]
try:
    import anthropic as anthropic_sdk
except ImportError:
    anthropic_sdk = None  # type: ignore[assignment]
needs_openai = pytest.mark.skipif(openai_sdk is None, reason="needs pip install 'foldmark[openai]'")
needs_anthropic = pytest.mark.skipif(anthropic_sdk is None, reason="needs pip install 'foldmark[anthropic]'")

ITEM = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 240}, "ref": {"type": "string"}}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"decisions": {"type": "array", "maxItems": 12, "items": {**ITEM, "required": ["text"]}}},
    "required": ["decisions"],
}


def ask(**fields: Any) -> Ask:
    plain: dict[str, Any] = {"system": "You write checkpoints.", "messages": (user("event:1 the tests fail"),)}
    return Ask(model=None, max_output=700, **{**plain, "timeout_seconds": 9.0, **fields})


def http_of(sdk: Any) -> Any:
    """The HTTP library an SDK is built on: httpx, or httpx2 since openai 3 and anthropic 2."""
    names = (kind.__module__.partition(".")[0] for kind in sdk.DefaultHttpxClient.__mro__)
    return sys.modules[next(name for name in names if name.startswith("httpx"))]


class Server:
    """Answers every request with one status and body, and keeps what was sent; `breaks` names the exception of the HTTP
    library that a broken line raises instead."""

    def __init__(
        self, body: Any = None, status: int = 200, headers: dict[str, str] | None = None, breaks: str = ""
    ) -> None:
        self.body, self.status, self.headers, self.breaks = body, status, headers or {}, breaks
        self.sent: list[dict[str, Any]] = []
        self.timeouts: list[Any] = []

    def __call__(self, request: Any) -> Any:
        self.sent.append(json.loads(request.content))
        self.timeouts.append(request.extensions.get("timeout"))
        http = sys.modules[type(request).__module__.partition(".")[0]]
        if self.breaks:
            raise getattr(http, self.breaks)("made up", request=request)
        if isinstance(self.body, str):
            return http.Response(self.status, text=self.body, headers=self.headers)
        return http.Response(self.status, json=self.body, headers=self.headers)

    async def slowly(self, request: Any) -> Any:
        await asyncio.sleep(30)
        return self(request)


def openai_client(server: Any, *, awaited: bool = False) -> Any:
    http = http_of(openai_sdk)
    transport = http.MockTransport(server)
    if awaited:
        return openai_sdk.AsyncOpenAI(api_key="none", http_client=http.AsyncClient(transport=transport))
    return openai_sdk.OpenAI(api_key="none", http_client=http.Client(transport=transport))


def anthropic_client(server: Any, *, awaited: bool = False) -> Any:
    http = http_of(anthropic_sdk)
    transport = http.MockTransport(server)
    if awaited:
        return anthropic_sdk.AsyncAnthropic(api_key="none", http_client=http.AsyncClient(transport=transport))
    return anthropic_sdk.Anthropic(api_key="none", http_client=http.Client(transport=transport))


def completion(content: Any = "{}", finish: Any = "stop", usage: Any = None, **message: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "small-2026",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": usage or {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940},
    }


def message(*blocks: dict[str, Any], stop: str = "end_turn", **usage: Any) -> dict[str, Any]:
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude-small",
        "content": list(blocks) or [{"type": "text", "text": "{}"}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 40, **usage},
    }


def openai_reply(body: dict[str, Any], **options: Any) -> Reply:
    return models.openai(openai_client(Server(body)), "small", **options)(ask())


def anthropic_reply(body: dict[str, Any]) -> Reply:
    return models.anthropic(anthropic_client(Server(body)), "claude-small")(ask())


# -- OpenAI: what is sent


@needs_openai
def test_openai_is_sent_system_and_user_text_only_with_schema_and_limits() -> None:
    server = Server(completion())
    models.openai(openai_client(server), "small", effort="low", extra={"temperature": 0})(ask(schema=SCHEMA))
    [sent] = server.sent
    form = sent.pop("response_format")["json_schema"]
    assert sent == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "You write checkpoints."},
            {"role": "user", "content": "event:1 the tests fail"},
        ],
        "max_completion_tokens": 700,
        "reasoning_effort": "low",
        "temperature": 0,
    }
    assert form["strict"] is True
    assert form["schema"] == bound(SCHEMA, OPENAI, all_required=True)
    assert set(server.timeouts[0].values()) == {9.0}


@needs_openai
def test_without_a_schema_in_the_ask_or_in_the_server_none_is_sent() -> None:
    server = Server(completion())
    models.openai(openai_client(server), "small")(ask())
    models.openai(openai_client(server), "small", schema=False)(ask(schema=SCHEMA))
    assert not [sent for sent in server.sent if "response_format" in sent or "reasoning_effort" in sent]


@needs_openai
def test_a_compatible_server_gets_its_own_field_and_the_schema_as_it_is() -> None:
    server = Server(completion())
    models.openai(openai_client(server), "local", output_field="max_tokens", strict=False)(ask(schema=SCHEMA))
    [sent] = server.sent
    assert sent["max_tokens"] == 700
    assert "max_completion_tokens" not in sent
    assert sent["response_format"]["json_schema"] == {"name": "summary", "schema": SCHEMA}


FORK = {
    "messages": [
        {
            "role": "system",
            "content": [{"type": "text", "text": "Be careful.", "cache_control": {"type": "ephemeral"}}],
        },
        {"role": "user", "content": "Fix it."},
        {"role": "user", "content": "Write the checkpoint."},
    ],
    "model": "big",
    "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}],
    "max_completion_tokens": 8_000,
    "prompt_cache_key": "refund-fix",
    "provider_routing": {"only": ["here"]},
    "stream": True,
    "stream_options": {"include_usage": True},
}


@needs_openai
def test_a_fork_is_sent_as_it_is_except_that_it_does_not_stream() -> None:
    server = Server(completion())
    model = models.openai(openai_client(server), "small", effort="low", extra={"temperature": 0})
    model(ask(mode="fork", wire="openai-chat", body=FORK, schema=SCHEMA))
    assert server.sent == [{key: value for key, value in FORK.items() if not key.startswith("stream")}]
    assert json.dumps(server.sent[0]["messages"]) == json.dumps(FORK["messages"])


@needs_openai
def test_a_fork_for_another_api_is_refused_before_it_is_sent() -> None:
    server = Server(completion())
    with pytest.raises(WireError, match="anthropic"):
        models.openai(openai_client(server), "small")(ask(mode="fork", wire="anthropic", body=FORK))
    assert not server.sent


# -- OpenAI: what is read


@needs_openai
def test_openai_usage_and_the_answering_model_are_read() -> None:
    usage = {
        "prompt_tokens": 900,
        "completion_tokens": 400,
        "total_tokens": 1_300,
        "prompt_tokens_details": {"cached_tokens": 512, "cache_write_tokens": 128},
        "completion_tokens_details": {"reasoning_tokens": 320},
    }
    reply = openai_reply(completion('{"decisions": []}', usage=usage))
    assert reply == Reply(
        text='{"decisions": []}',
        usage=Usage(input=900, output=400, cache_read=512, cache_write=128),
        reasoning_tokens=320,
        model="small-2026",
    )


@needs_openai
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("body", "finish", "text", "calls"),
    [
        (completion("half", "length"), "length", "half", ()),
        (completion("", "content_filter"), "refusal", "", ()),
        (completion(None, "stop", refusal="I cannot help with that."), "refusal", "I cannot help with that.", ()),
        (completion("odd", "model_length"), "length", "odd", ()),
        (completion("odd", "whatever"), "unknown", "odd", ()),
        (completion([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]), "stop", "yes", ()),
        (
            completion(None, "tool_calls", tool_calls=[{"id": "x", "type": "function", "function": {"name": "bash"}}]),
            "tool_calls",
            "",
            ("bash",),
        ),
        (
            completion(None, "function_call", function_call={"name": "old", "arguments": "{}"}),
            "tool_calls",
            "",
            ("old",),
        ),
        ({**completion(), "choices": []}, "unknown", "", ()),
    ],
)
def test_openai_says_why_it_stopped(body: dict[str, Any], finish: str, text: str, calls: tuple[str, ...]) -> None:
    reply = openai_reply(body)
    assert (reply.finish, reply.text, reply.calls) == (finish, text, calls)


@needs_openai
def test_a_model_that_only_thought_is_told_apart_from_one_that_said_nothing() -> None:
    thought = {"completion_tokens_details": {"reasoning_tokens": 700}}
    usage = {"prompt_tokens": 900, "completion_tokens": 700, "total_tokens": 1_600}
    counted = openai_reply(completion("", "length", usage={**usage, **thought}))
    uncounted = openai_reply(completion("", "length", usage=usage, reasoning_content="First, let me see"))
    silent = openai_reply(completion("", "stop", usage=usage))
    assert (counted.finish, counted.text, counted.reasoning_tokens) == ("length", "", 700)
    assert (uncounted.finish, uncounted.text, uncounted.reasoning_tokens) == ("length", "", 700)
    assert (silent.finish, silent.text, silent.reasoning_tokens) == ("stop", "", 0)


@needs_openai
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"code": 429, "message": "Provider returned error"}}, "rate_limited"),
        ({"error": {"code": 402, "message": "Requires more credits"}}, "quota"),
        ({**completion(), "choices": [{"index": 0, "error": {"code": 502, "message": "upstream"}}]}, "overloaded"),
    ],
)
def test_an_error_with_status_200_is_an_error(body: dict[str, Any], kind: FailureKind) -> None:
    with pytest.raises(ModelFailed) as caught:
        openai_reply(body)
    assert failure_of(caught.value).kind == kind


# -- what the SDKs raise

ERRORS: list[tuple[int, Any, FailureKind]] = [
    (400, {"message": "maximum context length is 128000 tokens, you requested 130001", "code": "x"}, "too_long"),
    (400, {"message": "Invalid schema for response_format 'summary'"}, "rejected"),
    (401, {"message": "Incorrect API key provided", "code": "invalid_api_key"}, "auth"),
    (402, {"message": "Pay first"}, "quota"),
    (403, {"message": "Not allowed"}, "auth"),
    (404, {"message": "The model does not exist", "code": "model_not_found"}, "missing_model"),
    (408, {"message": "Too slow"}, "timeout"),
    (413, {"message": "Request too large"}, "too_long"),
    (429, {"message": "Slow down", "type": "rate_limit_error"}, "rate_limited"),
    (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, "quota"),
    (429, None, "rate_limited"),
    (500, {"message": "Oh no"}, "overloaded"),
    (502, None, "overloaded"),
    (503, {"message": "Busy"}, "overloaded"),
    (504, {"message": "Too slow", "type": "timeout_error"}, "timeout"),
    (529, {"message": "Overloaded", "type": "overloaded_error"}, "overloaded"),
]
IDS = [f"{status}-{kind}" for status, _, kind in ERRORS]


def raised(call: Callable[[], Any]) -> BaseException:
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


@needs_openai
@pytest.mark.parametrize(("status", "error", "kind"), ERRORS, ids=IDS)
def test_what_openai_raises_has_its_kind_and_is_tried_once(status: int, error: Any, kind: FailureKind) -> None:
    server = Server({"error": error} if error else "", status, {"retry-after": "17"})
    failure = failure_of(raised(lambda: models.openai(openai_client(server), "small")(ask())))
    assert failure.kind == kind
    assert len(server.sent) == 1
    assert kind != "rate_limited" or failure.retry_after == 17


@needs_anthropic
@pytest.mark.parametrize(("status", "error", "kind"), ERRORS, ids=IDS)
def test_what_anthropic_raises_has_its_kind_and_is_tried_once(status: int, error: Any, kind: FailureKind) -> None:
    server = Server({"type": "error", "error": error} if error else "", status, {"retry-after": "17"})
    failure = failure_of(raised(lambda: models.anthropic(anthropic_client(server), "claude-small")(ask())))
    assert failure.kind == kind
    assert len(server.sent) == 1
    assert kind != "rate_limited" or failure.retry_after == 17


LINES = [
    ("ReadTimeout", "timeout"),
    ("ConnectTimeout", "timeout"),
    ("ConnectError", "network"),
    ("ReadError", "network"),
]


@needs_openai
@needs_anthropic
@pytest.mark.parametrize(("name", "kind"), LINES)
def test_a_broken_line_is_told_from_a_slow_one(name: str, kind: FailureKind) -> None:
    server = Server(breaks=name)
    assert failure_of(raised(lambda: models.openai(openai_client(server), "small")(ask()))).kind == kind
    assert failure_of(raised(lambda: models.anthropic(anthropic_client(server), "claude")(ask()))).kind == kind
    assert len(server.sent) == 2


@needs_openai
def test_a_page_instead_of_json_is_no_answer() -> None:
    client = openai_client(Server("<html>Sign in to the network</html>", headers={"content-type": "text/html"}))
    assert failure_of(raised(lambda: models.openai(client, "small")(ask()))).kind in ("network", "error")


# -- Anthropic

WORDS = {"role": "user", "content": [{"type": "text", "text": "event:1 the tests fail"}]}


@needs_anthropic
def test_anthropic_is_sent_system_and_user_text_only_with_schema_and_limits() -> None:
    server = Server(message())
    model = models.anthropic(anthropic_client(server), "claude-small", effort="low")
    assert info_of(model).schema
    model(ask(schema=SCHEMA))
    form = {"type": "json_schema", "schema": bound(SCHEMA, ANTHROPIC)}
    assert server.sent == [
        {
            "model": "claude-small",
            "system": "You write checkpoints.",
            "messages": [WORDS],
            "max_tokens": 700,
            "output_config": {"effort": "low", "format": form},
        }
    ]
    assert set(server.timeouts[0].values()) == {9.0}


def test_an_sdk_without_structured_output_is_asked_for_plain_text() -> None:
    asked: list[dict[str, Any]] = []

    def create(*, model: str, max_tokens: int, messages: Any, system: str, timeout: float) -> dict[str, Any]:
        asked.append({"messages": messages, "timeout": timeout})
        return message()

    model = models.anthropic(SimpleNamespace(messages=SimpleNamespace(create=create)), "claude-old")
    assert not info_of(model).schema
    assert model(ask(schema=SCHEMA)).text == "{}"
    assert asked == [{"messages": [WORDS], "timeout": 9.0}]


@needs_anthropic
def test_an_anthropic_fork_keeps_its_cache_marks_and_tools() -> None:
    server = Server(message())
    body = {
        "model": "claude-big",
        "system": [{"type": "text", "text": "Be careful.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Fix it."}]}],
        "max_tokens": 8_000,
        "thinking": {"type": "enabled", "budget_tokens": 2_000},
    }
    model = models.anthropic(anthropic_client(server), "claude-small", effort="low")
    model(ask(mode="fork", wire="anthropic", body=body, schema=SCHEMA))
    assert server.sent == [body]


@needs_anthropic
def test_anthropic_usage_counts_the_whole_prompt() -> None:
    reply = anthropic_reply(
        message(
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "yes"},
            cache_read_input_tokens=800,
            cache_creation_input_tokens=50,
            output_tokens_details={"thinking_tokens": 30},
        )
    )
    assert reply == Reply(
        text="yes",
        usage=Usage(input=950, output=40, cache_read=800, cache_write=50),
        reasoning_tokens=30,
        model="claude-small",
    )


TOOL_USE = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}


@needs_anthropic
@pytest.mark.parametrize(
    ("body", "finish", "calls"),
    [
        (message(stop="max_tokens"), "length", ()),
        (message(stop="model_context_window_exceeded"), "length", ()),
        (message(stop="refusal"), "refusal", ()),
        (message(TOOL_USE, stop="tool_use"), "tool_calls", ("bash",)),
        (message(stop="stop_sequence"), "stop", ()),
        (message(stop="pause_turn"), "unknown", ()),
    ],
)
def test_anthropic_says_why_it_stopped(body: dict[str, Any], finish: str, calls: tuple[str, ...]) -> None:
    reply = anthropic_reply(body)
    assert (reply.finish, reply.calls) == (finish, calls)


@needs_anthropic
def test_anthropic_that_only_thought_says_so() -> None:
    reply = anthropic_reply(message({"type": "thinking", "thinking": "hm", "signature": "s"}, stop="max_tokens"))
    assert (reply.text, reply.finish, reply.reasoning_tokens) == ("", "length", 40)


# -- awaited


@needs_openai
@needs_anthropic
def test_an_async_client_gives_an_async_model_that_sends_and_reads_the_same() -> None:
    chat, claude = Server(completion("one")), Server(message({"type": "text", "text": "two"}))

    async def both() -> tuple[Reply, Reply]:
        first = models.openai(openai_client(chat, awaited=True), "small")
        second = models.anthropic(anthropic_client(claude, awaited=True), "claude-small")
        assert isinstance(first, models.AsyncModel)
        assert isinstance(second, models.AsyncModel)
        return await first(ask(schema=SCHEMA)), await second(ask(schema=SCHEMA))

    one, two = asyncio.run(both())
    assert (one.text, two.text) == ("one", "two")
    waiting = Server(completion("one"))
    same = models.openai(openai_client(waiting), "small")(ask(schema=SCHEMA))
    assert same == one
    assert waiting.sent == chat.sent


@needs_openai
def test_an_async_model_gives_up_when_the_whole_answer_is_not_there_in_time() -> None:
    async def late() -> None:
        model = models.openai(openai_client(Server().slowly, awaited=True), "small")
        await model(ask(timeout_seconds=0.05))

    error = raised(lambda: asyncio.run(late()))
    assert failure_of(error).kind == "timeout"
    assert "0.05 s" in str(error)


@needs_openai
def test_an_async_call_that_is_cancelled_is_cancelled_and_no_failure() -> None:
    async def stopped() -> None:
        model = models.openai(openai_client(Server().slowly, awaited=True), "small")
        task = asyncio.create_task(model(ask()))
        await asyncio.sleep(0.02)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(stopped())


# -- functions


def test_a_function_gets_the_ask_or_one_text_as_it_wants() -> None:
    whole = models.function(lambda asked: Reply(text=asked.system, finish="length"), name="whole", window=32_000)
    text = models.function(str.upper, gets="prompt")
    assert whole(ask()) == Reply(text="You write checkpoints.", finish="length")
    assert text(ask()).text == "YOU WRITE CHECKPOINTS.\n\nEVENT:1 THE TESTS FAIL"
    assert (info_of(whole).name, info_of(whole).window, info_of(whole).schema) == ("whole", 32_000, False)
    assert info_of(text).name == "upper"


def test_an_async_function_is_an_async_model() -> None:
    async def told(prompt: str) -> str:
        return prompt[:3]

    class Told:
        async def __call__(self, asked: Ask) -> str:
            return asked.system[:3]

    for model in (models.function(told, gets="prompt"), models.function(Told())):
        assert isinstance(model, models.AsyncModel)
        assert asyncio.run(model(ask())).text == "You"


def test_what_a_function_raises_is_what_comes_out() -> None:
    def broken(_: Ask) -> str:
        raise ConnectionError("gone")

    assert failure_of(raised(lambda: models.function(broken)(ask()))).kind == "network"


def test_a_function_of_plain_text_refuses_a_fork() -> None:
    with pytest.raises(WireError, match="standalone"):
        models.function(str.upper, gets="prompt")(ask(mode="fork", body=FORK))


def test_a_function_that_returns_no_text_is_refused_with_the_next_move() -> None:
    with pytest.raises(TypeError, match="return text or"):
        models.function(lambda _: 7)(ask())


# -- a local model


class Llama:
    """llama.cpp as its Python binding behaves: pieces go to a callback, True stops them, errors of it are swallowed."""

    def __init__(self, *pieces: Any) -> None:
        self.pieces, self.asked, self.given = pieces, [], 0

    def handle_chat_completions(self, body: dict[str, Any], take: Callable[[Any], bool]) -> None:
        self.asked.append(body)
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            self.given += 1
            if take(piece):
                return


def piece(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": finish, "delta": delta}], "model": "/somewhere/model.gguf"}


END = {
    "choices": [],
    "usage": {"prompt_tokens": 20, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}},
}


def local(llama: Llama) -> LocalModel:
    model = models.gguf("somewhere/model.gguf", window=4_096)
    model._start = lambda: llama
    return model


def test_a_local_answer_is_put_together_from_its_pieces() -> None:
    llama = Llama(
        piece(role="assistant", content=None), piece(content='{"a"'), piece(content=": 1}"), piece("stop"), END
    )
    reply = local(llama)(ask(schema=SCHEMA))
    usage = Usage(input=20, output=4, cache_read=5)
    assert reply == Reply(text='{"a": 1}', usage=usage, finish="stop", model="model.gguf")
    [sent] = llama.asked
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert (sent["max_tokens"], sent["temperature"], sent["stream"]) == (700, 0, True)


def test_a_local_model_that_only_thought_or_called_a_tool_says_so() -> None:
    thought = local(Llama(piece(reasoning_content="hm"), piece("length"), END))(ask())
    assert (thought.text, thought.finish, thought.reasoning_tokens) == ("", "length", 4)
    call = {"index": 0, "function": {"name": "bash", "arguments": ""}}
    more = {"index": 0, "function": {"arguments": "{}"}}
    called = local(Llama(piece(tool_calls=[call]), piece(tool_calls=[more]), piece("tool_calls"), END))(ask())
    assert (called.finish, called.calls) == ("tool_calls", ("bash",))


def test_a_local_call_is_stopped_at_its_time() -> None:
    llama = Llama(*[piece(content="on and on ")] * 50)
    error = raised(lambda: local(llama)(ask(timeout_seconds=0.0)))
    assert failure_of(error).kind == "timeout"
    assert llama.given == 1


class Interrupting(dict[str, Any]):
    def get(self, *_: Any) -> Any:
        raise KeyboardInterrupt


def test_an_interruption_of_a_local_call_stops_it_and_is_not_lost() -> None:
    llama = Llama(Interrupting(), piece(content="more"))
    with pytest.raises(KeyboardInterrupt):
        local(llama)(ask())
    assert llama.given == 1


def test_a_local_model_that_is_busy_too_long_is_a_timeout() -> None:
    model = local(Llama(piece("stop"), END))
    with model._turn:
        error = raised(lambda: model(ask(timeout_seconds=0.01)))
    assert failure_of(error).kind == "timeout"
    assert model(ask()).finish == "stop"


TOO_LONG = "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it"


@pytest.mark.parametrize(
    ("piece", "kind"),
    [
        ({"error": {"code": 400, "message": TOO_LONG}}, "too_long"),
        (ValueError("JSON schema error at #: unrecognized type"), "rejected"),
        ("no object", "error"),
    ],
)
def test_what_llama_refuses_has_its_kind(piece: Any, kind: FailureKind) -> None:
    assert failure_of(raised(lambda: local(Llama(piece))(ask()))).kind == kind


def test_a_missing_file_is_a_missing_model() -> None:
    failure = failure_of(raised(lambda: models.gguf("nowhere/model.gguf")(ask())))
    assert failure.kind == "missing_model"
    assert "nowhere/model.gguf" in failure.message


def test_a_closed_local_model_is_loaded_again_when_it_is_asked() -> None:
    loaded: list[Llama] = []

    def start() -> Llama:
        loaded.append(Llama(piece(content="yes"), piece("stop"), END))
        return loaded[-1]

    with models.gguf("somewhere/model.gguf") as model:
        model._start = start
        assert [model(ask()).text, model(ask()).text, len(loaded)] == ["yes", "yes", 1]
    assert [model(ask()).text, len(loaded)] == ["yes", 2]


def a_model_file() -> Path:
    """The file that FOLDMARK_GGUF names, or a skip that says so."""
    pytest.importorskip("xllamacpp", reason="needs pip install 'foldmark[gguf]'")
    file = Path(os.environ.get("FOLDMARK_GGUF", "no file"))
    if not file.is_file():
        pytest.skip("set FOLDMARK_GGUF to a .gguf file to ask a real local model")
    return file


@pytest.mark.data
def test_a_real_local_model_answers_bound_to_a_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"colours": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 20}}},
        "required": ["colours"],
        "additionalProperties": False,
    }
    asked = ask(system="Answer in JSON.", messages=(user("Name three colours."),), schema=schema)
    with models.gguf(a_model_file(), window=2_048, threads=2) as model:
        reply = model(msgspec.structs.replace(asked, timeout_seconds=400))
        assert reply.finish == "stop"
        assert len(json.loads(reply.text)["colours"]) <= 3
        assert reply.usage.input > 10
        late = msgspec.structs.replace(asked, messages=(user("word " * 1_200),), timeout_seconds=0.2)
        assert failure_of(raised(lambda: model(late))).kind == "timeout"
        long = msgspec.structs.replace(asked, messages=(user("word " * 4_000),))
        failure = failure_of(raised(lambda: model(long)))
    assert (failure.kind, failure.limit) == ("too_long", 2_048)


# -- schemas


def test_what_a_provider_does_not_enforce_stands_in_the_description() -> None:
    item = {**ITEM["properties"]["text"], "description": "What was decided."}  # type: ignore[index]
    assert bound(item, OPENAI) == {"type": "string", "description": "What was decided. (maxLength: 240)"}
    assert bound(SCHEMA, ANTHROPIC)["properties"]["decisions"]["description"] == "(maxItems: 12)"
    assert bound(SCHEMA, OPENAI)["properties"]["decisions"]["maxItems"] == 12


def test_every_object_is_closed_and_in_strict_mode_every_property_required() -> None:
    item = bound(SCHEMA, OPENAI, all_required=True)["properties"]["decisions"]["items"]
    assert item["additionalProperties"] is False
    assert item["required"] == ["text", "ref"]
    assert bound(SCHEMA, ANTHROPIC)["properties"]["decisions"]["items"]["required"] == ["text"]


# -- imports


def test_no_sdk_is_loaded_before_it_is_used() -> None:
    names = "('openai', 'anthropic', 'xllamacpp')"
    code = f"import sys, foldmark, foldmark.models; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_plain_answer_is_a_reply() -> None:
    assert as_reply({"text": "yes"}) == Reply(text="yes")


def client() -> Any:
    """Looks like a client of either SDK, and is never called."""
    called = SimpleNamespace(create=lambda **fields: pytest.fail(str(fields)))
    return SimpleNamespace(messages=called, chat=SimpleNamespace(completions=called))


@pytest.mark.parametrize(
    ("name", "window", "output"),
    [
        ("gpt-5-mini", 400_000, 128_000),
        ("gpt-5-mini-2025-08-07", 400_000, 128_000),
        ("openai/gpt-5-mini", 400_000, 128_000),
        ("gpt-5.4", 1_050_000, 128_000),
        ("gpt-5.4-mini", 400_000, 128_000),
        ("gpt-4o-2024-08-06", 128_000, 16_384),
        ("gpt-4.1-nano", 1_047_576, 32_768),
        ("o3-mini", 200_000, 100_000),
        ("gpt-5-mini-next", 8_192, 0),
        ("gpt-5-chat-latest", 8_192, 0),
        ("gpt-4o-audio-preview", 8_192, 0),
        ("somewhere/gpt-5-mini", 8_192, 0),
        ("qwen", 8_192, 0),
    ],
)
def test_the_window_of_an_openai_model_is_known_by_its_name_and_never_guessed(
    name: str, window: int, output: int
) -> None:
    info = info_of(models.openai(client(), name))
    assert (info.window, info.output) == (window, output)
    assert info_of(models.openai(client(), name, window=32_768)).window == 32_768


@pytest.mark.parametrize(
    ("name", "window", "output"),
    [
        ("claude-haiku-4-5", 200_000, 64_000),
        ("claude-haiku-4-5-20251001", 200_000, 64_000),
        ("claude-haiku-5-5", 1_000_000, 128_000),
        ("us.anthropic.claude-opus-4-8", 1_000_000, 128_000),
        ("claude-sonnet-4.6", 1_000_000, 64_000),
        ("claude-sonnet-4-5-20250929", 200_000, 64_000),
        ("claude-next", 200_000, 0),
    ],
)
def test_the_window_of_a_claude_model_is_known_by_its_name(name: str, window: int, output: int) -> None:
    info = info_of(models.anthropic(client(), name))
    assert (info.window, info.output) == (window, output)
    assert info_of(models.anthropic(client(), name, window=9_000)).window == 9_000


@pytest.mark.parametrize("window", [0, -1, "8192", 8_192.5, float("nan"), True])
def test_a_window_that_is_none_is_refused(window: Any) -> None:
    for maker in (models.openai, models.anthropic):
        with pytest.raises(PolicyError, match=r"window of m is .*; it takes a whole number"):
            maker(client(), "m", window=window)


def test_every_known_size_makes_sense_and_is_found_by_its_own_name() -> None:
    for name, sizes in KNOWN.items():
        assert sizes_of(name) == sizes
        assert 0 < sizes.output <= sizes.window
