"""Reads a provider's "too long" refusal. Knows nothing of what to do about it.

Only refusals of size count: rate limits (also those that speak of tokens per minute), authentication, servers that
are busy and limits of the *output* never do. Wordings were collected up to 2026-11; `tests/contracts/test_overflow.py`
has one of each, and their look-alikes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from foldmark.wire.plain import plain


class Overflow(msgspec.Struct, frozen=True):
    """The request was too long. `limit` and `size` are what the provider said, None when it gave no number; `unit` is
    bytes when the body (or one text in it), not the token count, was too large."""

    limit: int | None = None
    size: int | None = None
    unit: Literal["tokens", "bytes"] = "tokens"


_N = r"(?P<{}>\d[\d,._]*)"
_LIMIT, _SIZE = _N.format("limit"), _N.format("size")

# Named by who says so; the first match wins. `…` stands for any words.
_WORDINGS: tuple[str, ...] = (
    # Anthropic, also through Bedrock, Vertex and LiteLLM
    "prompt is too long: {SIZE} tokens > {LIMIT} maximum",
    r"exceed context limit: {SIZE} \+ [\d,]+ > {LIMIT}",
    # vLLM: what was asked of the output stands in front of what the prompt holds
    "maximum context length is {LIMIT} tokens…(?:prompt contains|request has) (?:at least )?{SIZE} input tokens",
    # SGLang
    "maximum context length of {LIMIT} tokens…requested a total of {SIZE} tokens",
    "input \\({SIZE} tokens\\) is longer than the model's context length \\({LIMIT} tokens\\)",
    # OpenAI, Azure, DeepSeek, OpenRouter, older vLLM
    "maximum context length (?:is|of) {LIMIT}(?: tokens)?…(?:requested|resulted in|has)(?: about)? {SIZE}",
    "configured limit of {LIMIT} tokens…resulted in {SIZE}",
    # xAI
    "maximum prompt length is {LIMIT} but the request contains {SIZE}",
    # Gemini and Vertex
    r"input token count \(?{SIZE}\)? exceeds the maximum number of tokens allowed \(?{LIMIT}\)?",
    "input token count is {SIZE} but model only supports up to {LIMIT}",
    # Bedrock
    "max input tokens: {LIMIT}, request input token count: {SIZE}",
    "too many input tokens…{SIZE} > {LIMIT}",
    # Mistral
    "prompt contains {SIZE} tokens…too large for model with {LIMIT} maximum context",
    # Fireworks
    "prompt is too long: {SIZE}, model maximum context length: {LIMIT}",
    # Cohere
    "number of tokens…cannot exceed {LIMIT} - received {SIZE}",
    "size limit exceeded by [\\d,]+ tokens…limit for this model is {LIMIT} tokens",
    # GitHub Copilot
    "prompt token count of {SIZE} exceeds the limit of {LIMIT}",
    # Moonshot
    r"exceeded model token limit:? {LIMIT}(?: \(requested: {SIZE}\))?",
    # Cerebras
    "reduce the length of the messages or completion…current length is {SIZE} while limit is {LIMIT}",
    # DashScope (Qwen), iFlytek
    r"range of input length should be \[\d+, {LIMIT}\]",
    # vLLM's engine
    r"prompt \((?:total )?length {SIZE}\) is (?:too long|longer)…(?:length of|length) {LIMIT}",
    # llama.cpp, and servers built on it
    r"request \({SIZE} tokens\) exceeds the available context size \({LIMIT} tokens\)",
    'exceeds the available context size…"n_prompt_tokens": {SIZE}, "n_ctx": {LIMIT}',
    r"exceeds the available context size \({LIMIT} tokens\)",
    "prompt has {SIZE} tokens?, but the configured context size is {LIMIT} tokens",
    # LM Studio
    "keep the first {SIZE} tokens when…context length of only {LIMIT} tokens",
    # text-generation-inference and Together
    r"must be <= {LIMIT}\. given: {SIZE}",
    r"must have less than {LIMIT} tokens\. given: {SIZE}",
    # Workers AI, watsonx
    r"output tokens \({SIZE}\) exceeded this model context window limit \({LIMIT}\)",
    "number of input tokens {SIZE} cannot exceed the total tokens limit {LIMIT}",
    # anybody who names the limit only
    "maximum context length (?:is|of) {LIMIT}",
    "(?:exceed|overflow|too long|larger)…context (?:window|length|limit) (?:is|of) {LIMIT}",
)


def _pattern(wording: str) -> re.Pattern[str]:
    # No request names two sizes a page apart: the bound keeps a long body from being searched again and again.
    return re.compile(wording.replace("{LIMIT}", _LIMIT).replace("{SIZE}", _SIZE).replace("…", ".{0,300}?"), re.DOTALL)


_SIZED = tuple(_pattern(wording) for wording in _WORDINGS)
_UNSIZED = re.compile(
    r"context_length_exceeded|context ?window ?exceeded|context length exceeded|exceeded (?:max )?context length"
    r"|exceeds? (?:the|your|this model's) context (?:window|length)|prompt is too long|input is too long"
    r"|exceeds the available context size|exceed_context_size|exceed context limit|input tokens exceeded"
    r"|context window exceeds limit|context window of this model exceeded|model_context_window_exceeded"
    r"|greater than the context length|input length exceeds the context length|prompt exceeds max length"
    r"|reduce the length of the (?:messages|input|prompt)|too many input tokens|too many tokens:"
)
_BYTES = tuple(
    _pattern(wording)
    for wording in (
        "request payload size exceeds the limit: {LIMIT} bytes",
        "expected maxlength: {LIMIT}, actual: {SIZE}",
        # A text of a megabyte is the conversation; one of 64 characters is an id.
        r"string too long\. expected a string with maximum length (?P<limit>\d{6,}),…string with length {SIZE}",
    )
)
_UNSIZED_BYTES = re.compile(
    r"request_too_large|request entity too large|payload too large|request exceeds the maximum (?:allowed|size)"
    r"|body too large|^413 status code \(no body\)"
)
_OTHER = re.compile(
    r"rate[ _]?limit|per[ _]minute|\btpm\b|\btpd\b|tokens per|per day|quota|too many requests|overloaded|throttl"
    r"|authentication|unauthori[sz]ed|api key|permission"
    # limits of the output: asking for less of it is the answer, not a smaller conversation
    r"|max(?:imum|_completion|_output|_new)?_tokens\W.{0,60}is too large|number of output tokens"
    r"|`?max_tokens`? must be less|at most [\d,]+ completion tokens|maximum tokens you requested"
    r"|range of max_tokens|maxoutputtokens"
)
_OTHER_STATUS = (401, 402, 403, 404, 408, 429, 502, 503, 504, 529)


def overflow(error: Any) -> Overflow | None:
    """What a too-long refusal says, or None when the error is about anything else.

    Takes an SDK exception, a decoded error body, or text.
    """
    if _status(error) in _OTHER_STATUS:
        return None
    text = _words(error).lower()
    if _OTHER.search(text):
        return None
    for pattern in _SIZED:
        if found := pattern.search(text):
            return Overflow(*_numbers(found))
    if _UNSIZED.search(text):
        return Overflow()
    for pattern in _BYTES:
        if found := pattern.search(text):
            return Overflow(*_numbers(found), unit="bytes")
    if _UNSIZED_BYTES.search(text) or _status(error) == 413:
        return Overflow(unit="bytes")
    return None


def _numbers(found: re.Match[str]) -> tuple[int | None, int | None]:
    named = found.groupdict()
    return _whole(named.get("limit")), _whole(named.get("size"))


def _status(error: Any) -> int | None:
    """The HTTP status, wherever SDKs and bodies put it."""
    if isinstance(error, Mapping):
        inner = error.get("error")
        found = [
            error.get("status"),
            error.get("code"),
            inner.get("code") if isinstance(inner, Mapping) else None,
        ]
    else:
        response = getattr(error, "response", None)
        found = [getattr(error, "status_code", None), getattr(error, "code", None)]
        found.append(getattr(response, "status_code", None))
    return next((value for value in found if isinstance(value, int)), None)


def _said(error: Any) -> str:
    """The message of an error; empty for one that cannot say it."""
    try:
        return str(error)
    except Exception:
        return ""


def _words(error: Any) -> str:
    """Everything the error says, as one text: its message, its decoded body, and the name of an exception."""
    error = plain(error)
    if isinstance(error, (bytes, bytearray)):
        return bytes(error).decode("utf-8", "replace")
    if isinstance(error, Mapping):
        return json.dumps(error, ensure_ascii=False, default=str)
    body = getattr(error, "body", None)
    said = [_said(error), json.dumps(body, ensure_ascii=False, default=str) if body is not None else ""]
    named = type(error).__name__ if isinstance(error, BaseException) else ""
    return " ".join(text for text in (*said, named) if text)


_MOST_DIGITS = 15  # no limit is longer, and Python refuses to read 5,000 of them


def _whole(digits: str | None) -> int | None:
    number = re.sub(r"\D", "", digits or "")
    return int(number) if 0 < len(number) <= _MOST_DIGITS else None
