"""The parent request with one instruction behind it, or why there is none. Knows nothing of sessions, of what the
instruction says, or of how a call is made.

A provider serves a prompt from its cache up to the first difference. A standalone summary request has nothing in common
with the conversation; a fork has all of it, and only the instruction is new. It reads what the running model reads, so
it goes to the running model, at its window.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from foldmark.asking import Ask, ModelInfo
from foldmark.drafts import MESSAGE_OVERHEAD, Request
from foldmark.errors import WireError
from foldmark.events import Event
from foldmark.media_prices import difference
from foldmark.store import Frame
from foldmark.summarizer import Summarizer
from foldmark.tokens import count

_VERSION = re.compile(r"(?:[-@](?:\d{8}|\d{4}-\d\d-\d\d|latest))?(?:-v\d+(?::\d+)?)?\Z")
_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "maxOutputTokens")


def fork_of(
    parent: Request | None, model: Any, summarizer: Summarizer, words: str, *, frame: Frame, window: int | None = None
) -> Ask | str:
    """The request that would go out now, decorated as the caller does it, with `words` behind it; or why there is no
    such request, as a clause without a full stop.

    The parent's limit for the answer stays, or is raised to `limits.output_tokens` (no provider counts it as part of
    the cached prompt). `window` is for a model that runs at a smaller one than the frame says. Nothing is redacted: the
    running model has read it all, and other bytes would miss the cache.
    """
    if parent is None:
        return "there is no parent request"
    if why := _another_model(model, frame) or _unsteady(parent):
        return why
    body = _body(parent, _name_for(model, frame), summarizer, words)
    if isinstance(body, str):
        return body
    limits = summarizer.limits
    output = _room_for_answer(body, limits.output_tokens)
    tokens = parent.tokens.total + MESSAGE_OVERHEAD + count(words)
    if why := _too_large(parent, tokens, output, frame, window):
        return why
    return Ask(
        model=model, mode="fork", wire=parent.wire.NAME, body=body, tokens=tokens, max_output=output,
        timeout_seconds=limits.timeout_seconds,
    )  # fmt: skip


def _body(parent: Request, name: str | None, summarizer: Summarizer, words: str) -> dict[str, Any] | str:
    append = getattr(parent.wire, "append_user", None)
    if append is None:
        return f"the wire {parent.wire.NAME} cannot put an instruction behind a request"
    body = as_sent(parent, name, summarizer)
    if isinstance(body, str):
        return body
    try:
        made: dict[str, Any] = append(body, words)
    except WireError as error:
        return _clause(str(error))
    return made


def as_sent(request: Request, name: str | None, summarizer: Summarizer) -> Mapping[str, Any] | str:
    """The payload of a request as the caller sends it, or why there is none."""
    try:
        body: Any = request.payload(model=name)
    except WireError as error:
        return _clause(f"the parent request is not valid: {error}")
    if summarizer.decorate is None:
        return dict(body)
    try:
        body = summarizer.decorate(body)
    except Exception as error:
        return _clause(f"decorate raised {type(error).__name__}: {error}")
    return body if isinstance(body, Mapping) else f"decorate returned {type(body).__name__}, where it takes a payload"


def _clause(text: str) -> str:
    return text.strip().removesuffix(".")


def _own_name(model: Any) -> str:
    """The name that somebody gave the model; a function's name is none."""
    given = getattr(model, "info", None)
    return given.name if isinstance(given, ModelInfo) and given.name != ModelInfo().name else ""


def _name_for(model: Any, frame: Frame) -> str | None:
    return frame.model or _own_name(model) or None


def _another_model(model: Any, frame: Frame) -> str:
    name = _own_name(model)
    if name and frame.model and _plain_name(name) != _plain_name(frame.model):
        return f"the summary model is {name} and the running one {frame.model}: another model has another cache"
    return ""


def _plain_name(name: str) -> str:
    """A model's name without its gateway (`openai/gpt-5`) and the date of its release."""
    return _VERSION.sub("", name.lower().rpartition("/")[2])


def _unsteady(parent: Request) -> str:
    """Why the parent is no request that goes on from the last one sent, or none that ends where one may ask."""
    last = next((at for at in range(len(parent.messages) - 1, -1, -1) if parent.messages[at].role == "assistant"), -1)
    for event in parent.messages[last + 1 :]:
        if _is_marker(event) and event.result:
            return f"call {event.result.call_id} ({event.result.name}) still waits for its result"
    if parent.report.epoch:
        return f"the next request does not go on from the last one ({parent.report.epoch}), so no cache would be read"
    return ""


def _is_marker(event: Event) -> bool:
    """Whether it stands in the place of a result that was never recorded (`assembly.NO_RESULT`)."""
    return event.role == "tool" and event.origin == "injected" and not event.seq


def _room_for_answer(body: dict[str, Any], least: int) -> int:
    """The most tokens that the answer may take, thinking included; a smaller limit in the body is raised to `least`,
    since an answer that is cut off is of no use."""
    form = body.get("generationConfig")
    for holder in (body, form if isinstance(form, dict) else {}):
        for key in _LIMITS:
            if isinstance(holder.get(key), int):
                holder[key] = max(least, holder[key])
                return int(holder[key])
    return least


def _too_large(parent: Request, tokens: int, output: int, frame: Frame, window: int | None) -> str:
    """The parent fitted below its ceiling with its reserve free; the instruction and a longer answer come on top."""
    needed = tokens + difference(parent.messages, frame.wire, frame.model)
    room = parent.ceiling - max(0, output - parent.reserve)
    if window is not None:
        room = min(room, window - output)
    if needed <= room:
        return ""
    return f"it would not fit: {needed:,} tokens and {output:,} for the answer, where {max(0, room):,} may be sent"
