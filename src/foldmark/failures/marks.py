"""What an exception carries that tells what went wrong: status, code, words, names of classes, headers. Knows nothing
of what they mean, and imports no SDK."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from foldmark.wire.plain import plain

LONGEST = 4_000
"""Characters of what is said that are looked at. Some servers send the whole request back."""

_STATUS_IN_WORDS = re.compile(
    r"\A\W*(?:(?:error code:|http(?: error)?[ /]?(?:1\.1)?|status(?: code)?:?) ?([45]\d\d)\b"
    r"|([45]\d\d) (?:client|server|bad|unauthorized|payment|forbidden|not found|request|too many|internal|gate))",
    re.IGNORECASE,
)
_SPAN = r"\d+(?:\.\d+)?\s?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])\s?"
_WAIT = re.compile(rf"(?:try again|retry|wait)\D{{0,30}}?\s((?:{_SPAN})+)", re.IGNORECASE)
_PIECE = re.compile(r"(\d+(?:\.\d+)?)\s?(ms|milli|s|m|h|d)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """The marks of one error. `code` is every machine-readable word (code, type, status name), lower case; `message` is
    the provider's own sentence, else the exception's text; `names` are the classes, the most special first; `body` is
    the decoded error object."""

    status: int | None = None
    code: str = ""
    message: str = ""
    names: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}
    body: Mapping[str, Any] = {}


def marks_of(error: BaseException) -> Marks:
    """Everything an exception carries about what went wrong."""
    response = getattr(error, "response", None)
    body = _body(error, response)
    message = _text(body.get("message") or body.get("Message")) or _first_text(error)
    return Marks(
        status=_status(error, response, body, message),
        code=_code(error, body),
        message=message[:LONGEST],
        names=tuple(kind.__name__ for kind in type(error).__mro__),
        headers=_headers(response) or _headers(error),
        body=body,
    )


def marks_of_body(body: Any) -> Marks:
    """The marks of an error object that came as an answer."""
    inner = _inner(body)
    return Marks(
        status=_as_status(inner.get("code")) or _as_status(inner.get("status")),
        code=_words_of(inner),
        message=_text(inner.get("message"))[:LONGEST],
        body=inner,
    )


def retry_after(marks: Marks) -> float | None:
    """The seconds that the provider asks to wait: from its headers, its error object, or its words. A date counts from
    the date of the answer, because there is no clock here."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if (seconds := _number(marks.headers.get(name))) is not None:
            return seconds * unit
    if (seconds := _until(marks.headers.get("retry-after"), marks.headers.get("date"))) is not None:
        return seconds
    for detail in _details(marks.body):
        if found := _PIECE.fullmatch(_text(detail.get("retryDelay"))):
            return _sum(found[0])
    found = _WAIT.search(marks.message)
    return _sum(found[1]) if found else None


def _body(error: BaseException, response: Any) -> Mapping[str, Any]:
    """The error object: SDKs decode it; of a bare HTTP error the response still holds it."""
    for place in ("body", "details"):  # openai and anthropic; google-genai
        if isinstance(held := plain(getattr(error, place, None)), Mapping | list):
            return _inner(held)
    if isinstance(response, Mapping):  # botocore
        return _inner(response)
    decode = getattr(response, "json", None)
    try:
        return _inner(decode()) if callable(decode) else {}
    except Exception:  # no JSON, or a stream that was never read: there is nothing to learn from it
        return {}


def _inner(body: Any) -> Mapping[str, Any]:
    """The innermost error object: `{"error": {…}}`, `[{"error": {…}}]`, or the object itself."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error") or body.get("Error")
    if isinstance(inner, Mapping):
        return inner
    return {**body, "message": inner} if isinstance(inner, str) and not body.get("message") else body


def _status(error: BaseException, response: Any, body: Mapping[str, Any], message: str) -> int | None:
    held = [getattr(error, name, None) for name in ("status_code", "http_status", "status", "code")]
    held.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):
        held.append((response.get("ResponseMetadata") or {}).get("HTTPStatusCode"))
    held += [body.get("code"), body.get("status")]
    found = next((status for value in held if (status := _as_status(value)) is not None), None)
    if found is None and (said := _STATUS_IN_WORDS.match(message)):
        return int(said[1] or said[2])
    return found


def _as_status(value: Any) -> int | None:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599 else None


def _code(error: BaseException, body: Mapping[str, Any]) -> str:
    own = [getattr(error, name, None) for name in ("code", "type", "error_code", "status")]
    return " ".join([*(value.lower() for value in own if isinstance(value, str)), _words_of(body)]).strip()


def _words_of(body: Mapping[str, Any]) -> str:
    """The machine-readable words of an error object, lower case."""
    details = body.get("details") or body.get("innererror") or {}
    values = [body.get(name) for name in ("code", "Code", "type", "status", "error_type")]
    if isinstance(details, Mapping):
        values += [details.get("error_code"), details.get("code")]
    return " ".join(value.lower() for value in values if isinstance(value, str))


def _headers(response: Any) -> Mapping[str, str]:
    held = getattr(response, "headers", None)
    if isinstance(response, Mapping):
        held = (response.get("ResponseMetadata") or {}).get("HTTPHeaders")
    try:
        return {str(name).lower(): str(value) for name, value in held.items()} if held is not None else {}
    except Exception:  # headers of an unknown sort
        return {}


def _details(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    held = body.get("details")
    return [detail for detail in held if isinstance(detail, Mapping)] if isinstance(held, list) else []


def _first_text(error: BaseException) -> str:
    try:
        return str(getattr(error, "message", "") or error)
    except Exception:  # an exception whose own text fails still failed for a reason
        return ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _until(date: str | None, now: str | None) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(date or "") - parsedate_to_datetime(now or "")).total_seconds())
    except (TypeError, ValueError):
        return None


def _sum(text: str) -> float:
    """`1m30s`, `6.5s`, `20 seconds`, `250ms` in seconds."""
    return sum(float(number) * _SECONDS[unit.lower()] for number, unit in _PIECE.findall(text))
