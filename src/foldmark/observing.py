"""What a reply teaches: how its provider counts, what its cache held, what a compaction came to. Knows nothing of where
that is kept.

Pure: state in, state out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from foldmark.budget import with_usage
from foldmark.drafts import Request
from foldmark.events import Event
from foldmark.media_prices import difference
from foldmark.prices import Price
from foldmark.store import Frame, Key, ScopeState
from foldmark.watching import watched


class Sent(NamedTuple):
    """A request that went out, and the frame that it was built for."""

    frame: Frame
    request: Request


def reply_in(events: Iterable[Event], key: Key) -> Event | None:
    """The first of these events that answers a request of the scope. A sub-agent's reply, which the scope does not
    see, is none."""
    return next((event for event in events if event.role == "assistant" and key.shows(event)), None)


def observed(state: ScopeState, sent: Sent, reply: Event, prices: Price | None) -> ScopeState:
    """The scope's state once the reply to that request reported its usage: calibrated, its cache reads watched, and
    with the reported size of the first request after a compaction. `prices` are those of the model that replied. A
    reply that reports no input teaches nothing."""
    usage, (frame, made) = reply.usage, sent
    if usage is None or not usage.input:
        return state
    size = made.tokens.total + difference(made.messages, frame.wire, frame.model or reply.model)
    new = with_usage(watched(state, usage, prices), frame, size, usage, reply.model, taken=True)
    version = made.report.version
    if version and new.reported[0] != version:
        return msgspec.structs.replace(new, reported=(version, usage.input))
    return new
