"""Reads a provider's "too long" refusal. Knows nothing of what to do about it.

Only refusals of size count: rate limits (also those that speak of tokens per minute) and authentication
never do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from foldmark.wire.plain import plain


class Overflow(msgspec.Struct, frozen=True):
    """The request was too long. `limit` and `size` are what the provider said, None when it gave no number;
    `unit` is bytes when the body, not the token count, was too large."""

    limit: int | None = None
    size: int | None = None
    unit: Literal["tokens", "bytes"] = "tokens"


_NUMBER = r"([\d][\d,._]*)"

# (pattern, which group is the limit, which is the size). Named by who says so; the first match wins.
_SIZED: tuple[tuple[str, int, int], ...] = (
    # Anthropic
    (rf"prompt is too long: {_NUMBER} tokens > {_NUMBER} maximum", 2, 1),
    (rf"exceed context limit: {_NUMBER} \+ {_NUMBER} > {_NUMBER}", 3, 1),
    # OpenAI, DeepSeek, vLLM, OpenRouter
    (
        rf"maximum context length (?:is|of) {_NUMBER}(?: tokens)?"
        rf".*?(?:requested|resulted in|has)(?: about)? {_NUMBER}",
        1,
        2,
    ),
    (rf"configured limit of {_NUMBER} tokens.*?resulted in {_NUMBER}", 1, 2),
    # xAI
    (rf"maximum prompt length is {_NUMBER} but the request contains {_NUMBER}", 1, 2),
    # Gemini
    (
        rf"input token count \(?{_NUMBER}\)? exceeds the maximum number of tokens allowed \(?{_NUMBER}\)?",
        2,
        1,
    ),
    # Mistral
    (rf"prompt contains {_NUMBER} tokens.*?too large for model with {_NUMBER} maximum context", 2, 1),
    # vLLM and llama.cpp
    (
        rf"prompt \((?:total )?length {_NUMBER}\) is (?:too long|longer).*?(?:length of|length) {_NUMBER}",
        2,
        1,
    ),
    (rf"request \({_NUMBER} tokens\) exceeds the available context size \({_NUMBER} tokens\)", 2, 1),
    # text-generation-inference and Together
    (rf"must be <= {_NUMBER}\. given: {_NUMBER}", 1, 2),
    # Bedrock
    (rf"too many input tokens.*?{_NUMBER} > {_NUMBER}", 2, 1),
)
_LIMITED: tuple[str, ...] = (
    rf"maximum context length (?:is|of) {_NUMBER}",
    rf"exceeded model token limit:? {_NUMBER}",
    rf"exceeds the available context size \({_NUMBER} tokens\)",
    rf"context (?:window|length) (?:is|of) {_NUMBER}",
)
_UNSIZED = re.compile(
    r"context_length_exceeded|exceeds? (?:the|your|this model's) context (?:window|length)|prompt is too long"
    r"|input is too long|maximum context length|context length exceeded|context window (?:of this model )?"
    r"exceeded"
    r"|exceeds the available context size|exceed_context_size|exceed context limit|too many tokens"
    r"|input token count|reduce the length of the messages|model_context_window_exceeded"
)
_BYTES = re.compile(
    r"request_too_large|request entity too large|payload too large|exceeds the maximum size|body too large"
)
_OTHER = re.compile(
    r"rate[ _]limit|per[ _]minute|\btpm\b|\btpd\b|tokens per|per day|quota|too many requests|overloaded"
    r"|authentication|unauthori[sz]ed|api key|permission"
)
_OTHER_STATUS = (401, 403, 404, 429, 529)


def overflow(error: Any) -> Overflow | None:
    """What a too-long refusal says, or None when the error is about anything else.

    Takes an SDK exception, a decoded error body, or text.
    """
    if _status(error) in _OTHER_STATUS:
        return None
    text = _words(error).lower()
    if _OTHER.search(text):
        return None
    for pattern, limit, size in _SIZED:
        if found := re.search(pattern, text, re.DOTALL):
            return Overflow(_whole(found[limit]), _whole(found[size]))
    for pattern in _LIMITED:
        if (found := re.search(pattern, text)) and _UNSIZED.search(text + " context_length_exceeded"):
            return Overflow(_whole(found[1]))
    if _UNSIZED.search(text):
        return Overflow()
    if _BYTES.search(text) or _status(error) == 413:
        return Overflow(unit="bytes")
    return None


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


def _words(error: Any) -> str:
    """Everything the error says, as one text: its message and its decoded body."""
    error = plain(error)
    if isinstance(error, (bytes, bytearray)):
        return bytes(error).decode("utf-8", "replace")
    if isinstance(error, Mapping):
        return json.dumps(error, ensure_ascii=False, default=str)
    body = getattr(error, "body", None)
    return str(error) + (" " + json.dumps(body, ensure_ascii=False, default=str) if body is not None else "")


def _whole(digits: str) -> int | None:
    number = re.sub(r"\D", "", digits)
    return int(number) if number else None
