"""The values of a request: sizes, the draft before it fits, the request itself. Knows nothing of how they are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Protocol

import msgspec

from foldmark.errors import WireError
from foldmark.events import Event, Reasoning
from foldmark.reports import Change, Report
from foldmark.tokens import count, event_tokens, part_tokens, tool_tokens
from foldmark.warm import Recent, grows

MESSAGE_OVERHEAD = 4
"""Tokens that a message costs beside its parts (role and separators, as OpenAI's counting guide has it)."""


class Wire(Protocol):
    """The part of a wire format module that a request needs."""

    NAME: str

    def write(
        self, system: str, tools: Sequence[Mapping[str, Any]], events: Sequence[Event], *, model: str | None = None,
        max_output: int | None = None,
    ) -> dict[str, Any]: ...  # fmt: skip

    def validate(self, payload: Mapping[str, Any], known_prefix: int = 0) -> Sequence[Any]: ...


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of a request by part; `total` is the sum of static, checkpoint and tail. `results`, `previews` and
    `preloaded` (what was found before the turn) are inside `tail`, the `overview` is inside `checkpoint`."""

    static: int = 0
    checkpoint: int = 0
    tail: int = 0
    results: int = 0
    previews: int = 0
    overview: int = 0
    preloaded: int = 0

    @property
    def total(self) -> int:
        return self.static + self.checkpoint + self.tail


class Preloaded(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was found before a turn: its `text` as the request shows it (empty: nothing), the refs in it, and what went
    wrong."""

    text: str = ""
    refs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


NOTHING_PRELOADED = Preloaded()


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A request before it is made to fit. `messages` are events in order; `head` of them carry the checkpoint (in all
    with `overview` tokens of an overview), `suffix` of them are ephemeral: first what was `preloaded`, if anything."""

    system: str
    tools: tuple[Mapping[str, Any], ...]
    messages: tuple[Event, ...]
    head: int
    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()
    pins: frozenset[int] = frozenset()
    suffix: int = 0
    overview: int = 0
    preloaded: Preloaded = NOTHING_PRELOADED


@dataclass(frozen=True, kw_only=True)
class Request:
    """The next request: a value. `messages` and `tools` are neutral; `payload()` is what the provider's API takes.

    `stable` is how many messages belong to the stable prefix; the rest is an ephemeral suffix. `max_output` is what
    the caller asked for, `reserve` what the budget kept free: providers that demand a limit are given that one.
    """

    system: str
    messages: tuple[Event, ...]
    tools: tuple[Mapping[str, Any], ...]
    tokens: Sizes
    report: Report
    wire: Any
    ceiling: int
    stable: int
    max_output: int | None = None
    reserve: int = 4_096

    @property
    def used_share(self) -> float:
        """A gauge: which share of the room for input this request takes, always 0 to 1; 1 when nothing is left."""
        return min(1.0, self.tokens.total / self.ceiling) if self.ceiling > 0 else 1.0

    def _place(self) -> tuple[str, str, int]:
        first = next((message for message in self.messages if message.seq), None)
        return (self.wire.NAME, first.session if first else "", first.seq if first else 0)

    def _valid_messages(self) -> int:
        """How many messages of the payload were validated before. The newest two of the last payload are looked at
        again: what follows may have been merged into them."""
        known = _validated.get(self._place())
        return max(0, known.count - 2) if known and grows(known.messages, self.messages) else 0

    def with_report(self, report: Report) -> Request:
        """The same request under another report."""
        return replace(self, report=report)

    def with_messages(self, messages: tuple[Event, ...]) -> Request:
        """The same request with its messages in another form."""
        return self if messages is self.messages else replace(self, messages=messages)

    def without_preload(self) -> Request:
        """The same request without what was found before the turn: what is asked of it is asked about its own past."""
        gone = self.tokens.preloaded
        if not gone:
            return self
        tokens = msgspec.structs.replace(self.tokens, tail=self.tokens.tail - gone, preloaded=0)
        report = msgspec.structs.replace(self.report, preloaded=(), after=tokens.total)
        messages = (*self.messages[: self.stable], *self.messages[self.stable + 1 :])
        return replace(self, messages=messages, tokens=tokens, report=report)

    def lost(self) -> list[str]:
        """What the provider's format cannot carry of these messages, one line per sort (`2 x reasoning of …`): it is
        left out of the payload and stays in the log."""
        return list(self.wire.lost(self.messages))

    def payload(self, *, model: str | None = None) -> dict[str, Any]:
        """The request as the provider's API takes it, validated. Raises WireError with the path and the reason.

        Only refusals that are *known* raise; what some servers are suspected to refuse is left to
        `wire.validate(payload)`. Each call gives a payload of the caller's own, to mark or extend.
        """
        limit = self.max_output or (self.reserve if getattr(self.wire, "NEEDS_MAX_OUTPUT", False) else None)
        out: dict[str, Any] = self.wire.write(self.system, self.tools, self.messages, model=model, max_output=limit)
        problems = self.wire.validate(out, self._valid_messages())
        if problems:
            first = problems[0]
            raise WireError(first.path, f"{first.message} ({first.code}; {len(problems)} problem(s) in all)")
        _validated.put(self._place(), _Valid(self.messages, len(out[self.wire.MESSAGES])))
        return out


class _Valid(msgspec.Struct):
    messages: tuple[Event, ...]
    count: int


_validated: Recent[_Valid] = Recent()


def static_tokens(system: str, tools: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of the static prefix: system text with its message overhead, and tool schemas."""
    return (count(system) + MESSAGE_OVERHEAD if system else 0) + tool_tokens(tools)


def priced(event: Event) -> Event:
    """The event with its own token count filled in."""
    return msgspec.structs.replace(event, tokens=event_tokens(event))


def without_thinking(event: Event) -> Event:
    """The event without its thinking, whole blocks of it; the event itself when it has none."""
    if event.role != "assistant" or not any(isinstance(part, Reasoning) for part in event.parts):
        return event
    gone = sum(part_tokens(part) for part in event.parts if isinstance(part, Reasoning))
    words = tuple(part for part in event.parts if not isinstance(part, Reasoning))
    return msgspec.structs.replace(event, parts=words, tokens=max(0, event.tokens - gone))


def cost(events: Sequence[Event]) -> int:
    """Tokens of events as messages, overhead included; control events have no tokens and are never sent."""
    silent = list(map(_role_of, events)).count("control")
    return sum(map(_tokens_of, events)) + MESSAGE_OVERHEAD * (len(events) - silent)


_tokens_of: Callable[[Event], int] = attrgetter("tokens")
_role_of: Callable[[Event], str] = attrgetter("role")


def payload_bytes(payload: Mapping[str, Any]) -> bytes:
    """The payload as compact JSON, the bytes that prefix stability speaks of."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
