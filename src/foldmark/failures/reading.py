"""From an exception to a kind of failure. Knows nothing of what is done about it."""

from __future__ import annotations

import re
from typing import get_args

import msgspec

from foldmark.asking import Reply
from foldmark.errors import BudgetExceeded, SummaryRejected
from foldmark.failures.marks import Marks, marks_of, marks_of_body, retry_after
from foldmark.failures.rules import MESSAGE_LIMIT, Failure, FailureKind, ModelFailed
from foldmark.redact import redactor
from foldmark.wire import Overflow, overflow

KINDS: tuple[FailureKind, ...] = get_args(FailureKind)

# Machine-readable words first: they mean the same under every status.
_CODES: tuple[tuple[FailureKind, str], ...] = (
    ("quota", r"insufficient_quota|insufficient_balance|billing|payment_required|credits?_exhausted|quota_?exceeded"),
    ("missing_model", r"model_not_found|deploymentnotfound|model_not_available|model_decommissioned"),
    ("auth", r"invalid_api_key|authentication_error|invalid_authentication|unauthenticated|accessdenied"),
    ("refused", r"content_filter|content_policy|responsibleaipolicy|data_inspection_failed|content_blocked"),
    ("overloaded", r"overloaded|engine_overloaded|server_is_busy|slow_down"),
    ("rate_limited", r"rate_limit|throttl|too_?many_?requests"),
    ("timeout", r"timeout_error|deadline_exceeded|gateway_timeout"),
)
_STATUS: dict[int, FailureKind] = {
    **{401: "auth", 402: "quota", 403: "auth", 404: "missing_model", 410: "missing_model", 429: "rate_limited"},
    **{408: "timeout", 504: "timeout", 522: "timeout", 524: "timeout", 499: "network", 409: "overloaded"},
    **{413: "too_long", 425: "overloaded", 501: "error"},
}
# What providers say in words only, and under which status they are believed: a 400 quotes what was sent, so its words
# are the last thing that is asked.
_WORDS: dict[int, tuple[tuple[FailureKind, str], ...]] = {
    400: (
        ("quota", r"credit balance|usage limits?\b|billing"),
        ("auth", r"api key not valid|invalid api key|incorrect api key"),
        (
            "missing_model",
            r"model\b.{0,80}(?:does not exist|not found|is not a valid)|(?:no such|unknown|invalid) model",
        ),
        ("refused", r"content (?:management|filter)|usage polic|safety system|flagged|inappropriate"),
        # The schema is what another wording can do without.
        ("rejected", r"response_format|json_schema|output_(?:config|format)|structured output|grammar|\bschema\b"),
    ),
    403: (("quota", r"quota|billing|credit|balance"), ("refused", r"flagged|moderation|content polic")),
    429: (
        ("overloaded", r"overloaded|over capacity|server is busy"),
        ("quota", r"current quota|billing|credit balance|insufficient balance|no credits?\b|out of credits?"),
    ),
    503: (("missing_model", r"no (?:such )?model|model\b.{0,60}not found"),),
}
_WORDS[422] = _WORDS[400]
# Names of classes, of the SDKs and of the standard library, the most special first.
_NAMES: tuple[tuple[FailureKind, str], ...] = (
    ("timeout", r"Timeout|TimedOut|DeadlineExceeded"),
    ("rate_limited", r"RateLimit|Throttl|TooManyRequests|ResourceExhausted"),
    ("auth", r"Authentication|PermissionDenied|Unauthorized|Credentials|OAuthError"),
    ("refused", r"ContentFilter|ContentPolicy|BlockedPrompt|StopCandidate"),
    ("cut", r"LengthFinishReason|IncompleteOutput|MaxTokens"),
    ("overloaded", r"Overloaded|ServiceUnavailable|InternalServer"),
    # A body that is no JSON is a page of a proxy on the way.
    ("network", r"ResponseValidation|JSONDecode|Connect|Network|Protocol|ReadError|WriteError|ProxyError|SSL|gaierror"),
    ("missing_model", r"^(?:Import|FileNotFound|IsADirectory)Error$"),
    ("error", r"^PermissionError$"),
    ("network", r"^OSError$"),
)
_UNKNOWN_KEY = re.compile(
    r"resolve authentication method|api_key client option must be set|missing credentials", re.IGNORECASE
)
_OVER_THE_MINUTE = re.compile(r"too large.{0,200}?\blimit:? ([\d,]+),? requested:? ([\d,]+)", re.IGNORECASE | re.DOTALL)
"""A single request above what may be sent in a minute: waiting never helps, a smaller one does (OpenAI says it with
429, Groq with 413)."""
_QUOTED = re.compile(r"(['\"`]).{40,}?\1|\[[^\]]{60,}\]|\{[^}]{60,}\}|input_value=.*", re.DOTALL)
_OVERLAP = 24
_redact = redactor(b"foldmark.failures")


def failure_of(error: BaseException, sent: str = "") -> Failure:
    """What went wrong in a model call. `sent` is the text of the request: no run of it stands in the message.

    An interruption is no failure (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError and the like):
    it is raised again, because whoever is told to stop must stop.
    """
    found = [_failure(one, sent) for one in _line(error)]
    return next((failure for failure in found if failure.kind != "error"), found[0])


def _line(error: BaseException) -> list[BaseException]:
    """The error and what it was raised from, at most five; a group stands for its first error. Raises what is no
    Exception."""
    found: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and len(found) < 5:
        if isinstance(at, BaseExceptionGroup):
            stop = at.subgroup(lambda one: not isinstance(one, Exception) and not isinstance(one, BaseExceptionGroup))
            at = stop.exceptions[0] if stop else at.exceptions[0]
            continue
        if not isinstance(at, Exception) or type(at).__name__ == "CancelledError":
            if found:  # a cause that was stopped is how a timeout works: the timeout is what happened
                break
            raise at
        found.append(at)
        at = at.__cause__
    return found


def failure_in(body: object, sent: str = "") -> Failure:
    """What an error object says that came as an answer (`{"error": {"code": 429, "message": …}}`)."""
    marks = marks_of_body(body)
    return _judged(marks, _message("answer", marks, sent), overflow({**marks.body, "status": marks.status}))


def failure_in_reply(reply: Reply) -> Failure | None:
    """What an answer is that came and holds no summary: cut, refused, or empty. None: its words can be read."""
    if reply.finish == "refusal":
        return Failure("refused", "the model would not answer")
    if reply.finish == "length":
        spent = "" if reply.text.strip() or not reply.reasoning_tokens else ", all of it spent on thinking"
        return Failure("cut", f"cut at {reply.usage.output} output tokens{spent}")
    if not reply.text.strip() and not reply.calls:
        return Failure("empty", "it answered without a word")
    return None


def _failure(error: BaseException, sent: str) -> Failure:
    if isinstance(error, ModelFailed):
        return msgspec.structs.replace(error.failure, message=_unsaid(error.failure.message, sent))
    marks = marks_of(error)
    message = _message(type(error).__name__, marks, sent)
    if isinstance(error, SummaryRejected):
        kind = getattr(error, "kind", "rejected")
        return Failure(kind if kind in KINDS else "rejected", message)
    if isinstance(error, BudgetExceeded):
        return Failure("too_long", message)
    # A bare HTTP error says nothing itself; its response does.
    over = overflow(error) or (overflow({**marks.body, "status": marks.status}) if marks.body else None)
    return _judged(marks, message, over)


def _judged(marks: Marks, message: str, over: Overflow | None) -> Failure:
    if over:
        return Failure("too_long", message, limit=over.limit if over.unit == "tokens" else None)
    if limit := _over_the_minute(marks):
        return Failure("too_long", message, limit=limit)
    return Failure(kind_of(marks), message, retry_after=retry_after(marks))


def kind_of(marks: Marks) -> FailureKind:
    """The kind that an error's marks speak for, size apart."""
    for kind, pattern in _CODES:
        if re.search(pattern, marks.code):
            return kind
    if marks.status is not None and marks.status >= 400:
        words = _QUOTED.sub("…", marks.message)
        for kind, pattern in _WORDS.get(marks.status, ()):
            # Gemini calls its limit per minute a quota as well; a time to wait says which of the two it is.
            if re.search(pattern, words, re.IGNORECASE) and not (kind == "quota" and retry_after(marks)):
                return kind
        return _STATUS.get(marks.status, "overloaded" if marks.status >= 500 else "error")
    for name in marks.names:
        for kind, pattern in _NAMES:
            if re.search(pattern, name):
                return kind
    return "auth" if _UNKNOWN_KEY.search(marks.message) else "error"


def _over_the_minute(marks: Marks) -> int | None:
    """The limit per minute, when this one request is above it."""
    if marks.status not in (413, 429) or not (found := _OVER_THE_MINUTE.search(marks.message)):
        return None
    limit, asked = (int(number.replace(",", "")) for number in found.groups())
    return limit if asked > limit else None


def _message(name: str, marks: Marks, sent: str) -> str:
    """One short line: who says it, and the first line of what is said, without text of the request."""
    said = " ".join(marks.message.strip().partition("\n")[0].split())
    said = _QUOTED.sub("…", _unsaid(_redact(said), sent))
    who = " ".join(str(word) for word in (marks.status, marks.code) if word) or name
    return f"{who}: {said}"[:MESSAGE_LIMIT] if said else who[:MESSAGE_LIMIT]


def _unsaid(said: str, sent: str) -> str:
    """What is said, without runs of what was sent."""
    if not sent:
        return said
    out, at = "", 0
    while at < len(said):
        end = at + _OVERLAP
        if end > len(said) or said[at:end] not in sent:
            out, at = out + said[at], at + 1
            continue
        while end < len(said) and said[at : end + 1] in sent:
            end += 1
        out, at = out + "…", end
    return out
